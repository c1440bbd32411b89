//! Resolution of the next hop's Ethernet address before a gateway starts.

use super::message::{request, said};
use crate::own::Own;
use port::{Burst, Pool, Port, PortError};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::Mac;

/// Why a neighbour was not resolved.
#[derive(Debug, thiserror::Error)]
pub enum NeighbourError {
    /// The neighbour does not answer.
    #[error(
        "asking for the neighbour {address} on {port}: no answer in {waited:?}; is it there, and on this link? Its Ethernet address can be given instead (`next-hop` of a gateway, `mac` of a bed)"
    )]
    Silent {
        /// The next hop.
        address: IpAddr,
        /// Port of the request.
        port: String,
        /// How long natmeter waited for an answer.
        waited: Duration,
    },
    /// The gateway is to end.
    #[error("stopped while asking for the neighbour {0}")]
    Stopped(IpAddr),
    /// The port is broken.
    #[error(transparent)]
    Port(#[from] PortError),
}

const ATTEMPTS: u32 = 5;
const WAIT: Duration = Duration::from_millis(600);

/// Asks for a neighbour for a few seconds, on all ports of a side (one for each worker, with its
/// pool), as the interface chooses the queue of the answer. Meanwhile answers requests for our own
/// addresses.
///
/// # Errors
/// The neighbour does not answer, a port is broken, or `stop` is set.
pub fn resolve(
    lanes: &mut [(&mut dyn Port, &mut Pool)],
    own: &Own,
    (from, to): (IpAddr, IpAddr),
    stop: &AtomicBool,
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
            if stop.load(Ordering::Relaxed) {
                return Err(NeighbourError::Stopped(to));
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

/// Answers requests for our own addresses.
fn listen(port: &mut dyn Port, pool: &mut Pool, own: &Own, whom: IpAddr) -> Result<Option<Mac>, PortError> {
    let (mut burst, mut answers): (Burst, Burst) = (port::burst(), port::burst());
    port.receive(pool, &mut burst)?;
    let mut found = None;
    for mut frame in burst.drain(..) {
        found = found.or_else(|| said(frame.bytes(), whom).filter(|mac| *mac != own.mac));
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

#[cfg(test)]
mod tests {
    use super::*;
    use port::link::{Steer, link};
    use port::{Clock, PoolConfig};
    use std::net::Ipv6Addr;
    use wire::AddrRange;
    use wire::Prefix6;

    /// The neighbour is played by `Own` of this crate; its answer arrives at the second of our two queues.
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
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut burst = port::burst();
                    while !done.load(Ordering::Relaxed) {
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
                let ends = (from.parse().unwrap(), to.parse().unwrap());
                let found = resolve(&mut lanes, &own(1), ends, &AtomicBool::new(false));
                done.store(true, Ordering::Relaxed);
                assert_eq!(found.unwrap(), Mac([2, 0, 0, 0, 0, 2]));
            });
        }
    }
}
