//! The embedded gateway with any technology: its functions, and the tester's own part. With both edges in the device
//! the tester speaks IPv4 on both sides; with one of them it plays the other, for many subscribers where that is the
//! customer's.

use super::embedded::{Cores, MTU, wired};
use super::wires::Wires;
use super::{Process, Rig, RigError, connections, mac, see_that_frames_fit, settings};
use crate::folder::{TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use crate::scenario::technology::{Lw4o6, Map, Nat, Nat6, Plays, Softwires, Technology};
use crate::scenario::{self, Link, Point, Scenario, Traffic};
use crate::technology::{self, Customers, Links, TableLoad, Use, b4_in_row, used_ports};
use arena::Array;
use method::Loop;
use plane::lw4o6;
use plane::map::Customer;
use plane::translate::{Eam, Pref64};
use plane::view::ce::TunnelEnds;
use plane::view::natxy::{self, Outside6};
use plane::view::{self, Bed, Outside, Subscriber6, Translated, ce, pe};
use plane::{Function, Hop, Pool6, Side4, Side6, Steering};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::flow::SharedPorts;
use wire::{AddrRange, FlowSpace, Listed, OuterRange, PortRange, PortSet, Prefix6, View};

/// The rig of a technology.
///
/// # Errors
/// Parameters that do not fit each other or the flows, no memory, or cores that cannot be used.
pub fn build(
    scenario: &Scenario,
    plays: Plays,
    technology: &Technology,
    point: &Point,
    process: &Process,
) -> Result<Rig, RigError> {
    build_on(scenario, plays, technology, point, process, &Cores::at(scenario, point))
}

/// The same with its threads on these cores.
///
/// # Errors
/// As [`build`].
pub fn build_on(
    scenario: &Scenario,
    plays: Plays,
    technology: &Technology,
    point: &Point,
    process: &Process,
    cores: &Cores,
) -> Result<Rig, RigError> {
    let view = Arc::new(view(scenario, plays, technology, point)?);
    see_that_frames_fit(&view, MTU.into())?;
    let workers = point.cores as usize;
    let steering = technology::steering(technology, plays, workers);
    let assemble = Assemble { scenario, process, view, cores, steering, table: None };
    let seed = scenario.traffic.seed;
    let mut rig = technology::build(technology, plays, &links(), workers, seed, assemble)
        .map_err(|e| RigError::Gateway(e.to_string()))??;
    rig.facts.insert("software".into(), format!("natmeter embedded gateway {}", env!("CARGO_PKG_VERSION")));
    rig.facts.insert("technology".into(), technology.words(plays).into());
    rig.facts.insert("parameters".into(), serde_json::to_string(technology).unwrap_or_default());
    Ok(rig)
}

struct Assemble<'a> {
    scenario: &'a Scenario,
    process: &'a Process,
    view: Arc<View>,
    cores: &'a Cores,
    steering: [Steering; 2],
    /// What was loaded before.
    table: Option<TableLoad>,
}

impl Use for Assemble<'_> {
    type Out = Result<Rig, RigError>;
    fn loaded(&mut self, table: TableLoad) {
        self.table = Some(table);
    }
    fn with<F: Function + 'static>(self, functions: Vec<F>) -> Result<Rig, RigError> {
        let depth = match self.scenario.link {
            Link::InProcess { depth } => depth,
            // A scenario with another link for the embedded gateway is refused when it is read.
            Link::Tap | Link::Veth { .. } => 512,
        };
        let wires = Wires::of(self.scenario, self.process.clock);
        let times = settings(self.scenario, Loop::Open);
        let mut rig = wired(self.view, functions, depth, times, self.cores, self.process, wires, self.steering)?;
        if let Some(TableLoad { entries, bytes, took }) = self.table {
            let figures = [
                (TABLE_ENTRIES, entries as f64),
                (TABLE_LOAD_TIME, took.as_secs_f64() * 1e3),
                (TABLE_MEMORY, bytes as f64 / 1024.0),
            ];
            rig.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
        }
        Ok(rig)
    }
}

