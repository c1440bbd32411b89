//! What the rules ask of a device's NAT, whichever table it stands in: a DUT's own, or that of a technology, whose
//! parameters have lost their words. Apart from the drafts, because the rules shall not know technologies.

use super::Mapping;
use super::diagnostic::Place;
use super::draft::{DutKind, Nat44Draft};
use super::section::{Given, Spot};
use super::technology::{Map, Nat, Plays, Softwires, State, Technology};
use super::tree::{Node, Table, Value};
use crate::technology::{Customers, used_ports};
use method::{Count, Nanos};
use wire::{AddrRange, PortRange, PortSet, Prefix4};

/// A NAT, or what shares addresses by ports without state, as the rules see it.
pub struct NatDraft {
    /// The key of its addresses.
    pub pool_key: &'static str,
    /// Outside addresses.
    pub pool: Vec<Spot<AddrRange>>,
    /// Outside ports of each.
    pub ports: Ports,
    /// The tester's inside addresses are on the wire, too, and so must be others.
    pub beside_inside: bool,
    /// How it keeps state; none where it has none.
    pub state: Option<StateDraft>,
}

/// Outside ports of an address.
pub enum Ports {
    /// A range, in which a source port can be kept.
    Range(Spot<PortRange>),
    /// Those of one customer among others.
    Set(PortSet, Option<Place>),
}

/// How a NAT keeps state.
pub struct StateDraft {
    pub mapping: Mapping,
    pub mapping_place: Option<Place>,
    /// Absent: the largest number of connections.
    pub table: Given<Count>,
    pub udp_timeout: Spot<Nanos>,
}

/// The words of a technology's table, by key.
#[derive(Clone, Debug, Default)]
pub struct Words(Vec<(String, Node)>);

impl Words {
    /// Of the technology that a file has.
    pub fn of(root: &Table) -> Words {
        let below = |table: &Table, name: Option<&str>| {
            let entry = name.map_or(table.entries.first(), |name| table.get(name))?;
            if let Value::Table(table) = &entry.node.value { Some(table.clone()) } else { None }
        };
        let table = below(root, Some("technology")).and_then(|kinds| below(&kinds, None));
        Words(table.into_iter().flat_map(|t| t.entries).map(|entry| (entry.name, entry.node)).collect())
    }

    /// The words of a key's value.
    pub fn at(&self, key: &str) -> Option<Place> {
        self.node(key).map(|node| node.place)
    }

    /// All texts that are written there, in lists and tables too, each with its place.
    pub fn texts(&self) -> Vec<(&str, Place)> {
        fn below<'a>(node: &'a Node, all: &mut Vec<(&'a str, Place)>) {
            match &node.value {
                Value::Text(text) => all.push((text, node.place)),
                Value::List(list) => list.iter().for_each(|node| below(node, all)),
                Value::Table(table) => table.entries.iter().for_each(|entry| below(&entry.node, all)),
                _ => {}
            }
        }
        let mut all = Vec::new();
        self.0.iter().for_each(|(_, node)| below(node, &mut all));
        all
    }

    /// Those of value number `at` of a list.
    fn item(&self, key: &str, at: usize) -> Option<Place> {
        let node = self.node(key)?;
        let item = if let Value::List(all) = &node.value { all.get(at) } else { None };
        Some(item.unwrap_or(node).place)
    }

    /// Those of a key of mapping rule number `at`, wherever the rules stand.
    pub fn rule(&self, at: usize, key: &str) -> Option<Place> {
        let Some(node) = self.node("rule") else { return self.at(key) };
        let Value::List(rules) = &node.value else { return None };
        let Value::Table(rule) = &rules.get(at)?.value else { return None };
        rule.get(key).map(|entry| entry.node.place)
    }

