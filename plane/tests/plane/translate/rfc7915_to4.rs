//! RFC 7915, section 5: from IPv6 to IPv4.

use crate::each_device::tells_no_sender_of_less_than_1280;
use crate::translate::bed::*;
use crate::translate::packets::*;
use plane::translate::{ClassRule, Siit, Translate};
use plane::{Side, Steering};
use std::collections::HashSet;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

#[test]
fn rfc7915_5_1_the_header() {
    let mut b = bed(|_| {});
    let out = judge(&b.to4(&with6(udp6(b"payload"), 14, &[0x6b, 0x9f, 1, 2])));
    assert_eq!((out.src.as_str(), out.dst.as_str()), ("198.51.100.10", "203.0.113.7"));
    assert_eq!((out.protocol, out.hops, out.class, out.df), (17, 63, 0xb9, false));
    assert_eq!(&out.payload[8..], b"payload");
    assert_eq!(judge(&b.to4(&tcp6(b"data"))).protocol, 6);
    assert_eq!(b.count("ipv6-to-ipv4"), 2);
}

#[test]
fn rfc7915_5_1_the_traffic_class_may_be_ignored() {
    let mut b = bed(|c| c.headers.tos = ClassRule::Fixed(0x10));
    for frame in [udp6(b"fast"), with_extension(&udp6(b"slow"), DESTINATION, &[0, 0, 1, 4, 0, 0, 0, 0])] {
        assert_eq!(judge(&b.to4(&with6(frame, 14, &[0x6b, 0x90]))).class, 0x10);
    }
}

#[test]
fn rfc7915_5_1_df_and_identification() {
    let mut b = bed(|_| {});
    for echo in [false, true] {
        let of = |n: usize| if echo { icmp6(128, 0, [0; 4], &vec![1; n]) } else { udp6(&vec![1; n]) };
        assert!(!judge(&b.to4(&of(1232))).df, "1260 octets");
        assert!(judge(&b.to4(&of(1233))).df, "1261 octets");
    }
    let ids: HashSet<u32> = (0..1000).map(|_| judge(&b.to4(&udp6(b"x"))).part.unwrap().2).collect();
    assert_eq!(ids.len(), 1000, "each packet that may be cut has an identification of its own");
}

#[test]
fn rfc7915_5_1_identifications_follow_from_the_seed() {
    let id = |seed| judge(&bed(|c| c.seed = seed).to4(&udp6(b"x"))).part.unwrap().2;
    assert_eq!(id(1), id(1));
    assert_ne!(id(1), id(2));
}

/// RFC 6864, section 4.3: two workers of one gateway do not give out the same ones.
#[test]
fn rfc7915_5_1_workers_share_identifications_out() {
    let worker = |w| Translate::new(config(), Siit::prefix(pref64())).unwrap().on_worker(w, 2);
    let mut b = testbed::Bed::new(vec![worker(0), worker(1)], [Steering::Hash(&[]); 2], |_, _| {});
    let frames = (0..2000).map(|i| (i % 2, Frame::new(&udp6(b"x")))).collect();
    let out = b.run(Side::Customer, frames);
    let ids: HashSet<u32> = out.iter().map(|(_, f)| judge(f).part.unwrap().2).collect();
    assert_eq!((out.len(), ids.len()), (2000, 2000));
}

