//! The NAT44 of a customer's edge that shares its address (RFC 7596, section 5.2; RFC 7597, section 5.1; RFC 7599,
//! section 11): only ports of the set leave.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::{Customer, Internet};
use plane::nat44::Nat44;
use plane::nat44::config::{Blocks, Config, Quota};
use std::collections::HashSet;
use wire::{PortRange, PortSet};

/// RFC 7597, appendix A: 63 rows of four ports.
const ROWS: PortSet = PortSet { offset: 6, len: 8, psid: 0x34 };
/// One row, 24,576 to 32,767: without offset a set is contiguous (RFC 7597, section 5.1).
const ROW: PortSet = PortSet { offset: 0, len: 3, psid: 3 };

fn with(port_set: PortSet) -> Config {
    Config { port_set, preserve_parity: false, ..config() }
}

#[test]
fn every_port_of_the_set_is_used_and_no_other() {
    for (set, n) in [(ROWS, 252), (ROW, 8192), (PortSet { offset: 4, len: 12, psid: 7 }, 15)] {
        let mut c = with(set);
        c.sessions = 10_000;
        let mut g = gateway(c);
        let seen: HashSet<u16> = (0..n).map(|p| g.map((A, 40_000 + p), (REMOTE, 80)).1).collect();
        assert_eq!(seen, (0..set.count()).map(|j| set.nth(j)).collect(), "{set:?}");
        g.refused(Customer, &udp((B, 9), (REMOTE, 80)), "no-port");
        let tcp_port = judge(&g.out(&tcp((A, 9999), (REMOTE, 80), "S"))).from.1;
        assert!(set.contains(tcp_port), "TCP has the set to itself once more");
    }
}

#[test]
fn under_per_connection_mapping_too() {
    for set in [ROWS, ROW] {
        let mut g = gateway(with(set).per_connection());
        for remote_port in 1..=10 {
            let all: Vec<u16> = (0..100).map(|p| g.map((A, 3000 + p), (REMOTE, remote_port)).1).collect();
            assert!(all.iter().all(|&p| set.contains(p)), "{all:?}");
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), 100);
        }
        assert_eq!(g.entries(), (1000, 0));
    }
}

#[test]
fn ports_of_the_set_are_preserved() {
    for c in [with(ROWS), with(ROWS).per_connection()] {
        let mut g = gateway(c);
        assert_eq!(g.map((A, 2256), (REMOTE, 80)).1, 2256);
        assert_ne!(g.map((A, 2260), (REMOTE, 80)).1, 2260, "the next row is another customer's");
    }
}

#[test]
fn the_range_narrows_the_set() {
    let mut c = with(PortSet { offset: 0, len: 3, psid: 0 });
    c.ports = PortRange { first: 8188, last: 65_535 };
    let mut g = gateway(c);
    let seen: HashSet<u16> = (0..4).map(|p| g.map((A, 9000 + p), (REMOTE, 80)).1).collect();
    assert_eq!(seen, HashSet::from([8188, 8189, 8190, 8191]));
    g.refused(Customer, &udp((A, 9), (REMOTE, 80)), "no-port");
}

/// RFC 7599, section 9: the CE rewrites identifiers of ICMP queries to its port set.
#[test]
fn rfc7599_9_identifiers_are_of_the_set() {
    let mut g = gateway(with(ROWS));
    for id in 0..250u16 {
        let seen = judge(&g.out(&ping(A, REMOTE, id)));
        assert!(ROWS.contains(seen.from.1));
        assert_eq!(judge(&g.back(&pong(REMOTE, POOL, seen.from.1))).to, (A, id));
    }
}

