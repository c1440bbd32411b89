//! Static mappings (port forwarding): no filtering (RFC 4787, section 5), and no end with their sessions (RFC 6146,
//! section 3.5).

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::{Customer, Internet};
use plane::nat44::Nat44;
use plane::nat44::config::{Blocks, Config, Filtering, StaticMapping};
use proptest::prelude::*;
use std::collections::HashSet;
use wire::{AddrRange, PortRange, PortSet};

fn with(statics: &[&str]) -> Config {
    Config { statics: statics.iter().map(|s| s.parse().unwrap()).collect(), ..config() }
}

const WEB: &str = "tcp 192.0.2.1:80 -> 10.0.0.10:8080";
const DNS: &str = "udp 192.0.2.1:53 -> 10.0.0.10:5353";

fn behaviours(c: &Config) -> Vec<Config> {
    let filters = [Filtering::EndpointIndependent, Filtering::AddressDependent, Filtering::AddressAndPortDependent];
    let mut all: Vec<Config> = filters.into_iter().map(|filtering| Config { filtering, ..c.clone() }).collect();
    all.push(c.clone().per_connection());
    all
}

/// RFC 4787, REQ-3: no other end point gets an outside port that is taken, be it for good.
#[test]
fn rfc4787_req3_outside_ports_of_static_mappings_are_given_to_no_other_end_point() {
    let statics = with(&["udp 192.0.2.1:4000-4001 -> 10.0.0.10:80-81"]);
    for c in [statics.clone(), statics.per_connection()] {
        let mut g = gateway(Config { ports: PortRange { first: 4000, last: 4003 }, ..c });
        for _ in 0..2 {
            let seen: HashSet<_> = (1..3).map(|h| g.map(([10, 0, 1, h], 4000), (REMOTE, 80)).1).collect();
            assert_eq!(seen, HashSet::from([4002, 4003]), "not even where the port would be preserved");
            g.refused(Customer, &udp((B, 4001), (REMOTE, 80)), "no-port");
            // TCP and ICMP have ports of their own.
            assert_eq!(judge(&g.out(&tcp((B, 4000), (REMOTE, 80), "S"))).from, (POOL, 4000));
            g.clear();
        }
    }
    let mut c = with(&["udp 192.0.2.1:1024-1055 -> 10.0.0.10:1024-1055"]);
    c.ports = PortRange { first: 1024, last: 1087 };
    c.blocks = Some(Blocks { size: 64, per_subscriber: 1 });
    let mut g = gateway(c);
    let seen: HashSet<_> = (0..32).map(|p| g.map((B, 1024 + p), (REMOTE, 80)).1).collect();
    assert_eq!(seen, (1056..1088).collect(), "all of a block but the ports of static mappings");
    g.refused(Customer, &udp((B, 5000), (REMOTE, 80)), "no-port");
}

#[test]
fn ranges_are_mapped_port_by_port() {
    let mut g = gateway(with(&["udp 192.0.2.1:8000-8099 -> 10.0.0.10:65436-65535"]));
    for i in [0, 1, 50, 99] {
        assert_eq!(judge(&g.back(&udp((REMOTE, 999), (POOL, 8000 + i)))).to, (A, 65_436 + i));
        assert_eq!(g.map((A, 65_436 + i), (OTHER, 80)), (POOL, 8000 + i));
    }
    for port in [7999, 8100] {
        g.dropped(Internet, &udp((REMOTE, 999), (POOL, port)), "no-session");
    }
    assert_ne!(g.map((A, 65_435), (OTHER, 80)).1, 7999);
}

