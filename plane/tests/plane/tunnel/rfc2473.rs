//! RFC 2473, generic packet tunnelling, as far as it concerns IPv4 in IPv6.

use crate::tunnel::end::*;
use crate::tunnel::packets::*;
use plane::tunnel::config::{FlowLabel, Oversize, TrafficClass};
use std::net::Ipv6Addr;

pub(super) fn addr(s: &str) -> Ipv6Addr {
    s.parse().unwrap()
}

/// Section 3.1 and 3.3: in and out again, nothing but the TTL changes.
#[test]
fn a_packet_goes_in_and_comes_out() {
    let mut end = End::b4(|_| {});
    for p in [
        udp((CUSTOMER, 5000), (REMOTE, 80), b"hello"),
        tcp((CUSTOMER, 5000), (REMOTE, 80), b"hello"),
        ping(CUSTOMER, REMOTE, 7),
        udp((CUSTOMER, 5000), (REMOTE, 80), &[7; 1400]),
        with(udp((CUSTOMER, 5000), (REMOTE, 80), b"gre?"), |p| p[9] = 47),
    ] {
        let (src, dst, inner) = unwrapped(&end.enter(&p));
        assert_eq!((src, dst, inner), (addr(B4), addr(PE), one_hop(&p)));
        assert_eq!(end.leave(&wrapped(PE, B4, &p)), one_hop(&p));
    }
    assert_eq!((end.count("ipv4-to-ipv6"), end.count("ipv6-to-ipv4")), (5, 5));
}

/// Every value of the TTL and of the checksum beside it: the incremental update is right, also where it carries.
#[test]
fn header_checksums_are_right_for_every_ttl() {
    let mut end = End::b4(|_| {});
    for ttl in 2..=255u8 {
        for id in [0u16, 1, 0x7fff, 0xfffe, u16::from(ttl) << 8] {
            let p = with(udp((CUSTOMER, 5000), (REMOTE, 80), b"hello"), |p| {
                p[8] = ttl;
                p[4..6].copy_from_slice(&id.to_be_bytes());
            });
            assert_eq!(unwrapped(&end.enter(&p)).2, one_hop(&p));
            assert_eq!(end.leave(&wrapped(PE, B4, &p)), one_hop(&p));
        }
    }
}

/// Section 3.1: the entry point is a router, which takes one off the TTL; what has none left is told about.
#[test]
fn time_exceeded_at_the_entry() {
    let mut end = End::b4(|_| {});
    for ttl in [0, 1] {
        let p = with(udp((CUSTOMER, 5000), (REMOTE, 80), b"hello"), |p| p[8] = ttl);
        let (kind, code, _, quote) = parts_of_icmp(&bare(&end.refused(false, &frame4(&p), "hop-limit-expired")));
        assert_eq!((kind, code, quote), (11, 0, p));
    }
}

/// A function beside it takes the hop: then nothing inside changes at all.
#[test]
fn without_a_hop_nothing_inside_changes() {
    let mut end = End::b4(|c| c.hop = false);
    for p in [udp((CUSTOMER, 5000), (REMOTE, 80), b"hello"), ping(CUSTOMER, REMOTE, 7)] {
        let last = with(p, |p| p[8] = 1);
        assert_eq!(unwrapped(&end.enter(&last)).2, last);
        assert_eq!(end.leave(&wrapped(PE, B4, &last)), last);
    }
}

/// Sections 6.3 to 6.5: hop limit, traffic class, flow label.
#[test]
fn outer_fields_are_as_set() {
    let p = with(udp((CUSTOMER, 5000), (REMOTE, 80), b"hello"), |p| p[1] = 0xb8);
    let ping = with(ping(CUSTOMER, REMOTE, 7), |p| p[1] = 0xb8);
    let mut copy = End::b4(|_| {});
    let mut fixed = End::b4(|c| {
        c.outer.hop_limit = 17;
        c.outer.traffic_class = TrafficClass::Fixed(10);
        c.outer.flow_label = FlowLabel::Fixed(0x12345);
    });
    for p in [&p, &ping] {
        let f = copy.enter(p);
        assert_eq!((&f[14..18], f[21]), (&[0x6b, 0x80, 0, 0][..], 64));
        let f = fixed.enter(p);
        assert_eq!((&f[14..18], f[21]), (&[0x62, 0x81, 0x23, 0x45][..], 17));
    }
}