/// The DUT's links: host 1 on each (RFC 2544, appendix C.2.2.1), wide enough for every frame size.
fn links() -> Links {
    let side4 =
        |n: u8, address: [u8; 4]| Side4 { mac: mac(n, 1), next_hop: mac(n, 2), address: address.into(), mtu: MTU };
    let side6 = |n: u8, host: u16| Side6 {
        mac: mac(n, 1),
        next_hop: mac(n, 2),
        address: Ipv6Addr::new(0x2001, 2, 0, 0x100, 0, 0, 0, host),
        mtu: MTU,
    };
    Links {
        left4: side4(1, [198, 18, 0, 1]),
        left6: side6(1, 0x2),
        right4: side4(2, [198, 19, 0, 1]),
        right6: side6(2, 0x1),
    }
}

fn wrong(e: impl std::fmt::Display) -> RigError {
    RigError::Gateway(e.to_string())
}

/// What the tester's two sides send and expect.
///
/// # Errors
/// As [`build`].
pub fn view(scenario: &Scenario, plays: Plays, technology: &Technology, point: &Point) -> Result<View, RigError> {
    let listed = listed(scenario, plays, technology)?;
    let flows = flows(scenario, plays, technology, &listed)?;
    let bed = Bed {
        left: Hop { own: mac(1, 2), next: mac(1, 1) },
        right: Hop { own: mac(2, 2), next: mac(2, 1) },
        frame_size: scenario.traffic.frame_size,
        ttl: scenario.traffic.ttl,
        connections: connections(&flows, point),
        flows,
        seed: scenario.traffic.seed,
    };
    match (technology, plays) {
        (Technology::Nat44 { nat, .. }, _) => Ok(view::nat44(&bed, pool(nat))),
        (Technology::Siit(siit), _) => {
            let maps = technology::explicit_maps(siit).map_err(RigError::Gateway)?;
            let embed = |a: u32| by_map_or_prefix(maps.as_ref(), siit.pref64, a);
            let customers = subscribers(&bed, embed)?;
            let remotes = remotes(&bed, embed)?;
            let ends = Translated { subscribers: &customers, remotes: &remotes };
            let made = if siit.ipv6_left { pe::siit(&bed, &ends) } else { ce::clat(&bed, &ends) };
            made.map_err(wrong)
        }
        (Technology::Nat46 { eam, pref64, nat, .. }, _) => {
            let maps = technology::listed_maps(eam).map_err(RigError::Gateway)?;
            let remotes = remotes(&bed, |a| by_map_or_prefix(maps.as_ref(), *pref64, a))?;
            natxy::nat46(&bed, &remotes, outside6(nat)?).map_err(wrong)
        }
        (Technology::Nat66 { inside, nat, .. }, _) => {
            let customers = hosts(&bed, inside)?;
            let remotes = remotes(&bed, |a| Ok(REMOTES6 | u128::from(a)))?;
            let ends = Translated { subscribers: &customers, remotes: &remotes };
            natxy::nat66(&bed, &ends, outside6(nat)?).map_err(wrong)
        }
        (_, Plays::Dual) => Ok(view::nat44(&bed, outside(technology)?)),
        (Technology::Nat64 { pref64, nat, .. }, _) => {
            let rows = hosts(&bed, &[])?;
            let remotes = embedded(&bed, *pref64)?;
            pe::plat(&bed, &Translated { subscribers: &rows, remotes: &remotes }, pool(nat)).map_err(wrong)
        }
        (Technology::Xlat464 { pref64, clat, nat, .. }, plays) => {
            let clat = Pref64::new(*clat, true).map_err(wrong)?;
            let rows = subscribers(&bed, |a| clat.to_ipv6(a).map_err(|e| wrong(format!("{e:?}"))))?;
            let remotes = embedded(&bed, *pref64)?;
            let ends = Translated { subscribers: &rows, remotes: &remotes };
            let made = if plays == Plays::Ce { ce::clat(&bed, &ends) } else { pe::plat(&bed, &ends, pool(nat)) };
            made.map_err(wrong)
        }
        (Technology::DsLite { b4, aftr, .. }, Plays::Ce) => {
            Ok(ce::b4(&bed, TunnelEnds { ce: b4.to_bits(), pe: aftr.to_bits() }))
        }
        (Technology::DsLite { b4, aftr, nat, .. }, Plays::Pe) => {
            let rows = rows(&bed, *b4);
            let ends = view::Tunnelled { subscribers: &rows, pe: aftr.to_bits() };
            pe::aftr(&bed, &ends, pool(nat)).map_err(wrong)
        }
        (Technology::Lw4o6(l), Plays::Ce) => {
            let own = own_softwire(l)?;
            let softwire = TunnelEnds { ce: own.b4.to_bits(), pe: own.own.unwrap_or(l.lwaftr).to_bits() };
            Ok(ce::lwb4(&bed, softwire, outside(technology)?))
        }
        (Technology::Lw4o6(l), Plays::Pe) => {
            let Softwires::Row { b4, .. } = &l.softwires else { return listed_ends(&bed, l, &listed) };
            let rows = rows(&bed, *b4);
            let ends = view::Tunnelled { subscribers: &rows, pe: l.lwaftr.to_bits() };
            pe::lwaftr(&bed, &ends).map_err(wrong)
        }
        (Technology::MapE { map, br, .. }, Plays::Ce) => {
            let softwire = TunnelEnds { ce: customer(map)?.address.to_bits(), pe: br.to_bits() };
            Ok(ce::map_e(&bed, softwire, outside(technology)?))
        }
        (Technology::MapE { map, br, .. }, Plays::Pe) => {
            let rows = map_rows(&bed, map)?;
            pe::map_e_br(&bed, &view::Tunnelled { subscribers: &rows, pe: br.to_bits() }).map_err(wrong)
        }
        (Technology::MapT { map, dmr, .. }, Plays::Ce) => {
            let remotes = embedded(&bed, *dmr)?;
            let (own, outside) = (customer(map)?, outside(technology)?);
            let ce = own.address.to_bits();
            if own.ipv4.len == 32 {
                return ce::map_t(&bed, ce, &remotes, outside).map_err(wrong);
            }
            ce::map_t_prefix(&bed, ce, &remotes, own.pool(), outside.range.ports).map_err(wrong)
        }
        (Technology::MapT { map, dmr, .. }, Plays::Pe) => {
            let (rows, remotes) = (map_rows(&bed, map)?, embedded(&bed, *dmr)?);
            pe::map_t_br(&bed, &Translated { subscribers: &rows, remotes: &remotes }).map_err(wrong)
        }
    }
}

