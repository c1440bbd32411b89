//! Several prefixes for the IPv4 Internet (RFC 7050, section 3; RFC 8781): a session keeps the one that the customer
//! sent to.

use crate::nat64::set_up::*;
use plane::Function;
use plane::Side::{Customer, Internet};
use plane::nat64::{Config, Nat64};
use std::net::{IpAddr, Ipv6Addr};
use testbed::Bed;
use testbed::prelude::*;
use wire::{AddrRange, Prefix6};

fn with(prefixes: &[&str]) -> Config {
    Config { pref64: prefixes.iter().map(|p| prefix6(p)).collect(), ..config() }
}

/// The usual prefix, another one, and the well-known one.
fn three() -> Config {
    with(&["2001:db8:64::/96", "2001:db8:65::/96", "64:ff9b::/96"])
}

/// How an IPv4 address appears behind prefix number `i` of three.
fn by(i: usize, a: IpAddr) -> IpAddr {
    let [first, second, known] = ["2001:db8:64::", "2001:db8:65::", "64:ff9b::"].map(|p| v6(ip(p)));
    let mut b = [first, second, known][i];
    b[12..].copy_from_slice(&v4(a));
    Ipv6Addr::from(b).into()
}

/// Addresses that may stand behind the well-known prefix.
fn global(n: u8) -> IpAddr {
    IpAddr::from([8, 8, 8, n])
}

#[test]
fn answers_come_from_the_prefix_that_was_sent_to() {
    for c in both_mappings(three()) {
        let mut g = nat64(&c);
        for i in 0..3 {
            let remote = global(i as u8);
            let seen = g.seen_out(&udp((A, 5000), (by(i, remote), 80)));
            assert_eq!(seen.to, (remote, 80));
            let back = g.seen_back(&udp((remote, 80), seen.from));
            assert_eq!((back.from, back.to), ((by(i, remote), 80), (A, 5000)));
            let out = g.seen_out(&tcp((A, 5000), (by(i, remote), 80), "S"));
            assert_eq!(g.seen_back(&tcp((remote, 80), out.from, "SA")).from, (by(i, remote), 80));
            let out = g.seen_out(&echo(A, by(i, remote), 77, true));
            assert_eq!(g.seen_back(&echo(remote, POOL, out.from.1, false)).from, (by(i, remote), 0));
        }
        assert_eq!(g.workers[0].customers(), 1, "a customer is one, whatever it sends to");
    }
}

/// RFC 6146, section 3.5.1: a binding is of the customer's transport address, whatever the prefix.
#[test]
fn rfc6146_3_5_1_all_prefixes_share_a_binding() {
    let mut c = three();
    c.nat.pool = vec![AddrRange { first: std::net::Ipv4Addr::from(v4(POOL)), count: 3 }];
    let mut g = nat64(&c);
    for host in 1..20u16 {
        let host = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, host);
        let outside: Vec<At> =
            (0..3).map(|i| g.seen_out(&udp((host, 5000), (by(i, global(i as u8)), 80))).from).collect();
        assert!(outside.iter().all(|o| *o == outside[0]), "{outside:?}");
        // All ports of a customer have the same outside address (RFC 4787, REQ-2).
        let other = g.seen_out(&udp((host, 6000), (by(1, global(9)), 80))).from;
        assert_eq!(other.0, outside[0].0);
    }
    assert_eq!(g.entries(), (19 * 4, 19 * 2));
}

/// RFC 6146, section 3.5.1.1: sessions are told apart by their IPv6 five-tuples. Those to one IPv4 end point by two prefixes have outside
/// end points of their own, so that answers find the right one.
#[test]
fn rfc6146_3_5_1_1_the_same_remote_end_point_by_two_prefixes_is_two_sessions() {
    for (c, bindings) in both_mappings(three()).into_iter().zip([3, 0]) {
        let mut g = nat64(&c);
        let send = |g: &mut Bed<Nat64>, i| g.seen_out(&udp((A, 5000), (by(i, global(1)), 80))).from;
        let outside = [0, 1, 2].map(|i| send(&mut g, i));
        assert!(outside[0] != outside[1] && outside[1] != outside[2] && outside[0] != outside[2]);
        for _ in 0..2 {
            for (i, o) in outside.iter().enumerate() {
                assert_eq!(send(&mut g, i), *o);
                assert_eq!(g.seen_back(&udp((global(1), 80), *o)).from, (by(i, global(1)), 80));
            }
        }
        assert_eq!(g.entries(), (3, bindings));
        g.wait(400);
        g.idle(400);
        assert_eq!((g.entries(), g.workers[0].customers()), ((0, 0), 0), "all of it ends");
    }
}

