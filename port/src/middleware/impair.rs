//! Impairs received frames in an exactly defined way: loss, duplicates, reordering, corruption,
//! delay. Every decision depends only on the seed and the frame's number.

use crate::{BATCH, Burst, Clock, Counters, Frame, Pool, Port, PortError, PortFacts, Sent, burst};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Impairments of a link; all 0 change nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impairment {
    /// Seed that determines a frame's impairments with its number.
    pub seed: u64,
    /// Lost frames per million.
    pub loss: u32,
    /// Duplicates per million.
    pub duplicates: u32,
    /// Reordered frames per million.
    pub reordered: u32,
    /// Later frames that a reordered frame waits for; 0 counts as 1.
    pub displacement: u32,
    /// Frames with one bit inverted, per million.
    pub corrupted: u32,
    /// First octet that may be corrupted.
    pub corrupt_from: usize,
    /// Delay in nanoseconds.
    pub delay: u64,
    /// Maximum additional delay in nanoseconds, uniformly distributed. May reorder frames.
    pub jitter: u64,
}

/// Counters of impaired frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Frames freed instead of passed on.
    pub lost: u64,
    /// Frames passed on twice.
    pub duplicated: u64,
    /// Frames reordered by exactly the displacement; those without enough successors do not count.
    pub reordered: u64,
    /// Frames with one bit inverted.
    pub corrupted: u64,
    /// The pool had no free frame.
    pub not_duplicated: u64,
}

/// Longest wait of a reordered frame, for the end of a trial: longer than any pause within.
const PATIENCE_NANOS: u64 = 100_000_000;

/// A port with impaired reception.
pub struct Impair<P> {
    port: P,
    what: Impairment,
    clock: Clock,
    delay: u64,
    patience: u64,
    next: u64,
    /// Frames set aside, the oldest first.
    aside: Vec<ReorderedFrame>,
    /// The first due at the top.
    held: BinaryHeap<Reverse<DelayedFrame>>,
    /// Orders frames with the same due time.
    order: u64,
    capacity: usize,
    fresh: Burst,
    damage: Damage,
    delivered: u64,
}

struct ReorderedFrame {
    number: u64,
    frames_before_it: u32,
    frame: Frame,
}

struct DelayedFrame {
    due: u64,
    order: u64,
    frame: Frame,
}

impl PartialEq for DelayedFrame {
    fn eq(&self, other: &DelayedFrame) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for DelayedFrame {}
impl PartialOrd for DelayedFrame {
    fn partial_cmp(&self, other: &DelayedFrame) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for DelayedFrame {
    fn cmp(&self, other: &DelayedFrame) -> std::cmp::Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}

/// A random decision; each has its own random bits.
#[derive(Clone, Copy)]
enum Ask {
    Loss = 1,
    Duplicate,
    Reorder,
    Corrupt,
    Bit,
    Jitter,
}

impl<P: Port> Impair<P> {
    /// Impairs the frames received on `port`, holding at most `capacity` (delay × rate); others wait in its queue.
    pub fn new(port: P, what: Impairment, capacity: usize, clock: Clock) -> Impair<P> {
        Impair {
            port,
            what,
            clock,
            delay: clock.ticks(what.delay),
            patience: clock.ticks(PATIENCE_NANOS),
            next: 0,
            aside: Vec::with_capacity(capacity + BATCH),
            // Every frame may be duplicated, and all that are set aside may follow.
            held: BinaryHeap::with_capacity(2 * (capacity + BATCH)),
            order: 0,
            capacity,
            fresh: burst(),
            damage: Damage::default(),
            delivered: 0,
        }
    }

    /// Counters so far.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// 64 uniform bits (the finaliser of `SplitMix64`).
    fn answer(&self, number: u64, ask: Ask) -> u64 {
        let mut x = self.what.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (ask as u64) << 56;
        for _ in 0..2 {
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^= x >> 31;
        }
        x
    }

    fn below(&self, number: u64, ask: Ask, limit: u64) -> u64 {
        ((self.answer(number, ask) as u128 * limit as u128) >> 64) as u64
    }

    fn happens(&self, number: u64, ask: Ask, in_a_million: u32) -> bool {
        in_a_million > 0 && self.below(number, ask, 1_000_000) < in_a_million as u64
    }

