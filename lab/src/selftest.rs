//! The known-truth self-test: devices with exactly injected faults and limits are measured by the whole
//! instrument, and the measured value must be the injected one. The truth is made by the gateway's
//! known-truth device, which shares no code with judge, clock and counters; so a mistake there turns this red.
//!
//! Counting checks run tester and device on one thread, so that a busy host cannot lose a frame in between.
//! Rates need the clock and a core for each; where the host disturbs them, and what was found is not far off, they are
//! inconclusive, not failed.

use crate::folder::{SelfTest, SelfTestCheck};
use crate::report::number::{grouped, si};
use crate::rig::embedded::{self, Cores};
use crate::rig::{Process, Rig, RigError, mac};
use engine::Settings;
use gateway::{Embedded, EmbeddedConfig, Truth, TruthConfig};
use method::procedure::{Precision, SearchResult, SearchSettings, establishment, throughput};
use method::ratio::Ratio;
use method::validity::Criteria;
use method::{
    Direction, Fault, Load, Loop, Nanos, Order, PhaseKind, Rate, ResultKind, Spoiler, TrialOutcome, TrialSpec, Trials,
};
use plane::view::{self, Bed};
use plane::{Hop, Router, Side};
use port::link::{Steer, link};
use port::{Pool, PoolConfig, Port};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use wire::{AddrRange, FlowSpace, OuterRange, PortRange};

/// How much a self-test does.
#[derive(Clone, Copy)]
struct Depth {
    /// Frames of a counting trial.
    frames: u64,
    /// One frame in so many is sent to a wrong port.
    misroute_every: u64,
    /// Rate of counting trials.
    rate: Rate,
    /// Length of a trial inside a search.
    trial: Nanos,
}

/// A few seconds, before every run. None when it was interrupted: what was cut short says nothing about the tester.
pub fn quick(process: &Process) -> Option<SelfTest> {
    run(
        process,
        Depth { frames: 200_000, misroute_every: 100_000, rate: Rate(1_000_000), trial: Nanos::from_millis(60) },
    )
}

/// `natmeter selftest`: finds one frame in a million on a wrong port. None when it was interrupted.
pub fn thorough(process: &Process) -> Option<SelfTest> {
    run(
        process,
        Depth { frames: 3_000_000, misroute_every: 1_000_000, rate: Rate(2_000_000), trial: Nanos::from_millis(150) },
    )
}

/// Only the checks that count frames: exact on any host, however busy.
pub fn counting(process: &Process, frames: u64) -> Vec<SelfTestCheck> {
    let depth = Depth { frames, misroute_every: frames / 2, rate: Rate(1_000_000), trial: Nanos(0) };
    Tester { process, depth }.counting()
}

fn run(process: &Process, depth: Depth) -> Option<SelfTest> {
    let t = Tester { process, depth };
    let mut checks = t.counting();
    checks.push(t.delay());
    checks.push(t.capacity(Rate(600_000)));
    checks.push(t.set_up_rate(Rate(300_000)));
    // Looked at last: an interrupted trial is one more check that has no result.
    let interrupted = process.interrupted.load(Ordering::Relaxed);
    (!interrupted).then(|| SelfTest { passed: checks.iter().all(|c| c.passed || c.inconclusive), checks })
}

struct Tester<'a> {
    process: &'a Process,
    depth: Depth,
}

const ERROR: Ratio = Ratio::from_ppm(20_000);
/// What is farther off than this is a fault of the tester, however busy the host is.
const FAR: Ratio = Ratio::from_ppm(100_000);

