//! RFC 7915: rules that sections 4 (from IPv4) and 5 (from IPv6) have alike. Each case runs over both, by the version that the
//! packet arrives with.

use crate::translate::bed::*;
use crate::translate::packets::*;

/// From IPv4, then from IPv6.
const BOTH: [bool; 2] = [false, true];

fn udp(six: bool, hops: u8, payload: &[u8]) -> Vec<u8> {
    if six { udp6_of(HERE6, THERE6, hops, payload) } else { udp4_of(THERE4, HERE4, hops, payload) }
}

fn tcp(six: bool, payload: &[u8]) -> Vec<u8> {
    if six { tcp6(payload) } else { tcp4(payload) }
}

fn icmp(six: bool, [kind, code]: [u8; 2], rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    if six { icmp6(kind, code, rest, payload) } else { icmp4(kind, code, rest, payload) }
}

/// Of the version that arrives, and of the other one.
fn pair<T: Copy>(six: bool, [of6, of4]: [T; 2]) -> [T; 2] {
    if six { [of6, of4] } else { [of4, of6] }
}

const ECHO: [[u8; 2]; 2] = [[128, 0], [8, 0]];
const PORT: [[u8; 2]; 2] = [[1, 4], [3, 3]];
const EXPIRED: [[u8; 2]; 2] = [[3, 0], [11, 0]];

#[test]
fn rfc7915_4_1_and_5_1_hops_run_out() {
    for six in BOTH {
        let mut b = bed(|_| {});
        for hops in [0, 1] {
            let sent = udp(six, hops, b"x");
            let back = b.refused(six, &sent, "hop-limit-expired");
            let (kind, code, _, quote) = error_of(&back);
            let own = pair(six, ["2001:db8:1::1", "198.51.100.254"])[0];
            assert_eq!(([kind, code], judge(&back).src.as_str()), (pair(six, EXPIRED)[0], own));
            assert_eq!((judge(&back).dst, quote.hops), (judge(&sent).src, hops));
        }
        assert_eq!(judge(&b.pass(six, &udp(six, 2, b"x"))).hops, 1);
    }
}

#[test]
fn rfc7915_4_1_and_5_1_fragments_keep_offset_and_identification() {
    for six in BOTH {
        let mut b = bed(|_| {});
        for whole in [udp(six, 64, &[7; 100]), tcp(six, &[8; 100])] {
            let parts = if six { fragments6(&whole, &[32, 64], 0xdead_1234) } else { fragments4(&whole, &[32, 64]) };
            let seen: Vec<IpPacket> = parts.iter().map(|f| judge(&b.pass(six, f))).collect();
            let fields: Vec<_> = seen.iter().map(|s| (s.part.unwrap(), s.df)).collect();
            assert_eq!(fields, [(0, true, 0x1234), (32, true, 0x1234), (64, false, 0x1234)].map(|part| (part, false)));
            assert_eq!(whole_of(&seen).payload.len(), judge(&whole).payload.len());
        }
    }
}

#[test]
fn rfc7915_4_2_and_5_2_echo() {
    for six in BOTH {
        let mut b = bed(|_| {});
        for kinds in [ECHO, [[129, 0], [0, 0]]] {
            let [there, here] = pair(six, kinds);
            let out = judge(&b.pass(six, &icmp(six, there, [0x12, 0x34, 0, 7], b"ping of an odd length")));
            assert_eq!((out.protocol, &out.payload[..2]), (pair(six, [58, 1])[1], &here[..]));
            assert_eq!(
                (&out.payload[4..8], &out.payload[8..]),
                (&[0x12, 0x34, 0, 7][..], &b"ping of an odd length"[..])
            );
        }
    }
}

#[test]
fn rfc7915_1_2_fragmented_icmp_is_not_translated() {
    for six in BOTH {
        let mut b = bed(|_| {});
        for part in fragments6(&icmp(six, pair(six, ECHO)[0], [0; 4], &[3; 100]), &[32], 1) {
            b.dropped(six, &part, "icmp-untranslatable");
        }
    }
}

