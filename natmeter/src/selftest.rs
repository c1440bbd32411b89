//! The known-truth self-test: the complete tester measures devices with exactly injected faults and
//! limits, and must measure the injected values. The gateway's known-truth device shares no code
//! with judge, clock and counters.
//!
//! Counting checks run tester and device on one thread, so that a busy host cannot lose frames in
//! between: if every frame was sent, wrong counts are a fault. If the host prevents that, or
//! disturbs a rate, natmeter repeats the check a few times, and the check is then inconclusive, not
//! failed.

mod count;
mod faults;
mod kept;
mod procedures;
mod rate;

pub use faults::{faults, page, said};
pub(crate) use kept::in_words;

use crate::event::{Event, Listener};
use crate::rig::cores::Cores;
use crate::rig::embedded;
use crate::rig::{Rig, RigError, RunContext, mac};
use crate::until::is_over;
use engine::Settings;
use engine::calibrate::Latency;
use gateway::{EmbeddedConfig, EmbeddedGateway, Truth, TruthConfig};
use method::{Loop, Nanos, Rate, TrialOutcome, TrialRecord};
use plane::view::{self, BedAddresses};
use plane::{AnyFunction, Function, Hop, Router, Wrapper};
use port::link::{Steer, link};
use port::{Frame, Pool, PoolConfig, Port};
use record::folder::{SelfTest, SelfTestCheck};
use record::report::number::grouped;
use record::store::{Dir, SELF_TEST, SELF_TEST_TRIALS, StoreError};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wire::{AddrRange, FlowSpace, OuterRange, PortRange};

#[derive(Clone, Copy)]
struct Depth {
    frames: u64,
    /// One of so many frames has a wrong port.
    misroute_every: u64,
    rate: Rate,
    /// Length of a trial inside a search.
    trial: Nanos,
    connections: u64,
    /// Time limit, after which the remaining checks are inconclusive.
    at_most: Duration,
}

/// Depth before every run, in a few seconds. Counts are exact for any number of frames, and a trial
/// of a search is twice as long as the device needs to be exact.
const QUICK: Depth = Depth {
    frames: 100_000,
    misroute_every: 50_000,
    rate: Rate(1_000_000),
    trial: Nanos::from_millis(60),
    connections: 30_000,
    at_most: Duration::from_secs(12),
};

/// Finds one frame in a million on a wrong port.
const THOROUGH: Depth = Depth {
    frames: 3_000_000,
    misroute_every: 1_000_000,
    rate: Rate(2_000_000),
    trial: Nanos::from_millis(150),
    connections: 100_000,
    at_most: Duration::from_secs(300),
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfTestRecord {
    pub verdict: SelfTest,
    /// Trials of all checks that did not pass.
    pub trials: Vec<TrialRecord>,
}

impl From<SelfTest> for SelfTestRecord {
    fn from(verdict: SelfTest) -> SelfTestRecord {
        SelfTestRecord { verdict, trials: Vec::new() }
    }
}

impl SelfTestRecord {
    /// Writes verdict and trials into a folder, and replaces those of an earlier self-test.
    pub fn keep(&self, folder: &Dir) -> Result<(), StoreError> {
        folder.write(SELF_TEST, &self.verdict)?;
        if self.trials.is_empty() && !folder.has(SELF_TEST_TRIALS) {
            return Ok(());
        }
        let serialized = |source| StoreError::Serialize { path: folder.path_of(SELF_TEST_TRIALS), source };
        let mut lines = String::new();
        for trial in &self.trials {
            lines += &serde_json::to_string(trial).map_err(serialized)?;
            lines.push('\n');
        }
        folder.replace(SELF_TEST_TRIALS, &lines)
    }
}

/// The self-test before every run. `None` if it was interrupted.
pub fn quick(process: &RunContext, listener: &mut dyn Listener) -> Option<SelfTestRecord> {
    Tester::new(process, QUICK).run(listener)
}

/// The self-test of `natmeter selftest`. `None` if it was interrupted.
pub(crate) fn thorough(process: &RunContext, listener: &mut dyn Listener) -> Option<SelfTestRecord> {
    Tester::new(process, THOROUGH).run(listener)
}

/// Whether the host was too busy for both rates, which are far below the tester ceiling.
pub(crate) fn is_host_too_busy(verdict: &SelfTest) -> bool {
    [rate::CAPACITY, rate::SET_UP_RATE].into_iter().all(|rate| verdict.named("inconclusive").contains(&rate))
}

/// Exact on any host if every frame was sent.
pub fn counting(process: &RunContext, frames: u64) -> Vec<SelfTestCheck> {
    let tester = Tester::new(process, Depth { frames, misroute_every: frames / 2, ..QUICK });
    let tester = Tester { end: None, ..tester };
    tester.cases().iter().map(|case| tester.count(case)).collect()
}

struct Tester<'a> {
    process: &'a RunContext,
    depth: Depth,
    /// No check begins after this.
    end: Option<Instant>,
    /// Tests of the self-test falsify the outcome, which must make it fail.
    says: fn(TrialOutcome) -> TrialOutcome,
    /// Trials of the current check and of checks that did not pass.
    trials: RefCell<Vec<TrialRecord>>,
}

