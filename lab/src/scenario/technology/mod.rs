//! `[technology.…]`: what a gateway does, with the parameters of customer edge and provider edge in one table, as
//! gateways' files and scenarios have it. A technology's table is the same whatever part of it is played.

mod map;
mod names;
pub mod options;
mod read;
mod read_map;
mod read_options;
pub mod tunnel;

pub use map::{Map, MapRule};
pub use read::technology;

use method::Nanos;
use options::{Limits, Options};
use plane::nat44::config::{Filtering, Mapping};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use wire::{AddrRange, PortRange, Prefix4, Prefix6};

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
    ("nat46", "stateful NAT46 (RFC 9693, 7915, 6052, 7757)"),
    ("nat66", "stateful NAT66 (RFC 9693, 4787, 5382, 5508)"),
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
        inside: Vec<Prefix4>,
        /// Tunnels, translators and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
        /// The NAT.
        nat: Nat,
    },
    /// Stateless translation (RFC 7915).
    Siit(Siit),
    /// Stateful NAT64 (RFC 6146): a provider edge alone.
    Nat64 {
        /// The prefix that IPv4 addresses are embedded in.
        pref64: Prefix6,
        /// Whether addresses that are not global may stand behind the well-known prefix, which RFC 6052, section 3.1, forbids.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        private: bool,
        /// The translator, and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
        /// The NAT.
        nat: Nat,
    },
    /// Stateful NAT46 (RFC 9693): one box, whatever is played.
    Nat46 {
        /// The customers' prefixes.
        inside: Vec<Prefix4>,
        /// Remote hosts by explicit maps (RFC 7757).
        eam: Vec<(Prefix4, Prefix6)>,
        /// The prefix for all other remote hosts.
        pref64: Option<Prefix6>,
        /// Tunnels, translators and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
        /// The NAT.
        nat: Nat6,
    },
    /// Stateful NAT66 (RFC 9693): one box, whatever is played.
    Nat66 {
        /// Where customers may be; anywhere when empty.
        inside: Vec<Prefix6>,
        /// Tunnels, translators and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
        /// The NAT.
        nat: Nat6,
    },
    /// 464XLAT (RFC 6877): CLAT and PLAT.
    Xlat464 {
        /// The prefix that IPv4 addresses are embedded in.
        pref64: Prefix6,
        /// Whether addresses that are not global may stand behind the well-known prefix, which RFC 6052, section 3.1, forbids.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        private: bool,
        /// The translator, and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
        /// The prefix that the customer's IPv4 addresses are embedded in (RFC 6052).
        clat: Prefix6,
        /// The customer's own addresses.
        inside: Vec<Prefix4>,
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
        inside: Vec<Prefix4>,
        /// Tunnels, translators and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
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
        /// Tunnels, translators and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
    },
    /// MAP-T (RFC 7599): CE and BR.
    MapT {
        /// The domain.
        map: Map,
        /// The default mapping rule: the prefix that other IPv4 addresses are embedded in.
        dmr: Prefix6,
        /// Whether addresses that are not global may stand behind the well-known prefix, which RFC 6052, section 3.1, forbids.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        private: bool,
        /// The translator, and limits.
        #[serde(default, skip_serializing_if = "Options::is_usual")]
        options: Options,
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

/// A stateful NAT whose Internet speaks IPv6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Nat6 {
    /// Outside addresses.
    pub pool: Prefix6,
    /// Outside ports.
    pub pool_ports: PortRange,
    /// How it keeps state.
    pub state: State,
}

impl Nat6 {
    /// How many outside addresses there are.
    pub fn addresses(&self) -> u64 {
        1 << 128u8.saturating_sub(self.pool.len).min(63)
    }

    /// Keep the first of its outside addresses, `count` of them, which is a power of two.
    pub fn keep_addresses(&mut self, count: u64) {
        self.pool = Prefix6 { addr: self.pool.first().into(), len: 128 - count.max(1).ilog2() as u8 };
    }
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
    /// Limits that most leave as they are.
    #[serde(default, skip_serializing_if = "Limits::is_usual")]
    pub limits: Limits,
}

