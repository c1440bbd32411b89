//! One worker of a stateful NAT44 (RFC 4787 for UDP, RFC 5382 for TCP, RFC 5508 for ICMP, RFC 6888 for many customers).
//! Each four-tuple and protocol has a *session*; endpoint-independent mapping puts a *mapping* above its sessions.

mod census;
pub mod config;
mod config_error;
pub(crate) mod core;
pub mod counters;
mod deadlines;
pub(crate) mod fast;
mod fragment;
mod header;
mod icmp;
mod identification;
mod mapping;
mod pairs;
pub(crate) mod pending_syn;
mod pool;
mod portmap;
pub mod quota;
mod reload;
mod reply;
mod rewrite;
mod room;
mod session;
mod slow;
mod state;
pub mod static_mapping;
mod statics;
mod subscriber;
pub(crate) mod tcp;
mod timers;
mod whole;

use crate::function::{Drops, Function, Input, Packet, Side, Spare, TableEntry};
use crate::hash::Hasher;
use crate::icmp_error::Limiter;
use crate::original_id;
use crate::side::Link;
use crate::steer::Steering;
use crate::table::{SessionTable, bytes_for};
use arena::{ArenaError, AtomicArray};
use census::Census;
use config::{Config, ConfigError, Mapping};
use counters::Counters;
use deadlines::Deadlines;
use fragment::Fragments;
use identification::Identifications;
use mapping::Mappings;
use pairs::Pairs;
use pending_syn::PendingSyns4;
use pool::{Pool, PortClasses};
use session::Session;
use statics::Statics;
use std::ops::Range;
use std::sync::Arc;
use subscriber::Subscribers;
use timers::{Lifetimes, Sweep};
use wire::PortSet;

