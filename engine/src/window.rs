//! Both ends of a kernel cable with a window: no more frames are in flight than its shortest queue
//! holds, which calibration would overflow.

use port::{Burst, Clock, Counters, Pool, Port, PortError, PortFacts, Sent, Ticks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Frames in flight per direction: the ring of a veth in native XDP mode holds 256, a core's
/// backlog 1,000.
const WINDOW: u64 = 128;
/// Frames are lost if nothing has arrived for this long.
const LOST: Duration = Duration::from_secs(1);

struct End {
    port: Box<dyn Port>,
    clock: Clock,
    /// Frames sent by this end and not yet received.
    out: Arc<AtomicU64>,
    /// Frames sent by the other end and not yet received.
    back: Arc<AtomicU64>,
    /// Time since which the window is full, and its number of frames.
    held: Option<(Ticks, u64)>,
}

pub(crate) fn ends(clock: Clock, left: Box<dyn Port>, right: Box<dyn Port>) -> (Box<dyn Port>, Box<dyn Port>) {
    let (forward, reverse) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let end = |port, out: &Arc<AtomicU64>, back: &Arc<AtomicU64>| -> Box<dyn Port> {
        Box::new(End { port, clock, out: Arc::clone(out), back: Arc::clone(back), held: None })
    };
    (end(left, &forward, &reverse), end(right, &reverse, &forward))
}

impl End {
    /// Waits for frames on their way; an error if none has arrived since an earlier call for too
    /// long.
    fn waits(&mut self, on_their_way: u64) -> Result<(), PortError> {
        let now = self.clock.now();
        match self.held {
            Some((since, then)) if then == on_their_way => {
                if now.saturating_sub(since) > self.clock.ticks(LOST.as_nanos() as u64) {
                    let name = self.port.facts().name;
                    return Err(PortError::Unsupported(format!(
                        "{then} frames sent to {name} did not arrive at the other end of the cable within {} s",
                        LOST.as_secs()
                    )));
                }
            }
            _ => self.held = Some((now, on_their_way)),
        }
        Ok(())
    }
}

impl Port for End {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let got = self.port.receive(pool, into)?;
        // A frame that the other end did not send does not open the window.
        let back = self.back.load(Ordering::Relaxed);
        self.back.store(back.saturating_sub(got as u64), Ordering::Relaxed);
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let on_their_way = self.out.load(Ordering::Relaxed);
        if on_their_way + burst.len() as u64 > WINDOW {
            self.waits(on_their_way)?;
            return Ok(Sent::default());
        }
        self.held = None;
        let sent = self.port.transmit(pool, burst)?;
        self.out.store(on_their_way + sent.accepted as u64, Ordering::Relaxed);
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        self.port.counters()
    }

    fn facts(&self) -> PortFacts {
        self.port.facts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::PoolConfig;
    use port::link::{Steer, link};

    #[test]
    fn no_more_is_sent_than_the_window_holds_until_something_has_arrived() {
        let clock = Clock::system();
        let (mut left, mut right) = link("cable", clock, 1024, (1, Steer::First), (1, Steer::First));
        let (mut left, mut right) = ends(clock, Box::new(left.remove(0)), Box::new(right.remove(0)));
        let mut pool = Pool::single(PoolConfig::compact(1, 512, 64)).unwrap();
        let (mut burst, mut sent) = (port::burst(), 0);
        for _ in 0..10 {
            burst.extend((0..32).map(|_| pool.alloc(60).unwrap()));
            sent += left.transmit(&mut pool, &mut burst).unwrap().accepted;
            pool.free_all(&mut burst);
        }
        assert_eq!(sent as u64, WINDOW);
        assert_eq!(right.receive(&mut pool, &mut burst).unwrap(), 32);
        // Returned frames use the other direction, and open the first window.
        assert_eq!(right.transmit(&mut pool, &mut burst).unwrap().accepted, 32);
        burst.extend((0..33).map(|_| pool.alloc(60).unwrap()));
        assert_eq!(left.transmit(&mut pool, &mut burst).unwrap().accepted, 0);
        pool.free_all(&mut burst);
        burst.extend((0..32).map(|_| pool.alloc(60).unwrap()));
        assert_eq!(left.transmit(&mut pool, &mut burst).unwrap().accepted, 32);
    }

    #[test]
    fn frames_that_never_arrive_are_an_error_and_no_wait_without_end() {
        let clock = Clock::system();
        let (mut left, mut right) = link("cable", clock, 1024, (1, Steer::First), (1, Steer::First));
        let (left, right) = (Box::new(left.remove(0)), Box::new(right.remove(0)));
        let (out, back) = (Arc::new(AtomicU64::new(WINDOW)), Arc::<AtomicU64>::default());
        let long_ago = clock.now().saturating_sub(clock.ticks(2 * LOST.as_nanos() as u64));
        let mut end = End { port: left, clock, out, back, held: Some((long_ago, WINDOW)) };
        let mut pool = Pool::single(PoolConfig::compact(1, 8, 64)).unwrap();
        let mut burst = vec![pool.alloc(60).unwrap()];
        let error = end.transmit(&mut pool, &mut burst).unwrap_err().to_string();
        assert!(error.contains("128 frames sent to cable") && error.contains("did not arrive"), "{error}");
        drop(right);
    }
}
