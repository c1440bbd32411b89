//! The page about DS-Lite and the code must name the same counters.

use plane::Function;

#[test]
fn the_page_names_every_counter() {
    let page = include_str!("../../../../docs/technologies/ds-lite.md");
    let g = crate::aftr::set_up::aftr(&crate::aftr::set_up::config());
    for (name, _) in g.workers[0].counters() {
        let (half, bare) = name.split_once('.').unwrap_or(("", name));
        // NAT44's own page has the counters of its half.
        let page = if half == "nat44" { include_str!("../../../../docs/technologies/nat44.md") } else { page };
        assert!(testbed::page::names(page).contains(bare), "docs/technologies/ds-lite.md does not mention `{bare}`");
    }
}

/// The packet of the page, whose checksums come from a separate program (RFC 1071 written out in Python).
#[test]
fn the_packet_of_the_page() {
    use testbed::prelude::*;
    use wire::AddrRange;
    let mut c = crate::aftr::set_up::config();
    c.customer.address = "2001:2::1".parse().unwrap();
    c.nat.internet.address = [198, 19, 255, 254].into();
    c.nat.pool = vec![AddrRange { first: [198, 19, 0, 1].into(), count: 1 }];
    let mut g = crate::aftr::set_up::aftr(&c);
    let mut frame = [CUSTOMER_MAC, CUSTOMER_HOP].concat();
    frame.extend(hex("86dd 60000000 0020 04 40"));
    frame.extend(hex("20010002000000000000000000010002 20010002000000000000000000000001"));
    frame.extend(hex("4500 0020 0000 0000 4011 f305 c0a8010a c6130002 1388 0050 000c 6030 01020304"));
    let want = hex("4500 0020 0000 0000 3f11 efa3 c6130001 c6130002 1388 0050 000c 5bce 01020304");
    assert_eq!(g.out(&frame)[14..46], want);
}
