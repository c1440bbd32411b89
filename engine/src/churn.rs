//! Order of connections in a trial with churn: held connections in turn, and evenly among them new
//! ones, each abandoned after its frames.

use crate::schedule::Departures;
use method::{Churn, Count, Rate};

/// Distance between the frames of one connection, in new connections.
const APART: u64 = 64;

/// Churn that all senders of a trial share.
#[derive(Clone, Copy, Debug)]
pub struct ChurnPlan {
    /// The new connections.
    pub churn: Churn,
    /// Frame rate on all connections.
    pub rate: Rate,
    /// Number of held connections; later indices are new connections.
    pub held: Count,
}

/// Order of one sender.
#[derive(Clone, Debug)]
pub struct ChurnOrder {
    new: u64,
    all: u64,
    rest: u64,
    held: u64,
    next_held: u64,
    /// Index of this sender, and of the next one.
    own: u64,
    next_new: u64,
    again: bool,
    /// Frames of a new connection, and the next one, of the connection that began `frame` × `apart` before.
    frames: u64,
    frame: u64,
    apart: u64,
    which: u64,
    of: u64,
}

impl ChurnOrder {
    /// Sender `which` of `of`.
    pub fn new(plan: &ChurnPlan, (which, of): (u64, u64)) -> ChurnOrder {
        let frames = plan.churn.frames.max(1);
        let own = Departures::share(plan.churn.different, which, of);
        ChurnOrder {
            new: if own == 0 { 0 } else { plan.churn.frame_rate().0.min(plan.rate.0) },
            all: plan.rate.0.max(1),
            rest: 0,
            held: plan.held.max(1),
            next_held: which % plan.held.max(1),
            own,
            next_new: 0,
            again: false,
            frames,
            frame: 0,
            apart: APART.min(own / frames),
            which,
            of,
        }
    }

    /// Fills the slice. Not inlined: trials without churn must not pay for it.
    #[inline(never)]
    pub fn fill(&mut self, out: &mut [u32]) {
        for index in out {
            self.rest += self.new;
            let is_new = self.rest >= self.all;
            self.rest -= if is_new { self.all } else { 0 };
            let new = if is_new { self.next_of_new() } else { None };
            *index = new.unwrap_or_else(|| self.next_of_held()) as u32;
        }
    }

    fn next_of_held(&mut self) -> u64 {
        let index = self.next_held;
        self.next_held += self.of;
        if self.next_held >= self.held {
            self.next_held %= self.held;
        }
        index
    }

    /// The next new connection's index, unless the connection would have begun before the trial.
    fn next_of_new(&mut self) -> Option<u64> {
        let before = self.frame * self.apart;
        let place = match self.next_new.checked_sub(before) {
            None if !self.again => None,
            None => Some(self.next_new + self.own - before),
            place => place,
        };
        self.frame += 1;
        if self.frame == self.frames {
            self.frame = 0;
            self.next_new += 1;
            if self.next_new == self.own {
                (self.next_new, self.again) = (0, true);
            }
        }
        place.map(|place| self.held + place * self.of + self.which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(arrivals: u64, frames: u64, different: u64, rate: u64) -> ChurnPlan {
        ChurnPlan { churn: Churn { arrivals: Rate(arrivals), frames, different }, rate: Rate(rate), held: 1_000 }
    }

    fn drawn(plan: &ChurnPlan, sender: (u64, u64), count: usize) -> Vec<u32> {
        let mut order = ChurnOrder::new(plan, sender);
        let mut all = vec![0; count];
        all.chunks_mut(32).for_each(|chunk| order.fill(chunk));
        all
    }

    #[test]
    fn held_connections_have_their_turn_and_new_ones_their_frames() {
        // Each second, 300 new connections of 2 frames, and 400 frames on held ones.
        let all = drawn(&plan(300, 2, 100_000, 1_000), (0, 1), 10_000);
        let held: Vec<u32> = all.iter().copied().filter(|&i| i < 1_000).collect();
        // Connections that would have begun before the trial leave their second frames to held ones.
        assert_eq!(held.len(), 4_000 + 64);
        assert!(held.iter().zip(0..).all(|(&index, k)| index == k % 1_000));
        for new in 1_000..1_000 + 3_000 - 64 {
            let at: Vec<usize> = (0..all.len()).filter(|&at| all[at] == new).collect();
            assert_eq!(at.len(), 2, "{new}");
            assert!((150..300).contains(&(at[1] - at[0])), "{at:?}");
        }
        assert!(all.iter().all(|&index| index < 4_000));
    }

    #[test]
    fn several_senders_share_all_connections() {
        let plan = plan(50, 1, 7, 100);
        let all: Vec<Vec<u32>> = (0..2).map(|which| drawn(&plan, (which, 2), 64)).collect();
        let new = |which: usize| {
            let mut new: Vec<u32> = all[which].iter().copied().filter(|&i| i >= 1_000).collect();
            assert_eq!(new.len(), 32);
            new.sort_unstable();
            new.dedup();
            new
        };
        assert_eq!((new(0), new(1)), (vec![1_000, 1_002, 1_004, 1_006], vec![1_001, 1_003, 1_005]));
        assert!(all[1].iter().all(|&i| i >= 1_000 || i % 2 == 1));
    }

    #[test]
    fn fewer_new_connections_than_frames_are_no_fault() {
        let few = drawn(&plan(10, 5, 2, 100), (0, 1), 100);
        assert!(few.iter().all(|&i| i < 1_002));
        assert!(drawn(&plan(10, 5, 1, 100), (1, 2), 100).iter().all(|&i| i < 1_000), "the other sender has it");
    }
}