/// The flows of a set-up: with a provider edge alone, those of many subscribers.
fn flows(
    scenario: &Scenario,
    plays: Plays,
    technology: &Technology,
    listed: &[lw4o6::Softwire],
) -> Result<FlowSpace, RigError> {
    let t = &scenario.traffic;
    let n = t.subscribers;
    let sharing = |first, offset, len| {
        // Of a set the first ports that there are; who has all ports uses those that are written.
        let place = if (offset, len) == (0, 0) { t.source_ports.first.into() } else { 0 };
        let ports = SharedPorts { offset, len, first: place, count: t.source_ports.count() };
        FlowSpace::sharing(n, first, ports, t.remote, t.destination_ports)
    };
    let space = match (technology, plays) {
        (Technology::DsLite { .. }, Plays::Pe) => {
            FlowSpace::overlapping(n, t.inside.first, t.source_ports, t.remote, t.destination_ports)
        }
        (Technology::Lw4o6(l), Plays::Pe) => match &l.softwires {
            Softwires::Row { ipv4, psid_len, psid_offset, .. } => sharing(ipv4.addr, *psid_offset, *psid_len),
            Softwires::File(_) => return written_down(t, listed.iter().map(|s| (s.ipv4, s.ports))),
        },
        (Technology::MapE { map, .. } | Technology::MapT { map, .. }, Plays::Pe) => match customers(map, n)?.as_slice()
        {
            [Customer { ports, ipv4, .. }, ..] if map.further.is_empty() && map.rule.psid.is_none() => {
                sharing(map.rule.ipv4.addr, ports.offset, ports.len).and_then(|space| space.apart(32 - ipv4.len))
            }
            // Of several rules nothing follows from the number.
            all => return written_down(t, all.iter().map(|c| (c.ipv4.addr, c.ports))),
        },
        (
            Technology::Nat64 { .. } | Technology::Nat66 { .. } | Technology::Xlat464 { .. } | Technology::Siit(_),
            Plays::Pe,
        ) if n > 1 => FlowSpace::new(AddrRange { count: n, ..t.inside }, t.source_ports, t.remote, t.destination_ports),
        _ => return super::flow_space(scenario).map_err(RigError::from),
    };
    Ok(space?)
}

