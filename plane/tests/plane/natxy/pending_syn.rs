//! Unsolicited SYNs from the Internet (RFC 5382, REQ-4): answered after six seconds, unless the customer opens the
//! connection.

use crate::natxy::bench::*;
use plane::Side::{Customer, Internet};
use plane::nat44::config::Filtering;
use testbed::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn syn(from: At, to: At) -> Vec<u8> {
    tcp(from, to, "S")
}

#[test]
fn an_unsolicited_syn_is_answered_after_six_seconds() {
    let mut g = nat66(&config());
    g.dropped(Internet, &syn((REMOTE, 80), (POOL, 5000)), "syn-held");
    g.dropped(Internet, &syn((REMOTE, 80), (POOL, 5000)), "syn-held");
    g.now += 6 * SECOND - 1;
    assert!(g.send_all(Internet, &[]).is_empty() && g.count("icmp-sent") == 0, "not before");
    g.now += 1;
    let out = g.send_all(Customer, &[udp((A, 5000), (OTHER, 9))]);
    let (answers, rest): (Vec<_>, Vec<_>) = out.into_iter().partition(|o| o.1[20] == 58);
    assert_eq!((answers.len(), rest.len(), answers[0].0), (1, 1, Internet), "its repetition is not answered again");
    let answer = &answers[0].1;
    assert_eq!((icmp_type(answer), judge(answer).from.0, judge(answer).to.0), ((1, 4), RIGHT.into(), REMOTE));
    assert_eq!((quote_of(answer).from, quote_of(answer).to), ((REMOTE, 80), (POOL, 5000)));
    assert_eq!(g.workers[0].known(), [1, 1], "the unsolicited remote host has no number");
}

#[test]
fn a_filtered_syn_is_held_too() {
    let mut c = config();
    c.nat.filtering = Filtering::AddressAndPortDependent;
    let mut g = nat66(&c);
    let outside = judge(&g.out(&syn((A, 5000), (REMOTE, 80)))).from;
    g.dropped(Internet, &syn((REMOTE, 81), outside), "syn-held");
    g.dropped(Internet, &syn((OTHER, 80), outside), "syn-held");
    g.wait(6);
    assert_eq!(g.send_all(Internet, &[]).len(), 2);
}

#[test]
fn an_outbound_syn_silences_the_held_one() {
    for per_connection in [false, true] {
        let mut c = config();
        if per_connection {
            c.nat = c.nat.per_connection();
        }
        let mut g = nat66(&c);
        g.dropped(Internet, &syn((REMOTE, 80), (POOL, 5000)), "syn-held");
        g.wait(3);
        assert_eq!(judge(&g.out(&syn((A, 5000), (REMOTE, 80)))).from, (POOL, 5000));
        g.wait(10);
        assert_eq!(judge(&g.back(&syn((REMOTE, 80), (POOL, 5000)))).to, (A, 5000), "its repetition goes in");
        assert_eq!(g.count("icmp-sent"), 0);
    }
}

/// Data may come with a SYN (RFC 7413): the answer quotes what fits.
#[test]
fn a_large_syn_is_quoted_as_far_as_an_error_may_be() {
    let mut g = nat66(&config());
    let mut large = syn((REMOTE, 80), (POOL, 5000));
    large.resize(14 + 1500, 0x77);
    large[18..20].copy_from_slice(&1460u16.to_be_bytes());
    g.dropped(Internet, &large, "syn-held");
    g.wait(6);
    let out = g.send_all(Internet, &[]);
    assert_eq!((out.len(), out[0].1.len(), &out[0].1[62..]), (1, 14 + 1280, &large[14..][..1232]));
}

#[test]
fn what_is_held_is_bounded() {
    let mut g = nat66(&config());
    for port in 0..5000u16 {
        g.dropped(Internet, &syn((REMOTE, port + 1), (POOL, 5000)), "syn-held");
    }
    g.wait(7);
    g.send_all(Internet, &[]);
    assert!(g.count("icmp-sent") + g.count("icmp-suppressed") <= 256);
    g.clear();
}

#[test]
fn nothing_is_answered_that_was_forgotten() {
    let mut g = nat66(&config());
    g.dropped(Internet, &syn((REMOTE, 80), (POOL, 5000)), "syn-held");
    g.clear();
    g.wait(7);
    assert!(g.send_all(Internet, &[]).is_empty());
}
