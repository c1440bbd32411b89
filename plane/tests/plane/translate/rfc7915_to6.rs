//! RFC 7915, section 4: from IPv4 to IPv6.

use crate::translate::bed::*;
use crate::translate::packets::*;
use plane::Side;
use plane::translate::{ClassRule, Siit, Translate, ZeroChecksum};
use testbed::ByVersion;

const HERE: &str = "2001:db8:64::c633:640a";
const THERE: &str = "2001:db8:64::cb00:7107";

#[test]
fn rfc7915_4_1_the_header() {
    let mut b = bed(|_| {});
    let out = judge(&b.to6(&with4(udp4(b"payload"), 15, &[0xb9])));
    assert_eq!((out.src.as_str(), out.dst.as_str()), (THERE, HERE));
    assert_eq!((out.protocol, out.hops, out.class, out.part), (17, 63, 0xb9, None));
    assert_eq!(&out.payload[8..], b"payload");
    assert_eq!(judge(&b.to6(&tcp4(b"data"))).protocol, 6);
    assert_eq!(b.count("ipv4-to-ipv6"), 2);
}

#[test]
fn rfc7915_4_1_the_type_of_service_may_be_ignored() {
    let mut b = bed(|c| c.headers.traffic_class = ClassRule::Fixed(0));
    for frame in [udp4(b"fast"), with_options(&udp4(b"slow"), &[1; 4])] {
        assert_eq!(judge(&b.to6(&with4(frame, 15, &[0xb9]))).class, 0);
    }
}

#[test]
fn in_a_chain_the_other_function_takes_the_hop() {
    let mut b = bed(|c| c.hop = false);
    assert_eq!(judge(&b.to6(&udp4_of(THERE4, HERE4, 1, b"x"))).hops, 1);
    assert_eq!(judge(&b.to6(&icmp4(8, 0, [0; 4], b"x"))).hops, 64);
    assert_eq!(judge(&b.to4(&udp6_of(HERE6, THERE6, 1, b"x"))).hops, 1);
}

#[test]
fn rfc7915_4_1_an_illegal_source_is_dropped_silently() {
    let mut b = bed(|_| {});
    for src in [[0, 0, 0, 0], [127, 0, 0, 1], [169, 254, 1, 1], [224, 0, 0, 1], [255; 4]] {
        b.dropped(false, &udp4_of(src, HERE4, 64, b"x"), "martian-source");
    }
    // What claims to come from the gateway itself, which is told of nothing either.
    for (dst, ttl) in [(HERE4, 64), (HERE4, 1), (OWN4, 64)] {
        b.dropped(false, &udp4_of(OWN4, dst, ttl, b"x"), "martian-source");
    }
    for dst in [[0, 0, 0, 1], [127, 0, 0, 1], [169, 254, 1, 1], [240, 0, 0, 1], [255; 4]] {
        b.dropped(false, &udp4_of(THERE4, dst, 64, b"x"), "martian-destination");
    }
    b.dropped(false, &udp4_of(THERE4, [224, 0, 0, 251], 64, b"x"), "multicast");
}

#[test]
fn rfc7915_4_1_an_illegal_source_of_an_error_is_translated() {
    let mut b = bed(|_| {});
    let about = b.to4(&udp6(b"x"));
    let out = judge(&b.to6(&icmp4_of([127, 0, 0, 1], HERE4, 11, 0, [0; 4], &about[14..])));
    assert_eq!(out.src, "2001:db8:64::7f00:1");
}

#[test]
fn rfc7915_4_1_options_are_ignored() {
    let mut b = bed(|_| {});
    let plain = b.to6(&udp4(b"payload"));
    for options in [&[1u8; 4][..], &[7, 7, 4, 0, 0, 0, 0, 0], &[148, 4, 0, 0], &[131, 7, 8, 1, 2, 3, 4, 0]] {
        assert_eq!(b.to6(&with_options(&udp4(b"payload"), options)), plain, "{options:?}");
    }
}

#[test]
fn rfc7915_4_1_an_unexpired_source_route_is_refused() {
    let mut b = bed(|_| {});
    for kind in [131, 137] {
        let frame = with_options(&udp4(b"x"), &[1, kind, 7, 4, 192, 0, 2, 1]);
        let back = b.refused(false, &frame, "source-route");
        let m = judge(&back).payload;
        assert_eq!((m[0], m[1]), (3, 5));
    }
    b.dropped(false, &with_options(&udp4(b"x"), &[7, 9, 4, 0]), "bad-ip-option");
}

