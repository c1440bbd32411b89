//! The customers of a MAP domain by number, rule after rule in the order of their EA bits.

use plane::map::{Customer, Mapping, Rule, RuleError};
use wire::PortSet;

#[derive(Clone, Debug)]
pub(crate) struct Customers {
    mappings: Vec<Mapping>,
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    rule: usize,
    first: u64,
    count: u64,
}

impl Customers {
    /// The customers, without those of a longer prefix inside a rule's (RFC 7597, section 5.2);
    /// fails for the first invalid rule.
    pub(crate) fn of(rules: &[Rule]) -> Result<Customers, RuleError> {
        let mappings: Vec<Mapping> = rules.iter().map(Rule::prepare).collect::<Result<_, _>>()?;
        let runs = (0..rules.len()).flat_map(|i| runs(rules, i)).collect();
        Ok(Customers { mappings, runs })
    }

    pub(crate) fn count(&self) -> u64 {
        self.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.count))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Customer> + '_ {
        self.runs.iter().flat_map(|run| (0..run.count).map(|i| self.mappings[run.rule].nth(run.first + i)))
    }

    pub(crate) fn nth(&self, n: u64) -> Option<Customer> {
        let mut left = n;
        for run in &self.runs {
            if left < run.count {
                return Some(self.mappings[run.rule].nth(run.first + left));
            }
            left -= run.count;
        }
        None
    }

    pub(crate) fn smallest_set(&self) -> Option<PortSet> {
        let sets = self.runs.iter().map(|run| self.mappings[run.rule].nth(run.first).ports);
        sets.min_by_key(|set| set.count())
    }
}

fn runs(rules: &[Rule], i: usize) -> Vec<Run> {
    let all = 1u64 << rules[i].ea_bits;
    let others = rules.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, rule)| rule);
    let mut holes: Vec<(u64, u64)> = others.flat_map(|other| holes(&rules[i], other)).collect();
    holes.sort_unstable();
    let (mut first, mut found) = (0, Vec::new());
    for (from, count) in holes.into_iter().chain([(all, 0)]) {
        if from > first {
            found.push(Run { rule: i, first, count: from - first });
        }
        first = first.max(from + count);
    }
    found
}

