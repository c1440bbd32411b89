//! One rule: the examples of both RFCs, what is refused, and that customers and port sets are a bijection.

pub(super) use testbed::packets::{prefix4 as p4, prefix6 as p6};

use plane::event::Event;
use plane::map::{Customer, Mapping, Psid, Rule, RuleError};
use proptest::prelude::*;
use std::net::Ipv6Addr;
use wire::{PortSet, PortSetError, Prefix4, Prefix6};

pub(super) fn v4(text: &str) -> u32 {
    text.parse::<std::net::Ipv4Addr>().unwrap().into()
}

pub(super) fn v6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

pub(super) fn rule(ipv6: &str, ipv4: &str, ea: u8) -> Rule {
    Rule::new(p6(ipv6), p4(ipv4), ea)
}

pub(super) fn customer(m: &Mapping, prefix: Prefix6) -> Customer {
    let customer = m.customer_at((prefix.first() >> 64) as u64);
    assert_eq!(customer.prefix, prefix);
    customer
}

/// The MAP address for an IPv4 address and port.
fn end(m: &Mapping, addr: &str, port: u16) -> Result<Ipv6Addr, Event> {
    let a = v4(addr);
    m.customer_id(a, Some(port)).map(|p| Ipv6Addr::from_bits(p.address(m.padded(a))))
}

/// RFC 7597 and RFC 7599, appendix A, example 1: a shared address.
#[test]
fn appendix_a_example_1_shared_address() {
    let r = rule("2001:db8::/40", "192.0.2.0/24", 16);
    let m = r.prepare().unwrap();
    let c = customer(&m, p6("2001:db8:12:3400::/56"));
    assert_eq!(c.address, v6("2001:db8:0012:3400:0000:c000:0212:0034"));
    assert_eq!((c.ipv4, c.ports), (p4("192.0.2.18/32"), PortSet { offset: 6, len: 8, psid: 0x34 }));
    assert_eq!((c.ports.nth(0), c.ports.nth(251), m.customers()), (1232, 64_723, 65_536));
}

/// Appendix A, example 2: the BR finds the customer by address and port.
#[test]
fn appendix_a_example_2_br() {
    let m = rule("2001:db8::/40", "192.0.2.0/24", 16).prepare().unwrap();
    assert_eq!(end(&m, "192.0.2.18", 1232), Ok(v6("2001:db8:0012:3400:0000:c000:0212:0034")));
    assert_eq!(end(&m, "192.0.2.18", 1023), Err(Event::OutsidePortSet), "with offset 6 no set has ports below 1024");
    assert_eq!(
        m.customer_id(v4("192.0.2.18"), None),
        Err(Event::OutsidePortSet),
        "the address alone does not say whose it is"
    );
}

/// Appendix A, example 4: no EA bits, the address not shared. (RFC 7599 has 192.0.2.1 in the rule and 192.0.2.18 below
/// it; the MAP address shows that the former is meant, in RFC 7597 all are 192.0.2.18.)
#[test]
fn appendix_a_example_4_one_to_one() {
    for (addr, address) in [
        ("192.0.2.18", "2001:db8:0012:3400:0000:c000:0212:0000"),
        ("192.0.2.1", "2001:db8:0012:3400:0000:c000:0201:0000"),
    ] {
        let r = rule("2001:db8:12:3400::/56", &format!("{addr}/32"), 0);
        let m = r.prepare().unwrap();
        let c = customer(&m, p6("2001:db8:12:3400::/56"));
        assert_eq!((c.address, c.ports, m.customers()), (v6(address), PortSet::ALL, 1));
        assert_eq!(end(&m, addr, 0), Ok(v6(address)), "all ports are its own");
        assert!(m.customer_id(v4(addr), None).is_ok(), "and packets without ports");
    }
}

