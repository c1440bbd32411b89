//! RFC 7757: explicit address maps in packets, and hairpinning between mapped hosts.

use crate::translate::bed::*;
use crate::translate::packets::*;
use plane::translate::{Config, Eam, Hairpinning, Pref64, Siit, eam};
use wire::{AddrRange, Prefix6};

/// Two IPv6 hosts with maps, as in the figures of section 4.
const A6: &str = "2001:db8:aaaa::1";
const A4: [u8; 4] = [192, 0, 2, 1];
const B6: &str = "2001:db8:bbbb::1";
/// The same hosts behind the prefix.
const A_SEEN: &str = "2001:db8:64::192.0.2.1";
const B_SEEN: &str = "2001:db8:64::192.0.2.2";

fn mapped(change: impl FnOnce(&mut Config)) -> Bed<Siit> {
    let mut c = config();
    change(&mut c);
    let text = "192.0.2.1 2001:db8:aaaa::1\n192.0.2.2 2001:db8:bbbb::1";
    let maps = Eam::new(&eam::parse(text.lines()).unwrap(), false).unwrap();
    with(c, Siit::new(Some(maps), Some(pref64())))
}

fn name(a: &str) -> String {
    std::net::Ipv6Addr::from(six(a)).to_string()
}

#[test]
fn rfc7757_3_maps_come_before_the_prefix() {
    let mut b = mapped(|_| {});
    let out = judge(&b.to4(&udp6_of(A6, THERE6, 64, b"x")));
    assert_eq!((out.src.as_str(), out.dst.as_str()), ("192.0.2.1", "203.0.113.7"));
    let out = judge(&b.to6(&udp4_of(THERE4, A4, 64, b"x")));
    assert_eq!((out.src, out.dst), (name(THERE6), name(A6)));
    let echo = judge(&b.to6(&icmp4_of(THERE4, A4, 8, 0, [0; 4], b"x")));
    assert_eq!((echo.src, echo.dst), (name(THERE6), name(A6)));
}

#[test]
fn rfc7757_3_3_addresses_without_map_and_prefix_are_refused() {
    let text = "192.0.2.1 2001:db8:aaaa::1";
    let maps = Eam::new(&eam::parse(text.lines()).unwrap(), false).unwrap();
    let mut b = with(config(), Siit::new(Some(maps), None));
    let m = judge(&b.refused(false, &udp4_of(THERE4, A4, 64, b"x"), "source-unmapped")).payload;
    assert_eq!((m[0], m[1]), (3, 13));
    let m = judge(&b.refused(false, &udp4_of(A4, HERE4, 64, b"x"), "destination-unmapped")).payload;
    assert_eq!((m[0], m[1]), (3, 13));
    let m = judge(&b.refused(true, &udp6_of(A6, B6, 64, b"x"), "destination-unmapped")).payload;
    assert_eq!((m[0], m[1]), (1, 1));
}

#[test]
fn rfc7757_4_2_2_intrinsic_hairpinning() {
    let mut b = mapped(|_| {});
    for sent in [udp6_of(A6, B_SEEN, 64, b"question"), icmp6_of(A6, B_SEEN, 128, 0, [0; 4], b"ping")] {
        let seen = judge(&b.one(true, &sent, true));
        assert_eq!((seen.src, seen.dst, seen.hops), (name(A_SEEN), name(B6), 63));
    }
    let back = judge(&b.one(true, &udp6_of(B6, A_SEEN, 64, b"answer"), true));
    assert_eq!((back.src, back.dst), (name(B_SEEN), name(A6)), "the answer looks as it must");
    assert_eq!(b.count("hairpinned"), 3);
}

#[test]
fn rfc7757_4_2_2_fragments_turn_round_too() {
    let mut b = mapped(|_| {});
    let parts: Vec<IpPacket> = fragments6(&udp6_of(A6, B_SEEN, 64, &[3; 100]), &[48], 9)
        .iter()
        .map(|f| judge(&b.one(true, f, true)))
        .collect();
    assert_eq!((whole_of(&parts).src, parts[1].dst.clone()), (name(A_SEEN), name(B6)));
}