/// Parameters of SIIT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Siit {
    /// Explicit address maps (RFC 7757).
    pub eam: Vec<(Prefix4, Prefix6)>,
    /// The prefix for all others.
    pub pref64: Option<Prefix6>,
    /// Whether addresses that are not global may stand behind the well-known prefix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The translator.
    #[serde(default, skip_serializing_if = "Options::is_usual")]
    pub options: Options,
    /// A file of further explicit address maps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eam_file: Option<PathBuf>,
    /// Sources of ICMP errors whose IPv6 source has no IPv4 address (RFC 6791); the own address when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icmp_sources: Vec<AddrRange>,
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
    pub inside: Vec<Prefix4>,
    /// Tunnels and limits.
    #[serde(default, skip_serializing_if = "Options::is_usual")]
    pub options: Options,
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
        ipv4: Prefix4,
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

impl Technology {
    /// IP versions spoken on the left and on the right.
    #[allow(clippy::match_same_arms, reason = "one line a case, like the table that it is")]
    pub fn versions(&self, plays: Plays) -> (u8, u8) {
        match (self, plays) {
            (Technology::Nat44 { .. }, _) => (4, 4),
            (Technology::Siit(s), _) if s.ipv6_left => (6, 4),
            (Technology::Siit(_), _) => (4, 6),
            (Technology::Nat64 { .. }, _) => (6, 4),
            (Technology::Nat46 { .. }, _) => (4, 6),
            (Technology::Nat66 { .. }, _) => (6, 6),
            (_, Plays::Dual) => (4, 4),
            (_, Plays::Ce) => (4, 6),
            (_, Plays::Pe) => (6, 4),
        }
    }

    /// Octets by which frames are longer than on an IPv4 link, where they are longest: translated, or in a tunnel
    /// (RFC 8219, section 4.1), the link between two edges in a row included.
    pub fn overhead(&self) -> usize {
        match self {
            Technology::Nat44 { .. } => 0,
            Technology::Siit(_)
            | Technology::Nat64 { .. }
            | Technology::Nat46 { .. }
            | Technology::Nat66 { .. }
            | Technology::Xlat464 { .. }
            | Technology::MapT { .. } => 20,
            Technology::DsLite { .. } | Technology::Lw4o6(_) | Technology::MapE { .. } => 40,
        }
    }