/// RFC 7597, section 8.3.3; RFC 7599, section 10.3: identifications of fragments are of the port set too, so that two
/// customers with one address never mix theirs.
#[test]
fn identifications_of_fragments_are_of_the_set() {
    let mut g = gateway(with(ROWS));
    let id = |f: &[u8]| u16::from_be_bytes([f[18], f[19]]);
    let mut seen = HashSet::new();
    for n in 0..50u16 {
        let parts = fragments_of(n, &udp_with((A, 5000), (REMOTE, 80), 64, &[7; 64]), &[24, 48]);
        let ids: Vec<u16> = parts.iter().map(|f| id(&g.out(f))).collect();
        assert!(ROWS.contains(ids[0]) && ids.iter().all(|i| *i == ids[0]), "{ids:?}");
        assert!(seen.insert(ids[0]), "datagrams in a row have different ones");
    }
    // The same where the NAT itself cuts, and for fragments that come before the first.
    let mut c = with(ROWS);
    c.internet.mtu = 100;
    let mut g = gateway(c);
    let out = g.send(Customer, &udp_with((A, 5000), (REMOTE, 80), 64, &[7; 200]));
    assert!(out.len() == 3 && out.iter().all(|(_, f)| id(f) == id(&out[0].1) && ROWS.contains(id(f))));
    let parts = fragments(&udp_with((A, 5001), (REMOTE, 80), 64, &[7; 64]), &[32]);
    assert!(g.send(Customer, &parts[1]).is_empty());
    let out = g.send(Customer, &parts[0]);
    assert!(out.len() == 2 && out.iter().all(|(_, f)| id(f) == id(&out[0].1) && ROWS.contains(id(f))));
}

/// The same for whole packets, because a later device that fragments them, such as the translator behind this NAT, does
/// not know the identifications of other customers.
#[test]
fn identifications_of_what_may_be_cut_later_are_of_the_set() {
    for workers in [1, 2] {
        let mut g = with_workers(&with(ROWS), workers);
        let id = |f: &[u8]| u16::from_be_bytes([f[18], f[19]]);
        let mut seen = HashSet::new();
        // The first of each takes another path than the others, and pings always do.
        for n in 0..20 {
            for f in [udp((A, 5000), (REMOTE, 80)), tcp((A, 5000), (REMOTE, 80), "S"), ping(A, REMOTE, n)] {
                let new = id(&g.out(&f));
                assert!(ROWS.contains(new) && seen.insert(new), "{new}");
            }
        }
        let mut whole = udp((A, 5000), (REMOTE, 80));
        whole[18..20].copy_from_slice(&[0x12, 0x34]);
        set_df(&mut whole);
        assert_eq!(id(&g.out(&whole)), 0x1234, "a packet with DF is never fragmented");
    }
}

#[test]
fn parity_is_kept_where_the_set_has_both() {
    let mut g = gateway(Config { port_set: ROWS, ..config() });
    for p in 0..100 {
        assert_eq!(g.map((A, 5000 + p), (REMOTE, 80)).1 & 1, p & 1);
    }
    // One port a row, all odd: then there is nothing to keep.
    let odd = PortSet { offset: 4, len: 12, psid: 7 };
    let mut g = gateway(Config { port_set: odd, ..config() });
    assert!((0..15).all(|p| odd.contains(g.map((A, 5000 + p), (REMOTE, 80)).1)));
}

#[test]
fn workers_share_the_set_out() {
    for (set, n) in [(ROWS, 2), (ROWS, 5), (ROW, 2), (ROW, 3), (PortSet { offset: 0, len: 10, psid: 900 }, 4)] {
        for c in [with(set), with(set).per_connection()] {
            let mut g = with_workers(&c, n);
            let mut seen = HashSet::new();
            for port in 3000..3030 {
                let outside = g.map((A, port), (REMOTE, 80));
                assert!(set.contains(outside.1) && seen.insert(outside.1), "{set:?}, {n} workers");
                assert_eq!(judge(&g.back(&udp((REMOTE, 80), outside))).to, (A, port));
            }
            assert_eq!(g.crossings, 0, "both directions meet at one worker");
            assert!(g.workers.iter().all(|w| plane::Function::entries(w).unwrap().0 > 0));
        }
    }
}

