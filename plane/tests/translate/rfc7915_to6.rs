//! RFC 7915, section 4: from IPv4 to IPv6.

use crate::bed::*;
use crate::packets::*;

#[test]
fn rfc7915_4_1_the_header() {
    let mut b = bed(|_| {});
    let out = judge(&b.to6(&with4(udp4(b"payload"), 15, &[0xb9])));
    assert_eq!((out.src.as_str(), out.dst.as_str()), ("2001:db8:64::cb00:7107", "2001:db8:64::c633:640a"));
    assert_eq!((out.protocol, out.hops, out.class, out.part), (17, 63, 0xb9, None));
    assert_eq!(&out.payload[8..], b"payload");
}