/// Why a NAT44 cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum NatError {
    /// A mistake in the configuration.
    #[error("NAT44 configuration, {0}")]
    Config(#[from] ConfigError),
    /// Not enough memory.
    #[error("making the tables of a NAT44: {0}")]
    Memory(#[from] ArenaError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Workers {
    own: u32,
    count: u32,
}

struct Mtu {
    customer: usize,
    internet: usize,
}

/// One worker of a NAT44.
pub struct Nat44 {
    config: Config,
    workers: Workers,
    links: [Link; 2],
    mtu: Mtu,
    hasher: Hasher,
    lifetimes: Lifetimes,
    pool: Pool,
    ports: PortClasses,
    sessions: SessionTable<Session>,
    deadlines: Deadlines,
    unanswered: u32,
    mappings: Option<Mappings>,
    pairs: Option<Pairs>,
    statics: Option<Statics>,
    /// [`Config::aliases`] as bits of an end point.
    aliases: u64,
    subscribers: Option<Subscribers>,
    /// Subscriber of each numbered customer, where several may be one.
    owners: Option<Arc<AtomicArray>>,
    census: Option<Census>,
    fragments: Fragments,
    pending_syns: PendingSyns4,
    limiter: Limiter,
    count: Counters,
    sweep: Sweep,
    /// Ethernet source of packets already processed by the right worker.
    mark: [u8; 6],
    identification: u16,
    identifications: Identifications,
    /// Whole packets get an identification, as other gateways use the same outside addresses.
    shared: bool,
    /// The Internet's side is the inner link to another half, which must know the original identification.
    behind_is_a_half: bool,
    now: u64,
    tick: u32,
    /// Makes each draw of a port different.
    draws: u64,
}

impl Nat44 {
    /// Worker number `worker` of `workers`, all with the same configuration and seed.
    ///
    /// # Errors
    /// An invalid configuration, or too little memory.
    pub fn new(config: Config, worker: usize, workers: usize, seed: u64) -> Result<Nat44, NatError> {
        config.validate(workers)?;
        assert!(worker < workers, "worker {worker} of {workers}");
        let hasher = Hasher::new(seed);
        let ports = config.port_classes(worker, workers);
        let rest = timers::ticks(config.port_reuse_delay);
        let mappings = match config.mapping {
            Mapping::EndpointIndependent => Some(Mappings::new(&config, workers, ports, rest, hasher)?),
            Mapping::AddressAndPortDependent => None,
        };
        let sessions = SessionTable::new("the session table", config.sessions_per_worker(workers), Session::FREE)?;
        Ok(Nat44 {
            workers: Workers { own: worker as u32, count: workers as u32 },
            links: links(&config),
            mtu: Mtu { customer: config.customer.mtu.into(), internet: config.internet.mtu.into() },
            hasher,
            lifetimes: Lifetimes::new(&config.timeouts),
            pool: Pool::new(config.pool.clone()),
            ports,
            deadlines: Deadlines::new(sessions.slab.capacity().into())?,
            sessions,
            unanswered: 0,
            mappings,
            pairs: Pairs::new(&config, workers, hasher)?,
            statics: Statics::new(&config),
            aliases: config.aliases.into(),
            subscribers: Subscribers::new(&config, workers, ports, hasher)?,
            owners: None,
            census: Census::new(&config)?,
            fragments: Fragments::new(&config.fragments),
            pending_syns: PendingSyns4::new(),
            limiter: Limiter::default(),
            mark: mark(seed),
            identification: hasher.one(worker as u64) as u16,
            identifications: Identifications::new(config.port_set, worker, workers, hasher),
            shared: config.shares_addresses(),
            behind_is_a_half: original_id::leads_inside(&config.internet),
            count: Counters::default(),
            sweep: Sweep::default(),
            now: 0,
            tick: 0,
            draws: 0,
            config,
        })
    }

    /// Memory of all workers' tables.
    pub fn bytes_for(config: &Config, workers: usize) -> u64 {
        let mappings = match config.mapping {
            Mapping::EndpointIndependent => Mappings::bytes_for(config, workers),
            Mapping::AddressAndPortDependent => 0,
        };
        let sessions = config.sessions_per_worker(workers);
        let one = bytes_for::<Session>(sessions)
            + Deadlines::bytes_for(sessions)
            + mappings
            + Subscribers::bytes_for(config)
            + Census::bytes_for(config);
        one * workers as u64 + Pairs::bytes_for(config, workers)
    }

    /// Steers by inside address and port.
    pub const STEER_CUSTOMER: Steering = Steering::Hash(&[(26, 4), (34, 2)]);
    /// Steers by block of the outside port, unless the port set is restricted.
    pub const STEER_INTERNET: Steering = Steering::Block { at: 36, shift: pool::CHUNK_SHIFT };

    /// Steers by the outside port, for IPv6 packets.
    pub const STEER_IPV6: Steering = Steering::Block { at: 56, shift: pool::CHUNK_SHIFT };

    /// Steering for any port set: blocks as large as possible while each worker has a share; the
    /// outside port is at offset `at`.
    pub fn steer_ports(at: usize, set: PortSet, workers: usize) -> Steering {
        Steering::Block { at, shift: pool::Ports::new(set, 0, u16::MAX, 0, workers).shift() }
    }

    /// The epoch of the census of numbered customers, modulo 256.
    pub fn epoch(&self) -> u8 {
        self.census.as_ref().map_or(0, Census::epoch)
    }

    /// Epochs since a session of a number was last met; after two without packets, the number is free.
    pub fn epochs_without_session(&self, number: u32) -> u8 {
        self.census.as_ref().map_or(u8::MAX, |c| c.age(number))
    }

    /// One subscriber for each place in the prefix. A number's subscriber must not change while it has sessions.
    pub(crate) fn count_by(&mut self, owners: Option<Arc<AtomicArray>>) {
        self.owners = owners;
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    #[inline(always)]
    fn link_of(&self, side: Side) -> &Link {
        &self.links[usize::from(side == Side::Internet)]
    }

    #[inline(always)]
    fn is_inside(&self, a: u32) -> bool {
        self.config.inside.iter().any(|p| p.contains(a))
    }

    /// Whether the port is this gateway's: with a restricted port set, others have the other ports.
    #[inline(always)]
    fn is_own_point(&self, a: u32, port: u16) -> bool {
        self.pool.contains(a) && self.config.port_set.contains(port)
    }

    #[inline(always)]
    fn is_own(&self, a: u32) -> bool {
        self.pool.contains(a) || self.is_side(a)
    }

    #[inline(always)]
    fn is_side(&self, a: u32) -> bool {
        a == u32::from(self.config.customer.address) || a == u32::from(self.config.internet.address)
    }
}

fn links(config: &Config) -> [Link; 2] {
    [config.customer, config.internet].map(|side| Link::new(side.mac, side.next_hop))
}

/// A group address, which no sender may have (IEEE 802.3, 3.2.3), with 40 bits that cannot be guessed.
fn mark(seed: u64) -> [u8; 6] {
    let [a, b, c, d, e, ..] = Hasher::new(!seed).one(1).to_be_bytes();
    [3, a, b, c, d, e]
}

/// Entries looked at with each batch, and when idle: at most 100 µs of CPU time.
const SWEEP_BATCH: u32 = 128;
const SWEEP_IDLE: u32 = 384;

impl Function for Nat44 {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        self.set_time(input.now);
        self.answer_pending_syns(spare);
        self.expire_fragments();
        match input.from {
            Side::Customer => self.batch::<true, P>(input, spare),
            Side::Internet => self.batch::<false, P>(input, spare),
        }
        self.sweep_some(SWEEP_BATCH);
    }

    fn idle(&mut self, now: u64) {
        self.set_time(now);
        self.sweep_some(SWEEP_IDLE);
    }

    fn catch_up(&mut self, now: u64) {
        self.set_time(now);
        self.sweep_some(u32::MAX);
    }

    fn clear(&mut self) {
        self.sessions.clear();
        self.unanswered = 0;
        if let Some(m) = &mut self.mappings {
            m.clear();
        }
        if let Some(p) = &mut self.pairs {
            p.clear();
        }
        if let Some(s) = &mut self.subscribers {
            s.clear();
        }
        self.fragments.clear();
        self.pending_syns.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        let sessions = u64::from(self.sessions.slab.len());
        Some((sessions, self.mappings.as_ref().map_or(0, |m| u64::from(m.len()))))
    }

    fn counters(&self) -> Drops {
        self.count.all()
    }

    fn places(&self) -> u64 {
        self.sessions.slab.touched().into()
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<TableEntry> {
        state::entries(self, timers::tick(now), places)
    }

    fn can_adopt(&self, new: &Nat44) -> Result<(), String> {
        if self.workers != new.workers {
            return Err("workers: their number is fixed while there is state".to_owned());
        }
        self.config.can_become(&new.config)
    }

    fn adopt(&mut self, new: &mut Nat44) -> Result<(), String> {
        self.can_adopt(new)?;
        self.reconfigure(new.config.clone(), None)
    }

    fn ending(&self, new: &Nat44, most: usize) -> Vec<TableEntry> {
        Nat44::ending(self, &new.config, most)
    }

    fn agree_with(&mut self, first: &Nat44) {
        if let (Some(own), Some(first)) = (&mut self.pairs, &first.pairs) {
            own.share(first);
        }
    }
}
