//! SYNs from customer to customer (RFC 6146, sections 3.5.2.2 and 3.8); `stateful` has the rest.

use crate::nat64::set_up::*;
use plane::Side::Customer;
use testbed::prelude::*;

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
