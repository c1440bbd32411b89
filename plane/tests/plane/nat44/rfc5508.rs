//! RFC 5508: ICMP.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use etherparse::Icmpv4Type;
use plane::Side::{Customer, Internet};
use std::time::Duration;

fn unknown(kind: u8) -> Icmpv4Type {
    Icmpv4Type::Unknown { type_u8: kind, code_u8: 0, bytes5to8: [0x12, 0x34, 0, 1] }
}

#[test]
fn rfc5508_req1_queries_and_answers_pass() {
    for workers in [1, 3] {
        let mut g = with_workers(&config(), workers);
        for id in [0, 1, 99, 0x8000, 65535] {
            let seen = judge(&g.out(&ping(A, REMOTE, id)));
            assert_eq!((seen.from.0, seen.to.0), (POOL, REMOTE));
            let back = judge(&g.back(&pong(REMOTE, POOL, seen.from.1)));
            assert_eq!(back.to, (A, id));
        }
        // Timestamp and address mask, too.
        for (ask, answer) in [(13, 14), (15, 16), (17, 18)] {
            let sent = g.out(&icmp4(A, REMOTE, unknown(ask), &[0; 12]));
            let id = [sent[38], sent[39]];
            let kind = Icmpv4Type::Unknown { type_u8: answer, code_u8: 0, bytes5to8: [id[0], id[1], 0, 1] };
            let got = g.back(&icmp4(REMOTE, POOL, kind, &[0; 12]));
            assert_eq!(&got[38..40], &[0x12, 0x34]);
        }
    }
}

#[test]
fn rfc5508_req1_identifiers_map_endpoint_independently() {
    let mut g = gateway(config());
    let first = judge(&g.out(&ping(A, REMOTE, 7))).from;
    assert_eq!(judge(&g.out(&ping(A, OTHER, 7))).from, first);
    assert_ne!(judge(&g.out(&ping(B, REMOTE, 7))).from, first);
}

#[test]
fn rfc5508_req1_unsolicited_replies_are_dropped() {
    let mut g = gateway(config());
    let id = judge(&g.out(&ping(A, REMOTE, 7))).from.1;
    g.dropped(Internet, &pong(OTHER, POOL, id), "no-session");
    g.dropped(Internet, &pong(REMOTE, POOL, id ^ 1), "no-session");
    g.dropped(Internet, &ping(REMOTE, POOL, id), "no-session");
}

#[test]
fn rfc5508_req2_query_timer() {
    let mut g = gateway(config());
    let id = judge(&g.out(&ping(A, REMOTE, 7))).from.1;
    g.wait(60);
    g.back(&pong(REMOTE, POOL, id));
    g.wait(1);
    g.dropped(Internet, &pong(REMOTE, POOL, id), "no-session");
    let mut c = config();
    c.timeouts.icmp = Duration::from_secs(59);
    assert!(c.validate(1).is_err());
}

#[test]
fn rfc5508_req3_wrong_checksums_are_dropped() {
    let mut g = gateway(config());
    let sent = g.out(&udp((A, 5000), (REMOTE, 80)));
    let right = error(OTHER, POOL, 3, 1, &sent, 28);
    let mut wrong = right.clone();
    wrong[36] ^= 1;
    g.dropped(Internet, &wrong, "icmp-checksum");
    // REQ-3a: the quoted header.
    let mut damaged = sent.clone();
    damaged[24] ^= 1;
    g.dropped(Internet, &error(OTHER, POOL, 3, 1, &damaged, 28), "icmp-checksum");
    // REQ-3c: the quoted transport checksum is not looked at, and is as wrong afterwards as before.
    let mut damaged = sent;
    damaged[40] ^= 1;
    let got = g.back(&error(OTHER, POOL, 3, 1, &damaged, 28));
    assert_eq!(quote_of(&got).from, (A, 5000));
}

#[test]
fn rfc5508_req3b_quoted_options_are_passed_over() {
    let mut g = gateway(config());
    let sent = g.out(&with_options(&udp((A, 5000), (REMOTE, 80)), &[1, 1, 1, 0]));
    let got = g.back(&error(OTHER, POOL, 3, 1, &sent, 32));
    assert_eq!(quote_of(&got).from, (A, 5000));
}

