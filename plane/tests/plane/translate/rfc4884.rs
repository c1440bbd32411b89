//! RFC 4884 through the translator (RFC 7915, sections 4.2 and 5.2): a new length of the quote, unchanged extensions.

use crate::translate::bed::*;
use crate::translate::packets::*;

/// An extension structure with one object, which the translator does not read.
const EXTENSION: [u8; 16] = [0x20, 0, 0x12, 0x34, 0, 12, 1, 1, 0, 1, 2, 3, 4, 5, 6, 7];

/// A quote brought to `len` octets, and the extension behind it.
fn extended(about: &[u8], len: usize) -> Vec<u8> {
    let mut quote = about[14..].to_vec();
    quote.resize(len, 0);
    quote.extend_from_slice(&EXTENSION);
    quote
}

#[test]
fn rfc7915_4_2_length_and_extensions_to_icmpv6() {
    let mut b = bed(|_| {});
    let about = b.to4(&udp6(&[6; 200]));
    for (kind, six) in [(3, 1), (11, 3)] {
        let back = b.to6(&icmp4(kind, 0, [0, 32, 0, 0], &extended(&about, 128)));
        let m = judge(&back).payload;
        // 128 octets become 148, and the next multiple of eight is 152.
        assert_eq!((m[0], m[4], m.len()), (six, 19, 8 + 152 + 16));
        assert_eq!(&m[8 + 148..8 + 152], &[0; 4]);
        assert_eq!(&m[8 + 152..], &EXTENSION);
    }
}

#[test]
fn rfc7915_5_2_length_and_extensions_to_icmp() {
    let mut b = bed(|_| {});
    let about = b.to6(&udp4(&[6; 200]));
    for (kind, four) in [(1, 3), (3, 11)] {
        let back = b.to4(&icmp6(kind, 0, [19, 0, 0, 0], &extended(&about, 152)));
        let m = judge(&back).payload;
        assert_eq!((m[0], m[4..8].to_vec(), m.len()), (four, vec![0, 33, 0, 0], 8 + 132 + 16));
        assert_eq!(&m[8 + 132..], &EXTENSION);
    }
}

#[test]
fn rfc4884_3_a_short_quote_is_padded_to_128_octets() {
    let mut b = bed(|_| {});
    let about = b.to6(&udp4(b"x"));
    let m = judge(&b.to4(&icmp6(3, 0, [16, 0, 0, 0], &extended(&about, 128)))).payload;
    assert_eq!((m[5], m.len(), &m[8 + 128..]), (32, 8 + 128 + 16, &EXTENSION[..]));
    assert!(m[8 + 29..8 + 128].iter().all(|o| *o == 0), "with zeros");
}

#[test]
fn rfc4884_messages_without_length_lose_their_extensions() {
    let mut b = bed(|_| {});
    let about = b.to4(&udp6(&[6; 200]));
    // Packet too big and parameter problem have no length in ICMPv6.
    for (kind, code, rest) in [(3, 4, [0, 32, 5, 0]), (3, 2, [0, 32, 0, 0]), (12, 0, [0, 32, 0, 0])] {
        let back = b.to6(&icmp4(kind, code, rest, &extended(&about, 128)));
        assert_eq!(judge(&back).payload.len(), 8 + 148);
    }
}

/// Labels and interfaces that traceroute shows are worth more than the end of a quote.
#[test]
fn rfc4884_4_2_a_quote_makes_room_for_extensions() {
    let mut b = bed(|_| {});
    let about = b.to4(&udp6(&[6; 1200]));
    let quote = extended(&about, 1020);
    let m = judge(&b.to6(&icmp4(11, 0, [0, 255, 0, 0], &quote))).payload;
    assert_eq!((m[4], m.len()), (130, 8 + 1040 + 16), "1040 octets and the extension fit");
    let with = |len: usize| [&about[14..14 + 1020], &vec![0x20; len]].concat();
    let m = judge(&b.to6(&icmp4(11, 0, [0, 255, 0, 0], &with(240)))).payload;
    assert_eq!((m[4], m.len(), &m[8 + 992..]), (124, 8 + 992 + 240, &[0x20; 240][..]));
    let m = judge(&b.to6(&icmp4(11, 0, [0, 255, 0, 0], &with(1104)))).payload;
    assert_eq!((m[4], m.len()), (16, 8 + 128 + 1104), "the least quote");
    let m = judge(&b.to6(&icmp4(11, 0, [0, 255, 0, 0], &with(1105)))).payload;
    assert_eq!((m[4], m.len()), (0, 8 + 1040), "a part of them would not parse");
}

#[test]
fn rfc4884_4_2_a_quote_makes_room_for_extensions_over_ipv4() {
    let mut b = bed(|c| c.v4.mtu = 576);
    let about = b.to6(&udp4(&[6; 700]));
    let m = judge(&b.to4(&icmp6(3, 0, [90, 0, 0, 0], &extended(&about, 720)))).payload;
    assert_eq!((m[5], m.len(), &m[8 + 532..]), (133, 8 + 532 + 16, &EXTENSION[..]));
}

#[test]
fn rfc4884_a_length_that_does_not_fit_is_none() {
    let mut b = bed(|_| {});
    let about = b.to4(&udp6(&[6; 200]));
    for stated in [1, 31, 255] {
        let m = judge(&b.to6(&icmp4(11, 0, [0, stated, 0, 0], &about[14..]))).payload;
        assert_eq!((m[4], m.len()), (0, 8 + about.len() - 14 + 20));
    }
}
