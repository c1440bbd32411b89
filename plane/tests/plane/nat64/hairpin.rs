//! RFC 6146, section 3.8: customers reach each other by outside addresses.

use crate::nat64::set_up::*;
use plane::Side::Customer;
use testbed::prelude::*;

#[test]
fn udp_from_one_customer_to_another() {
    let mut g = nat64(&config());
    let b = map(&mut g, (B, 6000), (REMOTE, 80));
    let seen = judge(&g.pass(Customer, Customer, &udp_with((A, 5000), (x(b.0), b.1), 9, b"x")));
    assert_eq!(
        (seen.to, seen.ttl, seen.from.0),
        ((B, 6000), 8, x(POOL)),
        "it comes from an outside address, one hop on"
    );
    let answer = judge(&g.pass(Customer, Customer, &udp((B, 6000), seen.from)));
    assert_eq!((answer.from, answer.to), ((x(b.0), b.1), (A, 5000)));
}

#[test]
fn tcp_from_one_customer_to_another() {
    let mut g = nat64(&config());
    let b = g.seen_out(&tcp((B, 6000), (x(REMOTE), 80), "S")).from;
    let syn = judge(&g.pass(Customer, Customer, &tcp((A, 5000), (x(b.0), b.1), "S")));
    assert_eq!(syn.to, (B, 6000));
    let answer = judge(&g.pass(Customer, Customer, &tcp((B, 6000), syn.from, "SA")));
    assert_eq!((answer.from, answer.to), ((x(b.0), b.1), (A, 5000)));
}

/// RFC 5382, REQ-4, and RFC 6146, section 3.5.2.2: a customer gets the error as soon as a remote host does.
#[test]
fn an_unsolicited_syn_is_answered_after_six_seconds() {
    for workers in 1..=3 {
        let mut g = with_workers(&address_dependent(), workers);
        let b = g.seen_out(&tcp((B, 6000), (x(REMOTE), 80), "S")).from;
        let syn = tcp((A, 5000), (x(b.0), b.1), "S");
        g.dropped(Customer, &syn, "nat44.syn-held");
        g.wait(5);
        assert_eq!(g.send_all(Customer, &[]), []);
        g.wait(1);
        let out = g.send_all(Customer, &[]);
        assert_eq!((out.len(), out[0].0), (1, Customer), "{workers} workers");
        let (e, q, sent) = (&out[0].1, quote_of(&out[0].1), judge(&syn));
        assert_eq!((judge(e).to.0, icmp_type(e)), (A, (1, 4)));
        assert_eq!((q.from, q.to), (sent.from, sent.to));
        assert_eq!(g.send_all(Customer, &[]), []);
    }
}

/// RFC 6146, section 3.5.2.2: a SYN that crosses the held one opens the connection.
#[test]
fn a_syn_from_the_other_customer_silences_the_held_one() {
    let mut g = nat64(&address_dependent());
    let b = g.seen_out(&tcp((B, 6000), (x(REMOTE), 80), "S")).from;
    g.dropped(Customer, &tcp((A, 5000), (x(b.0), b.1), "S"), "nat44.syn-held");
    let a = g.seen_out(&tcp((A, 5000), (x(REMOTE), 80), "S")).from;
    let syn = judge(&g.pass(Customer, Customer, &tcp((B, 6000), (x(a.0), a.1), "S")));
    assert_eq!(syn.to, (A, 5000));
    g.wait(7);
    assert_eq!(g.send_all(Customer, &[]), []);
}

#[test]
fn errors_about_hairpinned_packets_find_back() {
    let mut g = nat64(&config());
    let b = map(&mut g, (B, 6000), (REMOTE, 80));
    let sent = udp((A, 5000), (x(b.0), b.1));
    let arrived = g.pass(Customer, Customer, &sent);
    let e = g.pass(Customer, Customer, &error(B, x(POOL), 1, 4, &arrived, 1000));
    assert_eq!((judge(&e).to.0, icmp_type(&e)), (A, (1, 4)));
    let (q, was) = (quote_of(&e), judge(&sent));
    assert_eq!((q.from, q.to), (was.from, was.to));
}

#[test]
fn a_customer_reaches_itself() {
    let mut g = nat64(&config());
    let own = map(&mut g, (A, 6000), (REMOTE, 80));
    let seen = judge(&g.pass(Customer, Customer, &udp((A, 5000), (x(own.0), own.1))));
    assert_eq!(seen.to, (A, 6000));
}

#[test]
fn filtering_applies_to_hairpins() {
    let mut g = nat64(&address_dependent());
    let b = map(&mut g, (B, 6000), (REMOTE, 80));
    g.dropped(Customer, &udp((A, 5000), (x(b.0), b.1)), "nat44.filtered");
    // Once B has sent to the outside address, A may answer from it.
    let a = map(&mut g, (A, 5000), (REMOTE, 80));
    g.send(Customer, &udp((B, 6000), (x(a.0), a.1)));
    let seen = judge(&g.pass(Customer, Customer, &udp((A, 5000), (x(b.0), b.1))));
    assert_eq!(seen.to, (B, 6000));
}

#[test]
fn fragments_are_hairpinned() {
    let mut g = nat64(&config());
    let b = map(&mut g, (B, 6000), (REMOTE, 80));
    let whole = udp_with((A, 5000), (x(b.0), b.1), 64, &[7; 100]);
    let out = g.send_all(Customer, &fragments(&whole, &[48], 9));
    let parts: Vec<_> = out.into_iter().map(|(s, f)| (s == Customer).then_some(f).unwrap()).collect();
    assert_eq!(parts.len(), 2);
    assert_eq!(judge(&reassemble(&parts)).to, (B, 6000));
}
