//! One tunnel: B4, lwB4, and a MAP-E CE towards its BR.

use crate::event::Event;
use crate::strategy::{Point4, Softwires, Wrap};
use std::net::Ipv6Addr;

/// One tunnel for every packet; packets out of it must come from its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneTunnel {
    own: u128,
    peer: u128,
    /// The peer's address; 0 where both ends are the same.
    from: u128,
}

impl OneTunnel {
    /// A tunnel from an own address to the other end's.
    pub fn new(own: Ipv6Addr, peer: Ipv6Addr) -> OneTunnel {
        let (own, peer) = (own.to_bits(), peer.to_bits());
        OneTunnel { own, peer, from: if own == peer { 0 } else { peer } }
    }
}

impl Softwires for OneTunnel {
    fn is_single(&self) -> bool {
        true
    }

    fn is_own(&self, addr: u128) -> bool {
        addr == self.own
    }

    #[inline(always)]
    fn wrap(&self, customer: Point4, _remote: Point4) -> Result<Wrap, Event> {
        Ok(Wrap { src: self.own, dst: self.peer, customer: customer.addr })
    }

    #[inline(always)]
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, _remote: Point4) -> Result<u32, Event> {
        if dst != self.own {
            return Err(Event::UnknownSoftwire);
        }
        if src == self.from { Ok(customer.addr) } else { Err(Event::Spoofed) }
    }
}
