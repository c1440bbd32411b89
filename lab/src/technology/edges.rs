//! The edges of each technology: which of the plane's functions they are made of, and with which settings. Apart from the
//! choice among the technologies, because this is what their parameters mean.

use super::tables::{self, binding_table, explicit_maps};
use super::{Customers, Links, TableLoad, Use, Why, words};
use crate::scenario::technology::options::Options;
use crate::scenario::technology::{Lw4o6, Map, MapRule, Nat, Nat6, Plays, Siit as SiitTable, State};
use plane::aftr::{Aftr, Config as AftrConfig};
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::edge::{self, Edge};
use plane::map::{Customer, Domain, MapEBr, MapECe, MapTBr, MapTCe};
use plane::nat44::Nat44;
use plane::nat44::config::{Config as NatConfig, Prefix};
use plane::nat46::Config as Nat46Config;
use plane::nat64::{Config as Nat64Config, Nat64};
use plane::nat66::{Config as Nat66Config, Nat66};
use plane::translate::{Clat, Config as TranslateConfig, Hairpinning, Hosts, Pair, Pref64, Siit, Translate};
use plane::tunnel::{Config as TunnelConfig, OneTunnel, Tunnel};
use plane::{Addressing, Chain, Function, Pool6, Prefix6, Side, Side4, Side6};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;
use wire::AddrRange;

/// Largest packet inside such a gateway: no limit of its own.
const INNER_MTU: u16 = 65_535;

/// B4 and AFTR inside their tunnel (RFC 6333, section 5.7).
const B4_INSIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);

/// What the edges of one gateway are built from.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    pub(super) links: Links,
    pub(super) workers: usize,
    pub(super) seed: u64,
    /// Those of its translators and tunnels.
    pub(super) options: Options,
}

/// A MAP domain with the customer that the CE is, and the rules of those that it sends to directly.
struct MapEdges {
    domain: Arc<Domain>,
    customer: Customer,
    mesh: Arc<Domain>,
}

impl Edges {
    pub(super) fn each<F>(&self, one: impl Fn(usize) -> Result<F, Why>) -> Result<Vec<F>, Why> {
        (0..self.workers).map(one).collect()
    }

