//! RFC 5508: ICMP. What other NATs must do alike is in `stateful`.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use etherparse::Icmpv4Type;
use plane::Side::{Customer, Internet};

fn unknown(kind: u8) -> Icmpv4Type {
    Icmpv4Type::Unknown { type_u8: kind, code_u8: 0, bytes5to8: [0x12, 0x34, 0, 1] }
}

#[test]
fn rfc5508_req1_queries_other_than_echo_pass() {
    for workers in [1, 3] {
        let mut g = with_workers(&config(), workers);
        // Timestamp, information and address mask.
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
fn rfc5508_req1_unsolicited_replies_are_dropped() {
    let mut g = gateway(config());
    let id = judge(&g.out(&ping(A, REMOTE, 7))).from.1;
    g.dropped(Internet, &pong(OTHER, POOL, id), "no-session");
    g.dropped(Internet, &pong(REMOTE, POOL, id ^ 1), "no-session");
    g.dropped(Internet, &ping(REMOTE, POOL, id), "no-session");
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
