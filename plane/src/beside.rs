//! A router for native IPv6 beside another function (RFC 8219, section 5.3): packets between two IPv6 networks are forwarded as they
//! are; all others are the function's.

use crate::function::{Drops, Function, Packet, Side, Spare, Verdict};
use crate::ip6::be128;
use crate::router6::Router6;
use crate::wrapper::Wrapper;
use wire::Prefix6;
use wire::header::{self, TYPE_IPV6, be16};

/// The router around a function; without one, all packets are the function's.
#[derive(Default)]
pub struct Beside(Option<Box<Native>>);

struct Native {
    router: Router6,
    /// On the customers' side and on the Internet's.
    networks: [Prefix6; 2],
}

/// Where the destination address begins.
const DST: usize = header::ETH + 24;

impl Beside {
    /// Forwards packets from each side to the network on the other one.
    pub fn new(router: Router6, networks: [Prefix6; 2]) -> Beside {
        Beside(Some(Box::new(Native { router, networks })))
    }
}

impl Native {
    /// Whether a packet from this side goes to the network on the other one.
    fn has(&self, from: Side, packet: &impl Packet) -> bool {
        let Some(h) = packet.bytes().first_chunk::<{ DST + 16 }>() else { return false };
        be16(h, 12) == TYPE_IPV6 && self.networks[usize::from(from == Side::Customer)].contains(be128(h, DST))
    }

    /// Works on runs of packets of one kind, so that they keep their order.
    #[inline(never)]
    fn process<F: Function, P: Packet, S: Spare<P>>(
        &mut self,
        function: &mut F,
        (now, from): (u64, Side),
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    ) {
        let mut at = 0;
        while let Some(first) = batch.get(at) {
            let is_native = self.has(from, first);
            let end = at + batch[at..].iter().take_while(|packet| self.has(from, *packet) == is_native).count();
            let (run, verdicts) = (&mut batch[at..end], &mut verdicts[at..end]);
            if is_native {
                self.router.process(now, from, run, verdicts, spare);
            } else {
                function.process(now, from, run, verdicts, spare);
            }
            at = end;
        }
    }
}

impl Wrapper for Beside {
    #[inline]
    fn process<F: Function, P: Packet, S: Spare<P>>(
        &mut self,
        function: &mut F,
        now: u64,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    ) {
        match &mut self.0 {
            Some(native) if !batch.is_empty() => native.process(function, (now, from), batch, verdicts, spare),
            _ => function.process(now, from, batch, verdicts, spare),
        }
    }

    fn counters(&self) -> Drops {
        self.0.as_ref().map(|native| native.router.counters()).unwrap_or_default()
    }
}
