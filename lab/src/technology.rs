//! From a technology's parameters to the plane's functions: customer edge, provider edge, or both in a row. The only
//! place that knows all technologies of the plane, so that gateways and rigs know none.

use crate::scenario::technology::{Lw4o6, Map, Nat, Plays, Siit as SiitTable, Softwires, State, Technology};
use plane::aftr::{Aftr, Config as AftrConfig};
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::lw4o6;
use plane::map::{Customer, Domain, MapEBr, MapECe, MapTBr, MapTCe, Rule};
use plane::nat44::Nat44;
use plane::nat44::config::{Config as NatConfig, Prefix};
use plane::nat64::{Config as Nat64Config, Nat64};
use plane::translate::{Clat, Config as TranslateConfig, Eam, Hosts, Pair, Pref64, Siit, Translate};
use plane::tunnel::{Config as TunnelConfig, OneTunnel, Tunnel};
use plane::{Addressing, Chain, Function, Prefix6, Side, Side4, Side6, Steering};
use std::fmt::Display;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::{AddrRange, PortRange, PortSet};

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
    let edges = Edges { links: *links, workers, seed };
    let built = match technology {
        Technology::Nat44 { inside, nat } => edges.each(|w| edges.nat44(inside, nat, w)).map(|f| then.with(f)),
        Technology::Siit(siit) => edges.each(|_| edges.siit(siit)).map(|f| then.with(f)),
        Technology::Nat64 { pref64, nat } => edges.each(|w| edges.plat(*pref64, nat, w)).map(|f| then.with(f)),
        Technology::Xlat464 { pref64, clat, inside: _, nat } => {
            edges.edges(plays, |e, _| e.clat(*pref64, *clat), |e, w| e.plat(*pref64, nat, w), then)
        }
        Technology::DsLite { b4, b4s, aftr, inside, nat } => {
            edges.edges(plays, |e, _| e.b4(*b4, *aftr), |e, w| e.aftr(*aftr, *b4s, inside, nat, w), then)
        }
        Technology::Lw4o6(l) => edges.lw4o6(l, plays, then),
        Technology::MapE { map, br } => edges.map_e(map, *br, plays, then),
        Technology::MapT { map, dmr } => edges.map_t(map, *dmr, plays, then),
    };
    built.map_err(|why| BuildError { technology: technology.name(), why })
}

/// IPv6 header in front of a tunnelled packet, and what an IPv6 header is longer than an IPv4 header: what the IPv4 side of a
/// customer edge can send less.
const OVERHEAD: u16 = 40;
const TRANSLATED: u16 = 20;

/// Largest packet inside such a gateway: no limit of its own.
const INNER_MTU: u16 = 65_535;

/// B4 and AFTR inside their tunnel (RFC 6333, section 5.7).
const B4_INSIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);

/// What the edges of one gateway are built from.
#[derive(Clone, Copy)]
struct Edges {
    links: Links,
    workers: usize,
    seed: u64,
}

impl Edges {
    fn each<F>(&self, one: impl Fn(usize) -> Result<F, Why>) -> Result<Vec<F>, Why> {
        (0..self.workers).map(one).collect()
    }

    /// The edge that is played, or both in a row.
    fn edges<C: Function + 'static, P: Function + 'static, U: Use>(
        &self,
        plays: Plays,
        ce: impl Fn(&Edges, usize) -> Result<C, Why>,
        pe: impl Fn(&Edges, usize) -> Result<P, Why>,
        then: U,
    ) -> Result<U::Out, Why> {
        match plays {
            Plays::Ce => self.each(|w| ce(self, w)).map(|f| then.with(f)),
            Plays::Pe => self.each(|w| pe(self, w)).map(|f| then.with(f)),
            Plays::Dual => {
                let [ce_edges, pe_edges] = self.apart();
                let pair = |w| {
                    let (ce, pe) = (ce(&ce_edges, w)?, pe(&pe_edges, w)?);
                    Ok(Chain::new(("ce", ce), ("pe", pe), self.workers, self.seed))
                };
                self.each(pair).map(|f| then.with(f))
            }
        }
    }

    /// Both edges with an IPv6 link between them.
    fn apart(&self) -> [Edges; 2] {
        let side = |mac, next_hop, address: [u16; 8]| Side6 { mac, next_hop, address: address.into(), mtu: INNER_MTU };
        let ce = side(CUSTOMER_HALF, INTERNET_HALF, [0x2001, 2, 0, 0x100, 0, 0, 0, 1]);
        let pe = side(INTERNET_HALF, CUSTOMER_HALF, [0x2001, 2, 0, 0x100, 0, 0, 0, 2]);
        let with = |links| Edges { links, ..*self };
        [with(Links { right6: ce, ..self.links }), with(Links { left6: pe, ..self.links })]
    }

