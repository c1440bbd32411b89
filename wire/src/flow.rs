//! The flow space: a flow is a number. N connections are the product of inside addresses, source ports,
//! destination ports and outside (remote) addresses; this file turns the number into header values.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// An inclusive range of UDP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Last port, not below the first.
    pub last: u16,
}

impl PortRange {
    /// How many ports.
    pub fn count(&self) -> u32 {
        self.last as u32 - self.first as u32 + 1
    }
    /// Whether a port lies inside.
    pub fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl std::fmt::Display for PortRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// Consecutive IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddrRange {
    /// First address.
    pub first: Ipv4Addr,
    /// How many, at least 1.
    pub count: u32,
}

impl AddrRange {
    /// One address.
    pub fn one(first: Ipv4Addr) -> AddrRange {
        AddrRange { first, count: 1 }
    }
    /// Last address.
    pub fn last(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.first).saturating_add(self.count - 1))
    }
    /// Whether an address lies inside.
    pub fn contains(&self, a: Ipv4Addr) -> bool {
        (u32::from(self.first)..=u32::from(self.last())).contains(&u32::from(a))
    }
}

/// Header values of one flow, as the customer's side sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Address of the Initiator.
    pub inside_addr: u32,
    /// Port of the Initiator.
    pub inside_port: u16,
    /// Address of the Responder.
    pub remote_addr: u32,
    /// Port of the Responder.
    pub remote_port: u16,
}

/// Why a flow space cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// A range is empty or runs over the end of its numbers.
    #[error("{0} is empty or does not fit its number space: give a first value and at least one value")]
    Range(&'static str),
    /// More connections than a connection index can name.
    #[error("the ranges span {0} flows; a flow space holds 1 to 4,294,967,296: narrow a range")]
    TooMany(u128),
    /// More connections than the ranges give.
    #[error("{wanted} connections were asked for, but the ranges give only {have} flows: widen a range")]
    TooFew {
        /// Connections asked for.
        wanted: u64,
        /// Flows that there are.
        have: u64,
    },
}

/// Exact division by a constant, by one multiplication, without a branch and in 32-bit factors: in a loop over many
/// numerators it becomes vector code.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u32,
    /// floor(2^64 / by) + 1 in two halves: exact for all 32-bit numerators.
    magic: (u32, u32),
    /// For 1, whose magic number is too large: all ones, and the magic number is 0.
    whole: u32,
}

impl Divisor {
    fn new(by: u32) -> Divisor {
        let (magic, whole) = if by == 1 { (0, u32::MAX) } else { (u64::MAX / by as u64 + 1, 0) };
        Divisor { by, magic: ((magic >> 32) as u32, magic as u32), whole }
    }
    #[inline(always)]
    fn div_rem(self, n: u32) -> (u32, u32) {
        // No carry is lost: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
        let low = (self.magic.1 as u64 * n as u64) >> 32;
        let q = ((self.magic.0 as u64 * n as u64 + low) >> 32) as u32 | n & self.whole;
        (q, n.wrapping_sub(q.wrapping_mul(self.by)))
    }
}

/// All flows of a measurement: which header values flow number f has, f in [0, `size`).
#[derive(Clone, Debug)]
pub struct FlowSpace {
    inside: AddrRange,
    inside_ports: PortRange,
    remote: AddrRange,
    remote_ports: PortRange,
    size: u64,
    by_inside_port: Divisor,
    by_remote_port: Divisor,
    by_remote: Divisor,
}

impl FlowSpace {
    /// The product of the four ranges.
    ///
    /// # Errors
    /// When a range is empty or the product exceeds 2^32.
    pub fn new(
        inside: AddrRange,
        inside_ports: PortRange,
        remote: AddrRange,
        remote_ports: PortRange,
    ) -> Result<FlowSpace, FlowError> {
        let fits = |a: AddrRange| a.count >= 1 && u32::from(a.first).checked_add(a.count - 1).is_some();
        let checks = [
            (fits(inside), "the inside address range"),
            (inside_ports.first <= inside_ports.last, "the source port range"),
            (fits(remote), "the remote address range"),
            (remote_ports.first <= remote_ports.last, "the destination port range"),
        ];
        if let Some((_, what)) = checks.into_iter().find(|(ok, _)| !ok) {
            return Err(FlowError::Range(what));
        }
        let size = [inside.count, inside_ports.count(), remote.count, remote_ports.count()]
            .into_iter()
            .map(u128::from)
            .product::<u128>();
        if size > 1 << 32 {
            return Err(FlowError::TooMany(size));
        }
        Ok(FlowSpace {
            inside,
            inside_ports,
            remote,
            remote_ports,
            size: size as u64,
            by_inside_port: Divisor::new(inside_ports.count()),
            by_remote_port: Divisor::new(remote_ports.count()),
            by_remote: Divisor::new(remote.count),
        })
    }