/// The session by the other prefix may be over without having been looked at, and its binding with it.
#[test]
fn a_session_that_is_over_takes_no_binding() {
    let mut g = nat64(&three());
    g.out(&udp((A, 5000), (by(0, global(1)), 80)));
    g.wait(400);
    let outside = g.seen_out(&udp((A, 5000), (by(1, global(1)), 80))).from;
    assert_eq!(g.entries(), (1, 1));
    assert_eq!(g.seen_back(&udp((global(1), 80), outside)).from, (by(1, global(1)), 80));
    g.idle(400);
    assert_eq!(g.entries(), (0, 0));
}

/// No remote host opens a session that the customer could not distinguish from an existing one.
#[test]
fn an_unsolicited_session_cannot_duplicate_another() {
    let mut g = nat64(&three());
    let outside = [0, 1].map(|i| g.seen_out(&udp((A, 5000), (by(i, global(1)), 80))).from);
    // By the second prefix the customer talks to another port through the shared binding, too.
    g.seen_out(&udp((A, 5000), (by(1, global(1)), 81)));
    g.dropped(Internet, &udp((global(1), 81), outside[1]), "nat44.no-session");
    assert_eq!(g.seen_back(&udp((global(1), 81), outside[0])).from, (by(1, global(1)), 81));
    assert_eq!(g.seen_back(&udp((global(1), 82), outside[1])).from, (by(1, global(1)), 82));
}

#[test]
fn unsolicited_sources_appear_behind_the_prefix_used_last() {
    let mut g = nat64(&three());
    let outside = g.seen_out(&udp((A, 5000), (by(1, global(1)), 80))).from;
    assert_eq!(g.seen_back(&udp((global(2), 99), outside)).from, (by(1, global(2)), 99));
    g.out(&udp((A, 5000), (by(0, global(3)), 80)));
    assert_eq!(g.seen_back(&udp((global(4), 99), outside)).from, (by(0, global(4)), 99));
    assert_eq!(g.seen_back(&udp((global(2), 99), outside)).from, (by(1, global(2)), 99), "a session keeps its own");
    let mut c = three();
    c.statics = vec!["udp 192.0.2.1:53 -> [2001:db8:1::a]:5353".parse().unwrap()];
    let mut g = nat64(&c);
    assert_eq!(g.seen_back(&udp((global(2), 99), (POOL, 53))).from, (by(0, global(2)), 99));
    // A static entry is of all prefixes; one that has the remote end point already stays in the way of another.
    assert_eq!(g.seen_out(&udp((A, 5353), (by(1, global(3)), 99))).from, (POOL, 53));
    assert_eq!(g.seen_back(&udp((global(3), 99), (POOL, 53))).from, (by(1, global(3)), 99));
    let apart = g.seen_out(&udp((A, 5353), (by(2, global(2)), 99))).from;
    assert_ne!(apart, (POOL, 53));
    assert_eq!(g.seen_back(&udp((global(2), 99), apart)).from, (by(2, global(2)), 99));
}

#[test]
fn errors_quote_the_prefix_that_was_sent_to() {
    let mut g = nat64(&three());
    for i in [2, 1, 0] {
        let remote = global(1 + i as u8);
        let sent = g.out(&udp((A, 5000), (by(i, remote), 80)));
        let e = g.back(&error(global(9), POOL, 3, 1, &sent, 1000));
        assert_eq!((judge(&e).from.0, quote_of(&e).to), (by(i, global(9)), (by(i, remote), 80)));
        let arrived = g.back(&udp((remote, 80), judge(&sent).from));
        let e = g.out(&error(ip("2001:db8:77::1"), by(i, remote), 1, 0, &arrived, 1000));
        assert_eq!((judge(&e).to.0, quote_of(&e).from), (remote, (remote, 80)));
        // The gateway's own.
        let expired = udp_with((A, 5000), (by(i, remote), 80), 1, b"x");
        assert_eq!(quote_of(&g.refused(Customer, &expired, "nat44.ttl-expired")).to, (by(i, remote), 80));
    }
}

#[test]
fn hairpins_keep_both_prefixes() {
    let mut g = nat64(&three());
    let b = g.seen_out(&udp((B, 6000), (by(1, global(1)), 80))).from;
    let seen = judge(&g.pass(Customer, Customer, &udp((A, 5000), (by(0, b.0), b.1))));
    assert_eq!(seen.to, (B, 6000));
    assert_eq!(seen.from.0, by(1, POOL), "by the prefix that B uses");
    let answer = judge(&g.pass(Customer, Customer, &udp((B, 6000), seen.from)));
    assert_eq!((answer.from, answer.to), ((by(0, b.0), b.1), (A, 5000)), "by the prefix that A has sent to");
}

