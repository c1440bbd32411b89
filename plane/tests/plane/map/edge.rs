//! A whole customer's edge, alone and with a border relay behind it, as one stateful NAT44.

use crate::map::bed::*;
use crate::map::rules::{p4, p6, rule, v6};
use plane::edge::{Edge, behind_nat};
use plane::map::{Customer, Domain, MapEBr, MapECe, MapTBr, MapTCe};
use plane::nat44::{Nat44, config::Config as NatConfig};
use plane::translate::{self, Pref64, Translate};
use plane::tunnel::{self, Tunnel};
use plane::{Chain, Function, Side, Side4};
use std::net::IpAddr;
use std::sync::Arc;
use testbed::ip4::{clear_df, reseal, set_df};
use testbed::packets::udp_with;
use wire::PortSet;

const PORTS: PortSet = PortSet { offset: 6, len: 8, psid: 0x34 };
const RELAY: &str = "2001:db8:ffff::1";

fn domain() -> Arc<Domain> {
    Arc::new(Domain::new(vec![rule("2001:db8::/40", "192.0.2.0/24", 16)]).unwrap())
}

type MapEEdge = Chain<Nat44, Tunnel<MapECe>>;
type MapTEdge = Chain<Nat44, Translate<MapTCe>>;

/// A customer's edge of either technology, before it is built.
struct Ce {
    customer: Customer,
    mesh: Arc<Domain>,
    /// Largest packet on the customer's link, and sessions of the NAT44.
    mtu: u16,
    sessions: u64,
}

impl Ce {
    fn links(&self) -> Edge {
        Edge { customer: Side4 { mtu: self.mtu, ..v4_side() }, internet: v6_side() }
    }

    fn with_nat<F: Function>(&self, nat: NatConfig, behind: (&'static str, F)) -> Bed<Chain<Nat44, F>> {
        let nat = NatConfig { sessions: self.sessions, preserve_parity: false, ..nat };
        bed(behind_nat(nat, behind, 0, 1, 7).unwrap(), Side::Internet)
    }

    fn map_e(&self) -> Bed<MapEEdge> {
        let softwires = MapECe::new(self.customer, v6(RELAY), self.mesh.clone()).unwrap();
        let tunnel = Tunnel::new(self.links().tunnel(), softwires, 0, 1, 7).unwrap();
        let nat = self.links().nat_before_tunnel(vec![p4("10.0.0.0/8")], self.customer.pool(), self.customer.ports);
        self.with_nat(nat, ("tunnel", tunnel))
    }

    fn map_t(&self, change: impl FnOnce(&mut translate::Config)) -> Bed<MapTEdge> {
        let mut config = self.links().translator();
        change(&mut config);
        let translate = Translate::new(config, MapTCe::new(self.customer, dmr(), self.mesh.clone()).unwrap()).unwrap();
        let nat = self.links().nat_before_translator(vec![p4("10.0.0.0/8")], self.customer.pool(), self.customer.ports);
        self.with_nat(nat, ("translate", translate))
    }
}

fn edge() -> Ce {
    let d = domain();
    Ce {
        customer: customer(&d, "2001:db8:12:3400::/56"),
        mesh: Arc::new(Domain::new(Vec::new()).unwrap()),
        mtu: 1500,
        sessions: 4096,
    }
}

fn dmr() -> Pref64 {
    Pref64::new(p6("2001:db8:ffff::/64"), false).unwrap()
}

fn map_e() -> (Bed<MapEEdge>, Bed<Tunnel<MapEBr>>) {
    let config = tunnel::Config::new(Side::Customer, v4_side(), v6_side());
    let br = Tunnel::new(config, MapEBr::new(domain(), v6(RELAY)).unwrap(), 0, 1, 1).unwrap();
    (edge().map_e(), bed(br, Side::Customer))
}

fn map_t() -> (Bed<MapTEdge>, Bed<Translate<MapTBr>>) {
    let config = translate::Config::new(Side::Customer, v4_side(), v6_side());
    let br = Translate::new(config, MapTBr::new(domain(), dmr()).unwrap()).unwrap();
    (edge().map_t(|_| {}), bed(br, Side::Customer))
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
        let out = judge(&br.pass(true, &turn(&ce.pass(false, &echo("10.0.0.2", "203.0.113.7", id, false)))));
        assert!(PORTS.contains(out.ports.0));
        let six = br.pass(false, &echo("203.0.113.7", "192.0.2.18", out.ports.0, true));
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
    let frame = udp_with(("10.0.0.2", 5000), ("203.0.113.7", 80), 64, &[7; 1300]);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let out = ce.send(false, &frame);
        let ids: Vec<_> = out.iter().map(|(_, f)| u32::from_be_bytes(f[58..62].try_into().unwrap())).collect();
        assert!(ids.len() == 2 && ids[0] == ids[1] && seen.insert(ids[0]), "{ids:?}");
        assert!(u16::try_from(ids[0]).is_ok_and(|id| PORTS.contains(id)));
    }
}

