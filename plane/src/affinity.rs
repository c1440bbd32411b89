//! Pins each IPv6 customer, or all customers of a prefix, to one worker, which alone has their state.

use crate::chain::{gather, scatter};
use crate::function::{BATCH, Function, Input, Packet, Side, Spare, Verdict};
use crate::steer::{Steering, by_hash};
use wire::header::{ICMPV6, TYPE_IPV6, be16};

/// Steers by all octets of the customer's IPv6 source, as test customers may share a /64.
pub const STEER_CUSTOMER: Steering = Steering::Hash(&[(22, 16)]);

/// Length of a single link's prefix (RFC 7421), of which a host may use any address (RFC 8981).
pub const SUBSCRIBER_PREFIX: u8 = 64;

static FIRST: [[(usize, usize); 1]; 17] = {
    let mut all = [[(22, 0)]; 17];
    let mut n = 0;
    while n < all.len() {
        all[n] = [(22, n)];
        n += 1;
    }
    all
};

/// Octets wholly in a prefix of this length.
#[must_use]
pub(crate) fn octets(prefix: u8) -> usize {
    usize::from(prefix / 8).min(16)
}

/// Steers as [`STEER_CUSTOMER`] does, by a common prefix of this length.
#[must_use]
pub fn steering(prefix: u8) -> Steering {
    Steering::Hash(&FIRST[octets(prefix)])
}

/// The destination in the packet that an ICMPv6 error quotes.
const QUOTED_DESTINATION: usize = 14 + 40 + 8 + 24;

/// Pins the IPv6 customers of a function to workers.
pub struct Affinity {
    worker: usize,
    workers: usize,
    octets: usize,
    handed_over: u64,
}

impl Affinity {
    /// Worker number `worker` of `workers`.
    pub fn new(worker: usize, workers: usize) -> Affinity {
        Affinity { worker, workers, octets: 16, handed_over: 0 }
    }

    /// One worker has all customers with a common prefix of this length.
    #[must_use]
    pub fn together_by(self, prefix: u8) -> Affinity {
        Affinity { octets: octets(prefix), ..self }
    }

    /// The packet's worker, unless it is this one. An ICMPv6 error belongs to the customer that the
    /// quoted packet was sent to.
    #[inline(always)]
    fn elsewhere(&self, b: &[u8]) -> Option<u16> {
        worker(b, self.workers, self.octets).filter(|w| usize::from(*w) != self.worker)
    }
}

/// The worker of an IPv6 packet, by the first `octets` octets of its source, or of the destination that an ICMPv6 error quotes;
/// `None` for any other packet.
#[inline(always)]
pub(crate) fn worker(b: &[u8], workers: usize, octets: usize) -> Option<u16> {
    if b.len() < 54 || be16(b, 12) != TYPE_IPV6 {
        return None;
    }
    let quoted = b[20] == ICMPV6 && b.get(54).is_some_and(|t| *t < 128);
    let address = if quoted { b.get(QUOTED_DESTINATION..QUOTED_DESTINATION + 16) } else { None };
    Some(by_hash(address.unwrap_or(&b[22..38]).iter().take(octets).copied(), workers) as u16)
}

impl Affinity {
    /// Lets `function` process what comes from the Internet, and the packets of this worker's customers. All other packets
    /// are handed over to the workers of their customers.
    #[inline]
    pub(crate) fn process<F: Function, P: Packet>(
        &mut self,
        function: &mut F,
        mut input: Input<P>,
        spare: &mut dyn Spare<P>,
    ) {
        if self.workers == 1 || input.from == Side::Internet {
            return function.process(input, spare);
        }
        let n = input.packets.len().min(input.verdicts.len()).min(BATCH);
        let Input { packets: batch, verdicts, .. } = input.part(0..n);
        batch.iter().filter_map(|p| p.bytes().first()).for_each(arena::prefetch);
        let mut ours = 0;
        for (p, v) in batch.iter().zip(verdicts.iter_mut()) {
            *v = self.elsewhere(p.bytes()).map_or(Verdict::Local, Verdict::HandOver);
            ours += usize::from(*v == Verdict::Local);
        }
        self.handed_over += (n - ours) as u64;
        if ours == n {
            return function.process(input.part(0..n), spare);
        }
        let order = gather(batch, verdicts, Verdict::Local);
        function.process(input.part(0..ours), spare);
        scatter(input.packets, input.verdicts, &order[..ours]);
    }

    pub(crate) fn counter(&self) -> (&'static str, u64) {
        (NAME, self.handed_over)
    }

    pub(crate) fn can_become(&self, new: &Affinity) -> Result<(), String> {
        if (self.worker, self.workers) != (new.worker, new.workers) {
            return Err("workers: their number is fixed while there is state".to_owned());
        }
        // With the first quota, customers of one prefix count together.
        if self.workers > 1 && new.octets < self.octets {
            return Err("session-quota, port-quota or port-block: the customers of a prefix are at several workers; \
                        restart the gateway"
                .to_owned());
        }
        Ok(())
    }
}

/// Counter of packets that arrived at another worker than their customer's.
pub const NAME: &str = "customer-handed-over";
