//! Ends the sending of a phase early, once its loss is certainly too large. About once a
//! millisecond, each lane adds its counts to shared counters.

use method::trial::EarlyEnd;
use method::{Count, Direction, Rate};
use port::Ticks;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time between two comparisons, in nanoseconds.
pub const INTERVAL: u64 = 1_000_000;

#[derive(Debug, Default)]
struct DirectionCounts {
    sent: AtomicU64,
    received: AtomicU64,
    /// Missing frames that are allowed in an active direction.
    missing_at_most: Option<Count>,
}

/// Early end of a phase, shared by all lanes.
#[derive(Debug)]
pub struct Early {
    ways: [DirectionCounts; 2],
    interval: Ticks,
    /// When the phase ended early; 0: not yet.
    ended_at: AtomicU64,
}

/// Frames sent and received by one lane, forward and reverse.
pub type Counts = [(Count, Count); 2];

/// One lane's part.
#[derive(Debug)]
pub struct Watch {
    /// When the next comparison is due, if any.
    pub next: Ticks,
    told: Counts,
}

impl Early {
    /// Counters of a phase.
    pub fn new(option: EarlyEnd, direction: Direction, rate: Rate, frames: Count, interval: Ticks) -> Early {
        let way = |forward: bool| {
            let planned = direction.frames(forward, frames);
            let active = if forward { direction.forward() } else { direction.reverse() };
            let most = active.then(|| option.missing_at_most(planned, direction.pace(forward, rate)));
            DirectionCounts { missing_at_most: most, ..DirectionCounts::default() }
        };
        Early { ways: [way(true), way(false)], interval, ended_at: AtomicU64::new(0) }
    }

    /// When the phase ended; `None` if not early.
    pub fn ended_at(&self) -> Option<Ticks> {
        Some(self.ended_at.load(Ordering::Relaxed)).filter(|&at| at != 0)
    }

    /// Returns whether the phase has ended.
    fn compare(&self, watch: &mut Watch, counts: Counts, now: Ticks) -> bool {
        watch.next = now + self.interval;
        for ((way, told), count) in self.ways.iter().zip(&mut watch.told).zip(counts) {
            let received = way.received.fetch_add(count.1 - told.1, Ordering::Relaxed) + count.1 - told.1;
            let sent = way.sent.fetch_add(count.0 - told.0, Ordering::Relaxed) + count.0 - told.0;
            *told = count;
            if way.missing_at_most.is_some_and(|most| EarlyEnd::is_lost(sent, received, most)) {
                // The first lane that sees it sets the time.
                let _ = self.ended_at.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
        self.ended_at().is_some()
    }
}

impl Watch {
    /// Part of a lane that begins at `start`.
    pub fn new(early: Option<&Early>, start: Ticks) -> Watch {
        Watch { next: early.map_or(Ticks::MAX, |early| start.saturating_add(early.interval)), told: Counts::default() }
    }

    /// Whether the phase has ended. Not inlined: phases without the option must not pay for it.
    #[inline(never)]
    pub fn ends(&mut self, early: Option<&Early>, counts: Counts, now: Ticks) -> bool {
        early.is_some_and(|early| early.compare(self, counts, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::Ratio;

    fn early(direction: Direction) -> Early {
        let option = EarlyEnd { acceptance: Ratio::ONE };
        Early::new(option, direction, Rate(1_000_000), 60_000_000, 10)
    }

    /// 100 ms of frames and 2 % of those sent may be missing.
    #[test]
    fn lanes_add_up() {
        let early = early(Direction::Both);
        let mut lanes = [Watch::new(Some(&early), 5), Watch::new(Some(&early), 5)];
        assert_eq!(lanes[0].next, 15);
        // What one lane sends, the other one receives.
        let all_arrived = [[(50_000, 0), (0, 50_000)], [(0, 50_000), (50_000, 0)]];
        for (lane, counts) in lanes.iter_mut().zip(all_arrived) {
            lane.ends(Some(&early), counts, 20);
        }
        assert_eq!((early.ended_at(), lanes[0].next), (None, 30));
        // 119,000 of 1,000,000 frames are missing in reverse, then 121,000.
        assert!(!lanes[0].ends(Some(&early), [(50_000, 0), (0, 881_000)], 30));
        assert!(!lanes[1].ends(Some(&early), [(0, 50_000), (1_000_000, 0)], 31));
        assert!(lanes[1].ends(Some(&early), [(0, 50_000), (1_002_100, 0)], 40));
        assert_eq!(early.ended_at(), Some(40));
        assert!(lanes[0].ends(Some(&early), [(50_000, 0), (0, 900_000)], 50));
        assert_eq!(early.ended_at(), Some(40));
    }

    #[test]
    fn without_the_option_no_lane_compares() {
        assert_eq!(Watch::new(None, 5).next, Ticks::MAX);
        assert!(!Watch::new(None, 5).ends(None, [(1_000_000, 0); 2], 7));
    }
}
