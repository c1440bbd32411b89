//! RFC 6052 in packets: each prefix length, and the rule about the well-known prefix.

use crate::translate::bed::*;
use crate::translate::packets::*;
use plane::translate::{Pref64, Siit};
use wire::Prefix6;

#[test]
fn rfc6052_2_2_every_prefix_length_goes_both_ways() {
    for len in [32, 40, 48, 56, 64, 96] {
        let whole = Prefix6 { addr: six("2001:db8:1122:3344::").into(), len };
        let p = Pref64::new(Prefix6 { addr: whole.first().into(), len }, false).unwrap();
        let mut b = with(config(), Siit::prefix(p));
        let out = b.to6(&udp4(b"there"));
        assert_eq!(judge(&out).src, std::net::Ipv6Addr::from(p.embed(u32::from_be_bytes(THERE4))).to_string());
        let back = judge(&b.to4(&with6(with6(out, 0, &V6.own), 6, &V6.hop)));
        assert_eq!((back.src.as_str(), back.dst.as_str(), back.hops), ("203.0.113.7", "198.51.100.10", 62), "/{len}");
    }
}

fn known(private: bool) -> Pref64 {
    Pref64::new(Prefix6 { addr: six("64:ff9b::").into(), len: 96 }, private).unwrap()
}

#[test]
fn rfc6052_3_1_the_well_known_prefix_with_private_addresses() {
    let mut b = with(config(), Siit::prefix(known(false)));
    b.refused(false, &udp4_of([8, 8, 8, 8], [10, 0, 0, 1], 64, b"x"), "well-known-prefix-private");
    b.refused(true, &udp6_of("64:ff9b::8.8.8.8", "64:ff9b::10.0.0.1", 64, b"x"), "well-known-prefix-private");
    assert_eq!(judge(&b.to6(&udp4_of([8, 8, 8, 8], [9, 9, 9, 9], 64, b"x"))).dst, "64:ff9b::909:909");
    let mut b = with(config(), Siit::prefix(known(true)));
    assert_eq!(judge(&b.to6(&udp4_of([8, 8, 8, 8], [10, 0, 0, 1], 64, b"x"))).dst, "64:ff9b::a00:1");
}

#[test]
fn rfc6052_3_1_an_address_that_is_not_global_appears_behind_the_other_prefix() {
    let mut b = with(config(), Siit::new(None, [known(false), pref64()]));
    let seen = |frame: &[u8]| (judge(frame).src, judge(frame).dst);
    for (src, dst, src6, dst6) in [
        ([8, 8, 8, 8], [9, 9, 9, 9], "64:ff9b::808:808", "64:ff9b::909:909"),
        ([10, 1, 2, 3], [9, 9, 9, 9], "2001:db8:64::a01:203", "64:ff9b::909:909"),
        ([8, 8, 8, 8], [10, 0, 0, 1], "64:ff9b::808:808", "2001:db8:64::a00:1"),
    ] {
        let four = |octets: [u8; 4]| std::net::Ipv4Addr::from(octets).to_string();
        assert_eq!(seen(&b.to6(&udp4_of(src, dst, 64, b"x"))), (src6.into(), dst6.into()));
        assert_eq!(seen(&b.to4(&udp6_of(dst6, src6, 64, b"x"))), (four(dst), four(src)), "the way back");
    }
    assert_eq!(
        judge(&b.to4(&udp6_of("64:ff9b::9.9.9.9", "2001:db8:64::8.8.8.8", 64, b"x"))).dst,
        "8.8.8.8",
        "both have it"
    );
    b.refused(true, &udp6_of("64:ff9b::8.8.8.8", "64:ff9b::10.0.0.1", 64, b"x"), "well-known-prefix-private");
    b.refused(true, &udp6_of("64:ff9b::8.8.8.8", "2001:db8:65::8.8.8.8", 64, b"x"), "destination-unmapped");
}
