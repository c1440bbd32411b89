//! Delays of a trial from time stamps: exact percentiles, differences, and the histogram in records.

use super::observed::{Delays, Differences};
use crate::units::{Count, Nanos};

/// The delay of a frame that was not received right.
pub const LOST: u64 = u64::MAX;

/// The percentile of the largest delays, in thousandths (RFC 8219, sections 7.2 and 7.3.1).
const WORST_PER_MILLE: u64 = 999;

const BUCKETS: u64 = 32;

/// Delays of one direction, in nanoseconds.
#[derive(Debug)]
pub struct Sample<'a> {
    /// Delays by sequence number, or [`LOST`]; [`Sample::observe`] sorts them in part.
    pub delays: &'a mut [u64],
    /// One word per frame, for differences of successive delays.
    pub room: Option<&'a mut [u64]>,
    /// Delay of a lost frame, no smaller than any other.
    pub penalty: Nanos,
    /// Larger delays are late, if limited.
    pub timeout: Option<Nanos>,
    pub source: &'a str,
}

impl Sample<'_> {
    pub fn observe(self) -> Delays {
        let Sample { delays, room, penalty, timeout, source } = self;
        let late = timeout.map_or(u64::MAX, |most| most.0);
        let mut found = Delays {
            frames: delays.len() as Count,
            penalty,
            min: Nanos(u64::MAX),
            source: source.to_owned(),
            ..Delays::default()
        };
        let mut drawn = DelayHistogram::default();
        for &delay in &*delays {
            if delay == LOST {
                found.lost += 1;
                continue;
            }
            found.late += Count::from(delay > late);
            found.min = found.min.min(Nanos(delay));
            found.max = found.max.max(Nanos(delay));
            drawn.add(delay);
        }
        if found.lost == found.frames {
            found.min = Nanos(0);
        }
        found.histogram = drawn.buckets();
        found.differences = room.and_then(|room| differences(delays, room));
        let mut value = |at: u64| match delays.get(at as usize) {
            Some(_) => match *delays.select_nth_unstable(at as usize).1 {
                LOST => penalty,
                delay => Nanos(delay),
            },
            None => Nanos(0),
        };
        found.median = value(middle(found.frames));
        found.p99_9 = value(worst(found.frames));
        found
    }
}

/// The lower of two.
fn middle(n: Count) -> u64 {
    n.saturating_sub(1) / 2
}

/// ceil(0.999 n) − 1, in integers.
fn worst(n: Count) -> u64 {
    (WORST_PER_MILLE * n).div_ceil(1_000).saturating_sub(1)
}

/// `room` holds them unsigned, in order.
fn differences(delays: &[u64], room: &mut [u64]) -> Option<Differences> {
    const SIGN: u64 = 1 << 63;
    let mut count = 0;
    for pair in delays.windows(2) {
        if pair[0] != LOST && pair[1] != LOST {
            room[count] = pair[1].wrapping_sub(pair[0]) ^ SIGN;
            count += 1;
        }
    }
    let all = &mut room[..count];
    let signed = |value: u64| (value ^ SIGN).cast_signed();
    let (min, max) = (all.iter().min().copied()?, all.iter().max().copied()?);
    let median = *all.select_nth_unstable(middle(count as Count) as usize).1;
    Some(Differences { min: signed(min), median: signed(median), max: signed(max) })
}

/// A histogram with buckets of at most 1/32 of their upper end.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram(Vec<Count>);

impl DelayHistogram {
    pub fn add(&mut self, value: u64) {
        let shift = shift_of(value);
        let at = (shift * BUCKETS + (value >> shift)) as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] += 1;
    }

    /// Returns upper end and count of each bucket that is not empty.
    pub fn buckets(&self) -> Vec<(u64, Count)> {
        let filled = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(at, &count)| (upper_end(at as u64), count)).collect()
    }
}

/// Low bits of a value that its bucket ignores.
fn shift_of(value: u64) -> u64 {
    u64::from((u64::BITS - value.leading_zeros()).saturating_sub(BUCKETS.ilog2() + 1))
}

fn upper_end(at: u64) -> u64 {
    let shift = (at / BUCKETS).saturating_sub(1);
    let first = at - shift * BUCKETS;
    (first << shift) + ((1u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delays: &[u64], timeout: Option<u64>) -> Delays {
        let mut delays = delays.to_vec();
        let mut room = vec![0; delays.len()];
        let (penalty, timeout) = (Nanos(1_000_000), timeout.map(Nanos));
        Sample { delays: &mut delays, room: Some(&mut room), penalty, timeout, source: "tester" }.observe()
    }

    /// As in published scripts: the largest of 500, the second largest of 1,000.
    #[test]
    fn percentiles_are_whole_indices() {
        assert_eq!([1, 2, 500, 1_000, 1_001, 50_000].map(worst), [0, 1, 499, 998, 999, 49_949]);
        assert_eq!([0, 1, 2, 3, 4].map(middle), [0, 0, 0, 1, 1]);
        let found = of(&(1..=1_000).rev().collect::<Vec<_>>(), None);
        assert_eq!((found.min.0, found.median.0, found.p99_9.0, found.max.0), (1, 500, 999, 1_000));
    }

    #[test]
    fn a_lost_frame_has_the_penalty_and_no_difference() {
        let found = of(&[10, 30, LOST, 20, 25], None);
        assert_eq!((found.frames, found.lost, found.p99_9, found.max), (5, 1, Nanos(1_000_000), Nanos(30)));
        assert_eq!(found.differences, Some(Differences { min: 5, median: 5, max: 20 }));
        assert_eq!(of(&[30, 10, 25, 24], None).differences, Some(Differences { min: -20, median: -1, max: 15 }));
        let dark = of(&[LOST, LOST], None);
        assert_eq!((dark.lost, dark.min, dark.median, dark.differences), (2, Nanos(0), Nanos(1_000_000), None));
        assert_eq!(
            of(&[], None),
            Delays { penalty: Nanos(1_000_000), source: "tester".to_owned(), ..Delays::default() }
        );
    }

    #[test]
    fn frames_after_the_time_out_are_late() {
        assert_eq!(of(&[10, 21, LOST, 20], Some(20)).late, 1);
    }

    #[test]
    fn buckets_are_narrow_and_hold_what_they_should() {
        for value in (0..10_000).chain((0..64).map(|bit| 1u64 << bit)).chain([u64::MAX]) {
            let mut drawn = DelayHistogram::default();
            drawn.add(value);
            let [(end, 1)] = drawn.buckets()[..] else { panic!("one value, one bucket") };
            assert!(end >= value && end - value <= end / BUCKETS, "{value} in the bucket up to {end}");
        }
    }
}
