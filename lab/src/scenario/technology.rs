//! `[technology.…]`: what a gateway does, with the parameters of customer edge and provider edge in one table, as
//! gateways' files and scenarios have it. A technology's table is the same whatever part of it is played.

use super::diagnostic::Diagnostic;
use super::schema;
use super::section::{self, Given, Section, Spot};
use super::tree::{Entry, Node, Table, Value};
use method::Nanos;
use plane::Prefix6;
use plane::nat44::config::{Filtering, Mapping, Prefix};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use wire::{AddrRange, PortRange};

/// Which part of a technology is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plays {
    /// Customer edge and provider edge, one behind the other: plain IPv4 on both sides.
    Dual,
    /// The customer edge: IPv4 on the left, IPv6 on the right.
    Ce,
    /// The provider edge: IPv6 on the left, IPv4 on the right.
    #[default]
    Pe,
}

/// The words for [`Plays`].
pub const PLAYS: &[(&str, Plays)] = &[("dual", Plays::Dual), ("ce", Plays::Ce), ("pe", Plays::Pe)];

/// The technologies by the names of their tables, and one line about each.
pub const KNOWN: &[(&str, &str)] = &[
    ("nat44", "stateful NAT44 (RFC 4787, 5382, 5508, 6888)"),
    ("siit", "stateless IPv4/IPv6 translation (RFC 7915, 6052, 7757)"),
    ("nat64", "stateful NAT64 (RFC 6146)"),
    ("464xlat", "464XLAT (RFC 6877): CLAT and PLAT"),
    ("ds-lite", "DS-Lite (RFC 6333): B4 and AFTR"),
    ("lw4o6", "lightweight 4over6 (RFC 7596): lwB4 and lwAFTR"),
    ("map-e", "MAP-E (RFC 7597): CE and BR"),
    ("map-t", "MAP-T (RFC 7599): CE and BR"),
];

/// A technology and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Technology {
    /// Stateful NAT44: one box, whatever is played.
    Nat44 {
        /// The customers' prefixes.
        inside: Vec<Prefix>,
        /// The NAT.
        nat: Nat,
    },
    /// Stateless translation (RFC 7915).
    Siit(Siit),
    /// Stateful NAT64 (RFC 6146): a provider edge alone.
    Nat64 {
        /// The prefix that IPv4 addresses are embedded in.
        pref64: Prefix6,
        /// The NAT.
        nat: Nat,
    },
    /// 464XLAT (RFC 6877): CLAT and PLAT.
    Xlat464 {
        /// The prefix that IPv4 addresses are embedded in.
        pref64: Prefix6,
        /// The prefix that the customer's IPv4 addresses are embedded in (RFC 6052).
        clat: Prefix6,
        /// The customer's own addresses.
        inside: Vec<Prefix>,
        /// The PLAT's NAT.
        nat: Nat,
    },
    /// DS-Lite (RFC 6333): B4 and AFTR.
    DsLite {
        /// The B4's end of its softwire.
        b4: Ipv6Addr,
        /// Ends that the AFTR accepts.
        b4s: Prefix6,
        /// The AFTR's end.
        aftr: Ipv6Addr,
        /// The customers' own addresses.
        inside: Vec<Prefix>,
        /// The AFTR's NAT.
        nat: Nat,
    },
    /// Lightweight 4over6 (RFC 7596): lwB4 and lwAFTR.
    Lw4o6(Lw4o6),
    /// MAP-E (RFC 7597): CE and BR.
    MapE {
        /// The domain.
        map: Map,
        /// The BR's address.
        br: Ipv6Addr,
    },
    /// MAP-T (RFC 7599): CE and BR.
    MapT {
        /// The domain.
        map: Map,
        /// The default mapping rule: the prefix that other IPv4 addresses are embedded in.
        dmr: Prefix6,
    },
}