    fn node(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    fn spot<T>(&self, key: &str, value: T) -> Spot<T> {
        Spot { value, place: self.at(key), sound: true }
    }
}

impl DutKind {
    /// Its NAT, if the part of it that is played has outside addresses or state.
    pub fn nat(&self) -> Option<NatDraft> {
        match self {
            DutKind::Embedded(nat44) | DutKind::KernelNat44(_, nat44) => Some(own(nat44)),
            DutKind::Technology { plays, technology, words } => of_technology(technology, *plays, words),
            DutKind::Forwarding | DutKind::Simulated { .. } => None,
        }
    }
}

fn own(nat44: &Nat44Draft) -> NatDraft {
    NatDraft {
        pool_key: "pool",
        pool: vec![nat44.pool.clone()],
        ports: Ports::Range(nat44.pool_ports.clone()),
        beside_inside: true,
        state: Some(StateDraft {
            mapping: nat44.mapping,
            mapping_place: None,
            table: nat44.table.clone(),
            udp_timeout: nat44.udp_timeout.clone(),
        }),
    }
}

fn of_technology(technology: &Technology, plays: Plays, words: &Words) -> Option<NatDraft> {
    let state = technology.state().filter(|_| technology.is_stateful(plays)).map(|state| keeps(state, words));
    match (technology, plays) {
        (Technology::Lw4o6(l), _) => {
            let Softwires::Row { ipv4, psid_len, psid_offset, .. } = &l.softwires else {
                // Addresses and port sets stand in the file, which is read later.
                let ports = Ports::Set(PortSet::ALL, None);
                return Some(NatDraft { pool_key: "ipv4", pool: Vec::new(), ports, beside_inside: true, state });
            };
            let set = PortSet::new(*psid_offset, *psid_len, (l.ce & ((1 << psid_len) - 1)) as u16).ok()?;
            let of_ce = u32::from(ipv4.addr).wrapping_add((l.ce >> psid_len) as u32);
            let pool = if plays == Plays::Pe { all_of(*ipv4) } else { AddrRange::one(of_ce.into()) };
            let place = words.at("psid-length").or(words.at("psid-offset")).or(words.at("ipv4"));
            Some(shared("ipv4", vec![words.spot("ipv4", pool)], Ports::Set(set, place), plays, state))
        }
        (Technology::MapE { map, .. } | Technology::MapT { map, .. }, _) => {
            let (pool, set) = customers(map, plays, words)?;
            Some(shared("ipv4-prefix", pool, Ports::Set(set, words.rule(0, "ea-bits")), plays, state))
        }
        (_, Plays::Ce) if state.is_none() => None,
        // The customers of a NAT64 have IPv6 addresses alone.
        (Technology::Nat64 { nat, .. }, _) => Some(provider(nat, false, words, state)),
        _ => technology.nat().map(|nat| provider(nat, true, words, state)),
    }
}

fn keeps(state: &State, words: &Words) -> StateDraft {
    StateDraft {
        mapping: state.mapping.into(),
        mapping_place: words.at("mapping"),
        table: Given { value: Some(state.table).filter(|&n| n > 0), place: words.at("table") },
        udp_timeout: words.spot("udp-timeout", state.udp_timeout),
    }
}

fn provider(nat: &Nat, beside_inside: bool, words: &Words, state: Option<StateDraft>) -> NatDraft {
    let range = |(at, &value)| Spot { value, place: words.item("pool", at), sound: true };
    NatDraft {
        pool_key: "pool",
        pool: nat.pool.iter().enumerate().map(range).collect(),
        ports: Ports::Range(words.spot("pool-ports", nat.pool_ports)),
        beside_inside,
        state,
    }
}

fn shared(
    pool_key: &'static str,
    pool: Vec<Spot<AddrRange>>,
    ports: Ports,
    plays: Plays,
    state: Option<StateDraft>,
) -> NatDraft {
    // Of a provider edge these are the inside addresses.
    NatDraft { pool_key, pool, ports, beside_inside: plays != Plays::Pe, state }
}

/// Addresses and ports of the customer that the CE is; of a provider edge the addresses of all, and the smallest port set.
fn customers(map: &Map, plays: Plays, words: &Words) -> Option<(Vec<Spot<AddrRange>>, PortSet)> {
    let all = Customers::of(map).ok()?;
    let spot = |at, value| Spot { value, place: words.rule(at, "ipv4-prefix"), sound: true };
    if plays == Plays::Pe {
        let prefixes = map.written().enumerate().map(|(at, rule)| spot(at, all_of(rule.ipv4)));
        let set = all.smallest_set()?;
        return Some((prefixes.collect(), if map.further.is_empty() { set } else { used_ports(set) }));
    }
    let customer = all.nth(map.ce)?;
    let rule = map.written().position(|rule| rule.ipv6.contains(customer.prefix.first())).unwrap_or(0);
    Some((vec![spot(rule, customer.pool())], customer.ports))
}

fn all_of(prefix: Prefix4) -> AddrRange {
    AddrRange { first: prefix.addr, count: prefix.count().min(u32::MAX.into()) as u32 }
}