    fn take(&mut self, pool: &mut Pool, mut frame: Frame) {
        let number = self.next;
        self.next += 1;
        let what = self.what;
        if self.happens(number, Ask::Loss, what.loss) {
            self.damage.lost += 1;
            return pool.free(frame);
        }
        if self.happens(number, Ask::Corrupt, what.corrupted) && frame.len() > what.corrupt_from {
            let bits = (frame.len() - what.corrupt_from) as u64 * 8;
            let bit = self.below(number, Ask::Bit, bits) as usize;
            frame.bytes_mut()[what.corrupt_from + bit / 8] ^= 1 << (bit % 8);
            self.damage.corrupted += 1;
        }
        if self.happens(number, Ask::Reorder, what.reordered) {
            let frames_before_it = what.displacement.max(1);
            self.aside.push(ReorderedFrame { number, frames_before_it, frame });
            return;
        }
        if self.happens(number, Ask::Duplicate, what.duplicates) {
            self.duplicate(pool, &frame, number);
        }
        let stamp = frame.stamp;
        self.hold(number, frame);
        self.reorder(stamp);
    }

    fn reorder(&mut self, stamp: u64) {
        for late in &mut self.aside {
            late.frames_before_it -= 1;
        }
        // All wait for the same number, so the oldest are first.
        while self.aside.first().is_some_and(|late| late.frames_before_it == 0) {
            let ReorderedFrame { number, mut frame, .. } = self.aside.remove(0);
            frame.stamp = stamp;
            self.damage.reordered += 1;
            self.hold(number, frame);
        }
    }

    fn duplicate(&mut self, pool: &mut Pool, frame: &Frame, number: u64) {
        match pool.alloc(frame.len()) {
            Some(mut copy) if copy.len() == frame.len() => {
                copy.bytes_mut().copy_from_slice(frame.bytes());
                copy.stamp = frame.stamp;
                self.damage.duplicated += 1;
                self.hold(number, copy);
            }
            other => {
                self.damage.not_duplicated += 1;
                if let Some(frame) = other {
                    pool.free(frame);
                }
            }
        }
    }

    fn hold(&mut self, number: u64, mut frame: Frame) {
        let jitter = if self.what.jitter == 0 { 0 } else { self.below(number, Ask::Jitter, self.what.jitter + 1) };
        frame.stamp += self.delay + self.clock.ticks(jitter);
        self.held.push(Reverse(DelayedFrame { due: frame.stamp, order: self.order, frame }));
        self.order += 1;
    }

    fn lose_patience(&mut self, now: u64) {
        while self.aside.first().is_some_and(|late| now.saturating_sub(late.frame.stamp) > self.patience) {
            let ReorderedFrame { number, frame, .. } = self.aside.remove(0);
            self.hold(number, frame);
        }
    }
}

impl<P: Port> Port for Impair<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        if self.held.len() + self.aside.len() < self.capacity {
            let mut fresh = std::mem::take(&mut self.fresh);
            let result = self.port.receive(pool, &mut fresh);
            for frame in fresh.drain(..) {
                self.take(pool, frame);
            }
            self.fresh = fresh;
            result?;
        }
        let now = self.clock.now();
        self.lose_patience(now);
        let mut got = 0;
        while got < BATCH
            && self.held.peek().is_some_and(|Reverse(first)| first.due <= now)
            && let Some(Reverse(first)) = self.held.pop()
        {
            into.push(first.frame);
            got += 1;
        }
        self.delivered += got as u64;
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        self.port.transmit(pool, burst)
    }

    fn counters(&mut self) -> Counters {
        Counters { received: self.delivered, ..self.port.counters() }
    }