/// A stateful NAT at the provider's edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Nat {
    /// Outside addresses.
    pub pool: Vec<AddrRange>,
    /// Outside ports.
    pub pool_ports: PortRange,
    /// How it keeps state.
    pub state: State,
}

/// How a NAT keeps state, at whichever edge it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct State {
    /// Mapping behaviour.
    pub mapping: Mapping,
    /// Filtering behaviour.
    pub filtering: Filtering,
    /// Most sessions; 0 until [`Technology::settle`] where nobody said.
    pub table: u64,
    /// UDP timeout.
    pub udp_timeout: Nanos,
    /// Whether customers reach each other by outside addresses.
    pub hairpinning: bool,
}

/// Parameters of SIIT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Siit {
    /// Explicit address maps (RFC 7757).
    pub eam: Vec<(Prefix, Prefix6)>,
    /// The prefix for all others.
    pub pref64: Option<Prefix6>,
    /// IPv6 is spoken on the left.
    pub ipv6_left: bool,
}

/// Parameters of lightweight 4over6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lw4o6 {
    /// The lwAFTR's end of all softwires.
    pub lwaftr: Ipv6Addr,
    /// The binding table.
    pub softwires: Softwires,
    /// Which softwire the lwB4 has: its place in the table.
    pub ce: u64,
    /// The customer's own addresses.
    pub inside: Vec<Prefix>,
    /// The lwB4's NAT.
    pub state: State,
}

/// A binding table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Softwires {
    /// From a file.
    File(PathBuf),
    /// In a row: addresses of a prefix shared by 2^psid-length customers each, B4s numbered upwards.
    Row {
        /// Shared addresses.
        ipv4: Prefix,
        /// The first B4's address; the next differ in the upper half: one /64 each.
        b4: Ipv6Addr,
        /// PSID length.
        psid_len: u8,
        /// PSID offset.
        psid_offset: u8,
        /// How many there are; `None`: as many as the addresses have port sets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
}

impl Softwires {
    /// How many there can be: those of all port sets of all addresses, or those of a file, which are not known yet.
    pub fn room(&self) -> u64 {
        match self {
            Softwires::File(_) => 0,
            Softwires::Row { ipv4, psid_len, .. } => ipv4.count() << psid_len,
        }
    }
    /// How many there are, as [`Self::room`].
    pub fn count(&self) -> u64 {
        match self {
            Softwires::File(_) => 0,
            Softwires::Row { count, .. } => count.unwrap_or_else(|| self.room()),
        }
    }
}

/// Parameters of a MAP domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Map {
    /// Rule IPv6 prefix.
    pub ipv6: Prefix6,
    /// Rule IPv4 prefix.
    pub ipv4: Prefix,
    /// EA bits.
    pub ea_bits: u8,
    /// PSID offset.
    pub psid_offset: u8,
    /// Into how many rules of longer prefixes the rule is cut: customers and their addresses are the same.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rules: u64,
    /// Which customer the CE is: the value of its EA bits.
    pub ce: u64,
    /// The customer's own addresses.
    pub inside: Vec<Prefix>,
    /// The CE's NAT.
    pub state: State,
}

impl Map {
    /// How many customers the rule has room for.
    pub fn customers(&self) -> u64 {
        1 << self.ea_bits
    }
    /// Into how many rules it can be cut: EA bits that continue the IPv4 address become prefix.
    pub fn rules_room(&self) -> u64 {
        1 << self.ea_bits.min(32 - self.ipv4.len)
    }
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_one(n: &u64) -> bool {
    *n == 1
}

/// What a technology and its parts are called: the name under which results are filed, and a few words.
struct Names {
    dual: (&'static str, &'static str),
    ce: (&'static str, &'static str),
    pe: (&'static str, &'static str),
    /// In the published tables.
    published: Option<&'static str>,
}

impl Names {
    /// Of what has no parts.
    const fn whole(name: &'static str, words: &'static str, published: Option<&'static str>) -> Names {
        Names { dual: (name, words), ce: (name, words), pe: (name, words), published }
    }

