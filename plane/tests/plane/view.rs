//! The views of set-ups with an IPv6 link against gateways that are written here, on `etherparse` and plain formulas and
//! with nothing of the plane: what a view sends must be what such a device understands, what the device makes of it must
//! be what the view expects, and a device that misroutes must be found out.

use etherparse::{Ethernet2Header, IpNumber, Ipv4Header, Ipv6Header, UdpHeader};
use plane::Hop;
use plane::view::ce::{self, TunnelEnds};
use plane::view::size::{frame_sizes, mtus};
use plane::view::{
    BedAddresses, OutsideRanges, Subscriber6, TranslatedEnds, Tunnelled, ViewError, forwarding_as, forwarding6, nat44,
    pe,
};
use std::collections::{HashMap, HashSet};
use wire::header::line_limit;
use wire::{
    AddrRange, Expect, FlowSpace, FramePurpose, Mac, Mismatch, OuterRange, PortRange, PortSet, SharedPorts, Tag,
    Template, Values, View, edges,
};

/// The tester's own Ethernet addresses.
const LEFT: Mac = Mac([2, 0, 0, 0, 0, 1]);
const RIGHT: Mac = Mac([2, 0, 0, 0, 0, 4]);
const SUBSCRIBERS: u32 = 100;
const REMOTES: u32 = 3;
const REMOTE: u32 = 0xc613_0002;
const PUBLIC: u32 = 0xc000_0201;
const PE: u128 = 0x2001_0002_0000_0100 << 64 | 2;
const PREF64: u128 = 0x2001_0002_0000_0064 << 64;
/// lw4o6 and MAP: 16 subscribers share an address; ports of 4 bits PSID behind 4 bits offset.
const SHARED: (u8, u8) = (4, 4);

fn address_of(subscriber: u32) -> u128 {
    0x2001_0002_0001_0000 << 64 | (subscriber as u128) << 64 | 0x00c0_0002
}

fn subscribers() -> Vec<Subscriber6> {
    (0..SUBSCRIBERS).map(|s| Subscriber6 { address: address_of(s) }).collect()
}

fn remotes() -> Vec<u128> {
    (0..REMOTES).map(|r| PREF64 | (REMOTE + r) as u128).collect()
}

fn remote() -> (AddrRange, PortRange) {
    (AddrRange { first: REMOTE.into(), count: REMOTES }, PortRange { first: 1, last: 5 })
}

fn bed(flows: FlowSpace, frame_size: usize) -> BedAddresses {
    let left = Hop { own: LEFT, next: Mac([2, 0, 0, 0, 0, 2]) };
    let right = Hop { own: RIGHT, next: Mac([2, 0, 0, 0, 0, 3]) };
    // Drawn from all subscribers pseudo-randomly; more would teach nothing new.
    let connections = flows.size().min(600);
    BedAddresses { left, right, frame_size, ttl: 10, connections, flows, seed: 3 }
}

/// As many hosts as subscribers with addresses of their own.
fn consecutive(size: usize) -> BedAddresses {
    let inside = AddrRange { first: PUBLIC.into(), count: SUBSCRIBERS };
    bed(FlowSpace::new(inside, PortRange { first: 1024, last: 1030 }, remote().0, remote().1).unwrap(), size)
}

fn overlapping(size: usize) -> BedAddresses {
    let (addr, ports) = ([192, 168, 1, 2].into(), PortRange { first: 1024, last: 1030 });
    bed(FlowSpace::overlapping(SUBSCRIBERS, addr, ports, remote().0, remote().1).unwrap(), size)
}

fn sharing(size: usize) -> BedAddresses {
    let ports = SharedPorts { offset: SHARED.0, len: SHARED.1, first: 250, count: 20 };
    bed(FlowSpace::sharing(SUBSCRIBERS, PUBLIC.into(), ports, remote().0, remote().1).unwrap(), size)
}