/// Appendix A, example 5: no EA bits, the address shared by a PSID from elsewhere. (RFC 7599 says once that the PSID is
/// 0x20; its ports and the MAP address are those of 0x34.)
#[test]
fn appendix_a_example_5_psid_from_elsewhere() {
    let r = Rule { psid: Some(Psid { len: 8, value: 0x34 }), ..rule("2001:db8:12:3400::/56", "192.0.2.18/32", 0) };
    let m = r.prepare().unwrap();
    let c = customer(&m, p6("2001:db8:12:3400::/56"));
    assert_eq!(c.address, v6("2001:db8:0012:3400:0000:c000:0212:0034"));
    assert_eq!(c.ports, PortSet { offset: 6, len: 8, psid: 0x34 });
    assert_eq!(end(&m, "192.0.2.18", 1232), Ok(c.address));
    assert_eq!(end(&m, "192.0.2.18", 1236), Err(Event::OutsidePortSet));
}

/// A rule prefix of 53 bits, 11 EA bits, no offset, as in scenarios/map-e.toml.
#[test]
fn lengths_that_are_no_multiple_of_eight() {
    let r = Rule { offset: 0, ..rule("2001:db8:ce::/53", "192.0.2.0/24", 11) };
    let m = r.prepare().unwrap();
    let c = customer(&m, p6("2001:db8:ce:11b::/64"));
    assert_eq!((c.ipv4, c.ports.nth(0), c.ports.nth(8191)), (p4("192.0.2.35/32"), 24_576, 32_767));
    assert_eq!(end(&m, "192.0.2.35", 24_576), Ok(c.address));
    assert_eq!(c.address, v6("2001:db8:ce:11b:0:c000:223:3"));
}

/// RFC 7597, section 5.2: with EA bits that do not complete the address the customer has a prefix; section 6: which
/// stands in the interface identifier padded with zeros.
#[test]
fn a_customer_may_have_an_ipv4_prefix() {
    let r = rule("2001:db8::/40", "192.0.0.0/16", 8);
    let m = r.prepare().unwrap();
    let c = customer(&m, p6("2001:db8:2::/48"));
    assert_eq!((c.ipv4, c.ports), (p4("192.0.2.0/24"), PortSet::ALL));
    assert_eq!(c.address, v6("2001:db8:2:0:0:c000:200:0"));
    assert_eq!(end(&m, "192.0.2.77", 80), Ok(c.address));
}

/// Section 5.2: r may be 0, then the EA bits hold all of the address, and with 48 bits one port.
#[test]
fn the_longest_ea_bits() {
    let r = Rule { offset: 0, ..rule("2001::/16", "0.0.0.0/0", 48) };
    let m = r.prepare().unwrap();
    assert_eq!(end(&m, "192.0.2.18", 0x1234), Ok(v6("2001:c000:212:1234:0:c000:212:1234")));
    let c = customer(&m, p6("2001:c000:212:1234::/64"));
    assert_eq!((c.ipv4, c.ports.count(), c.ports.nth(0)), (p4("192.0.2.18/32"), 1, 0x1234));
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let fails = |r: Rule| r.prepare().unwrap_err();
    assert_eq!(fails(rule("2001:db8::/65", "192.0.2.0/24", 8)), RuleError::Ipv6Length(65));
    assert_eq!(fails(rule("::/0", "192.0.2.0/24", 8)), RuleError::Ipv6Length(0));
    assert_eq!(fails(rule("2001:db8::/40", "192.0.2.0/33", 8)), RuleError::Ipv4Length(33));
    assert_eq!(fails(rule("2001:db8:1::/32", "192.0.2.0/24", 8)), RuleError::Ipv6Bits(p6("2001:db8:1::/32")));
    assert_eq!(fails(rule("2001:db8::/40", "192.0.2.1/24", 8)), RuleError::Ipv4Bits(p4("192.0.2.1/24")));
    assert_eq!(fails(rule("2001:db8::/32", "192.0.2.0/24", 25)), RuleError::EaBits { ea: 25, most: 24 });
    assert_eq!(fails(rule("2001:db8::/49", "192.0.2.0/24", 16)), RuleError::TooLong { prefix: 49, ea: 16 });
    assert_eq!(fails(rule("2001:db8::/40", "192.0.2.0/24", 20)), RuleError::Ports(PortSetError::Bits(6, 12)));
    let own = |len, value, ea| Rule { psid: Some(Psid { len, value }), ..rule("2001:db8::/40", "192.0.2.0/24", ea) };
    assert_eq!(fails(own(4, 16, 8)), RuleError::Ports(PortSetError::Psid(16, 4)));
    assert_eq!(fails(own(4, 1, 16)), RuleError::PsidTwice { ipv4: 24, ea: 16 });
    assert_eq!(fails(own(4, 1, 4)), RuleError::PsidTwice { ipv4: 24, ea: 4 });
    assert_eq!(fails(own(0, 0, 8)), RuleError::PsidLength);
}

