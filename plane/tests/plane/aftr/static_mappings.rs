//! Static mappings to hosts behind softwires, whose addresses may overlap (RFC 6333, section 8.3).

use crate::aftr::set_up::*;
use plane::Function;
use plane::Side::{Customer, Internet};
use plane::aftr::{Aftr, Config};
use testbed::prelude::*;

/// Port 8000 + i leads to port 80 of the same host in home number i.
fn with(homes: std::ops::Range<u32>) -> Config {
    let of = |i: u32| format!("udp 192.0.2.1:{} -> {} 192.168.1.10:80", 8000 + i, b4(i)).parse().unwrap();
    Config { statics: homes.map(of).collect(), ..config() }
}

#[test]
fn a_remote_host_reaches_the_right_customer() {
    for (n, misled) in [(1, false), (2, false), (3, true)] {
        let mut g = with_workers(&with(1..40), n);
        g.misled = misled && n > 1;
        for i in 1..40 {
            let outside = (POOL, 8000 + i as u16);
            let (end, inner) = arrives(&mut g, &udp((OTHER, 999), outside));
            assert_eq!((end, inner.to), (b4(i), (HOST, 80)));
            assert_eq!(g.seen_out(&wrap(b4(i), &udp((HOST, 80), (OTHER, 999)))).from, outside);
            assert_eq!(map(&mut g, b4(i), (HOST, 80)), outside);
            // From the neighbours' homes.
            let f = g.pass(Customer, Customer, &wrap(b4(i + 100), &udp((HOST, 80), outside)));
            let (_, end, inner) = unwrap(&f);
            assert_eq!((end, judge(&inner).to), (b4(i), (HOST, 80)));
        }
        g.dropped(Internet, &udp((OTHER, 999), (POOL, 8000)), "nat44.no-session");
    }
}

#[test]
fn static_mappings_outlive_sessions_clearing_and_reload() {
    let mut g = aftr(&with(1..3));
    for clear in [false, true, false] {
        assert_eq!(arrives(&mut g, &udp((OTHER, 999), (POOL, 8002))).0, b4(2));
        g.wait(86_400);
        g.idle(400);
        assert_eq!((g.entries(), g.workers[0].customers()), ((0, 0), 2));
        if clear {
            g.clear();
        }
    }
    let adopt = |g: &mut testbed::Bed<Aftr>, mut c: Config| {
        (c.customers, c.nat.sessions, c.nat.sketch, c.hop_limit) = (1, 1, true, 99);
        g.workers[0].adopt(&mut Aftr::new(c, 0, 1, 42).unwrap())
    };
    adopt(&mut g, with(1..3)).unwrap();
    assert_eq!(arrives(&mut g, &udp((OTHER, 999), (POOL, 8001))).0, b4(1));
    let mut moved = with(1..3);
    moved.statics[0].inside.address = [192, 168, 1, 11].into();
    for other in [with(1..2), moved] {
        assert!(adopt(&mut g, other).unwrap_err().starts_with("static: "));
    }
}

#[test]
fn sessions_count_for_the_softwire() {
    let mut c = with(1..2);
    c.nat.quota.sessions = Some(1);
    let mut g = aftr(&c);
    for _ in 0..2 {
        map(&mut g, b4(1), (HOST, 80));
        g.refused(Customer, &wrap(b4(1), &udp((HOST, 81), (REMOTE, 80))), "nat44.quota");
        g.clear();
    }
}

#[test]
fn mistakes_are_refused_by_name() {
    for (text, said) in [
        ("udp 192.0.2.9:80 -> 2001:db8:0:1::1 192.168.1.10:80", "192.0.2.9 is not an address of the pool"),
        ("udp 192.0.2.1:80 -> 2001:db8:ffff::1 192.168.1.10:80", "2001:db8:ffff::1 is the AFTR's own end"),
        ("udp 192.0.2.1:80 -> 2001:db9::1 192.168.1.10:80", "2001:db9::1 lies in no prefix of `softwires`"),
        ("udp 192.0.2.1:80 -> 2001:db8:0:1::1 192.0.0.1:80", "192.0.0.1 is not an address that a host"),
    ] {
        let mut c = Config { statics: vec![text.parse().unwrap()], ..config() };
        c.softwires = vec![prefix6("2001:db8::/32")];
        let e = Aftr::new(c, 0, 1, 1).err().unwrap().to_string();
        assert!(e.starts_with(&format!("AFTR configuration, static: `{text}`: ")) && e.contains(said), "{e}");
    }
    let e = "udp 192.0.2.1:80 -> 192.168.1.10:80".parse::<plane::nat44::config::StaticMapping<plane::aftr::Host>>();
    assert!(e.unwrap_err().to_string().contains("2001:db8::2 192.168.1.2:80"));
}
