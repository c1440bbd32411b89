//! Static entries of the binding information base (RFC 6146, sections 3.1 and 3.5).

use crate::nat64::set_up::*;
use plane::Function;
use plane::Side::{Customer, Internet};
use plane::nat64::{Config, Nat64};
use testbed::prelude::*;

fn with(statics: &[&str]) -> Config {
    Config { statics: statics.iter().map(|s| s.parse().unwrap()).collect(), ..config() }
}

const WEB: &str = "tcp 192.0.2.1:80 -> [2001:db8:1::a]:8080";
const DNS: &str = "udp 192.0.2.1:53 -> [2001:db8:1::a]:5353";
const PING: &str = "icmp 192.0.2.1:7 -> [2001:db8:2::b]:9";

#[test]
fn rfc6146_3_5_1_2_a_static_entry_admits_unsolicited_packets() {
    for c in [with(&[WEB, DNS, PING]), Config { nat: address_dependent().nat, ..with(&[WEB, DNS, PING]) }] {
        for c in both_mappings(c) {
            let mut g = nat64(&c);
            let seen = g.seen_back(&udp((REMOTE, 999), (POOL, 53)));
            assert_eq!((seen.from, seen.to), ((x(REMOTE), 999), (A, 5353)), "a customer that has never sent anything");
            assert_eq!(g.seen_out(&udp((A, 5353), (x(REMOTE), 999))).from, (POOL, 53));
            assert_eq!(g.seen_back(&tcp((OTHER, 999), (POOL, 80), "S")).to, (A, 8080));
            assert_eq!(g.seen_out(&tcp((A, 8080), (x(OTHER), 999), "SA")).from, (POOL, 80));
            // The identifier of a query is judged at the end that asks.
            let seen = g.seen_back(&echo(REMOTE, POOL, 7, true));
            assert_eq!((seen.from, seen.to), ((x(REMOTE), 9), (B, 0)));
            let seen = g.seen_out(&echo(B, x(REMOTE), 9, false));
            assert_eq!((seen.from, seen.to), ((POOL, 0), (REMOTE, 7)));
            assert_eq!(map(&mut g, (A, 5353), (OTHER, 80)), (POOL, 53));
            assert_eq!(g.count("nat44.session-static"), 4);
            g.dropped(Internet, &udp((REMOTE, 999), (POOL, 54)), "nat44.no-session");
        }
    }
}

#[test]
fn rfc6146_3_5_static_entries_outlive_sessions_clearing_and_reload() {
    let c = with(&[DNS]);
    let mut g = nat64(&c);
    for _ in 0..3 {
        assert_eq!(g.seen_back(&udp((REMOTE, 999), (POOL, 53))).to, (A, 5353));
        map(&mut g, (B, 5000), (REMOTE, 80));
        g.wait(86_400);
        g.idle(400);
        assert_eq!((g.entries(), g.workers[0].customers()), ((0, 0), 1), "the host of the static entry stays");
    }
    g.clear();
    assert_eq!(g.seen_back(&udp((REMOTE, 999), (POOL, 53))).to, (A, 5353));
    let adopt = |g: &mut testbed::Bed<Nat64>, c: &Config| {
        let mut sketch = c.clone();
        (sketch.customers, sketch.nat.sessions, sketch.nat.sketch) = (1, 1, true);
        g.workers[0].adopt(&mut Nat64::new(sketch, 0, 1, 42).unwrap())
    };
    let mut changed = c.clone();
    changed.nat.timeouts.udp *= 2;
    adopt(&mut g, &changed).unwrap();
    assert_eq!(g.seen_out(&udp((A, 5353), (x(REMOTE), 999))).from, (POOL, 53));
    g.clear();
    assert_eq!(g.seen_back(&udp((REMOTE, 999), (POOL, 53))).to, (A, 5353));
    for other in [with(&[]), with(&["udp 192.0.2.1:53 -> [2001:db8:1::b]:5353"]), with(&[DNS, WEB])] {
        let e = adopt(&mut g, &other).unwrap_err();
        assert!(e.starts_with("static: "), "{e}");
    }
}

