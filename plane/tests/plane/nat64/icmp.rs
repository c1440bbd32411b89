//! RFC 6146, sections 3.4, 3.5.3, 3.6 and 3.7: ICMP queries and errors of both directions.

use crate::nat64::set_up::*;
use plane::Side::{Customer, Internet};
use testbed::prelude::*;

#[test]
fn a_query_from_ipv4_comes_in_through_a_binding_and_is_answered() {
    let mut g = nat64(&config());
    let id = g.seen_out(&echo(A, x(REMOTE), 77, true)).from.1;
    let seen = g.seen_back(&echo(OTHER, POOL, id, true));
    assert_eq!((seen.from, seen.to.0), ((x(OTHER), 77), A));
    let answer = g.seen_out(&echo(A, x(OTHER), 77, false));
    assert_eq!((answer.from.0, answer.to), (POOL, (OTHER, id)));
}

#[test]
fn a_query_from_ipv4_is_filtered_by_address() {
    let mut g = nat64(&address_dependent());
    let id = g.seen_out(&echo(A, x(REMOTE), 77, true)).from.1;
    g.dropped(Internet, &echo(OTHER, POOL, id, true), "nat44.filtered");
    assert_eq!(g.seen_back(&echo(REMOTE, POOL, id, true)).to.0, A);
}

#[test]
fn a_query_from_ipv4_without_a_binding_is_dropped() {
    let mut g = nat64(&config());
    g.dropped(Internet, &echo(REMOTE, POOL, 77, true), "nat44.no-session");
}

#[test]
fn an_answer_to_nothing_does_not_leave() {
    let mut g = nat64(&config());
    g.dropped(Customer, &echo(A, x(REMOTE), 77, false), "nat44.icmp-no-session");
}

/// RFC 6146, section 3.5: what comes from the prefix is discarded, errors too.
#[test]
fn errors_from_ipv6_with_a_source_in_the_prefix_are_dropped() {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let arrived = g.back(&udp((REMOTE, 80), outside));
    g.dropped(Customer, &error(x(OTHER), x(REMOTE), 1, 4, &arrived, 1000), "translate.martian-source");
    g.out(&error(A, x(REMOTE), 1, 4, &arrived, 1000));
}

#[test]
fn packet_too_big_crosses_with_the_difference_of_the_headers() {
    let mut g = nat64(&config());
    let outside = map(&mut g, (A, 5000), (REMOTE, 80));
    let arrived = g.back(&udp((REMOTE, 80), outside));
    let e = g.out(&icmp(A, x(REMOTE), 2, 0, 1400u32.to_be_bytes(), &arrived[14..]));
    assert_eq!((icmp_type(&e), &e[40..42]), ((3, 4), &1380u16.to_be_bytes()[..]));
}

#[test]
fn section_3_4_other_protocols_are_refused_to_customers_as_ports_and_to_others_as_protocols() {
    let mut g = nat64(&config());
    map(&mut g, (A, 5000), (REMOTE, 80));
    let sctp = |mut f: Vec<u8>| {
        let over6 = f[14] >> 4 == 6;
        f[if over6 { 20 } else { 23 }] = 132;
        if !over6 {
            reseal(&mut f);
        }
        f
    };
    let answer = g.refused(Customer, &sctp(udp((A, 5000), (x(REMOTE), 80))), "nat44.protocol");
    assert_eq!((icmp_type(&answer), judge(&answer).from.0, judge(&answer).to.0), ((1, 4), GATEWAY6, A));
    assert_eq!((quote_of(&answer).from.0, quote_of(&answer).to.0), (A, x(REMOTE)));
    let answer = g.refused(Internet, &sctp(udp((REMOTE, 80), (POOL, 5000))), "nat44.protocol");
    assert_eq!((icmp_type(&answer), judge(&answer).from.0, judge(&answer).to.0), ((3, 2), GATEWAY4.into(), REMOTE));
}

#[test]
fn errors_without_a_counterpart_are_dropped() {
    let mut g = nat64(&config());
    let sent = g.out(&udp((A, 5000), (x(REMOTE), 80)));
    // Source quench (RFC 7915, section 4.2).
    g.dropped(Internet, &error(OTHER, POOL, 4, 0, &sent, 28), "translate.icmp-untranslatable");
}