    /// How many flows there are.
    pub fn size(&self) -> u64 {
        self.size
    }
    /// Inside addresses.
    pub fn inside(&self) -> AddrRange {
        self.inside
    }
    /// Source ports of the Initiator.
    pub fn inside_ports(&self) -> PortRange {
        self.inside_ports
    }
    /// Remote addresses.
    pub fn remote(&self) -> AddrRange {
        self.remote
    }
    /// Destination ports of the Initiator.
    pub fn remote_ports(&self) -> PortRange {
        self.remote_ports
    }

    /// Header values of flow number `f` < size: source port varies fastest, then destination port,
    /// remote address, inside address.
    #[inline(always)]
    pub fn flow(&self, f: u32) -> Flow {
        let (rest, inside_port) = self.by_inside_port.div_rem(f);
        let (rest, remote_port) = self.by_remote_port.div_rem(rest);
        let (inside, remote) = self.by_remote.div_rem(rest);
        Flow {
            inside_addr: u32::from(self.inside.first).wrapping_add(inside),
            inside_port: self.inside_ports.first.wrapping_add(inside_port as u16),
            remote_addr: u32::from(self.remote.first).wrapping_add(remote),
            remote_port: self.remote_ports.first.wrapping_add(remote_port as u16),
        }
    }

    /// Header values of many flows side by side: `out[0]` inside addresses, then inside ports, remote addresses,
    /// remote ports, each as [`Self::flow`] has it.
    #[inline(always)]
    pub(crate) fn flows<const L: usize>(&self, f: &[u32; L], out: [&mut [u32; L]; 4]) {
        let [inside_addr, inside_port, remote_addr, remote_port] = out;
        let (first_inside_port, first_remote_port) = (self.inside_ports.first as u32, self.remote_ports.first as u32);
        let (first_inside, first_remote) = (u32::from(self.inside.first), u32::from(self.remote.first));
        for j in 0..L {
            let (rest, port) = self.by_inside_port.div_rem(f[j]);
            inside_port[j] = first_inside_port.wrapping_add(port);
            let (rest, port) = self.by_remote_port.div_rem(rest);
            remote_port[j] = first_remote_port.wrapping_add(port);
            inside_addr[j] = rest;
        }
        if self.inside.count == 1 && self.remote.count == 1 {
            // The usual case, and a third of the work.
            *inside_addr = [first_inside; L];
            *remote_addr = [first_remote; L];
            return;
        }
        for j in 0..L {
            let (inside, remote) = self.by_remote.div_rem(inside_addr[j]);
            inside_addr[j] = first_inside.wrapping_add(inside);
            remote_addr[j] = first_remote.wrapping_add(remote);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn space(i: u32, s: (u16, u16), r: u32, d: (u16, u16)) -> Result<FlowSpace, FlowError> {
        FlowSpace::new(
            AddrRange { first: [198, 18, 0, 2].into(), count: i },
            PortRange { first: s.0, last: s.1 },
            AddrRange { first: [198, 19, 0, 2].into(), count: r },
            PortRange { first: d.0, last: d.1 },
        )
    }

    #[test]
    fn every_flow_once() {
        let s = space(3, (1024, 1030), 2, (1, 11)).unwrap();
        let mut seen = std::collections::HashSet::new();
        for f in 0..s.size() as u32 {
            let x = s.flow(f);
            assert!(seen.insert((x.inside_addr, x.inside_port, x.remote_addr, x.remote_port)));
            assert!((1024..=1030).contains(&x.inside_port) && (1..=11).contains(&x.remote_port));
        }
        assert_eq!(seen.len(), 3 * 7 * 2 * 11);
    }

    #[test]
    fn a_product_above_32_bits_is_refused_not_wrapped() {
        assert_eq!(space(1, (1, 65535), 1, (1, 65535)).unwrap().size(), 65535 * 65535);
        assert_eq!(space(2, (0, 65535), 1, (0, 65535)).unwrap_err(), FlowError::TooMany(1 << 33));
        assert_eq!(space(1, (0, 65535), 1, (0, 65535)).unwrap().size(), 1 << 32);
    }

    proptest! {
        #[test]
        fn division_is_exact(n: u32, by in prop_oneof![1u32.., 1u32..70_000], at in 0u32..3) {
            // Just beside a multiple is where an inexact reciprocal would show.
            let beside = (n / by * by).wrapping_add(at).wrapping_sub(1);
            for n in [n, beside, u32::MAX - at] {
                prop_assert_eq!(Divisor::new(by).div_rem(n), (n / by, n % by));
            }
        }
    }
}