/// The NAT44 drops unsolicited packets; packets to ports outside of the port set do not reach it.
#[test]
fn unsolicited_packets_end_at_the_edge() {
    let ce = "2001:db8:12:3400:0:c000:212:34";
    let (mut e, _) = map_e();
    let from = |port| in_tunnel(RELAY, ce, &udp4(("203.0.113.7", 80), ("192.0.2.18", port)));
    e.ended(true, &from(1232), "nat44.no-session");
    e.ended(true, &from(1236), "tunnel.outside-port-set");
    let (mut t, _) = map_t();
    let remote = "2001:db8:ffff:0:cb:71:700::";
    t.ended(true, &udp6((remote, 80), (ce, 1232)), "nat44.no-session");
    t.ended(true, &udp6((remote, 80), (ce, 1236)), "translate.outside-port-set");
}

/// The edge of a customer that shares its address, or of one that has it alone.
fn whose(shared: bool) -> Ce {
    if shared {
        return edge();
    }
    let d = Domain::new(vec![rule("2001:db8::/48", "192.0.2.0/24", 8)]).unwrap();
    let customer = customer(&d, "2001:db8:0:1200::/56");
    Ce { customer, ..edge() }
}

/// An error reaches the customer that it is about: from the inner link's own address, with the packet quoted as it was sent.
fn told<F: Function>(ce: &mut Bed<F>, over6: bool, frame: &[u8], about: &[u8]) -> (u8, u8) {
    let (before, out) = (ce.count("nat44.icmp-sent"), ce.send(over6, frame));
    assert_eq!(out.len(), 1, "{:?}", ce.nonzero());
    let (six, error) = &out[0];
    let seen = judge(error);
    assert_eq!((*six, seen.src.to_string(), seen.dst.to_string()), (false, "192.0.0.2".into(), "10.0.0.2".into()));
    assert_eq!(error[42 + 12..42 + 24], about[14 + 12..14 + 24], "addresses and ports of the quote");
    assert_eq!(ce.count("nat44.icmp-sent"), before, "not the NAT44's own");
    seen.icmp.unwrap()
}

/// A frame to 203.0.113.7 that must not be cut and is too large for the IPv6 side.
fn large() -> Vec<u8> {
    let mut frame = udp_with(("10.0.0.2", 5000), ("203.0.113.7", 80), 64, &[7; 1465]);
    set_df(&mut frame);
    frame
}

const ROUTER: &str = "2001:db8:eeee::1";

/// RFC 5508, REQ-4, and RFC 2473, section 8: what the tunnel's half says, and what routers say in the tunnel.
#[test]
fn errors_of_the_tunnel_reach_the_customer_through_the_nat44() {
    for shared in [true, false] {
        let c = whose(shared);
        let mut ce = c.map_e();
        let frame = udp4(("10.0.0.2", 5000), ("203.0.113.7", 80));
        let sent = ce.pass(false, &frame);
        let own = judge(&sent).src.to_string();
        assert_eq!(told(&mut ce, true, &unreachable(ROUTER, &own, &sent), &frame), (3, 1));
        assert_eq!(told(&mut ce, false, &large(), &large()), (3, 4));
        assert_eq!((ce.count("tunnel.icmp-relayed"), ce.count("tunnel.too-big")), (1, 1));
    }
}

/// RFC 5508, REQ-4, and RFC 7915: the same of the translator, also of routers without an IPv4 address (RFC 6791).
#[test]
fn errors_of_the_translator_reach_the_customer_through_the_nat44() {
    for shared in [true, false] {
        let c = whose(shared);
        let mut ce = c.map_t(|_| {});
        let frame = udp4(("10.0.0.2", 5000), ("203.0.113.7", 80));
        let sent = ce.pass(false, &frame);
        let own = judge(&sent).src.to_string();
        assert_eq!(told(&mut ce, true, &unreachable(ROUTER, &own, &sent), &frame), (3, 3));
        // What is too large for the IPv6 side the NAT44 refuses itself.
        let error = ce.ended(false, &large(), "nat44.too-big").expect("its sender is told");
        assert_eq!((judge(&error).src.to_string(), judge(&error).icmp), ("198.51.100.254".into(), Some((3, 4))));
        assert_eq!((&error[40..42], &error[42..70]), (&1480u16.to_be_bytes()[..], &large()[14..42]));
    }
}

