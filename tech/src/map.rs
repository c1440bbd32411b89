//! A MAP domain (RFC 7597, RFC 7599): its rules, and the CE's customer.

use crate::address_sharing::{listed, seen, sharing, used_ports};
use crate::customers::Customers;
use crate::gateway::TableLoad;
use crate::laboratory::overlap;
use crate::outside::Ports;
use crate::prelude::*;
use crate::row::RuleRow;
use key::kind::{any_number, any_prefix4, number, yes_or_no};
use key::{At, Key};
use plane::map::{Customer, Domain, DomainError, Psid, Rule, RuleError};
use plane::view::{self, BedAddresses, Subscriber6};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;
use wire::{AddrRange, FlowSpace, Prefix4};

key::table! {
    /// A mapping rule (RFC 7597, section 5). A domain with one rule has its keys in the technology's own table, one with several
    /// has a table for each and none of these keys in its own.
    pub struct RuleKeys {
        /// Rule IPv6 prefix, of 1 to 64 bits.
        ipv6: Prefix6 = "ipv6-prefix", prefix6(), needed("\"2001:2:0:8000::/53\"");
        /// Rule IPv4 prefix.
        ipv4: Prefix4 = "ipv4-prefix", any_prefix4(), needed("\"192.0.2.0/24\"");
        /// Number of embedded address bits (RFC 7597, section 5.2).
        ea_bits: u8 = "ea-bits", number(0..=48), needed("11");
        /// Offset of the PSID in a port (RFC 7597, section 5.1).
        psid_offset: u8 = "psid-offset", number(0..=16), or("6");
        /// PSID of the rule itself, where its EA bits hold none (RFC 7597, section 5.2).
        psid: Option<u16> = "psid", maybe(number(0..=65_535)), computed("none");
        /// Its length.
        psid_len: Option<u8> = "psid-length", maybe(number(1..=16)), computed("none");
        /// A Forwarding Mapping Rule: CEs send to its customers without the relay (RFC 7597, section 5, mesh mode).
        forwarding: bool = "forwarding", yes_or_no(), or("false");
    }
}

key::table! {
    /// The customer's edge in a domain.
    pub struct CeKeys {
        /// The customer that the CE is: its number from 0, rule after rule, in the order of their EA bits. Rules may lie in each
        /// other: the longest match counts, and customers whose addresses or ports another rule has do not exist.
        ce: u64 = "ce", any_number(), or("0");
    }
}

#[derive(Clone, Debug)]
struct MapRule {
    keys: RuleKeys,
    /// Path below the technology's table: empty, or `.rule[2]`.
    path: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// Written rules, at least one.
    written: Vec<MapRule>,
    /// Number of rules into which the one rule is divided.
    rules: u64,
    ce: u64,
}

pub(crate) fn chapters<T: Table>(path: &str) -> Vec<Chapter> {
    let mut own = Chapter::of::<T>(path).lenient();
    let rule: Vec<&'static Key> = RuleKeys::keys();
    own.keys.extend(rule);
    vec![own, Chapter::of::<RuleKeys>(format!("{path}.rule")).as_array()]
}

impl MapRule {
    fn rule(&self) -> Rule {
        let RuleKeys { ipv6, ipv4, ea_bits, psid_offset, .. } = self.keys;
        let psid = self.keys.psid_len.zip(self.keys.psid).map(|(len, value)| Psid { len, value });
        Rule { offset: psid_offset, psid, ..Rule::new(ipv6, ipv4, ea_bits) }
    }

    fn at(&self, key: &str) -> At {
        At::Value(format!("{}.{key}", self.path))
    }

    fn half(&self) -> Option<Fault> {
        let halves = [("psid", "psid-length = 8", "psid-length"), ("psid-length", "psid = 52", "psid")];
        let given = [self.keys.psid.is_some(), self.keys.psid_len.is_some()];
        let (key, example, other) = match given {
            [true, false] => halves[0],
            [false, true] => halves[1],
            _ => return None,
        };
        let fault = Fault::new("a PSID of its own has a value and a length").at(self.at(key), "one of them");
        Some(fault.needs(self.at(other)).instead(format!("add {example}, or leave `{key}` out")))
    }
}