impl Tester<'_> {
    fn counting(&self) -> Vec<SelfTestCheck> {
        let (n, every) = (self.depth.frames, self.depth.misroute_every);
        let loses = |only, every| TruthConfig { lose_every: every, only: Some(only), ..TruthConfig::default() };
        let misroutes = |only| TruthConfig { misroute_every: every, only: Some(only), ..TruthConfig::default() };
        // Fewer copies than the link's queue holds: a slow machine is behind all the time, and then each of them waits there.
        let twice_every = (n / 100).max(1);
        let doubles = TruthConfig { duplicate_every: twice_every, ..TruthConfig::default() };
        let wrong = n / every;
        vec![
            self.counts("nothing injected", TruthConfig::default(), [n, n], Fault::Duplicate, [0, 0]),
            self.counts("loss, forward", loses(Side::Customer, 1000), [n - n / 1000, n], Fault::Duplicate, [0, 0]),
            self.counts("loss, reverse", loses(Side::Internet, 777), [n, n - n / 777], Fault::Duplicate, [0, 0]),
            // Frames of both sides are counted together: only the sum is exact.
            self.duplicates("duplicates", doubles, 2 * n / twice_every),
            self.overtaken("frames overtaken, reverse", Side::Internet, 777),
            self.counts("wrong port, forward", misroutes(Side::Customer), [n - wrong, n], Fault::WrongPort, [wrong, 0]),
            self.counts("wrong port, reverse", misroutes(Side::Internet), [n, n - wrong], Fault::WrongPort, [0, wrong]),
        ]
    }

    /// One trial in both directions must give exactly these numbers of right frames and of frames with this fault.
    fn counts(&self, name: &str, truth: TruthConfig, right: [u64; 2], fault: Fault, wrong: [u64; 2]) -> SelfTestCheck {
        let say = |right: [u64; 2], wrong: [u64; 2]| {
            format!("{} + {} right, {} + {} {fault:?}", grouped(right[0]), grouped(right[1]), wrong[0], wrong[1])
        };
        let expected = (right, wrong);
        self.check(
            name,
            say(right, wrong),
            |o| {
                let right = [o.forward.received, o.reverse.received];
                let wrong = [o.forward.faults.get(fault), o.reverse.faults.get(fault)];
                let others = o.forward.faults.total() + o.reverse.faults.total() - wrong[0] - wrong[1];
                (say(right, wrong), (right, wrong) == expected && others == 0)
            },
            truth,
        )
    }

    fn duplicates(&self, name: &str, truth: TruthConfig, expected: u64) -> SelfTestCheck {
        let all = 2 * self.depth.frames;
        let say = |right: u64, twice: u64| format!("{} right, {} duplicates", grouped(right), grouped(twice));
        self.check(
            name,
            say(all, expected),
            |o| {
                let right = o.forward.received + o.reverse.received;
                let twice = o.forward.faults.get(Fault::Duplicate) + o.reverse.faults.get(Fault::Duplicate);
                (say(right, twice), (right, twice) == (all, expected))
            },
            truth,
        )
    }

    /// Frames that were overtaken are right and counted as reordered.
    fn overtaken(&self, name: &str, only: Side, every: u64) -> SelfTestCheck {
        let n = self.depth.frames;
        // The last frame of all would have nobody to overtake it.
        let expected = [0, (n - 1) / every];
        let say = |right: u64, reordered: [u64; 2]| {
            format!("{} right, {} + {} reordered", grouped(right), grouped(reordered[0]), grouped(reordered[1]))
        };
        self.check(
            name,
            say(2 * n, expected),
            |o| {
                let right = o.forward.received + o.reverse.received;
                let reordered = [o.forward.reordered, o.reverse.reordered];
                let faults = o.forward.faults.total() + o.reverse.faults.total();
                (say(right, reordered), (right, reordered, faults) == (2 * n, expected, 0))
            },
            TruthConfig { overtake_every: every, only: Some(only), ..TruthConfig::default() },
        )
    }

    fn check(
        &self,
        name: &str,
        truth: String,
        look: impl Fn(&TrialOutcome) -> (String, bool),
        config: TruthConfig,
    ) -> SelfTestCheck {
        let outcome = self
            .forwarding(config, &Cores::one_thread(1))
            .map_err(|e| e.to_string())
            .and_then(|mut rig| self.trial(&mut rig));
        let (measured, passed) = outcome.map_or_else(|e| (e, false), |o| look(&o));
        SelfTestCheck { name: name.to_owned(), truth, measured, passed, inconclusive: false }
    }

    fn trial(&self, rig: &mut Rig) -> Result<TrialOutcome, String> {
        let spec = TrialSpec {
            kind: PhaseKind::Stateless,
            rate: self.depth.rate,
            load: Load::Frames(self.depth.frames),
            direction: Direction::Both,
            connections: 0,
            phase1_rate: None,
            validate_rate: None,
            keep_table: false,
            responder_order: Order::Random,
        };
        rig.run(&spec).map_err(|e| e.to_string())
    }

    /// A device of known delay: what calibration calls the latency must grow by it. The device waits by the system's clock,
    /// the tester has its own.
    fn delay(&self) -> SelfTestCheck {
        let mut check = SelfTestCheck {
            name: "delay".to_owned(),
            truth: format!("floor + {} ns within {} ns", grouped(DELAY.as_nanos() as u64), grouped(DELAY_ERROR)),
            ..SelfTestCheck::default()
        };
        for _ in 0..TRIES {
            match self.latency(Duration::ZERO).and_then(|floor| Ok((floor, self.latency(DELAY)?))) {
                Ok((floor, delayed)) => {
                    let grown = delayed.saturating_sub(floor);
                    check.passed = grown.abs_diff(DELAY.as_nanos() as u64) <= DELAY_ERROR;
                    check.measured = format!("{} + {} ns", grouped(floor), grouped(grown));
                }
                Err(error) => check.measured = error,
            }
            if check.passed {
                break;
            }
        }
        check
    }

    /// Median latency over a device with this delay that is polled by this thread.
    fn latency(&self, delay: Duration) -> Result<u64, String> {
        let clock = self.process.clock;
        let view = view::forwarding(&bed(40_000 * 100).map_err(|e| e.to_string())?);
        let mut pools = Pool::for_workers(PoolConfig::compact(2, 64, view.left.len())).map_err(|e| e.to_string())?;
        let (own, pools) = (pools.remove(0), pools);
        let end = |name| link(name, clock, 8, (1, Steer::First), (1, Steer::First));
        let ((mut left, mut customer), (mut right, mut internet)) = (end("left"), end("right"));
        let ports: (Box<dyn Port>, Box<dyn Port>) = (Box::new(customer.remove(0)), Box::new(internet.remove(0)));
        let config = EmbeddedConfig::in_process(vec![ports], pools, vec![None]);
        let function = Truth::new(Router::new(hop(1), hop(2)), TruthConfig { delay, ..TruthConfig::default() });
        let (_running, mut rounds) = Embedded::polled(clock, config, vec![function]);
        let (mut own, mut work) = (own, || rounds.iter_mut().for_each(|round| round()));
        engine::calibrate::latency(clock, &view, (&mut left[0], &mut right[0]), &mut own, &mut work)
            .map_err(|e| e.to_string())
    }

    /// A device of known capacity: the throughput must be that within the error.
    fn capacity(&self, truth: Rate) -> SelfTestCheck {
        let config = TruthConfig { capacity: truth.0, ..TruthConfig::default() };
        near("forwarding capacity", truth, "frames/s", || {
            let mut rig = self.forwarding(config, &Cores::assign(1)).map_err(|e| e.to_string())?;
            throughput::stateless(&mut rig, &self.settings(truth), &mut |_| {}).map_err(|e| e.to_string())
        })
    }

    /// A device of known set-up rate.
    fn set_up_rate(&self, truth: Rate) -> SelfTestCheck {
        let config = TruthConfig { set_up_rate: truth.0, ..TruthConfig::default() };
        let connections = 100_000;
        near("connection set-up rate", truth, "connections/s", || {
            let mut rig = self.nat(config, connections).map_err(|e| e.to_string())?;
            let phase1 = establishment::Phase1 { connections, buffered: 0, validate_at_most: None };
            let settings = SearchSettings { direction: Direction::Forward, ..self.settings(truth) };
            establishment::measure(&mut rig, &settings, phase1, &mut |_| {}).map_err(|e| e.to_string())
        })
    }

    fn settings(&self, truth: Rate) -> SearchSettings {
        SearchSettings {
            hi: Rate(truth.0 * 2),
            precision: Precision::Relative(Ratio::from_ppm(5_000)),
            criteria: Criteria::default(),
            duration: self.depth.trial,
            direction: Direction::Both,
            ..SearchSettings::default()
        }
    }

    fn forwarding(&self, truth: TruthConfig, cores: &Cores) -> Result<Rig, RigError> {
        let bed = bed(40_000 * 100)?;
        let function = Truth::new(Router::new(hop(1), hop(2)), truth);
        embedded::assemble(Arc::new(view::forwarding(&bed)), vec![function], 512, times(), cores, self.process)
    }

    fn nat(&self, truth: TruthConfig, connections: u64) -> Result<Rig, RigError> {
        let bed = bed(connections)?;
        let outer =
            OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1024, last: 65535 } };
        let nat = embedded::plain_nat44(&outer, connections)?;
        embedded::assemble(
            Arc::new(view::nat44(&bed, outer)),
            vec![Truth::new(nat, truth)],
            512,
            times(),
            &Cores::assign(1),
            self.process,
        )
    }
}