#[test]
fn rfc7757_4_2_2_errors_turn_round_too() {
    let mut b = mapped(|_| {});
    let sent = udp6_of(A6, B_SEEN, 64, b"question");
    let arrived = b.one(true, &sent, true);
    for from in [B6, ROUTER6] {
        let error = icmp6_of(from, A_SEEN, 1, 4, [0; 4], &arrived[14..]);
        let back = b.one(true, &error, true);
        let (kind, code, _, quote) = error_of(&back);
        let outer = judge(&back);
        assert_eq!((kind, code, outer.dst), (1, 4, name(A6)));
        assert_eq!(outer.src, name(if from == B6 { B_SEEN } else { "2001:db8:64::198.51.100.254" }));
        assert_eq!(quote, IpPacket { hops: 63, ..judge(&sent) }, "the quote equals the packet that was sent");
    }
}

#[test]
fn rfc7757_4_2_1_simple_hairpinning() {
    let mut b = mapped(|c| c.hairpinning = Hairpinning::Simple);
    let sent = udp6_of(A6, B_SEEN, 64, b"question");
    let out = b.to4(&sent);
    assert_eq!(judge(&out).dst, "192.0.2.2", "it leaves, and a router sends it back");
    let returned = with6(with6(out, 0, &V4.own), 6, &V4.hop);
    let arrived = b.to6(&returned);
    assert_eq!((judge(&arrived).src, judge(&arrived).dst), (name(A_SEEN), name(B6)));
    let error = b.to4(&icmp6_of(B6, A_SEEN, 1, 4, [0; 4], &arrived[14..]));
    let returned = with6(with6(error, 0, &V4.own), 6, &V4.hop);
    let back = b.to6(&returned);
    let (kind, code, _, quote) = error_of(&back);
    assert_eq!((kind, code, judge(&back).src, judge(&back).dst), (1, 4, name(B_SEEN), name(A6)));
    assert_eq!((quote.src, quote.dst), (name(A6), name(B_SEEN)));
}

/// Rule 1 knows no destination: one behind the prefix is shown the source behind the prefix, too.
#[test]
fn rfc7757_4_2_1_no_map_is_used_for_a_source() {
    let mut b = mapped(|c| c.hairpinning = Hairpinning::Simple);
    let seen = judge(&b.to6(&udp4_of(A4, HERE4, 64, b"x")));
    assert_eq!((seen.src, seen.dst), (name(A_SEEN), name(HERE6)));
}

#[test]
fn rfc8201_4_a_packet_too_big_that_turns_round_says_1280_at_least() {
    let mut b = mapped(|_| {});
    let arrived = b.one(true, &udp6_of(A6, B_SEEN, 64, b"question"), true);
    for (told, relayed) in [(1000u32, 1280u32), (1400, 1400)] {
        let back = b.one(true, &icmp6_of(ROUTER6, A_SEEN, 2, 0, told.to_be_bytes(), &arrived[14..]), true);
        assert_eq!(error_of(&back).2, relayed.to_be_bytes());
    }
}

/// Figure 1 with the well-known prefix, and the one address of appendix B.1 for routers.
fn figure_1(change: impl FnOnce(&mut Config)) -> Bed<Siit> {
    let mut c = config();
    c.icmp_sources = vec![AddrRange::one([198, 51, 100, 1].into())];
    change(&mut c);
    let text = "192.0.2.1 2001:db8:aaaa::\n192.0.2.2/32 2001:db8:bbbb::b/128\n192.0.2.16/28 2001:db8:cccc::/124\n\
                192.0.2.128/26 2001:db8:dddd::/64\n192.0.2.192/29 2001:db8:eeee:8::/62\n192.0.2.224/31 64:ff9b::/127";
    let maps = Eam::new(&eam::parse(text.lines()).unwrap(), false).unwrap();
    // The figures have addresses for documentation, which the well-known prefix may otherwise not hold (RFC 6052, 3.1).
    let prefix = Pref64::new(Prefix6 { addr: "64:ff9b::".parse().unwrap(), len: 96 }, true).unwrap();
    with(c, Siit::new(Some(maps), Some(prefix)))
}