/// Two hosts with whole addresses, as behind a Basic NAT, reach each other's outside addresses.
#[test]
fn rfc5508_req7_hairpinned_queries_find_static_mappings() {
    let whole = |protocol: &str, n: u32| format!("{protocol} 192.0.2.{n}:1-65535 -> 10.0.0.{}:1-65535", 9 + n);
    let statics: Vec<String> = ["icmp", "tcp", "udp"].iter().flat_map(|p| [1, 2].map(|n| whole(p, n))).collect();
    let statics: Vec<&str> = statics.iter().map(String::as_str).collect();
    let other_pool = ip4(192, 0, 2, 2);
    for workers in [1, 3] {
        for c in behaviours(&Config { pool: vec![AddrRange { first: POOL4, count: 3 }], ..with(&statics) }) {
            let mut g = with_workers(&c, workers);
            for id in [7, 4660, 65_535] {
                let query = judge(&g.pass(Customer, Customer, &echo(A, other_pool, id, true)));
                assert_eq!((query.from, query.to.0), ((POOL, id), B));
                let reply = judge(&g.pass(Customer, Customer, &echo(B, POOL, id, false)));
                assert_eq!((reply.from.0, reply.to), (other_pool, (A, id)));
            }
            let gre = raw(A, other_pool, 64, 47, &[7; 16]);
            let arrived = g.pass(Customer, Customer, &gre);
            assert_eq!((judge(&arrived).from.0, judge(&arrived).to.0), (POOL, B));
            let told = g.pass(Customer, Customer, &error(B, POOL, 3, 2, &arrived, 60));
            assert_eq!((judge(&told).to.0, quote_of(&told).from.0, quote_of(&told).to.0), (A, A, other_pool));
            g.dropped(Customer, &echo(A, ip4(192, 0, 2, 3), 7, true), "icmp-other");
            g.dropped(Customer, &echo(ip4(10, 0, 0, 12), POOL, 7, true), "icmp-other");
        }
    }
}

/// The checksums of DCCP (RFC 4340, section 9) and UDP-Lite (RFC 3828, section 3.1) cover the addresses as that of UDP does, and
/// stand at the same place.
#[test]
fn whole_addresses_carry_protocols_whose_checksum_covers_them() {
    let whole = ["icmp", "tcp", "udp"].map(|p| format!("{p} 192.0.2.1:1-65535 -> 10.0.0.10:1-65535"));
    let mut g = gateway(with(&whole.each_ref().map(String::as_str)));
    for protocol in [33, 136] {
        let frame = |from, to| {
            let mut frame = udp_with((from, 5000), (to, 53), 64, &[7; 24]);
            frame[23] = protocol;
            testbed::ip4::reseal(&mut frame);
            frame
        };
        for (side, sent, expected) in
            [(Customer, frame(A, REMOTE), frame(POOL, REMOTE)), (Internet, frame(REMOTE, POOL), frame(REMOTE, A))]
        {
            assert_eq!(g.pass(side, side.other(), &sent)[34..], expected[34..]);
            let parts = fragments(&sent, &[16]);
            assert_eq!(g.pass(side, side.other(), &parts[1])[34..], parts[1][34..], "a later fragment has none");
        }
    }
}

/// RFC 6888, REQ-4: a quota of ports is for those that a subscriber takes, sessions count whichever side opened them.
#[test]
fn rfc6888_req4_static_mappings_take_no_ports_of_a_quota() {
    let mut c = with(&[DNS]);
    (c.quota.ports, c.quota.sessions) = (Some(1), Some(3));
    let mut g = gateway(c);
    g.map((A, 6000), (REMOTE, 80));
    assert_eq!(g.map((A, 5353), (REMOTE, 80)), (POOL, 53));
    g.refused(Customer, &udp((A, 6001), (REMOTE, 80)), "quota");
    g.map((A, 5353), (REMOTE, 81));
    g.refused(Customer, &udp((A, 5353), (REMOTE, 82)), "quota");
    // An unsolicited session counts once it is answered.
    g.back(&udp((OTHER, 999), (POOL, 53)));
    g.refused(Customer, &udp((A, 5353), (OTHER, 999)), "quota");
    g.wait(400);
    g.idle(100);
    g.back(&udp((OTHER, 999), (POOL, 53)));
    g.out(&udp((A, 5353), (OTHER, 999)));
}

#[test]
fn an_unsolicited_syn_to_a_static_mapping_is_not_held() {
    let mut g = gateway(with(&[WEB]));
    g.back(&tcp((REMOTE, 999), (POOL, 80), "S"));
    assert_eq!(g.count("syn-held"), 0);
    g.dropped(Internet, &tcp((REMOTE, 999), (POOL, 81), "S"), "syn-held");
}

