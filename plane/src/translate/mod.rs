//! Stateless translation between IPv4 and IPv6 (RFC 7915): TCP, UDP, ICMP and its errors,
//! fragments, DF and MTUs, and the errors that a translator sends.

pub mod clat;
pub mod config;
pub mod eam;
mod fast;
mod hairpin;
mod icmp;
pub mod prefix;
mod quote;
mod reply;
mod rewrite;
mod shared;
pub mod siit;
mod slow;
mod to4;
mod to6;
mod zero;

pub use clat::{Clat, Hosts};
pub use config::{ClassRule, Config, ConfigError, Hairpinning, HeaderRules, ZeroChecksum};
pub use eam::{Eam, EamError, Pair};
pub use prefix::{Pref64, Pref64Error};
pub(crate) use prefix::{WELL_KNOWN, is_global};
pub(crate) use rewrite::{DCCP, UDP_LITE};
pub use siit::Siit;

use crate::event::{Counters, Event};
use crate::fragment::{Tracker, WaitingDatagrams};
use crate::function::{BATCH, Drops, Function, Input, Packet, Side, Spare};
use crate::hash::Hasher;
use crate::icmp_error::Limiter;
use crate::side::Link;
use crate::strategy::{Addressing, End};
use fast::Plan;
use zero::ZeroSumReassembly;

/// One worker of a translator.
pub struct Translate<A: Addressing> {
    config: Config,
    addressing: A,
    v4: Link,
    v6: Link,
    plan: Plan,
    /// Buffer for packets whose inner length changes.
    scratch: Vec<u8>,
    limiter: Limiter,
    tracker: Tracker,
    /// Fragments without checksum, if reassembled.
    unsummed: Option<ZeroSumReassembly>,
    own: u16,
    workers: u16,
    count: Counters,
    hasher: Hasher,
    /// The current packet returns over IPv6.
    turning: bool,
    /// Identification of the last IPv4 packet that needed one.
    identification: u16,
    now: u64,
}

impl<A: Addressing> Translate<A> {
    /// A single worker; [`Self::on_worker`] makes it one of several.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(config: Config, addressing: A) -> Result<Translate<A>, ConfigError> {
        config.validate()?;
        let hasher = Hasher::new(config.seed);
        Ok(Translate {
            v4: Link::new(config.v4.mac, config.v4.next_hop),
            v6: Link::new(config.v6.mac, config.v6.next_hop),
            plan: Plan::new(&config),
            addressing,
            scratch: Vec::with_capacity(2048),
            limiter: Limiter::default(),
            tracker: Tracker::new(&config.fragments),
            unsummed: config.unsummed.as_ref().map(ZeroSumReassembly::new),
            own: 0,
            workers: 1,
            count: Counters::default(),
            identification: hasher.one(1) as u16,
            hasher,
            turning: false,
            now: 0,
            config,
        })
    }

    /// Worker number `worker` of `workers`, all with the same configuration. Where addresses are
    /// shared, a hash selects the worker of a datagram's fragments. Each worker has its part of the
    /// cycle of IPv4 identifications (RFC 6864, section 4.3).
    #[must_use]
    pub fn on_worker(mut self, worker: u16, workers: u16) -> Translate<A> {
        assert!(worker < workers, "worker {worker} of {workers}");
        (self.own, self.workers) = (worker, workers);
        let steps = u32::from(worker) * 65_536 / u32::from(workers);
        self.identification = identifications_later(self.identification, steps);
        self
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Fragments that wait for the first.
    pub fn waiting(&self) -> WaitingDatagrams {
        self.tracker.waiting()
    }

    /// Fragments of UDP datagrams without checksum that wait for the rest.
    pub fn waiting_unsummed(&self) -> WaitingDatagrams {
        self.unsummed.as_ref().map(ZeroSumReassembly::waiting).unwrap_or_default()
    }

    /// The strategy.
    pub fn addressing(&self) -> &A {
        &self.addressing
    }

    /// The strategy, to be changed between batches.
    pub fn addressing_mut(&mut self) -> &mut A {
        &mut self.addressing
    }

    /// Value of a counter.
    pub fn counter(&self, e: Event) -> u64 {
        self.count.get(e)
    }

    /// Changes to one that this one [can become](Config::can_become).
    pub(crate) fn reconfigure(&mut self, config: Config) {
        self.v4 = Link::new(config.v4.mac, config.v4.next_hop);
        self.v6 = Link::new(config.v6.mac, config.v6.next_hop);
        self.plan = Plan::new(&config);
        // The sequence of identifications continues.
        self.config = Config { seed: self.config.seed, ..config };
    }

    /// Draws one of 65,536 in a seeded, scattered order, so that none repeats soon.
    #[inline(always)]
    fn next_identification(&mut self) -> u16 {
        self.identification = self.identification.wrapping_mul(ROUND.0).wrapping_add(ROUND.1);
        self.identification
    }
}

/// A factor, and an addend.
const ROUND: (u16, u16) = (25_173, 13_849);

/// Jumps by repeated doubling.
fn identifications_later(from: u16, mut steps: u32) -> u16 {
    let (mut at, (mut factor, mut more)) = (from, ROUND);
    while steps > 0 {
        if steps & 1 == 1 {
            at = at.wrapping_mul(factor).wrapping_add(more);
        }
        more = more.wrapping_mul(factor).wrapping_add(more);
        factor = factor.wrapping_mul(factor);
        steps >>= 1;
    }
    at
}

#[inline(always)]
fn roles(from: Side) -> (End, End) {
    match from {
        Side::Customer => (End::Customer, End::Remote),
        Side::Internet => (End::Remote, End::Customer),
    }
}

impl<A: Addressing> Function for Translate<A> {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { now, from, packets, verdicts } = input;
        self.now = self.now.max(now);
        self.expire();
        for (batch, verdicts) in packets.chunks_mut(BATCH).zip(verdicts.chunks_mut(BATCH)) {
            if from == self.config.ipv6 {
                self.batch::<true, P>(batch, verdicts, spare);
            } else {
                self.batch::<false, P>(batch, verdicts, spare);
            }
        }
    }

    fn idle(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.expire();
    }

    fn clear(&mut self) {
        self.addressing.clear();
        self.tracker.clear();
        if let Some(u) = &mut self.unsummed {
            u.clear();
        }
    }

    fn counters(&self) -> Drops {
        self.count.all()
    }

    fn can_adopt(&self, new: &Translate<A>) -> Result<(), String> {
        if (self.own, self.workers) != (new.own, new.workers) {
            return Err("workers: their number is fixed while there are fragments that wait".to_owned());
        }
        self.config.can_become(&new.config)?;
        self.addressing.can_adopt(&new.addressing)
    }

    fn adopt(&mut self, new: &mut Translate<A>) -> Result<(), String> {
        self.can_adopt(new)?;
        self.reconfigure(new.config.clone());
        self.addressing.adopt(&mut new.addressing);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_at_once_are_as_many_one_by_one() {
        let mut at = 0x1234;
        for steps in 0..70_000 {
            assert_eq!(identifications_later(0x1234, steps), at, "{steps} steps");
            at = at.wrapping_mul(ROUND.0).wrapping_add(ROUND.1);
        }
    }
}
