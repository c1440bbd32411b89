//! Rate checks: a search must find the rate of the device. They need the clock and a core each for
//! tester and device, so host noise can cause a wrong result.
//!
//! A wrong result is the tester's fault only if it is reproducible: natmeter repeats the trial that
//! contradicts the truth, at the same rate on the same device. A wrong tester contradicts the truth
//! again. Otherwise the host was the cause, and natmeter repeats the search.
//!
//! Frames that the device's full ingress queue refused do not contradict the truth if the tester
//! sent evenly: a busy host may have slowed the device down.

use super::kept::{KeptTrials, TrialKeeper};
use super::{NO_TIME, SMALLEST, TRIES, Tester};
use crate::rig::RigError;
use crate::rig::cores::Cores;
use crate::until::{TimeLimited, is_over};
use gateway::TruthConfig;
use method::judged::{Patience, TrialJudge};
use method::ratio::Ratio;
use method::search::{Precision, SearchResult, SearchSettings};
use method::validity::Criteria;
use method::{Direction, Rate, ResultKind, Spoiler, TrialError, TrialOutcome, TrialRecord, Trials, Verdict};
use procedure::establishment::MAX_CONN_EST_RATE;
use procedure::{Context, Keys, throughput};
use record::folder::SelfTestCheck;
use record::report::number::si;
use std::time::Instant;

/// Throughput of a known device.
pub(super) const CAPACITY: &str = "forwarding capacity";
pub(super) const SET_UP_RATE: &str = "connection set-up rate";

/// Precision of searches, as a share of the rate.
const PRECISION: Ratio = Ratio::from_ppm(5_000);
/// Beyond the bounds of the search: a first frame 0.1 ms late is 0.3 % of the 32 ms after which the
/// device is exact. A clock with an error of 1 % exceeds this tolerance and the precision together.
const SLACK: Ratio = Ratio::from_ppm(3_000);
/// Largest difference below the truth: tolerance and precision together.
const BELOW: Ratio = Ratio::from_ppm(8_000);
/// Decisions at the rate of a contradiction, to reproduce it.
const REPEATS: u32 = 4;
/// Contradictions that make a fault of the tester. With this number, two of three searches find a
/// tester that is wrong in every second valid trial.
const REPRODUCED: u32 = 2;

impl Tester<'_> {
    pub(super) fn capacity(&self, truth: Rate) -> SelfTestCheck {
        let config = TruthConfig { capacity: truth.0, ..TruthConfig::default() };
        let settings = self.settings(truth);
        self.comparison(CAPACITY, truth, "frames/s").make(
            || self.forwarding(config, SMALLEST, &Cores::assign(1, 1)).map_err(|e| tester(&e)),
            |mut trials| throughput::measure(&mut trials, &settings, None, &mut |_| {}),
        )
    }

    pub(super) fn set_up_rate(&self, truth: Rate) -> SelfTestCheck {
        let config = TruthConfig { set_up_rate: truth.0, ..TruthConfig::default() };
        let connections = self.depth.connections;
        let settings = SearchSettings { direction: Direction::Forward, ..self.settings(truth) };
        let keys = Keys::of_table(());
        let context = Context { connections, ..Context::new(&MAX_CONN_EST_RATE, &keys, &settings) };
        self.comparison(SET_UP_RATE, truth, "connections/s").make(
            || self.nat(config, connections, &Cores::assign(1, 1)).map_err(|e| tester(&e)),
            |mut trials| context.measure(&mut trials),
        )
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

    fn comparison<'a>(&'a self, name: &'a str, truth: Rate, unit: &'a str) -> Comparison<'a> {
        Comparison { truth, unit, end: self.end, kept: TrialKeeper::new(name, &self.trials) }
    }
}

fn tester(error: &RigError) -> TrialError {
    TrialError::Tester(error.to_string())
}

enum RateVerdict {
    Truth,
    /// Reproducible, shown by this trial.
    Fault(Box<TrialRecord>),
    /// The trial that contradicts the truth, if any, and whether the host disturbed a trial.
    Else {
        deciding: Option<Box<TrialRecord>>,
        disturbed: bool,
    },
}

struct Comparison<'a> {
    truth: Rate,
    unit: &'a str,
    end: Option<Instant>,
    kept: TrialKeeper<'a>,
}

