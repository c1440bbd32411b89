//! From a technology's parameters to the plane's functions: customer edge, provider edge, or both in a row. The only
//! place that knows all technologies of the plane, so that gateways and rigs know none.

mod tables;

pub use tables::{b4_in_row, binding_table, explicit_maps, listed_maps, rule};

use crate::scenario::technology::options::Options;
use crate::scenario::technology::{Lw4o6, Map, Nat, Nat6, Plays, Siit as SiitTable, Softwires, State, Technology};
use plane::aftr::{Aftr, Config as AftrConfig};
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::lw4o6;
use plane::map::{Customer, Domain, MapEBr, MapECe, MapTBr, MapTCe};
use plane::nat44::Nat44;
use plane::nat44::config::{Config as NatConfig, Prefix};
use plane::nat46::{Config as Nat46Config, Nat46};
use plane::nat64::{Config as Nat64Config, Nat64};
use plane::nat66::{Config as Nat66Config, Nat66};
use plane::side::inner_address;
use plane::translate::{Clat, Config as TranslateConfig, Hosts, Pair, Pref64, Siit, Translate};
use plane::tunnel::{Config as TunnelConfig, OneTunnel, Tunnel};
use plane::{Addressing, Chain, Function, Pool6, Prefix6, Side, Side4, Side6, Steering};
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
        Technology::Nat44 { inside, nat } => edges.each(|w| edges.nat44(inside, nat, w)).map(|f| then.with(f)),
        Technology::Siit(siit) => edges.each(|w| edges.siit(siit, w)).map(|f| then.with(f)),
        Technology::Nat64 { pref64, private, nat, .. } => {
            edges.each(|w| edges.plat((*pref64, *private), nat, w)).map(|f| then.with(f))
        }
        Technology::Nat46 { inside, eam, pref64, nat } => edges
            .nat46(inside, eam, *pref64, nat)
            .and_then(|c| edges.each(|w| c.build(w, workers, seed).map_err(words)).map(|f: Vec<Nat46>| then.with(f))),
        Technology::Nat66 { inside, nat } => edges.each(|w| edges.nat66(inside, nat, w)).map(|f| then.with(f)),
        Technology::Xlat464 { pref64, private, clat, nat, .. } => {
            let pref64 = (*pref64, *private);
            edges.edges(plays, |e, w| e.clat(pref64, *clat, w), |e, w| e.plat(pref64, nat, w), then)
        }
        Technology::DsLite { b4, b4s, aftr, inside, nat } => {
            edges.edges(plays, |e, w| e.b4(*b4, *aftr, w), |e, w| e.aftr(*aftr, *b4s, inside, nat, w), then)
        }
        Technology::Lw4o6(l) => edges.lw4o6(l, plays, then),
        Technology::MapE { map, br } => edges.map_e(map, *br, plays, then),
        Technology::MapT { map, dmr, private, .. } => edges.map_t(map, (*dmr, *private), plays, then),
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
    /// Those of its translators.
    options: Options,
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
        let address = inner_address(self.links.left4.address);
        Side4 { mac: INTERNET_HALF, next_hop: CUSTOMER_HALF, address, mtu: INNER_MTU }
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
        worker: usize,
    ) -> Result<Translate<A>, Why> {
        self.on_worker(self.translator(ipv6, v4, v6, hop), addressing, worker)
    }

    fn on_worker<A: Addressing>(&self, c: TranslateConfig, addressing: A, worker: usize) -> Result<Translate<A>, Why> {
        Ok(Translate::new(c, addressing).map_err(words)?.on_worker(worker as u16, self.workers as u16))
    }

    fn translator(&self, ipv6: Side, v4: Side4, v6: Side6, hop: bool) -> TranslateConfig {
        let mut config = TranslateConfig { hop, seed: self.seed, ..TranslateConfig::new(ipv6, v4, v6) };
        self.options.set(&mut config);
        config
    }

    fn siit(&self, siit: &SiitTable, worker: usize) -> Result<Translate<Siit>, Why> {
        let maps = explicit_maps(siit)?;
        let prefix = siit.pref64.map(|p| Pref64::new(p, siit.private)).transpose().map_err(words)?;
        let (side, v4, v6) = if siit.ipv6_left {
            (Side::Customer, self.links.right4, self.links.left6)
        } else {
            (Side::Internet, self.links.left4, self.links.right6)
        };
        let sources = siit.icmp_sources.clone();
        let config = TranslateConfig { icmp_sources: sources, ..self.translator(side, v4, v6, true) };
        self.on_worker(config, Siit::new(maps, prefix), worker)
    }

    fn clat(&self, (pref64, private): (Prefix6, bool), clat: Prefix6, worker: usize) -> Result<Translate<Clat>, Why> {
        let hosts = Hosts::Prefix(Pref64::new(clat, true).map_err(words)?);
        let addressing = Clat::new(hosts, Pref64::new(pref64, private).map_err(words)?)?;
        self.translate(Side::Internet, self.links.left4, self.links.right6, true, addressing, worker)
    }

    fn plat(&self, (pref64, private): (Prefix6, bool), nat: &Nat, worker: usize) -> Result<Nat64, Why> {
        let mut c = Nat64Config::new(self.links.left6, self.links.right4, pref64, nat.pool.clone());
        keep_nat(&mut c.nat, nat);
        self.options.set_nat64(&mut c);
        c.private_behind_well_known = private;
        c.customers = addresses(&nat.state);
        Nat64::new(c, worker, self.workers, self.seed).map_err(words)
    }

    fn nat46(
        &self,
        inside: &[Prefix],
        eam: &[(Prefix, Prefix6)],
        pref64: Option<Prefix6>,
        nat: &Nat6,
    ) -> Result<Nat46Config, Why> {
        let pool = Pool6::new(nat.pool).map_err(words)?;
        let mut c = Nat46Config::new(self.links.left4, self.links.right6, inside.to_vec(), pool);
        c.maps = eam.iter().map(|&(v4, v6)| Pair { v4, v6 }).collect();
        c.pref64 = pref64;
        c.nat.ports = nat.pool_ports;
        keep(&mut c.nat, &nat.state);
        Ok(c)
    }

    fn nat66(&self, inside: &[Prefix6], nat: &Nat6, worker: usize) -> Result<Nat66, Why> {
        let pool = Pool6::new(nat.pool).map_err(words)?;
        let mut c = Nat66Config::new(self.links.left6, self.links.right6, pool);
        c.inside = inside.to_vec();
        c.nat.ports = nat.pool_ports;
        keep(&mut c.nat, &nat.state);
        (c.customers, c.remotes) = (addresses(&nat.state), addresses(&nat.state));
        Nat66::new(c, worker, self.workers, self.seed).map_err(words)
    }

    fn b4(&self, b4: Ipv6Addr, aftr: Ipv6Addr, worker: usize) -> Result<Tunnel<OneTunnel>, Why> {
        let c = TunnelConfig::new(Side::Internet, self.links.left4, self.links.right6);
        self.tunnel(TunnelConfig { inner_address: B4_INSIDE, ..c }, OneTunnel::new(b4, aftr), worker)
    }

    fn aftr(&self, own: Ipv6Addr, b4s: Prefix6, inside: &[Prefix], nat: &Nat, worker: usize) -> Result<Aftr, Why> {
        let customer = Side6 { address: own, ..self.links.left6 };
        let mut c = AftrConfig::new(customer, self.links.right4, nat.pool.clone());
        keep_nat(&mut c.nat, nat);
        c.customers = addresses(&nat.state);
        c.softwires = if b4s.len == 0 { Vec::new() } else { vec![b4s] };
        c.inner = inside.to_vec();
        Aftr::new(c, worker, self.workers, self.seed).map_err(words)
    }

    /// The customer's end of tunnels behind a NAT44, which is the hop.
    fn ce_tunnel<S: plane::Softwires>(&self, softwires: S, worker: usize) -> Result<Tunnel<S>, Why> {
        let c = TunnelConfig::new(Side::Internet, self.inner4(), self.links.right6);
        self.tunnel(TunnelConfig { hop: false, ..c }, softwires, worker)
    }

    /// The provider's end of tunnels.
    fn pe_tunnel<S: plane::Softwires>(&self, softwires: S, worker: usize) -> Result<Tunnel<S>, Why> {
        self.tunnel(TunnelConfig::new(Side::Customer, self.links.right4, self.links.left6), softwires, worker)
    }

    fn tunnel<S: plane::Softwires>(&self, config: TunnelConfig, softwires: S, worker: usize) -> Result<Tunnel<S>, Why> {
        Tunnel::new(config, softwires, worker as u16, self.workers as u16, self.seed).map_err(words)
    }

    fn lw4o6<U: Use>(&self, l: &Lw4o6, plays: Plays, mut then: U) -> Result<U::Out, Why> {
        let began = Instant::now();
        let table = binding_table(l)?;
        then.loaded(TableLoad { entries: table.len(), bytes: table.bytes(), took: began.elapsed() });
        let own = table.iter().nth(l.ce as usize);
        let live = then.binding(table);
        let ce = |e: &Edges, w| {
            let own = own.ok_or_else(|| format!("ce = {}: the table has no such softwire", l.ce))?;
            let softwires = OneTunnel::new(own.b4, own.own.unwrap_or(l.lwaftr));
            let tunnel = e.ce_tunnel(softwires, w)?;
            let pool = AddrRange::one(own.ipv4);
            e.behind_nat(&l.inside, pool, own.ports, &l.state, w, OVERHEAD, ("tunnel", tunnel))
        };
        let pe = |e: &Edges, w| e.pe_tunnel(live.bindings(), w);
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
        let domain = Domain::new(tables::cut(&whole, map.rules)).map_err(words)?;
        then.loaded(TableLoad { entries: map.rules, bytes: domain.bytes(), took: began.elapsed() });
        Ok((Arc::new(domain), mapping.nth(map.ce)))
    }

    fn map_e<U: Use>(&self, map: &Map, br: Ipv6Addr, plays: Plays, mut then: U) -> Result<U::Out, Why> {
        let (domain, customer) = Edges::domain(map, &mut then)?;
        let ce = |e: &Edges, w| {
            let softwires = MapECe::new(customer, br, nobody_else()?).map_err(words)?;
            let tunnel = e.ce_tunnel(softwires, w)?;
            e.behind_nat(&map.inside, customer.pool(), customer.ports, &map.state, w, OVERHEAD, ("tunnel", tunnel))
        };
        let pe = |e: &Edges, w| {
            let softwires = MapEBr::new(Arc::clone(&domain), br).map_err(words)?;
            e.pe_tunnel(softwires, w)
        };
        self.edges(plays, ce, pe, then)
    }

    fn map_t<U: Use>(
        &self,
        map: &Map,
        (dmr, private): (Prefix6, bool),
        plays: Plays,
        mut then: U,
    ) -> Result<U::Out, Why> {
        let (domain, customer) = Edges::domain(map, &mut then)?;
        let dmr = Pref64::new(dmr, private).map_err(words)?;
        let ce = |e: &Edges, w| {
            let addressing = MapTCe::new(customer, dmr, nobody_else()?).map_err(words)?;
            let translate = e.translate(Side::Internet, e.inner4(), e.links.right6, false, addressing, w)?;
            let (pool, ports) = (customer.pool(), customer.ports);
            e.behind_nat(&map.inside, pool, ports, &map.state, w, TRANSLATED, ("translate", translate))
        };
        let pe = |e: &Edges, w| {
            let addressing = MapTBr::new(Arc::clone(&domain), dmr).map_err(words)?;
            e.translate(Side::Customer, e.links.right4, e.links.left6, true, addressing, w)
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

/// Room for customers, or remote addresses: as many as there can be sessions, up to a million.
fn addresses(state: &State) -> u64 {
    state.table.clamp(1, 1 << 20)
}

fn keep_nat(c: &mut NatConfig, nat: &Nat) {
    c.ports = nat.pool_ports;
    keep(c, &nat.state);
}

/// How the NAT keeps state.
fn keep(c: &mut NatConfig, state: &State) {
    c.mapping = state.mapping;
    c.filtering = state.filtering;
    c.sessions = state.table.max(1);
    c.sketch = state.table == 0;
    c.timeouts.udp = state.udp_timeout.into();
    c.hairpinning = state.hairpinning;
    state.limits.set(c);
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
    match technology.versions(plays) {
        _ if matches!(technology, Technology::Nat46 { .. }) => {
            [Nat46Config::STEER_CUSTOMER, Nat46Config::STEER_INTERNET]
        }
        (6, 6) => [Nat66::STEER_CUSTOMER, Nat66::STEER_INTERNET],
        (4, 4) => [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET],
        (6, _) => [Nat64::STEER_CUSTOMER, Nat64::STEER_INTERNET],
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
            Some(rule(map).prepare().ok()?.nth(map.ce).ports)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
