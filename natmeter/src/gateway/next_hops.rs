//! Resolves the next hops of a gateway's sides before it starts and when its file is reloaded, and
//! checks them while it runs.

use super::{BothPorts, Macs};
use crate::rig::ports::own;
use gateway::ControlQueue;
use gateway::neighbour::{Finding, NeighbourError, NextHop, NextHops, Watch, request, request_of, resolve};
use plane::Side as PlaneSide;
use port::{Pool, Port};
use scenario::gateway::{Gateway, Io, NextHop as Written, Side};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::Mac;

/// Sides in the order of the plane.
const SIDES: [PlaneSide; 2] = [PlaneSide::Customer, PlaneSide::Internet];
/// Attempts of a running gateway; it waits [`WAIT`] after each.
const ATTEMPTS: u32 = 3;
const WAIT: Duration = Duration::from_millis(300);
/// Time between two checks for an answer.
const LOOK: Duration = Duration::from_millis(1);

/// Far end of a TUN device.
pub(super) fn tun_neighbour(number: u8) -> Mac {
    crate::rig::mac(number, 2)
}

/// IP address of a next hop that must be resolved.
fn asked(gateway: &Gateway, side: &Side) -> Option<IpAddr> {
    match side.next_hop {
        Written::Ip(ip) if gateway.io != Io::Tun => Some(ip),
        Written::Ip(_) | Written::Mac(_) => None,
    }
}

/// Ethernet addresses of both sides and of their next hops.
pub(super) fn find(
    gateway: &Gateway,
    own_macs: [Mac; 2],
    ports: &mut [BothPorts],
    pools: &mut [Pool],
    stop: &AtomicBool,
) -> Result<Macs, NeighbourError> {
    let mut macs = [(Mac::default(), Mac::default()); 2];
    for (i, side) in [&gateway.left, &gateway.right].into_iter().enumerate() {
        let next = match (asked(gateway, side), side.next_hop) {
            (Some(ip), _) => {
                let ports = ports.iter_mut().map(|(left, right)| &mut **if i == 0 { left } else { right });
                let mut lanes: Vec<_> = ports.zip(&mut *pools).map(|(p, pool)| (p as &mut dyn Port, pool)).collect();
                resolve(&mut lanes, &own(own_macs[i], [side.address]), (side.address, ip), stop)?
            }
            (None, Written::Mac(mac)) => mac,
            (None, Written::Ip(_)) => tun_neighbour(i as u8 + 1),
        };
        macs[i] = (own_macs[i], next);
    }
    Ok(macs)
}

/// The next hops to learn, with their initial Ethernet addresses.
pub(super) fn learnt(gateway: &Gateway, macs: &Macs) -> NextHops {
    let one = |side, (own, next)| asked(gateway, side).map(|ip| NextHop::new(ip, own, next));
    NextHops { customer: one(&gateway.left, macs[0]), internet: one(&gateway.right, macs[1]) }
}

pub(super) struct Watches {
    began: Instant,
    sides: [Watch; 2],
    /// Messages that announced our own Ethernet address.
    ours: [u64; 2],
    /// Lines for the operator, and the last one printed.
    events: Vec<String>,
    said: Option<(Instant, String)>,
}

/// The gateway does not repeat an event within this time.
const REPEAT: Duration = Duration::from_secs(60);

impl Watches {
    pub(super) fn new() -> Watches {
        let sides = [0, 1].map(|_| Watch::new(Duration::ZERO));
        Watches { began: Instant::now(), sides, ours: [0; 2], events: Vec::new(), said: None }
    }

