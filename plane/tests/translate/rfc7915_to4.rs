//! RFC 7915, section 5: from IPv6 to IPv4.

use crate::bed::*;
use crate::packets::*;

#[test]
fn rfc7915_5_1_the_header() {
    let mut b = bed(|_| {});
    let out = judge(&b.to4(&with6(udp6(b"payload"), 14, &[0x6b, 0x9f])));
    assert_eq!((out.src.as_str(), out.dst.as_str()), ("198.51.100.10", "203.0.113.7"));
    assert_eq!((out.protocol, out.hops, out.class, out.df), (17, 63, 0xb9, false));
    assert_eq!(&out.payload[8..], b"payload");
}
