//! Addresses and ports of subscribers.

use crate::addr::AddrRange;
use crate::flow_error::FlowError;
use crate::port_set::PortSet;
use crate::range::PortRange;
use std::net::Ipv4Addr;
use std::ops::Deref;
use std::sync::Arc;

/// Source ports of subscribers that share IPv4 addresses (lw4o6, MAP-E, MAP-T).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPorts {
    /// Offset in bits.
    pub offset: u8,
    /// k, in bits: 2^k subscribers share an address.
    pub len: u8,
    /// First place in each set.
    pub first: u32,
    /// Ports of each set.
    pub count: u32,
}

/// Addresses and ports, of all three kinds in one formula.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InsideEndpoints {
    pub(crate) subscribers: u32,
    pub(crate) first: u32,
    /// 0 for one address, else all ones.
    pub(crate) own_address: u32,
    /// log2 of the distance of addresses.
    pub(crate) apart: u8,
    /// Port set of PSID 0; all ports without sharing.
    pub(crate) set: PortSet,
    pub(crate) first_place: u32,
    pub(crate) places: u32,
}

impl InsideEndpoints {
    #[inline(always)]
    pub(crate) fn addr(&self, subscriber: u32) -> u32 {
        self.first.wrapping_add(((subscriber >> self.set.len) & self.own_address) << self.apart)
    }
    #[inline(always)]
    pub(crate) fn port(&self, subscriber: u32, place: u32) -> u32 {
        let psid = subscriber & ((1 << self.set.len) - 1);
        PortSet { psid: psid as u16, ..self.set }.nth(self.first_place + place) as u32
    }
    pub(crate) fn addresses(&self) -> u64 {
        (u64::from((self.subscribers - 1) >> self.set.len & self.own_address) << self.apart) + 1
    }
}

/// A listed subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedSubscriber {
    /// IPv4 address.
    pub addr: u32,
    /// Ports of the subscriber.
    pub set: PortSet,
}

#[derive(Clone)]
pub(crate) struct List {
    pub(crate) each: Arc<dyn Deref<Target = [ListedSubscriber]> + Send + Sync>,
    pub(crate) addrs: AddrRange,
    pub(crate) ports: PortRange,
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} listed", self.each.len())
    }
}

pub(crate) fn alike(subscribers: u32, first: Ipv4Addr, ports: PortRange) -> Result<InsideEndpoints, FlowError> {
    if ports.first > ports.last {
        return Err(FlowError::Range("the source port range"));
    }
    Ok(InsideEndpoints {
        subscribers,
        first: first.into(),
        own_address: 0,
        apart: 0,
        set: PortSet::ALL,
        first_place: ports.first.into(),
        places: ports.count(),
    })
}