    fn of(&self, plays: Plays) -> (&'static str, &'static str) {
        match plays {
            Plays::Dual => self.dual,
            Plays::Ce => self.ce,
            Plays::Pe => self.pe,
        }
    }
}

static NAT44: Names = Names::whole("nat44", "stateful NAT44", Some("stateful NAT44"));
static SIIT: Names = Names::whole("siit", "SIIT, stateless", None);
static NAT64: Names = Names::whole("nat64", "stateful NAT64", Some("stateful NAT64"));
static XLAT464: Names = Names {
    dual: ("464xlat", "464XLAT, CLAT and PLAT"),
    ce: ("clat", "CLAT of 464XLAT, stateless"),
    pe: ("plat", "PLAT of 464XLAT"),
    published: Some("464XLAT"),
};
static DS_LITE: Names = Names {
    dual: ("ds-lite", "DS-Lite, B4 and AFTR"),
    ce: ("b4", "B4 of DS-Lite, stateless"),
    pe: ("aftr", "AFTR of DS-Lite"),
    published: None,
};
static LW4O6: Names = Names {
    dual: ("lw4o6", "lw4o6, lwB4 and lwAFTR"),
    ce: ("lwb4", "lwB4 of lw4o6"),
    pe: ("lwaftr", "lwAFTR of lw4o6, stateless"),
    published: None,
};
static MAP_E: Names = Names {
    dual: ("map-e", "MAP-E, CE and BR"),
    ce: ("map-e-ce", "CE of MAP-E"),
    pe: ("map-e-br", "BR of MAP-E, stateless"),
    published: None,
};
static MAP_T: Names = Names {
    dual: ("map-t", "MAP-T, CE and BR"),
    ce: ("map-t-ce", "CE of MAP-T"),
    pe: ("map-t-br", "BR of MAP-T, stateless"),
    published: Some("MAP-T"),
};

impl Technology {
    /// What it and its parts are called.
    fn names(&self) -> &'static Names {
        match self {
            Technology::Nat44 { .. } => &NAT44,
            Technology::Siit(_) => &SIIT,
            Technology::Nat64 { .. } => &NAT64,
            Technology::Xlat464 { .. } => &XLAT464,
            Technology::DsLite { .. } => &DS_LITE,
            Technology::Lw4o6(_) => &LW4O6,
            Technology::MapE { .. } => &MAP_E,
            Technology::MapT { .. } => &MAP_T,
        }
    }

