//! Checks of a rate: a search must find what the device can do. Its own file because rates need the clock and a core for
//! tester and device each: where the host disturbs them, and what was found is not far off, they are inconclusive.

use super::{NO_TIME, SMALLEST, TRIES, Tester};
use crate::folder::SelfTestCheck;
use crate::report::number::si;
use crate::rig::embedded::Cores;
use crate::run::{Until, is_over};
use gateway::TruthConfig;
use method::procedure::{Precision, SearchResult, SearchSettings, establishment, throughput};
use method::ratio::Ratio;
use method::validity::Criteria;
use method::{Direction, Rate, ResultKind, Spoiler, TrialError};
use std::time::Instant;

/// How close the search's own bounds are at its end, of the rate.
const PRECISION: Ratio = Ratio::from_ppm(5_000);
/// How far outside of them the truth may be: a first frame that comes 0.1 ms late shifts it by so much of the 32 ms after
/// which the device is exact. A clock that is wrong by a hundredth is farther off than this and the precision together.
const SLACK: Ratio = Ratio::from_ppm(3_000);
/// How far below the truth a search that found it may end: both together.
const BELOW: Ratio = Ratio::from_ppm(8_000);
/// What is farther off than this is a fault of the tester, however busy the host is.
const FAR: Ratio = Ratio::from_ppm(100_000);

impl Tester<'_> {
    /// A device of known capacity: the throughput must be that within the error.
    pub(super) fn capacity(&self, truth: Rate) -> SelfTestCheck {
        let config = TruthConfig { capacity: truth.0, ..TruthConfig::default() };
        near("forwarding capacity", truth, "frames/s", self.end, || {
            let rig = self
                .forwarding(config, SMALLEST, &Cores::assign(1, 1))
                .map_err(|e| TrialError::Tester(e.to_string()))?;
            let mut trials = Until { inner: rig, end: self.end };
            throughput::stateless(&mut trials, &self.settings(truth), &mut |_| {})
        })
    }

    /// A device of known set-up rate.
    pub(super) fn set_up_rate(&self, truth: Rate) -> SelfTestCheck {
        let config = TruthConfig { set_up_rate: truth.0, ..TruthConfig::default() };
        let connections = self.depth.connections;
        near("connection set-up rate", truth, "connections/s", self.end, || {
            let rig = self.nat(config, connections, &Cores::assign(1, 1));
            let mut trials = Until { inner: rig.map_err(|e| TrialError::Tester(e.to_string()))?, end: self.end };
            let phase1 = establishment::Phase1 { connections, buffered: 0, validate_at_most: None };
            let settings = SearchSettings { direction: Direction::Forward, ..self.settings(truth) };
            establishment::measure(&mut trials, &settings, phase1, &mut |_| {})
        })
    }

    fn settings(&self, truth: Rate) -> SearchSettings {
        SearchSettings {
            hi: Rate(truth.0 * 2),
            precision: Precision::Relative(PRECISION),
            criteria: Criteria::default(),
            duration: self.depth.trial,
            direction: Direction::Both,
            ..SearchSettings::default()
        }
    }
}

/// Search until the truth is found, a few times at most. It has failed if a search was far off, or if the host disturbed none
/// of them and there was time for all.
fn near(
    name: &str,
    truth: Rate,
    unit: &str,
    end: Option<Instant>,
    search: impl Fn() -> Result<SearchResult, TrialError>,
) -> SelfTestCheck {
    let mut check = SelfTestCheck {
        name: name.to_owned(),
        truth: format!("{}{unit} within {BELOW} below and {SLACK} above", si(truth.0 as f64, 4)),
        measured: NO_TIME.to_owned(),
        ..SelfTestCheck::default()
    };
    let (mut far, mut open) = (false, false);
    for _ in 0..TRIES {
        match search() {
            Ok(result) => {
                check.passed = is_right(&result, truth);
                check.measured = in_words(&result, unit);
                open |= result.spoiled_by_host > 0;
                far |= !check.passed && !may_be(&result, truth);
            }
            // Out of time, or interrupted, which whoever asked finds out himself.
            Err(TrialError::Interrupted) => open = true,
            // That frames come back at all is what the counting checks have shown.
            Err(TrialError::DutDead(error)) => (check.measured, open) = (error, true),
            Err(error) => (check.measured, far) = (error.to_string(), true),
        }
        open |= is_over(end);
        if check.passed || far || is_over(end) {
            break;
        }
    }
    check.inconclusive = !check.passed && !far && open;
    check
}

