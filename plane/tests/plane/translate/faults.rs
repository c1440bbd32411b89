//! Faults of other translators.

use crate::translate::bed::*;
use crate::translate::packets::*;

#[test]
fn no_udp_checksum_of_zero_leaves_towards_ipv4() {
    let mut b = bed(|_| {});
    // A payload of two octets takes on every value, so that one of them makes the checksum zero.
    for n in (0..=0xffffu16).step_by(7).chain(0..512) {
        assert_ne!(judge(&b.to4(&udp6(&n.to_be_bytes()))).payload[6..8], [0, 0]);
    }
}

#[test]
fn a_checksum_that_comes_out_as_zero_is_sent_as_all_ones() {
    let mut b = bed(|_| {});
    let of = |b: &mut Bed<_>, n: u16| judge(&b.to4(&udp6(&n.to_be_bytes()))).payload;
    let at = of(&mut b, 0);
    // Adding the checksum itself to the data brings it to zero.
    let sum = u16::from_be_bytes([at[6], at[7]]);
    assert_eq!(of(&mut b, sum)[6..8], [0xff, 0xff]);
    let at = judge(&b.to6(&udp4(&[0, 0]))).payload;
    let sum = [at[6], at[7]];
    assert_eq!(judge(&b.to6(&udp4(&sum))).payload[6..8], [0xff, 0xff]);
}

#[test]
fn df_clear_never_comes_with_the_same_identification() {
    let mut b = bed(|_| {});
    let ids: Vec<u32> = (0..100).map(|_| judge(&b.to4(&tcp6(b"x"))).part.unwrap().2).collect();
    let mut each = ids.clone();
    each.sort_unstable();
    each.dedup();
    assert_eq!(each.len(), 100);
}

#[test]
fn hop_limit_one_is_answered() {
    let mut b = bed(|_| {});
    b.refused(true, &udp6_of(HERE6, THERE6, 1, b"x"), "hop-limit-expired");
}

#[test]
fn later_fragments_are_left_alone() {
    let mut b = bed(|_| {});
    let parts = fragments6(&udp6(&[0xa5; 200]), &[96], 5);
    assert_eq!(judge(&b.to4(&parts[1])).payload, vec![0xa5; 112]);
    let parts = fragments4(&udp4(&[0xa5; 200]), &[96]);
    assert_eq!(judge(&b.to6(&parts[1])).payload, vec![0xa5; 112]);
}

#[test]
fn errors_about_very_short_datagrams_pass() {
    let mut b = bed(|_| {});
    let out = b.to6(&udp4(b""));
    let (kind, _, _, quote) = error_of(&b.to4(&icmp6(1, 4, [0; 4], &out[14..62])));
    assert_eq!((kind, quote.payload.len()), (3, 8));
    let out = b.to4(&udp6(b""));
    let (kind, _, _, quote) = error_of(&b.to6(&icmp4(3, 3, [0; 4], &out[14..42])));
    assert_eq!((kind, quote.payload.len()), (1, 8));
}

#[test]
fn checksums_in_quotes_are_right() {
    let mut b = bed(|_| {});
    // The judge verifies the checksums of complete quotes.
    for sent in [udp6(b"abc"), tcp6(b"abc")] {
        let out = b.to4(&sent);
        assert_eq!(error_of(&b.to6(&icmp4(3, 1, [0; 4], &out[14..]))).3.payload, judge(&sent).payload);
    }
}
