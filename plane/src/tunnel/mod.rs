//! One end of any number of tunnels, of a CE or PE: IPv4 in IPv6 (RFC 2473; RFC 6333, sections 5
//! and 6; RFC 7596; RFC 7597).

mod address;
pub mod config;
mod decapsulate;
mod ecn;
mod encapsulate;
mod error;
mod fast;
mod fragment;
mod one;
pub mod points;
mod relay;

pub use config::{Config, ConfigError};
pub use one::OneTunnel;

use crate::event::{Counters, Event};
use crate::fragment::{Reassembly, Tracker, WaitingDatagrams};
use crate::function::{Drops, Function, Input, Packet, Side, Spare};
use crate::hash::Hasher;
use crate::icmp_error::Limiter;
use crate::side::{OwnMac, leaving};
use crate::steer::Steering;
use crate::strategy::{Point4, Softwires};
use wire::Mac;
use wire::header::{TYPE_IPV4, TYPE_IPV6};

const L3: usize = wire::header::ETH;
const OVERHEAD: usize = config::OVERHEAD as usize;

/// Minimum MTU of an IPv6 link (RFC 8200, section 5).
const LEAST_MTU: u32 = 1280;
/// Lifetime of a reduced path MTU: ten minutes (RFC 8201, section 4).
const PATH_LIFETIME: u64 = 600_000_000_000;

/// One worker of a tunnel end.
pub struct Tunnel<S: Softwires> {
    config: Config,
    softwires: S,
    own: u16,
    workers: u16,
    plan: Plan,
    hasher: Hasher,
    reassembly: Reassembly<(u128, u128, u32)>,
    tracker: Tracker,
    limiter: Limiter,
    count: Counters,
    identified: u32,
    /// When a single tunnel's path MTU is reset.
    widens: u64,
    now: u64,
}

struct Plan {
    v4: Link,
    v6: Link,
    ce: bool,
    /// Largest IPv4 packets for the tunnel, and for the IPv4 link.
    room: usize,
    mtu4: usize,
    mtu6: usize,
    /// Packets with at most this TTL end here.
    last_hop: u8,
    /// Outer version, traffic class and flow label before copying.
    first_word: u32,
    /// Mask of inner traffic class bits.
    copied: u8,
    hash_flows: bool,
}

impl Plan {
    fn new(config: &Config) -> Plan {
        let dscp = if let config::TrafficClass::Fixed(d) = config.outer.traffic_class { d << 2 } else { 0 };
        let label = if let config::FlowLabel::Fixed(l) = config.outer.flow_label { l } else { 0 };
        let copy_dscp = if config.outer.traffic_class == config::TrafficClass::Copy { 0xfc } else { 0 };
        Plan {
            v4: Link::new(config.v4.mac, config.v4.next_hop, TYPE_IPV4),
            v6: Link::new(config.v6.mac, config.v6.next_hop, TYPE_IPV6),
            ce: config.ipv6 == Side::Internet,
            room: usize::from(config.v6.mtu) - OVERHEAD,
            mtu4: config.v4.mtu.into(),
            mtu6: config.v6.mtu.into(),
            last_hop: config.hop.into(),
            first_word: 6 << 28 | u32::from(dscp) << 20 | label,
            copied: copy_dscp | ecn::enter(config.outer.ecn, 3),
            hash_flows: config.outer.flow_label == config::FlowLabel::Hash,
        }
    }
}

/// Our address, and the header of frames that leave.
struct Link {
    own: OwnMac,
    leaving: [u8; L3],
}

impl Link {
    fn new(mac: Mac, next_hop: Mac, kind: u16) -> Link {
        let mut out = [0; L3];
        out[..12].copy_from_slice(&leaving(mac, next_hop));
        out[12..].copy_from_slice(&kind.to_be_bytes());
        Link { own: OwnMac::new(mac), leaving: out }
    }
}

