//! Faults of other NAT64s.

use crate::nat64::set_up::*;
use plane::Side::Customer;
use testbed::prelude::*;

/// Seen elsewhere: UDP checksum 0 in packets from IPv6 to IPv4.
#[test]
fn udp_keeps_a_checksum() {
    let mut g = nat64(&config());
    for n in 0..300u16 {
        let out = g.out(&udp_with((A, 5000), (x(REMOTE), 80), 64, &n.to_be_bytes()));
        assert_ne!(out[40..42], [0, 0]);
        judge(&out);
    }
}

/// Seen elsewhere: DF clear together with identification 0, which makes fragments of different packets look alike.
#[test]
fn packets_that_may_be_cut_have_an_identification_of_their_own() {
    let mut g = nat64(&config());
    let ids: std::collections::HashSet<_> = (0..100)
        .map(|_| {
            let out = g.out(&udp((A, 5000), (x(REMOTE), 80)));
            assert_eq!(out[20] & 0x40, 0, "RFC 7915, section 5.1: up to 1260 octets may be cut");
            [out[18], out[19]]
        })
        .collect();
    assert_eq!(ids.len(), 100);
    let large = g.out(&udp_with((A, 5000), (x(REMOTE), 80), 64, &[0; 1300]));
    assert_ne!(large[20] & 0x40, 0, "larger ones may not");
}

/// Seen elsewhere: no answer to hop limit 1.
#[test]
fn hop_limit_one_is_answered() {
    let mut g = nat64(&config());
    for frame in [udp_with((A, 5000), (x(REMOTE), 80), 1, b"x"), {
        let mut f = echo(A, x(REMOTE), 1, true);
        f[21] = 1;
        f
    }] {
        let answer = g.refused(Customer, &frame, "nat44.ttl-expired");
        assert_eq!((icmp_type(&answer), judge(&answer).from.0, judge(&answer).to.0), ((3, 0), GATEWAY6, A));
    }
}