fn one_customer(size: usize) -> BedAddresses {
    let (addr, ports) = (AddrRange::one([192, 168, 1, 2].into()), PortRange { first: 1024, last: 1100 });
    bed(FlowSpace::new(addr, ports, remote().0, remote().1).unwrap(), size)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Packet {
    to: [u8; 6],
    v6: Option<[u128; 2]>,
    v4: Option<[u32; 2]>,
    ports: [u16; 2],
    ttl: u8,
    payload: Vec<u8>,
}

impl Packet {
    fn parse(bytes: &[u8]) -> Packet {
        let (ether, mut rest) = Ethernet2Header::from_slice(bytes).unwrap();
        let (mut v4, mut v6, mut next, mut ttl) = (None, None, IpNumber::IPV4, 0);
        if ether.ether_type == etherparse::EtherType::IPV6 {
            let h;
            (h, rest) = Ipv6Header::from_slice(rest).unwrap();
            assert_eq!(h.payload_length as usize, rest.len());
            (next, ttl) = (h.next_header, h.hop_limit);
            v6 = Some([h.source, h.destination].map(u128::from_be_bytes));
        }
        if next == IpNumber::IPV4 {
            let h;
            (h, rest) = Ipv4Header::from_slice(rest).unwrap();
            assert_eq!((h.header_checksum, h.total_len as usize), (h.calc_header_checksum(), 20 + rest.len()));
            (next, ttl) = (h.protocol, h.time_to_live);
            v4 = Some([h.source, h.destination].map(u32::from_be_bytes));
        }
        assert_eq!(next, IpNumber::UDP);
        let (udp, payload) = UdpHeader::from_slice(rest).unwrap();
        let ports = [udp.source_port, udp.destination_port];
        let packet = Packet { to: ether.destination, v6, v4, ports, ttl, payload: payload.to_vec() };
        assert_eq!(packet.udp(), udp, "lengths and checksum");
        packet
    }

    fn udp(&self) -> UdpHeader {
        let [s, d] = self.ports;
        match (self.v4, self.v6) {
            (Some(_), _) => UdpHeader::with_ipv4_checksum(s, d, &self.ipv4(), &self.payload).unwrap(),
            (None, Some(_)) => UdpHeader::with_ipv6_checksum(s, d, &self.ipv6(), &self.payload).unwrap(),
            (None, None) => panic!("no addresses"),
        }
    }

    fn ipv4(&self) -> Ipv4Header {
        let [s, d] = self.v4.unwrap().map(u32::to_be_bytes);
        let len = self.payload.len() as u16 + 8;
        let mut h = Ipv4Header::new(len, self.ttl, IpNumber::UDP, s, d).unwrap();
        // What a device may choose.
        h.identification = self.ports[0];
        h.dont_fragment = false;
        h.header_checksum = h.calc_header_checksum();
        h
    }

    fn ipv6(&self) -> Ipv6Header {
        let [source, destination] = self.v6.unwrap().map(u128::to_be_bytes);
        let len = self.payload.len() + 8 + if self.v4.is_some() { 20 } else { 0 };
        Ipv6Header {
            payload_length: len as u16,
            next_header: if self.v4.is_some() { IpNumber::IPV4 } else { IpNumber::UDP },
            hop_limit: if self.v4.is_some() { 64 } else { self.ttl },
            source,
            destination,
            ..Ipv6Header::default()
        }
    }

    fn build(&self) -> Vec<u8> {
        let mut out = self.to.to_vec();
        out.extend([9; 6]);
        if self.v6.is_some() {
            out.extend([0x86, 0xdd]);
            out.extend(self.ipv6().to_bytes());
        } else {
            out.extend([0x08, 0x00]);
        }
        if self.v4.is_some() {
            out.extend(self.ipv4().to_bytes());
        }
        out.extend(self.udp().to_bytes());
        out.extend(&self.payload);
        out
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Ipv4,
    Translated,
    Tunnel,
}

type Key = (u32, u16, u32, u16);

#[derive(Clone)]
struct Gateway {
    links: [Link; 2],
    /// Ports that a NAT may use for `PUBLIC`.
    nat: Option<Vec<u16>>,
    table: HashMap<Key, Packet>,
    /// Whose IPv6 address stands for this IPv4 address and port.
    owner: fn(u32, u16) -> u128,
    /// Error: everything to the customer goes to another one.
    misroutes: bool,
}

impl Gateway {
    fn new(links: [Link; 2], nat: Option<Vec<u16>>, owner: fn(u32, u16) -> u128) -> Gateway {
        Gateway { links, nat, table: HashMap::new(), owner, misroutes: false }
    }

    fn remote6(link: Link, remote: u32) -> u128 {
        if link == Link::Tunnel { PE } else { PREF64 | remote as u128 }
    }

    fn forward(&mut self, p: &Packet) -> Packet {
        let [left, right] = self.links;
        let remote = if left == Link::Translated { p.v6.unwrap()[1] as u32 } else { p.v4.unwrap()[1] };
        if left != Link::Ipv4 {
            assert_eq!(p.v6.unwrap()[1], Gateway::remote6(left, remote));
        }
        let mut q = Packet { to: RIGHT.0, ttl: p.ttl - 1, ..p.clone() };
        let customer = if let Some(ports) = &self.nat {
            let used = |&port: &u16| !self.table.contains_key(&(PUBLIC, port, remote, p.ports[1]));
            q.ports[0] = *ports.iter().find(|&port| used(port)).expect("ports enough");
            self.table.insert((PUBLIC, q.ports[0], remote, p.ports[1]), p.clone());
            PUBLIC
        } else {
            let addr = p.v4.map_or_else(|| self.addr4(p.v6.unwrap()[0], p.ports[0]), |v4| v4[0]);
            if left != Link::Ipv4 {
                assert_eq!(p.v6.unwrap()[0], (self.owner)(addr, p.ports[0]), "the sender owns address and port");
            }
            addr
        };
        q.v4 = (right != Link::Translated).then_some([customer, remote]);
        let ends = || [(self.owner)(customer, q.ports[0]), Gateway::remote6(right, remote)];
        q.v6 = (right != Link::Ipv4).then(ends);
        q
    }

    fn back(&self, p: &Packet) -> Packet {
        let [left, right] = self.links;
        let [remote, customer] = match right {
            Link::Translated => {
                let [r, c] = p.v6.unwrap();
                [r as u32, if self.nat.is_some() { PUBLIC } else { self.addr4(c, p.ports[1]) }]
            }
            _ => p.v4.unwrap(),
        };
        if right != Link::Ipv4 {
            assert_eq!(p.v6, Some([Gateway::remote6(right, remote), (self.owner)(customer, p.ports[1])]));
        }
        let mut q = Packet { to: LEFT.0, ttl: p.ttl - 1, ..p.clone() };
        if self.nat.is_some() {
            let opened = &self.table[&(customer, p.ports[1], remote, p.ports[0])];
            q.ports[1] = opened.ports[0];
            q.v6 = opened.v6.map(|[c, r]| [r, c]);
            q.v4 = opened.v4.map(|[c, r]| [r, c]);
        } else {
            q.v6 = (left != Link::Ipv4).then(|| [Gateway::remote6(left, remote), (self.owner)(customer, p.ports[1])]);
            q.v4 = (left != Link::Translated).then_some([remote, customer]);
        }
        if let (Some(ends), true) = (&mut q.v6, self.misroutes) {
            ends[1] += 1 << 64;
        }
        q
    }

    /// The IPv4 address that an IPv6 address stands for.
    fn addr4(&self, addr6: u128, port: u16) -> u32 {
        (PUBLIC..PUBLIC + SUBSCRIBERS).find(|&a| (self.owner)(a, port) == addr6).expect("a known address")
    }
}

fn own_address(addr: u32, _: u16) -> u128 {
    address_of(addr - PUBLIC)
}

fn shared_address(addr: u32, port: u16) -> u128 {
    let psid = u32::from(port >> 8 & 15);
    assert!(port >> 12 != 0, "offset bits are never 0");
    address_of((addr - PUBLIC) << 4 | psid)
}

fn only_address(_: u32, _: u16) -> u128 {
    address_of(0)
}

fn tag(index: u32, reverse: bool) -> Tag {
    Tag { trial: 9, stream: Tag::stream(FramePurpose::Data, reverse), sender: 0, sequence: index.into(), index }
}

/// Send every connection there and back through the gateway, and once more through a gateway that misroutes.
fn there_and_back(view: &View, mut gateway: Gateway) {
    assert_eq!(view.stateful, gateway.nat.is_some());
    for i in 0..view.connections() as u32 {
        let mut values = Values::of(view.flows.flow(view.order.get(i)));
        let mut frame = vec![0; view.left.len()];
        view.left.write(&mut frame, &values, &tag(i, false));
        assert!(view.magic_at.iter().any(|&at| Tag::read(&frame, at) == Some(tag(i, false))));
        let sent = Packet::parse(&frame);
        assert_eq!(sent.to, [2, 0, 0, 0, 0, 2]);
        let arrived = gateway.forward(&sent).build();
        if view.stateful {
            let (addr, port) = view.expect_right.learn(&arrived, &values).unwrap();
            values = values.learned(addr, port);
        }
        assert_eq!(view.expect_right.check(&arrived, &values), Ok(()));
        assert_eq!(Tag::read(&arrived, view.expect_right.tag_at()), Some(tag(i, false)));
        let mut frame = vec![0; view.right.len()];
        view.right.write(&mut frame, &values, &tag(i, true));
        assert!(view.magic_at.iter().any(|&at| Tag::read(&frame, at) == Some(tag(i, true))));
        let sent = Packet::parse(&frame);
        assert_eq!(sent.to, [2, 0, 0, 0, 0, 3]);
        let back = gateway.back(&sent);
        assert_eq!(view.expect_left.check(&back.build(), &values), Ok(()));
        if back.v6.is_some() {
            gateway.misroutes = true;
            let elsewhere = gateway.back(&sent).build();
            assert_eq!(view.expect_left.check(&elsewhere, &values), Err(Mismatch::Address));
            gateway.misroutes = false;
        }
    }
}

fn pool() -> OuterRange {
    OuterRange { addrs: AddrRange::one(PUBLIC.into()), ports: PortRange { first: 1024, last: 65_535 } }
}

fn any_port() -> Vec<u16> {
    (1024..=65_535).rev().collect()
}

fn own_ports() -> (OutsideRanges, Option<Vec<u16>>) {
    let set = PortSet::new(SHARED.0, SHARED.1, 3).unwrap();
    (OutsideRanges { set, ..pool().into() }, Some((0..set.count()).map(|j| set.nth(j)).collect()))
}

const SIZES: [usize; 3] = [64, 65, 1518];

const SOFTWIRE: TunnelEnds = TunnelEnds { ce: 0x2001_0002_0001_0000 << 64 | 0x00c0_0002, pe: PE };

/// Every part of every technology, with frames of this size, and its gateway.
fn each_part(size: usize, work: fn(&View, Gateway)) {
    use Link::{Ipv4, Translated as Ipv6, Tunnel};
    let (subscribers, remotes) = (&subscribers()[..], &remotes()[..]);
    let (ends, softwires) = (TranslatedEnds { subscribers, remotes }, Tunnelled { subscribers, pe: PE });
    let (own, set) = own_ports();
    let any = Some(any_port());
    let [one, shared, whole]: [fn(u32, u16) -> u128; 3] = [only_address, shared_address, own_address];
    let (overlapping, sharing, consecutive, customer) =
        (overlapping(size), sharing(size), consecutive(size), one_customer(size));
    for (part, view, links, nat, owner) in vec![
        ("PLAT", pe::plat(&overlapping, &ends, pool()), [Ipv6, Ipv4], &any, one),
        (
            "AFTR with the same inside address everywhere",
            pe::aftr(&overlapping, &softwires, pool()),
            [Tunnel, Ipv4],
            &any,
            one,
        ),
        ("lwAFTR, shared addresses", pe::lwaftr(&sharing, &softwires), [Tunnel, Ipv4], &None, shared),
        ("BR of MAP-E", pe::map_e_br(&sharing, &softwires), [Tunnel, Ipv4], &None, shared),
        ("lwAFTR, whole addresses", pe::lwaftr(&consecutive, &softwires), [Tunnel, Ipv4], &None, whole),
        ("BR of MAP-T", pe::map_t_br(&sharing, &ends), [Ipv6, Ipv4], &None, shared),
        ("SIIT", pe::siit(&consecutive, &ends), [Ipv6, Ipv4], &None, whole),
        ("CLAT", ce::clat(&consecutive, &ends), [Ipv4, Ipv6], &None, whole),
        ("B4", Ok(ce::b4(&consecutive, SOFTWIRE)), [Ipv4, Tunnel], &None, one),
        ("lwB4", Ok(ce::lwb4(&customer, SOFTWIRE, own.clone())), [Ipv4, Tunnel], &set, one),
        ("CE of MAP-E", Ok(ce::map_e(&customer, SOFTWIRE, own.clone())), [Ipv4, Tunnel], &set, one),
        ("CE of MAP-T", ce::map_t(&customer, SOFTWIRE.ce, remotes, own.clone()), [Ipv4, Ipv6], &set, one),
    ] {
        let view = view.unwrap_or_else(|e| panic!("{part}: {e}"));
        println!("{part}, {size} octets");
        work(&view, Gateway::new(links, nat.clone(), owner));
    }
}

#[test]
fn frames_of_every_part_go_there_and_back() {
    for size in SIZES {
        each_part(size, there_and_back);
    }
}

/// UDP checksums beside zero (RFC 768, RFC 1624), in which a lost carry shows.
const BESIDE_ZERO: [u16; 8] = [0xffff, 1, 0xfffe, 2, 0xfffd, 3, 0xfffc, 4];

/// What the gateway writes must contain each edge, in both directions.
fn meets_edges(view: &View, mut gateway: Gateway) {
    let mut written = [HashSet::new(), HashSet::new()];
    for i in 0..edges::FRAMES as u32 {
        let flow = Values::of(view.flows.flow(view.order.get(i)));
        let write = |template: &Template, expect: &Expect, values: &Values, reverse| {
            let mut frame = vec![0; template.len()];
            template.write(&mut frame, values, &tag(i, reverse));
            edges::meet(&mut frame, i.into(), (template, expect), values);
            Packet::parse(&frame)
        };
        let forward = |values: &Values| write(&view.left, &view.expect_right, values, false);
        // As after phase 1, the mapping is known.
        let mapped = gateway.clone().forward(&forward(&flow)).build();
        let (addr, port) = view.expect_right.learn(&mapped, &flow).unwrap();
        let values = flow.learned(addr, port);
        written[0].insert(gateway.forward(&forward(&values)).udp().checksum);
        let back = gateway.back(&write(&view.right, &view.expect_left, &values, true));
        assert_eq!(view.expect_left.check(&back.build(), &values), Ok(()));
        written[1].insert(back.udp().checksum);
    }
    for (written, direction) in written.iter().zip(["Left to Right", "Right to Left"]) {
        let missing: Vec<_> = BESIDE_ZERO.iter().filter(|edge| !written.contains(edge)).collect();
        assert!(missing.is_empty(), "{direction}: {missing:x?}");
    }
}

#[test]
fn the_first_frames_meet_the_edges_of_what_a_device_writes() {
    for size in [64, 1278] {
        each_part(size, meets_edges);
    }
}

/// RFC 7597, section 8.1: a CE that leaves its port set takes the ports of another customer.
#[test]
fn a_ce_that_leaves_its_port_set_is_found() {
    let (outside, _) = own_ports();
    let bed = one_customer(64);
    let translated = ce::map_t(&bed, SOFTWIRE.ce, &remotes(), outside.clone()).unwrap();
    let views = [
        (ce::lwb4(&bed, SOFTWIRE, outside.clone()), [Link::Ipv4, Link::Tunnel]),
        (translated, [Link::Ipv4, Link::Translated]),
        (nat44(&bed, outside), [Link::Ipv4, Link::Ipv4]),
    ];
    for (view, links) in views {
        let values = Values::of(view.flows.flow(0));
        let mut frame = vec![0; view.left.len()];
        view.left.write(&mut frame, &values, &tag(0, false));
        for (port, right) in [(0x13ff, true), (0x1400, false), (0x12ff, false), (0x0300, false), (0xf300, true)] {
            let mut gateway = Gateway::new(links, Some(vec![port]), only_address);
            let arrived = gateway.forward(&Packet::parse(&frame)).build();
            let outcome = view.expect_right.learn(&arrived, &values).map(|(_, port)| port);
            assert_eq!(outcome, if right { Ok(port) } else { Err(Mismatch::Pool) });
        }
    }
}

#[test]
fn frames_of_any_link_come_back_over_a_cable() {
    let ends = Tunnelled { subscribers: &subscribers(), pe: PE };
    let on_the_cable = Hop { own: LEFT, next: LEFT };
    let bed = BedAddresses { left: on_the_cable, right: on_the_cable, ..sharing(64) };
    let link = pe::lwaftr(&bed, &ends).unwrap().left.layout().clone();
    let view = forwarding_as(&bed, &link);
    for i in 0..100 {
        let values = Values::of(view.flows.flow(view.order.get(i)));
        for (sent, expect) in [(&view.left, &view.expect_right), (&view.right, &view.expect_left)] {
            let mut frame = vec![0; sent.len()];
            sent.write(&mut frame, &values, &tag(i, false));
            assert_eq!(expect.check(&frame, &values), Ok(()));
        }
    }
}

/// An IPv6 router (RFC 5180) decrements the hop limit and changes nothing else; frames never have fewer than 84 octets.
#[test]
fn an_ipv6_router_changes_the_hop_limit_alone() {
    let subscribers = subscribers();
    let far: Vec<u128> = (0..REMOTES).map(|r| 0x2001_0002_0000_8000 << 64 | u128::from(r) << 16 | 2).collect();
    let bed = consecutive(64);
    let view = forwarding6(&bed, &TranslatedEnds { subscribers: &subscribers, remotes: &far }).unwrap();
    assert_eq!((frame_sizes(&view), view.magic_at.clone()), ([84, 84], vec![62]));
    for i in 0..600 {
        let flow = view.flows.flow(view.order.get(i));
        let values = Values::of(flow);
        let ends = [address_of(flow.subscriber), far[(flow.remote_addr - REMOTE) as usize]];
        for (sent, expect, [src, dst]) in
            [(&view.left, &view.expect_right, ends), (&view.right, &view.expect_left, [ends[1], ends[0]])]
        {
            let mut frame = vec![0; sent.len()];
            sent.write(&mut frame, &values, &tag(i, false));
            let (head, _) = Ipv6Header::from_slice(&frame[14..]).unwrap();
            assert_eq!((head.source_addr(), head.destination_addr()), (src.into(), dst.into()));
            assert_eq!((head.hop_limit, head.next_header), (10, IpNumber::UDP));
            let udp = UdpHeader::from_slice(&frame[54..]).unwrap().0;
            assert_eq!(udp.calc_checksum_ipv6(&head, &frame[62..]).unwrap(), udp.checksum);
            frame[..6].copy_from_slice(if sent.fields() == view.left.fields() { &RIGHT.0 } else { &LEFT.0 });
            frame[21] -= 1;
            assert_eq!(expect.check(&frame, &values), Ok(()));
            frame[53] ^= 1;
            assert_eq!(expect.check(&frame, &values), Err(Mismatch::Address));
        }
    }
    let few = TranslatedEnds { subscribers: &subscribers[1..], remotes: &far };
    assert!(matches!(forwarding6(&bed, &few), Err(ViewError::Rows { .. })));
}

#[test]
fn addresses_that_do_not_fit_the_flows_are_refused() {
    let (few, far) = (&subscribers()[1..], &remotes()[1..]);
    let refused = |view: Result<View, ViewError>| view.unwrap_err().to_string();
    let rows = |what, have, want| ViewError::Rows { what, have, want }.to_string();
    let translated = TranslatedEnds { subscribers: few, remotes: &remotes() };
    assert_eq!(refused(pe::siit(&consecutive(64), &translated)), rows("subscribers", 99, 100));
    let translated = TranslatedEnds { subscribers: &subscribers(), remotes: far };
    assert_eq!(refused(pe::siit(&consecutive(64), &translated)), rows("remote addresses", 2, 3));
    assert_eq!(refused(ce::map_t(&one_customer(64), 1, far, pool())), rows("remote addresses", 2, 3));
    let mut twice = subscribers();
    twice[70] = twice[3];
    let softwires = Tunnelled { subscribers: &twice, pe: PE };
    assert_eq!(refused(pe::aftr(&overlapping(64), &softwires, pool())), ViewError::Shared(70).to_string());
    // RFC 7596: a lwB4 may have several addresses, each with a binding of its own.
    assert!(pe::lwaftr(&sharing(64), &softwires).is_ok());
    assert_eq!(refused(pe::lwaftr(&overlapping(64), &softwires)), ViewError::Overlapping.to_string());
}

/// METHODOLOGY.md, frame sizes.
#[test]
fn sizes_limits_and_mtus_are_those_of_the_methodology() {
    let translated = TranslatedEnds { subscribers: &subscribers(), remotes: &remotes() };
    let softwires = Tunnelled { subscribers: &subscribers(), pe: PE };
    let plat = |size| pe::plat(&overlapping(size), &translated, pool()).unwrap();
    let aftr = |size| pe::aftr(&overlapping(size), &softwires, pool()).unwrap();
    let clat = ce::clat(&consecutive(64), &translated).unwrap();
    let ten = 10_000_000_000;
    assert_eq!((frame_sizes(&plat(64)), plat(64).magic_at), ([84, 64], vec![62, 42]));
    assert_eq!((frame_sizes(&aftr(64)), aftr(64).magic_at), ([104, 64], vec![82, 42]));
    assert_eq!((frame_sizes(&clat), clat.magic_at.clone()), ([64, 84], vec![42, 62]));
    assert_eq!(nat44(&one_customer(64), pool()).magic_at, [42]);
    let tens = [64, 84, 104, 128, 148, 256, 512, 1024, 1280, 1518].map(|size| line_limit(ten, size));
    let printed =
        [14_880_952, 12_019_230, 10_080_645, 8_445_945, 7_440_476, 4_528_985, 2_349_624, 1_197_318, 961_538, 812_743];
    assert_eq!(tens, printed);
    // The biggest frames that a link of 1500 octets carries.
    assert_eq!((mtus(&plat(1498)), mtus(&aftr(1478))), ([1500, 1480], [1500, 1460]));
    assert_eq!((plat(1498).longest(), aftr(64).longest()), (1514, 100));
    let growth = |view: View| [true, false].map(|left| view.growth(left));
    assert_eq!((growth(plat(64)), growth(aftr(1478)), growth(clat)), ([0, 20], [0, 40], [20, 0]));
    assert_eq!(growth(nat44(&one_customer(64), pool())), [0, 0]);
}

/// Connection i is number perm(i) of all flows (METHODOLOGY.md, which connections): with few connections every
/// subscriber has some, and no port range is narrower than the report says.
#[test]
fn few_connections_are_spread_over_all_flows() {
    let bed = BedAddresses { connections: 1500, ..consecutive(64) };
    let view = plane::view::forwarding(&bed);
    assert!(bed.flows.size() > 10_000 && view.connections() == 1500);
    let flows: Vec<_> = (0..1500).map(|i| view.flows.flow(view.order.get(i))).collect();
    let different =
        |value: fn(&wire::Flow) -> u32| flows.iter().map(value).collect::<std::collections::HashSet<_>>().len() as u32;
    let found = [
        different(|f| f.subscriber),
        different(|f| f.inside_port.into()),
        different(|f| f.remote_addr),
        different(|f| f.remote_port.into()),
    ];
    assert_eq!(found, [SUBSCRIBERS, 7, REMOTES, 5]);
}
