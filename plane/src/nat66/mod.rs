//! Stateful NAT66 with ports: IPv6 customers share a few IPv6 addresses (a stateful NATxy of RFC
//! 9693; RFC 4787, 5382 and 5508 define its behaviour). The state is that of NAT44 with numbers as
//! addresses, given by two dictionaries and by position in the pool.

pub mod config;
pub mod event;
mod fast;
mod fragment;
mod icmp;
mod packet;
mod pending_syn;
mod reply;
mod rewrite;

pub use config::Config;

use crate::affinity;
use crate::customers::Customers;
use crate::fragment::{Tracker, WaitingDatagrams};
use crate::function::{Drops, Function, Input, Packet, SESSIONS, Side, Spare, TableEntry, unchanged};
use crate::hash::Hasher;
use crate::icmp_error::Limiter;
use crate::ip6::Pool6Error;
use crate::nat44::{Nat44, NatError};
use crate::side::{Link, Side6};
use crate::steer::Steering;
use crate::subscribers::{Subscribers, prefix};
use arena::ArenaError;
use event::{Counters, Event};
use fast::Plan;
use fragment::Datagram;
use pending_syn::PendingSyns6;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use wire::Prefix4;

/// Why a NAT66 cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Nat66Error {
    /// The outside addresses.
    #[error("NAT66: {0}")]
    Pool(#[from] Pool6Error),
    /// A link that cannot carry IPv6.
    #[error("mtu of a NAT66: {0} on one side; at least 1280, the smallest of any IPv6 link (RFC 8200, section 5)")]
    Mtu(u16),
    /// The store of fragments.
    #[error("fragments of a NAT66: a lifetime, and room for at least one datagram and one packet")]
    Fragments,
    /// Length of a subscriber's prefix.
    #[error("a NAT66 with subscribers of /{0}: no IPv6 prefix is longer than 128; 64 is usual")]
    SubscriberPrefix(u8),
    /// Too many addresses.
    #[error(
        "a NAT66 for {0} customers and {1} remote addresses: at most {most} of each a worker; lower `customers` or `remotes`",
        most = crate::customers::MOST
    )]
    Addresses(u64, u64),
    /// The state is misconfigured.
    #[error("state of a NAT66: {0}")]
    Nat(#[from] NatError),
    /// Not enough memory.
    #[error("making the dictionaries of a NAT66: {0}")]
    Memory(#[from] ArenaError),
}

/// One worker of a NAT66.
pub struct Nat66 {
    config: Config,
    links: [Link; 2],
    plan: Plan,
    customers: Customers<u128>,
    subscribers: Option<Subscribers>,
    remotes: Customers<u128>,
    numbers: [Prefix4; 2],
    nat: Nat44,
    tracker: Tracker<Datagram>,
    pending_syns: PendingSyns6,
    worker: u16,
    workers: u16,
    limiter: Limiter,
    count: Counters,
    /// Ethernet source of packets already processed by the right worker.
    mark: [u8; 6],
    now: u64,
}

/// Counters of the state, which count no verdict.
const OF_STATE: [&str; 6] =
    ["session-new", "session-expired", "mapping-new", "parity-changed", "block-allocated", "block-released"];

impl Nat66 {
    /// Worker number `worker` of `workers`, all with the same configuration and seed.
    ///
    /// # Errors
    /// An invalid configuration, or too little memory.
    pub fn new(config: Config, worker: usize, workers: usize, seed: u64) -> Result<Nat66, Nat66Error> {
        config.pool.not(config.customer.address)?;
        config.pool.not(config.internet.address)?;
        if let Some(mtu) = [config.customer.mtu, config.internet.mtu].into_iter().find(|mtu| *mtu < 1280) {
            return Err(Nat66Error::Mtu(mtu));
        }
        if !config.fragments.suffice(u32::from(u16::MAX)) {
            return Err(Nat66Error::Fragments);
        }
        if config.subscriber_prefix > 128 {
            return Err(Nat66Error::SubscriberPrefix(config.subscriber_prefix));
        }
        let too_many = || Nat66Error::Addresses(config.customers, config.remotes);
        let numbers = config.numbers(workers).ok_or_else(too_many)?;
        let [customers, remotes] = config.per_worker(workers);
        let mut nat = Nat44::new(config.state(numbers), worker, workers, seed)?;
        let mut subscribers = None;
        if config.nat.counts_subscribers() {
            let counted = Subscribers::new(customers, numbers[0], seed)?;
            nat.count_by(Some(counted.of()));
            subscribers = Some(counted);
        }
        let [a, b, c, d, e, ..] = Hasher::new(!seed).one(3).to_be_bytes();
        Ok(Nat66 {
            links: [config.customer, config.internet].map(|s| Link::new(s.mac, s.next_hop)),
            plan: Plan::new(&config),
            customers: Customers::new(customers, numbers[0], seed)?,
            remotes: Customers::new(remotes, numbers[1], !seed)?,
            subscribers,
            nat,
            numbers,
            tracker: Tracker::new(&config.fragments),
            pending_syns: PendingSyns6::new(),
            worker: worker as u16,
            workers: workers as u16,
            limiter: Limiter::default(),
            count: Counters::default(),
            // A group address, which no sender may have (IEEE 802.3, 3.2.3), and bits that cannot be guessed.
            mark: [3, a, b, c, d, e],
            now: 0,
            config,
        })
    }

    /// Steers by IPv6 source. For counted subscribers, [`affinity::steering`] by their prefix saves handing over.
    pub const STEER_CUSTOMER: Steering = affinity::STEER_CUSTOMER;
    /// Steers by block of the outside port.
    pub const STEER_INTERNET: Steering = Nat44::STEER_IPV6;

    /// Memory of all workers' tables; 0 beyond a worker's limit.
    pub fn bytes_for(config: &Config, workers: usize) -> u64 {
        let Some(numbers) = config.numbers(workers) else { return 0 };
        let dictionaries = config.per_worker(workers).map(Customers::<u128>::bytes_for);
        let counts = config.nat.counts_subscribers();
        let counted = if counts { Subscribers::bytes_for(config.per_worker(workers)[0]) } else { 0 };
        let one = dictionaries.iter().sum::<u64>() + counted;
        Nat44::bytes_for(&config.state(numbers), workers) + one * workers as u64
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Customers and remote addresses in the dictionaries.
    pub fn known(&self) -> [u32; 2] {
        [self.customers.count(), self.remotes.count()]
    }

    /// Fragments that wait for their first.
    pub fn waiting(&self) -> WaitingDatagrams {
        self.tracker.waiting()
    }

    fn side(&self, side: Side) -> &Side6 {
        if side == Side::Customer { &self.config.customer } else { &self.config.internet }
    }

    fn link_of(&self, side: Side) -> &Link {
        &self.links[usize::from(side == Side::Internet)]
    }

    /// Tidies up, and ends some sessions.
    fn tidy(&mut self, when_idle: bool) {
        self.nat.tidy(when_idle);
        let Nat66 { nat, customers, subscribers, remotes, .. } = self;
        let idle = |n| nat.epochs_without_session(n);
        customers.tidy_and_tell(nat.epoch(), when_idle, idle, |number| {
            if let Some(s) = subscribers {
                s.end(number);
            }
        });
        remotes.tidy(nat.epoch(), when_idle, |n| nat.epochs_without_session(n));
    }

    fn number(&mut self, addr: u128) -> Result<u32, Event> {
        let known = self.customers.count();
        let number = self.customers.number(addr).ok_or(Event::TableFull)?;
        if let Some(s) = &mut self.subscribers
            && self.customers.count() > known
        {
            s.add(number, prefix(addr, self.config.subscriber_prefix));
        }
        Ok(number)
    }

    /// Subscriber's number, or 0.
    fn subscriber(&self, addr: u128) -> u32 {
        let counted = self.subscribers.as_ref();
        counted.and_then(|s| s.known(prefix(addr, self.config.subscriber_prefix))).unwrap_or(0)
    }

    /// Keeps the time, and drops expired fragments.
    fn keep_time(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.nat.keep_time(now);
        if !self.tracker.is_empty() {
            let late = self.tracker.expire(self.now);
            self.count.add_many(Event::FragmentLate, late);
        }
    }

    fn address(&self, number: u32) -> Option<u128> {
        let pool = self.config.pool.nth(number.wrapping_sub(config::POOL.into()));
        pool.or_else(|| self.customers.customer(number)).or_else(|| self.remotes.customer(number))
    }

    fn named(&self, e: TableEntry) -> Option<TableEntry> {
        let at = |s: SocketAddr| {
            let IpAddr::V4(number) = s.ip() else { return None };
            Some(SocketAddr::from((std::net::Ipv6Addr::from_bits(self.address(number.into())?), s.port())))
        };
        Some(TableEntry { inside: at(e.inside)?, outside: at(e.outside)?, remote: at(e.remote)?, ..e })
    }
}

impl Function for Nat66 {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        self.keep_time(input.now);
        self.answer_pending_syns(spare);
        match input.from {
            Side::Customer => self.batch::<true, P>(input, spare),
            Side::Internet => self.batch::<false, P>(input, spare),
        }
        self.tidy(false);
    }

    fn idle(&mut self, now: u64) {
        self.keep_time(now);
        self.tidy(true);
    }

    fn catch_up(&mut self, now: u64) {
        self.keep_time(now);
        self.nat.end_all_due();
        self.tidy(true);
    }

    fn clear(&mut self) {
        self.nat.clear();
        self.customers.clear();
        if let Some(s) = &mut self.subscribers {
            s.clear();
        }
        self.remotes.clear();
        self.tracker.clear();
        self.pending_syns.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        self.nat.entries()
    }

    fn counters(&self) -> Drops {
        let mut all = self.count.all();
        all.extend(self.nat.counters().into_iter().filter(|(name, _)| OF_STATE.contains(name)));
        all
    }

    fn places(&self) -> u64 {
        self.nat.places()
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<TableEntry> {
        // Every host with a session has a number.
        self.nat.sessions(now, places).into_iter().filter_map(|e| self.named(e)).collect()
    }

    fn can_adopt(&self, new: &Nat66) -> Result<(), String> {
        if (self.worker, self.workers) != (new.worker, new.workers) {
            return Err("workers: their number is fixed while there is state".to_owned());
        }
        let fixed = [
            ("pool", self.config.pool != new.config.pool),
            ("fragments", self.config.fragments != new.config.fragments),
            // Subscribers are counted from their first packet on.
            (
                "session-quota, port-quota or port-block",
                self.subscribers.is_some() != new.config.nat.counts_subscribers(),
            ),
            (
                "subscriber-prefix",
                self.subscribers.is_some() && self.config.subscriber_prefix != new.config.subscriber_prefix,
            ),
        ];
        unchanged(&fixed, SESSIONS)?;
        self.nat.config().can_become(&new.config.state(self.numbers))
    }

    fn adopt(&mut self, new: &mut Nat66) -> Result<(), String> {
        self.can_adopt(new)?;
        let owners = self.subscribers.as_ref().map(Subscribers::of);
        self.nat.reconfigure(new.config.state(self.numbers), owners)?;
        std::mem::swap(&mut self.links, &mut new.links);
        // Dictionaries keep their sizes.
        let Config { customers, remotes, .. } = self.config;
        self.config = Config { customers, remotes, ..new.config.clone() };
        self.plan = Plan::new(&self.config);
        Ok(())
    }
}
