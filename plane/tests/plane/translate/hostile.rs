//! Properties of all packets: translation is reversed where promised, nothing panics, one name a drop.

use crate::each_device::{counted, damaged};
use crate::translate::bed::*;
use crate::translate::packets::*;
use plane::Side;
use plane::translate::{Hairpinning, Siit};
use proptest::prelude::*;

/// The same frame as if the neighbour over that version had sent it back in.
fn sent_back(frame: &[u8], over6: bool) -> Vec<u8> {
    if over6 { V6 } else { V4 }.arriving(frame)
}

/// Payload of a packet of any kind that is translated.
fn whole4(kind: u8, payload: &[u8]) -> Vec<u8> {
    match kind {
        0 => udp4(payload),
        1 => tcp4(payload),
        2 => icmp4(8, 0, [1, 2, 3, 4], payload),
        _ => raw4(THERE4, HERE4, 64, 132, payload),
    }
}

fn whole6(kind: u8, payload: &[u8]) -> Vec<u8> {
    match kind {
        0 => udp6(payload),
        1 => tcp6(payload),
        2 => icmp6(128, 0, [1, 2, 3, 4], payload),
        _ => raw6(HERE6, THERE6, 64, 132, payload),
    }
}

/// Frames that are nearly right: a good one with a few octets changed.
fn nearly() -> impl Strategy<Value = (bool, Vec<u8>)> {
    let payload = proptest::collection::vec(any::<u8>(), 0..120);
    let base = (any::<bool>(), 0u8..12, payload, 0u8..255, 0u8..20).prop_map(|(over6, kind, payload, a, code)| {
        let frame = match (over6, kind) {
            (true, 0..4) => whole6(kind, &payload),
            (false, 0..4) => whole4(kind, &payload),
            (true, 4..6) => icmp6(a % 5, code, [a, 0, 5, 0], &udp4_to6(&payload)[14..]),
            (false, 4..6) => icmp4(a % 13, code, [0, a, 5, 0], &udp6_to4(&payload)[14..]),
            (true, 6) => with_fragment(&udp6(&payload), u16::from(a) * 8, code % 2 == 0, 7),
            (false, 6) => with4(udp4(&payload), 20, &[code % 64, a]),
            (true, 7) => with_extension(&udp6(&payload), 60, &[0, 0, 1, 4, 0, 0, 0, 0]),
            (false, 7) => with_options(&udp4(&payload), &[131, 3, code, 0]),
            (true, 8) => with_extension(&udp6(&payload), 43, &[0, 0, 0, code % 2, 0, 0, 0, 0]),
            (false, 8) => with6(udp4(&payload), 40, &[0, 0]),
            (true, _) => raw6(HERE6, THERE6, 64, a, &payload),
            (false, _) => raw4(THERE4, HERE4, 64, a, &payload),
        };
        (over6, frame)
    });
    let change = proptest::collection::vec((12usize..120, any::<u8>()), 0..4);
    (base, change, 0usize..40, any::<bool>())
        .prop_map(|((over6, f), change, cut, seal)| (over6, damaged(f, &change, cut, seal && !over6)))
}

fn udp4_to6(payload: &[u8]) -> Vec<u8> {
    bed(|_| {}).to6(&udp4(payload))
}

fn udp6_to4(payload: &[u8]) -> Vec<u8> {
    bed(|_| {}).to4(&udp6(payload))
}

/// Every packet is counted under one name.
fn check_batch(b: &mut Bed<Siit>, from: Side, frames: &[Vec<u8>]) {
    b.now += SECOND / 10;
    let counted = counted(b, from, frames, &["icmp-sent", "icmp-suppressed", "fragmented"]);
    assert_eq!(counted, frames.len() as u64, "{:?}", b.nonzero());
}