/// Tries before a check is inconclusive: counting trials, searches, or delay measurements.
const TRIES: u32 = 5;
/// Evidence after the time limit.
const NO_TIME: &str = "nothing: no time was left";

impl<'a> Tester<'a> {
    fn new(process: &'a RunContext, depth: Depth) -> Tester<'a> {
        let end = Instant::now().checked_add(depth.at_most);
        Tester { process, depth, end, says: |outcome| outcome, trials: RefCell::default() }
    }

    fn run(&self, listener: &mut dyn Listener) -> Option<SelfTestRecord> {
        let cases = self.cases();
        let mut all: Vec<Box<dyn Fn() -> SelfTestCheck + '_>> = Vec::new();
        all.extend(procedures::checks().map(|check| check as Box<dyn Fn() -> SelfTestCheck>));
        all.extend(cases.iter().map(|case| Box::new(|| self.count(case)) as Box<dyn Fn() -> SelfTestCheck>));
        all.push(Box::new(|| self.delay()));
        all.push(Box::new(|| self.capacity(Rate(600_000))));
        all.push(Box::new(|| self.set_up_rate(Rate(300_000))));
        let of = all.len();
        let mut checks = Vec::with_capacity(of);
        for (check, number) in all.iter().zip(1..) {
            let check = self.made(check);
            if self.is_interrupted() {
                break;
            }
            listener.on(&Event::SelfTesting { number, of, check: check.clone() });
            checks.push(check);
        }
        // Last, because an interrupt may have ended the last trial.
        (!self.is_interrupted()).then(|| SelfTestRecord {
            verdict: SelfTest { passed: checks.iter().all(|c| c.passed || c.inconclusive), checks },
            trials: self.trials.take(),
        })
    }

    /// Drops its trials if it passes.
    fn made(&self, check: &dyn Fn() -> SelfTestCheck) -> SelfTestCheck {
        let before = self.trials.borrow().len();
        let check = check();
        if check.passed {
            self.trials.borrow_mut().truncate(before);
        }
        check
    }

    fn is_interrupted(&self) -> bool {
        self.process.interrupted.load(Ordering::Relaxed)
    }

    /// The latency of the calibration must grow by the device's delay. The device uses the system's
    /// clock, the tester its own; a wrong clock has the same error each time.
    fn delay(&self) -> SelfTestCheck {
        let truth = format!("floor + {} ns within {} ns", grouped(DELAY.as_nanos() as u64), grouped(DELAY_ERROR));
        let mut check = SelfTestCheck { name: "delay".to_owned(), truth, ..SelfTestCheck::default() };
        let right = |grown: u64| grown.abs_diff(DELAY.as_nanos() as u64) <= DELAY_ERROR;
        let mut fastest = Vec::new();
        for _ in 0..TRIES {
            if is_over(self.end) {
                check.inconclusive = fastest.len() < 2;
                break;
            }
            match self.latency(Duration::ZERO).and_then(|floor| Ok((floor, self.latency(DELAY)?))) {
                Ok((floor, delayed)) => {
                    let grown = delayed.median.saturating_sub(floor.median);
                    check.measured = format!("{} + {} ns", grouped(floor.median), grouped(grown));
                    check.passed = right(grown);
                    fastest.push(delayed.least.saturating_sub(floor.least));
                }
                Err(error) => check.measured = error,
            }
            if check.passed {
                break;
            }
        }
        if check.measured.is_empty() {
            NO_TIME.clone_into(&mut check.measured);
        }
        // Host noise delays some frames; a wrong clock delays all of them.
        let by_host = fastest.iter().any(|&grown| right(grown)) || differ(&fastest);
        check.inconclusive = !check.passed && (check.inconclusive || by_host);
        check
    }

    /// Measures with a device that this thread polls.
    fn latency(&self, delay: Duration) -> Result<Latency, String> {
        let clock = self.process.clock;
        let view = view::forwarding(&bed(40_000 * 100, SMALLEST).map_err(|e| e.to_string())?);
        let mut pools = Pool::for_workers(PoolConfig::compact(2, 64, view.left.len())).map_err(|e| e.to_string())?;
        let (own, pools) = (pools.remove(0), pools);
        let end = |name| link(name, clock, 8, (1, Steer::First), (1, Steer::First));
        let ((mut left, mut customer), (mut right, mut internet)) = (end("left"), end("right"));
        let ports: (Box<dyn Port>, Box<dyn Port>) = (Box::new(customer.remove(0)), Box::new(internet.remove(0)));
        let config = EmbeddedConfig::in_process(vec![ports], pools, vec![None]);
        let function = in_truth(TruthConfig { delay, ..TruthConfig::default() }, Router::new(hop(1), hop(2)));
        let (_running, mut rounds) = EmbeddedGateway::polled(clock, config, vec![function]);
        let (mut own, mut work) = (own, || rounds.iter_mut().for_each(|round| round()));
        engine::calibrate::latency(clock, &view, (&mut left[0], &mut right[0]), &mut own, &mut work)
            .map_err(|e| e.to_string())
    }

    fn forwarding(&self, truth: TruthConfig, frame_size: usize, cores: &Cores) -> Result<Rig, RigError> {
        let bed = bed(40_000 * 100, frame_size)?;
        let function = in_truth(truth, Router::new(hop(1), hop(2)));
        embedded::assemble(Arc::new(view::forwarding(&bed)), vec![function], 512, times(), cores, self.process)
    }

    fn nat(&self, truth: TruthConfig, connections: u64, cores: &Cores) -> Result<Rig, RigError> {
        let bed = bed(connections, SMALLEST)?;
        let outer =
            OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1024, last: 65535 } };
        let nat = embedded::plain_nat44(&outer, connections)?;
        let view = Arc::new(view::nat44(&bed, outer));
        embedded::assemble(view, vec![in_truth(truth, nat)], 512, times(), cores, self.process)
    }
}