#[test]
fn rfc7915_4_1_fragments_may_have_df() {
    let mut b = bed(|_| {});
    let df = set_df(fragments4(&udp4(&[7; 100]), &[32])[0].clone());
    assert_eq!(judge(&b.to6(&df)).part, Some((0, true, 0x1234)));
}

#[test]
fn rfc7915_4_1_without_df_packets_are_cut_to_1280() {
    let mut b = bed(|_| {});
    let frame = with4(udp4(&[9; 1400]), 18, &[0xab, 0xcd]);
    let out = b.send(false, &frame);
    assert_eq!(out.len(), 2);
    let seen: Vec<IpPacket> = out.iter().map(|(_, f)| judge(f)).collect();
    assert_eq!((seen[0].part, seen[1].part), (Some((0, true, 0xabcd)), Some((1232, false, 0xabcd))));
    assert_eq!((out[0].1.len() - 14, b.count("fragmented")), (1280, 1));
    assert_eq!(&whole_of(&seen).payload[8..], &[9; 1400]);
    assert_eq!(b.count("ipv4-to-ipv6"), 1, "one packet");
}

#[test]
fn rfc7915_4_1_a_fragment_is_cut_further() {
    let mut b = bed(|_| {});
    let parts = fragments4(&udp4(&[5; 2800]), &[1400]);
    let mut out = b.send(false, &parts[0]);
    out.extend(b.send(false, &parts[1]));
    let seen: Vec<IpPacket> = out.iter().map(|(_, f)| judge(f)).collect();
    let fields: Vec<_> = seen.iter().map(|s| s.part.unwrap()).collect();
    assert_eq!(fields, [(0, true, 0x1234), (1232, true, 0x1234), (1400, true, 0x1234), (2632, false, 0x1234)]);
    assert_eq!(&whole_of(&seen).payload[8..], &[5; 2800]);
}

#[test]
fn rfc7915_4_1_the_lowest_mtu_can_be_raised() {
    let mut b = bed(|c| c.headers.lowest_ipv6_mtu = 1400);
    assert_eq!(judge(&b.to6(&udp4(&[1; 1352]))).part, None, "1400 octets");
    assert_eq!(b.send(false, &udp4(&[1; 1353])).len(), 2);
    let mut b = bed(|_| {});
    assert_eq!(judge(&b.to6(&udp4(&[1; 1232]))).part, None, "1280 octets go without fragment header");
    assert_eq!(b.send(false, &udp4(&[1; 1233])).len(), 2);
}

#[test]
fn rfc7915_4_1_with_df_too_large_packets_are_refused() {
    let mut b = bed(|_| {});
    assert_eq!(b.to6(&set_df(udp4(&[1; 1452]))).len(), 14 + 1500);
    let back = b.refused(false, &set_df(udp4(&[1; 1453])), "too-big");
    let (kind, code, rest, _) = error_of(&back);
    assert_eq!((kind, code, rest), (3, 4, [0, 0, 0x05, 0xc8]), "1480");
    let part = set_df(fragments4(&udp4(&[1; 1600]), &[1456])[0].clone());
    let m = judge(&b.refused(false, &part, "too-big")).payload;
    assert_eq!(m[4..8], [0, 0, 0x05, 0xc0], "1472: a fragment needs a fragment header");
}

#[test]
fn rfc7915_4_2_a_large_echo_is_cut_behind_its_checksum() {
    let mut b = bed(|_| {});
    let out = b.send(false, &icmp4(8, 0, [1; 4], &[3; 1400]));
    let seen: Vec<IpPacket> = out.iter().map(|(_, f)| judge(f)).collect();
    assert_eq!((seen.len(), whole_of(&seen).payload.len()), (2, 1408));
}

#[test]
fn rfc7915_4_2_all_other_messages_are_dropped_silently() {
    let mut b = bed(|_| {});
    let about = b.to4(&udp6(b"x"));
    for kind in [4, 5, 6, 9, 10, 13, 14, 15, 16, 17, 18, 30, 253] {
        b.dropped(false, &icmp4(kind, 0, [0; 4], &about[14..]), "icmp-untranslatable");
    }
    for (kind, code) in [(3, 14), (3, 16), (12, 1), (12, 3)] {
        b.dropped(false, &icmp4(kind, code, [0; 4], &about[14..]), "icmp-untranslatable");
    }
    b.dropped(false, &raw4(THERE4, HERE4, 64, 2, &[0x16, 0, 0, 0, 0, 0, 0, 0]), "protocol");
}