fn is_right(result: &SearchResult, truth: Rate) -> bool {
    let (least, most) = (truth.0 - BELOW.of(truth).0, truth.0 + SLACK.of(truth).0);
    result.kind.has_rate() && (least..=most).contains(&result.rate.0)
}

fn in_words(result: &SearchResult, unit: &str) -> String {
    match result.kind {
        ResultKind::NothingMeasured => "nothing: every trial was spoiled".to_owned(),
        ResultKind::Below => format!("below {}{unit}", si(result.error.0 as f64, 4)),
        _ => format!("{}{unit}", si(result.rate.0 as f64, 4)),
    }
}

/// Whether a search that did not find the truth may find it when it is repeated: a false verdict of a trial that the host
/// disturbed without a trace moves the result a little, and a search that the host ended says where the truth may be.
fn may_be(result: &SearchResult, truth: Rate) -> bool {
    let by_host =
        result.spoiled_by_host > 0 && result.tester_limit.is_some_and(|reason| reason.spoiler() == Spoiler::Host);
    let (rate, above, far) = (result.rate.0, result.rate.0 + result.error.0, FAR.of(truth).0);
    match result.kind {
        ResultKind::NothingMeasured => by_host,
        ResultKind::Below => by_host && above + far >= truth.0,
        ResultKind::HostLimit => result.spoiled_by_host > 0 && rate <= truth.0 + far,
        ResultKind::Between => by_host && rate <= truth.0 + far && above + far >= truth.0,
        ResultKind::Exact => rate.abs_diff(truth.0) <= far,
        ResultKind::AtUpperLimit | ResultKind::TesterLimit | ResultKind::NothingPassed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::simulated::{SimulatedDut, Truth as Device};

    const TRUTH: Rate = Rate(600_000);

    /// What the check says of a tester that finds a device of this capacity, on a host that spoils so many of a million trials.
    fn verdict(capacity: u64, spoiled: u64) -> (bool, bool) {
        let device = Device { host_stalls: Ratio::from_ppm(spoiled), ..Device::new(Rate(capacity), Rate(capacity)) };
        let check = near("x", TRUTH, "frames/s", None, || {
            let settings = SearchSettings { hi: Rate(1_200_000), ..SearchSettings::default() };
            throughput::stateless(&mut SimulatedDut::new(device.clone(), 1), &settings, &mut |_| {})
        });
        (check.passed, check.inconclusive)
    }

    #[test]
    fn a_rate_that_is_far_off_is_a_fault_also_on_a_busy_host() {
        assert_eq!(verdict(600_000, 300_000), (true, false));
        assert_eq!(verdict(570_000, 300_000), (false, true), "the host may have done this");
        assert_eq!(verdict(570_000, 0), (false, false), "nothing disturbed it");
        for off in [300_000, 700_000] {
            assert_eq!(verdict(off, 300_000), (false, false), "{off}");
        }
    }

    #[test]
    fn a_host_that_spoils_everything_leaves_it_open() {
        assert_eq!(verdict(600_000, 1_000_000), (false, true));
    }

    /// A hundredth, as a clock that is wrong by so much finds it, is more than the search's precision and the device's.
    #[test]
    fn a_rate_that_is_off_by_a_hundredth_is_a_fault() {
        for off in [594_000, 606_000] {
            assert_eq!(verdict(off, 0), (false, false), "{off}");
        }
    }

    #[test]
    fn a_device_that_does_not_answer_any_more_and_a_lack_of_time_leave_it_open() {
        let verdict = |error: fn() -> TrialError| {
            let check = near("x", TRUTH, "frames/s", None, || Err(error()));
            (check.passed, check.inconclusive, check.measured)
        };
        let dead = verdict(|| TrialError::DutDead("it does not answer".to_owned()));
        assert_eq!(dead, (false, true, "it does not answer".to_owned()));
        assert_eq!(verdict(|| TrialError::Interrupted), (false, true, NO_TIME.to_owned()));
        assert!(!verdict(|| TrialError::Tester("a port broke".to_owned())).1, "that is the tester's fault");
    }
}
