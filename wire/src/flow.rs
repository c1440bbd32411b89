//! The flow space: a flow is a number. N connections are the product of subscribers, source ports,
//! destination ports and remote addresses.

use crate::addr::AddrRange;
use crate::divisor::Divisor;
use crate::flow_error::FlowError;
use crate::port_set::PortSet;
use crate::range::PortRange;
use crate::subscribers::{InsideEndpoints, List, alike};
pub use crate::subscribers::{ListedSubscriber, SharedPorts};
use std::net::Ipv4Addr;
use std::ops::Deref;
use std::sync::Arc;

/// A flow as customers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Initiator's address.
    pub inside_addr: u32,
    /// Initiator's port.
    pub inside_port: u16,
    /// Responder's address.
    pub remote_addr: u32,
    /// Responder's port.
    pub remote_port: u16,
    /// Initiator's subscriber.
    pub subscriber: u32,
}

/// All flows of a measurement: header values of flow f in [0, `size`).
#[derive(Clone, Debug)]
pub struct FlowSpace {
    inside: InsideEndpoints,
    list: Option<List>,
    remote: AddrRange,
    /// All ones if the remote address follows from the subscriber (networks), else 0.
    remote_by_subscriber: u32,
    remote_ports: PortRange,
    size: u64,
    by_place: Divisor,
    by_remote_port: Divisor,
    by_remote: Divisor,
}

/// log2 of the addresses of a network.
const NETWORK: u8 = 8;

impl FlowSpace {
    /// The product of four ranges: each inside address is a subscriber.
    ///
    /// # Errors
    /// A range is empty or the product exceeds 2^32.
    pub fn new(
        inside: AddrRange,
        inside_ports: PortRange,
        remote: AddrRange,
        remote_ports: PortRange,
    ) -> Result<FlowSpace, FlowError> {
        let inside = InsideEndpoints { own_address: u32::MAX, ..alike(inside.count, inside.first, inside_ports)? };
        FlowSpace::of(inside, remote, remote_ports)
    }

    /// `networks` networks on each side, 256 addresses apart, with one host each, which sends to
    /// that of the same number on the other side (RFC 2544, section 12).
    ///
    /// # Errors
    /// As [`Self::new`], or beyond the address space.
    pub fn of_networks(
        networks: u32,
        inside: Ipv4Addr,
        inside_ports: PortRange,
        remote: Ipv4Addr,
        remote_ports: PortRange,
    ) -> Result<FlowSpace, FlowError> {
        let inside =
            InsideEndpoints { own_address: u32::MAX, apart: NETWORK, ..alike(networks, inside, inside_ports)? };
        let space = FlowSpace::of(inside, AddrRange::one(remote), remote_ports)?;
        if u64::from(u32::from(remote)) + inside.addresses() > 1 << 32 {
            return Err(FlowError::Range("the remote address range"));
        }
        Ok(FlowSpace { remote_by_subscriber: u32::MAX, ..space })
    }