    /// The IPv4 link inside an edge that is made of two functions, as the half with IPv6 sees it.
    fn inner4(&self) -> Side4 {
        Side4 { mac: INTERNET_HALF, next_hop: CUSTOMER_HALF, address: self.links.left4.address, mtu: INNER_MTU }
    }

    fn nat44(&self, inside: &[Prefix], nat: &Nat, worker: usize) -> Result<Nat44, Why> {
        let mut c = NatConfig::new(self.links.left4, self.links.right4, inside.to_vec(), nat.pool.clone());
        keep_nat(&mut c, nat);
        Nat44::new(c, worker, self.workers, self.seed).map_err(words)
    }

    fn translate<A: Addressing>(
        &self,
        ipv6: Side,
        v4: Side4,
        v6: Side6,
        hop: bool,
        addressing: A,
    ) -> Result<Translate<A>, Why> {
        let config = TranslateConfig { hop, seed: self.seed, ..TranslateConfig::new(ipv6, v4, v6) };
        Translate::new(config, addressing).map_err(words)
    }

    fn siit(&self, siit: &SiitTable) -> Result<Translate<Siit>, Why> {
        let pairs: Vec<_> = siit.eam.iter().enumerate().map(|(i, &(v4, v6))| (i + 1, Pair { v4, v6 })).collect();
        let maps = if pairs.is_empty() { None } else { Some(Eam::new(&pairs, true).map_err(words)?) };
        let prefix = siit.pref64.map(|p| Pref64::new(p, false)).transpose().map_err(words)?;
        let (side, v4, v6) = if siit.ipv6_left {
            (Side::Customer, self.links.right4, self.links.left6)
        } else {
            (Side::Internet, self.links.left4, self.links.right6)
        };
        self.translate(side, v4, v6, true, Siit::new(maps, prefix))
    }

    fn clat(&self, pref64: Prefix6, clat: Prefix6) -> Result<Translate<Clat>, Why> {
        let hosts = Hosts::Prefix(Pref64::new(clat, true).map_err(words)?);
        let addressing = Clat::new(hosts, Pref64::new(pref64, true).map_err(words)?)?;
        self.translate(Side::Internet, self.links.left4, self.links.right6, true, addressing)
    }

    fn plat(&self, pref64: Prefix6, nat: &Nat, worker: usize) -> Result<Nat64, Why> {
        let mut c = Nat64Config::new(self.links.left6, self.links.right4, pref64, nat.pool.clone());
        keep_nat(&mut c.nat, nat);
        c.private_behind_well_known = false;
        c.customers = customers(nat);
        Nat64::new(c, worker, self.workers, self.seed).map_err(words)
    }

    fn b4(&self, b4: Ipv6Addr, aftr: Ipv6Addr) -> Result<Tunnel<OneTunnel>, Why> {
        let mut c = TunnelConfig::new(Side::Internet, self.links.left4, self.links.right6);
        c.inner_address = B4_INSIDE;
        Tunnel::new(c, OneTunnel::new(b4, aftr), 0, 1, self.seed).map_err(words)
    }

    fn aftr(&self, own: Ipv6Addr, b4s: Prefix6, inside: &[Prefix], nat: &Nat, worker: usize) -> Result<Aftr, Why> {
        let customer = Side6 { address: own, ..self.links.left6 };
        let mut c = AftrConfig::new(customer, self.links.right4, nat.pool.clone());
        keep_nat(&mut c.nat, nat);
        c.customers = customers(nat);
        c.softwires = if b4s.len == 0 { Vec::new() } else { vec![b4s] };
        c.inner = inside.to_vec();
        Aftr::new(c, worker, self.workers, self.seed).map_err(words)
    }

    fn tunnel<S: plane::Softwires>(
        &self,
        ipv6: Side,
        v4: Side4,
        v6: Side6,
        hop: bool,
        softwires: S,
        worker: usize,
    ) -> Result<Tunnel<S>, Why> {
        let config = TunnelConfig { hop, ..TunnelConfig::new(ipv6, v4, v6) };
        Tunnel::new(config, softwires, worker as u16, self.workers as u16, self.seed).map_err(words)
    }

    fn lw4o6<U: Use>(&self, l: &Lw4o6, plays: Plays, mut then: U) -> Result<U::Out, Why> {
        let began = Instant::now();
        let table = binding_table(l)?;
        then.loaded(TableLoad { entries: table.len(), bytes: table.bytes(), took: began.elapsed() });
        let own = table.iter().nth(l.ce as usize);
        let live = lw4o6::Live::new(table);
        let ce = |e: &Edges, w| {
            let own = own.ok_or_else(|| format!("ce = {}: the table has no such softwire", l.ce))?;
            let softwires = OneTunnel::new(own.b4, own.own.unwrap_or(l.lwaftr));
            let tunnel = e.tunnel(Side::Internet, e.inner4(), e.links.right6, false, softwires, w)?;
            let pool = AddrRange::one(own.ipv4);
            e.behind_nat(&l.inside, pool, own.ports, &l.state, w, OVERHEAD, ("tunnel", tunnel))
        };
        let pe = |e: &Edges, w| e.tunnel(Side::Customer, e.links.right4, e.links.left6, true, live.bindings(), w);
        self.edges(plays, ce, pe, then)
    }