/// The flows of subscribers whose addresses and port sets are these.
fn written_down(t: &Traffic, each: impl ExactSizeIterator<Item = (Ipv4Addr, PortSet)>) -> Result<FlowSpace, RigError> {
    let mut rows =
        Array::filled("the subscribers' addresses and ports", each.len(), Listed::default()).map_err(wrong)?;
    for (row, (addr, set)) in rows.iter_mut().zip(each) {
        *row = Listed { addr: addr.to_bits(), set: used_ports(set) };
    }
    Ok(FlowSpace::listed(rows, t.source_ports.count(), t.remote, t.destination_ports)?)
}

/// The softwires of a file that the tester's subscribers have: evenly spread over it, so that a table of which not every
/// line is played is looked at everywhere.
pub(super) fn listed(
    scenario: &Scenario,
    plays: Plays,
    technology: &Technology,
) -> Result<Vec<lw4o6::Softwire>, RigError> {
    let (Technology::Lw4o6(l), Plays::Pe) = (technology, plays) else { return Ok(Vec::new()) };
    let Softwires::File(path) = &l.softwires else { return Ok(Vec::new()) };
    let table = technology::binding_table(l).map_err(RigError::Gateway)?;
    let (n, all) = (u64::from(scenario.traffic.subscribers), table.len());
    if n > all {
        return Err(RigError::Gateway(format!(
            "{n} subscribers need a softwire each, but {} has {all}: write subscribers = {all} at most, or give more lines",
            path.display()
        )));
    }
    if let Some(s) = table.iter().find(|s| ![s.b4.into(), s.ipv4.into()].into_iter().all(scenario::is_for_laboratories))
    {
        return Err(RigError::Gateway(format!(
            "{}: the softwire of {} and {} is not for laboratories, frames to it could leave the test bed: use 2001:db8::/32 \
             and 10.0.0.0/8, for example",
            path.display(),
            s.b4,
            s.ipv4
        )));
    }
    let wanted = |i: u64| (u128::from(i) * u128::from(all) / u128::from(n)) as u64;
    let mut next = 0;
    let played = |(at, softwire): (u64, lw4o6::Softwire)| {
        let plays = next < n && wanted(next) == at;
        next += u64::from(plays);
        plays.then_some(softwire)
    };
    Ok((0..).zip(table.iter()).filter_map(played).collect())
}

