//! A plain IPv4 router: the forwarding baseline, and the core of the known-truth device.

use crate::function::{Drops, Function, Input, Packet, Side, Spare, Verdict};
use wire::Mac;
use wire::checksum::update16;
use wire::header::{TYPE_IPV4, be16};

/// Ethernet addresses of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The router's own address.
    pub own: Mac,
    /// Address of the next hop.
    pub next: Mac,
}

/// The router.
pub struct Router {
    customer: Hop,
    internet: Hop,
    forwarded: u64,
    ttl_expired: u64,
    not_ipv4: u64,
}

impl Router {
    /// A router with one next hop a side.
    pub fn new(customer: Hop, internet: Hop) -> Router {
        Router { customer, internet, forwarded: 0, ttl_expired: 0, not_ipv4: 0 }
    }

    fn forward(&mut self, from: Side, frame: &mut [u8]) -> Verdict {
        if frame.len() < 34 || be16(frame, 12) != TYPE_IPV4 {
            self.not_ipv4 += 1;
            return Verdict::Local;
        }
        if frame[22] <= 1 {
            self.ttl_expired += 1;
            return Verdict::Drop;
        }
        let old = be16(frame, 22);
        frame[22] -= 1;
        let sum = update16([frame[24], frame[25]], old, be16(frame, 22));
        frame[24..26].copy_from_slice(&sum);
        let to = from.other();
        let hop = if to == Side::Customer { self.customer } else { self.internet };
        frame[..6].copy_from_slice(&hop.next.0);
        frame[6..12].copy_from_slice(&hop.own.0);
        self.forwarded += 1;
        Verdict::Forward(to)
    }
}

impl Function for Router {
    fn process<P: Packet>(&mut self, input: Input<P>, _spare: &mut dyn Spare<P>) {
        for (packet, verdict) in input.packets.iter_mut().zip(input.verdicts) {
            *verdict = self.forward(input.from, packet.bytes_mut());
        }
    }
    fn can_adopt(&self, _: &Router) -> Result<(), String> {
        Ok(())
    }
    fn adopt(&mut self, new: &mut Router) -> Result<(), String> {
        std::mem::swap(self, new);
        (self.forwarded, self.ttl_expired, self.not_ipv4) = (new.forwarded, new.ttl_expired, new.not_ipv4);
        Ok(())
    }
    fn counters(&self) -> Drops {
        vec![("forwarded", self.forwarded), ("ttl-expired", self.ttl_expired), ("not-ipv4", self.not_ipv4)]
    }
}