#[test]
fn rfc7915_4_2_and_5_2_an_error_with_its_quote() {
    for six in BOTH {
        let mut b = bed(|_| {});
        let [there, here] = pair(six, PORT);
        let ping = icmp(!six, pair(six, ECHO)[1], [0, 9, 0, 1], b"ping");
        for sent in [udp(!six, 64, b"question"), tcp(!six, b"data"), ping] {
            let out = b.pass(!six, &sent);
            let (kind, code, rest, quote) = error_of(&b.pass(six, &icmp(six, there, [0; 4], &out[14..])));
            assert_eq!(([kind, code], rest), (here, [0; 4]));
            assert_eq!(quote, IpPacket { hops: 63, part: six.then_some((0, false, 0)), ..judge(&sent) });
        }
    }
}

#[test]
fn rfc7915_4_2_and_5_2_an_error_may_quote_little() {
    for six in BOTH {
        let mut b = bed(|_| {});
        let sent = udp(!six, 64, &[6; 100]);
        let out = b.pass(!six, &sent);
        let ([there, here], header) = (pair(six, EXPIRED), pair(six, [40, 20])[0]);
        for n in 0..14 {
            let (kind, _, _, quote) = error_of(&b.pass(six, &icmp(six, there, [0; 4], &out[14..][..header + n])));
            assert_eq!((kind, quote.dst, quote.payload.len()), (here[0], judge(&sent).dst, n));
        }
        b.dropped(six, &icmp(six, there, [0; 4], &out[14..][..header - 1]), "short-frame");
    }
}

#[test]
fn rfc7915_4_2_and_5_2_parameter_problem() {
    for (six, there, pointer, here, told) in [
        (false, [12, 0], [16, 0, 0, 0], (4, 0), [0, 0, 0, 24]),
        (false, [3, 2], [0; 4], (4, 1), [0, 0, 0, 6]),
        (true, [4, 0], [0, 0, 0, 24], (12, 0), [16, 0, 0, 0]),
        (true, [4, 1], [0, 0, 0, 6], (3, 2), [0; 4]),
    ] {
        let mut b = bed(|_| {});
        let out = b.pass(!six, &udp(!six, 64, b"x"));
        let (kind, code, rest, _) = error_of(&b.pass(six, &icmp(six, there, pointer, &out[14..])));
        assert_eq!(((kind, code), rest), (here, told), "{there:?}");
        let nowhere = pair(six, [([4, 0], [0, 0, 0, 2]), ([12, 0], [4, 0, 0, 0])])[0];
        b.dropped(six, &icmp(six, nowhere.0, nowhere.1, &out[14..]), "icmp-untranslatable");
    }
}

#[test]
fn rfc7915_4_3_and_5_3_an_error_about_an_error_is_dropped() {
    for six in BOTH {
        let mut b = bed(|_| {});
        let out = b.pass(!six, &udp(!six, 64, b"x"));
        let error = if six {
            icmp6_of(THERE6, HERE6, 1, 4, [0; 4], &out[14..])
        } else {
            icmp4_of(HERE4, THERE4, 3, 3, [0; 4], &out[14..])
        };
        b.dropped(six, &icmp(six, pair(six, EXPIRED)[0], [0; 4], &error[14..]), "icmp-untranslatable");
    }
}

/// RFC 4443, section 2.4, and RFC 1812, section 4.3.2.7.
#[test]
fn no_error_about_errors_and_none_with_a_wrong_checksum() {
    for six in BOTH {
        let mut b = bed(|_| {});
        let out = b.pass(!six, &udp(!six, 64, b"x"));
        let error = icmp(six, pair(six, PORT)[0], [0; 4], &out[14..]);
        let last_hop = if six { with6(error.clone(), 21, &[1]) } else { with4(error.clone(), 22, &[1]) };
        b.dropped(six, &last_hop, "hop-limit-expired");
        assert_eq!(b.count("icmp-sent"), 0);
        let at = pair(six, [56, 36])[0];
        b.dropped(six, &with6(error.clone(), at, &[error[at] ^ 1]), "icmp-checksum");
    }
}