#[test]
fn rfc6146_3_8_hairpins_find_static_entries() {
    let mut g = nat64(&with(&[DNS]));
    let seen = judge(&g.pass(Customer, Customer, &udp((B, 6000), (x(POOL), 53))));
    assert_eq!((seen.from.0, seen.to), (x(POOL), (A, 5353)));
    let answer = judge(&g.pass(Customer, Customer, &udp((A, 5353), seen.from)));
    assert_eq!((answer.from, answer.to), ((x(POOL), 53), (B, 6000)));
}

/// A customer is one worker's, by its address, or by its prefix where subscribers are counted; the outside port may be another one's.
#[test]
fn every_worker_knows_static_entries() {
    let host = |i: u32| host_of(i.into(), 1);
    for counted in [false, true] {
        for (n, misled) in [(2, false), (3, true), (4, false)] {
            let of = |i: u32| format!("udp 192.0.2.1:{} -> [{}]:5000", 8000 + i, host(i));
            let texts: Vec<String> = (1..60).map(of).collect();
            let mut c = with(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            c.nat.quota.sessions = counted.then_some(4);
            let mut g = with_workers(&c, n);
            g.misled = misled;
            for i in 1..60 {
                let (outside, inside) = ((POOL, 8000 + i as u16), (host(i), 5000));
                assert_eq!(g.seen_back(&udp((REMOTE, 999), outside)).to, inside);
                assert_eq!(g.seen_out(&udp(inside, (x(REMOTE), 999))).from, outside);
                assert_eq!(map(&mut g, inside, (OTHER, 80)), outside);
                let sent = udp((B, 6000), (x(outside.0), outside.1));
                if i < 5 {
                    assert_eq!(judge(&g.pass(Customer, Customer, &sent)).to, inside);
                }
                // Fragments from a remote host without a session.
                let parts = fragments(&udp_with((OTHER, 999), outside, 64, &[7; 100]), &[48], i);
                let out: Vec<_> = parts.iter().flat_map(|p| g.send(Internet, p)).map(|o| o.1).collect();
                assert_eq!(judge(&reassemble(&out)).to, inside);
            }
            assert_eq!(g.count("nat44.mapping-new"), 1, "the one of B");
        }
    }
}

/// RFC 6888, REQ-5: what the host of a static entry opens counts for its subscriber, whether it is cleared or not.
#[test]
fn sessions_below_static_entries_count_for_the_subscriber() {
    let mut c = with(&[DNS]);
    c.nat.quota.sessions = Some(2);
    let mut g = nat64(&c);
    for _ in 0..2 {
        map(&mut g, (A, 5353), (REMOTE, 80));
        map(&mut g, (ip("2001:db8:1::ffff"), 5000), (REMOTE, 80));
        g.refused(Customer, &udp((A, 5353), (x(REMOTE), 81)), "nat44.quota");
        map(&mut g, (B, 5000), (REMOTE, 80));
        g.clear();
    }
}

#[test]
fn mistakes_are_refused_by_name() {
    for (statics, said) in [
        (&["udp 192.0.2.2:53 -> [2001:db8:1::a]:53"][..], "192.0.2.2 is not an address of the pool"),
        (&["udp 192.0.2.1:53 -> [2001:db8:64::a]:53"], "2001:db8:64::a lies in 2001:db8:64::/96"),
        (&["udp 192.0.2.1:53 -> [2001:db8:ffff::1]:53"], "2001:db8:ffff::1 is the gateway's own address"),
        (&["udp 192.0.2.1:53 -> [ff02::1]:53"], "ff02::1 is not an address that a customer can have"),
        (&["udp 192.0.2.1:53 -> [2001:db8:3::1]:53"], "2001:db8:3::1 lies in no prefix of the customers"),
        (&[DNS, "udp 192.0.2.1:53 -> [2001:db8:2::b]:53"], "have an outside port in common"),
        (&[DNS, "udp 192.0.2.1:54 -> [2001:db8:1::a]:5353"], "[2001:db8:1::a]:5353` have an inside port in common"),
    ] {
        let inside = ["2001:db8:1::/48", "2001:db8:2::/48", "2001:db8:64::/48"].map(prefix6).to_vec();
        let e = Nat64::new(Config { inside, ..with(statics) }, 0, 1, 1).err().unwrap().to_string();
        assert!(e.starts_with("NAT64 configuration, static: `") && e.contains(said), "{e}");
    }
}