/// Both ends of listed softwires; the lwAFTR may have several addresses.
fn listed_ends(bed: &Bed, l: &Lw4o6, listed: &[lw4o6::Softwire]) -> Result<View, RigError> {
    let ends = |of: &dyn Fn(&lw4o6::Softwire) -> Ipv6Addr| -> Vec<Subscriber6> {
        listed.iter().map(|s| Subscriber6 { address: of(s).to_bits() }).collect()
    };
    let pe = |s: &lw4o6::Softwire| s.own.unwrap_or(l.lwaftr);
    let (rows, first) = (ends(&|s| s.b4), listed.first().map_or(l.lwaftr, pe));
    if listed.iter().all(|s| pe(s) == first) {
        let ends = view::Tunnelled { subscribers: &rows, pe: first.to_bits() };
        return pe::lwaftr(bed, &ends).map_err(wrong);
    }
    pe::lwaftr_of(bed, &rows, &ends(&pe)).map_err(wrong)
}

/// The softwire of the lwB4.
pub(super) fn own_softwire(l: &Lw4o6) -> Result<lw4o6::Softwire, RigError> {
    let none = || RigError::Gateway(format!("ce = {}: the table has no such softwire", l.ce));
    match &l.softwires {
        Softwires::File(_) => {
            let table = technology::binding_table(l).map_err(RigError::Gateway)?;
            table.iter().nth(l.ce as usize).ok_or_else(none)
        }
        Softwires::Row { ipv4, b4, psid_len, psid_offset, .. } => {
            let ipv4 = u32::from(ipv4.addr).wrapping_add((l.ce >> psid_len) as u32).into();
            let ports = PortSet::new(*psid_offset, *psid_len, (l.ce & ((1 << psid_len) - 1)) as u16).map_err(wrong)?;
            Ok(lw4o6::Softwire { b4: b4_in_row(*b4, l.ce), ipv4, ports, own: None })
        }
    }
}

fn pool(nat: &Nat) -> Outside {
    let (addrs, also) = match nat.pool.as_slice() {
        [first, also @ ..] => (*first, also.to_vec()),
        [] => (AddrRange::one([198, 19, 0, 1].into()), Vec::new()),
    };
    Outside { also, ..OuterRange { addrs, ports: nat.pool_ports }.into() }
}

/// What the Responder may see.
fn outside(technology: &Technology) -> Result<Outside, RigError> {
    let shared = |addrs, set: PortSet| {
        let first = if set == PortSet::ALL { 1024 } else { 1 };
        Outside { set, ..OuterRange { addrs, ports: PortRange { first, last: 65_535 } }.into() }
    };
    Ok(match technology {
        Technology::Nat44 { nat, .. }
        | Technology::Nat64 { nat, .. }
        | Technology::Xlat464 { nat, .. }
        | Technology::DsLite { nat, .. } => pool(nat),
        Technology::Lw4o6(l) => {
            let own = own_softwire(l)?;
            shared(AddrRange::one(own.ipv4), own.ports)
        }
        Technology::MapE { map, .. } | Technology::MapT { map, .. } => {
            let customer = customer(map)?;
            shared(customer.pool(), customer.ports)
        }
        Technology::Siit(_) | Technology::Nat46 { .. } | Technology::Nat66 { .. } => {
            return Err(RigError::Gateway("no IPv4 address is seen outside".into()));
        }
    })
}

/// What the Responder may see of a NAT whose Internet speaks IPv6.
fn outside6(nat: &Nat6) -> Result<Outside6, RigError> {
    Ok(Outside6 { pool: Pool6::new(nat.pool).map_err(wrong)?, ports: nat.pool_ports })
}

/// Customers' hosts with IPv6, one address each in a row: the first of these prefixes has them, if there is one.
fn hosts(bed: &Bed, inside: &[Prefix6]) -> Result<Vec<Subscriber6>, RigError> {
    let n = bed.flows.subscribers();
    let own = Prefix6 { addr: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), len: 64 };
    let prefix = inside.first().unwrap_or(&own);
    let last = prefix.first() + 1 + u128::from(n);
    if !prefix.contains(last) {
        return Err(wrong(format!("inside = \"{prefix}\" is too short for {n} customers; write a /64")));
    }
    Ok((0..n).map(|i| Subscriber6 { address: prefix.first() + 2 + u128::from(i) }).collect())
}