prop_compose! {
    fn any_rule()(
        n in 1u8..=64, r in 0u8..=32, o in 0u8..=48, offset in 0u8..=16, v6: u64, v4: u32, k in 1u8..=16, psid: u16,
        explicit: bool,
    ) -> Rule {
        let o = o.min(48 - r).min(64 - n);
        let shared = (r + o).saturating_sub(32);
        let offset = offset.min(16 - shared);
        let k = k.min(16 - offset);
        let own = (explicit && r + o == 32 && k > 0).then(|| Psid { len: k, value: (psid as u32 & ((1u32 << k) - 1)) as u16 });
        let ipv6 = Prefix6 { addr: Ipv6Addr::from_bits((v6 as u128) << 64), len: n };
        let ipv4 = Prefix4 { addr: v4.into(), len: r };
        Rule {
            ipv6: Prefix6 { addr: Ipv6Addr::from_bits(ipv6.first()), len: n },
            ipv4: Prefix4 { addr: (v4 & ipv4.mask()).into(), len: r },
            ea_bits: o,
            offset,
            psid: own,
        }
    }
}

proptest! {
    /// Address and port lead to the one customer that has both, and each of a customer's addresses and ports leads back.
    #[test]
    fn customers_and_port_sets_are_a_bijection(r in any_rule(), a: u32, port: u16, number: u64, j: u32) {
        let m = r.prepare().unwrap();
        // From address and port to the customer.
        let addr = u32::from(r.ipv4.addr) | a & !r.ipv4.mask();
        prop_assert!(m.contains(addr));
        match m.customer_id(addr, Some(port)) {
            Ok(place) => {
                let c = m.customer_at(place.upper);
                prop_assert_eq!(c.prefix.len, r.ipv6.len + r.ea_bits);
                prop_assert!(c.ipv4.contains(addr) && c.ports.contains(port));
                prop_assert_eq!(c.address.to_bits(), place.address(m.padded(addr)));
                prop_assert!(c.prefix.contains(c.address.to_bits()) && r.ipv6.contains(c.address.to_bits()));
            }
            Err(why) => {
                prop_assert_eq!(why, Event::OutsidePortSet);
                let unassigned = |p: PortSet| p.psid_of(port).is_none_or(|x| r.psid.is_some_and(|own| own.value != x));
                prop_assert!(unassigned(m.nth(0).ports));
            }
        }
        // From the customer to its addresses and ports.
        let c = m.nth(number % m.customers());
        if c.ports.count() > 0 {
            let port = c.ports.nth(j % c.ports.count());
            let addr = u32::from(c.ipv4.addr) | a & !c.ipv4.mask();
            let id = m.customer_id(addr, Some(port)).unwrap();
            prop_assert_eq!(id.address(m.padded(addr)), c.address.to_bits());
            prop_assert_eq!(customer(&m, c.prefix), c);
        }
    }
}