/// RFC 6438: all packets of a flow have one label, which is not zero; fragments of a datagram too.
#[test]
fn flow_labels_follow_flows() {
    let mut end = End::b4(|c| c.outer.flow_label = FlowLabel::Hash);
    let label = |f: &[u8]| u32::from_be_bytes([0, f[15] & 15, f[16], f[17]]);
    let mut of = |port: u16| label(&end.enter(&udp((CUSTOMER, port), (REMOTE, 80), b"hello")));
    let labels: Vec<u32> = (5000..5032).map(&mut of).collect();
    assert!(labels.iter().all(|l| *l != 0));
    assert_eq!(labels, (5000..5032).map(of).collect::<Vec<_>>());
    let different: std::collections::BTreeSet<_> = labels.iter().collect();
    assert!(different.len() > 28, "{labels:x?}");
    let parts = fragments(&udp((CUSTOMER, 5000), (REMOTE, 80), &[1; 100]), 9, &[16, 64]);
    let seen: std::collections::BTreeSet<u32> = end.enter_all(&parts).iter().map(|f| label(f)).collect();
    assert_eq!(seen.len(), 1);
}

/// Section 7.2 (a): DF set.
#[test]
fn too_big_with_df_is_told_the_tunnels_mtu() {
    let mut end = End::b4(|_| {});
    let p = df(udp((CUSTOMER, 5000), (REMOTE, 80), &[1; 1433]));
    assert_eq!(p.len(), 1461);
    let (kind, code, rest, quote) = parts_of_icmp(&bare(&end.refused(false, &frame4(&p), "too-big")));
    assert_eq!((kind, code, rest), (3, 4, 1460));
    assert_eq!(quote, p[..quote.len()]);
    end.enter(&df(udp((CUSTOMER, 5000), (REMOTE, 80), &[1; 1432])));
}

pub(super) fn joined(frames: &[Vec<u8>], mtu: usize) -> Vec<u8> {
    let id = &frames[0][58..62];
    let mut whole = Vec::new();
    for (i, f) in frames.iter().enumerate() {
        assert!(f.len() - 14 <= mtu, "a piece of {} octets", f.len() - 14);
        assert_eq!((f[20], f[54], f[55], &f[58..62]), (44, 4, 0, id), "headers");
        assert_eq!(usize::from(u16::from_be_bytes([f[18], f[19]])), f.len() - 54, "payload length");
        let field = u16::from_be_bytes([f[56], f[57]]);
        assert_eq!(usize::from(field & 0xfff8), whole.len(), "offset");
        assert_eq!(field & 7, u16::from(i + 1 < frames.len()), "more");
        whole.extend_from_slice(&f[62..]);
    }
    whole
}

/// Section 7.2 (b): DF clear: encapsulated, then cut.
#[test]
fn too_big_without_df_is_cut_as_ipv6() {
    let mut end = End::b4(|c| c.v6.mtu = 1280);
    let mut ids = Vec::new();
    for size in [1241, 1300, 1500, 4000] {
        let p = udp((CUSTOMER, 5000), (REMOTE, 80), &vec![7; size - 28]);
        let out = end.enter_all(std::slice::from_ref(&p));
        assert_eq!(out.len(), size.div_ceil(1232));
        assert_eq!(joined(&out, 1280), one_hop(&p));
        ids.push(out[0][58..62].to_vec());
    }
    ids.dedup();
    assert_eq!(ids.len(), 4, "identifications differ");
    assert_eq!(end.count("fragmented"), 4);
}

