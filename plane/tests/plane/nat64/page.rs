//! The page about NAT64 and the code must name the same counters.

use plane::Function;

#[test]
fn the_page_names_every_counter() {
    let page = include_str!("../../../../docs/technologies/nat64.md");
    let g = crate::nat64::set_up::nat64(&crate::nat64::set_up::config());
    for (name, _) in g.workers[0].counters() {
        let (half, bare) = name.split_once('.').unwrap_or(("", name));
        // NAT44's own page has the counters of its half.
        let page = if half == "nat44" { include_str!("../../../../docs/technologies/nat44.md") } else { page };
        assert!(testbed::page::names(page).contains(bare), "docs/technologies/nat64.md does not mention `{bare}`");
    }
}

/// What the page of 464XLAT says of its PLAT are counters of a NAT64, and of its CLAT, those of the same translator.
#[test]
fn the_page_of_464xlat_names_nothing_that_is_not_counted() {
    let page = include_str!("../../../../docs/technologies/464xlat.md");
    let g = crate::nat64::set_up::nat64(&crate::nat64::set_up::config());
    let counted: Vec<_> = g.workers[0].counters().iter().map(|(n, _)| n.rsplit('.').next().unwrap()).collect();
    for name in testbed::page::names(page).iter().filter(|n| n.contains('-')) {
        assert!(counted.contains(name), "docs/technologies/464xlat.md: nothing counts `{name}`");
    }
}

/// The packet of the page, whose checksums come from a separate program (RFC 1071 written out in Python).
#[test]
fn the_packet_of_the_page() {
    use testbed::prelude::*;
    use wire::AddrRange;
    let mut c = crate::nat64::set_up::config();
    c.pref64 = vec![wire::Prefix6 { addr: "2001:2:0:64::".parse().unwrap(), len: 96 }];
    c.nat.internet.address = [198, 19, 255, 254].into();
    c.nat.pool = vec![AddrRange { first: [198, 19, 0, 1].into(), count: 1 }];
    let mut g = crate::nat64::set_up::nat64(&c);
    let mut frame = [CUSTOMER_MAC, CUSTOMER_HOP].concat();
    frame.extend(hex("86dd 60000000 000c 11 40"));
    frame.extend(hex("20010002000000000000000000000002 200100020000006400000000c6130002"));
    frame.extend(hex("1388 0050 000c e176 01020304"));
    let mut out = g.out(&frame);
    // Only the identification, and with it the header checksum, cannot be predicted.
    out[18..20].copy_from_slice(&[0x12, 0x34]);
    out[24..26].copy_from_slice(&[0xdd, 0x6f]);
    let want = hex("4500 0020 1234 0000 3f11 dd6f c6130001 c6130002 1388 0050 000c 5bce 01020304");
    assert_eq!(out[14..46], want);
}
