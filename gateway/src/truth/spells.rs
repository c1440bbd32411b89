//! Times of a trial in which the known-truth device loses frames: slow start, stall, and recovery from overload.

use super::{Bucket, TruthConfig};

/// A new trial begins after a pause, as for [`Bucket`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spells {
    began: u64,
    last: u64,
    overloaded: Option<u64>,
    slow: u64,
}

impl Spells {
    /// `now` is in nanoseconds, from 1 on; `overload` exceeds the capacity.
    pub(super) fn take(&mut self, now: u64, config: &TruthConfig, overload: bool) -> bool {
        if self.last == 0 || now - self.last >= Bucket::PAUSE {
            *self = Spells { began: now, ..Spells::default() };
        }
        self.last = now;
        if overload {
            self.overloaded = Some(now);
            return true;
        }
        let since = |then: u64| u128::from(now - then);
        let at = since(self.began);
        let recovers = self.overloaded.is_some_and(|then| since(then) < config.recovery.as_nanos());
        let from = config.stall_at.as_nanos();
        let stalls = (from..from + config.stall.as_nanos()).contains(&at);
        let starts = at < config.slow_start.as_nanos();
        self.slow += u64::from(starts);
        recovers || stalls || (starts && self.slow.is_multiple_of(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MILLI: u64 = 1_000_000;

    /// The frames that are lost of a trial with one frame each microsecond for 50 ms, the second of two; those before `overload`
    /// exceed the capacity.
    fn lost(config: TruthConfig, overload: u64) -> Vec<u64> {
        let mut spells = Spells::default();
        let mut trial =
            |start: u64| (0..50_000).filter(|&k| spells.take(start + k * 1_000, &config, k < overload)).collect();
        let _: Vec<u64> = trial(1);
        trial(100 * MILLI)
    }

    #[test]
    fn a_stall_loses_the_frames_of_its_time_in_every_trial() {
        let config = TruthConfig {
            stall_at: Duration::from_millis(20),
            stall: Duration::from_millis(3),
            ..TruthConfig::default()
        };
        assert_eq!(lost(config, 0), (20_000..23_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_slow_start_loses_every_second_frame_of_its_time() {
        let config = TruthConfig { slow_start: Duration::from_millis(4), ..TruthConfig::default() };
        assert_eq!(lost(config, 0), (0..4_000).filter(|k| k % 2 == 1).collect::<Vec<_>>());
    }

    /// From the last frame of the overload on, frames are lost for the time of recovery.
    #[test]
    fn an_overload_loses_the_frames_of_the_recovery_too() {
        let config = TruthConfig { recovery: Duration::from_millis(5), ..TruthConfig::default() };
        assert_eq!(lost(config, 10_000), (0..14_999).collect::<Vec<_>>());
        assert_eq!(lost(config, 0), Vec::<u64>::new());
    }
}
