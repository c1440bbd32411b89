//! Sets of rules: longest match both ways, rules that lie in each other, rule lists with mistakes.

use crate::map::rules::{p4, p6, rule, v4, v6};
use plane::event::Event;
use plane::map::{Domain, DomainError, Psid, Rule};
use proptest::prelude::*;
use std::net::Ipv6Addr;

fn domain(rules: &[Rule]) -> Domain {
    Domain::new(rules.to_vec()).unwrap()
}

fn end(d: &Domain, addr: &str, port: u16) -> Result<Ipv6Addr, Event> {
    d.tunnel_end(v4(addr), Some(port)).map(Ipv6Addr::from_bits)
}

/// The number of the rule that an address and port belong to.
fn number(d: &Domain, addr: u32, port: u16) -> Option<usize> {
    d.translated(addr, Some(port)).ok().and_then(|address| d.by_ipv6((address >> 64) as u64))
}

fn upper(text: &str) -> u64 {
    (v6(text).to_bits() >> 64) as u64
}

/// RFC 7599, section 8.4: the longest match. A peer (VPP) has none for rules that lie in each other.
#[test]
fn nested_rules_match_longest_first() {
    let d = domain(&[
        rule("2001:db8::/40", "198.51.0.0/16", 16),
        rule("2001:db8:1000::/48", "198.51.100.0/24", 8),
        rule("2001:db8:2000::/56", "198.51.100.128/25", 7),
    ]);
    let number = |a: &str| number(&d, v4(a), 5000);
    assert_eq!((number("198.51.1.1"), number("198.51.100.1"), number("198.51.100.200")), (Some(0), Some(1), Some(2)));
    assert_eq!(number("198.52.0.0"), None);
    assert_eq!(end(&d, "198.51.100.200", 1), Ok(v6("2001:db8:2000:90:0:c633:64c8:0")));
    assert_eq!(end(&d, "198.51.100.1", 1), Ok(v6("2001:db8:1000:100:0:c633:6401:0")));
    assert_eq!(end(&d, "192.0.2.1", 1), Err(Event::DestinationUnmapped));
    let six = |a: &str| d.by_ipv6(upper(a));
    assert_eq!(
        (six("2001:db8:ff::"), six("2001:db8:1000:ffff::"), six("2001:db8:2000:ff::")),
        (Some(0), Some(1), Some(2))
    );
    assert_eq!((six("2001:db8:2000:100::"), six("2001:db8:100::")), (None, None));
}

/// Where a rule's IPv6 prefix lies in another's, its addresses are its own: the outer rule has no customers there.
#[test]
fn no_customer_inside_another_rule() {
    let d = domain(&[rule("2001:db8::/40", "192.0.2.0/24", 16), rule("2001:db8:12::/48", "198.51.100.0/24", 8)]);
    assert_eq!(end(&d, "192.0.2.18", 1232), Err(Event::DestinationUnmapped), "2001:db8:12:3400:: is another rule's");
    assert!(end(&d, "192.0.2.19", 1232).is_ok());
    assert_eq!(end(&d, "198.51.100.52", 1), Ok(v6("2001:db8:12:3400:0:c633:6434:0")));
}

fn own(ipv6: &str, ipv4: &str, psid: u16) -> Rule {
    Rule { psid: Some(Psid { len: 4, value: psid }), ..rule(ipv6, ipv4, 0) }
}

/// RFC 7599, section 12.1: a rule for each customer, several of them with one address.
#[test]
fn rules_with_psids_of_their_own_share_an_address() {
    let d = domain(&[
        own("2001:db8:3::/48", "192.0.2.18/32", 3),
        own("2001:db8:1::/48", "192.0.2.18/32", 1),
        rule("2001:db8:ff::/48", "192.0.2.0/24", 8),
        own("2001:db8:9::/48", "192.0.2.18/32", 9),
    ]);
    // Offset 6, 4 bits: port 1024 + 64 k belongs to PSID k.
    let number = |port| number(&d, v4("192.0.2.18"), port);
    assert_eq!((number(1024 + 64), number(1024 + 192), number(1024 + 9 * 64 + 63)), (Some(1), Some(0), Some(3)));
    assert_eq!(end(&d, "192.0.2.18", 1024 + 64), Ok(v6("2001:db8:1:0:0:c000:212:1")));
    // Address and port are matched together: a port that no rule of the address has is the rule's around it.
    assert_eq!((number(1024), number(80)), (Some(2), Some(2)));
    let alone = domain(&[own("2001:db8:3::/48", "192.0.2.18/32", 3)]);
    assert_eq!(end(&alone, "192.0.2.18", 80), Err(Event::OutsidePortSet));
    for d in [&d, &alone] {
        assert_eq!(d.tunnel_end(v4("192.0.2.18"), None), Err(Event::OutsidePortSet), "the port decides whose it is");
    }
}