#[test]
fn fragments_keep_their_prefix() {
    let mut g = nat64(&three());
    for i in 0..3 {
        let remote = global(i as u8);
        let parts = fragments(&udp_with((A, 5000), (by(i, remote), 80), 64, &[7; 100]), &[48], 5);
        let out: Vec<_> = parts.iter().flat_map(|p| g.send(Customer, p)).map(|o| o.1).collect();
        let outside = judge(&reassemble(&out)).from;
        let mut parts = fragments(&udp_with((remote, 80), outside, 64, &[7; 100]), &[48], 6);
        parts.reverse();
        let back: Vec<_> = parts.iter().flat_map(|p| g.send(Internet, p)).map(|o| o.1).collect();
        assert_eq!(judge(&reassemble(&back)).from, (by(i, remote), 80));
    }
}

/// RFC 6146, section 3.5: packets from a prefix would go round for ever. RFC 6052, section 3.1: private addresses have no place
/// behind the well-known prefix, but behind others.
#[test]
fn rules_hold_for_each_prefix() {
    let mut g = nat64(&three());
    for i in 0..3 {
        g.dropped(Customer, &udp((by(i, global(1)), 5000), (by(0, global(2)), 80)), "translate.martian-source");
    }
    g.refused(Customer, &udp((A, 5000), (by(2, ip("10.1.2.3")), 80)), "translate.well-known-prefix-private");
    g.out(&udp((A, 5000), (by(1, ip("100.64.2.3")), 80)));
    g.refused(Customer, &udp((A, 5000), (ip("2001:db8:66::808:808"), 80)), "translate.destination-unmapped");
}

/// A number is kept as long as any alias of it has a session.
#[test]
fn a_session_by_any_prefix_keeps_its_customer() {
    let mut g = nat64(&three());
    let outside = g.seen_out(&udp((A, 5000), (by(2, global(1)), 80))).from;
    for _ in 0..20 {
        g.idle(60);
        let seen = g.seen_back(&udp((global(1), 80), outside));
        assert_eq!((seen.from, seen.to), ((by(2, global(1)), 80), (A, 5000)));
    }
    assert_eq!(g.workers[0].customers(), 1);
    g.idle(1000);
    assert_eq!(g.workers[0].customers(), 0);
}

#[test]
fn workers_and_subscribers_know_all_prefixes() {
    for (counted, misled) in [(false, false), (false, true), (true, true)] {
        let mut c = three();
        c.nat.quota.sessions = counted.then_some(3);
        let mut g = with_workers(&c, 3);
        g.misled = misled;
        for host in 1..40u16 {
            let host = Ipv6Addr::new(0x2001, 0xdb8, host, 0, 0, 0, 0, 1).into();
            for i in 0..3 {
                let seen = g.seen_out(&udp((host, 5000), (by(i, global(7)), 80)));
                let back = g.seen_back(&udp((global(7), 80), seen.from));
                assert_eq!((back.from, back.to), ((by(i, global(7)), 80), (host, 5000)));
            }
            if counted {
                g.refused(Customer, &udp((host, 5000), (by(1, global(8)), 80)), "nat44.quota");
            }
        }
        let known: u32 = g.workers.iter().map(Nat64::customers).sum();
        assert_eq!(known, 39);
    }
}

fn adopt(g: &mut Bed<Nat64>, c: &Config) -> Result<(), String> {
    let mut sketch = c.clone();
    (sketch.customers, sketch.nat.sessions, sketch.nat.sketch) = (1, 1, true);
    g.workers[0].adopt(&mut Nat64::new(sketch, 0, 1, 42).unwrap())
}

#[test]
fn prefixes_change_in_their_place_only() {
    let mut g = nat64(&three());
    let outside = g.seen_out(&udp((A, 5000), (by(1, global(1)), 80))).from;
    for fewer in [&["2001:db8:64::/96"][..], &["2001:db8:64::/96", "2001:db8:65::/96"]] {
        assert!(adopt(&mut g, &with(fewer)).unwrap_err().starts_with("pref64: "));
    }
    adopt(&mut g, &with(&["2001:db8:64::/96", "2001:db8:99::/96", "64:ff9b::/96"])).unwrap();
    assert_eq!(g.seen_back(&udp((global(1), 80), outside)).from.0, ip("2001:db8:99::808:801"));
}