    /// A MAP domain, and the customer that the CE is.
    fn domain(map: &Map, then: &mut impl Use) -> Result<(Arc<Domain>, Customer), Why> {
        let began = Instant::now();
        let whole = rule(map);
        let mapping = whole.prepare().map_err(words)?;
        if map.ce >= mapping.customers() {
            return Err(format!("ce = {}: the rule has room for {} customers", map.ce, mapping.customers()));
        }
        let domain = Domain::new(cut(&whole, map.rules)).map_err(words)?;
        then.loaded(TableLoad { entries: map.rules, bytes: domain.bytes(), took: began.elapsed() });
        Ok((Arc::new(domain), mapping.nth(map.ce)))
    }

    fn map_e<U: Use>(&self, map: &Map, br: Ipv6Addr, plays: Plays, mut then: U) -> Result<U::Out, Why> {
        let (domain, customer) = Edges::domain(map, &mut then)?;
        let ce = |e: &Edges, w| {
            let softwires = MapECe::new(customer, br, nobody_else()?).map_err(words)?;
            let tunnel = e.tunnel(Side::Internet, e.inner4(), e.links.right6, false, softwires, w)?;
            e.behind_nat(&map.inside, customer.pool(), customer.ports, &map.state, w, OVERHEAD, ("tunnel", tunnel))
        };
        let pe = |e: &Edges, w| {
            let softwires = MapEBr::new(Arc::clone(&domain), br).map_err(words)?;
            e.tunnel(Side::Customer, e.links.right4, e.links.left6, true, softwires, w)
        };
        self.edges(plays, ce, pe, then)
    }

    fn map_t<U: Use>(&self, map: &Map, dmr: Prefix6, plays: Plays, mut then: U) -> Result<U::Out, Why> {
        let (domain, customer) = Edges::domain(map, &mut then)?;
        let dmr = Pref64::new(dmr, true).map_err(words)?;
        let ce = |e: &Edges, w| {
            let addressing = MapTCe::new(customer, dmr, nobody_else()?).map_err(words)?;
            let translate = e.translate(Side::Internet, e.inner4(), e.links.right6, false, addressing)?;
            let translate = ("translate", translate.on_worker(w as u16, e.workers as u16));
            e.behind_nat(&map.inside, customer.pool(), customer.ports, &map.state, w, TRANSLATED, translate)
        };
        let pe = |e: &Edges, w| {
            let addressing = MapTBr::new(Arc::clone(&domain), dmr).map_err(words)?;
            let translate = e.translate(Side::Customer, e.links.right4, e.links.left6, true, addressing)?;
            Ok(translate.on_worker(w as u16, e.workers as u16))
        };
        self.edges(plays, ce, pe, then)
    }

    /// A customer edge that keeps state: a NAT44 into the customer's address and ports, and behind it what speaks IPv6.
    #[allow(
        clippy::too_many_arguments,
        reason = "one call for three technologies; each argument is one of their parameters"
    )]
    fn behind_nat<F: Function>(
        &self,
        inside: &[Prefix],
        pool: AddrRange,
        ports: PortSet,
        state: &State,
        worker: usize,
        less: u16,
        (name, behind): (&'static str, F),
    ) -> Result<Chain<Nat44, F>, Why> {
        let mtu = self.links.right6.mtu.saturating_sub(less);
        let inner = Side4 { mac: CUSTOMER_HALF, next_hop: INTERNET_HALF, address: pool.first, mtu };
        let mut c = NatConfig::new(self.links.left4, inner, inside.to_vec(), vec![pool]);
        // A shared address has no ports to spare, and the port set says which there are.
        c.ports = PortRange { first: if ports == PortSet::ALL { 1024 } else { 1 }, last: 65_535 };
        c.port_set = ports;
        keep(&mut c, state);
        let nat = Nat44::new(c, worker, self.workers, self.seed).map_err(words)?;
        Ok(Chain::new(("nat44", nat), (name, behind), self.workers, self.seed))
    }
}

/// Hub and spoke: all but the own rule goes to the relay.
fn nobody_else() -> Result<Arc<Domain>, Why> {
    Domain::new(Vec::new()).map(Arc::new).map_err(words)
}