/// Customers of `rule` that belong to a rule inside its prefixes: first EA bits and number, in IPv6 and in IPv4.
fn holes(rule: &Rule, other: &Rule) -> impl Iterator<Item = (u64, u64)> {
    let suffix = rule.ea_bits.min(32 - rule.ipv4.len);
    let psid = rule.ea_bits - suffix;
    let over6 = other.ipv6.len > rule.ipv6.len && rule.ipv6.contains(other.ipv6.first());
    let over6 = over6.then(|| {
        let length = rule.ipv6.len + rule.ea_bits;
        let ea = (other.ipv6.first() >> (128 - u32::from(length))) as u64 & ((1 << rule.ea_bits) - 1);
        (ea, 1 << length.saturating_sub(other.ipv6.len))
    });
    let over4 = other.ipv4.len > rule.ipv4.len && rule.ipv4.contains(other.ipv4.addr.into());
    let over4 = over4.then(|| {
        let length = rule.ipv4.len + suffix;
        let host = u64::from(u32::from(other.ipv4.addr) & !rule.ipv4.mask());
        let first = host >> (32 - length) << psid;
        (first, 1u64 << length.saturating_sub(other.ipv4.len) << psid)
    });
    over6.into_iter().chain(over4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::map::{Domain, Psid};
    use std::net::Ipv4Addr;
    use wire::Prefix4;
    use wire::Prefix6;

    fn rule(ipv6: (&str, u8), ipv4: (&str, u8), ea_bits: u8) -> Rule {
        let ipv4 = Prefix4 { addr: ipv4.0.parse().unwrap(), len: ipv4.1 };
        Rule { offset: 4, ..Rule::new(Prefix6 { addr: ipv6.0.parse().unwrap(), len: ipv6.1 }, ipv4, ea_bits) }
    }

    /// Every counted customer, and no other, has its addresses and ports by the domain's own look-ups.
    fn agree(rules: &[Rule]) -> Customers {
        let (domain, customers) = (Domain::new(rules.to_vec()).unwrap(), Customers::of(rules).unwrap());
        assert_eq!(customers.iter().count() as u64, customers.count());
        for (n, c) in (0..).zip(customers.iter()) {
            assert_eq!(customers.nth(n), Some(c));
            let last = c.ports.count() - 1;
            for port in [0, last / 3, last].map(|at| Some(c.ports.nth(at))) {
                assert_eq!(domain.tunnel_end(c.ipv4.addr.into(), port), Ok(c.address.to_bits()), "{c:?}");
            }
            let upper = (c.address.to_bits() >> 64) as u64;
            assert_eq!(domain.by_ipv6(upper).map(|rule| domain.mapping(rule).customer_at(upper)), Some(c));
        }
        assert_eq!(customers.nth(customers.count()), None);
        customers
    }

    #[test]
    fn several_rules_one_after_the_other() {
        let rules = [
            rule(("2001:db8:1::", 50), ("203.0.113.0", 24), 12),
            rule(("2001:db8:2::", 56), ("198.51.100.0", 28), 4),
            rule(("2001:db8:3::", 56), ("192.0.2.0", 24), 4),
            Rule { psid: Some(Psid { len: 8, value: 0x34 }), ..rule(("2001:db8:4::", 56), ("192.0.3.18", 32), 0) },
            Rule { psid: Some(Psid { len: 8, value: 0x35 }), ..rule(("2001:db8:4:100::", 56), ("192.0.3.18", 32), 0) },
        ];
        let customers = agree(&rules);
        assert_eq!(customers.count(), 4096 + 16 + 16 + 2);
        let of = |n| customers.nth(n).unwrap();
        assert_eq!(of(4096).ipv4.addr, Ipv4Addr::new(198, 51, 100, 0));
        assert_eq!((of(4113).ipv4.addr, of(4113).ipv4.len), (Ipv4Addr::new(192, 0, 2, 16), 28));
        assert_eq!((of(4128).ports.psid, of(4129).ports.psid), (0x34, 0x35));
        assert_eq!(customers.smallest_set().unwrap().count(), 15 << 4, "8 bits of PSID");
    }

    /// RFC 7597, section 5.2: the longest match counts.
    #[test]
    fn addresses_and_ports_of_another_rule_are_unassigned() {
        let whole = rule(("2001:db8:1::", 48), ("203.0.113.0", 24), 12);
        // In IPv6 only: sixteen customers' prefixes, and a part of one.
        let six = agree(&[whole, rule(("2001:db8:1:1000::", 56), ("192.0.2.0", 32), 4)]);
        assert_eq!(six.count(), 4096 - 16 + 16);
        let part = agree(&[whole, rule(("2001:db8:1:1000::", 62), ("192.0.2.0", 32), 2)]);
        assert_eq!(part.count(), 4096 - 1 + 4);
        // In IPv4 only: an address, and then all of them.
        let four = agree(&[whole, rule(("2001:db8:2::", 56), ("203.0.113.5", 32), 2)]);
        assert_eq!(four.count(), 4096 - 16 + 4);
        let psid = Some(Psid { len: 8, value: 7 });
        let ports = agree(&[whole, Rule { psid, ..rule(("2001:db8:2::", 56), ("203.0.113.5", 32), 0) }]);
        assert_eq!(ports.count(), 4096 - 16 + 1);
        let halves = [0, 128].map(|h| {
            rule((["2001:db8:2::", "2001:db8:3::"][h / 128], 56), (["203.0.113.0", "203.0.113.128"][h / 128], 25), 8)
        });
        assert_eq!(agree(&[whole, halves[0], halves[1]]).count(), 512);
        let prefixes = rule(("2001:db8:1::", 56), ("203.0.113.0", 24), 4);
        let inside = agree(&[prefixes, rule(("2001:db8:2::", 56), ("203.0.113.37", 32), 0)]);
        assert_eq!(inside.count(), 16 - 1 + 1);
    }
}
