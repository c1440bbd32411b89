//! A NAT44 behind a half that gives each customer a number as inside IPv4 address, as NAT64 and AFTR do.

use crate::affinity::{self, Affinity};
use crate::chain::{self, Chain, Nesting};
use crate::customers::{Customers, Key};
use crate::function::{Drops, Function, Input, Packet, Spare, TableEntry};
use crate::nat44::Nat44;
use crate::nat44::config::{self as nat44, StaticMapping};
use crate::nat44::static_mapping::InsideAddress;
use crate::side::Side4;
use crate::steer::Steering;
use arena::AtomicArray;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;
use wire::Prefix4;

/// Subscriber of each number, where subscribers are counted.
pub type Owners = Option<Arc<AtomicArray>>;

/// No number is left for a host.
pub(crate) const FULL: &str = "static: there are too many customers for further hosts; try again later";

/// The customers' half: packets that it sends to the NAT have a number of its dictionary as source.
pub trait Numbering: Function {
    /// What distinguishes customers.
    type Key: Key;
    /// Configuration of both halves.
    type Config: Send;
    /// The dictionary.
    fn dictionary(&self) -> &Customers<Self::Key>;
    /// See [`Customers::tidy`].
    fn tidy(&mut self, epoch: u8, when_idle: bool, idle: impl Fn(u32) -> u8);
    /// The session with the customer's address in place of the number.
    fn named(&self, session: TableEntry) -> Option<TableEntry>;
    /// Configuration of the NAT.
    fn nat_behind(config: &Self::Config, numbers: Prefix4) -> nat44::Config;
    /// Whether [`Self::follow`] is possible.
    ///
    /// # Errors
    /// What differs and cannot be changed while there is state.
    fn can_follow(&self, config: &Self::Config, numbers: Prefix4) -> Result<(), String>;
    /// Makes the permanent customers of `new` its own, with the numbers that they have here, and
    /// counts subscribers if `config` does. Returns the subscribers of numbers.
    ///
    /// # Errors
    /// Too little memory, or too many customers.
    fn prepare(&mut self, config: &Self::Config, numbers: Prefix4, new: &Self) -> Result<Owners, String>;
    /// Takes over a configuration, and everything but state from `new`, made with it.
    fn follow(&mut self, config: &Self::Config, numbers: Prefix4, new: &mut Self);
}

/// One worker.
pub struct NumberedNat<H: Numbering> {
    affinity: Affinity,
    pair: Chain<H, Nat44>,
    config: H::Config,
    numbers: Prefix4,
}

impl<H: Numbering> NumberedNat<H> {
    /// The half's counters have the prefix `name`. All workers have the same configuration and seed.
    pub(crate) fn join(
        (name, half): (&'static str, H),
        nat: Nat44,
        config: H::Config,
        numbers: Prefix4,
        worker: usize,
        workers: usize,
        seed: u64,
    ) -> NumberedNat<H> {
        let pair = Chain::new((name, half), ("nat44", nat), workers, seed);
        NumberedNat { affinity: Affinity::new(worker, workers), pair, config, numbers }
    }

    /// One worker has all customers of a prefix of this length.
    pub(crate) fn together_by(self, prefix: u8) -> NumberedNat<H> {
        NumberedNat { affinity: self.affinity.together_by(prefix), ..self }
    }

    /// Steers by IPv6 source. For counted subscribers, [`affinity::steering`] by their prefix saves handing over.
    pub const STEER_CUSTOMER: Steering = affinity::STEER_CUSTOMER;
    /// Steers by block of the outside port.
    pub const STEER_INTERNET: Steering = Nat44::STEER_INTERNET;

    /// Customers in the dictionary.
    pub fn customers(&self) -> u32 {
        self.half().dictionary().count()
    }

    /// Half at the customers' side.
    pub fn half(&self) -> &H {
        &self.pair.customer
    }

    /// Half with the state.
    pub fn nat(&self) -> &Nat44 {
        &self.pair.internet
    }

    /// The configuration of `new`, with hosts by the numbers that they have here. A host without one has
    /// the first, which no customer has.
    fn nat_like(&self, new: &NumberedNat<H>) -> nat44::Config {
        let [mut nat, other] = [self.numbers, new.numbers].map(|numbers| H::nat_behind(&new.config, numbers));
        for (own, other) in nat.statics.iter_mut().zip(&other.statics) {
            let host = new.half().dictionary().customer(other.inside.into());
            let number = host.and_then(|host| self.half().dictionary().known(host));
            own.inside = number.map_or_else(|| first(self.numbers), Into::into);
        }
        nat
    }

    #[inline]
    fn tidy(&mut self, when_idle: bool) {
        let Chain { customer, internet: nat, .. } = &mut self.pair;
        customer.tidy(nat.epoch(), when_idle, |n| nat.epochs_without_session(n));
    }
}

impl<H: Numbering> Function for NumberedNat<H> {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        self.affinity.process(&mut self.pair, input, spare);
        self.tidy(false);
    }

