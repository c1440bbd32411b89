//! Customers that share IPv4 addresses by port sets (lw4o6, MAP).

use crate::gateway::why;
use crate::tester::Flows;
use arena::Array;
use plane::view;
use std::net::Ipv4Addr;
use wire::flow::SharedPorts;
use wire::{AddrRange, FlowSpace, ListedSubscriber, OuterRange, PortRange, PortSet};

/// The ports of a listed subscriber: no system ports if the address is not shared.
pub(crate) fn used_ports(set: PortSet) -> PortSet {
    // All ports except those below 2^(16-6).
    if set == PortSet::ALL { PortSet { offset: 6, len: 0, psid: 0 } } else { set }
}

pub(crate) fn seen(addrs: AddrRange, set: PortSet) -> view::OutsideRanges {
    let first = if set == PortSet::ALL { 1024 } else { 1 };
    view::OutsideRanges { set, ..OuterRange { addrs, ports: PortRange { first, last: 65_535 } }.into() }
}

pub(crate) fn sharing(f: &Flows, first: Ipv4Addr, offset: u8, len: u8) -> Result<FlowSpace, String> {
    // A subscriber uses the first ports of its set, or with all ports those of the scenario.
    let place = if (offset, len) == (0, 0) { f.source_ports.first.into() } else { 0 };
    let ports = SharedPorts { offset, len, first: place, count: f.source_ports.count() };
    FlowSpace::sharing(f.subscribers, first, ports, f.remote, f.destination_ports).map_err(why)
}

pub(crate) fn listed(f: &Flows, each: impl ExactSizeIterator<Item = (Ipv4Addr, PortSet)>) -> Result<FlowSpace, String> {
    let mut rows =
        Array::filled("the subscribers' addresses and ports", each.len(), ListedSubscriber::default()).map_err(why)?;
    for (row, (addr, set)) in rows.iter_mut().zip(each) {
        *row = ListedSubscriber { addr: addr.to_bits(), set: used_ports(set) };
    }
    FlowSpace::listed(rows, f.source_ports.count(), f.remote, f.destination_ports).map_err(why)
}