fn in_truth(truth: TruthConfig, function: impl Function + 'static) -> AnyFunction<Frame> {
    Truth::new(truth).around(Box::new(function))
}

const DELAY: Duration = Duration::from_micros(400);
/// Error of the median delay, nanoseconds: half of the error of a clock that is wrong by 1 %.
const DELAY_ERROR: u64 = 2_000;

/// Whether times differ by more than the tolerance, as with host noise.
fn differ(times: &[u64]) -> bool {
    let (least, most) = (times.iter().min(), times.iter().max());
    least.zip(most).is_some_and(|(least, most)| most - least > DELAY_ERROR)
}

/// The payload is the tag only.
const SMALLEST: usize = 64;
/// Frame size with payload beyond the tag.
const LARGER: usize = 128;

fn bed(connections: u64, frame_size: usize) -> Result<BedAddresses, RigError> {
    Ok(BedAddresses {
        left: Hop { own: mac(1, 2), next: mac(1, 1) },
        right: Hop { own: mac(2, 2), next: mac(2, 1) },
        frame_size,
        ttl: 10,
        flows: FlowSpace::new(
            AddrRange::one([198, 18, 0, 2].into()),
            PortRange { first: 1024, last: 41_023 },
            AddrRange::one([198, 19, 0, 2].into()),
            PortRange { first: 1, last: 100 },
        )?,
        connections,
        seed: 1,
    })
}

