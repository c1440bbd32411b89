//! From a technology's parameters to the plane's functions: customer edge, provider edge, or both in a row. The only
//! place that knows all technologies of the plane, so that gateways and rigs know none.

mod customers;
mod edges;
mod tables;

pub use customers::{Customers, used_ports};
pub use tables::{b4_in_row, binding_table, explicit_maps, listed_maps};

use crate::scenario::technology::{Plays, Softwires, Technology};
use edges::Edges;
use plane::affinity;
use plane::lw4o6;
use plane::nat44::Nat44;
use plane::nat46::{Config as Nat46Config, Nat46};
use plane::nat64::Nat64;
use plane::nat66::Nat66;
use plane::tunnel::{OneTunnel, Tunnel};
use plane::{Function, Side4, Side6, Steering};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use wire::{AddrRange, PortSet, Prefix6};

/// Why a technology cannot be built.
#[derive(Debug, thiserror::Error)]
#[error("[technology.{technology}]: {why}")]
pub struct BuildError {
    /// Its name.
    pub technology: &'static str,
    /// What is wrong, and what to do.
    pub why: String,
}

/// What is done with the functions of a technology, whatever their type.
pub trait Use {
    /// What comes of it.
    type Out;
    /// What is told first, where the technology has a table that is loaded and not learned.
    fn loaded(&mut self, _table: TableLoad) {}
    /// Where the workers of a lwAFTR find its binding table, of which this is the first.
    fn binding(&mut self, table: lw4o6::Table) -> Arc<lw4o6::Live> {
        lw4o6::Live::new(table)
    }
    /// Do it.
    fn with<F: Function + 'static>(self, functions: Vec<F>) -> Self::Out;
}

/// A table that was loaded: binding table, or mapping rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLoad {
    /// Softwires, or rules.
    pub entries: u64,
    /// Octets of memory that it takes.
    pub bytes: u64,
    /// Time from its parameters, or its file, to a table that answers.
    pub took: Duration,
}

/// The links of a gateway, in both IP versions; those that the technology does not speak are not looked at.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    /// IPv4 on the left.
    pub left4: Side4,
    /// IPv6 on the left.
    pub left6: Side6,
    /// IPv4 on the right.
    pub right4: Side4,
    /// IPv6 on the right.
    pub right6: Side6,
}

/// Addresses of one side beside those of its link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// IPv4.
    pub ipv4: Vec<AddrRange>,
    /// IPv6.
    pub ipv6: Vec<Prefix6>,
}

type Why = String;

fn words(e: impl Display) -> Why {
    e.to_string()
}

/// Build one function a worker and do something with them.
///
/// # Errors
/// When the parameters make no sense or there is not enough memory.
pub fn build<U: Use>(
    technology: &Technology,
    plays: Plays,
    links: &Links,
    workers: usize,
    seed: u64,
    then: U,
) -> Result<U::Out, BuildError> {
    let edges = Edges { links: *links, workers, seed, options: technology.options() };
    let built = match technology {
        Technology::Nat44 { inside, nat, .. } => edges.each(|w| edges.nat44(inside, nat, w)).map(|f| then.with(f)),
        Technology::Siit(siit) => edges.each(|w| edges.siit(siit, w)).map(|f| then.with(f)),
        Technology::Nat64 { pref64, private, nat, .. } => {
            edges.each(|w| edges.plat((*pref64, *private), nat, w)).map(|f| then.with(f))
        }
        Technology::Nat46 { inside, eam, pref64, nat, .. } => edges
            .nat46(inside, eam, *pref64, nat)
            .and_then(|c| edges.each(|w| c.build(w, workers, seed).map_err(words)).map(|f: Vec<Nat46>| then.with(f))),
        Technology::Nat66 { inside, nat, .. } => edges.each(|w| edges.nat66(inside, nat, w)).map(|f| then.with(f)),
        Technology::Xlat464 { pref64, private, clat, nat, .. } => {
            let pref64 = (*pref64, *private);
            edges.edges(plays, |e, w| e.clat(pref64, *clat, w), |e, w| e.plat(pref64, nat, w), then)
        }
        Technology::DsLite { b4, b4s, aftr, inside, nat, .. } => {
            edges.edges(plays, |e, w| e.b4(*b4, *aftr, w), |e, w| e.aftr(*aftr, *b4s, inside, nat, w), then)
        }
        Technology::Lw4o6(l) => edges.lw4o6(l, plays, then),
        Technology::MapE { map, br, .. } => edges.map_e(map, *br, plays, then),
        Technology::MapT { map, dmr, private, .. } => edges.map_t(map, (*dmr, *private), plays, then),
    };
    built.map_err(|why| BuildError { technology: technology.name(), why })
}

