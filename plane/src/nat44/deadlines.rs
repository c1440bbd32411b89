//! When entries of the session table may be due: the earliest tick of each 64 successive entries,
//! and of each 64 of such groups. A worker finds the due entries within a tick, a few looks at a time.
//! A noted tick may be too early, never too late.

use arena::{ArenaError, Array};

const GROUP: u64 = 64;
const TOP: u64 = 64 * GROUP;
const NEVER: u32 = u32::MAX;

pub(super) struct Deadlines {
    groups: Array<u32>,
    tops: Array<u32>,
    /// The next entry of this pass, and the tick in which the pass began.
    at: u64,
    pass: u32,
}

impl Deadlines {
    pub(super) fn new(entries: u64) -> Result<Deadlines, ArenaError> {
        let of = |size: u64| Array::filled("when sessions are due", entries.div_ceil(size) as usize, NEVER);
        Ok(Deadlines { groups: of(GROUP)?, tops: of(TOP)?, at: u64::MAX, pass: NEVER })
    }

    pub(super) fn bytes_for(entries: u64) -> u64 {
        4 * (entries.div_ceil(GROUP) + entries.div_ceil(TOP))
    }

    /// Notes that the entry may be due at this tick.
    #[inline]
    pub(super) fn note(&mut self, e: u32, due: u32) {
        let e = u64::from(e);
        let group = &mut self.groups[(e / GROUP) as usize];
        // Usually another entry of the group is due earlier.
        if due < *group {
            *group = due;
            let top = &mut self.tops[(e / TOP) as usize];
            *top = due.min(*top);
        }
    }

    /// The next of `entries` entries that must be looked at and, if it is not due, noted again;
    /// `None` after a pass, or without looks `left`.
    #[inline]
    pub(super) fn next(&mut self, tick: u32, entries: u32, left: &mut u32) -> Option<u32> {
        while *left > 0 {
            if self.at >= entries.into() {
                if self.pass == tick || entries == 0 {
                    return None;
                }
                (self.pass, self.at) = (tick, 0);
            }
            *left -= 1;
            let e = self.at;
            if e.is_multiple_of(TOP) {
                let top = &mut self.tops[(e / TOP) as usize];
                if *top > tick {
                    self.at = e + TOP;
                    continue;
                }
                *top = NEVER;
            }
            if e.is_multiple_of(GROUP) {
                let group = &mut self.groups[(e / GROUP) as usize];
                if *group > tick {
                    let top = &mut self.tops[(e / TOP) as usize];
                    *top = (*group).min(*top);
                    self.at = e + GROUP;
                    continue;
                }
                *group = NEVER;
            }
            self.at = e + 1;
            return Some(e as u32);
        }
        None
    }

    /// Any entry may be due.
    pub(super) fn forget(&mut self) {
        self.groups.fill(0);
        self.tops.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at what may be due, and gives back what is; the rest is noted again.
    fn ended(d: &mut Deadlines, due: &mut [u32], tick: u32, most: u32) -> Vec<u32> {
        let (mut left, mut ended) = (most, Vec::new());
        while let Some(e) = d.next(tick, due.len() as u32, &mut left) {
            match due[e as usize] {
                NEVER => {}
                at if at <= tick => {
                    due[e as usize] = NEVER;
                    ended.push(e);
                }
                at => d.note(e, at),
            }
        }
        ended
    }

    #[test]
    fn few_looks_at_a_time_find_the_same_though_entries_come_meanwhile() {
        let n = 10_000u32;
        let mut d = Deadlines::new(n.into()).unwrap();
        let mut due = vec![NEVER; n as usize];
        let (mut come, mut gone) = (0, 0);
        for step in 0..60_000u32 {
            let (tick, e) = (1 + step / 100, step.wrapping_mul(7919) % n);
            if due[e as usize] == NEVER {
                due[e as usize] = tick + 20;
                d.note(e, tick + 20);
                come += 1;
            }
            let found = ended(&mut d, &mut due, tick, 60);
            gone += found.len();
            assert!(due.iter().all(|at| at.saturating_add(3) > tick), "late at {tick}");
        }
        assert!(come > 50_000 && come - gone < 3000, "{come}, {gone}");
    }

    #[test]
    fn entries_that_are_not_due_cost_one_look_for_4096() {
        let n = 1 << 20;
        let mut d = Deadlines::new(n).unwrap();
        (0..n as u32).for_each(|e| d.note(e, 1000));
        let mut left = 1 << 20;
        assert_eq!(d.next(7, n as u32, &mut left), None);
        assert_eq!((1 << 20) - left, 256);
        d.forget();
        assert_eq!(d.next(8, n as u32, &mut left), Some(0));
    }
}