#[test]
fn rfc7915_4_2_fragmentation_needed() {
    let mut b = bed(|_| {});
    let out = b.to4(&udp6(&[6; 1400]));
    let told = |b: &mut Bed<_>, mtu: u16| {
        let [hi, lo] = mtu.to_be_bytes();
        let (kind, code, rest, _) = error_of(&b.to6(&icmp4(3, 4, [0, 0, hi, lo], &out[14..60])));
        assert_eq!((kind, code), (2, 0));
        u32::from_be_bytes(rest)
    };
    assert_eq!((told(&mut b, 1400), told(&mut b, 576), told(&mut b, 1500)), (1420, 1280, 1500));
    assert_eq!(told(&mut b, 0), 1280, "no plateau between 1280 and 1428");
}

/// The formula has 20 octets whatever the packet in error was, other than that of section 5.2.
#[test]
fn rfc7915_4_2_fragmentation_needed_about_a_fragment() {
    let mut b = bed(|_| {});
    let out = b.to4(&fragments6(&udp6(&[4; 1400]), &[1200], 5)[0]);
    let (kind, code, rest, _) = error_of(&b.to6(&icmp4(3, 4, [0, 0, 0x05, 0x78], &out[14..60])));
    assert_eq!((kind, code, u32::from_be_bytes(rest)), (2, 0, 1420));
}

#[test]
fn rfc7915_4_3_a_quoted_fragment_has_a_fragment_header() {
    let mut b = bed(|_| {});
    for part in fragments6(&udp6(&[4; 100]), &[48], 0x0001_4321) {
        let out = b.to4(&part);
        let (_, _, _, quote) = error_of(&b.to6(&icmp4(11, 1, [0; 4], &out[14..])));
        let (offset, more, _) = judge(&part).part.unwrap();
        assert_eq!(quote.part, Some((offset, more, 0x4321)));
    }
}

/// Section 4.1: the packet itself would have been dropped.
#[test]
fn rfc7915_4_3_quotes_of_what_is_never_translated_are_dropped() {
    let mut b = bed(|_| {});
    let protocols = [0, 2, 43, 44, 58, 60].map(|protocol| raw4(HERE4, THERE4, 64, protocol, b"0123456789abcdef"));
    let addresses = [udp4_of([127, 0, 0, 1], THERE4, 64, b"x"), udp4_of(HERE4, [127, 0, 0, 1], 64, b"x")];
    for quote in protocols.iter().chain(&addresses) {
        b.dropped(false, &icmp4(3, 1, [0; 4], &quote[14..]), "icmp-untranslatable");
    }
}

/// Section 4.1: a source route that is not at its end drops the packet itself; all other options are ignored.
#[test]
fn rfc7915_4_3_quotes_with_an_unexpired_source_route_are_dropped() {
    let mut b = bed(|_| {});
    let sent = b.to4(&udp6(b"question"));
    let quoting = |options: &[u8]| icmp4(3, 1, [0; 4], &with_options(&sent, options)[14..]);
    for kind in [131, 137] {
        b.dropped(false, &quoting(&[kind, 7, 4, 10, 0, 0, 1, 0]), "icmp-untranslatable");
    }
    b.dropped(false, &quoting(&[7, 1, 0, 0]), "bad-ip-option");
    for ignored in [&[131, 7, 8, 10, 0, 0, 1, 0][..], &[137, 7, 8, 10, 0, 0, 1, 0], &[7, 7, 4, 0, 0, 0, 0, 0]] {
        let (kind, code, _, quote) = error_of(&b.to6(&quoting(ignored)));
        assert_eq!((kind, code, &quote.payload[8..]), (1, 0, &b"question"[..]), "{ignored:?}");
    }
}

/// Routers on the way cut echo requests, too; ping and traceroute see errors about the first fragment.
#[test]
fn rfc7915_4_3_quotes_of_echo_and_its_fragments_are_translated() {
    let mut b = bed(|_| {});
    let echo = b.to4(&icmp6(128, 0, [0, 9, 0, 1], &[3; 100]));
    for part in fragments4(&echo, &[64]).into_iter().chain([echo]) {
        let (kind, code, _, quote) = error_of(&b.to6(&icmp4(11, 0, [0; 4], &part[14..])));
        assert_eq!(
            (kind, code, quote.protocol, quote.src),
            (3, 0, 58, std::net::Ipv6Addr::from(six(HERE6)).to_string())
        );
    }
}