/// The rule of a MAP domain.
pub fn rule(map: &Map) -> Rule {
    Rule { offset: map.psid_offset, ..Rule::new(map.ipv6, map.ipv4, map.ea_bits) }
}

/// As many rules in the place of one: the first EA bits of each, which continue the IPv4 address, become part of its prefixes
/// (RFC 7597, section 5.2), so that customers and their addresses stay what they are. Where the number is no power of two,
/// the first rules are one bit longer than the others.
fn cut(whole: &Rule, rules: u64) -> Vec<Rule> {
    let bits = rules.max(1).ilog2();
    let longer = rules.max(1) - (1 << bits);
    let part = |bits: u32, i: u64| Rule {
        ipv6: Prefix6 {
            addr: Ipv6Addr::from_bits(whole.ipv6.addr.to_bits() | part_of(i, 128 - u32::from(whole.ipv6.len) - bits)),
            len: whole.ipv6.len + bits as u8,
        },
        ipv4: Prefix {
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

/// The binding table of a lwAFTR.
///
/// # Errors
/// A file that cannot be read, or softwires that do not fit each other.
pub fn binding_table(l: &Lw4o6) -> Result<lw4o6::Table, String> {
    match &l.softwires {
        Softwires::File(path) => {
            let name = path.display().to_string();
            let file = std::fs::File::open(path).map_err(|e| format!("softwires = \"{name}\": {e}"))?;
            lw4o6::read(&name, l.lwaftr, std::io::BufReader::with_capacity(1 << 20, file)).map_err(words)
        }
        Softwires::Row { ipv4, b4, psid_len, psid_offset, .. } => {
            let mut builder = lw4o6::Builder::new("the softwires in a row", l.lwaftr);
            let shared = 1u64 << psid_len;
            for i in 0..l.softwires.count() {
                let ports = PortSet::new(*psid_offset, *psid_len, (i % shared) as u16).map_err(words)?;
                let addr = u32::from(ipv4.addr).wrapping_add((i / shared) as u32);
                let softwire = lw4o6::Softwire { b4: b4_in_row(*b4, i), ipv4: addr.into(), ports, own: None };
                builder.add(&softwire).map_err(words)?;
            }
            builder.build().map_err(words)
        }
    }
}

/// The address of B4 number `i` of a row: one /64 each.
pub fn b4_in_row(first: Ipv6Addr, i: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(first.to_bits().wrapping_add(u128::from(i) << 64))
}

/// Room for customers: as many as there can be sessions, up to a million.
fn customers(nat: &Nat) -> u64 {
    nat.state.table.clamp(1, 1 << 20)
}

fn keep_nat(c: &mut NatConfig, nat: &Nat) {
    c.ports = nat.pool_ports;
    keep(c, &nat.state);
}

/// How the NAT keeps state.
fn keep(c: &mut NatConfig, state: &State) {
    c.mapping = state.mapping;
    c.filtering = state.filtering;
    c.sessions = state.table;
    c.timeouts.udp = state.udp_timeout.into();
    c.hairpinning = state.hairpinning;
}

/// Addresses that a gateway answers for on its links (left, right) beside those of the links themselves.
#[allow(clippy::match_same_arms, reason = "one line a case, like the table that it is")]
pub fn answers_for(technology: &Technology, plays: Plays) -> [Answers; 2] {
    let v4 = |pool: &[AddrRange]| Answers { ipv4: pool.to_vec(), ..Answers::default() };
    let one = |addr| Answers { ipv6: vec![Prefix6 { addr, len: 128 }], ..Answers::default() };
    let none = Answers::default;
    match (technology, plays) {
        (Technology::Nat44 { nat, .. } | Technology::Nat64 { nat, .. }, _) => [none(), v4(&nat.pool)],
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
pub fn steering(technology: &Technology, plays: Plays) -> [Steering; 2] {
    if !technology.is_stateful(plays) {
        // All parts of a datagram meet: by both addresses where there are only these, by the ends of the tunnel.
        let by = |version| if version == 4 { Tunnel::<OneTunnel>::STEER_IPV4 } else { Tunnel::<OneTunnel>::STEER_IPV6 };
        let (left, right) = technology.versions(plays);
        return [by(left), by(right)];
    }
    match technology.versions(plays) {
        (4, 4) => [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET],
        (6, _) => [Nat64::STEER_CUSTOMER, Nat64::STEER_INTERNET],
        (_, _) => [Nat44::STEER_CUSTOMER, Nat64::STEER_CUSTOMER],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A domain that is cut has the customers of the one rule, each once and with the same addresses.
    #[test]
    fn cutting_a_rule_changes_no_customer() {
        let ipv6 = Prefix6 { addr: "2001:2:1::".parse().unwrap(), len: 48 };
        let ipv4 = Prefix { addr: [203, 0, 113, 0].into(), len: 27 };
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