fn hop(side: u8) -> Hop {
    Hop { own: mac(side, 1), next: mac(side, 2) }
}

fn times() -> Settings {
    Settings {
        start_delay: Nanos::from_millis(3),
        drain: Nanos::from_millis(20),
        settle: Nanos(0),
        phase1_drain: Nanos::from_millis(20),
        seed: 1,
        dut_loop: Loop::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Host noise also makes a delay longer, but must not excuse this clock.
    #[test]
    fn a_clock_that_is_wrong_by_a_hundredth_is_found() {
        let right = RunContext::new();
        let process = RunContext { clock: right.clock.gone_fast(10_000), ..right };
        let check = Tester { end: None, ..Tester::new(&process, QUICK) }.delay();
        assert!(!check.passed, "{check:?}");
    }

    #[test]
    fn delays_that_differ_between_measurements_are_inconclusive() {
        assert!(!differ(&[]) && !differ(&[404_000]) && !differ(&[404_000, 404_300, 405_000]));
        assert!(differ(&[404_000, 407_000]));
    }

    #[test]
    fn the_trials_of_a_check_that_does_not_pass_are_kept() {
        let process = RunContext::new();
        let wrong = |mut outcome: TrialOutcome| {
            outcome.reverse.received = outcome.reverse.received.min(100);
            outcome
        };
        let depth = Depth { frames: 2_000, misroute_every: 1_000, ..QUICK };
        let tester = Tester { end: None, says: wrong, ..Tester::new(&process, depth) };
        let cases = tester.cases();
        let check = tester.made(&|| tester.count(&cases[0]));
        let trials = tester.trials.take();
        assert_eq!(check.deciding.as_deref(), trials.last());
        assert!(!trials.is_empty() && !check.passed);
        let right = Tester { end: None, ..Tester::new(&process, depth) };
        assert!(right.made(&|| SelfTestCheck { passed: true, ..right.count(&cases[0]) }).passed);
        assert!(right.trials.take().is_empty());

        let folder = tempfile::tempdir().unwrap();
        let tested = SelfTestRecord { trials, ..SelfTest { passed: false, checks: vec![check] }.into() };
        let folder = Dir::open(folder.path()).unwrap();
        tested.keep(&folder).unwrap();
        let verdict: Option<SelfTest> = folder.document(SELF_TEST).unwrap();
        assert_eq!(verdict.as_ref(), Some(&tested.verdict));
        let kept = folder.lines::<TrialRecord>(SELF_TEST_TRIALS).unwrap();
        assert_eq!(kept.values, tested.trials);
        // A later self-test that passes removes them.
        SelfTestRecord::default().keep(&folder).unwrap();
        assert!(folder.lines::<TrialRecord>(SELF_TEST_TRIALS).unwrap().values.is_empty());
    }

    #[derive(Default)]
    struct Heard(Vec<(usize, usize, SelfTestCheck)>);

    impl Listener for Heard {
        fn on(&mut self, event: &Event) {
            if let Event::SelfTesting { number, of, check } = event {
                self.0.push((*number, *of, check.clone()));
            }
        }
    }

    /// Each check is reported at its end, also after the time limit.
    #[test]
    fn checks_after_the_time_limit_are_inconclusive() {
        let (process, mut heard) = (RunContext::new(), Heard::default());
        let tester = Tester::new(&process, Depth { at_most: Duration::ZERO, ..QUICK });
        let SelfTestRecord { verdict, trials } = tester.run(&mut heard).expect("it was not interrupted");
        assert!(trials.is_empty(), "no trial was made");
        assert!(verdict.passed);
        assert_eq!(verdict.checks.len(), heard.0.len());
        for ((number, of, told), (check, expected)) in heard.0.iter().zip(verdict.checks.iter().zip(1..)) {
            assert_eq!((*number, *of, told), (expected, verdict.checks.len(), check));
            if expected <= procedures::checks().count() {
                assert!(check.passed, "simulated devices need no time: {check:?}");
                continue;
            }
            assert_eq!((check.verdict(), check.measured.as_str()), ("inconclusive", NO_TIME), "{}", check.name);
        }
    }
}