impl Comparison<'_> {
    /// A few times at most. The check fails if a contradiction is reproducible, or if no search
    /// finds the truth although the host disturbed none and there was time for all.
    fn make<T: Trials>(
        &self,
        device: impl Fn() -> Result<T, TrialError>,
        search: impl Fn(&mut dyn Trials) -> Result<SearchResult, TrialError>,
    ) -> SelfTestCheck {
        let truth = si(self.truth.0 as f64, 4);
        let mut check = SelfTestCheck {
            name: self.kept.check.to_owned(),
            truth: format!("{truth}{} within {BELOW} below and {SLACK} above", self.unit),
            measured: NO_TIME.to_owned(),
            ..SelfTestCheck::default()
        };
        let (mut fault, mut open) = (false, false);
        for _ in 0..TRIES {
            match self.once(&device, &search, &mut check.measured) {
                Ok(RateVerdict::Truth) => check.passed = true,
                Ok(RateVerdict::Fault(trial)) => (fault, check.deciding) = (true, Some(trial)),
                Ok(RateVerdict::Else { deciding, disturbed }) => {
                    open |= disturbed;
                    check.deciding = deciding.or(check.deciding);
                }
                // Time limit or interrupt; the caller checks which.
                Err(TrialError::Interrupted) => open = true,
                // The counting checks have shown that the device returns frames.
                Err(TrialError::DutDead(error)) => (check.measured, open) = (error, true),
                Err(error) => (check.measured, fault) = (error.to_string(), true),
            }
            open |= is_over(self.end);
            if check.passed || fault || is_over(self.end) {
                break;
            }
        }
        check.inconclusive = !check.passed && !fault && open;
        if check.passed {
            check.deciding = None;
        }
        check
    }

    fn once<T: Trials>(
        &self,
        device: &impl Fn() -> Result<T, TrialError>,
        search: &impl Fn(&mut dyn Trials) -> Result<SearchResult, TrialError>,
        measured: &mut String,
    ) -> Result<RateVerdict, TrialError> {
        let (truth, before) = (self.truth, self.kept.count());
        let mut trials = KeptTrials { inner: TimeLimited { inner: device()?, end: self.end }, kept: &self.kept };
        let result = search(&mut trials)?;
        *measured = in_words(&result, self.unit);
        if is_right(&result, truth) {
            return Ok(RateVerdict::Truth);
        }
        let contradictions = self.kept.those(before, |trial| contradicts(trial, truth));
        for trial in &contradictions {
            if let Some(again) = self.reproduced(&mut trials, trial)? {
                return Ok(RateVerdict::Fault(Box::new(again)));
            }
        }
        // With the repeats.
        let slow = self.kept.those(before, |trial| device_was_slow(trial, truth));
        let disturbed = result.spoiled_by_host > 0 || !slow.is_empty();
        // The last contradiction decided the result.
        Ok(RateVerdict::Else { deciding: contradictions.into_iter().next_back().map(Box::new), disturbed })
    }

    /// The contradiction, if it is reproducible.
    fn reproduced(&self, trials: &mut impl Trials, trial: &TrialRecord) -> Result<Option<TrialRecord>, TrialError> {
        let (before, truth) = (self.kept.count(), self.truth);
        let mut judged = TrialJudge::new(trials, Criteria::default());
        let mut contradicted = 0;
        for repeat in 1..=REPEATS {
            // The last trial of a judgement decides.
            judged.decide(&trial.spec, Patience::Repeat)?;
            contradicted += u32::from(self.kept.last().is_some_and(|last| contradicts(&last, truth)));
            if contradicted >= REPRODUCED {
                return Ok(self.kept.those(before, |trial| contradicts(trial, truth)).pop());
            }
            if contradicted + REPEATS - repeat < REPRODUCED {
                break;
            }
        }
        Ok(None)
    }
}

fn contradicts(trial: &TrialRecord, truth: Rate) -> bool {
    let rate = trial.spec.rate;
    match &trial.verdict {
        Verdict::Pass => rate.0 > truth.0 + SLACK.of(truth).0,
        Verdict::Fail(_) => stopped_too_low(rate, truth) && !lost_only_refused_frames(&trial.outcome),
        Verdict::Invalid(reason) => reason.spoiler() == Spoiler::Tester && stopped_too_low(rate, truth),
    }
}