/// RFC 7597, section 8.3.1: cut as IPv4 first, where that is asked for; each piece is a packet of its own.
#[test]
fn too_big_is_cut_as_ipv4_if_so_set() {
    let mut end = End::b4(|c| {
        c.v6.mtu = 1280;
        c.outer.oversize = Oversize::Inner;
    });
    let p = udp((CUSTOMER, 5000), (REMOTE, 80), &[7; 3000]);
    let out = end.enter_all(std::slice::from_ref(&p));
    let pieces: Vec<_> = out.iter().map(|f| unwrapped(f).2).collect();
    assert!(out.iter().all(|f| f.len() <= 14 + 1280));
    let mut payload = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let field = u16::from_be_bytes([piece[6], piece[7]]);
        assert_eq!(usize::from(field & 0x1fff) * 8, payload.len());
        assert_eq!(field & 0x2000 != 0, i + 1 < pieces.len());
        payload.extend_from_slice(&piece[20..]);
    }
    assert_eq!(payload, p[20..]);
    let big = df(p);
    end.refused(false, &frame4(&big), "too-big");
}

#[test]
fn df_can_be_overruled() {
    let mut end = End::b4(|c| c.outer.oversize = Oversize::OuterAlways);
    let p = df(udp((CUSTOMER, 5000), (REMOTE, 80), &[1; 1470]));
    let out = end.enter_all(std::slice::from_ref(&p));
    assert_eq!(joined(&out, 1500), one_hop(&p));
}

/// Section 4.1.1: the encapsulation limit stands in destination options, which are walked over, as are the others.
#[test]
fn extension_headers_in_front_of_the_packet_inside() {
    let mut end = End::b4(|_| {});
    let p = udp((CUSTOMER, 80), (REMOTE, 5000), b"hello");
    let limit = [&[4u8, 0, 4, 1, 4, 1, 1, 0][..], &p].concat();
    assert_eq!(end.leave(&frame6(&ipv6(PE, B4, 60, &limit))), one_hop(&p));
    // RFC 6946: a datagram of one fragment.
    let atomic = [&[4u8, 0, 0, 0, 1, 2, 3, 4][..], &p].concat();
    assert_eq!(end.leave(&frame6(&ipv6(PE, B4, 44, &atomic))), one_hop(&p));
    let route = [&[4u8, 0, 4, 1, 0, 0, 0, 0][..], &p].concat();
    end.dropped(true, &frame6(&ipv6(PE, B4, 43, &route)), "source-route");
}

/// RFC 8200, section 4.2: the end of a tunnel looks at the options of what is sent to it, as their types ask.
#[test]
fn options_in_front_of_the_packet_inside() {
    let mut end = End::b4(|_| {});
    let p = udp((CUSTOMER, 80), (REMOTE, 5000), b"hello");
    let with = |number: u8, options: [u8; 6]| ipv6(PE, B4, number, &[&[4, 0][..], &options, &p].concat());
    for number in [0, 60] {
        // Unknown, to be skipped: types 00; padding of one octet in any number.
        for skipped in [[0x3e, 2, 9, 9, 1, 0], [0x1e, 4, 1, 2, 3, 4], [0; 6], [1, 4, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]] {
            assert_eq!(end.leave(&frame6(&with(number, skipped))), one_hop(&p), "{skipped:02x?}");
        }
        // Longer than the header.
        for long in [[1, 5, 0, 0, 0, 0], [0, 0, 0, 1, 2, 0], [0, 0, 0, 0, 0, 1], [0x3e, 255, 0, 0, 0, 0]] {
            end.dropped(true, &frame6(&with(number, long)), "bad-extension-header");
        }
        // Unknown, to be dropped, without a word or with one.
        end.dropped(true, &frame6(&with(number, [0x43, 4, 0, 0, 0, 0])), "bad-extension-header");
        for (options, pointer) in [([0x83, 4, 0, 0, 0, 0], 42), ([0, 1, 0, 0xc3, 1, 0], 45)] {
            let packet = with(number, options);
            let told = end.refused(true, &frame6(&packet), "bad-extension-header");
            assert_eq!(judge_icmp6(&told), (4, 2, pointer, packet));
        }
        // What is sent to another is none of our business.
        let other = ipv6(PE, OTHER_B4, number, &[&[4u8, 0, 0xc3, 4, 0, 0, 0, 0][..], &p].concat());
        end.dropped(true, &frame6(&other), "unknown-softwire");
    }
}

