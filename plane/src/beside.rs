//! A router for native IPv6 in parallel to another function (RFC 8219, section 5.3).

use crate::function::{Drops, Function, Input, Packet, Side, Spare};
use crate::ip6::be128;
use crate::object::DynFunction;
use crate::router6::Router6;
use crate::wrapper::Wrapper;
use wire::Prefix6;
use wire::header::{self, TYPE_IPV6, be16};

/// The router around a function.
pub struct NativeIpv6 {
    router: Router6,
    /// Networks on the customers' side and on the Internet's.
    networks: [Prefix6; 2],
}

const DST: usize = header::ETH + 24;

impl NativeIpv6 {
    /// Forwards packets from each side to the network on the other one.
    pub fn new(router: Router6, networks: [Prefix6; 2]) -> NativeIpv6 {
        NativeIpv6 { router, networks }
    }

    fn has(&self, from: Side, packet: &impl Packet) -> bool {
        let Some(h) = packet.bytes().first_chunk::<{ DST + 16 }>() else { return false };
        be16(h, 12) == TYPE_IPV6 && self.networks[usize::from(from == Side::Customer)].contains(be128(h, DST))
    }

    /// Forwards leading native packets; returns their number, and how many others follow.
    fn forward_first<P: Packet>(&mut self, mut input: Input<P>, spare: &mut dyn Spare<P>) -> (usize, usize) {
        let (from, packets) = (input.from, &input.packets);
        let native = packets.iter().take_while(|packet| self.has(from, *packet)).count();
        let others = packets[native..].iter().take_while(|packet| !self.has(from, *packet)).count();
        Function::process(&mut self.router, input.part(0..native), spare);
        (native, others)
    }
}

impl Wrapper for NativeIpv6 {
    fn process<P: Packet>(&mut self, function: &mut dyn DynFunction<P>, mut input: Input<P>, spare: &mut dyn Spare<P>) {
        let (mut done, n) = (0, input.packets.len());
        // In runs of one kind, to keep their order.
        loop {
            let (native, others) = self.forward_first(input.part(done..n), spare);
            done += native + others;
            function.process(input.part(done - others..done), spare);
            if done == n {
                return;
            }
        }
    }

    fn counters(&self) -> Drops {
        Function::counters(&self.router)
    }
}