/// The injected delay, and how far the median of the measured ones may be from it.
const DELAY: Duration = Duration::from_micros(100);
/// In nanoseconds.
const DELAY_ERROR: u64 = 2_000;

/// Searches that the host may spoil before the check is inconclusive.
const TRIES: u32 = 3;

fn near(name: &str, truth: Rate, unit: &str, search: impl Fn() -> Result<SearchResult, String>) -> SelfTestCheck {
    let mut check = SelfTestCheck {
        name: name.to_owned(),
        truth: format!("{}{unit} within {ERROR}", si(truth.0 as f64, 4)),
        ..SelfTestCheck::default()
    };
    let mut far = false;
    for _ in 0..TRIES {
        match search() {
            Ok(result) => {
                check.passed = result.kind.has_rate() && result.rate.0.abs_diff(truth.0) <= ERROR.of(truth).0;
                check.measured = in_words(&result, unit);
                far |= !check.passed && !is_open(&result, truth);
                if check.passed || result.spoiled_by_host == 0 {
                    break;
                }
            }
            Err(error) => {
                (check.measured, far) = (error, true);
                break;
            }
        }
    }
    check.inconclusive = !check.passed && !far;
    check
}

fn in_words(result: &SearchResult, unit: &str) -> String {
    match result.kind {
        ResultKind::NothingMeasured => "nothing: every trial was spoiled".to_owned(),
        ResultKind::Below => format!("below {}{unit}", si(result.error.0 as f64, 4)),
        _ => format!("{}{unit}", si(result.rate.0 as f64, 4)),
    }
}

