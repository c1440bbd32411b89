//! What the tests of sender, judge and phase share: small views, and a port whose far end is the test.

use plane::view::Bed;
use port::{BATCH, Burst, Clock, Counters, Pool, PoolConfig, Port, PortError, PortFacts, Sent, Ticks};
use std::collections::VecDeque;
use wire::{AddrRange, FlowSpace, OuterRange, PortRange};

/// Ten thousand flows on frames of this size with FCS.
pub fn bed(frame_size: usize) -> Bed {
    let flows = FlowSpace::new(
        AddrRange::one([198, 18, 0, 2].into()),
        PortRange { first: 1024, last: 2023 },
        AddrRange::one([198, 19, 0, 2].into()),
        PortRange { first: 1, last: 10 },
    )
    .expect("these ranges fit");
    let hop = plane::Hop::default();
    Bed { left: hop, right: hop, frame_size, ttl: 10, connections: flows.size(), flows, seed: 5 }
}

/// Where a NAT of these tests may translate to.
pub fn outer() -> OuterRange {
    OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1024, last: 65_535 } }
}

/// Room for a few bursts.
pub fn pool() -> Pool {
    Pool::single(PoolConfig::compact(1, 256, 1600)).expect("a little memory")
}

/// A port that delivers what it is told and keeps what it is given.
#[derive(Default)]
pub struct Hand {
    /// To be received, a burst a call.
    pub bursts: VecDeque<Vec<Vec<u8>>>,
    /// Transmitted so far.
    pub sent: Vec<Vec<u8>>,
    /// When each of these was transmitted, by the system's clock.
    pub times: Vec<Ticks>,
    /// Frames to accept a call, then to refuse a call; the rest is left to the caller. `None`: accept all.
    pub limits: Option<(usize, usize)>,
}

impl Port for Hand {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let frames = self.bursts.pop_front().unwrap_or_default();
        assert!(frames.len() <= BATCH);
        for bytes in &frames {
            let mut frame = pool.alloc(bytes.len()).expect("the pool is large enough");
            frame.bytes_mut().copy_from_slice(bytes);
            into.push(frame);
        }
        Ok(frames.len())
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let now = Clock::system().now();
        let (accept, refuse) = self.limits.unwrap_or((usize::MAX, 0));
        let mut sent = Sent::default();
        let taken: Vec<_> = burst.drain(..burst.len().min(accept.saturating_add(refuse))).collect();
        for frame in taken {
            if sent.accepted < accept {
                self.sent.push(frame.bytes().to_vec());
                self.times.push(now);
                sent.accepted += 1;
            } else {
                sent.refused += 1;
            }
            pool.free(frame);
        }
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn facts(&self) -> PortFacts {
        PortFacts::default()
    }
}