/// A trial failed only because the host slowed the device down.
fn device_was_slow(trial: &TrialRecord, truth: Rate) -> bool {
    matches!(trial.verdict, Verdict::Fail(_))
        && stopped_too_low(trial.spec.rate, truth)
        && lost_only_refused_frames(&trial.outcome)
}

/// No burst of the tester can have filled the queue that refused every lost frame.
fn lost_only_refused_frames(outcome: &TrialOutcome) -> bool {
    let legs = [&outcome.forward, &outcome.reverse];
    let queue = outcome.host.dut_queue.unwrap_or(0);
    legs.iter().any(|leg| leg.refused > 0)
        && legs.iter().all(|leg| leg.lost() == leg.refused && u64::from(leg.timing.worst_burst) < queue)
}

fn stopped_too_low(rate: Rate, truth: Rate) -> bool {
    rate.0 < truth.0 - SLACK.of(truth).0
}

fn is_right(result: &SearchResult, truth: Rate) -> bool {
    let (least, most) = (truth.0 - BELOW.of(truth).0, truth.0 + SLACK.of(truth).0);
    result.kind.has_rate() && (least..=most).contains(&result.rate.0)
}

fn in_words(result: &SearchResult, unit: &str) -> String {
    match result.kind {
        ResultKind::NothingMeasured => "nothing: every trial was invalid".to_owned(),
        ResultKind::Below => format!("below {}{unit}", si(result.error.0 as f64, 4)),
        _ => format!("{}{unit}", si(result.rate.0 as f64, 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::simulated::{SimulatedDut, Truth as Device};
    use method::{Nanos, TrialSpec};
    use std::cell::RefCell;

    const TRUTH: Rate = Rate(600_000);

    /// Runs the check on devices that `device` returns; its argument is the number of devices before.
    fn check<T: Trials>(device: impl Fn(u64) -> Result<T, TrialError>) -> SelfTestCheck {
        lasting(SearchSettings::default().duration, device)
    }

    /// The same with trials of this length.
    fn lasting<T: Trials>(duration: Nanos, device: impl Fn(u64) -> Result<T, TrialError>) -> SelfTestCheck {
        let (trials, made) = (RefCell::default(), std::cell::Cell::new(0));
        // Half of it is a rate below the truth.
        let precision = Precision::Relative(PRECISION);
        let settings = SearchSettings { hi: Rate(1_100_000), precision, duration, ..SearchSettings::default() };
        Comparison { truth: TRUTH, unit: "frames/s", end: None, kept: TrialKeeper::new("x", &trials) }.make(
            || device(made.replace(made.get() + 1)),
            |mut trials| throughput::measure(&mut trials, &settings, None, &mut |_| {}),
        )
    }

    #[test]
    fn a_host_is_too_busy_if_neither_rate_was_decided() {
        let check = |name: &str, inconclusive| SelfTestCheck {
            name: name.to_owned(),
            inconclusive,
            ..SelfTestCheck::default()
        };
        let too_busy = |capacity, set_up| {
            let checks = vec![check("delay", true), check(CAPACITY, capacity), check(SET_UP_RATE, set_up)];
            crate::selftest::is_host_too_busy(&record::folder::SelfTest { passed: true, checks })
        };
        assert!(too_busy(true, true));
        assert!(!too_busy(true, false) && !too_busy(false, true));
    }

    fn simulated(device: &Device) -> SelfTestCheck {
        check(|seed| Ok(SimulatedDut::new(device.clone(), seed)))
    }

    /// Returns (passed, inconclusive) for a tester that measures this capacity, on a host that disturbs `disturbed` trials of a
    /// million.
    fn verdict(capacity: u64, disturbed: u64) -> (bool, bool) {
        let host_stalls = Ratio::from_ppm(disturbed);
        let check = simulated(&Device { host_stalls, ..Device::new(Rate(capacity), Rate(capacity)) });
        assert_eq!(check.deciding.is_some(), !check.passed && !check.inconclusive);
        (check.passed, check.inconclusive)
    }

    /// An error of 1 %, as of a wrong clock, exceeds the precision of search and device.
    #[test]
    fn a_wrong_rate_is_a_fault_also_on_a_busy_host() {
        for disturbed in [0, 300_000] {
            assert_eq!(verdict(600_000, disturbed), (true, false));
            for off in [300_000, 570_000, 594_000, 606_000, 700_000] {
                assert_eq!(verdict(off, disturbed), (false, false), "{off}, {disturbed} ppm disturbed");
            }
        }
    }

    #[test]
    fn a_host_that_disturbs_everything_is_inconclusive() {
        assert_eq!(verdict(600_000, 1_000_000), (false, true));
    }

    /// A device of the truth; its outcomes at some rates below the truth are altered.
    struct AlteredDut<F> {
        device: SimulatedDut,
        from: Rate,
        alter: F,
    }

    impl<F: FnMut(&mut TrialOutcome)> Trials for AlteredDut<F> {
        fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
            let mut outcome = self.device.run(spec)?;
            if (self.from..TRUTH).contains(&spec.rate) {
                (self.alter)(&mut outcome);
            }
            Ok(outcome)
        }
    }

    fn altered<F: FnMut(&mut TrialOutcome)>(from: Rate, alter: F) -> AlteredDut<F> {
        AlteredDut { device: SimulatedDut::new(Device::new(TRUTH, TRUTH), 1), from, alter }
    }

    /// Host noise that no counter shows: the first trial loses a frame without a recorded cause.
    #[test]
    fn one_loss_that_is_not_reproducible_is_no_fault() {
        let loses_once = |mut lost: bool| {
            altered(Rate(0), move |outcome| outcome.forward.received -= u64::from(!std::mem::replace(&mut lost, true)))
        };
        let once = check(|made| Ok(loses_once(made > 0)));
        assert!(once.passed && once.deciding.is_none(), "{once:?}");
        let always = check(|_| Ok(loses_once(false)));
        assert_eq!(
            (always.passed, always.inconclusive),
            (false, false),
            "no search found the truth, and the host was quiet"
        );
    }

    /// A device that refuses frames below its rate. The tester is at fault if another number of frames is lost, or if its own burst
    /// fills the queue.
    #[test]
    fn a_device_that_the_host_slows_down_is_no_fault_of_the_tester() {
        let verdict = |(lost, burst): (u64, u32)| {
            let slow = || {
                altered(Rate(TRUTH.0 / 2), move |outcome| {
                    outcome.host.dut_queue = Some(512);
                    outcome.forward.refused = 50;
                    outcome.forward.received -= lost;
                    outcome.forward.timing.worst_burst = burst;
                })
            };
            let check = check(|_| Ok(slow()));
            (check.passed, check.inconclusive, check.deciding.is_some())
        };
        let fault = (false, false, true);
        assert_eq!([(50, 32), (51, 32), (49, 32), (50, 512)].map(verdict), [(false, true, false), fault, fault, fault]);
    }

    /// Returns how many of 100 testers are found that lose `ppm` of a million frames at random, in trials of the quick self-test.
    fn found(ppm: u64) -> usize {
        let device = Device { loss: Ratio::from_ppm(ppm), ..Device::new(TRUTH, TRUTH) };
        let check = |seed: u64| {
            let duration = super::super::QUICK.trial;
            lasting(duration, |search| Ok(SimulatedDut::new(device.clone(), seed * 100 + search)))
        };
        (0..100).map(check).filter(|check| !check.passed && !check.inconclusive).count()
    }

    /// A trial has at most 72,000 frames. If few trials of a tester are lossy, its contradictions are not reproducible; the counting
    /// checks find such a tester (METHODOLOGY.md has the shares).
    #[test]
    fn a_tester_that_loses_frames_in_most_trials_is_found() {
        let shares = [100, 10, 1, 0].map(found);
        assert!(shares[0] > 95 && shares[1] > 20 && shares[2] < 5 && shares[3] == 0, "{shares:?}");
    }

    #[test]
    fn a_dead_device_and_the_time_limit_are_inconclusive() {
        let verdict = |error: fn() -> TrialError| {
            let check = check(|_| Err::<SimulatedDut, _>(error()));
            (check.passed, check.inconclusive, check.measured)
        };
        let dead = verdict(|| TrialError::DutDead("it does not answer".to_owned()));
        assert_eq!(dead, (false, true, "it does not answer".to_owned()));
        assert_eq!(verdict(|| TrialError::Interrupted), (false, true, NO_TIME.to_owned()));
        assert!(!verdict(|| TrialError::Tester("a port broke".to_owned())).1, "that is the tester's fault");
    }
}