fn hairpinning() -> impl Strategy<Value = Hairpinning> {
    prop_oneof![Just(Hairpinning::Off), Just(Hairpinning::Simple), Just(Hairpinning::Intrinsic)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// From IPv4 and back, DF set: all but two hops and the identification is as it was.
    #[test]
    fn from_ipv4_and_back_is_identity(kind in 0u8..4, payload in proptest::collection::vec(any::<u8>(), 0..1440),
                                      tos: u8) {
        let mut b = bed(|_| {});
        let frame = set_df(with4(whole4(kind, &payload), 15, &[tos]));
        let six = b.to6(&frame);
        let back = b.to4(&sent_back(&six, true));
        let (sent, got) = (judge(&frame), judge(&back));
        prop_assert_eq!(got.df, back.len() - 14 > 1260);
        prop_assert_eq!(IpPacket { hops: 62, df: true, part: got.part, ..sent }, IpPacket { df: true, ..got });
    }

    #[test]
    fn fragments_from_ipv4_and_back_are_identical(kind in 0u8..2, payload in proptest::collection::vec(any::<u8>(), 60..600),
                                                  cut in 3usize..8) {
        let mut b = bed(|_| {});
        for part in fragments4(&whole4(kind, &payload), &[cut * 8]) {
            let back = b.to6(&part);
            let back = judge(&b.to4(&sent_back(&back, true)));
            prop_assert_eq!(IpPacket { hops: 62, ..judge(&part) }, back);
        }
    }

    /// From IPv6 and back: identical but for two hops, as long as the packet needs no fragment header. Never without any
    /// payload: the judge takes a payload length of zero for a jumbogram (RFC 2675), and padding for its payload.
    #[test]
    fn from_ipv6_and_back_is_identity(kind in 0u8..4, payload in proptest::collection::vec(any::<u8>(), 1..1440),
                                      class: u8) {
        let mut b = bed(|_| {});
        let frame = with6(whole6(kind, &payload), 14, &[0x60 | class >> 4, class << 4]);
        let four = b.to4(&frame);
        let back = judge(&b.to6(&sent_back(&four, false)));
        prop_assert_eq!(IpPacket { hops: 62, ..judge(&frame) }, back);
    }

    /// The fast path and the slow path say the same: an option and an extension header send a packet down the slow one.
    #[test]
    fn both_paths_agree(payload in proptest::collection::vec(any::<u8>(), 0..1400), tcp: bool, df: bool, tos: u8) {
        let kind = u8::from(tcp);
        let mut f = with4(whole4(kind, &payload), 15, &[tos]);
        if df {
            f = set_df(f);
        }
        let (mut fast, mut slow) = (bed(|_| {}), bed(|_| {}));
        prop_assert_eq!(fast.send(false, &f), slow.send(false, &with_options(&f, &[1; 4])));
        let f = with6(whole6(kind, &payload), 14, &[0x60 | tos >> 4, tos << 4]);
        let odd = with_extension(&f, 60, &[0, 0, 1, 4, 0, 0, 0, 0]);
        prop_assert_eq!(fast.send(true, &f), slow.send(true, &odd));
    }

    /// Whatever is cut for IPv6 comes together again.
    #[test]
    fn what_is_cut_comes_together(payload in proptest::collection::vec(any::<u8>(), 1225..8000), lowest in 1280u16..1500) {
        let mut b = bed(|c| (c.headers.lowest_ipv6_mtu, c.v4.mtu) = (lowest, 9000));
        let out = b.send(false, &udp4(&payload));
        prop_assert!(out.iter().all(|(_, f)| f.len() <= 14 + usize::from(lowest)));
        let seen: Vec<IpPacket> = out.iter().map(|(_, f)| judge(f)).collect();
        if seen.len() > 1 {
            prop_assert_eq!(&whole_of(&seen).payload[8..], &payload[..]);
        }
    }

    #[test]
    fn arbitrary_octets_never_panic(
        batches in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 0..8)), 0..20),
    ) {
        let mut b = bed(|_| {});
        for (over6, frames) in batches {
            let from = if over6 { Side::Customer } else { Side::Internet };
            check_batch(&mut b, from, &frames);
        }
    }

    #[test]
    fn nearly_right_packets_never_panic(
        hairpinning in hairpinning(),
        hop: bool,
        mtu in 68u16..1500,
        frames in proptest::collection::vec(nearly(), 0..200),
    ) {
        let mut b = bed(|c| (c.hairpinning, c.hop, c.v4.mtu) = (hairpinning, hop, mtu));
        for (over6, frame) in frames {
            let from = if over6 { Side::Customer } else { Side::Internet };
            check_batch(&mut b, from, &[frame]);
        }
    }
}

/// An offset of 65,512 and 23 octets would end at 65,535, and an IPv4 header has 20 of these (RFC 791, section 3.1).
#[test]
fn a_fragment_behind_the_largest_ipv4_packet_is_dropped() {
    let mut b = bed(|_| {});
    let last = |len: usize| with_fragment(&raw6(HERE6, THERE6, 64, 17, &vec![1; len]), 65_512, false, 7);
    b.dropped(true, &last(23), "bad-length");
    b.dropped(true, &last(4), "bad-length");
    let out = judge(&b.to4(&last(3)));
    assert_eq!(out.part.map(|p| p.0), Some(65_512));
}

#[test]
fn without_memory_for_new_packets_nothing_breaks() {
    let mut b = bed(|_| {});
    b.memory = 0;
    b.dropped(false, &udp4_of(THERE4, HERE4, 1, b"x"), "hop-limit-expired");
    b.dropped(false, &udp4(&[1; 1400]), "no-memory");
    b.dropped(true, &udp6_of(HERE6, THERE6, 1, b"x"), "hop-limit-expired");
    assert_eq!(b.count("no-memory"), 3);
}

#[test]
fn a_full_batch_of_all_kinds() {
    let mut b = bed(|_| {});
    let frames: Vec<Vec<u8>> = (0..32).map(|i| whole4(i % 4, &[i; 40])).collect();
    assert_eq!(b.send_all(false, &frames).len(), 32);
    let frames: Vec<Vec<u8>> = (0..32).map(|i| whole6(i % 4, &[i; 40])).collect();
    assert_eq!(b.send_all(true, &frames).len(), 32);
}