    /// The NAT's state, wherever it is kept; none for SIIT.
    pub fn state(&self) -> Option<&State> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(&nat.state),
            Technology::Nat46 { nat, .. } | Technology::Nat66 { nat, .. } => Some(&nat.state),
            Technology::Lw4o6(l) => Some(&l.state),
            Technology::MapE { map, .. } | Technology::MapT { map, .. } => Some(&map.state),
            Technology::Siit(_) => None,
        }
    }

    /// The NAT at the provider's edge, where it is there and its Internet speaks IPv4.
    pub fn nat(&self) -> Option<&Nat> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(nat),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn nat_mut(&mut self) -> Option<&mut Nat> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(nat),
            _ => None,
        }
    }

    /// The NAT whose Internet speaks IPv6.
    pub fn nat6(&self) -> Option<&Nat6> {
        match self {
            Technology::Nat46 { nat, .. } | Technology::Nat66 { nat, .. } => Some(nat),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn nat6_mut(&mut self) -> Option<&mut Nat6> {
        match self {
            Technology::Nat46 { nat, .. } | Technology::Nat66 { nat, .. } => Some(nat),
            _ => None,
        }
    }

    /// Options of its translators and tunnels.
    pub fn options(&self) -> Options {
        match self {
            Technology::Siit(siit) => siit.options,
            Technology::Lw4o6(l) => l.options,
            Technology::Nat44 { options, .. }
            | Technology::Nat46 { options, .. }
            | Technology::Nat64 { options, .. }
            | Technology::Nat66 { options, .. }
            | Technology::Xlat464 { options, .. }
            | Technology::DsLite { options, .. }
            | Technology::MapE { options, .. }
            | Technology::MapT { options, .. } => *options,
        }
    }

    /// How many subscribers of quotas and port blocks there are among so many customers.
    pub fn subscribers(&self, plays: Plays, customers: u64) -> u64 {
        match (self, self.counts_by_prefix()) {
            (Technology::DsLite { .. }, _) if plays == Plays::Dual => 1,
            (_, Some(len)) => (customers >> (128 - len).min(63)).max(1),
            _ => customers,
        }
    }

    /// How many there are, of so many customers, of whom each is one worker's with all sessions; none where sessions go to
    /// the workers by an inside address and port.
    pub fn wholes(&self, plays: Plays, customers: u64) -> Option<u64> {
        match self {
            // One B4 is one softwire, whoever is behind it.
            Technology::DsLite { .. } if plays == Plays::Dual => Some(1),
            Technology::DsLite { .. } => Some(customers),
            Technology::Nat64 { .. } | Technology::Nat66 { .. } | Technology::Xlat464 { .. } => {
                // The tester's customers lie in one /64, one after the other; whole octets of the prefix name the worker.
                let together = self.counts_by_prefix().map_or(0, |len| (128 - len / 8 * 8).min(63));
                Some((customers >> together).max(1))
            }
            _ => None,
        }
    }

    /// Length of the prefix whose addresses are one subscriber, whom one worker has; none where nobody counts them.
    pub fn counts_by_prefix(&self) -> Option<u8> {
        let limits = match self {
            Technology::Nat64 { nat, .. } | Technology::Xlat464 { nat, .. } => &nat.state.limits,
            Technology::Nat66 { nat, .. } => &nat.state.limits,
            _ => return None,
        };
        limits.count_subscribers().then(|| limits.subscriber_prefix())
    }

    /// Make the table as large as `sessions` where its size is not given.
    pub fn settle(&mut self, sessions: u64) {
        if let Some(state) = self.state_mut().filter(|state| state.table == 0) {
            state.table = sessions.max(1);
        }
    }

    /// Let packets that have so many octets as IPv6 pass whole where the scenario does not say to what they are cut.
    pub fn pass_whole(&mut self, packet: usize) {
        if let Some(translator) = self.translator_mut().filter(|_| packet > 1280) {
            translator.lowest_ipv6_mtu.get_or_insert(packet.min(u16::MAX.into()) as u16);
        }
    }

    /// Options of what translates IPv4 packets to IPv6 (RFC 7915, section 4), if anything does.
    fn translator_mut(&mut self) -> Option<&mut Options> {
        match self {
            Technology::Siit(siit) => Some(&mut siit.options),
            Technology::Nat64 { options, .. }
            | Technology::Nat46 { options, .. }
            | Technology::Xlat464 { options, .. }
            | Technology::MapT { options, .. } => Some(options),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn state_mut(&mut self) -> Option<&mut State> {
        match self {
            Technology::Nat44 { nat, .. }
            | Technology::Nat64 { nat, .. }
            | Technology::Xlat464 { nat, .. }
            | Technology::DsLite { nat, .. } => Some(&mut nat.state),
            Technology::Nat46 { nat, .. } | Technology::Nat66 { nat, .. } => Some(&mut nat.state),
            Technology::Lw4o6(l) => Some(&mut l.state),
            Technology::MapE { map, .. } | Technology::MapT { map, .. } => Some(&mut map.state),
            Technology::Siit(_) => None,
        }
    }

    /// Whether the part that is played keeps connections.
    pub fn is_stateful(&self, plays: Plays) -> bool {
        match (self, plays) {
            (Technology::Siit(_), _) => false,
            (
                Technology::Nat44 { .. }
                | Technology::Nat46 { .. }
                | Technology::Nat64 { .. }
                | Technology::Nat66 { .. },
                _,
            ) => true,
            (Technology::Xlat464 { .. } | Technology::DsLite { .. }, plays) => plays != Plays::Ce,
            (Technology::Lw4o6(_) | Technology::MapE { .. } | Technology::MapT { .. }, plays) => plays != Plays::Pe,
        }
    }
}

/// The IP version of an address.
pub fn version(a: IpAddr) -> u8 {
    if a.is_ipv4() { 4 } else { 6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::schema;

    #[test]
    fn the_list_is_that_of_the_tables() {
        let known: Vec<&str> = KNOWN.iter().map(|k| k.0).collect();
        assert_eq!(known, schema::kinds("technology").collect::<Vec<_>>());
    }
}
