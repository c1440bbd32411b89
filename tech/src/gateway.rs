//! The gateway's part: inputs of its functions, and what technologies share to build them.

use crate::Functions;
use crate::fragments::FragmentStore;
use crate::nat::Static;
use crate::parts::Plays;
use crate::state::State;
use crate::table::Open;
use plane::chain::{CUSTOMER_HALF, INTERNET_HALF};
use plane::edge::{self, Edge};
use plane::lw4o6;
use plane::nat44::Nat44;
use plane::nat44::config::Config as NatConfig;
use plane::translate::{Config as TranslateConfig, Translate};
use plane::tunnel::{Config as TunnelConfig, Tunnel};
use plane::{Addressing, Chain, Function, Side4, Side6, Softwires};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use wire::{AddrRange, Prefix6};

/// A gateway's links, in both IP versions.
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

/// Inputs of a gateway's functions.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Part of the technology.
    pub plays: Plays,
    /// The links.
    pub links: Links,
    /// Workers.
    pub workers: usize,
    /// Seed of all random choices.
    pub seed: u64,
    /// Opens files of a technology.
    pub open: Open<'a>,
    /// State of running workers, which new functions use.
    pub live: Option<&'a Arc<lw4o6::Live>>,
}

/// Functions, and what they loaded.
pub struct GatewayBuild {
    /// Functions for each worker.
    pub functions: Functions,
    /// Table that was loaded and not learned.
    pub loaded: Option<TableLoad>,
    /// Live table of the workers.
    pub live: Option<Arc<lw4o6::Live>>,
    /// Table that replaces the job's `live`.
    pub table: Option<lw4o6::BindingTable>,
}

impl From<Functions> for GatewayBuild {
    fn from(functions: Functions) -> GatewayBuild {
        GatewayBuild { functions, loaded: None, live: None, table: None }
    }
}

/// A binding table or set of mapping rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLoad {
    /// Softwires, or rules.
    pub entries: u64,
    /// Memory in octets.
    pub octets: u64,
    /// Time until the table is ready for look-ups.
    pub took: Duration,
}

/// Addresses of one side besides its link's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// IPv4.
    pub ipv4: Vec<AddrRange>,
    /// IPv6.
    pub ipv6: Vec<Prefix6>,
}

impl Answers {
    pub(crate) fn v4(pool: &[AddrRange]) -> Answers {
        Answers { ipv4: pool.to_vec(), ..Answers::default() }
    }
    pub(crate) fn v6(addr: std::net::Ipv6Addr) -> Answers {
        Answers { ipv6: vec![Prefix6 { addr, len: 128 }], ..Answers::default() }
    }
}

/// No limit inside a gateway.
const INNER_MTU: u16 = 65_535;

pub(crate) fn why(e: impl Display) -> String {
    e.to_string()
}

/// Builders for a customer edge, a provider edge, and both.
type Variants<C, P> = (fn(Vec<C>) -> Functions, fn(Vec<P>) -> Functions, fn(Vec<Chain<C, P>>) -> Functions);

impl Job<'_> {
    pub(crate) fn each<F: Function>(&self, one: impl Fn(usize) -> Result<F, String>) -> Result<Vec<F>, String> {
        let mut all = (0..self.workers).map(one).collect::<Result<Vec<F>, String>>()?;
        plane::function::agree(&mut all);
        Ok(all)
    }

    /// Builds both edges with an IPv6 link between them.
    fn both<C: Function, P: Function>(
        &self,
        ce: impl Fn(&Job<'_>, usize) -> Result<C, String>,
        pe: impl Fn(&Job<'_>, usize) -> Result<P, String>,
    ) -> Result<Vec<Chain<C, P>>, String> {
        let side = |mac, next_hop, address: [u16; 8]| Side6 { mac, next_hop, address: address.into(), mtu: INNER_MTU };
        let own = side(CUSTOMER_HALF, INTERNET_HALF, [0x2001, 2, 0, 0x100, 0, 0, 0, 1]);
        let other = side(INTERNET_HALF, CUSTOMER_HALF, [0x2001, 2, 0, 0x100, 0, 0, 0, 2]);
        let with = |links| Job { links, ..*self };
        let ce_job = with(Links { right6: own, ..self.links });
        let pe_job = with(Links { left6: other, ..self.links });
        self.each(|w| Ok(Chain::new(("ce", ce(&ce_job, w)?), ("pe", pe(&pe_job, w)?), self.workers, self.seed)))
    }

    /// Builds functions of either edge or both, each type as its variant.
    pub(crate) fn edges<C: Function, P: Function>(
        &self,
        ce: impl Fn(&Job<'_>, usize) -> Result<C, String>,
        pe: impl Fn(&Job<'_>, usize) -> Result<P, String>,
        (only_ce, only_pe, dual): Variants<C, P>,
    ) -> Result<Functions, String> {
        Ok(match self.plays {
            Plays::Ce => only_ce(self.each(|w| ce(self, w))?),
            Plays::Pe => only_pe(self.each(|w| pe(self, w))?),
            Plays::Dual => dual(self.both(ce, pe)?),
        })
    }

    pub(crate) fn edge(&self) -> Edge {
        Edge { customer: self.links.left4, internet: self.links.right6 }
    }

    pub(crate) fn translate<A: Addressing>(
        &self,
        config: TranslateConfig,
        addressing: A,
        worker: usize,
    ) -> Result<Translate<A>, String> {
        let config = TranslateConfig { seed: self.seed, ..config };
        Ok(Translate::new(config, addressing).map_err(why)?.on_worker(worker as u16, self.workers as u16))
    }

    pub(crate) fn tunnel<S: Softwires>(
        &self,
        config: TunnelConfig,
        softwires: S,
        worker: usize,
    ) -> Result<Tunnel<S>, String> {
        Tunnel::new(config, softwires, worker as u16, self.workers as u16, self.seed).map_err(why)
    }

    pub(crate) fn behind_nat<F: Function>(
        &self,
        mut nat: NatConfig,
        (state, held, statics): (&State, &FragmentStore, &Static),
        worker: usize,
        behind: (&'static str, F),
    ) -> Result<Chain<Nat44, F>, String> {
        state.set(&mut nat);
        held.set(&mut nat);
        nat.statics = statics.statics.clone().unwrap_or_default();
        edge::behind_nat(nat, behind, worker, self.workers, self.seed).map_err(why)
    }
}