    /// The edge that is played, or both in a row.
    pub(super) fn edges<C: Function + 'static, P: Function + 'static, U: Use>(
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

    /// The links of a customer edge that keeps state.
    fn edge(&self) -> Edge {
        Edge { customer: self.links.left4, internet: self.links.right6 }
    }

    pub(super) fn nat44(&self, inside: &[Prefix], nat: &Nat, worker: usize) -> Result<Nat44, Why> {
        let mut c = NatConfig::new(self.links.left4, self.links.right4, inside.to_vec(), nat.pool.clone());
        keep_nat(&mut c, nat);
        self.options.set_nat(&mut c);
        Nat44::new(c, worker, self.workers, self.seed).map_err(words)
    }

    fn on_worker<A: Addressing>(&self, c: TranslateConfig, addressing: A, worker: usize) -> Result<Translate<A>, Why> {
        Ok(Translate::new(c, addressing).map_err(words)?.on_worker(worker as u16, self.workers as u16))
    }

    /// A translator that is a hop of its own.
    fn translator(&self, ipv6: Side, v4: Side4, v6: Side6) -> TranslateConfig {
        self.as_written(TranslateConfig::new(ipv6, v4, v6))
    }

    fn as_written(&self, config: TranslateConfig) -> TranslateConfig {
        let mut config = TranslateConfig { seed: self.seed, ..config };
        self.options.set(&mut config);
        config
    }

    pub(super) fn siit(&self, siit: &SiitTable, worker: usize) -> Result<Translate<Siit>, Why> {
        let maps = explicit_maps(siit)?;
        let prefix = siit.pref64.map(|p| Pref64::new(p, siit.private)).transpose().map_err(words)?;
        let (side, v4, v6) = if siit.ipv6_left {
            (Side::Customer, self.links.right4, self.links.left6)
        } else {
            (Side::Internet, self.links.left4, self.links.right6)
        };
        let sources = siit.icmp_sources.clone();
        let config = TranslateConfig { icmp_sources: sources, ..self.translator(side, v4, v6) };
        self.on_worker(config, Siit::new(maps, prefix), worker)
    }

    pub(super) fn clat(
        &self,
        (pref64, private): (Prefix6, bool),
        clat: Prefix6,
        worker: usize,
    ) -> Result<Translate<Clat>, Why> {
        let hosts = Hosts::Prefix(Pref64::new(clat, true).map_err(words)?);
        let addressing = Clat::new(hosts, Pref64::new(pref64, private).map_err(words)?)?;
        let config = self.translator(Side::Internet, self.links.left4, self.links.right6);
        self.on_worker(config, addressing, worker)
    }

    pub(super) fn plat(&self, (pref64, private): (Prefix6, bool), nat: &Nat, worker: usize) -> Result<Nat64, Why> {
        let mut c = Nat64Config::new(self.links.left6, self.links.right4, pref64, nat.pool.clone());
        keep_nat(&mut c.nat, nat);
        self.options.set_nat64(&mut c);
        c.private_behind_well_known = private;
        c.customers = addresses(&nat.state);
        c.subscriber_prefix = nat.state.limits.subscriber_prefix();
        Nat64::new(c, worker, self.workers, self.seed).map_err(words)
    }

    pub(super) fn nat46(
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
        c.lowest_ipv6_mtu = self.options.lowest_ipv6_mtu.unwrap_or(c.lowest_ipv6_mtu);
        c.nat.ports = nat.pool_ports;
        keep(&mut c.nat, &nat.state);
        self.options.set_nat(&mut c.nat);
        Ok(c)
    }

    pub(super) fn nat66(&self, inside: &[Prefix6], nat: &Nat6, worker: usize) -> Result<Nat66, Why> {
        let pool = Pool6::new(nat.pool).map_err(words)?;
        let mut c = Nat66Config::new(self.links.left6, self.links.right6, pool);
        c.inside = inside.to_vec();
        c.nat.ports = nat.pool_ports;
        keep(&mut c.nat, &nat.state);
        self.options.set_nat66(&mut c);
        (c.customers, c.remotes) = (addresses(&nat.state), addresses(&nat.state));
        c.subscriber_prefix = nat.state.limits.subscriber_prefix();
        Nat66::new(c, worker, self.workers, self.seed).map_err(words)
    }

    pub(super) fn b4(&self, b4: Ipv6Addr, aftr: Ipv6Addr, worker: usize) -> Result<Tunnel<OneTunnel>, Why> {
        let c = TunnelConfig::new(Side::Internet, self.links.left4, self.links.right6);
        self.tunnel(TunnelConfig { inner_address: B4_INSIDE, ..c }, OneTunnel::new(b4, aftr), worker)
    }

    pub(super) fn aftr(
        &self,
        own: Ipv6Addr,
        b4s: Prefix6,
        inside: &[Prefix],
        nat: &Nat,
        worker: usize,
    ) -> Result<Aftr, Why> {
        let customer = Side6 { address: own, ..self.links.left6 };
        let mut c = AftrConfig::new(customer, self.links.right4, nat.pool.clone());
        keep_nat(&mut c.nat, nat);
        self.options.set_aftr(&mut c);
        c.customers = addresses(&nat.state);
        c.softwires = if b4s.len == 0 { Vec::new() } else { vec![b4s] };
        c.inner = inside.to_vec();
        Aftr::new(c, worker, self.workers, self.seed).map_err(words)
    }

    /// The customer's end of tunnels behind a NAT44, which is the hop.
    fn ce_tunnel<S: plane::Softwires>(&self, softwires: S, worker: usize) -> Result<Tunnel<S>, Why> {
        self.tunnel(self.edge().tunnel(), softwires, worker)
    }

    /// The provider's end of tunnels, of customers whose NATs keep state like this.
    fn pe_tunnel<S: plane::Softwires>(&self, state: &State, softwires: S, worker: usize) -> Result<Tunnel<S>, Why> {
        let c = TunnelConfig::new(Side::Customer, self.links.right4, self.links.left6);
        self.tunnel(TunnelConfig { hairpinning: state.hairpinning, ..c }, softwires, worker)
    }

    fn tunnel<S: plane::Softwires>(
        &self,
        mut config: TunnelConfig,
        softwires: S,
        worker: usize,
    ) -> Result<Tunnel<S>, Why> {
        self.options.set_tunnel(&mut config);
        Tunnel::new(config, softwires, worker as u16, self.workers as u16, self.seed).map_err(words)
    }

    pub(super) fn lw4o6<U: Use>(&self, l: &Lw4o6, plays: Plays, mut then: U) -> Result<U::Out, Why> {
        let began = Instant::now();
        let links = &self.links;
        let table = match plays {
            Plays::Ce => binding_table(l),
            Plays::Dual => tables::binding_table_at(l, &[links.right4.address.into()]),
            Plays::Pe => tables::binding_table_at(l, &[links.right4.address.into(), links.left6.address.into()]),
        }?;
        then.loaded(TableLoad { entries: table.len(), bytes: table.bytes(), took: began.elapsed() });
        let own = table.iter().nth(l.ce as usize);
        let live = then.binding(table);
        let ce = |e: &Edges, w| {
            let own = own.ok_or_else(|| format!("ce = {}: the table has no such softwire", l.ce))?;
            let softwires = OneTunnel::new(own.b4, own.own.unwrap_or(l.lwaftr));
            let tunnel = e.ce_tunnel(softwires, w)?;
            let nat = e.edge().nat_before_tunnel(l.inside.clone(), AddrRange::one(own.ipv4), own.ports);
            e.behind_nat(nat, &l.state, w, ("tunnel", tunnel))
        };
        let pe = |e: &Edges, w| e.pe_tunnel(&l.state, live.bindings(), w);
        self.edges(plays, ce, pe, then)
    }

    fn domain(map: &Map, then: &mut impl Use) -> Result<MapEdges, Why> {
        let began = Instant::now();
        let domain = Domain::new(tables::rules(map)).map_err(words)?;
        then.loaded(TableLoad { entries: map.count(), bytes: domain.bytes(), took: began.elapsed() });
        let customers = Customers::of(map).map_err(words)?;
        let room = || format!("ce = {}: the rules have room for {} customers", map.ce, customers.count());
        let customer = customers.nth(map.ce).ok_or_else(room)?;
        let forwarding = map.written().filter(|rule| rule.forwarding).map(MapRule::rule);
        let mesh = Domain::new(forwarding.collect()).map_err(words)?;
        Ok(MapEdges { domain: Arc::new(domain), customer, mesh: Arc::new(mesh) })
    }

    pub(super) fn map_e<U: Use>(&self, map: &Map, br: Ipv6Addr, plays: Plays, mut then: U) -> Result<U::Out, Why> {
        let MapEdges { domain, customer, mesh } = Edges::domain(map, &mut then)?;
        let ce = |e: &Edges, w| {
            let softwires = MapECe::new(customer, br, Arc::clone(&mesh)).map_err(words)?;
            let tunnel = e.ce_tunnel(softwires, w)?;
            let nat = e.edge().nat_before_tunnel(map.inside.clone(), customer.pool(), customer.ports);
            e.behind_nat(nat, &map.state, w, ("tunnel", tunnel))
        };
        let pe = |e: &Edges, w| {
            let softwires = MapEBr::new(Arc::clone(&domain), br).map_err(words)?;
            e.pe_tunnel(&map.state, softwires, w)
        };
        self.edges(plays, ce, pe, then)
    }

    pub(super) fn map_t<U: Use>(
        &self,
        map: &Map,
        (dmr, private): (Prefix6, bool),
        plays: Plays,
        mut then: U,
    ) -> Result<U::Out, Why> {
        let MapEdges { domain, customer, mesh } = Edges::domain(map, &mut then)?;
        let dmr = Pref64::new(dmr, private).map_err(words)?;
        let ce = |e: &Edges, w| {
            let addressing = MapTCe::new(customer, dmr, Arc::clone(&mesh)).map_err(words)?;
            let translate = e.on_worker(e.as_written(e.edge().translator()), addressing, w)?;
            let nat = e.edge().nat_before_translator(map.inside.clone(), customer.pool(), customer.ports);
            e.behind_nat(nat, &map.state, w, ("translate", translate))
        };
        let pe = |e: &Edges, w| {
            let addressing = MapTBr::new(Arc::clone(&domain), dmr).map_err(words)?;
            let mut config = e.translator(Side::Customer, e.links.right4, e.links.left6);
            if !map.state.hairpinning {
                config.hairpinning = Hairpinning::Off;
            }
            e.on_worker(config, addressing, w)
        };
        self.edges(plays, ce, pe, then)
    }

    /// A customer edge that keeps state as written.
    fn behind_nat<F: Function>(
        &self,
        mut nat: NatConfig,
        state: &State,
        worker: usize,
        behind: (&'static str, F),
    ) -> Result<Chain<Nat44, F>, Why> {
        keep(&mut nat, state);
        self.options.set_nat(&mut nat);
        edge::behind_nat(nat, behind, worker, self.workers, self.seed).map_err(words)
    }
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