/// The same in parts: in front of the fragment header each has its own, behind it the whole has them.
#[test]
fn options_of_packets_in_parts() {
    let mut end = End::b4(|_| {});
    let p = udp((CUSTOMER, 80), (REMOTE, 5000), &[7; 200]);
    let mut refused = |frames: &[Vec<u8>], when: usize| {
        for (i, f) in frames.iter().enumerate() {
            assert_eq!(end.send(plane::Side::Internet, f).len(), usize::from(i == when), "part {i}");
        }
        end.count("bad-extension-header")
    };
    let behind = ipv6(PE, B4, 60, &[&[4u8, 0, 0xc3, 4, 0, 0, 0, 0][..], &p].concat());
    let parts: Vec<_> = fragments6(&behind, 7, &[104]).iter().map(|f| frame6(f)).collect();
    assert_eq!(refused(&parts, 1), 1, "when all are there");
    let plain = fragments6(&ipv6(PE, B4, 4, &p), 8, &[104]);
    let in_front = |f: &Vec<u8>| {
        let options = [&[44u8, 0, 0xc3, 4, 0, 0, 0, 0][..], &f[40..]].concat();
        frame6(&ipv6(PE, B4, 60, &options))
    };
    let parts: Vec<_> = plain.iter().map(in_front).collect();
    assert_eq!(refused(&parts[..1], 0), 2, "at once");
}

/// Section 8.3: what ICMPv6 errors about tunnel packets become.
#[test]
fn tunnel_errors_are_told_to_the_sender_inside() {
    let mut end = End::b4(|_| {});
    let p = udp((CUSTOMER, 5000), (REMOTE, 80), b"hello");
    let big = df(p.clone());
    let router = "2001:db8::99";
    for (about, kind, code, rest, want) in [
        (&p, 1, 0, 0, Some((3, 1, 0))),
        (&p, 1, 5, 0, Some((3, 1, 0))),
        (&p, 3, 0, 0, Some((3, 1, 0))),
        (&p, 4, 1, 6, Some((3, 1, 0))),
        (&big, 2, 0, 1400, Some((3, 4, 1360))),
        (&big, 2, 0, 1280, Some((3, 4, 1240))),
        // No IPv6 link has less (RFC 8200, section 5), and who says so is not believed (RFC 8201, section 4).
        (&big, 2, 0, 1279, None),
        (&big, 2, 0, 0, None),
        (&p, 2, 0, 1400, None),
        (&p, 3, 1, 0, None),
    ] {
        let outer = end.enter(about);
        let error = frame6(&icmp6(router, B4, kind, code, rest, &outer[14..]));
        let out = end.send_all(plane::Side::Internet, &[error]);
        let seen = out.first().map(|(side, f)| {
            assert_eq!(*side, plane::Side::Customer);
            let packet = bare(f);
            assert_eq!((&packet[12..16], &packet[16..20]), (&OWN4[..], &CUSTOMER[..]));
            let (kind, code, rest, quote) = parts_of_icmp(&packet);
            assert_eq!(quote, one_hop(about));
            (kind, code, rest)
        });
        assert_eq!(seen, want, "type {kind}, code {code}");
    }
    assert_eq!((end.count("icmp-relayed"), end.count("icmp-untranslatable")), (6, 4));
}

