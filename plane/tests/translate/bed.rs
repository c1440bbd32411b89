//! A translator in its bed. Every frame that leaves it is judged.

pub use crate::common::{Frame, Made, SECOND};

use crate::common::{self, judge_ethernet};
use crate::packets::*;
use plane::translate::{Config, Pref64, Siit, Translate};
use plane::{Addressing, Side, Side4, Side6};
use std::ops::{Deref, DerefMut};
use wire::{Mac, Prefix6};

pub fn config() -> Config {
    let v4 = Side4 { mac: Mac(V4_MAC), next_hop: Mac(V4_HOP), address: OWN4.into(), mtu: 1500 };
    let v6 = Side6 { mac: Mac(V6_MAC), next_hop: Mac(V6_HOP), address: six(OWN6).into(), mtu: 1500 };
    Config::new(Side::Customer, v4, v6)
}

/// The prefix of the tests.
pub fn pref64() -> Pref64 {
    Pref64::new(Prefix6 { addr: six(PREFIX).into(), len: 96 }, false).unwrap()
}

/// The bed, whose sides are called by what is spoken there: true is IPv6.
pub struct Bed<A: Addressing> {
    bed: common::Bed<Translate<A>>,
    ipv6: Side,
}

impl<A: Addressing> Deref for Bed<A> {
    type Target = common::Bed<Translate<A>>;
    fn deref(&self) -> &common::Bed<Translate<A>> {
        &self.bed
    }
}

impl<A: Addressing> DerefMut for Bed<A> {
    fn deref_mut(&mut self) -> &mut common::Bed<Translate<A>> {
        &mut self.bed
    }
}

/// A bed with the prefix alone.
pub fn bed(change: impl FnOnce(&mut Config)) -> Bed<Siit> {
    let mut c = config();
    change(&mut c);
    Bed::new(c, Siit::prefix(pref64()))
}

impl<A: Addressing> Bed<A> {
    pub fn new(config: Config, addressing: A) -> Bed<A> {
        let ipv6 = config.ipv6;
        let bed = common::Bed::one(Translate::new(config, addressing).unwrap(), move |side, f| {
            let (own, hop) = if side == ipv6 { (V6_MAC, V6_HOP) } else { (V4_MAC, V4_HOP) };
            judge_ethernet(f, own, hop);
            assert!(f.len() >= 60, "shorter than any Ethernet frame");
            judge(f);
        });
        Bed { bed, ipv6 }
    }

    /// The side of an IP version.
    fn side(&self, ipv6: bool) -> Side {
        if ipv6 { self.ipv6 } else { self.ipv6.other() }
    }

    /// Send frames in over IPv6 or IPv4, in batches, and give all that comes out, with whether it is over IPv6.
    pub fn send_all(&mut self, ipv6: bool, frames: &[Vec<u8>]) -> Vec<(bool, Vec<u8>)> {
        let out = self.bed.send_all(self.side(ipv6), frames);
        out.into_iter().map(|(s, f)| (s == self.ipv6, f)).collect()
    }

    pub fn send(&mut self, ipv6: bool, frame: &[u8]) -> Vec<(bool, Vec<u8>)> {
        self.send_all(ipv6, &[frame.to_vec()])
    }

    /// Send one frame in; exactly one must come out, over this version.
    #[track_caller]
    pub fn one(&mut self, ipv6: bool, frame: &[u8], out6: bool) -> Vec<u8> {
        self.bed.pass(self.side(ipv6), self.side(out6), frame)
    }

    /// Over IPv4 in, over IPv6 out.
    #[track_caller]
    pub fn to6(&mut self, frame: &[u8]) -> Vec<u8> {
        self.one(false, frame, true)
    }

    /// Over IPv6 in, over IPv4 out.
    #[track_caller]
    pub fn to4(&mut self, frame: &[u8]) -> Vec<u8> {
        self.one(true, frame, false)
    }

    /// Send a frame that must be dropped for this reason, with nothing sent instead.
    #[track_caller]
    pub fn dropped(&mut self, ipv6: bool, frame: &[u8], why: &str) {
        self.bed.dropped(self.side(ipv6), frame, why);
    }

    /// Send a frame that must be dropped for this reason, with one frame sent back.
    #[track_caller]
    pub fn refused(&mut self, ipv6: bool, frame: &[u8], why: &str) -> Vec<u8> {
        self.bed.refused(self.side(ipv6), frame, why)
    }

    /// Send a frame that must be left to the machine.
    #[track_caller]
    pub fn local(&mut self, ipv6: bool, frame: &[u8]) {
        self.dropped(ipv6, frame, "local");
    }
}
