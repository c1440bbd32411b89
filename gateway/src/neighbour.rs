//! Finding the Ethernet address of a neighbour (ARP, RFC 826; Neighbor Discovery, RFC 4861) before a gateway starts.
//! Apart from what it answers while it runs, because here it asks and waits.

use crate::own::Own;
use port::{Burst, Pool, Port, PortError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};
use wire::checksum::Sum;
use wire::header::{self, Mac, be16, put16};

/// Why a neighbour is not known.
#[derive(Debug, thiserror::Error)]
pub enum NeighbourError {
    /// It does not answer.
    #[error(
        "asking for the neighbour {address} on {port}: no answer in {waited:?}; is it there, and on this link? Its Ethernet address can be given instead as next-hop"
    )]
    Silent {
        /// Whom.
        address: IpAddr,
        /// Where.
        port: String,
        /// How long.
        waited: Duration,
    },
    /// The port is broken.
    #[error(transparent)]
    Port(#[from] PortError),
}

const ATTEMPTS: u32 = 5;
const WAIT: Duration = Duration::from_millis(600);

/// Ask for a neighbour until it answers, a few seconds at most, on all ports of one side (one a worker, each with the
/// worker's pool; at least one): which queue an answer arrives at is the interface's choice. Requests for our own address
/// are answered meanwhile.
///
/// # Errors
/// When nobody answers or a port is broken.
pub fn resolve(
    lanes: &mut [(&mut dyn Port, &mut Pool)],
    own: &Own,
    from: IpAddr,
    to: IpAddr,
) -> Result<Mac, NeighbourError> {
    for _ in 0..ATTEMPTS {
        let (port, pool) = &mut lanes[0];
        ask(*port, pool, &request(own.mac, from, to))?;
        let end = Instant::now() + WAIT;
        while Instant::now() < end {
            for (port, pool) in &mut *lanes {
                if let Some(mac) = listen(*port, pool, own, to)? {
                    return Ok(mac);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Err(NeighbourError::Silent { address: to, port: lanes[0].0.facts().name, waited: WAIT * ATTEMPTS })
}

fn ask(port: &mut dyn Port, pool: &mut Pool, request: &[u8]) -> Result<(), PortError> {
    let mut burst: Burst = port::burst();
    if let Some(mut frame) = pool.alloc(request.len()) {
        frame.bytes_mut().copy_from_slice(request);
        burst.push(frame);
        port.transmit(pool, &mut burst)?;
        pool.free_all(&mut burst);
    }
    Ok(())
}

/// The neighbour's address if it is among what has come in; requests for our own are answered.
fn listen(port: &mut dyn Port, pool: &mut Pool, own: &Own, whom: IpAddr) -> Result<Option<Mac>, PortError> {
    let (mut burst, mut answers): (Burst, Burst) = (port::burst(), port::burst());
    port.receive(pool, &mut burst)?;
    let mut found = None;
    for mut frame in burst.drain(..) {
        found = found.or_else(|| answer(frame.bytes(), whom));
        if own.answer(&mut frame) {
            answers.push(frame);
        } else {
            pool.free(frame);
        }
    }
    port.transmit(pool, &mut answers)?;
    pool.free_all(&mut answers);
    Ok(found)
}

fn request(own: Mac, from: IpAddr, to: IpAddr) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => arp(own, from, to),
        (IpAddr::V6(from), IpAddr::V6(to)) => solicitation(own, from, to),
        // Sides of one IP version are a matter of the configuration; an unspecified source is legal in both.
        (_, IpAddr::V4(to)) => arp(own, Ipv4Addr::UNSPECIFIED, to),
        (_, IpAddr::V6(to)) => solicitation(own, Ipv6Addr::UNSPECIFIED, to),
    }
}

fn arp(own: Mac, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut b = vec![0; 60];
    b[..6].fill(0xff);
    b[6..12].copy_from_slice(&own.0);
    put16(&mut b, 12, header::TYPE_ARP);
    b[14..22].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
    b[22..28].copy_from_slice(&own.0);
    b[28..32].copy_from_slice(&from.octets());
    b[38..42].copy_from_slice(&to.octets());
    b
}

fn solicitation(own: Mac, from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let with_option = !from.is_unspecified();
    let len = if with_option { 32 } else { 24 };
    let mut b = vec![0; 54 + len];
    let [.., x, y, z] = to.octets();
    b[..6].copy_from_slice(&[0x33, 0x33, 0xff, x, y, z]);
    b[6..12].copy_from_slice(&own.0);
    put16(&mut b, 12, header::TYPE_IPV6);
    b[14] = 0x60;
    put16(&mut b, 18, len as u16);
    b[20] = header::ICMPV6;
    b[21] = 255;
    b[22..38].copy_from_slice(&from.octets());
    // Solicited-node address (RFC 4291, section 2.7.1).
    b[38..54].copy_from_slice(&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, x, y, z]);
    b[54] = 135;
    b[62..78].copy_from_slice(&to.octets());
    if with_option {
        b[78..80].copy_from_slice(&[1, 1]);
        b[80..86].copy_from_slice(&own.0);
    }
    let sum = Sum::default().bytes(&b[22..]).be16(u16::from(header::ICMPV6)).be16(len as u16).checksum();
    b[56..58].copy_from_slice(&sum);
    b
}

/// The Ethernet address that a frame tells of `whom`.
fn answer(b: &[u8], whom: IpAddr) -> Option<Mac> {
    let mac = |at: usize| b.get(at..at + 6).map(|m| Mac([m[0], m[1], m[2], m[3], m[4], m[5]]));
    if b.len() < header::ETH {
        return None;
    }
    match whom {
        IpAddr::V4(a) => {
            let is = b.len() >= 42 && be16(b, 12) == header::TYPE_ARP && be16(b, 20) == 2 && b[28..32] == a.octets();
            if is { mac(22) } else { None }
        }
        IpAddr::V6(a) => {
            let is = b.len() >= 78
                && be16(b, 12) == header::TYPE_IPV6
                && (b[20], b[21], b[54]) == (header::ICMPV6, 255, 136)
                && b[62..78] == a.octets();
            if !is {
                return None;
            }
            // The option may be missing in a unicast answer; then the sender is it (RFC 4861, section 4.4).
            if b.len() >= 86 && b[78..80] == [2, 1] { mac(80) } else { mac(6) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::link::{Steer, link};
    use port::{Clock, PoolConfig};
    use wire::AddrRange;
    use wire::Prefix6;

    /// The other half of this crate is the neighbour: what one asks the other answers, at the second of our two queues.
    #[test]
    fn a_neighbour_that_answers_is_found() {
        let own = |last: u8| Own {
            mac: Mac([2, 0, 0, 0, 0, last]),
            ipv4: vec![AddrRange::one([10, 0, 0, last].into())],
            ipv6: vec![Prefix6 { addr: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, u16::from(last)), len: 128 }],
        };
        for (from, to) in [("10.0.0.1", "10.0.0.2"), ("2001:2::1", "2001:2::2")] {
            let clock = Clock::system();
            let mut pools = Pool::for_workers(PoolConfig::compact(3, 64, 128)).unwrap();
            let mut other_pool = pools.remove(2);
            // By the last bit of our Ethernet address, which is 1.
            let to_us = Steer::Block { at: 4, shift: 0 };
            let (mut ours, mut theirs) = link("test", clock, 16, (2, to_us), (1, Steer::First));
            let done = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut burst = port::burst();
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        theirs[0].receive(&mut other_pool, &mut burst).unwrap();
                        let mut answers: Burst = port::burst();
                        for mut frame in burst.drain(..) {
                            if own(2).answer(&mut frame) {
                                answers.push(frame);
                            }
                        }
                        theirs[0].transmit(&mut other_pool, &mut answers).unwrap();
                        std::thread::yield_now();
                    }
                });
                let ports = ours.iter_mut().map(|p| p as &mut dyn Port);
                let mut lanes: Vec<_> = ports.zip(&mut pools).collect();
                let found = resolve(&mut lanes, &own(1), from.parse().unwrap(), to.parse().unwrap());
                done.store(true, std::sync::atomic::Ordering::Relaxed);
                assert_eq!(found.unwrap(), Mac([2, 0, 0, 0, 0, 2]));
            });
        }
    }
}