/// Section 7.2 with RFC 8201: where there is one tunnel, its MTU follows what a router on its path says, for ten minutes.
#[test]
fn the_one_tunnel_learns_its_path_mtu() {
    let mut end = End::b4(|_| {});
    let large = udp((CUSTOMER, 5000), (REMOTE, 80), &[7; 1432]);
    let too_big = |about: &[u8], mtu| frame6(&icmp6("2001:db8::99", B4, 2, 0, mtu, &about[14..1200]));
    let about = end.enter(&large);
    // Values below 1280 octets or above the link's MTU are ignored.
    for mtu in [1279, 0, 9000] {
        end.send(plane::Side::Internet, &too_big(&about, mtu));
        end.enter(&large);
    }
    end.dropped(true, &too_big(&about, 1400), "icmp-untranslatable");
    let out = end.enter_all(std::slice::from_ref(&large));
    assert_eq!((out.len(), joined(&out, 1400)), (2, one_hop(&large)));
    let told = end.refused(false, &frame4(&df(large.clone())), "too-big");
    assert_eq!(parts_of_icmp(&bare(&told)).2, 1360);
    // No later error raises the MTU; only time does.
    end.send(plane::Side::Internet, &too_big(&about, 1450));
    end.wait(599);
    assert_eq!(end.enter_all(std::slice::from_ref(&large)).len(), 2);
    end.wait(2);
    end.enter(&large);
}

/// An error must quote a packet of the tunnel.
#[test]
fn errors_about_no_tunnel_are_not_believed() {
    let mut end = End::b4(|_| {});
    let p = udp((CUSTOMER, 5000), (REMOTE, 80), b"hello");
    let about = |src, dst| icmp6("2001:db8::99", B4, 1, 0, 0, &ipv6(src, dst, 4, &p));
    end.dropped(true, &frame6(&about(B4, OTHER_B4)), "spoofed-source");
    end.dropped(true, &frame6(&about(OTHER_B4, PE)), "unknown-softwire");
    let mut wrong = frame6(&about(B4, PE));
    wrong[56] ^= 1;
    end.dropped(true, &wrong, "icmp-checksum");
    // Not about a tunnel packet: the machine's own.
    let own = icmp6("2001:db8::99", B4, 1, 0, 0, &ipv6(B4, PE, 17, &[0; 16]));
    end.dropped(true, &frame6(&own), "local");
    assert_eq!(end.count("icmp-relayed"), 0);
}

/// Errors about errors are never made (RFC 1812, section 4.3.2.7).
#[test]
fn no_error_about_an_error() {
    let mut end = End::b4(|_| {});
    let error = icmp_error(CUSTOMER, REMOTE, 3, 3, &udp((REMOTE, 80), (CUSTOMER, 5000), b"hello"));
    let expired = with(error.clone(), |p| p[8] = 1);
    end.dropped(false, &frame4(&expired), "hop-limit-expired");
    let outer = end.enter(&error);
    end.dropped(true, &frame6(&icmp6("2001:db8::99", B4, 1, 0, 0, &outer[14..])), "icmp-untranslatable");
}

#[test]
fn errors_are_limited_in_rate() {
    let mut end = End::b4(|c| c.icmp_errors_per_second = 10);
    let p = frame4(&with(udp((CUSTOMER, 5000), (REMOTE, 80), b"hello"), |p| p[8] = 1));
    let out = end.send_all(plane::Side::Customer, &vec![p.clone(); 100]);
    assert_eq!(out.len() as u64, end.count("icmp-sent"));
    assert!((30..40).contains(&out.len()) && end.count("icmp-suppressed") == 100 - out.len() as u64);
    end.wait(10);
    assert_eq!(end.send_all(plane::Side::Customer, &[p]).len(), 1);
}

/// A whole address inside the frame's padding: only the packet goes in, only the packet comes out.
#[test]
fn padding_stays_outside() {
    let mut end = End::b4(|_| {});
    let p = udp((CUSTOMER, 5000), (REMOTE, 80), b"");
    assert_eq!(unwrapped(&end.enter(&p)).2.len(), 28);
    let mut long = wrapped(PE, B4, &p);
    long.extend_from_slice(&[0xaa; 40]);
    assert_eq!(end.leave(&long), one_hop(&p));
    assert_eq!(end.leave(&wrapped(PE, B4, &ping(REMOTE, CUSTOMER, 1))), one_hop(&ping(REMOTE, CUSTOMER, 1)));
}