    fn facts(&self) -> PortFacts {
        let facts = self.port.facts();
        let mode = if facts.mode.is_empty() { "impaired".into() } else { format!("{}, impaired", facts.mode) };
        PortFacts { mode, ..facts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PoolConfig;
    use crate::link::{LinkPort, Steer, link};
    use proptest::prelude::*;

    struct Rig {
        left: LinkPort,
        right: Impair<LinkPort>,
        pool: Pool,
    }

    fn rig(what: Impairment) -> Rig {
        let clock = Clock::system();
        let (mut a, mut b) = link("t", clock, 64, (1, Steer::First), (1, Steer::First));
        let pool = Pool::single(PoolConfig::compact(1, 1024, 60)).unwrap();
        Rig { left: a.remove(0), right: Impair::new(b.remove(0), what, 512, clock), pool }
    }

    /// Sends `count` numbered frames in bursts of these sizes. Returns the numbers received, each with the sum of the
    /// frame's bytes.
    fn pass(rig: &mut Rig, count: u32, bursts: &[usize]) -> Vec<(u32, u32)> {
        let (mut out, mut all, mut back) = (burst(), Vec::new(), burst());
        let mut sizes = bursts.iter().cycle();
        let mut sent = 0;
        while sent < count {
            for _ in 0..(*sizes.next().unwrap()).min((count - sent) as usize) {
                let mut frame = rig.pool.alloc(60).unwrap();
                frame.bytes_mut().fill(0);
                frame.bytes_mut()[..4].copy_from_slice(&sent.to_be_bytes());
                out.push(frame);
                sent += 1;
            }
            rig.left.transmit(&mut rig.pool, &mut out).unwrap();
            drain(rig, &mut back, &mut all);
        }
        // The last frames may wait for later frames until the timeout.
        while rig.pool.available() + rig.right.aside.len() < 1024 {
            drain(rig, &mut back, &mut all);
        }
        all
    }

    fn drain(rig: &mut Rig, back: &mut Burst, all: &mut Vec<(u32, u32)>) {
        while rig.right.receive(&mut rig.pool, back).unwrap() > 0 {
            for frame in back.drain(..) {
                let number = u32::from_be_bytes(frame.bytes()[..4].try_into().unwrap());
                all.push((number, frame.bytes()[4..].iter().map(|b| *b as u32).sum()));
                rig.pool.free(frame);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// The same seed impairs the same frames in the same way, whatever the bursts.
        #[test]
        fn damage_depends_on_seed_and_number_alone(
            seed in any::<u64>(),
            [loss, duplicates, reordered, corrupted] in [0..300_000u32, 0..300_000, 0..300_000, 0..300_000],
            displacement in 1..5u32,
            bursts in proptest::collection::vec(1..=BATCH, 1..6),
        ) {
            let what = Impairment { seed, loss, duplicates, reordered, displacement, corrupted, corrupt_from: 4, ..Impairment::default() };
            let (mut a, mut b) = (rig(what), rig(what));
            let count = 600;
            prop_assert_eq!(pass(&mut a, count, &[BATCH]), pass(&mut b, count, &bursts));
            let damage = a.right.damage();
            prop_assert_eq!(damage, b.right.damage());
            let waiting = a.right.aside.len() as u64;
            prop_assert_eq!(a.right.counters().received, count as u64 - damage.lost + damage.duplicated - waiting);
        }
    }

    #[test]
    fn nothing_asked_nothing_done() {
        let mut rig = rig(Impairment::default());
        assert_eq!(pass(&mut rig, 500, &[7]), (0..500).map(|n| (n, 0)).collect::<Vec<_>>());
        assert_eq!(rig.right.damage(), Damage::default());
    }

    #[test]
    fn as_many_as_asked_for_and_not_the_same_for_every_question() {
        let share = 100_000;
        let what = Impairment {
            seed: 7,
            loss: share,
            duplicates: share,
            corrupted: share,
            corrupt_from: 4,
            ..Impairment::default()
        };
        let mut rig = rig(what);
        let out = pass(&mut rig, 40_000, &[BATCH]);
        let damage = rig.right.damage();
        // 300 is five standard deviations of 40,000 draws with a probability of one in ten.
        for (n, expected) in [(damage.lost, 4000), (damage.duplicated, 3600), (damage.corrupted, 3600)] {
            assert!(n.abs_diff(expected) < 300, "{n} instead of {expected}");
        }
        let both = out.windows(2).filter(|w| w[0].0 == w[1].0 && w[0].1 > 0).count();
        assert!(both.abs_diff(360) < 100, "{both} frames are both corrupted and doubled");
    }

    #[test]
    fn a_reordered_frame_follows_so_many_later_frames() {
        let what = Impairment { seed: 3, loss: 50_000, reordered: 20_000, displacement: 3, ..Impairment::default() };
        let mut rig = rig(what);
        let out = pass(&mut rig, 2000, &[5]);
        let overtook = |i: usize| out[..i].iter().filter(|before| before.0 > out[i].0).count();
        let late: Vec<usize> = (0..out.len()).map(overtook).filter(|n| *n > 0).collect();
        assert_eq!(late.len() as u64, rig.right.damage().reordered);
        assert!(late.len() > 20 && late.iter().all(|n| *n == 3), "{late:?}");
    }

    #[test]
    fn delay_is_exact_in_the_stamp_and_nothing_comes_early() {
        let mut rig = rig(Impairment { delay: 300_000, ..Impairment::default() });
        let (mut out, mut back) = (burst(), burst());
        out.push(rig.pool.alloc(60).unwrap());
        let before = rig.right.clock.now();
        rig.left.transmit(&mut rig.pool, &mut out).unwrap();
        rig.right.receive(&mut rig.pool, &mut back).unwrap();
        let taken = rig.right.clock.now();
        while back.is_empty() {
            rig.right.receive(&mut rig.pool, &mut back).unwrap();
        }
        let (stamp, now) = (back[0].stamp, rig.right.clock.now());
        assert!(stamp >= before + 300_000 && stamp <= taken + 300_000 && now >= stamp);
    }
}
