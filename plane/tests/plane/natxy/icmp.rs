//! ICMPv6 errors through a NAT66 (RFC 5508, section 4): only the quoted packet is translated.

use crate::natxy::bench::*;
use plane::Side::{Customer, Internet};
use testbed::prelude::*;

const ROUTER: &str = "2001:db8:77::1";

/// Every type and code that there is: none gets lost, none becomes another.
#[test]
fn errors_from_the_internet() {
    for (kind, code) in (0..8).map(|c| (1, c)).chain([(2, 0), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)]) {
        let mut g = nat66(&config());
        let sent = udp((A, 5000), (REMOTE, 80));
        let out = g.out(&sent);
        let e = icmp(ip(ROUTER), POOL, kind, code, 1400u32.to_be_bytes(), &out[14..]);
        let back = g.back(&e);
        assert_eq!((icmp_type(&back), &back[58..62]), ((kind, code), &e[58..62]), "MTU or pointer");
        let seen = judge(&back);
        assert_eq!((seen.from.0, seen.to.0), (ip(ROUTER), A), "routers are seen as they are");
        assert_eq!((quote_of(&back).from, quote_of(&back).to), ((A, 5000), (REMOTE, 80)));
        assert_eq!(quote_of(&back).ttl, 63, "what was quoted has come a hop");
    }
}

/// RFC 5508, REQ-3 and REQ-4: nothing that cannot be checked goes on, nor what is about nothing that is known.
#[test]
fn errors_that_go_nowhere() {
    let mut g = nat66(&config());
    let out = g.out(&udp((A, 5000), (REMOTE, 80)));
    let good = error(ip(ROUTER), POOL, 1, 3, &out, 1000);
    let mut bad = good.clone();
    bad[100] ^= 1;
    g.dropped(Internet, &bad, "icmp-checksum");
    let mut elsewhere = out.clone();
    elsewhere[57] ^= 1;
    g.dropped(Internet, &error(ip(ROUTER), POOL, 1, 3, &elsewhere, 1000), "icmp-no-session");
    let other = udp((OTHER, 1), (POOL, 2));
    g.dropped(Internet, &error(ip(ROUTER), POOL, 1, 3, &other, 1000), "icmp-no-session");
    g.dropped(Internet, &error(ip(ROUTER), POOL, 1, 3, &out, 30), "short-frame");
    g.dropped(Internet, &error(ip(ROUTER), POOL, 1, 3, &out, 44), "icmp-no-session");
    assert_eq!(g.entries().0, 1);
    g.back(&good);
}

/// RFC 4884: what stands behind the quote is no part of it.
#[test]
fn extensions_stay_untouched() {
    let mut g = nat66(&config());
    let out = g.out(&udp_with((A, 5000), (REMOTE, 80), 64, &[5; 8]));
    let mut about = out[14..].to_vec();
    about.resize(128, 0);
    about.extend([0x20, 0, 0x12, 0x34, 0, 8, 1, 1, 9, 9, 9, 9]);
    let e = icmp(ip(ROUTER), POOL, 3, 0, [16, 0, 0, 0], &about);
    let back = g.back(&e);
    assert_eq!(back[14 + 48 + 128..], e[14 + 48 + 128..]);
    assert_eq!(quote_of(&back).from, (A, 5000));
}

#[test]
fn echo_requests_of_customers_to_the_pool_are_dropped() {
    let mut g = nat66(&config());
    g.dropped(Customer, &echo(A, POOL, 5, true), "icmp-other");
}

/// RFC 5508, REQ-7 asks a Basic NAT only to let queries in.
#[test]
fn queries_from_outside_and_other_messages() {
    let mut g = nat66(&config());
    g.out(&echo(A, REMOTE, 9, true));
    g.dropped(Internet, &echo(REMOTE, POOL, 9, true), "no-session");
    g.dropped(Customer, &echo(A, REMOTE, 9, false), "icmp-other");
    g.dropped(Internet, &echo(REMOTE, POOL, 10, false), "no-session");
    let other = etherparse::Icmpv6Type::Unknown { type_u8: 139, code_u8: 0, bytes5to8: [0; 4] };
    g.dropped(Customer, &icmp6(A, REMOTE, other, b"node information"), "icmp-other");
}

/// RFC 4443, section 2.4.
#[test]
fn errors_of_its_own_are_never_about_errors() {
    let mut g = nat66(&config());
    let out = g.out(&udp((A, 5000), (REMOTE, 80)));
    let mut e = error(ip(ROUTER), POOL, 1, 3, &out, 1000);
    e[21] = 1;
    g.dropped(Internet, &e, "hop-limit-expired");
}