impl Map {
    /// `relay` is the key and the addresses of the border relay.
    pub(crate) fn read(section: &mut Section<'_>, ce: u64, relay: (&str, Option<Prefix6>)) -> Option<Map> {
        let own = RuleKeys::keys().into_iter().map(|key| key.name).find(|key| section.has(key));
        let each = section.each("rule", RuleKeys::read);
        let written: Vec<MapRule> = match each {
            None => vec![MapRule { keys: RuleKeys::read(section)?, path: String::new() }],
            Some(tables) => {
                if let Some(own) = own {
                    let fault =
                        Fault::new("mapping rules stand in one place").at(At::key(format!(".{own}")), "a rule here");
                    let fault = fault.at(At::key(".rule"), "and rules with tables of their own");
                    section.fault(fault.instead("give this rule a table of its own, too"));
                }
                let rules: Option<Vec<RuleKeys>> = tables.into_iter().collect();
                let numbered = rules?.into_iter().enumerate();
                numbered.map(|(at, keys)| MapRule { keys, path: format!(".rule[{at}]") }).collect()
            }
        };
        if written.is_empty() {
            return None;
        }
        let map = Map { written, rules: 1, ce };
        let faults = map.misfits(relay);
        let sound = faults.is_empty();
        for fault in faults {
            section.fault(fault);
        }
        sound.then_some(map)
    }

    /// Invalid or conflicting rules, a relay among the customers, or a CE that is none.
    fn misfits(&self, (key, relay): (&str, Option<Prefix6>)) -> Vec<Fault> {
        let halves: Vec<Fault> = self.written.iter().filter_map(MapRule::half).collect();
        if !halves.is_empty() {
            return halves;
        }
        let domain = match Domain::new(self.written().map(MapRule::rule).collect()) {
            Ok(domain) => domain,
            Err(e) => return vec![self.misfit(&e)],
        };
        if let Some((relay, at)) = relay.and_then(|relay| Some((relay, domain.overlaps(relay)?))) {
            let rule = &self.written[at];
            let fault = Fault::new("the border relay is among the customers of a mapping rule")
                .at(format!(".{key}"), format!("{relay} overlaps {}", rule.keys.ipv6))
                .at(rule.at("ipv6-prefix"), "the rule's prefix");
            return vec![fault.instead(format!("choose a `{key}` outside of all rules"))];
        }
        let room = self.all_customers().map_or(0, |customers| customers.count());
        if self.ce < room {
            return Vec::new();
        }
        let fault = Fault::new(format!("the rules have room for {room} customers; number {} is none", self.ce));
        vec![fault.at(".ce", "counted from 0, rule after rule").instead(match room.checked_sub(1) {
            Some(last) => format!("write ce = {last} at most, or give more `ea-bits`"),
            None => "leave room for customers between the rules that lie in each other".to_owned(),
        })]
    }

    fn misfit(&self, e: &DomainError) -> Fault {
        let rule = |at: &usize| &self.written[*at];
        match e {
            DomainError::Rule { at, why } => alone(why, rule(at)),
            DomainError::SameIpv6 { at, other, prefix } => {
                Fault::new(format!("two mapping rules have the IPv6 prefix {prefix}"))
                    .at(rule(at).at("ipv6-prefix"), "the second")
                    .at(rule(other).at("ipv6-prefix"), "the first")
                    .instead("give each rule's customers IPv6 prefixes of their own; prefixes may lie in each other")
            }
            DomainError::SameIpv4 { at, other, rule: twice } => {
                Fault::new(format!("two mapping rules have the IPv4 prefix {}", twice.ipv4))
                    .at(rule(at).at("ipv4-prefix"), "the second")
                    .at(rule(other).at("ipv4-prefix"), "the first")
                    .instead(
                        "give each rule a prefix of its own, or a `psid` of its own: all different, with the same \
                         psid-length and psid-offset",
                    )
            }
            DomainError::TooMany(n) => Fault::new(format!("{n} mapping rules")).instead(e.to_string()),
        }
    }

    fn written(&self) -> impl Iterator<Item = &MapRule> {
        self.written.iter()
    }

    fn one(&self) -> Option<&RuleKeys> {
        if let [one] = self.written.as_slice() { Some(&one.keys) } else { None }
    }