    pub(super) fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn step(&mut self, gateway: &Gateway, next_hops: &NextHops, macs: &Macs, workers: &ControlQueue) {
        for (i, (name, side)) in [("left", &gateway.left), ("right", &gateway.right)].into_iter().enumerate() {
            let Some(next_hop) = next_hops.on(SIDES[i]) else { continue };
            let (own, ip, known) = (macs[i].0, next_hop.address(), next_hop.mac());
            let (found, questions) = self.sides[i].step(self.began.elapsed(), next_hop);
            for whom in questions {
                let ask = |mac| request_of(own, side.address, ip, mac);
                // A broken port stops the gateway with its own error.
                let _ = workers.send(SIDES[i], whom.map_or_else(|| request(own, side.address, ip), ask));
            }
            if let Some(found) = found {
                self.tell(match found {
                    Finding::Moved(mac) => format!("{name}: the next hop {ip} has moved from {known} to {mac}\n"),
                    Finding::Claimed(mac) => format!(
                        "warning: {name}: {mac} claims the address of the next hop {ip}, which still answers at {known}; ignored\n"
                    ),
                    Finding::Silent => format!("warning: {name}: the next hop {ip} does not answer at {known}; asking again\n"),
                });
            }
            let ours = next_hop.ours();
            if std::mem::replace(&mut self.ours[i], ours) != ours {
                self.tell(format!(
                    "warning: {name}: a message announces the gateway's own Ethernet address {own} for the next hop {ip}; \
                     ignored; look for a loop, or a station with the same address\n"
                ));
            }
        }
    }

    fn tell(&mut self, event: String) {
        if self.said.as_ref().is_none_or(|(when, said)| *said != event || when.elapsed() > REPEAT) {
            self.said = Some((Instant::now(), event.clone()));
            self.events.push(event);
        }
    }
}

/// Resolves next hops again, for about one second at most, and no longer than the gateway runs;
/// returns those that do not answer.
pub(super) fn ask_again(
    gateway: &Gateway,
    next_hops: &NextHops,
    macs: &Macs,
    workers: &ControlQueue,
    watches: &mut Watches,
    stop: &AtomicBool,
) -> Vec<IpAddr> {
    let sides = [(&gateway.left, macs[0].0), (&gateway.right, macs[1].0)];
    let open = SIDES.into_iter().zip(sides);
    let state = |n: &NextHop| (n.answers(), n.mac());
    let mut open: Vec<_> =
        open.filter_map(|(on, (side, mac))| next_hops.on(on).map(|n| (on, side, mac, n, state(n)))).collect();
    for _ in 0..ATTEMPTS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for (on, side, mac, next_hop, _) in &open {
            // A broken port stops the gateway with its own error.
            let _ = workers.send(*on, request(*mac, side.address, next_hop.address()));
        }
        let end = Instant::now() + WAIT;
        while !open.is_empty() && Instant::now() < end && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            watches.step(gateway, next_hops, macs, workers);
            open.retain(|(.., next_hop, before)| state(next_hop) == *before);
        }
    }
    open.into_iter().map(|(.., next_hop, _)| next_hop.address()).collect()
}

/// Next hops of the file `new`, and the known addresses of those that it names by IP address.
pub(super) fn known(new: &Gateway, next_hops: &NextHops, before: &Macs) -> Macs {
    let sides = [&new.left, &new.right];
    [0, 1].map(|i| {
        let next = match (sides[i].next_hop, next_hops.on(SIDES[i])) {
            (Written::Mac(mac), _) => mac,
            (Written::Ip(_), Some(next_hop)) => next_hop.mac(),
            (Written::Ip(_), None) => before[i].1,
        };
        (sides[i].mac.unwrap_or(before[i].0), next)
    })
}

pub(super) fn built_with(next_hops: &NextHops, macs: &Macs) {
    for (on, (_, next)) in SIDES.into_iter().zip(macs) {
        if let Some(next_hop) = next_hops.on(on) {
            next_hop.built_with(*next);
        }
    }
}

/// Whether next hops are others than those that the workers learn.
pub(super) fn have_changed(new: &Gateway, next_hops: &NextHops) -> bool {
    let sides = [&new.left, &new.right].map(|side| asked(new, side));
    SIDES.into_iter().zip(sides).any(|(on, asked)| next_hops.on(on).map(NextHop::address) != asked)
}