/// The last row of figure 7 is not in the table of maps; the others stand beside it.
#[test]
fn rfc7757_b_figure_7_without_a_map() {
    let mut b = figure_1(|_| {});
    let seen = judge(&b.to6(&udp4_of([192, 0, 2, 248], A4, 64, b"x")));
    assert_eq!((seen.src, seen.dst), (name("64:ff9b::c000:2f8"), name("2001:db8:aaaa::")));
    let seen = judge(&b.to4(&udp6_of("2001:db8:aaaa::", "64:ff9b::c000:2f8", 64, b"x")));
    assert_eq!((seen.src.as_str(), seen.dst.as_str()), ("192.0.2.1", "192.0.2.248"));
}

#[test]
fn rfc7757_b_1_figures_8_to_11() {
    let mut b = figure_1(|_| {});
    let (one, two) = ("2001:db8:aaaa::", "2001:db8:bbbb::b");
    let (one_seen, two_seen) = ("64:ff9b::192.0.2.1", "64:ff9b::192.0.2.2");
    let sent = udp6_of(one, two_seen, 64, b"question");
    let arrived = b.one(true, &sent, true);
    assert_eq!((judge(&arrived).src, judge(&arrived).dst), (name(one_seen), name(two)), "figure 8");
    for (from, seen) in [("2001:db8::1234", "64:ff9b::198.51.100.1"), (two, two_seen)] {
        let back = b.one(true, &icmp6_of(from, one_seen, 1, 4, [0; 4], &arrived[14..]), true);
        let (outer, (_, _, _, inner)) = (judge(&back), error_of(&back));
        assert_eq!((outer.src, outer.dst), (name(seen), name(one)), "figures 9 and 10, outer");
        assert_eq!((inner.src, inner.dst), (name(one), name(two_seen)), "figures 9 and 10, inner");
    }
    let answer = judge(&b.one(true, &udp6_of(two, one_seen, 64, b"answer"), true));
    assert_eq!((answer.src, answer.dst), (name(two_seen), name(one)), "figure 11");
}

#[test]
fn hairpinning_can_be_off() {
    let mut b = mapped(|c| c.hairpinning = Hairpinning::Off);
    assert_eq!(judge(&b.to4(&udp6_of(A6, B_SEEN, 64, b"x"))).dst, "192.0.2.2");
    assert_eq!(judge(&b.to6(&udp4_of([192, 0, 2, 2], A4, 64, b"x"))).src, name(B6));
}

/// Maps at both ends and no prefix: how translators are benchmarked (RFC 8219, section 6).
#[test]
fn two_maps_do_not_turn_packets_round() {
    let text = "198.18.0.0/24 2001:2::/120\n198.19.0.0/24 2001:2:0:1000::/120";
    let maps = Eam::new(&eam::parse(text.lines()).unwrap(), false).unwrap();
    let mut b = with(config(), Siit::new(Some(maps), None));
    let out = judge(&b.to4(&udp6_of("2001:2::2", "2001:2:0:1000::2", 64, b"x")));
    assert_eq!((out.src.as_str(), out.dst.as_str()), ("198.18.0.2", "198.19.0.2"));
    let out = judge(&b.to6(&udp4_of([198, 19, 0, 2], [198, 18, 0, 2], 64, b"x")));
    assert_eq!((out.src.as_str(), out.dst.as_str()), ("2001:2:0:1000::2", "2001:2::2"));
}