#[test]
fn rfc7915_5_1_illegal_addresses_are_dropped_silently() {
    let mut b = bed(|_| {});
    for src in ["::", "::1", "::ffff:198.51.100.10", "fe80::1", "ff02::1"] {
        b.dropped(true, &udp6_of(src, THERE6, 64, b"x"), "martian-source");
    }
    b.dropped(true, &udp6_of("2001:db8:64::127.0.0.1", THERE6, 64, b"x"), "martian-source");
    // What claims to come from the gateway itself, which is told of nothing either.
    for (dst, hops) in [(THERE6, 64), (THERE6, 1), (OWN6, 64), ("2001:db8:77::1", 64)] {
        b.dropped(true, &udp6_of(OWN6, dst, hops, b"x"), "martian-source");
    }
    b.dropped(true, &udp6_of(HERE6, "2001:db8:64::127.0.0.1", 64, b"x"), "martian-destination");
    b.dropped(true, &udp6_of("2001:db8:64::169.254.1.1", THERE6, 64, b"x"), "martian-source");
    b.dropped(true, &udp6_of(HERE6, "2001:db8:64::169.254.1.1", 64, b"x"), "martian-destination");
    b.dropped(true, &udp6_of(HERE6, "::ffff:203.0.113.7", 64, b"x"), "martian-destination");
    b.dropped(true, &udp6_of(HERE6, "2001:db8:64::224.0.0.1", 64, b"x"), "martian-destination");
    b.dropped(true, &udp6_of(HERE6, "::1", 64, b"x"), "martian-destination");
    b.dropped(true, &udp6_of(HERE6, "ff0e::1", 64, b"x"), "multicast");
}

