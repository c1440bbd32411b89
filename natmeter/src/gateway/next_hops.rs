//! The next hops of a gateway's sides: found before it starts, asked again when its file is read again. Apart from the
//! messages themselves, because this is about what the file says of them.

use super::{BothPorts, Macs, own};
use gateway::ControlQueue;
use gateway::neighbour::{NeighbourError, NextHop, NextHops, request, resolve};
use plane::{Function, Side as PlaneSide};
use port::{Pool, Port};
use scenario::gateway::{Gateway, Io, NextHop as Written, Side};
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::Mac;

/// Both sides as the plane numbers them.
const SIDES: [PlaneSide; 2] = [PlaneSide::Customer, PlaneSide::Internet];
/// How often a running gateway asks, and how long it waits each time.
const ATTEMPTS: u32 = 3;
const WAIT: Duration = Duration::from_millis(300);
/// Between two looks whether an answer has come.
const LOOK: Duration = Duration::from_millis(1);

/// The far end of a link without Ethernet addresses.
pub(super) fn tun_neighbour(number: u8) -> Mac {
    crate::rig::mac(number, 2)
}

/// The IP address by which a side's next hop is asked for, if it is.
fn asked(gateway: &Gateway, side: &Side) -> Option<IpAddr> {
    match side.next_hop {
        Written::Ip(ip) if gateway.io != Io::Tun => Some(ip),
        Written::Ip(_) | Written::Mac(_) => None,
    }
}

/// Ethernet addresses of both sides and of their next hops, asked for where the file gives IP addresses.
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
                resolve(&mut lanes, &own(side, own_macs[i]), (side.address, ip), stop)?
            }
            (None, Written::Mac(mac)) => mac,
            (None, Written::Ip(_)) => tun_neighbour(i as u8 + 1),
        };
        macs[i] = (own_macs[i], next);
    }
    Ok(macs)
}

/// What the workers of a gateway learn, which starts with these Ethernet addresses.
pub(super) fn learnt(gateway: &Gateway, macs: &Macs) -> NextHops {
    let one = |side, (_, next)| asked(gateway, side).map(|ip| NextHop::new(ip, next));
    NextHops { customer: one(&gateway.left, macs[0]), internet: one(&gateway.right, macs[1]) }
}

/// Asks for the next hops of a running gateway again and waits for their answers, about a second at most; gives those that
/// do not answer.
pub(super) fn ask_again<F: Function>(
    gateway: &Gateway,
    next_hops: &NextHops,
    macs: &Macs,
    queue: &ControlQueue<F>,
) -> Vec<IpAddr> {
    let sides = [(&gateway.left, macs[0].0), (&gateway.right, macs[1].0)];
    let open = SIDES.into_iter().zip(sides);
    let mut open: Vec<_> =
        open.filter_map(|(on, (side, mac))| next_hops.on(on).map(|n| (on, side, mac, n, n.heard()))).collect();
    for _ in 0..ATTEMPTS {
        for (on, side, mac, next_hop, _) in &open {
            // A port that is broken ends the gateway, and says so.
            let _ = queue.send(*on, request(*mac, side.address, next_hop.address()));
        }
        let end = Instant::now() + WAIT;
        while !open.is_empty() && Instant::now() < end {
            std::thread::sleep(LOOK);
            open.retain(|(.., next_hop, heard)| next_hop.heard() == *heard);
        }
    }
    open.into_iter().map(|(.., next_hop, _)| next_hop.address()).collect()
}

/// Ethernet addresses for functions that are made now: those of the file `new`, and of next hops that it names by IP address
/// where they are known to be.
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

/// Functions have been made with these addresses.
pub(super) fn built_with(next_hops: &NextHops, macs: &Macs) {
    for (on, (_, next)) in SIDES.into_iter().zip(macs) {
        if let Some(next_hop) = next_hops.on(on) {
            next_hop.built_with(*next);
        }
    }
}

/// Whether next hops are named in another way than those that the workers learn about.
pub(super) fn named_otherwise(new: &Gateway, next_hops: &NextHops) -> bool {
    let sides = [&new.left, &new.right].map(|side| asked(new, side));
    SIDES.into_iter().zip(sides).any(|(on, asked)| next_hops.on(on).map(NextHop::address) != asked)
}
