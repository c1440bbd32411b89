//! A customer's edge whole, alone and with a border relay behind it: plain IPv4 on both sides, as one stateful NAT44.

use crate::bed::*;
use crate::rules::{p4, p6, rule, v6};
use plane::map::{Domain, EdgeConfig, MapEBr, MapEEdge, MapTBr, MapTEdge};
use plane::nat44::config as nat44;
use plane::translate::{self, Pref64, Translate};
use plane::tunnel::{self, Tunnel};
use plane::{Function, Side};
use std::sync::Arc;
use wire::PortSet;

const PORTS: PortSet = PortSet { offset: 6, len: 8, psid: 0x34 };
const RELAY: &str = "2001:db8:ffff::1";

fn domain() -> Arc<Domain> {
    Arc::new(Domain::new(vec![rule("2001:db8::/40", "192.0.2.0/24", 16)]).unwrap())
}

fn edge() -> EdgeConfig {
    let d = domain();
    let nat = nat44::Config::new(v4_side(), v4_side(), vec![p4("10.0.0.0/8")], Vec::new());
    EdgeConfig {
        nat: nat44::Config { sessions: 4096, preserve_parity: false, ..nat },
        internet: v6_side(),
        customer: d.mapping(0).customer_of(&d.rules()[0], p6("2001:db8:12:3400::/56")).unwrap(),
        mesh: Arc::new(Domain::new(Vec::new()).unwrap()),
    }
}

fn dmr() -> Pref64 {
    Pref64::new(p6("2001:db8:ffff::/64"), false).unwrap()
}

fn map_e() -> (Bed<MapEEdge>, Bed<Tunnel<MapEBr>>) {
    let c = edge();
    let ce = c.map_e(c.tunnel(), v6(RELAY), 0, 1, 7).unwrap();
    let config = tunnel::Config::new(Side::Customer, v4_side(), v6_side());
    let br = Tunnel::new(config, MapEBr::new(domain(), v6(RELAY)).unwrap(), 0, 1, 1).unwrap();
    (Bed::new(ce, Side::Internet), Bed::new(br, Side::Customer))
}

fn map_t() -> (Bed<MapTEdge>, Bed<Translate<MapTBr>>) {
    let c = edge();
    let ce = c.map_t(c.translator(), dmr(), 0, 1, 7).unwrap();
    let config = translate::Config::new(Side::Customer, v4_side(), v6_side());
    let br = Translate::new(config, MapTBr::new(domain(), dmr()).unwrap()).unwrap();
    (Bed::new(ce, Side::Internet), Bed::new(br, Side::Customer))
}

/// Through both and back, for more flows than the port set has rows: one hop less at each, ports of the set.
fn both_ways<A: Function, B: Function>(mut ce: Bed<A>, mut br: Bed<B>) {
    for port in 5000..5100 {
        let six = ce.pass(false, &udp4(("10.0.0.2", port), ("203.0.113.7", 80)));
        let out = judge(&br.pass(true, &turn(&six)));
        assert_eq!((out.src.to_string(), out.dst.to_string()), ("192.0.2.18".into(), "203.0.113.7".into()));
        assert!(PORTS.contains(out.ports.0) && out.ports.1 == 80 && out.hops == 62);
        let six = br.pass(false, &udp4(("203.0.113.7", 80), ("192.0.2.18", out.ports.0)));
        let back = judge(&ce.pass(true, &turn(&six)));
        assert_eq!((back.dst.to_string(), back.ports, back.hops), ("10.0.0.2".into(), (80, port), 62));
    }
    for id in 0..20 {
        let out = judge(&br.pass(true, &turn(&ce.pass(false, &echo4("10.0.0.2", "203.0.113.7", id, false)))));
        assert!(PORTS.contains(out.ports.0));
        let six = br.pass(false, &echo4("203.0.113.7", "192.0.2.18", out.ports.0, true));
        assert_eq!(judge(&ce.pass(true, &turn(&six))).ports.0, id);
    }
    assert_eq!(ce.entries().0, 120);
}

#[test]
fn map_e_edge_and_relay_are_one_nat44() {
    let (ce, br) = map_e();
    both_ways(ce, br);
}

#[test]
fn map_t_edge_and_relay_are_one_nat44() {
    let (ce, br) = map_t();
    both_ways(ce, br);
}

/// RFC 7599, section 10.3: what the translator behind the NAT44 cuts has an identification of the port set.
#[test]
fn identifications_of_what_a_map_t_edge_cuts_are_of_the_set() {
    let (mut ce, _) = map_t();
    let mut frame = Vec::new();
    let step = etherparse::PacketBuilder::ethernet2(V4_HOP, V4_MAC).ipv4([10, 0, 0, 2], [203, 0, 113, 7], 64);
    step.udp(5000, 80).write(&mut frame, &[7; 1300]).unwrap();
    let frame = crate::common::ip4::clear_df(frame);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let out = ce.send(false, &frame);
        let ids: Vec<_> = out.iter().map(|(_, f)| u32::from_be_bytes(f[58..62].try_into().unwrap())).collect();
        assert!(ids.len() == 2 && ids[0] == ids[1] && seen.insert(ids[0]), "{ids:?}");
        assert!(u16::try_from(ids[0]).is_ok_and(|id| PORTS.contains(id)));
    }
}

/// What was never sent to does not come in, and what is not for the port set ends before the NAT44.
#[test]
fn strangers_end_at_the_edge() {
    let ce = "2001:db8:12:3400:0:c000:212:34";
    let (mut e, _) = map_e();
    let from = |port| in_tunnel(RELAY, ce, &udp4(("203.0.113.7", 80), ("192.0.2.18", port)));
    e.dropped(true, &from(1232), "nat44.no-session");
    e.dropped(true, &from(1236), "tunnel.outside-port-set");
    let (mut t, _) = map_t();
    let remote = "2001:db8:ffff:0:cb:71:700::";
    t.dropped(true, &udp6((remote, 80), (ce, 1232)), "nat44.no-session");
    t.dropped(true, &udp6((remote, 80), (ce, 1236)), "translate.outside-port-set");
}
