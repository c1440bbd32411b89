//! RFC 2473, generic packet tunnelling, as far as it concerns IPv4 in IPv6.

use crate::end::*;
use crate::packets::*;
use std::net::Ipv6Addr;

fn addr(s: &str) -> Ipv6Addr {
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
    ] {
        let (src, dst, inner) = unwrapped(&end.enter(&p));
        assert_eq!((src, dst, inner), (addr(B4), addr(PE), one_hop(&p)));
        assert_eq!(end.leave(&wrapped(PE, B4, &p)), one_hop(&p));
    }
    assert_eq!((end.count("ipv4-to-ipv6"), end.count("ipv6-to-ipv4")), (4, 4));
}
