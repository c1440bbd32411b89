//! RFC 6877: the CLAT of 464XLAT, with IPv6 at the Internet's side.

use crate::each_device::tells_no_sender_of_less_than_1280;
use crate::translate::bed::*;
use crate::translate::packets::*;
use plane::Side;
use plane::translate::{Clat, Hosts, Pair, Pref64};
use wire::{Prefix4, Prefix6};

const HOST: [u8; 4] = [192, 168, 0, 10];

fn pair() -> Hosts {
    Hosts::Pair(Pair {
        v4: Prefix4 { addr: [192, 168, 0, 0].into(), len: 24 },
        v6: Prefix6 { addr: six("2001:db8:c1::").into(), len: 120 },
    })
}

fn clat(hosts: Hosts) -> Bed<Clat> {
    clat_with_mtu(hosts, 1500)
}

fn clat_with_mtu(hosts: Hosts, mtu: u16) -> Bed<Clat> {
    let mut c = config();
    c.ipv6 = Side::Internet;
    c.v4.mtu = mtu;
    with(c, Clat::new(hosts, pref64()).unwrap())
}

#[test]
fn rfc6877_6_3_hosts_by_a_prefix_of_their_own_and_remotes_by_that_of_the_plat() {
    let own = Pref64::new(Prefix6 { addr: six("2001:db8:c1::").into(), len: 96 }, false).unwrap();
    for (hosts, src) in [(pair(), "2001:db8:c1::a"), (Hosts::Prefix(own), "2001:db8:c1::c0a8:a")] {
        let mut b = clat(hosts);
        let sent = udp4_of(HOST, THERE4, 64, b"question");
        let out = judge(&b.to6(&sent));
        assert_eq!((out.src.as_str(), out.dst.as_str()), (src, "2001:db8:64::cb00:7107"));
        let back = judge(&b.to4(&udp6_of(THERE6, src, 64, b"answer")));
        assert_eq!((back.src.as_str(), back.dst.as_str()), ("203.0.113.7", "192.168.0.10"));
    }
}

#[test]
fn rfc6877_unmapped_addresses_are_refused() {
    let mut b = clat(pair());
    b.refused(false, &udp4_of([192, 168, 1, 10], THERE4, 64, b"x"), "source-unmapped");
    b.refused(true, &udp6_of(THERE6, "2001:db8:c1::1:a", 64, b"x"), "destination-unmapped");
    b.refused(true, &udp6_of("2001:db8:c1::a", "2001:db8:c1::b", 64, b"x"), "source-unmapped");
}

#[test]
fn rfc6877_ping_and_errors_pass() {
    let mut b = clat(pair());
    let sent = icmp4_of(HOST, THERE4, 8, 0, [0, 1, 0, 2], b"ping");
    let out = b.to6(&sent);
    let back = b.to4(&icmp6_of(ROUTER6, "2001:db8:c1::a", 3, 0, [0; 4], &out[14..]));
    let (kind, code, _, quote) = error_of(&back);
    assert_eq!((kind, code, judge(&back).src.as_str()), (11, 0, "198.51.100.254"));
    assert_eq!((quote.src.as_str(), quote.dst.as_str()), ("192.168.0.10", "203.0.113.7"));
    let m = judge(&b.refused(false, &udp4_of(HOST, THERE4, 1, b"x"), "hop-limit-expired")).payload;
    assert_eq!((m[0], m[1]), (11, 0));
}

#[test]
fn rfc7915_5_1_no_sender_is_told_of_less_than_1280() {
    tells_no_sender_of_less_than_1280(
        |mtu| clat_with_mtu(pair(), mtu),
        |b, payload| b.send(true, &udp6_of(THERE6, "2001:db8:c1::a", 64, payload)),
    );
}

#[test]
fn mistakes_are_refused() {
    assert!(Clat::new(Hosts::Prefix(pref64()), pref64()).unwrap_err().contains("the prefix of the PLAT"));
    let Hosts::Pair(p) = pair() else { unreachable!() };
    let short = Pair { v6: Prefix6 { len: 124, ..p.v6 }, ..p };
    assert!(Clat::new(Hosts::Pair(short), pref64()).is_err());
}
