//! A tunnel end in its bed.

pub(super) use testbed::{Frame, SECOND};

use crate::tunnel::packets::*;
use plane::tunnel::{Config, OneTunnel, Tunnel};
use plane::{Side, Side4, Side6, Softwires};
use std::ops::{Deref, DerefMut};
use testbed::{Bed, ByVersion};
use wire::Mac;

/// A configuration whose IPv6 side is this one.
pub(super) fn config(ipv6: Side) -> Config {
    let v4 = Side4 { mac: Mac(MAC4), next_hop: Mac(HOP4), address: OWN4.into(), mtu: 1500 };
    let v6 = Side6 { mac: Mac(MAC6), next_hop: Mac(HOP6), address: OWN6.parse().unwrap(), mtu: 1500 };
    let mut c = Config::new(ipv6, v4, v6);
    c.inner_address = INSIDE.into();
    c
}

pub(super) fn b4() -> OneTunnel {
    OneTunnel::new(B4.parse().unwrap(), PE.parse().unwrap())
}

pub(super) struct End<S: Softwires>(ByVersion<Tunnel<S>>);

impl<S: Softwires> Deref for End<S> {
    type Target = Bed<Tunnel<S>>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<S: Softwires> DerefMut for End<S> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl End<OneTunnel> {
    pub(super) fn b4(change: impl FnOnce(&mut Config)) -> End<OneTunnel> {
        let mut c = config(Side::Internet);
        change(&mut c);
        End::new(&c, 1, b4)
    }
}

impl<S: Softwires> End<S> {
    pub(super) fn new(config: &Config, n: u16, softwires: impl Fn() -> S) -> End<S> {
        let workers = (0..n).map(|w| Tunnel::new(config.clone(), softwires(), w, n, 42).unwrap()).collect();
        let mut steering = [Tunnel::<S>::STEER_IPV6, Tunnel::<S>::STEER_IPV4];
        if config.ipv6 == Side::Internet {
            steering.reverse();
        }
        let mut bed = Bed::new(workers, steering, |_, _| {});
        bed.largest = 9000;
        End(ByVersion::of(bed, config.ipv6))
    }

    /// Send IPv4 packets in at the IPv4 side; give the frames that leave on the IPv6 side.
    pub(super) fn enter_all(&mut self, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let frames: Vec<_> = packets.iter().map(|p| frame4(p)).collect();
        self.0.send_all(false, &frames).into_iter().filter(|f| f.0).map(|f| f.1).collect()
    }

    /// Send an IPv4 packet that must leave alone in a tunnel.
    #[track_caller]
    pub(super) fn enter(&mut self, packet: &[u8]) -> Vec<u8> {
        self.0.to6(&frame4(packet))
    }

    /// Send a frame in at the IPv6 side (or else the IPv4 side) that must be dropped for this reason, with nothing sent.
    #[track_caller]
    pub(super) fn dropped(&mut self, ipv6: bool, frame: &[u8], why: &str) {
        self.0.dropped(ipv6, frame, why);
    }

    /// The same, with one frame sent back to where it came from.
    #[track_caller]
    pub(super) fn refused(&mut self, ipv6: bool, frame: &[u8], why: &str) -> Vec<u8> {
        self.0.refused(ipv6, frame, why)
    }

    /// Send a frame in at the IPv6 side that must leave alone on the IPv4 side; give its packet.
    #[track_caller]
    pub(super) fn leave(&mut self, frame: &[u8]) -> Vec<u8> {
        bare(&self.0.to4(frame))
    }
}
