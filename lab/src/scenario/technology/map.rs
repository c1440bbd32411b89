//! Parameters of a MAP domain: its rules as they are written, and which of its customers a CE is. Apart from the other
//! technologies, because rules are tables of their own.

use super::State;
use plane::map::{Psid, Rule};
use serde::{Deserialize, Serialize};
use wire::{Prefix4, Prefix6};

/// Parameters of a MAP domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Map {
    /// The first rule, and most often the only one.
    #[serde(flatten)]
    pub rule: MapRule,
    /// Further rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<MapRule>,
    /// Into how many rules of longer prefixes the one rule is cut: customers and their addresses are the same.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rules: u64,
    /// Which customer the CE is: its number, from rule to rule in the order of their EA bits.
    pub ce: u64,
    /// The customer's own addresses.
    pub inside: Vec<Prefix4>,
    /// The CE's NAT.
    pub state: State,
}

/// A mapping rule (RFC 7597, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MapRule {
    /// Rule IPv6 prefix.
    pub ipv6: Prefix6,
    /// Rule IPv4 prefix.
    pub ipv4: Prefix4,
    /// EA bits.
    pub ea_bits: u8,
    /// PSID offset.
    pub psid_offset: u8,
    /// Length and value of a PSID of its own, where the EA bits hold none (section 5.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psid: Option<(u8, u16)>,
    /// A Forwarding Mapping Rule: CEs send to its customers without the relay (section 5, mesh mode).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forwarding: bool,
}

impl MapRule {
    /// As the plane has it.
    pub fn rule(&self) -> Rule {
        let psid = self.psid.map(|(len, value)| Psid { len, value });
        Rule { offset: self.psid_offset, psid, ..Rule::new(self.ipv6, self.ipv4, self.ea_bits) }
    }
}

impl Map {
    /// All rules as they are written.
    pub fn written(&self) -> impl Iterator<Item = &MapRule> {
        std::iter::once(&self.rule).chain(&self.further)
    }
    /// How many rules there are: written, or cut.
    pub fn count(&self) -> u64 {
        if self.further.is_empty() { self.rules } else { 1 + self.further.len() as u64 }
    }
    /// Into how many rules one can be cut: EA bits that continue the IPv4 address become prefix.
    pub fn rules_room(&self) -> u64 {
        1 << self.rule.ea_bits.min(32 - self.rule.ipv4.len)
    }
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_one(n: &u64) -> bool {
    *n == 1
}