    /// Number of rules after the division.
    fn count(&self) -> u64 {
        if self.one().is_some() { self.rules } else { self.written.len() as u64 }
    }

    fn all_customers(&self) -> Result<Customers, RuleError> {
        Customers::of(&self.written().map(MapRule::rule).collect::<Vec<_>>())
    }

    pub(crate) fn customer(&self) -> Result<Customer, String> {
        let all = self.all_customers().map_err(why)?;
        let room = || format!("the rules have room for {} customers; ce = {} is none", all.count(), self.ce);
        all.nth(self.ce).ok_or_else(room)
    }

    fn customers(&self, n: u32) -> Result<Vec<Customer>, String> {
        let all = self.all_customers().map_err(why)?;
        let found: Vec<Customer> = all.iter().take(n as usize).collect();
        if found.len() < n as usize {
            return Err(format!("{n} subscribers, but the rules have room for {} customers", all.count()));
        }
        Ok(found)
    }

    pub(crate) fn customer_rows(
        &self,
        plays: Plays,
        flows: &Flows,
        provider: Prefix6,
    ) -> Result<Vec<CustomerRow>, String> {
        let all = if plays == Plays::Pe { self.customers(flows.subscribers)? } else { vec![self.customer()?] };
        let row = |c: &Customer| CustomerRow {
            ipv6: Prefix6 { addr: c.address, len: 128 },
            provider: Some(provider),
            ipv4: Some(c.ipv4),
            ports: c.ports,
            prefix: Some(c.prefix),
        };
        Ok(all.iter().map(row).collect())
    }

    /// Rules of the edge: its customer's, or all.
    pub(crate) fn mapping_rules(&self, edge: Plays) -> Vec<RuleRow> {
        let rules = if edge == Plays::Ce {
            self.customer().map(|customer| vec![self.rule_of(&customer).rule()]).unwrap_or_default()
        } else {
            self.rules()
        };
        rules.into_iter().map(RuleRow).collect()
    }

    pub(crate) fn domain(&self) -> Result<MapEdges, String> {
        let began = Instant::now();
        let domain = Domain::new(self.rules()).map_err(why)?;
        let loaded = TableLoad { entries: self.count(), octets: domain.bytes(), took: began.elapsed() };
        let forwarding = self.written().filter(|rule| rule.keys.forwarding).map(MapRule::rule);
        let mesh = Domain::new(forwarding.collect()).map_err(why)?;
        Ok(MapEdges { domain: Arc::new(domain), customer: self.customer()?, mesh: Arc::new(mesh), loaded })
    }

    fn rules(&self) -> Vec<Rule> {
        match self.written.as_slice() {
            [one] => cut(&one.rule(), self.rules),
            all => all.iter().map(MapRule::rule).collect(),
        }
    }

    pub(crate) fn seen(&self) -> Result<view::OutsideRanges, String> {
        let customer = self.customer()?;
        Ok(seen(customer.pool(), customer.ports))
    }

    pub(crate) fn rows(&self, bed: &BedAddresses) -> Result<Vec<Subscriber6>, String> {
        let row = |c: &Customer| Subscriber6 { address: c.address.to_bits() };
        Ok(self.customers(bed.flows.subscribers())?.iter().map(row).collect())
    }

    /// The flows; of a provider edge alone, those of its customers.
    pub(crate) fn flows(&self, plays: Plays, f: &Flows) -> Result<FlowSpace, String> {
        if plays != Plays::Pe {
            return f.space().map_err(|e| e.to_string());
        }
        let customers = self.customers(f.subscribers)?;
        match (customers.as_slice(), self.one()) {
            ([Customer { ports, ipv4, .. }, ..], Some(rule)) if rule.psid.is_none() => {
                let space = sharing(f, rule.ipv4.addr, ports.offset, ports.len)?;
                space.apart(32 - ipv4.len).map_err(why)
            }
            // With several rules, addresses and ports do not follow from a customer's number.
            (all, _) => listed(f, all.iter().map(|c| (c.ipv4.addr, c.ports))),
        }
    }

