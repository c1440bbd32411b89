//! A translator in its bed. Every frame that leaves it is judged.

pub(crate) use testbed::{Frame, SECOND};

use crate::translate::packets::*;
use plane::translate::{Config, Pref64, Siit, Translate};
use plane::{Addressing, Side, Side4, Side6};
use testbed::ByVersion;
use wire::{Mac, Prefix6};

pub(crate) fn config() -> Config {
    let v4 = Side4 { mac: Mac(V4.own), next_hop: Mac(V4.hop), address: OWN4.into(), mtu: 1500 };
    let v6 = Side6 { mac: Mac(V6.own), next_hop: Mac(V6.hop), address: six(OWN6).into(), mtu: 1500 };
    Config::new(Side::Customer, v4, v6)
}

pub(crate) fn pref64() -> Pref64 {
    Pref64::new(Prefix6 { addr: six(PREFIX).into(), len: 96 }, false).unwrap()
}

/// A translator, whose sides are called by what is spoken there.
pub(crate) type Bed<A> = ByVersion<Translate<A>>;

pub(crate) fn bed(change: impl FnOnce(&mut Config)) -> Bed<Siit> {
    let mut c = config();
    change(&mut c);
    with(c, Siit::prefix(pref64()))
}

pub(crate) fn with<A: Addressing>(config: Config, addressing: A) -> Bed<A> {
    let ipv6 = config.ipv6;
    ByVersion::new(Translate::new(config, addressing).unwrap(), ipv6, [V4, V6], |frame| {
        assert!(frame.len() >= 60, "shorter than any Ethernet frame");
        judge(frame);
    })
}