#[test]
fn mistakes_are_refused_by_name() {
    let why = |c: Config| Nat64::new(c, 0, 1, 1).err().unwrap().to_string();
    assert_eq!(why(with(&[])), "pref64 of a NAT64: 0 prefixes; name 1 to 16");
    let many: Vec<Prefix6> = (0..17).map(|i| prefix6(&format!("2001:db8:{i}::/96"))).collect();
    assert!(why(Config { pref64: many.clone(), ..config() }).contains("17 prefixes"));
    assert!(Nat64::new(Config { pref64: many[..16].to_vec(), ..config() }, 0, 1, 1).is_ok());
    for pair in [["2001:db8:64::/96", "2001:db8:64::/96"], ["2001:db8::/32", "2001:db8:64::/96"]] {
        let e = why(with(&pair));
        assert!(e.contains(&format!("{} and {} overlap", pair[0], pair[1])), "{e}");
    }
    assert!(why(with(&["2001:db8:64::/96", "2001:db8:65::/80"])).contains("length must be"));
    // Numbers of customers and of prefixes share 32 bits.
    let e = why(Config { customers: plane::customers::MOST, ..three() });
    assert!(e.contains("lower `customers`"), "{e}");
}

/// A static entry, as any mapping, shows unknown senders by the prefix that its customer used last.
#[test]
fn a_static_entry_remembers_the_prefix_that_was_used_last() {
    let mut c = three();
    c.statics = ["udp 192.0.2.1:53 -> [2001:db8:1::5]:53", "tcp 192.0.2.1:80 -> [2001:db8:1::5]:80"]
        .map(|s| s.parse().unwrap())
        .to_vec();
    let (host, outside) = ((ip("2001:db8:1::5"), 53), (POOL, 53));
    for filtered in [false, true] {
        if filtered {
            c.nat.filtering = plane::nat44::config::Filtering::AddressAndPortDependent;
        }
        let mut g = nat64(&c);
        assert_eq!(g.seen_back(&udp((global(9), 9), outside)).from.0, by(0, global(9)), "none was used yet");
        for (n, i) in [(10, 2), (11, 1), (12, 2), (13, 0)] {
            assert_eq!(g.seen_out(&udp(host, (by(i, global(1)), n))).from, outside);
            let mut larger = c.clone();
            larger.nat.pool[0].count = u32::from(n);
            adopt(&mut g, &larger).unwrap();
            let stranger = (global(n as u8), 9);
            assert_eq!(g.seen_back(&udp(stranger, outside)).from, (by(i, stranger.0), 9));
            assert_eq!(g.seen_out(&udp(host, (by(i, stranger.0), 9))).to, stranger);
        }
        assert_eq!(g.seen_back(&tcp((global(9), 9), (POOL, 80), "S")).from.0, by(0, global(9)), "another entry");
    }
}

/// RFC 6052, section 3.1: the well-known prefix stands for global addresses only; the other ones may have all.
#[test]
fn rfc6052_3_1_a_stranger_without_a_global_address_appears_behind_another_prefix() {
    let stranger = ip("172.16.9.9");
    for (prefixes, other) in [(&["2001:db8:64::/96", "64:ff9b::/96"], 0), (&["64:ff9b::/96", "2001:db8:64::/96"], 0)] {
        let mut c = with(prefixes);
        c.statics = vec!["udp 192.0.2.1:53 -> [2001:db8:1::5]:53".parse().unwrap()];
        let mut g = nat64(&c);
        let outside = g.seen_out(&udp((A, 5000), (by(2, global(1)), 53))).from;
        g.out(&udp((ip("2001:db8:1::5"), 53), (by(2, global(1)), 99)));
        for (inside, outside) in [((A, 5000), outside), ((ip("2001:db8:1::5"), 53), (POOL, 53))] {
            let seen = g.seen_back(&udp((stranger, 9), outside));
            assert_eq!((seen.from, seen.to), ((by(other, stranger), 9), inside));
            let back = g.seen_out(&udp(inside, (by(other, stranger), 9)));
            assert_eq!((back.from, back.to), (outside, (stranger, 9)), "the same session");
            assert_eq!(g.seen_back(&udp((global(7), 9), outside)).from.0, by(2, global(7)), "others as before");
        }
    }
    let mut g = nat64(&with(&["64:ff9b::/96"]));
    let outside = g.seen_out(&udp((A, 5000), (by(2, global(1)), 53))).from;
    g.refused(Internet, &udp((stranger, 9), outside), "translate.well-known-prefix-private");
}