#[test]
fn unusable_port_sets_are_refused() {
    let fails = |c: &Config, workers| Nat44::new(c.clone(), 0, workers, 1).err().map(|e| e.to_string());
    let few = |c: &Config, workers| fails(c, workers).unwrap_or_default();
    assert!(few(&with(PortSet { offset: 0, len: 14, psid: 400 }), 3).contains("too small for 3 workers"));
    assert!(few(&with(PortSet { offset: 1, len: 1, psid: 0 }), 2).contains("number 0 would have no port"));
    assert_eq!(fails(&with(PortSet { offset: 1, len: 1, psid: 0 }), 1), None);
    assert!(few(&with(PortSet { offset: 0, len: 6, psid: 0 }), 1).contains("none of its ports lies in 1024-65535"));
    assert!(few(&with(PortSet { offset: 6, len: 8, psid: 256 }), 1).contains("PSID 256 does not fit"));
    assert!(few(&with(PortSet { offset: 10, len: 8, psid: 0 }), 1).contains("more than the 16 bits"));
    let blocks = Some(Blocks { size: 512, per_subscriber: 1 });
    assert!(few(&Config { blocks, ..with(ROWS) }, 1).contains("too small for blocks"));
}

#[test]
fn quotas_and_blocks_count_within_the_set() {
    let quota = Quota { ports: Some(10), ..Quota::default() };
    let mut g = gateway(Config { quota, ..with(ROWS) });
    for p in 0..10 {
        g.map((A, 5000 + p), (REMOTE, 80));
    }
    g.refused(Customer, &udp((A, 6000), (REMOTE, 80)), "quota");
    assert!(ROWS.contains(g.map((B, 5000), (REMOTE, 80)).1));
    let blocks = Some(Blocks { size: 64, per_subscriber: 1 });
    let mut g = gateway(Config { blocks, ..with(ROWS) });
    let mine: HashSet<u16> = (0..64).map(|p| g.map((A, 5000 + p), (REMOTE, 80)).1).collect();
    assert!(mine.len() == 64 && mine.iter().all(|&p| ROWS.contains(p)));
    g.refused(Customer, &udp((A, 9000), (REMOTE, 80)), "no-port");
    assert!(!mine.contains(&g.map((B, 5000), (REMOTE, 80)).1));
}

#[test]
fn ports_of_the_set_rest_after_use() {
    let mut c = with(PortSet { offset: 4, len: 12, psid: 7 });
    c.ports = PortRange { first: 4096, last: 8191 };
    let mut g = gateway(c);
    g.map((A, 5000), (REMOTE, 80));
    g.wait(301);
    g.idle(100);
    assert_eq!(g.entries(), (0, 0));
    g.wait(250);
    assert_eq!(g.map((B, 5000), (REMOTE, 80)).1, 4096 + 7);
}

/// The other ports of the address are other customers': reached through the network, not by hairpinning.
#[test]
fn neighbours_with_the_same_address_are_not_hairpins() {
    for c in [with(ROWS), with(ROWS).per_connection()] {
        let mut g = gateway(c);
        let theirs = (POOL, 1300);
        let out = judge(&g.out(&udp((A, 5000), theirs)));
        assert_eq!((out.from.0, out.to), (POOL, theirs));
        assert_eq!(judge(&g.back(&udp(theirs, out.from))).to, (A, 5000), "and what they answer is no forgery");
        let about = g.out(&udp((A, 5001), theirs));
        let back = g.back(&error(POOL, POOL, 3, 3, &about, 28));
        assert_eq!(judge(&back).to.0, A, "nor are their ICMP errors");
    }
    let mut g = gateway(with(ROWS));
    let mine = g.map((B, 7000), (REMOTE, 80));
    g.dropped(Internet, &udp((POOL, mine.1), mine), "martian-source");
    let sent = g.send(Customer, &udp((A, 5000), mine));
    assert_eq!(judge(&sent[0].1).to, (B, 7000), "ports of the set are hairpins");
}