/// Whether a rate that is not the truth leaves it open, because the host spoiled trials: a false verdict of a trial that it
/// disturbed without a trace moves the result a little, and a search that it ended says where the truth may be.
fn is_open(result: &SearchResult, truth: Rate) -> bool {
    let by_host = result.tester_limit.is_some_and(|reason| reason.spoiler() == Spoiler::Host);
    let (rate, above, far) = (result.rate.0, result.rate.0 + result.error.0, FAR.of(truth).0);
    result.spoiled_by_host > 0
        && match result.kind {
            ResultKind::NothingMeasured => by_host,
            ResultKind::Below => by_host && above + far >= truth.0,
            ResultKind::HostLimit => rate <= truth.0 + far,
            ResultKind::Between => by_host && rate <= truth.0 + far && above + far >= truth.0,
            ResultKind::Exact => rate.abs_diff(truth.0) <= far,
            ResultKind::AtUpperLimit | ResultKind::TesterLimit | ResultKind::NothingPassed => false,
        }
}

fn bed(connections: u64) -> Result<Bed, RigError> {
    Ok(Bed {
        left: Hop { own: mac(1, 2), next: mac(1, 1) },
        right: Hop { own: mac(2, 2), next: mac(2, 1) },
        frame_size: 64,
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
    use method::simulated::{SimulatedDut, Truth as Device};

    const TRUTH: Rate = Rate(600_000);

    /// What the check says of a tester that finds a device of this capacity, on a host that spoils so many of a million trials.
    fn verdict(capacity: u64, spoiled: u64) -> (bool, bool) {
        let device = Device { host_stalls: Ratio::from_ppm(spoiled), ..Device::new(Rate(capacity), Rate(capacity)) };
        let check = near("x", TRUTH, "frames/s", || {
            let settings = SearchSettings { hi: Rate(1_200_000), ..SearchSettings::default() };
            throughput::stateless(&mut SimulatedDut::new(device.clone(), 1), &settings, &mut |_| {})
                .map_err(|e| e.to_string())
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
}