    /// Its name, as in its table.
    pub fn name(&self) -> &'static str {
        self.names().dual.0
    }

    /// The name under which results of a part of it are filed.
    pub fn name_of(&self, plays: Plays) -> &'static str {
        self.names().of(plays).0
    }

    /// What a part of it is, in a few words.
    pub fn words(&self, plays: Plays) -> &'static str {
        self.names().of(plays).1
    }

    /// The technology's name in the published tables, if it stands there.
    pub fn published(&self) -> Option<&'static str> {
        self.names().published
    }

    /// IP versions spoken on the left and on the right.
    #[allow(clippy::match_same_arms, reason = "one line a case, like the table that it is")]
    pub fn versions(&self, plays: Plays) -> (u8, u8) {
        match (self, plays) {
            (Technology::Nat44 { .. }, _) => (4, 4),
            (Technology::Siit(s), _) if s.ipv6_left => (6, 4),
            (Technology::Siit(_), _) => (4, 6),
            (Technology::Nat64 { .. }, _) => (6, 4),
            (_, Plays::Dual) => (4, 4),
            (_, Plays::Ce) => (4, 6),
            (_, Plays::Pe) => (6, 4),
        }
    }

    /// The NAT's state, wherever it is kept; none for SIIT.
    pub fn state(&self) -> Option<&State> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(&nat.state),
            Technology::Lw4o6(l) => Some(&l.state),
            Technology::MapE { map, .. } | Technology::MapT { map, .. } => Some(&map.state),
            Technology::Siit(_) => None,
        }
    }

    /// The NAT at the provider's edge, where it is there.
    pub fn nat(&self) -> Option<&Nat> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(nat),
            Technology::Siit(_) | Technology::Lw4o6(_) | Technology::MapE { .. } | Technology::MapT { .. } => None,
        }
    }

    /// The same, to be changed.
    pub fn nat_mut(&mut self) -> Option<&mut Nat> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(nat),
            Technology::Siit(_) | Technology::Lw4o6(_) | Technology::MapE { .. } | Technology::MapT { .. } => None,
        }
    }

    /// Make the table as large as `sessions` where its size is not given.
    pub fn settle(&mut self, sessions: u64) {
        if let Some(state) = self.state_mut().filter(|state| state.table == 0) {
            state.table = sessions.max(1);
        }
    }

    /// The same, to be changed.
    pub fn state_mut(&mut self) -> Option<&mut State> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(&mut nat.state),
            Technology::Lw4o6(l) => Some(&mut l.state),
            Technology::MapE { map, .. } | Technology::MapT { map, .. } => Some(&mut map.state),
            Technology::Siit(_) => None,
        }
    }

    /// Whether the part that is played keeps connections.
    pub fn is_stateful(&self, plays: Plays) -> bool {
        match (self, plays) {
            (Technology::Siit(_), _) => false,
            (Technology::Nat44 { .. } | Technology::Nat64 { .. }, _) => true,
            (Technology::Xlat464 { .. } | Technology::DsLite { .. }, plays) => plays != Plays::Ce,
            (Technology::Lw4o6(_) | Technology::MapE { .. } | Technology::MapT { .. }, plays) => plays != Plays::Pe,
        }
    }
}

/// The technology that a file has; complaints about having none only if `needed`.
pub fn technology(root: &Table, needed: bool, log: &mut Vec<Diagnostic>) -> Option<Technology> {
    let all = || schema::kinds("technology").map(|k| format!("[technology.{k}]")).collect::<Vec<_>>().join(", ");
    let table = match root.get("technology") {
        Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) => Some(table),
        _ => None,
    };
    let found = table.map_or(&[][..], |t| &t.entries);
    let Some(entry) = found.first() else {
        if needed {
            let diagnostic = Diagnostic::new("the gateway has no technology");
            log.push(diagnostic.instead(format!("add a table for one: {}", all())));
        }
        return None;
    };
    if let Some(second) = found.get(1) {
        let diagnostic = Diagnostic::new("there is one technology at a time").at(second.key, "the second");
        log.push(diagnostic.at(entry.key, "the first").instead("keep one of the tables"));
        return None;
    }
    let Some(kind) = schema::kinds("technology").find(|k| *k == entry.name) else {
        let diagnostic = Diagnostic::new(format!("unknown technology `{}`", entry.name)).at(entry.key, "no such kind");
        log.push(diagnostic.instead(format!("known are {}", all())));
        return None;
    };
    let path = format!("technology.{kind}");
    let mut reading = Reading { section: Section::new(table?, kind, &path, log), missing: Vec::new() };
    let read = reading.technology(kind);
    let Reading { section, missing, .. } = reading;
    section.finish();
    for (key, example) in missing {
        let diagnostic = Diagnostic::new(format!("[{path}] has no `{key}`")).at(entry.key, "this table");
        log.push(diagnostic.instead(format!("add {key} = {example}")));
    }
    read
}

/// One technology's table while it is read.
struct Reading<'a> {
    section: Section<'a>,
    /// Keys that must be there and are not, with an example.
    missing: Vec<(&'static str, &'static str)>,
}