/// Addresses that a gateway answers for on its links (left, right) beside those of the links themselves.
#[allow(clippy::match_same_arms, reason = "one line a case, like the table that it is")]
pub fn answers_for(technology: &Technology, plays: Plays) -> [Answers; 2] {
    let v4 = |pool: &[AddrRange]| Answers { ipv4: pool.to_vec(), ..Answers::default() };
    let one = |addr| Answers { ipv6: vec![Prefix6 { addr, len: 128 }], ..Answers::default() };
    let none = Answers::default;
    match (technology, plays) {
        (Technology::Nat44 { nat, .. } | Technology::Nat64 { nat, .. }, _) => [none(), v4(&nat.pool)],
        (Technology::Nat46 { nat, .. } | Technology::Nat66 { nat, .. }, _) => {
            [none(), Answers { ipv6: vec![nat.pool], ..Answers::default() }]
        }
        (Technology::Siit(_), _) => [none(), none()],
        (Technology::Xlat464 { .. }, Plays::Ce) => [none(), none()],
        (Technology::Xlat464 { nat, .. }, _) => [none(), v4(&nat.pool)],
        (Technology::DsLite { b4, .. }, Plays::Ce) => [none(), one(*b4)],
        (Technology::DsLite { nat, .. }, Plays::Dual) => [none(), v4(&nat.pool)],
        (Technology::DsLite { aftr, nat, .. }, Plays::Pe) => [one(*aftr), v4(&nat.pool)],
        (Technology::Lw4o6(l), Plays::Pe) => [one(l.lwaftr), none()],
        (Technology::MapE { br, .. }, Plays::Pe) => [one(*br), none()],
        (Technology::Lw4o6(_) | Technology::MapE { .. } | Technology::MapT { .. }, _) => [none(), none()],
    }
}

/// How packets from left and right are to be spread over the workers. Whatever comes to another worker than its own is
/// handed over, so a spreading that does not fit costs time and nothing else.
pub fn steering(technology: &Technology, plays: Plays, workers: usize) -> [Steering; 2] {
    if !technology.is_stateful(plays) {
        // All parts of a datagram meet: by both addresses where there are only these, by the ends of the tunnel.
        let by = |version| if version == 4 { Tunnel::<OneTunnel>::STEER_IPV4 } else { Tunnel::<OneTunnel>::STEER_IPV6 };
        let (left, right) = technology.versions(plays);
        return [by(left), by(right)];
    }
    if let Some(set) = port_set(technology) {
        // The state is at the customer's edge, under the ports that it has: behind two IP headers in a tunnel.
        let at = match (plays, technology) {
            (Plays::Ce, Technology::MapT { .. }) => 56,
            (Plays::Ce, _) => 76,
            _ => 36,
        };
        return [Nat44::STEER_CUSTOMER, Nat44::steer_ports(at, set, workers)];
    }
    let customers = technology.counts_by_prefix().map_or(affinity::STEER_CUSTOMER, affinity::steering);
    match technology.versions(plays) {
        _ if matches!(technology, Technology::Nat46 { .. }) => {
            [Nat46Config::STEER_CUSTOMER, Nat46Config::STEER_INTERNET]
        }
        (6, 6) => [customers, Nat66::STEER_INTERNET],
        (4, 4) => [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET],
        (6, _) => [customers, Nat64::STEER_INTERNET],
        (_, _) => [Nat44::STEER_CUSTOMER, Nat64::STEER_CUSTOMER],
    }
}

/// The port set of a customer's edge that has one. Of a table in a file that cannot be read there is none, and no gateway.
fn port_set(technology: &Technology) -> Option<PortSet> {
    match technology {
        Technology::Lw4o6(l) => match &l.softwires {
            Softwires::Row { psid_len, psid_offset, .. } => PortSet::new(*psid_offset, *psid_len, 0).ok(),
            Softwires::File(_) => binding_table(l).ok()?.iter().nth(l.ce as usize).map(|s| s.ports),
        },
        Technology::MapE { map, .. } | Technology::MapT { map, .. } => {
            Customers::of(map).ok()?.nth(map.ce).map(|customer| customer.ports)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