#[test]
fn rfc4443_2_4_an_error_is_at_most_1280_octets() {
    let mut b = bed(|_| {});
    let out = b.to4(&udp6(&[6; 1400]));
    let back = b.to6(&set_df(icmp4(3, 1, [0; 4], &out[14..])));
    assert_eq!(back.len(), 14 + 1280);
}

#[test]
fn rfc7915_4_4_errors_are_limited_and_can_be_switched_off() {
    let expired = udp4_of(THERE4, HERE4, 1, b"x");
    let mut b = bed(|c| c.icmp_errors_per_second = 0);
    b.dropped(false, &expired, "hop-limit-expired");
    assert_eq!(b.count("icmp-suppressed"), 1);
    let mut b = bed(|c| c.icmp_errors_per_second = 10);
    let sent = b.send_all(false, &vec![expired.clone(); 100]).len();
    assert_eq!((sent, b.count("icmp-sent"), b.count("icmp-suppressed")), (33, 33, 67), "a burst");
    b.now += SECOND;
    assert_eq!(b.send_all(false, &vec![expired; 100]).len(), 10, "and then ten a second");
}

#[test]
fn rfc1812_4_3_2_7_no_error_about_later_fragments() {
    let mut b = bed(|_| {});
    let later = fragments4(&udp4(&[1; 64]), &[32])[1].clone();
    b.dropped(false, &with4(later, 22, &[1]), "hop-limit-expired");
    assert_eq!(b.count("icmp-sent"), 0);
}

#[test]
fn rfc7915_4_5_udp_without_checksum_gets_one() {
    let mut b = bed(|_| {});
    for len in [0, 1, 2, 33, 1000] {
        let frame = with6(udp4(&vec![0xfe; len]), 40, &[0, 0]);
        assert_eq!(judge(&b.to6(&frame)).payload.len(), 8 + len, "judged with its checksum");
    }
    let out = b.send(false, &with6(udp4(&[9; 1400]), 40, &[0, 0]));
    let seen: Vec<IpPacket> = out.iter().map(|(_, f)| judge(f)).collect();
    assert_ne!(whole_of(&seen).payload[6..8], [0, 0]);
}

#[test]
fn rfc7915_4_5_udp_without_checksum_may_be_dropped() {
    let mut b = bed(|c| c.headers.zero_udp_checksum = ZeroChecksum::Drop);
    let back = b.refused(false, &with6(udp4(b"x"), 40, &[0, 0]), "udp-checksum-zero");
    let m = judge(&back).payload;
    assert_eq!((m[0], m[1]), (3, 13));
}

/// RFC 6935 permits a zero checksum for tunnels. The translator has none to update, so both directions leave it.
#[test]
fn rfc7915_4_5_udp_without_checksum_may_be_forwarded() {
    let mut c = config();
    c.headers.zero_udp_checksum = ZeroChecksum::Forward;
    let function = Translate::new(c, Siit::prefix(pref64())).unwrap();
    let mut b = ByVersion::new(function, Side::Customer, [V4, V6], |_| {});
    for payload in [&b"x"[..], &[9; 1400]] {
        let sent = [with6(udp4(payload), 40, &[0, 0]), with6(udp6(payload), 60, &[0, 0])];
        for (ipv6, parts) in
            [(false, vec![sent[0].clone()]), (false, fragments4(&sent[0], &[8])), (true, vec![sent[1].clone()])]
        {
            let out: Vec<Vec<u8>> = parts.iter().flat_map(|p| b.send(ipv6, p)).map(|(_, f)| f).collect();
            let whole = if out.len() > 1 { testbed::fragments::reassemble(&out) } else { out[0].clone() };
            let udp = &whole[if ipv6 { 34 } else { 54 }..][..8 + payload.len()];
            assert_eq!((&udp[6..8], &udp[8..]), (&[0, 0][..], payload));
        }
    }
    assert_eq!(b.count("udp-checksum-zero"), 0);
}

#[test]
fn rfc7915_4_5_fragments_of_udp_without_checksum_are_dropped() {
    let mut b = bed(|_| {});
    let parts = fragments4(&with6(udp4(&[1; 64]), 40, &[0, 0]), &[32]);
    b.refused(false, &parts[0], "udp-checksum-zero");
}