/// The customer of a MAP domain that the CE is.
fn customer(map: &Map) -> Result<Customer, RigError> {
    let customers = Customers::of(map).map_err(wrong)?;
    let room = || wrong(format!("the rules have room for {} customers; ce = {} is none", customers.count(), map.ce));
    customers.nth(map.ce).ok_or_else(room)
}

/// The first customers of a MAP domain.
fn customers(map: &Map, n: u32) -> Result<Vec<Customer>, RigError> {
    let all = Customers::of(map).map_err(wrong)?;
    let found: Vec<Customer> = all.iter().take(n as usize).collect();
    if found.len() < n as usize {
        return Err(wrong(format!("{n} subscribers, but the rules have room for {} customers", all.count())));
    }
    Ok(found)
}

fn map_rows(bed: &Bed, map: &Map) -> Result<Vec<Subscriber6>, RigError> {
    let row = |c: &Customer| Subscriber6 { address: c.address.to_bits() };
    Ok(customers(map, bed.flows.subscribers())?.iter().map(row).collect())
}

/// B4s in a row.
fn rows(bed: &Bed, first: Ipv6Addr) -> Vec<Subscriber6> {
    let row = |i| Subscriber6 { address: b4_in_row(first, i).to_bits() };
    (0..u64::from(bed.flows.subscribers())).map(row).collect()
}

/// Addresses of subscribers that follow from their IPv4 addresses.
fn subscribers(bed: &Bed, address: impl Fn(u32) -> Result<u128, RigError>) -> Result<Vec<Subscriber6>, RigError> {
    let first = u32::from(bed.flows.inside().first);
    (0..bed.flows.subscribers()).map(|i| Ok(Subscriber6 { address: address(first.wrapping_add(i))? })).collect()
}

fn remotes(bed: &Bed, address: impl Fn(u32) -> Result<u128, RigError>) -> Result<Vec<u128>, RigError> {
    let remote = bed.flows.remote();
    (0..remote.count).map(|i| address(u32::from(remote.first).wrapping_add(i))).collect()
}

/// Remote addresses behind a prefix.
fn embedded(bed: &Bed, prefix: Prefix6) -> Result<Vec<u128>, RigError> {
    let prefix = Pref64::new(prefix, true).map_err(wrong)?;
    remotes(bed, |a| prefix.to_ipv6(a).map_err(|e| wrong(format!("{e:?}"))))
}

/// Remote hosts of a NAT66: the last 32 bits are those of the remote IPv4 address in the flow space.
const REMOTES6: u128 = 0x2001_0002_0000_1000 << 64;

/// The IPv6 address that SIIT or a NAT46 has for an IPv4 address.
pub(super) fn by_map_or_prefix(maps: Option<&Eam>, pref64: Option<Prefix6>, addr: u32) -> Result<u128, RigError> {
    if let Some(mapped) = maps.and_then(|maps| maps.to_ipv6(addr)) {
        let (four, six) = (Ipv4Addr::from(addr), Ipv6Addr::from(mapped));
        // Maps of a file are seen here first.
        return if scenario::is_for_laboratories(six.into()) {
            Ok(mapped)
        } else {
            Err(RigError::Gateway(format!(
                "{four}: its explicit map to {six} is not for laboratories, frames to it could leave the test bed: use \
                 2001:2::/48 or 2001:db8::/32"
            )))
        };
    }
    let none = || wrong(format!("{}: neither eam nor pref64 has an address for it", Ipv4Addr::from(addr)));
    let prefix = Pref64::new(pref64.ok_or_else(none)?, true).map_err(wrong)?;
    prefix.to_ipv6(addr).map_err(|e| wrong(format!("{e:?}")))
}