impl<S: Softwires> Tunnel<S> {
    /// Worker number `worker` of `workers`, all with the same configuration and seed.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(config: Config, softwires: S, worker: u16, workers: u16, seed: u64) -> Result<Tunnel<S>, ConfigError> {
        config.validate()?;
        assert!(worker < workers, "worker {worker} of {workers}");
        Ok(Tunnel {
            own: worker,
            workers,
            plan: Plan::new(&config),
            hasher: Hasher::new(seed),
            reassembly: Reassembly::new(&config.reassembly),
            tracker: Tracker::new(&config.fragments),
            limiter: Limiter::default(),
            count: Counters::default(),
            identified: u32::from(worker) << 24,
            widens: u64::MAX,
            now: 0,
            softwires,
            config,
        })
    }

    /// Steers by both addresses, so that one worker gets all fragments of a datagram.
    pub const STEER_IPV4: Steering = Steering::Hash(&[(26, 8)]);
    /// Steers by the ends of the tunnel.
    pub const STEER_IPV6: Steering = Steering::Hash(&[(22, 32)]);

    /// Value of a counter.
    pub fn counter(&self, e: Event) -> u64 {
        self.count.get(e)
    }

    /// Fragments of tunnel packets, and of IPv4 packets without their first fragment.
    pub fn waiting(&self) -> [WaitingDatagrams; 2] {
        [self.reassembly.waiting(), self.tracker.waiting()]
    }

    /// The strategy.
    pub fn softwires(&self) -> &S {
        &self.softwires
    }

    /// The strategy, to be changed between batches.
    pub fn softwires_mut(&mut self) -> &mut S {
        &mut self.softwires
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Changes to one that this one [can become](Config::can_become).
    pub(crate) fn reconfigure(&mut self, config: Config) {
        self.plan = Plan::new(&config);
        self.widens = u64::MAX;
        self.config = config;
    }

    /// Reduces the path MTU for ten minutes (RFC 2473, section 7.1; RFC 8201, section 4).
    fn narrow(&mut self, mtu: u32) {
        // A value below the minimum IPv6 MTU is ignored.
        if (LEAST_MTU..=self.plan.mtu6 as u32).contains(&mtu) && mtu < self.config.v6.mtu.into() {
            (self.plan.mtu6, self.plan.room) = (mtu as usize, mtu as usize - OVERHEAD);
            self.widens = self.now + PATH_LIFETIME;
        }
    }

    #[cold]
    fn widen(&mut self) {
        let fresh = Plan::new(&self.config);
        (self.plan.mtu6, self.plan.room) = (fresh.mtu6, fresh.room);
        self.widens = u64::MAX;
    }

    fn ipv4(&self) -> Side {
        self.config.ipv6.other()
    }

    #[inline(always)]
    fn ends_in(&self, [src, dst]: [Point4; 2]) -> (Point4, Point4) {
        if self.plan.ce { (src, dst) } else { (dst, src) }
    }

    #[inline(always)]
    fn ends_out(&self, [src, dst]: [Point4; 2]) -> (Point4, Point4) {
        if self.plan.ce { (dst, src) } else { (src, dst) }
    }

    /// Draws an identification by a bijection that outsiders cannot guess, so that none repeats
    /// soon (RFC 7739).
    fn identification(&mut self) -> u32 {
        self.identified = self.identified.wrapping_add(1);
        let key = self.hasher.one(0) as u32;
        let x = (self.identified ^ key).wrapping_mul(0x9e37_79b1);
        let x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
        x ^ x >> 13
    }

    #[cold]
    #[inline(never)]
    fn expire<P: Packet>(&mut self, spare: &mut dyn Spare<P>) {
        let lost = self.tracker.expire(self.now);
        self.count.add_many(Event::FragmentLate, lost);
        while let Some(late) = self.reassembly.expire(self.now) {
            self.count.add_many(Event::FragmentLate, late.fragments);
            // RFC 8200, section 4.5.
            if let Some(first) = late.first {
                self.reply6(&first[L3..], error::REASSEMBLY_TIME, spare);
            }
        }
    }
}

impl<S: Softwires> Function for Tunnel<S> {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { now, from, packets, verdicts } = input;
        self.now = self.now.max(now);
        if self.now >= self.widens {
            self.widen();
        }
        self.softwires.settle();
        if !self.tracker.is_empty() || !self.reassembly.is_empty() {
            self.expire(spare);
        }
        if from == self.config.ipv6 {
            self.batch_out(packets, verdicts, spare);
        } else {
            self.batch_in(packets, verdicts, spare);
        }
    }

    fn idle(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.softwires.settle();
        self.count.add_many(Event::FragmentLate, self.tracker.expire(self.now));
    }

    fn clear(&mut self) {
        self.softwires.clear();
        self.reassembly.clear();
        self.tracker.clear();
    }

    fn counters(&self) -> Drops {
        self.count.all()
    }

    fn can_adopt(&self, new: &Tunnel<S>) -> Result<(), String> {
        if (self.own, self.workers) != (new.own, new.workers) {
            return Err("workers: their number is fixed while there are parts that wait".to_owned());
        }
        self.config.can_become(&new.config)
    }

    fn adopt(&mut self, new: &mut Tunnel<S>) -> Result<(), String> {
        self.can_adopt(new)?;
        self.reconfigure(new.config.clone());
        self.softwires.adopt(&mut new.softwires);
        Ok(())
    }
}
