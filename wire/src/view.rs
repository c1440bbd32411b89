//! A view: what the tester's two sides send and expect in one set-up.

use crate::checksum::Sum;
use crate::fields::Values;
use crate::header::Mac;
use crate::{Expect, Flow, FlowSpace, Foreground, Mix, Octets16, Permutation, PortRange, Sizes, Template};
use std::sync::Arc;

/// Left is the Initiator's side in stateful tests.
#[derive(Clone, Debug)]
pub struct View {
    /// Flows that may be used.
    pub flows: FlowSpace,
    /// Connection index → flow number: permutes all flows, so that the first N are spread over the flow space.
    pub order: Permutation,
    /// N.
    pub connections: u64,
    /// Frames that Left sends.
    pub left: Template,
    /// Frames that Right sends.
    pub right: Template,
    /// Frames that Right receives.
    pub expect_right: Expect,
    /// Frames that Left receives.
    pub expect_left: Expect,
    /// Right learns outside addresses and ports in phase 1 and sends only to these (RFC 9693).
    pub stateful: bool,
    /// Offsets of the tag's magic in received frames.
    pub magic_at: Vec<usize>,
    /// The templates have the largest size.
    pub mix: Option<Mix>,
    /// `None` if all frames are foreground.
    pub background: Option<Background>,
}

/// Native frames of both sides.
#[derive(Clone, Debug)]
pub struct Background {
    /// The view without connections.
    pub view: Box<View>,
    /// Which frames are foreground.
    pub foreground: Foreground,
}

impl View {
    /// N.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// The view with only the flows of these source ports, in another order. `None` without such a
    /// part ([`FlowSpace::with_source_ports`]), or with fewer flows than connections.
    pub fn with_source_ports(&self, ports: PortRange, seed: u64) -> Option<View> {
        let flows = self.flows.with_source_ports(ports).filter(|flows| flows.size() >= self.connections)?;
        Some(View { order: Permutation::new(flows.size(), seed), flows, ..self.clone() })
    }

    /// The view with `n` ≤ [`MOST_SOURCE_MACS`] pseudo-random Ethernet sources on each side; the port's with 1.
    #[must_use]
    pub fn from_source_macs(self, n: u32, seed: u64) -> View {
        if n <= 1 {
            return self;
        }
        let [left, right] = [1, 2].map(|port| source_macs(port, n, seed));
        View { left: self.left.from_sources(left), right: self.right.from_sources(right), ..self }
    }

    /// The view of a device that translates to IPv6 and back, such as both edges of 464XLAT or MAP-T.
    #[must_use]
    pub fn translated_twice(self) -> View {
        let View { expect_left, expect_right, .. } = self;
        let [expect_left, expect_right] = [expect_left, expect_right].map(Expect::translated_twice);
        View { expect_right, expect_left, ..self }
    }

    /// The view with a repeating sequence of at most [`MOST_SIZES`](crate::MOST_SIZES) IPv4 sizes,
    /// in octets with FCS; unchanged without sizes. The templates must have the largest size.
    #[must_use]
    pub fn of_sizes(self, sizes: &[usize]) -> View {
        if sizes.is_empty() {
            return self;
        }
        let sizes = Sizes::new(sizes);
        let sent = |template: &Template| sizes.map(|&size| template.resized(size));
        let (left, right) = (sent(&self.left), sent(&self.right));
        let expect_right = left.map(|sent| self.expect_right.of_sent(sent));
        let expect_left = right.map(|sent| self.expect_left.of_sent(sent));
        View { mix: Some(Mix { left, right, expect_right, expect_left }), ..self }
    }

    /// The view with native frames in addition.
    #[must_use]
    pub fn beside(self, background: Option<Background>) -> View {
        let mut view = View { background, ..self };
        let native = view.background.iter().flat_map(|background| &background.view.magic_at);
        let more: Vec<usize> = native.filter(|at| !view.magic_at.contains(at)).copied().collect();
        view.magic_at.extend(more);
        view
    }