    /// Addresses and ports of the CE's customer, or of all customers with the smallest port set.
    pub(crate) fn outside(&self, plays: Plays) -> Option<Outside> {
        let all = self.all_customers().ok()?;
        let (pool, set) = if plays == Plays::Pe {
            let range = |rule: &MapRule| (path(rule), all_of(rule.keys.ipv4));
            let set = all.smallest_set()?;
            (self.written().map(range).collect(), if self.one().is_some() { set } else { used_ports(set) })
        } else {
            let customer = all.nth(self.ce)?;
            (vec![(path(self.rule_of(&customer)), customer.pool())], customer.ports)
        };
        let from = self.written[0].at("ea-bits");
        Some(Outside { key: "ipv4-prefix", pool, ports: Ports::Set(set, from), beside_inside: plays != Plays::Pe })
    }

    fn rule_of(&self, customer: &Customer) -> &MapRule {
        let has = |rule: &&MapRule| rule.keys.ipv6.contains(customer.prefix.first());
        self.written().find(has).unwrap_or(&self.written[0])
    }

    pub(crate) fn fit(&self, axis: &str, plays: Plays) -> Fit {
        match (axis, self.one()) {
            (_, _) if plays != Plays::Pe => Fit::Lacks,
            ("rules", None) => {
                Fit::Refused("explicit rules cannot be swept; give a single rule, which is then divided")
            }
            ("rules", Some(rule)) if rule.ea_bits > 20 => {
                Fit::Refused("the tester plays every customer of the rules, at most 2^20: give ea-bits = 20 or fewer")
            }
            ("rules", Some(rule)) => Fit::UpTo(
                1 << rule.ea_bits.min(32 - rule.ipv4.len),
                "no rule is longer than one address, or than its EA bits",
                "give a shorter `ipv4-prefix` and more `ea-bits`",
            ),
            ("subscribers", _) => {
                let room = self.all_customers().map_or(0, |all| all.count());
                Fit::UpTo(room, "as many as the EA bits tell apart", "give more `ea-bits`")
            }
            _ => Fit::Lacks,
        }
    }

    pub(crate) fn set(&mut self, axis: &str, value: u64, flows: &mut Flows) {
        flows.subscribers = value as u32;
        if axis == "rules" {
            self.rules = value;
            flows.subscribers = self.all_customers().map_or(0, |all| all.count()) as u32;
        }
    }

    /// 152 octets a rule.
    pub(crate) fn octets(&self) -> u64 {
        152 * self.count()
    }

    /// Faults of traffic that a CE would not send to remote hosts, and of a CE that the tester cannot measure.
    pub(crate) fn faults_in_test(&self, plays: Plays, flows: &Flows) -> Vec<Fault> {
        let own = self.all_customers().ok().and_then(|all| all.nth(self.ce));
        let Some(own) = own.filter(|_| plays != Plays::Pe) else { return Vec::new() };
        let mut faults = Vec::new();
        if own.ipv4.len < 16 {
            // A NAT44 and the tester distinguish up to 65,536 outside addresses.
            let rule = self.rule_of(&own);
            let fault = Fault::new("a CE has 65,536 IPv4 addresses at most")
                .at(rule.at("ea-bits"), format!("gives the CE a prefix of length {}", own.ipv4.len))
                .at(rule.at("ipv4-prefix"), "of this");
            let more = 16 - own.ipv4.len;
            faults.push(fault.instead(format!("give {more} EA bits more, or a longer `ipv4-prefix`")));
        }
        // In mesh mode, these packets go to the customer.
        for rule in self.written().filter(|rule| plays == Plays::Dual || rule.keys.forwarding) {
            // The check of all pools covers the CE's own addresses.
            if !overlap(own.pool(), flows.remote) && overlap(all_of(rule.keys.ipv4), flows.remote) {
                faults.push(
                    Fault::new("`remote` has addresses of the customers of a mapping rule")
                        .at(rule.at("ipv4-prefix"), "packets to these go to the customers, not to `remote`")
                        .at("traffic.remote", "`remote`")
                        .instead("give `remote` addresses outside of all rules"),
                );
            }
        }
        faults
    }
}

/// A MAP domain, the CE's customer, and the rules of direct peers.
pub(crate) struct MapEdges {
    pub(crate) domain: Arc<Domain>,
    pub(crate) customer: Customer,
    pub(crate) mesh: Arc<Domain>,
    pub(crate) loaded: TableLoad,
}