/// The other way: what the NAT44 says of packets from the Internet leaves by the tunnel, or translated, from the customer's
/// own address.
#[test]
fn errors_of_the_nat44_reach_the_internet() {
    for shared in [true, false] {
        let mut c = whose(shared);
        c.mtu = 600;
        let mut ce = c.map_e();
        let sent = judge(&ce.pass(false, &udp4(("10.0.0.2", 5000), ("203.0.113.7", 80))));
        let inside = sent.inside.unwrap();
        let (IpAddr::V4(own), port) = (inside.src, inside.ports.0) else { panic!("IPv4 inside") };
        let mut four = udp_with(("203.0.113.7", 80), (own, port), 64, &[7; 700]);
        set_df(&mut four);
        let error = ce.ended(true, &in_tunnel(RELAY, &sent.src.to_string(), &four), "nat44.too-big").unwrap();
        let (seen, ends) = (judge(&error), (sent.src, sent.dst));
        assert_eq!((seen.src, seen.dst), ends);
        let inside = seen.inside.unwrap();
        assert_eq!((inside.src, inside.dst.to_string()), (own.into(), "203.0.113.7".to_owned()));
        assert_eq!(inside.icmp, Some((3, 4)));

        let mut ce = c.map_t(|_| {});
        let sent = ce.pass(false, &udp4(("10.0.0.2", 5000), ("203.0.113.7", 80)));
        let (IpAddr::V6(own), IpAddr::V6(remote)) = (judge(&sent).src, judge(&sent).dst) else { panic!("IPv6") };
        let six = udp_with((remote, 80), (own, judge(&sent).ports.0), 64, &[7; 1300]);
        let seen = judge(&ce.ended(true, &six, "nat44.too-big").unwrap());
        assert_eq!((seen.src, seen.dst, seen.icmp), (own.into(), remote.into(), Some((2, 0))));
    }
}

/// The edge refuses a customer's packet after its NAT44 has translated it, with an identification of the port set if the address is
/// shared: what is quoted is what the customer sent, but for the hop that was taken off (RFC 792; RFC 5508, REQ-4).
fn quotes_as_sent<F: Function>(ce: &mut Bed<F>, frame: &[u8], why: &str) {
    let before = ce.count("nat44.icmp-sent");
    let error = ce.ended(false, frame, why).expect("its sender is told");
    let mut quote = error[42 - 14..].to_vec();
    quote[14 + 8] += 1;
    reseal(&mut quote);
    let n = (frame.len() - 14).min(576 - 28);
    assert_eq!(quote[14..14 + n], frame[14..14 + n], "{why}");
    assert_eq!(ce.count("nat44.icmp-sent"), before, "not the NAT44's own");
}

/// A UDP frame of the customer with an identification of its own, without DF.
fn identified(to: [u8; 4], port: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = udp_with(("10.0.0.2", 5000), (to, port), 64, payload);
    frame[18..20].copy_from_slice(&[0x43, 0x21]);
    clear_df(frame)
}

/// The first fragment of a datagram, with DF, too large for the IPv6 side, where it has a fragment header more.
fn large_first_fragment() -> Vec<u8> {
    let mut frame = identified([203, 0, 113, 7], 80, &[7; 1448]);
    frame[20] = 0x60;
    reseal(&mut frame);
    frame
}

#[test]
fn rfc792_errors_of_the_tunnel_quote_the_identification_that_the_customer_gave() {
    for shared in [true, false] {
        let mut c = whose(shared);
        c.mesh = domain();
        let mut ce = c.map_e();
        // No customer has port 80 of the address. The first packet opens a session, the second belongs to it.
        let frame = identified([192, 0, 2, 19], 80, b"to nobody");
        for _ in 0..2 {
            quotes_as_sent(&mut ce, &frame, "tunnel.outside-port-set");
        }
        quotes_as_sent(&mut ce, &large_first_fragment(), "tunnel.too-big");
    }
}

#[test]
fn rfc792_errors_of_the_translator_quote_the_identification_that_the_customer_gave() {
    for shared in [true, false] {
        let c = whose(shared);
        let mut ce = c.map_t(|t| t.headers.zero_udp_checksum = translate::ZeroChecksum::Drop);
        let mut frame = identified([203, 0, 113, 7], 80, b"without checksum");
        frame[40..42].fill(0);
        for _ in 0..2 {
            quotes_as_sent(&mut ce, &frame, "translate.udp-checksum-zero");
        }
        quotes_as_sent(&mut ce, &large_first_fragment(), "translate.too-big");
    }
}

/// The NAT44 draws an identification for a fragment before it knows whether there is room for its flow.
#[test]
fn rfc792_the_nat44_quotes_fragments_as_they_were_sent() {
    let mut c = edge();
    c.sessions = 1;
    let mut ce = c.map_e();
    let mut frame = identified([203, 0, 113, 7], 80, &[7; 64]);
    frame[20] = 0x20;
    reseal(&mut frame);
    for port in 5000..6200u16 {
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame[18..20].copy_from_slice(&port.to_be_bytes());
        reseal(&mut frame);
        let out = ce.send(false, &frame);
        if let Some((_, error)) = out.iter().find(|(six, _)| !six) {
            assert_eq!(error[34..36], [3, 1], "host unreachable");
            assert_eq!(error[42..42 + 24], frame[14..14 + 24], "refused, and quoted as it came in");
            return;
        }
    }
    panic!("a table without end: {:?}", ce.nonzero());
}