/// The same frame with IPv4 options.
pub(super) fn with_options(frame: &[u8], options: &[u8]) -> Vec<u8> {
    let mut f = frame[..34].to_vec();
    f.extend_from_slice(options);
    f.extend_from_slice(&frame[34..]);
    f[14] = 0x45 + (options.len() / 4) as u8;
    let total = (f.len() - 14) as u16;
    f[16..18].copy_from_slice(&total.to_be_bytes());
    reseal(&mut f);
    f
}

#[test]
fn rfc5508_req3d_extensions_are_no_part_of_the_quote() {
    let mut g = gateway(config());
    let sent = g.out(&tcp((A, 5000), (REMOTE, 80), "S"));
    // The packet, padded with zero to 128 octets, then an extension (RFC 4884).
    let mut payload = sent[14..].to_vec();
    let whole = payload.len();
    payload.resize(128, 0);
    payload.extend_from_slice(&[0x20, 0, 0xde, 0xad, 0, 8, 1, 1, 0, 1, 2, 3]);
    let kind = Icmpv4Type::Unknown { type_u8: 11, code_u8: 0, bytes5to8: [0, 32, 0, 0] };
    let got = g.back(&icmp4(OTHER, POOL, kind, &payload));
    let quote = &got[42..];
    assert!(quote[whole..128].iter().all(|&b| b == 0), "padding is untouched");
    assert_eq!(&quote[128..140], &payload[128..140], "so is the extension");
    assert_eq!(&quote[12..16], &v4(A));
}

#[test]
fn rfc5508_req4_errors_from_outside() {
    for workers in [1, 3] {
        let mut g = with_workers(&config(), workers);
        for (sent, inside) in [
            (g.out(&udp((A, 5000), (REMOTE, 80))), 5000),
            (g.out(&tcp((A, 5001), (REMOTE, 80), "S")), 5001),
            (g.out(&ping(A, REMOTE, 5002)), 5002),
        ] {
            for (kind, code) in [(3, 0), (3, 4), (11, 0), (12, 0)] {
                let got = g.back(&error(OTHER, POOL, kind, code, &sent, 576));
                let seen = judge(&got);
                // a: quoted packet as it was; b: type and code; c: destination is the quoted source.
                assert_eq!(quote_of(&got).from, (A, inside));
                assert_eq!(quote_of(&got).to.0, REMOTE);
                assert_eq!(icmp_type(&got), (kind, code));
                assert_eq!((seen.from.0, seen.to.0, seen.ttl), (OTHER, A, 63));
            }
        }
        g.dropped(Internet, &error(OTHER, POOL, 3, 1, &udp((POOL, 9), (REMOTE, 9)), 28), "icmp-no-session");
    }
}

#[test]
fn rfc5508_req5_errors_from_inside() {
    for workers in [1, 3] {
        let mut g = with_workers(&config(), workers);
        let outside = g.map((A, 5000), (REMOTE, 80));
        let received = g.back(&udp((REMOTE, 80), outside));
        // The host itself, and a router on the way to it.
        for sender in [A, ip("10.0.7.7")] {
            let got = g.out(&error(sender, REMOTE, 3, 3, &received, 576));
            assert_eq!((judge(&got).from.0, judge(&got).to.0), (POOL, REMOTE), "only the public address shows");
            assert_eq!((quote_of(&got).from, quote_of(&got).to), ((REMOTE, 80), outside));
            assert_eq!(icmp_type(&got), (3, 3));
        }
        g.dropped(Customer, &error(A, REMOTE, 3, 3, &udp((REMOTE, 9), (A, 9)), 28), "icmp-no-session");
    }
}

#[test]
fn rfc5508_req6_errors_neither_refresh_nor_end() {
    let mut g = gateway(config());
    let sent = g.out(&ping(A, REMOTE, 7));
    let id = judge(&sent).from.1;
    g.wait(50);
    g.back(&error(OTHER, POOL, 11, 0, &sent, 28));
    g.wait(9);
    g.back(&pong(REMOTE, POOL, id));
    g.wait(5);
    g.dropped(Internet, &pong(REMOTE, POOL, id), "no-session");
}