#[test]
fn rfc7915_4_5_other_protocols_are_forwarded() {
    let mut b = bed(|_| {});
    for protocol in [47, 50, 89, 115, 132, 255] {
        let out = judge(&b.to6(&raw4(THERE4, HERE4, 64, protocol, &[0x5a; 40])));
        assert_eq!((out.payload, out.hops), (vec![0x5a; 40], 63), "protocol {protocol}");
    }
    // What would be an extension header, or the ICMP of the other version, is no transport.
    for protocol in [0, 43, 44, 58, 60] {
        b.dropped(false, &raw4(THERE4, HERE4, 64, protocol, &[0; 40]), "protocol");
    }
}

#[test]
fn rfc7915_4_5_dccp_and_udp_lite_have_a_pseudo_header_too() {
    let mut b = bed(|_| {});
    for protocol in [33, 136] {
        let data = sealed4(THERE4, HERE4, protocol, &[7; 32]);
        let out = judge(&b.to6(&raw4(THERE4, HERE4, 64, protocol, &data)));
        assert_ne!(out.payload[6..8], data[6..8]);
        check(&out, &out.payload, "checksum");
        let data = sealed4(HERE4, THERE4, protocol, &[7; 32]);
        let back = b.to6(&raw4(HERE4, THERE4, 64, protocol, &data));
        let mut back = with6(back, 0, &V6.own);
        back[6..12].copy_from_slice(&V6.hop);
        let four = judge(&b.to4(&back));
        assert_eq!(four.payload, data, "and back");
    }
}

#[test]
fn padding_ends_with_the_frame() {
    let mut b = bed(|_| {});
    let mut frame = udp4(b"x");
    frame.resize(60, 0xaa);
    assert_eq!(b.to6(&frame).len(), 14 + 40 + 9);
    let mut frame = icmp4(8, 0, [0; 4], b"");
    frame.resize(60, 0xaa);
    assert_eq!(b.to6(&frame).len(), 14 + 40 + 8);
}

#[test]
fn what_is_for_the_translator_is_local() {
    let mut b = bed(|_| {});
    b.dropped(false, &icmp4_of(THERE4, OWN4, 8, 0, [0; 4], b"x"), "local");
    b.dropped(false, &udp4_of(THERE4, OWN4, 64, b"x"), "local");
    let mut arp = vec![0xff; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    b.dropped(false, &arp, "local");
    b.dropped(false, &with6(udp4(b"x"), 12, &[0x86, 0xdd]), "local");
}

#[test]
fn each_fault_has_its_name() {
    let mut b = bed(|_| {});
    let good = udp4(b"payload");
    b.dropped(false, &good[..13], "short-frame");
    b.dropped(false, &good[..30], "short-frame");
    b.dropped(false, &with6(good.clone(), 5, &[9]), "other-mac");
    b.dropped(false, &with6(good.clone(), 0, &[1, 0, 0x5e]), "link-multicast");
    b.dropped(false, &with6(good.clone(), 14, &[0x65]), "bad-ip-header");
    b.dropped(false, &with6(good.clone(), 14, &[0x44]), "bad-ip-header");
    b.dropped(false, &with6(good.clone(), 24, &[good[24] ^ 1]), "bad-header-checksum");
    b.dropped(false, &with4(good.clone(), 16, &[9]), "bad-length");
    b.dropped(false, &with6(good.clone(), 17, &[19]), "bad-length");
    b.dropped(false, &with6(good.clone(), 38, &[1]), "bad-length");
    b.dropped(false, &with6(good.clone(), 39, &[7]), "bad-length");
    b.dropped(false, &fragments4(&tcp4(&[1; 64]), &[16])[0], "bad-length");
    b.dropped(false, &with4(fragments4(&udp4(&[1; 64]), &[32])[1].clone(), 20, &[0x1f, 0xff]), "bad-length");
}

/// RFC 8200, section 4.5: the length of every fragment but the last is a multiple of eight octets; otherwise the
/// datagram could not be reassembled.
#[test]
fn rfc8200_4_5_a_fragment_that_others_follow_has_whole_blocks() {
    let mut b = bed(|_| {});
    let parts = fragments4(&udp4(&[7; 100]), &[32, 64]);
    for part in &parts[..2] {
        b.to6(part);
        for less in [1, 4, 7] {
            let mut odd = part[..14 + 52 - less].to_vec();
            odd.resize(60.max(odd.len()), 0);
            b.dropped(false, &with4(odd, 16, &(52 - less as u16).to_be_bytes()), "bad-length");
        }
    }
    b.to6(&parts[2]);
}