fn path(rule: &MapRule) -> String {
    format!("{}.ipv4-prefix", rule.path)
}

fn all_of(prefix: Prefix4) -> AddrRange {
    AddrRange { first: prefix.addr, count: prefix.count().min(u32::MAX.into()) as u32 }
}

fn alone(why: &RuleError, rule: &MapRule) -> Fault {
    let bits = 32 - rule.keys.ipv4.len;
    let (keys, way_out): (&[&str], String) = match why {
        RuleError::EaBits { most, .. } => (&["ea-bits", "ipv4-prefix"], format!("write ea-bits = {most} at most")),
        RuleError::TooLong { prefix, .. } => {
            let most = 64 - prefix;
            (&["ea-bits", "ipv6-prefix"], format!("write ea-bits = {most} at most, or a shorter ipv6-prefix"))
        }
        RuleError::PsidTwice { .. } => {
            (&["psid", "ea-bits", "ipv4-prefix"], format!("write ea-bits = {bits}, or leave psid and psid-length out"))
        }
        RuleError::Ports(_) => {
            let keys: &[&str] = if rule.keys.psid.is_some() {
                &["psid", "psid-length", "psid-offset"]
            } else {
                &["psid-offset", "ea-bits"]
            };
            (
                keys,
                "psid-offset and the PSID's length are 16 together at most, and the PSID is below 2^length".to_owned(),
            )
        }
        _ => (&["ipv6-prefix"], "write a prefix of 1 to 64 bits".to_owned()),
    };
    let mut fault = Fault::new("this mapping rule does not fit");
    for (key, label) in keys.iter().zip([why.to_string(), "with this".to_owned(), "and this".to_owned()]) {
        fault = fault.at(rule.at(key), label);
    }
    fault.instead(way_out)
}

/// The first EA bits, which continue the IPv4 address, become part of the prefixes (RFC 7597,
/// section 5.2), so that customers stay the same. Unless the number is a power of two, the first
/// rules are one bit longer.
fn cut(whole: &Rule, rules: u64) -> Vec<Rule> {
    let bits = rules.max(1).ilog2();
    let longer = rules.max(1) - (1 << bits);
    let part = |bits: u32, i: u64| Rule {
        ipv6: Prefix6 {
            addr: Ipv6Addr::from_bits(whole.ipv6.addr.to_bits() | part_of(i, 128 - u32::from(whole.ipv6.len) - bits)),
            len: whole.ipv6.len + bits as u8,
        },
        ipv4: Prefix4 {
            addr: Ipv4Addr::from_bits(
                whole.ipv4.addr.to_bits() | part_of(i, 32 - u32::from(whole.ipv4.len) - bits) as u32,
            ),
            len: whole.ipv4.len + bits as u8,
        },
        ea_bits: whole.ea_bits - bits as u8,
        ..*whole
    };
    let long = (0..2 * longer).map(|i| part(bits + 1, i));
    long.chain((longer..1 << bits).map(|i| part(bits, i))).collect()
}

fn part_of(i: u64, shift: u32) -> u128 {
    u128::from(i).checked_shl(shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dividing_a_rule_changes_no_customer() {
        let ipv6 = Prefix6 { addr: "2001:db8:1::".parse().unwrap(), len: 48 };
        let ipv4 = Prefix4 { addr: [203, 0, 113, 0].into(), len: 27 };
        for ea_bits in [3, 5, 9] {
            let whole = Rule { offset: 4, ..Rule::new(ipv6, ipv4, ea_bits) };
            let one = whole.prepare().unwrap();
            for rules in (1..=1 << ea_bits.min(5)).filter(|n| [1, 2, 3, 5, 8, 31, 32].contains(n)) {
                let cut = cut(&whole, rules);
                assert_eq!(cut.len() as u64, rules);
                let customers: Vec<_> = cut.iter().map(|r| r.prepare().unwrap()).collect();
                let all: Vec<_> = customers.iter().flat_map(|m| (0..m.customers()).map(|i| m.nth(i))).collect();
                let wanted: Vec<_> = (0..one.customers()).map(|i| one.nth(i)).collect();
                assert_eq!(all, wanted, "{ea_bits} EA bits, {rules} rules");
                Domain::new(cut).unwrap();
            }
        }
    }
}