/// Own addresses of customers when nobody says (RFC 1918, and those of the test networks).
const INSIDE: [([u8; 4], u8); 4] =
    [([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([198, 18, 0, 0], 16)];

impl Reading<'_> {
    fn technology(&mut self, kind: &str) -> Option<Technology> {
        match kind {
            "nat44" => {
                let (inside, nat) = (self.inside(), self.nat());
                Some(Technology::Nat44 { inside, nat: nat? })
            }
            "siit" => self.siit().map(Technology::Siit),
            "nat64" => {
                let (pref64, nat) = (self.prefix("pref64"), self.nat());
                Some(Technology::Nat64 { pref64: pref64?, nat: nat? })
            }
            "464xlat" => {
                let (pref64, clat) = (self.prefix("pref64"), self.prefix("clat"));
                let (inside, nat) = (self.inside(), self.nat());
                Some(Technology::Xlat464 { pref64: pref64?, clat: clat?, inside, nat: nat? })
            }
            "ds-lite" => {
                let (b4, aftr) = (self.address("b4"), self.address("aftr"));
                let any = Prefix6 { addr: Ipv6Addr::UNSPECIFIED, len: 0 };
                let b4s = self.section.get("b4s", section::prefix6).value.unwrap_or(any);
                let (inside, nat) = (self.inside(), self.nat());
                Some(Technology::DsLite { b4: b4?, b4s, aftr: aftr?, inside, nat: nat? })
            }
            "lw4o6" => self.lw4o6().map(Technology::Lw4o6),
            "map-e" => {
                let (map, br) = (self.map(), self.address("br"));
                Some(Technology::MapE { map: map?, br: br? })
            }
            _ => {
                let (map, dmr) = (self.map(), self.prefix("dmr"));
                Some(Technology::MapT { map: map?, dmr: dmr? })
            }
        }
    }

    /// A value that must be there.
    fn needed<T>(&mut self, given: Given<T>, key: &'static str, example: &'static str) -> Option<T> {
        if given.place.is_none() {
            self.missing.push((key, example));
        }
        given.value
    }

    fn address(&mut self, key: &'static str) -> Option<Ipv6Addr> {
        let given = self.section.get(key, section::ip6);
        self.needed(given, key, "\"2001:2:0:100::2\"")
    }

    fn prefix(&mut self, key: &'static str) -> Option<Prefix6> {
        let given = self.section.get(key, section::prefix6);
        self.needed(given, key, "\"2001:2:0:1000::/96\"")
    }

    fn inside(&mut self) -> Vec<Prefix> {
        let given = self.section.list("inside", section::prefix4);
        let usual = || INSIDE.map(|(addr, len)| Prefix { addr: addr.into(), len }).to_vec();
        given.value.map_or_else(usual, values)
    }

    fn nat(&mut self) -> Option<Nat> {
        let pool = self.section.list("pool", section::addresses);
        let pool_ports = self.section.get("pool-ports", section::ports).value;
        let state = self.state();
        let pool = self.needed(pool, "pool", "\"198.19.0.1\"");
        let pool_ports = pool_ports.unwrap_or(PortRange { first: 1024, last: 65_535 });
        Some(Nat { pool: values(pool?), pool_ports, state })
    }

    fn state(&mut self) -> State {
        let mappings = [
            ("endpoint-independent", Mapping::EndpointIndependent),
            ("address-and-port-dependent", Mapping::AddressAndPortDependent),
        ];
        let filters = [
            ("endpoint-independent", Filtering::EndpointIndependent),
            ("address-dependent", Filtering::AddressDependent),
            ("address-and-port-dependent", Filtering::AddressAndPortDependent),
        ];
        let section = &mut self.section;
        let mapping = section.get("mapping", section::choice(&mappings)).value.unwrap_or_default();
        // Without mappings of its own an outside port serves many customers, so that only the whole four-tuple tells.
        let usual = match mapping {
            Mapping::EndpointIndependent => Filtering::EndpointIndependent,
            Mapping::AddressAndPortDependent => Filtering::AddressAndPortDependent,
        };
        State {
            mapping,
            filtering: section.get("filtering", section::choice(&filters)).value.unwrap_or(usual),
            table: section.get("table", section::count_in(1..=1 << 32)).value.unwrap_or(0),
            udp_timeout: section.get("udp-timeout", section::duration).value.unwrap_or(Nanos::from_secs(300)),
            hairpinning: section.get("hairpinning", section::yes_or_no).value.unwrap_or(true),
        }
    }

    fn siit(&mut self) -> Option<Siit> {
        let eam = self.section.list("eam", section::eam);
        let pref64 = self.section.get("pref64", section::prefix6);
        let sides = [("left", true), ("right", false)];
        let ipv6_left = self.section.get("ipv6", section::choice(&sides)).value.unwrap_or(true);
        if eam.place.is_none() && pref64.place.is_none() {
            self.missing.push(("eam", "[\"198.18.0.0/24 2001:2::/120\"], or pref64 = \"2001:2:0:1000::/96\""));
            return None;
        }
        Some(Siit { eam: eam.value.map(values).unwrap_or_default(), pref64: pref64.value, ipv6_left })
    }

    fn lw4o6(&mut self) -> Option<Lw4o6> {
        let lwaftr = self.address("lwaftr");
        let file = self.section.get("softwires", section::text);
        let ipv4 = self.section.get("ipv4", section::prefix4);
        let b4 = self.section.get("b4", section::ip6);
        let psid_len = self.section.get("psid-length", section::count_in(0..=16)).value.unwrap_or(6) as u8;
        let psid_offset = self.section.get("psid-offset", section::count_in(0..=16)).value.unwrap_or(0) as u8;
        let ce = self.section.get("ce", section::count).value.unwrap_or(0);
        let (inside, state) = (self.inside(), self.state());
        let softwires = if let Some(path) = file.value {
            Softwires::File(path.into())
        } else {
            let ipv4 = self.needed(ipv4, "ipv4", "\"192.0.2.0/24\" (or softwires = \"FILE\")");
            let b4 = self.needed(b4, "b4", "\"2001:2:0:4000::1\"");
            Softwires::Row { ipv4: ipv4?, b4: b4?, psid_len, psid_offset, count: None }
        };
        Some(Lw4o6 { lwaftr: lwaftr?, softwires, ce, inside, state })
    }

    fn map(&mut self) -> Option<Map> {
        let ipv6 = self.section.get("ipv6-prefix", section::prefix6);
        let ipv4 = self.section.get("ipv4-prefix", section::prefix4);
        let ea_bits = self.section.get("ea-bits", section::count_in(0..=48));
        let psid_offset = self.section.get("psid-offset", section::count_in(0..=16)).value.unwrap_or(6) as u8;
        let ce = self.section.get("ce", section::count).value.unwrap_or(0);
        let (inside, state) = (self.inside(), self.state());
        let ipv6 = self.needed(ipv6, "ipv6-prefix", "\"2001:2:0:8000::/53\"");
        let ipv4 = self.needed(ipv4, "ipv4-prefix", "\"192.0.2.0/24\"");
        let ea_bits = self.needed(ea_bits, "ea-bits", "11");
        Some(Map { ipv6: ipv6?, ipv4: ipv4?, ea_bits: ea_bits? as u8, psid_offset, rules: 1, ce, inside, state })
    }
}

fn values<T>(all: Vec<Spot<T>>) -> Vec<T> {
    all.into_iter().map(|s| s.value).collect()
}

/// The IP version of an address.
pub fn version(a: IpAddr) -> u8 {
    if a.is_ipv4() { 4 } else { 6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_that_of_the_tables() {
        let known: Vec<&str> = KNOWN.iter().map(|k| k.0).collect();
        assert_eq!(known, schema::kinds("technology").collect::<Vec<_>>());
    }
}