    /// Longest frame of either side, without FCS.
    pub fn longest(&self) -> usize {
        let native = self.background.as_ref().map_or(0, |background| background.view.longest());
        let sent = self.left.len().max(self.right.len());
        sent.max(self.expect_left.frame_len()).max(self.expect_right.frame_len()).max(native)
    }

    /// Whether frames stay right if a DUT translates addresses, keeps ports, and copies the UDP
    /// checksum: the addresses' ones' complement sums are the same on both sides. `false` without
    /// translation.
    pub fn hides_copied_checksums(&self) -> bool {
        let sum = |ends: &[Octets16; 2]| Sum(ends[0].sum() + ends[1].sum()).fold();
        let ends = self.translated_ends();
        !ends.is_empty() && ends.iter().all(|[sent, received]| sum(sent) == sum(received))
    }

    /// Ends of Left's frames, and as Right receives them, for some connections and outside
    /// addresses.
    fn translated_ends(&self) -> Vec<[[Octets16; 2]; 2]> {
        const LOOKED_AT: usize = 256;
        let mut outer: Vec<u32> = self.expect_right.outer_addresses().take(LOOKED_AT).collect();
        if outer.is_empty() {
            outer.push(0);
        }
        let flows = (0..self.connections.min(LOOKED_AT as u64) as u32).map(|index| self.flow(index));
        let with =
            flows.flat_map(|flow| outer.iter().map(move |&outer| Values::of(flow).learned(outer, flow.inside_port)));
        let ends = with.map(|values| {
            let [sent, [from, to]] = [&self.left, &self.right].map(|side| side.pseudo_ends(&values));
            [sent, [to, from]]
        });
        ends.filter(|[sent, received]| sent != received).collect()
    }

    /// Flow of a connection.
    pub fn flow(&self, index: u32) -> Flow {
        let mut number = [0];
        self.order.fill(&[index], &mut number);
        self.flows.flow(number[0])
    }

    /// Octets by which the DUT lengthens Left's frames (`left`) or Right's; 0 if it shortens them.
    pub fn growth(&self, left: bool) -> usize {
        let (sent, received) = if left { (&self.left, &self.expect_right) } else { (&self.right, &self.expect_left) };
        received.frame_len().saturating_sub(sent.len())
    }
}

/// Largest number of source addresses.
pub const MOST_SOURCE_MACS: u32 = 65_536;

/// Source addresses by RFC 4814, section 4.2: the first octet random with its two lowest bits
/// clear, the port's number, random octets.
fn source_macs(port: u16, n: u32, seed: u64) -> Arc<[Mac]> {
    assert!(n <= MOST_SOURCE_MACS, "{n} source addresses were asked for");
    let order = Permutation::new(1 << 30, seed ^ u64::from(port));
    let mac = |i| {
        let [a, b, c, d] = order.get(i).to_be_bytes();
        let [high, low] = port.to_be_bytes();
        Mac([a << 2, high, low, b, c, d])
    };
    (0..n).map(mac).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn source_addresses_differ_and_name_their_port() {
        let both = [1, 2].map(|port| source_macs(port, MOST_SOURCE_MACS, 7));
        for (port, macs) in [1, 2].into_iter().zip(&both) {
            assert!(macs.iter().all(|mac| mac.0[0].trailing_zeros() >= 2 && mac.0[1..3] == [0, port]));
            // Each of the 64 first octets occurs about 1024 times.
            let mut first = [0u32; 64];
            macs.iter().for_each(|mac| first[usize::from(mac.0[0] >> 2)] += 1);
            assert!(first.iter().all(|n| (850..1_200).contains(n)), "{first:?}");
        }
        let all: HashSet<Mac> = both.iter().flat_map(|macs| macs.iter().copied()).collect();
        assert_eq!(all.len(), 2 * MOST_SOURCE_MACS as usize);
        assert_eq!(both[0], source_macs(1, MOST_SOURCE_MACS, 7));
        assert_ne!(both[0], source_macs(1, MOST_SOURCE_MACS, 8));
    }
}