#[test]
fn rfc5508_req7_hairpinned_errors() {
    for workers in [1, 3] {
        let mut g = with_workers(&config(), workers);
        let a = g.map((A, 5000), (REMOTE, 80));
        let b = g.map((B, 6000), (REMOTE, 80));
        let at_b = g.send(Customer, &udp((A, 5000), b)).remove(0).1;
        let out = g.send(Customer, &error(B, POOL, 3, 3, &at_b, 576));
        assert_eq!(out.len(), 1, "workers {workers}");
        assert_eq!(out[0].0, Customer);
        let seen = judge(&out[0].1);
        assert_eq!((seen.from.0, seen.to.0, seen.ttl), (POOL, A, 63));
        assert_eq!((quote_of(&out[0].1).from, quote_of(&out[0].1).to), ((A, 5000), b));
        assert_ne!(a, b);
    }
}

#[test]
fn rfc5508_req8_no_room_is_answered() {
    // Code 13 by RFC 5508; RFC 6888, REQ-11b, made it code 1.
    let mut c = config();
    c.sessions = 1;
    let mut g = gateway(c);
    g.map((A, 5000), (REMOTE, 80));
    for frame in [udp((A, 5001), (REMOTE, 80)), tcp((A, 5001), (REMOTE, 80), "S"), ping(A, REMOTE, 1)] {
        let answer = g.refused(Customer, &frame, "table-full");
        assert_eq!(icmp_type(&answer), (3, 1));
        assert_eq!(quote_of(&answer).from.0, A);
    }
}

#[test]
fn rfc5508_req9_errors_can_be_switched_off_and_are_limited() {
    for (limit, most) in [(0, 0), (10, 40)] {
        let mut c = config();
        c.sessions = 1;
        c.icmp_errors_per_second = limit;
        let mut g = gateway(c);
        g.map((A, 5000), (REMOTE, 80));
        let sent: usize = (0..1000).map(|_| g.send(Customer, &udp((A, 5001), (REMOTE, 80))).len()).sum();
        assert!(sent <= most && (most == 0 || sent > 20), "{sent}");
        assert_eq!(g.count("icmp-suppressed") + g.count("icmp-sent"), 1000);
    }
}

#[test]
fn rfc5508_req10_time_exceeded_is_sent_to_both_sides() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    for ttl in [0, 1] {
        let answer = g.refused(Customer, &udp_with((A, 5000), (REMOTE, 80), ttl, b"x"), "ttl-expired");
        assert_eq!((icmp_type(&answer), judge(&answer).from.0), ((11, 0), ip("10.255.255.1")));
        assert_eq!((quote_of(&answer).from, quote_of(&answer).ttl), ((A, 5000), ttl));
        let answer = g.refused(Internet, &udp_with((REMOTE, 80), outside, ttl, b"x"), "ttl-expired");
        assert_eq!((icmp_type(&answer), judge(&answer).from.0), ((11, 0), ip("192.0.2.254")));
        assert_eq!(quote_of(&answer).to, outside, "nothing of the inside shows");
    }
    assert_eq!(judge(&g.out(&udp_with((A, 5000), (REMOTE, 80), 2, b"x"))).ttl, 1, "two is enough");
}

#[test]
fn rfc5508_req10_no_errors_about_errors_and_later_fragments() {
    let mut g = gateway(config());
    let sent = g.out(&udp((A, 5000), (REMOTE, 80)));
    let mut dying = error(OTHER, POOL, 3, 1, &sent, 28);
    dying[22] = 1;
    reseal(&mut dying);
    g.dropped(Internet, &dying, "ttl-expired");
    let mut later = fragments(&udp_with((A, 5000), (REMOTE, 80), 1, &[0; 64]), &[32])[1].clone();
    later[22] = 1;
    reseal(&mut later);
    g.dropped(Customer, &later, "ttl-expired");
}

#[test]
fn rfc5508_req11_other_messages_are_dropped() {
    let mut g = gateway(config());
    for kind in [5, 9, 10, 30, 42] {
        g.dropped(Customer, &icmp4(A, REMOTE, unknown(kind), &[0; 28]), "icmp-other");
        g.dropped(Internet, &icmp4(REMOTE, POOL, unknown(kind), &[0; 28]), "icmp-other");
    }
}