    /// Subscribers with the same address in different tunnels (DS-Lite, RFC 6333).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn overlapping(
        subscribers: u32,
        inside: Ipv4Addr,
        inside_ports: PortRange,
        remote: AddrRange,
        remote_ports: PortRange,
    ) -> Result<FlowSpace, FlowError> {
        FlowSpace::of(alike(subscribers, inside, inside_ports)?, remote, remote_ports)
    }

    /// Subscribers that share addresses from `first` on by port sets (RFC 7596, RFC 7597):
    /// subscriber s has PSID s mod 2^k and the (s / 2^k)-th address.
    ///
    /// # Errors
    /// As [`Self::new`]; no such port set, or too few ports in it.
    pub fn sharing(
        subscribers: u32,
        first: Ipv4Addr,
        ports: SharedPorts,
        remote: AddrRange,
        remote_ports: PortRange,
    ) -> Result<FlowSpace, FlowError> {
        let set = PortSet::new(ports.offset, ports.len, 0)?;
        if ports.count == 0 {
            return Err(FlowError::Range("the number of source ports of a subscriber"));
        }
        let last = u64::from(ports.first) + u64::from(ports.count) - 1;
        if last >= u64::from(set.count()) {
            return Err(FlowError::SetTooSmall { first: ports.first, last, have: set.count() });
        }
        let inside = InsideEndpoints {
            subscribers,
            first: first.into(),
            own_address: u32::MAX,
            apart: 0,
            set,
            first_place: ports.first,
            places: ports.count,
        };
        FlowSpace::of(inside, remote, remote_ports)
    }

    /// Listed subscribers with an address and a port set each (RFC 7596), using the first `places` ports.
    ///
    /// # Errors
    /// As [`Self::new`], or a set has fewer ports.
    pub fn listed(
        subscribers: impl Deref<Target = [ListedSubscriber]> + Send + Sync + 'static,
        places: u32,
        remote: AddrRange,
        remote_ports: PortRange,
    ) -> Result<FlowSpace, FlowError> {
        let all: &[ListedSubscriber] = &subscribers;
        let n = u32::try_from(all.len()).map_err(|_| FlowError::Range("the number of subscribers"))?;
        let first = all.iter().map(|s| s.addr).min().unwrap_or(0);
        let last = all.iter().map(|s| s.addr).max().unwrap_or(0);
        if places == 0 || places > 1 << 16 {
            return Err(FlowError::Range("the number of source ports of a subscriber"));
        }
        if let Some(small) = all.iter().map(|s| s.set.count()).min().filter(|&have| have < places) {
            return Err(FlowError::SetTooSmall { first: 0, last: u64::from(places) - 1, have: small });
        }
        let ports = |s: &ListedSubscriber| (s.set.nth(0), s.set.nth(places - 1));
        let lowest = all.iter().map(|s| ports(s).0).min().unwrap_or(0);
        let highest = all.iter().map(|s| ports(s).1).max().unwrap_or(0);
        let inside = InsideEndpoints {
            subscribers: n,
            first,
            own_address: 0,
            apart: 0,
            set: PortSet::ALL,
            first_place: 0,
            places,
        };
        let bounds = AddrRange { first: first.into(), count: (last - first).saturating_add(1) };
        let list =
            List { each: Arc::new(subscribers), addrs: bounds, ports: PortRange { first: lowest, last: highest } };
        Ok(FlowSpace { list: Some(list), ..FlowSpace::of(inside, remote, remote_ports)? })
    }

    /// The flow space with addresses 2^`bits` apart: each subscriber has a prefix (RFC 7597,
    /// section 5.2) and uses its first address.
    ///
    /// # Errors
    /// Beyond the address space.
    pub fn apart(self, bits: u8) -> Result<FlowSpace, FlowError> {
        let inside = InsideEndpoints { apart: bits.min(31), ..self.inside };
        FlowSpace::of(inside, self.remote, self.remote_ports)
    }

    /// Flows with these source ports; `None` for shared addresses, listed subscribers, or missing ports.
    pub fn with_source_ports(&self, ports: PortRange) -> Option<FlowSpace> {
        let (own, places) = (self.inside_ports(), ports.last.checked_sub(ports.first)?);
        let is_part = own.contains(ports.first) && own.contains(ports.last);
        if !self.has_plain_ports() || !is_part {
            return None;
        }
        let places = u32::from(places) + 1;
        Some(FlowSpace {
            inside: InsideEndpoints { first_place: ports.first.into(), places, ..self.inside },
            size: self.size / u64::from(self.inside.places) * u64::from(places),
            by_place: Divisor::new(places),
            ..self.clone()
        })
    }

    /// Disjoint parts of the source ports, each the fewest for `connections` flows. Empty for
    /// shared addresses, listed subscribers, or too few flows.
    pub fn parts_of_source_ports(&self, connections: u64) -> Vec<PortRange> {
        let of_a_port = self.size / u64::from(self.inside.places);
        let own = self.inside_ports();
        let ports = connections.max(1).div_ceil(of_a_port);
        let parts = if self.has_plain_ports() { u64::from(own.count()) / ports } else { 0 };
        let at = |port: u64| own.first + port as u16;
        (0..parts).map(|n| PortRange { first: at(n * ports), last: at((n + 1) * ports - 1) }).collect()
    }

    fn has_plain_ports(&self) -> bool {
        self.inside.set == PortSet::ALL && self.list.is_none()
    }

    fn of(inside: InsideEndpoints, remote: AddrRange, remote_ports: PortRange) -> Result<FlowSpace, FlowError> {
        let fits = |first: u32, count: u64| count >= 1 && u64::from(first) + count <= 1 << 32;
        let checks = [
            (inside.subscribers >= 1, "the number of subscribers (inside addresses)"),
            (inside.subscribers == 0 || fits(inside.first, inside.addresses()), "the inside address range"),
            (fits(remote.first.into(), remote.count.into()), "the remote address range"),
            (remote_ports.first <= remote_ports.last, "the destination port range"),
        ];
        if let Some((_, what)) = checks.into_iter().find(|(ok, _)| !ok) {
            return Err(FlowError::Range(what));
        }
        let size = [inside.subscribers, inside.places, remote.count, remote_ports.count()]
            .into_iter()
            .map(u128::from)
            .product::<u128>();
        if size > 1 << 32 {
            return Err(FlowError::TooMany(size));
        }
        Ok(FlowSpace {
            inside,
            list: None,
            remote,
            remote_by_subscriber: 0,
            remote_ports,
            size: size as u64,
            by_place: Divisor::new(inside.places),
            by_remote_port: Divisor::new(remote_ports.count()),
            by_remote: Divisor::new(remote.count),
        })
    }

    /// Number of flows.
    pub fn size(&self) -> u64 {
        self.size
    }
    /// Number of subscribers.
    pub fn subscribers(&self) -> u32 {
        self.inside.subscribers
    }
    /// Whether subscribers differ neither in address nor in ports.
    pub fn is_overlapping(&self) -> bool {
        self.inside.own_address == 0 && self.inside.subscribers > 1 && self.list.is_none()
    }
    /// Inside addresses, from the lowest to the highest.
    pub fn inside(&self) -> AddrRange {
        if let Some(list) = &self.list {
            return list.addrs;
        }
        // Never more than 2^32 - 1 addresses.
        AddrRange { first: self.inside.first.into(), count: self.inside.addresses() as u32 }
    }
    /// Source ports, from lowest to highest.
    pub fn inside_ports(&self) -> PortRange {
        if let Some(list) = &self.list {
            return list.ports;
        }
        let InsideEndpoints { subscribers, first_place, places, set, .. } = self.inside;
        let psid = (subscribers - 1).min((1 << set.len) - 1) as u16;
        PortRange { first: set.nth(first_place), last: PortSet { psid, ..set }.nth(first_place + places - 1) }
    }
    /// The subscriber's port set; all ports without sharing.
    pub fn port_set(&self, subscriber: u32) -> PortSet {
        if let Some(list) = &self.list {
            return list.each[subscriber as usize].set;
        }
        let set = self.inside.set;
        PortSet { psid: (subscriber & ((1 << set.len) - 1)) as u16, ..set }
    }
    /// Remote addresses, from the lowest to the highest.
    pub fn remote(&self) -> AddrRange {
        let further = ((self.inside.subscribers - 1) & self.remote_by_subscriber) << NETWORK;
        AddrRange { count: self.remote.count + further, ..self.remote }
    }
    /// Whether subscribers have networks as of [`Self::of_networks`].
    pub fn has_networks(&self) -> bool {
        self.remote_by_subscriber != 0
    }

    /// Flow `f` < size: source port varies fastest, then destination port, remote address, subscriber.
    #[inline(always)]
    pub fn flow(&self, f: u32) -> Flow {
        let (rest, place) = self.by_place.div_rem(f);
        let (rest, remote_port) = self.by_remote_port.div_rem(rest);
        let (subscriber, remote) = self.by_remote.div_rem(rest);
        let (inside_addr, inside_port) = match &self.list {
            None => (self.inside.addr(subscriber), self.inside.port(subscriber, place)),
            Some(list) => {
                let own = list.each[subscriber as usize];
                (own.addr, own.set.nth(place).into())
            }
        };
        Flow {
            inside_addr,
            inside_port: inside_port as u16,
            remote_addr: self.remote_addr(subscriber, remote),
            remote_port: self.remote_ports.first.wrapping_add(remote_port as u16),
            subscriber,
        }
    }

    #[inline(always)]
    fn remote_addr(&self, subscriber: u32, remote: u32) -> u32 {
        let network = (subscriber & self.remote_by_subscriber) << NETWORK;
        u32::from(self.remote.first).wrapping_add(network).wrapping_add(remote)
    }

    /// Computes [`Self::flow`] for many: inside addresses, inside ports, remote addresses, remote
    /// ports, subscribers.
    #[inline(always)]
    pub(crate) fn flows<const L: usize>(&self, f: &[u32; L], out: [&mut [u32; L]; 5]) {
        let [inside_addr, inside_port, remote_addr, remote_port, subscriber] = out;
        let (first_place, first_remote_port) = (self.inside.first_place, self.remote_ports.first as u32);
        let first_remote = u32::from(self.remote.first);
        for j in 0..L {
            let (rest, place) = self.by_place.div_rem(f[j]);
            inside_port[j] = first_place.wrapping_add(place);
            let (rest, port) = self.by_remote_port.div_rem(rest);
            remote_port[j] = first_remote_port.wrapping_add(port);
            subscriber[j] = rest;
        }
        if self.inside.subscribers == 1 && self.remote.count == 1 {
            // The usual case, with a third of the work.
            *inside_addr = [self.inside.first; L];
            *remote_addr = [first_remote; L];
            *subscriber = [0; L];
        } else {
            for j in 0..L {
                let (of, remote) = self.by_remote.div_rem(subscriber[j]);
                subscriber[j] = of;
                inside_addr[j] = self.inside.addr(of);
                remote_addr[j] = self.remote_addr(of, remote);
            }
        }
        if self.inside.set != PortSet::ALL {
            let set = self.inside.set;
            for j in 0..L {
                let psid = subscriber[j] & ((1 << set.len) - 1);
                inside_port[j] = PortSet { psid: psid as u16, ..set }.nth(inside_port[j]) as u32;
            }
        }
        if let Some(list) = &self.list {
            for j in 0..L {
                let own = list.each[subscriber[j] as usize];
                inside_addr[j] = own.addr;
                inside_port[j] = own.set.nth(inside_port[j]) as u32;
            }
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

    /// RFC 7597, section 5.2: customers with a /28 each have addresses 16 apart.
    #[test]
    fn subscribers_with_a_prefix_each() {
        let (first, ports) = ([203, 0, 113, 0].into(), shared(0, 0, 1024, 10));
        let (remote, remote_ports) = remote();
        let of = |n, bits| FlowSpace::sharing(n, first, ports, remote, remote_ports)?.apart(bits);
        let space = of(16, 4).unwrap();
        let each = (space.size() / 16) as u32;
        for s in 0..16 {
            let flow = space.flow(s * each);
            assert_eq!((flow.subscriber, flow.inside_addr), (s, 0xcb00_7100 + 16 * s));
        }
        assert_eq!(space.inside(), AddrRange { first, count: 241 });
        assert_eq!(of(1 << 24, 8).unwrap_err(), FlowError::Range("the inside address range"));
    }

    #[test]
    fn a_product_above_32_bits_is_refused_not_wrapped() {
        assert_eq!(space(1, (1, 65535), 1, (1, 65535)).unwrap().size(), 65535 * 65535);
        assert_eq!(space(2, (0, 65535), 1, (0, 65535)).unwrap_err(), FlowError::TooMany(1 << 33));
        assert_eq!(space(1, (0, 65535), 1, (0, 65535)).unwrap().size(), 1 << 32);
    }

    fn shared(offset: u8, len: u8, first: u32, count: u32) -> SharedPorts {
        SharedPorts { offset, len, first, count }
    }

    #[test]
    fn networks_lie_256_addresses_apart_on_both_sides() {
        let ports = PortRange { first: 10, last: 12 };
        let [left, right] = [18, 19].map(|net| Ipv4Addr::new(198, net, 0, 2));
        let s = FlowSpace::of_networks(256, left, ports, right, PortRange { first: 5, last: 6 }).unwrap();
        assert!(s.has_networks());
        assert_eq!((s.size(), s.subscribers()), (256 * 3 * 2, 256));
        for range in [s.inside(), s.remote()] {
            assert_eq!(range.count, 255 * 256 + 1);
        }
        let mut seen = std::collections::HashSet::new();
        for f in 0..s.size() as u32 {
            let flow = s.flow(f);
            let [from, to] = [flow.inside_addr, flow.remote_addr].map(|address| Ipv4Addr::from(address).octets());
            assert_eq!((from, to), ([198, 18, from[2], 2], [198, 19, from[2], 2]));
            assert!(seen.insert((from, flow.inside_port, flow.remote_port)));
        }
        let last = Ipv4Addr::new(255, 255, 255, 2);
        assert!(FlowSpace::of_networks(2, left, ports, last, ports).is_err());
    }

    fn remote() -> (AddrRange, PortRange) {
        (AddrRange { first: [198, 19, 0, 2].into(), count: 2 }, PortRange { first: 1, last: 11 })
    }

    #[test]
    fn overlapping_subscribers_differ_in_nothing_but_their_number() {
        let (r, d) = remote();
        let inside = [192, 168, 1, 2].into();
        let s = FlowSpace::overlapping(1000, inside, PortRange { first: 1024, last: 1030 }, r, d).unwrap();
        assert_eq!((s.size(), s.subscribers(), s.inside()), (1000 * 7 * 2 * 11, 1000, AddrRange::one(inside)));
        assert!(s.is_overlapping() && !space(3, (1, 2), 1, (1, 2)).unwrap().is_overlapping());
        let mut seen = std::collections::HashSet::new();
        for f in 0..s.size() as u32 {
            let x = s.flow(f);
            assert_eq!(x.inside_addr, u32::from(inside));
            assert!(seen.insert((x.subscriber, x.inside_port, x.remote_addr, x.remote_port)));
        }
    }

    /// RFC 7597, section 5.1: a customer that shares an address owns only ports of its own PSID.
    #[test]
    fn sharing_subscribers_have_ports_of_their_own() {
        let (r, d) = remote();
        for ports in [shared(6, 8, 100, 152), shared(0, 3, 0, 200), shared(0, 0, 1024, 10), shared(4, 2, 1, 50)] {
            let s = FlowSpace::sharing(21, [192, 0, 2, 1].into(), ports, r, d).unwrap();
            assert_eq!(s.size(), 21 * u64::from(ports.count) * 2 * 11);
            assert_eq!(s.inside().count, (21u32).div_ceil(1 << ports.len));
            let mut seen = std::collections::HashSet::new();
            for f in 0..s.size() as u32 {
                let x = s.flow(f);
                assert_eq!(x.inside_addr, 0xc000_0201 + (x.subscriber >> ports.len));
                let set = PortSet::new(ports.offset, ports.len, (x.subscriber % (1 << ports.len)) as u16).unwrap();
                assert_eq!(set, s.port_set(x.subscriber));
                let place = set.index_of(x.inside_port).unwrap();
                assert!((ports.first..ports.first + ports.count).contains(&place));
                assert!(s.inside().contains(x.inside_addr.into()) && s.inside_ports().contains(x.inside_port));
                assert!(seen.insert((x.inside_addr, x.inside_port, x.remote_addr, x.remote_port)));
            }
        }
    }

    #[test]
    fn listed_subscribers_have_what_the_list_says() {
        let (r, d) = remote();
        let row = |addr: [u8; 4], offset, len, psid| ListedSubscriber {
            addr: u32::from_be_bytes(addr),
            set: PortSet::new(offset, len, psid).unwrap(),
        };
        let list = vec![row([192, 0, 2, 9], 6, 8, 52), row([192, 0, 2, 1], 0, 0, 0), row([192, 0, 2, 9], 6, 8, 3)];
        let s = FlowSpace::listed(list.clone(), 7, r, d).unwrap();
        assert_eq!((s.size(), s.subscribers(), s.is_overlapping()), (3 * 7 * 2 * 11, 3, false));
        assert_eq!(s.inside(), AddrRange { first: [192, 0, 2, 1].into(), count: 9 });
        let mut seen = std::collections::HashSet::new();
        let mut many = [[0u32; 16]; 5];
        for first in (0..s.size() as u32 - 16).step_by(16) {
            let [a, b, c, e, g] = &mut many;
            s.flows(&std::array::from_fn(|j| first + j as u32), [a, b, c, e, g]);
            for (j, i) in (first..).enumerate().take(16) {
                let x = s.flow(i);
                let own = list[x.subscriber as usize];
                assert_eq!((x.inside_addr, s.port_set(x.subscriber)), (own.addr, own.set));
                assert!(own.set.index_of(x.inside_port).unwrap() < 7 && s.inside_ports().contains(x.inside_port));
                assert_eq!([many[0][j], many[1][j]], [x.inside_addr, x.inside_port.into()]);
                assert_eq!([many[2][j], many[3][j], many[4][j]], [x.remote_addr, x.remote_port.into(), x.subscriber]);
                assert!(seen.insert((x.inside_addr, x.inside_port, x.remote_addr, x.remote_port)));
            }
        }
        let too_many = FlowError::SetTooSmall { first: 0, last: 252, have: 252 };
        assert_eq!(FlowSpace::listed(list, 253, r, d).unwrap_err(), too_many);
        assert!(matches!(FlowSpace::listed(Vec::new(), 1, r, d).unwrap_err(), FlowError::Range(_)));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (r, d) = remote();
        let sharing =
            |subscribers, first: [u8; 4], p| FlowSpace::sharing(subscribers, first.into(), p, r, d).unwrap_err();
        let all = [192, 0, 2, 1];
        assert_eq!(sharing(1, all, shared(9, 8, 0, 1)), FlowError::PortSet(crate::PortSetError::Bits(9, 8)));
        let small = FlowError::SetTooSmall { first: 1, last: 8192, have: 8192 };
        assert_eq!(sharing(1, all, shared(0, 3, 1, 8192)), small);
        assert!(matches!(sharing(1, all, shared(0, 3, 1, 0)), FlowError::Range(_)));
        assert!(matches!(sharing(0, all, shared(0, 3, 1, 1)), FlowError::Range(_)));
        assert!(matches!(sharing(9, [255; 4], shared(0, 3, 1, 1)), FlowError::Range(_)), "a second address");
        assert!(FlowSpace::sharing(8, [255; 4].into(), shared(0, 3, 1, 1), r, d).is_ok());
        let million = FlowError::TooMany(1_000_000 * 8192 * 22);
        assert_eq!(sharing(1_000_000, all, shared(0, 3, 0, 8192)), million);
    }

    proptest! {
        #[test]
        fn division_is_exact(n: u32, by in prop_oneof![1u32.., 1u32..70_000], at in 0u32..3) {
            // An inexact reciprocal would show next to a multiple.
            let beside = (n / by * by).wrapping_add(at).wrapping_sub(1);
            for n in [n, beside, u32::MAX - at] {
                prop_assert_eq!(Divisor::new(by).div_rem(n), (n / by, n % by));
            }
        }
    }

    #[test]
    fn parts_of_the_source_ports_share_no_flow() {
        let all = space(2, (1000, 1009), 3, (80, 80)).unwrap();
        let ranges = all.parts_of_source_ports(13);
        let pairs: Vec<_> = ranges.iter().map(|r| (r.first, r.last)).collect();
        assert_eq!(pairs, [(1000, 1002), (1003, 1005), (1006, 1008)], "six flows a port");
        let mut seen = std::collections::HashSet::new();
        for range in ranges {
            let part = all.with_source_ports(range).unwrap();
            assert_eq!((part.size(), part.inside_ports()), (18, range));
            for f in 0..18 {
                let flow = part.flow(f);
                assert!(range.contains(flow.inside_port));
                assert!(seen.insert((flow.inside_addr, flow.inside_port, flow.remote_addr, flow.remote_port)));
            }
        }
    }

    #[test]
    fn there_are_no_parts_of_too_few_ports_or_of_port_sets() {
        let all = space(1, (1000, 1009), 1, (80, 80)).unwrap();
        assert_eq!((all.parts_of_source_ports(10).len(), all.parts_of_source_ports(11).len()), (1, 0));
        assert!(all.with_source_ports(PortRange { first: 1009, last: 1010 }).is_none());
        let ports = SharedPorts { offset: 6, len: 4, first: 0, count: 100 };
        let remote = AddrRange::one(Ipv4Addr::new(198, 19, 0, 2));
        let shared =
            FlowSpace::sharing(16, Ipv4Addr::new(192, 0, 2, 1), ports, remote, PortRange { first: 80, last: 80 });
        let shared = shared.unwrap();
        assert!(shared.parts_of_source_ports(1).is_empty());
        assert!(shared.with_source_ports(shared.inside_ports()).is_none());
    }
}