#[test]
fn rfc7915_5_1_extension_headers_are_skipped() {
    let mut b = bed(|_| {});
    let pad = [0, 0, 1, 4, 0, 0, 0, 0];
    let routed = [0, 2, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    let frames = [
        with_extension(&udp6(b"x"), HOP_BY_HOP, &pad),
        with_extension(&udp6(b"x"), DESTINATION, &pad),
        with_extension(&udp6(b"x"), ROUTING, &routed),
        with_extension(&with_extension(&udp6(b"x"), DESTINATION, &pad), HOP_BY_HOP, &pad),
    ];
    for f in frames {
        let out = judge(&b.to4(&f));
        assert_eq!((out.protocol, out.payload.len(), out.src.as_str()), (17, 9, "198.51.100.10"));
    }
    let echo = with_extension(&icmp6(128, 0, [0; 4], b"x"), DESTINATION, &pad);
    assert_eq!(judge(&b.to4(&echo)).payload.len(), 9);
}

#[test]
fn rfc7915_5_1_segments_left_are_refused() {
    let mut b = bed(|_| {});
    let routed = [0, 2, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    let frame = with_extension(&udp6(b"x"), ROUTING, &routed);
    let m = judge(&b.refused(true, &frame, "source-route")).payload;
    assert_eq!((m[0], m[1], &m[4..8]), (4, 0, &[0, 0, 0, 43][..]), "the octet Segments Left");
    let frame = with_extension(&frame, HOP_BY_HOP, &[0, 0, 1, 4, 0, 0, 0, 0]);
    let m = judge(&b.refused(true, &frame, "source-route")).payload;
    assert_eq!(&m[4..8], &[0, 0, 0, 51]);
}

#[test]
fn rfc6946_atomic_fragments_are_packets() {
    let mut b = bed(|_| {});
    for n in [8, 1300] {
        let out = judge(&b.to4(&with_fragment(&udp6(&vec![1; n]), 0, false, 0x0005_0006)));
        assert_eq!((out.part, out.df, out.payload.len()), (Some((0, false, 6)), false, n + 8));
    }
    let echo = judge(&b.to4(&with_fragment(&icmp6(128, 0, [0; 4], b"x"), 0, false, 7)));
    assert_eq!((echo.part, echo.payload[0]), (Some((0, false, 7)), 8), "ICMP too");
}

#[test]
fn rfc8021_atomic_fragments_are_never_made() {
    let mut b = bed(|_| {});
    for n in [1, 500, 1232] {
        assert_eq!(judge(&b.to6(&udp4(&vec![1; n]))).part, None);
    }
    let out = judge(&b.to4(&with_fragment(&udp6(b"x"), 0, false, 6)));
    let back = with4(udp4(b"x"), 18, &(out.part.unwrap().2 as u16).to_be_bytes());
    assert_eq!(judge(&b.to6(&back)).part, None, "nor on the way back");
}

#[test]
fn rfc7915_5_1_1_no_extension_header_behind_a_fragment_header() {
    let mut b = bed(|_| {});
    let behind = |frame: &[u8], number| with_fragment(&with_extension(frame, number, &[0; 8]), 0, true, 1);
    for number in [HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION, 51, 135] {
        let m = judge(&b.refused(true, &behind(&udp6(b"x"), number), "bad-extension-header")).payload;
        assert_eq!((m[0], m[1]), (1, 1), "section 5.4: {number}");
    }
    let options = with_extension(&with_extension(&udp6(b"x"), HOP_BY_HOP, &[0; 8]), DESTINATION, &[0; 8]);
    let m = judge(&b.refused(true, &with_fragment(&options, 0, true, 1), "bad-extension-header")).payload;
    assert_eq!((m[0], m[1]), (1, 1), "behind options");
    let later = with_fragment(&raw6(HERE6, THERE6, 64, DESTINATION, &[0; 16]), 64, false, 1);
    let m = judge(&b.refused(true, &later, "bad-extension-header")).payload;
    assert_eq!((m[0], m[1]), (1, 1));
    for number in [HOP_BY_HOP, FRAGMENT] {
        let error = behind(&icmp6(1, 4, [0; 4], &udp6(b"x")[14..]), number);
        b.dropped(true, &error, "bad-extension-header");
        let to_group = with6(behind(&udp6(b"x"), number), 0, &[0x33, 0x33]);
        b.dropped(true, &to_group, "link-multicast");
    }
    let esp = with_fragment(&raw6(HERE6, THERE6, 64, 50, &[3; 16]), 64, false, 1);
    assert_eq!(judge(&b.to4(&esp)).protocol, 50, "ESP is none");
}

#[test]
fn rfc7915_5_1_too_large_packets_with_df_are_refused() {
    let mut b = bed(|c| c.v4.mtu = 1400);
    assert_eq!(b.to4(&udp6(&[1; 1372])).len(), 14 + 1400);
    let (kind, code, rest, _) = error_of(&b.refused(true, &udp6(&[1; 1373]), "too-big"));
    assert_eq!((kind, code, rest), (2, 0, [0, 0, 0x05, 0x8c]), "1420");
}

#[test]
fn rfc7915_5_1_no_sender_is_told_of_less_than_1280() {
    tells_no_sender_of_less_than_1280(|mtu| bed(|c| c.v4.mtu = mtu), |b, payload| b.send(true, &udp6(payload)));
}

#[test]
fn rfc7915_5_1_packets_that_may_be_fragmented_are() {
    let mut b = bed(|c| c.v4.mtu = 600);
    for frame in [udp6(&[1; 1000]), with_fragment(&udp6(&[1; 1000]), 0, false, 77)] {
        let out = b.send(true, &frame);
        let seen: Vec<IpPacket> = out.iter().map(|(_, f)| judge(f)).collect();
        let fields: Vec<_> = seen.iter().map(|s| s.part.unwrap()).map(|p| (p.0, p.1)).collect();
        assert_eq!(fields, [(0, true), (576, false)]);
        assert_eq!(seen[0].part.unwrap().2, seen[1].part.unwrap().2);
        assert_eq!(&whole_of(&seen).payload[8..], &[1; 1000]);
    }
    assert_eq!(b.count("fragmented"), 2);
}

#[test]
fn rfc7915_5_2_all_other_messages_are_dropped_silently() {
    let mut b = bed(|_| {});
    let about = b.to6(&udp4(b"x"));
    for kind in [0, 5, 100, 127, 130, 131, 132, 133, 134, 135, 136, 137, 143, 200] {
        b.dropped(true, &icmp6(kind, 0, [0; 4], &about[14..]), "icmp-untranslatable");
    }
    for (kind, code) in [(1, 5), (1, 6), (4, 2), (4, 3)] {
        b.dropped(true, &icmp6(kind, code, [0; 4], &about[14..]), "icmp-untranslatable");
    }
}

#[test]
fn rfc7915_5_2_packet_too_big() {
    let mut b = bed(|_| {});
    let out = b.to6(&set_df(udp4(&[6; 1400])));
    let told = |b: &mut Bed<_>, mtu: u32, about: &[u8]| {
        let (kind, code, rest, _) = error_of(&b.to4(&icmp6(2, 0, mtu.to_be_bytes(), &about[14..100])));
        assert_eq!((kind, code), (3, 4));
        u32::from_be_bytes(rest)
    };
    assert_eq!((told(&mut b, 1400, &out), told(&mut b, 1280, &out), told(&mut b, 9000, &out)), (1380, 1260, 1480));
    let part = b.to6(&set_df(fragments4(&udp4(&[6; 1400]), &[1200])[0].clone()));
    assert_eq!(told(&mut b, 1400, &part), 1372, "a fragment has a fragment header more in IPv6");
}

#[test]
fn rfc7915_5_3_a_quoted_fragment() {
    let mut b = bed(|_| {});
    for part in fragments4(&udp4(&[4; 100]), &[48]) {
        let out = b.to6(&part);
        let (_, _, _, quote) = error_of(&b.to4(&icmp6(3, 1, [0; 4], &out[14..])));
        assert_eq!((quote.part, quote.df), (judge(&part).part, false));
    }
}

/// Where the link towards IPv6 fragments an echo request, traceroute and ping see errors about its first fragment.
#[test]
fn rfc7915_5_3_quotes_with_what_routers_see_are_translated() {
    let mut b = bed(|_| {});
    let pad = [0, 0, 1, 4, 0, 0, 0, 0];
    let fragments = b.send(false, &icmp4(8, 0, [0, 9, 0, 1], &[3; 1400]));
    assert_eq!((fragments.len(), fragments[0].1[20]), (2, 44), "in two fragments");
    let udp = b.to6(&udp4(b"x"));
    let cases = [
        ("echo", b.to6(&icmp4(8, 0, [0, 9, 0, 1], b"x")), 1),
        ("the first fragment of an echo", fragments[0].1.clone(), 1),
        ("a later one", fragments[1].1.clone(), 1),
        ("a Fragment Header", with_fragment(&udp, 0, true, 7), 17),
        ("options", with_extension(&udp, DESTINATION, &pad), 17),
        ("hop-by-hop options", with_extension(&udp, HOP_BY_HOP, &pad), 17),
        ("a Routing header without segments left", with_extension(&udp, ROUTING, &[0, 0, 4, 0, 0, 0, 0, 0]), 17),
    ];
    for (what, quote, protocol) in cases {
        let quote = &quote[14..quote.len().min(14 + 1232)];
        let (kind, code, _, seen) = error_of(&b.to4(&icmp6(3, 0, [0; 4], quote)));
        assert_eq!((kind, code, seen.protocol, seen.dst.as_str()), (11, 0, protocol, "198.51.100.10"), "{what}");
    }
}

/// Section 5.1: the packet itself would have been dropped.
#[test]
fn rfc7915_5_3_quotes_of_what_is_never_translated_are_dropped() {
    let mut b = bed(|_| {});
    let quotes = [
        raw6(THERE6, HERE6, 64, 1, &[0; 40]),
        with_fragment(&raw6(THERE6, HERE6, 64, DESTINATION, &[0; 16]), 64, false, 1),
        with_fragment(&with_extension(&udp6_of(THERE6, HERE6, 64, b"x"), 51, &[0; 8]), 0, true, 1),
        udp6_of("2001:db8:64::127.0.0.1", HERE6, 64, b"x"),
        udp6_of(THERE6, "2001:db8:64::127.0.0.1", 64, b"x"),
        with_extension(&udp6_of(THERE6, HERE6, 64, b"x"), ROUTING, &[0, 0, 4, 1, 0, 0, 0, 0]),
    ];
    for quote in quotes {
        b.dropped(true, &icmp6(3, 0, [0; 4], &quote[14..]), "icmp-untranslatable");
    }
}

#[test]
fn rfc7915_5_4_addresses_without_counterpart_are_refused() {
    let mut b = bed(|_| {});
    for frame in [udp6_of(HERE6, "2001:db8:77::1", 64, b"x"), tcp6_of(HERE6, "2001:db8:77::1")] {
        let m = judge(&b.refused(true, &frame, "destination-unmapped")).payload;
        assert_eq!((m[0], m[1]), (1, 1));
    }
    let m = judge(&b.refused(true, &udp6_of(ROUTER6, THERE6, 64, b"x"), "source-unmapped")).payload;
    assert_eq!((m[0], m[1]), (1, 1));
}

#[test]
fn rfc7915_5_4_udp_without_checksum_does_not_exist_over_ipv6() {
    let mut b = bed(|_| {});
    let m = judge(&b.refused(true, &with6(udp6(b"x"), 60, &[0, 0]), "udp-checksum-zero")).payload;
    assert_eq!((m[0], m[1]), (1, 1), "section 5.4");
}

#[test]
fn rfc7915_5_5_other_protocols_are_forwarded() {
    let mut b = bed(|_| {});
    for protocol in [47, 50, 59, 89, 132] {
        let out = judge(&b.to4(&raw6(HERE6, THERE6, 64, protocol, &[0x5a; 40])));
        assert_eq!((out.protocol, out.payload, out.hops), (protocol, vec![0x5a; 40], 63));
    }
    b.dropped(true, &raw6(HERE6, THERE6, 64, 1, &[0; 40]), "protocol");
}

#[test]
fn short_packets_are_padded_to_an_ethernet_frame() {
    let mut b = bed(|_| {});
    for frame in [udp6(b"x"), icmp6(128, 0, [0; 4], b"x")] {
        let out = b.to4(&frame);
        assert_eq!((out.len(), &out[43..]), (60, &[0; 17][..]));
    }
}

#[test]
fn what_is_for_the_machine_is_local() {
    let mut b = bed(|_| {});
    b.dropped(true, &icmp6_of(HERE6, OWN6, 128, 0, [0; 4], b"x"), "local");
    b.dropped(true, &udp6_of("fe80::2", "fe80::1", 64, b"x"), "local");
    let solicitation = with6(icmp6_of(HERE6, "ff02::1:ff00:1", 135, 0, [0; 4], &[0; 16]), 21, &[255]);
    b.dropped(true, &with6(solicitation, 0, &[0x33, 0x33, 0xff, 0, 0, 1]), "local");
    b.dropped(true, &with6(udp6(b"x"), 12, &[8, 0]), "local");
    let routed = with6(icmp6_of(HERE6, "ff02::1:ff00:1", 135, 0, [0; 4], &[0; 16]), 21, &[254]);
    b.dropped(true, &with6(routed, 0, &[0x33, 0x33, 0xff, 0, 0, 1]), "link-multicast");
}

#[test]
fn each_fault_has_its_name() {
    let mut b = bed(|_| {});
    let good = udp6(b"payload");
    b.dropped(true, &good[..13], "short-frame");
    b.dropped(true, &good[..50], "short-frame");
    b.dropped(true, &with6(good.clone(), 5, &[9]), "other-mac");
    b.dropped(true, &with6(good.clone(), 0, &[0x33, 0x33]), "link-multicast");
    b.dropped(true, &with6(good.clone(), 14, &[0x45]), "bad-ip-header");
    b.dropped(true, &with6(good.clone(), 18, &[1]), "bad-length");
    b.dropped(true, &with6(good.clone(), 59, &[99]), "bad-length");
    b.dropped(true, &with6(good.clone(), 59, &[7]), "bad-length");
    b.dropped(true, &fragments6(&tcp6(&[1; 64]), &[16], 1)[0], "bad-length");
    b.dropped(true, &with_fragment(&raw6(HERE6, THERE6, 64, 17, &[0; 32]), 65_528, false, 1), "bad-length");
    b.dropped(true, &with_fragment(&raw6(HERE6, THERE6, 64, 17, &[0; 31]), 64, true, 1), "bad-length");
    b.dropped(true, &with_extension(&good, 60, &[0, 200, 0, 0, 0, 0, 0, 0]), "bad-extension-header");
}