#[test]
fn overlapping_rules_are_refused() {
    let fails = |rules: &[Rule]| Domain::new(rules.to_vec()).unwrap_err();
    let a = rule("2001:db8::/40", "192.0.2.0/24", 16);
    let e = fails(&[a, rule("2001:db8:ff00::/40", "198.51.100.0/24", 8), Rule { ipv4: p4("203.0.113.0/24"), ..a }]);
    assert_eq!(e, DomainError::SameIpv6 { at: 2, other: 0, prefix: a.ipv6 });
    let b = Rule { ipv6: p6("2001:db9::/40"), ..a };
    assert_eq!(fails(&[a, b]), DomainError::SameIpv4 { at: 1, other: 0, rule: b });
    let (c, d) = (own("2001:db8:1::/48", "192.0.2.18/32", 1), own("2001:db8:2::/48", "192.0.2.18/32", 1));
    assert_eq!(fails(&[c, d]), DomainError::SameIpv4 { at: 1, other: 0, rule: d });
    let other_offset = Rule { offset: 4, ..own("2001:db8:3::/48", "192.0.2.18/32", 2) };
    assert!(matches!(fails(&[c, other_offset]), DomainError::SameIpv4 { .. }));
    assert!(matches!(fails(&[a, rule("2001:db8::/65", "192.0.2.0/24", 1)]), DomainError::Rule { at: 1, .. }));
}

#[test]
fn the_longest_rule_of_a_prefix_and_one_that_overlaps_it_are_found() {
    let d = domain(&[rule("2001:db8::/40", "192.0.2.0/24", 16), rule("2001:db8:12::/48", "198.51.100.0/24", 8)]);
    let prefixes = ["2001:db8:12:3400::", "2001:db8:13:3400::", "2001:db9::"];
    assert_eq!(prefixes.map(|prefix| d.by_ipv6(upper(prefix))), [Some(1), Some(0), None]);
    assert_eq!((d.overlaps(p6("2001:db8:12::/64")), d.overlaps(p6("2001::/16"))), (Some(0), Some(0)));
    assert_eq!(d.overlaps(p6("2001:db9::/96")), None);
}

#[test]
fn a_list_is_read() {
    let d = Domain::parse(
        "# the domain\n\n2001:db8::/40 192.0.2.0/24 16 # the default offset\n\
         2001:db8:ff12:3400::/56\t198.51.100.18/32 0 psid=0x34/8 offset=4\n",
    )
    .unwrap();
    assert_eq!(d.rules()[0], rule("2001:db8::/40", "192.0.2.0/24", 16));
    let psid = Some(Psid { len: 8, value: 0x34 });
    let second = Rule { offset: 4, psid, ..rule("2001:db8:ff12:3400::/56", "198.51.100.18/32", 0) };
    assert_eq!(d.rules()[1], second);
    let again = d.rules().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(Domain::parse(&again).unwrap().rules(), d.rules(), "what is printed can be read");
}

#[test]
fn mistakes_in_a_list_have_a_line() {
    let good = "2001:db8::/40 192.0.2.0/24 16\n";
    for (bad, says) in [
        ("2001:db8::/40", "line 2: a rule has an IPv6 prefix"),
        ("2001:db8:: 192.0.2.0/24 16", "line 2, word 1: `2001:db8::` is no prefix"),
        ("2001:db9::/40 192.0.2/24 16", "line 2, word 2: `192.0.2/24` is no prefix"),
        ("2001:db9::/40 192.0.2.0/24 sixteen", "line 2, word 3: `sixteen`"),
        ("2001:db9::/40 192.0.2.0/24 16 offset=-1", "line 2, word 4: `-1`"),
        ("2001:db9::/40 192.0.2.0/24 16 offset=6 offset=6", "line 2, word 5: `offset=6`: said before"),
        ("2001:db9::/40 192.0.2.0/24 8 psid=3", "line 2, word 4: `3`: write VALUE/BITS"),
        ("2001:db9::/40 192.0.2.0/24 8 psid=300/8", "line 2: PSID 300 does not fit the 8 bits"),
        ("2001:db9::/40 192.0.2.0/24 8 mesh", "line 2, word 4: `mesh`"),
        ("2001:db9::/60 198.51.100.0/24 8", "line 2: an IPv6 prefix of length 60 and 8 EA bits"),
        ("2001:db8::/40 198.51.100.0/24 8", "(the other one: line 1)"),
        ("2001:db9::/40 192.0.2.0/24 16", "(the other one: line 1)"),
    ] {
        let e = Domain::parse(&format!("{good}{bad}\n")).unwrap_err().to_string();
        assert!(e.contains(says), "{bad}: {e}");
    }
}

proptest! {
    /// The rule found by IPv4 address is the one that a look at each would find, and the address made lies in it.
    #[test]
    fn look_ups_agree_with_looking_at_each(seeds in proptest::collection::vec((8u8..=32, 0u32..64, 0u32..16), 1..40), a: u32) {
        let mut rules: Vec<Rule> = Vec::new();
        for (i, (len, net, host)) in seeds.into_iter().enumerate() {
            let ipv4 = wire::Prefix4 { addr: (10 << 24 | net << 12 | host).into(), len };
            let ipv4 = wire::Prefix4 { addr: (u32::from(ipv4.addr) & ipv4.mask()).into(), len };
            if rules.iter().all(|r| r.ipv4 != ipv4) {
                let ipv6 = p6(&format!("2001:{:x}::/32", i + 1));
                rules.push(Rule::new(ipv6, ipv4, (32 - len).min(32)));
            }
        }
        let d = Domain::new(rules.clone()).unwrap();
        for addr in [a, 10 << 24 | a & 0x3f00f, 10 << 24 | a & 0xff_ffff] {
            let best = (0..rules.len()).filter(|&i| rules[i].ipv4.contains(addr)).max_by_key(|&i| rules[i].ipv4.len);
            prop_assert_eq!(number(&d, addr, 5000), best);
            if let Some(i) = best {
                let ipv6 = d.translated(addr, Some(5000)).unwrap();
                prop_assert!(rules[i].ipv6.contains(ipv6));
            }
        }
    }
}
