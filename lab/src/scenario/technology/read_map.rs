//! Reading the rules of a MAP domain: one whose keys stand in the technology's table, or several with a table each. Here are
//! also the complaints about rules that do not fit, for themselves or beside the others, because only here they have words.

use super::read::Reading;
use super::{Map, MapRule};
use crate::scenario::diagnostic::{Diagnostic, Place};
use crate::scenario::section::{self, Given, Section};
use crate::technology::Customers;
use plane::map::{Domain, DomainError, RuleError};
use wire::Prefix6;

/// The words of a rule.
#[derive(Clone, Copy, Default)]
struct Words {
    ipv6: Option<Place>,
    ipv4: Option<Place>,
    ea: Option<Place>,
    offset: Option<Place>,
    psid: Option<Place>,
    length: Option<Place>,
}

/// A rule and its words.
type Written = (MapRule, Words);

/// Keys that must be there and are not, with an example.
type Missing = Vec<(&'static str, &'static str)>;

/// Keys of the one rule that the technology's table has room for.
const OWN: [&str; 7] = ["ipv6-prefix", "ipv4-prefix", "ea-bits", "psid-offset", "psid", "psid-length", "forwarding"];

impl Reading<'_> {
    /// The domain. `relay` is the key of what the border relay has of IPv6 addresses, and these.
    pub(super) fn map(&mut self, relay: (&'static str, Option<Prefix6>)) -> Option<Map> {
        let written = self.rules();
        let ce = self.section.get("ce", section::count);
        let (inside, state) = (self.inside(), self.state());
        let written = written?;
        let (rules, words): (Vec<MapRule>, Vec<Words>) = written.into_iter().unzip();
        let (rule, further) = rules.split_first()?;
        let map = Map { rule: *rule, further: further.to_vec(), rules: 1, ce: ce.value.unwrap_or(0), inside, state };
        self.fit(&rules, &words, relay).then_some(())?;
        self.who(&map, &ce);
        Some(map)
    }

    /// The rules, wherever they stand.
    fn rules(&mut self) -> Option<Vec<Written>> {
        let Some((key, tables)) = self.section.tables("rule") else {
            let (written, missing) = rule(&mut self.section);
            self.missing.extend(missing);
            return Some(vec![written?]);
        };
        if let Some(own) = OWN.iter().find_map(|key| self.section.key(key)) {
            let diagnostic = Diagnostic::new("mapping rules stand in one place");
            let diagnostic = diagnostic.at(own, "a rule here").at(key, "and rules with tables of their own");
            self.section.complain(diagnostic.instead("give this rule a table of its own, too"));
        }
        let path = format!("{}.rule", self.section.path());
        let mut all = Vec::new();
        for (place, table) in tables {
            let mut section = self.section.below(table, &path);
            let (written, missing) = rule(&mut section);
            for (key, example) in missing {
                let diagnostic = Diagnostic::new(format!("a rule without `{key}`")).at(place, "this one");
                section.complain(diagnostic.instead(format!("add {key} = {example}")));
            }
            section.finish();
            all.push(written);
        }
        // None of them were read if there are none: that has been complained about.
        all.into_iter().collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
    }

    /// Whether every rule makes sense, also beside the others, and the relay is none of their customers.
    fn fit(&mut self, rules: &[MapRule], words: &[Words], (key, relay): (&'static str, Option<Prefix6>)) -> bool {
        let domain = match Domain::new(rules.iter().map(MapRule::rule).collect()) {
            Ok(domain) => domain,
            Err(e) => {
                self.section.complain(misfit(&e, rules, words));
                return false;
            }
        };
        let Some((relay, at)) = relay.and_then(|relay| Some((relay, domain.overlaps(relay)?))) else { return true };
        let diagnostic = Diagnostic::new("the border relay is among the customers of a mapping rule");
        let diagnostic = diagnostic.at(self.section.value(key), format!("{relay} overlaps {}", rules[at].ipv6));
        let diagnostic = diagnostic.at(words[at].ipv6, "the rule's prefix");
        self.section.complain(diagnostic.instead(format!("choose a `{key}` outside of all rules")));
        true
    }

    /// The CE is a customer.
    fn who(&mut self, map: &Map, ce: &Given<u64>) {
        let room = Customers::of(map).map_or(0, |customers| customers.count());
        if map.ce >= room {
            let diagnostic =
                Diagnostic::new(format!("the rules have room for {room} customers; number {} is none", map.ce));
            let diagnostic = diagnostic.at(ce.place, "counted from 0, rule after rule");
            self.section.complain(diagnostic.instead(match room.checked_sub(1) {
                Some(last) => format!("write ce = {last} at most, or give more `ea-bits`"),
                None => "leave room for customers between the rules that lie in each other".to_owned(),
            }));
        }
    }
}

/// Read one rule; the keys that it lacks.
fn rule(section: &mut Section<'_>) -> (Option<Written>, Missing) {
    let ipv6 = section.get("ipv6-prefix", section::prefix6);
    let ipv4 = section.get("ipv4-prefix", section::prefix4_of_rule);
    let ea = section.get("ea-bits", section::count_in(0..=48));
    let offset = section.get("psid-offset", section::count_in(0..=16));
    let psid = section.get("psid", section::count_in(0..=65_535));
    let length = section.get("psid-length", section::count_in(1..=16));
    let forwarding = section.get("forwarding", section::yes_or_no).value.unwrap_or(false);
    for (one, key, example, other) in
        [(&psid, "psid", "psid-length = 8", &length), (&length, "psid-length", "psid = 52", &psid)]
    {
        if one.place.is_some() && other.place.is_none() {
            let diagnostic = Diagnostic::new("a PSID of its own has a value and a length").at(one.place, "one of them");
            section.complain(diagnostic.instead(format!("add {example}, or leave `{key}` out")));
        }
    }
    let words = Words {
        ipv6: ipv6.place,
        ipv4: ipv4.place,
        ea: ea.place,
        offset: offset.place,
        psid: psid.place,
        length: length.place,
    };
    let needed = [
        (words.ipv6, "ipv6-prefix", "\"2001:2:0:8000::/53\""),
        (words.ipv4, "ipv4-prefix", "\"192.0.2.0/24\""),
        (words.ea, "ea-bits", "11"),
    ];
    let missing = needed.into_iter().filter(|n| n.0.is_none()).map(|n| (n.1, n.2)).collect();
    let own = length.value.zip(psid.value).map(|(len, value)| (len as u8, value as u16));
    let read = || {
        Some(MapRule {
            ipv6: ipv6.value?,
            ipv4: ipv4.value?,
            ea_bits: ea.value? as u8,
            psid_offset: offset.value.unwrap_or(6) as u8,
            psid: own,
            forwarding,
        })
    };
    (read().map(|rule| (rule, words)), missing)
}

/// What is wrong with a rule, or with two of them.
fn misfit(e: &DomainError, rules: &[MapRule], words: &[Words]) -> Diagnostic {
    match e {
        DomainError::Rule { at, why } => alone(why, &rules[*at], words[*at]),
        DomainError::SameIpv6 { at, other, prefix } => {
            Diagnostic::new(format!("two mapping rules have the IPv6 prefix {prefix}"))
                .at(words[*at].ipv6, "the second")
                .at(words[*other].ipv6, "the first")
                .instead("give each rule's customers IPv6 prefixes of their own; prefixes may lie in each other")
        }
        DomainError::SameIpv4 { at, other, rule } => {
            Diagnostic::new(format!("two mapping rules have the IPv4 prefix {}", rule.ipv4))
                .at(words[*at].ipv4, "the second")
                .at(words[*other].ipv4, "the first")
                .instead(
                    "give each rule a prefix of its own, or a `psid` of its own: all different, with the same \
                     psid-length and psid-offset",
                )
        }
        DomainError::TooMany(n) => Diagnostic::new(format!("{n} mapping rules")).instead(e.to_string()),
    }
}

/// What is wrong with a rule for itself.
fn alone(why: &RuleError, rule: &MapRule, words: Words) -> Diagnostic {
    let diagnostic = Diagnostic::new("this mapping rule does not fit");
    let bits = 32 - rule.ipv4.len;
    let (places, way_out) = match why {
        RuleError::EaBits { most, .. } => ([words.ea, words.ipv4, None], format!("write ea-bits = {most} at most")),
        RuleError::TooLong { prefix, .. } => {
            let most = 64 - prefix;
            ([words.ea, words.ipv6, None], format!("write ea-bits = {most} at most, or a shorter ipv6-prefix"))
        }
        RuleError::PsidTwice { .. } => {
            ([words.psid, words.ea, words.ipv4], format!("write ea-bits = {bits}, or leave psid and psid-length out"))
        }
        RuleError::Ports(_) => (
            [words.psid.or(words.offset).or(words.ea), words.length, words.offset.filter(|_| words.psid.is_some())],
            "psid-offset and the PSID's length are 16 together at most, and the PSID is below 2^length".to_owned(),
        ),
        _ => ([words.ipv6, None, None], "write a prefix of 1 to 64 bits".to_owned()),
    };
    let [first, second, third] = places;
    let diagnostic = diagnostic.at(first, why.to_string()).at(second, "with this").at(third, "and this");
    diagnostic.instead(way_out)
}
