//! Faults that other NATs have shown.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::{Customer, Internet};
use wire::PortRange;

#[test]
fn running_out_of_icmp_identifiers_is_a_refusal_and_nothing_else() {
    let mut c = config();
    c.ports = PortRange { first: 4000, last: 4063 };
    c.preserve_parity = false;
    let mut g = gateway(c);
    for id in 0..64 {
        g.out(&ping(A, REMOTE, id));
    }
    for id in 64..200 {
        g.send(Customer, &ping(A, REMOTE, id));
    }
    assert_eq!(g.count("no-port"), 136);
    for id in 0..64 {
        g.out(&ping(A, REMOTE, id));
    }
}

#[test]
fn later_fragments_are_not_corrupted() {
    let payload: Vec<u8> = (0..=255).cycle().take(2000).collect();
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    let whole = udp_with((A, 5000), (REMOTE, 80), 64, &payload);
    for part in fragments(&whole, &[800, 1600]) {
        let out = g.out(&part);
        let skip = if part[20] & 0x1f | part[21] == 0 { 42 } else { 34 };
        assert_eq!(out[skip..], part[skip..], "payload as it came in");
    }
    let whole = udp_with((REMOTE, 80), outside, 64, &payload);
    for part in fragments(&whole, &[800, 1600]) {
        let back = g.back(&part);
        let skip = if part[20] & 0x1f | part[21] == 0 { 42 } else { 34 };
        assert_eq!(back[skip..], part[skip..]);
    }
}

#[test]
fn a_udp_checksum_is_never_lost_and_none_is_never_made() {
    let mut g = gateway(config());
    for port in 2000..4000 {
        let out = g.out(&udp((A, port), (REMOTE, 80)));
        assert_ne!(&out[40..42], &[0, 0]);
        let back = g.back(&udp((REMOTE, 80), judge(&out).from));
        assert_ne!(&back[40..42], &[0, 0]);
        let mut none = udp((A, port), (REMOTE, 80));
        none[40..42].fill(0);
        assert_eq!(&g.out(&none)[40..42], &[0, 0], "no checksum stays no checksum (RFC 768)");
    }
}

#[test]
fn a_checksum_that_becomes_zero_is_sent_as_all_ones() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    // Two octets of payload go through all values, so one of the translated datagrams sums to zero.
    let mut ones = 0;
    for v in 0..=65535u16 {
        let out = g.out(&udp_with((A, 5000), (REMOTE, 80), 64, &v.to_be_bytes()));
        assert_ne!(&out[40..42], &[0, 0]);
        ones += usize::from(out[40..42] == [0xff, 0xff]);
    }
    assert_eq!(ones, 1);
    assert_eq!(outside.0, POOL);
}

#[test]
fn identification_and_df_pass_unchanged() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    for df in [false, true] {
        for (out, mut f) in [(true, udp((A, 5000), (REMOTE, 80))), (false, udp((REMOTE, 80), outside))] {
            f[18..20].copy_from_slice(&[0xab, 0xcd]);
            reseal(&mut f);
            if df {
                set_df(&mut f);
            }
            let got = if out { g.out(&f) } else { g.back(&f) };
            assert_eq!(got[15..22], f[15..22], "TOS, length, identification, flags");
        }
    }
}

#[test]
fn hop_limit_one_is_answered() {
    let mut g = gateway(config());
    assert_eq!(icmp_type(&g.refused(Customer, &udp_with((A, 1), (REMOTE, 2), 1, b""), "ttl-expired")), (11, 0));
    assert_eq!(g.entries(), (0, 0));
}

#[test]
fn quoted_checksums_are_right_in_both_directions() {
    // `judge` holds every quoted checksum against etherparse; whole packets are quoted, so all can be checked.
    let mut g = gateway(config());
    let sent = g.out(&udp_with((A, 5000), (REMOTE, 80), 64, &[9; 100]));
    let outside = judge(&sent).from;
    judge(&g.back(&error(OTHER, POOL, 11, 0, &sent, 576)));
    let received = g.back(&udp_with((REMOTE, 80), outside, 64, &[8; 99]));
    judge(&g.out(&error(A, REMOTE, 3, 3, &received, 576)));
}

#[test]
fn an_error_that_quotes_a_very_short_datagram_passes() {
    let mut g = gateway(config());
    let sent = g.out(&udp_with((A, 5000), (REMOTE, 80), 64, b""));
    let got = g.back(&error(OTHER, POOL, 3, 3, &sent, 28));
    assert_eq!(quote_of(&got).from, (A, 5000));
    // One octet less than the eight that RFC 792 demands cannot be translated.
    g.dropped(Internet, &error(OTHER, POOL, 3, 3, &sent, 27), "short-frame");
}