    fn idle(&mut self, now: u64) {
        self.pair.idle(now);
        self.tidy(true);
    }

    fn catch_up(&mut self, now: u64) {
        self.pair.catch_up(now);
        self.tidy(true);
    }

    fn clear(&mut self) {
        self.pair.clear();
    }

    fn entries(&self) -> Option<(u64, u64)> {
        self.pair.entries()
    }

    fn counters(&self) -> Drops {
        let mut all = self.pair.counters();
        all.push(self.affinity.counter());
        all
    }

    fn places(&self) -> u64 {
        self.nat().places()
    }

    fn sessions(&self, now: u64, places: Range<u64>) -> Vec<TableEntry> {
        // Every host with a session is a customer.
        self.nat().sessions(now, places).into_iter().filter_map(|e| self.half().named(e)).collect()
    }

    fn can_adopt(&self, new: &NumberedNat<H>) -> Result<(), String> {
        self.affinity.can_become(&new.affinity)?;
        let nat = H::nat_behind(&new.config, self.numbers);
        if self.numbers.contains(nat.internet.address.into()) {
            return Err(format!(
                "address: {} lies in {}, whose addresses stand for customers inside; restart the gateway",
                nat.internet.address, self.numbers
            ));
        }
        if nat.pool.iter().any(|r| self.numbers.contains(r.first.into()) || r.contains(first(self.numbers))) {
            return Err(format!("pool: {} stands for customers inside; restart the gateway", self.numbers));
        }
        self.nat().config().can_become(&nat)?;
        if !self.half().dictionary().has_room_for(new.half().dictionary().permanent().map(|(_, host)| host)) {
            return Err(FULL.to_owned());
        }
        self.half().can_follow(&new.config, self.numbers)
    }

    fn adopt(&mut self, new: &mut NumberedNat<H>) -> Result<(), String> {
        self.can_adopt(new)?;
        let owners = self.pair.customer.prepare(&new.config, self.numbers, new.half())?;
        let nat = self.nat_like(new);
        let Chain { customer, internet, .. } = &mut self.pair;
        internet.reconfigure(nat, owners)?;
        internet.place_like(new.nat());
        customer.follow(&new.config, self.numbers, &mut new.pair.customer);
        std::mem::swap(&mut self.config, &mut new.config);
        Ok(())
    }

    fn ending(&self, new: &NumberedNat<H>, most: usize) -> Vec<TableEntry> {
        let ending = self.nat().ending(&self.nat_like(new), most);
        ending.into_iter().filter_map(|e| self.half().named(e)).collect()
    }

    fn nest(&mut self, nested: Nesting) {
        self.pair.nest(nested);
    }
}

/// Memory, with `customers` in each worker's dictionary.
pub(crate) fn bytes_for<K: Key>(customers: u64, nat: &nat44::Config, workers: usize) -> u64 {
    Nat44::bytes_for(nat, workers) + Customers::<K>::bytes_for(customers) * workers as u64
}

/// The permanent customers, each once.
pub(crate) fn hosts<A: InsideAddress>(statics: &[StaticMapping<A>]) -> Vec<A> {
    let mut hosts: Vec<A> = statics.iter().map(|m| m.inside).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

pub(crate) fn by_number<A: InsideAddress>(statics: &[StaticMapping<A>], numbers: Prefix4) -> Vec<StaticMapping> {
    let hosts = hosts(statics);
    let place = |host: A| hosts.partition_point(|h| *h < host);
    statics.iter().map(|m| m.with_inside(number_of_host(numbers, place(m.inside)))).collect()
}

pub(crate) fn place_statics<A: InsideAddress>(
    nat: &mut Nat44,
    statics: &[StaticMapping<A>],
    numbers: Prefix4,
    worker: impl Fn(A) -> usize,
) {
    let hosts = hosts(statics);
    let first = u32::from(number_of_host(numbers, 0));
    nat.place_statics(|number| worker(hosts[(u32::from(number) - first) as usize]) as u16);
}

fn number_of_host(numbers: Prefix4, place: usize) -> Ipv4Addr {
    (u32::from(first(numbers)) + 1 + place as u32).into()
}

/// No customer has it: the source of packets that the customers' half itself sends.
pub(crate) fn first(numbers: Prefix4) -> Ipv4Addr {
    (u32::from(numbers.addr) & numbers.mask()).into()
}

pub(crate) fn near(address: Ipv4Addr, mtu: u16) -> Side4 {
    Side4 { mac: chain::CUSTOMER_HALF, next_hop: chain::INTERNET_HALF, address, mtu }
}

/// Packets that the NAT itself sends have the source `address`. The customers' half handles packet sizes on its side.
pub(crate) fn far(nat: &nat44::Config, numbers: Prefix4, address: Ipv4Addr) -> nat44::Config {
    let mut nat = nat.clone();
    nat.customer = Side4 { mac: chain::INTERNET_HALF, next_hop: chain::CUSTOMER_HALF, address, mtu: u16::MAX };
    nat.inside = vec![numbers];
    nat.numbered = Some(numbers);
    nat
}