#[test]
fn mistakes_are_refused_by_name() {
    let why = |c: Config| Nat44::new(c, 0, 1, 1).err().unwrap().to_string();
    for (statics, said) in [
        (&["tcp 192.0.2.9:80 -> 10.0.0.10:80"][..], "192.0.2.9 is not an address of the pool (192.0.2.1)"),
        (&["tcp 192.0.2.1:80 -> 11.0.0.10:80"], "11.0.0.10 lies in no prefix of the customers"),
        (&["tcp 192.0.2.1:80 -> 10.255.255.1:80"], "10.255.255.1 is the gateway's own address"),
        (&["tcp 192.0.2.1:80-89 -> 10.0.0.10:80-88"], "10 outside ports and 9 inside ports"),
        (&["tcp 192.0.2.1:89-80 -> 10.0.0.10:89-80"], "begins with the lower one"),
        (&["udp 192.0.2.1:0 -> 10.0.0.10:80"], "port 0 is not a port"),
        (
            &[WEB, "tcp 192.0.2.1:70-90 -> 10.0.0.11:70-90"],
            "`tcp 192.0.2.1:70-90 -> 10.0.0.11:70-90` and `tcp 192.0.2.1:80 -> 10.0.0.10:8080` have an outside port in common",
        ),
        (
            &[WEB, "tcp 192.0.2.1:81 -> 10.0.0.10:8080"],
            "`tcp 192.0.2.1:80 -> 10.0.0.10:8080` and `tcp 192.0.2.1:81 -> 10.0.0.10:8080` have an inside port in common",
        ),
    ] {
        let e = why(with(statics));
        assert!(e.contains("static: `") && e.contains(said), "{e}");
    }
    let e = why(Config { port_set: PortSet { offset: 0, len: 3, psid: 3 }, ..with(&[WEB]) });
    assert!(e.contains("the port set of this gateway does not contain port 80"), "{e}");
    // The same ports of other protocols, addresses and hosts are others.
    let mut c = with(&[WEB, "udp 192.0.2.1:80 -> 10.0.0.10:8080", "tcp 192.0.2.2:80 -> 10.0.0.11:8080"]);
    c.pool = vec![AddrRange { first: POOL4, count: 2 }];
    assert!(Nat44::new(c, 0, 1, 1).is_ok());
    for text in ["", "tcp", "sctp 192.0.2.1:80 -> 10.0.0.10:80", "tcp 192.0.2.1 -> 10.0.0.10:80", "tcp 192.0.2.1:80"] {
        let e = text.parse::<StaticMapping>().unwrap_err().to_string();
        assert!(e.starts_with(&format!("static: `{text}` is not a static mapping; write ")), "{e}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(udp: bool, outside: u32, inside: u32, first: u16, to: u16, more in 0u16..300) {
        let range = |first: u16| PortRange { first, last: first.saturating_add(more) };
        let m = StaticMapping {
            protocol: if udp { plane::nat44::config::Protocol::Udp } else { plane::nat44::config::Protocol::Icmp },
            outside: outside.into(),
            outside_ports: range(first),
            inside: std::net::Ipv4Addr::from(inside),
            inside_ports: range(to),
        };
        prop_assert_eq!(m.to_string().parse::<StaticMapping>().unwrap(), m);
    }

    /// Of any mappings that are accepted each outside end point leads to one inside end point and back, and no other does.
    #[test]
    fn mappings_are_one_to_one(ranges in prop::collection::vec((0u16..40, 0u16..40, 1u16..6, 0u8..3), 1..6), workers in 1usize..4) {
        let statics: Vec<StaticMapping> = ranges
            .iter()
            .map(|&(out, to, n, host)| {
                let (out, to, host) = (8000 + out, 5000 + to, 10 + host);
                format!("udp 192.0.2.1:{out}-{} -> 10.0.0.{host}:{to}-{}", out + n - 1, to + n - 1).parse().unwrap()
            })
            .collect();
        let c = Config { statics: statics.clone(), ..config() };
        prop_assume!(c.validate(workers).is_ok());
        let mut g = with_workers(&c, workers);
        for port in 8000..8050u16 {
            let model = statics.iter().find(|m| m.outside_ports.contains(port));
            let out = g.send(Internet, &udp((REMOTE, 999), (POOL, port)));
            prop_assert_eq!(out.len(), usize::from(model.is_some()));
            if let (Some(m), Some((_, f))) = (model, out.first()) {
                let inside = (m.inside.into(), m.inside_ports.first + (port - m.outside_ports.first));
                prop_assert_eq!(judge(f).to, inside);
                prop_assert_eq!(judge(&g.out(&udp(inside, (OTHER, 80)))).from, (POOL, port));
            }
        }
    }
}
