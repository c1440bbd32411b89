//! Searches of known simulated devices: what they cost, and how far their results are from the truth. Shared by the example that
//! prints the tables of docs/performance.md and by the tests that hold their claims.

use method::search::mlr::Goal;
use method::search::{Verify, Warm};
use method::simulated::{SimulatedDut, Truth};
use method::{
    Criteria, Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError, TrialOutcome,
    TrialSpec, Trials,
};
use procedure::throughput;

/// The devices forward this rate per direction.
pub(crate) const CAPACITY: Rate = Rate(1_234_567);
/// The upper end of each search: 64-octet frames at 10 Gbit/s.
pub(crate) const TOP: Rate = Rate(14_880_952);
/// Width at which each search stops, in parts per million of the result: 0.1 %.
pub(crate) const WIDTH_PPM: u64 = 1_000;
/// Start delay, drain and rest of a trial (RFC 2544, section 23).
const AROUND: Nanos = Nanos::from_secs(9);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Binary,
    EarlyEnd,
    BinaryVerify,
    Mlr,
    Warm,
}

impl Way {
    pub(crate) const ALL: [Way; 5] = [Way::Binary, Way::EarlyEnd, Way::BinaryVerify, Way::Mlr, Way::Warm];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Binary => "binary",
            Way::EarlyEnd => "binary, early end",
            Way::BinaryVerify => "binary-verify",
            Way::Mlr => "mlr",
            Way::Warm => "binary, warm start",
        }
    }
}

/// A device, and the share of frames that a trial may lose in parts per million.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) name: &'static str,
    pub(crate) truth: Truth,
    pub(crate) tolerated_ppm: u64,
    /// The results that the truth allows, before the width is added.
    pub(crate) between: (f64, f64),
}

/// A device with a hard edge that loses this share of all frames; trials tolerate twice as much.
fn lossy(name: &'static str, ppm: u64) -> Device {
    let (share, tolerated) = (ppm as f64 / 1e6, 2.0 * ppm as f64 / 1e6);
    let edge = CAPACITY.0 as f64 * (1.0 - share) / (1.0 - tolerated);
    let truth = Truth { loss: Ratio::from_ppm(ppm), ..Truth::new(CAPACITY, CAPACITY) };
    // Four standard deviations of the share that a trial of a minute loses.
    let noise = 4.0 * (share / (edge * 60.0)).sqrt() * edge;
    Device { name, truth, tolerated_ppm: 2 * ppm, between: (edge - noise, edge + noise) }
}

/// A device whose capacity varies by this share from trial to trial.
fn soft(name: &'static str, ppm: u64) -> Device {
    let off = CAPACITY.0 as f64 * ppm as f64 / 1e6;
    let between = (CAPACITY.0 as f64 - off, CAPACITY.0 as f64 + off);
    let truth = Truth { jitter: Ratio::from_ppm(ppm), ..Truth::new(CAPACITY, CAPACITY) };
    Device { name, truth, tolerated_ppm: 0, between }
}

pub(crate) fn hard() -> Device {
    soft("hard edge", 0)
}

/// A device that loses one frame in a million, and trials that tolerate none.
pub(crate) fn one_in_a_million() -> Device {
    Device { name: "1 in 10^6 lost, none tolerated", tolerated_ppm: 0, ..lossy("", 1) }
}

pub(crate) fn devices() -> Vec<Device> {
    vec![
        hard(),
        lossy("1 in 10^6 lost", 1),
        lossy("1 in 10^5 lost", 10),
        lossy("1 in 10^4 lost", 100),
        lossy("1 in 10^3 lost", 1_000),
        lossy("1 in 10^2 lost", 10_000),
        soft("edge ±0.25 %", 2_500),
        soft("edge ±1 %", 10_000),
        soft("edge ±2.5 %", 25_000),
    ]
}

/// A device whose trials and trial time are counted.
struct Counted {
    device: SimulatedDut,
    trials: u64,
    sending: u64,
}

impl Trials for Counted {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let outcome = self.device.run(spec)?;
        self.trials += 1;
        self.sending += outcome.wall.0;
        Ok(outcome)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) trials: u64,
    /// Time in which frames are sent, in seconds.
    pub(crate) sending: f64,
    /// The same with the waits around each trial.
    pub(crate) whole: f64,
}

fn settings(way: Way, device: &Device) -> SearchSettings {
    let width = Precision::Relative(Ratio::from_ppm(WIDTH_PPM));
    let plain = SearchSettings { hi: TOP, precision: width, ..SearchSettings::default() };
    let acceptance = Ratio::from_ppm(1_000_000 - device.tolerated_ppm);
    let criteria = Criteria { acceptance, ..Criteria::default() };
    let binary = SearchSettings { criteria, ..plain.clone() };
    let minute = Nanos::from_secs(60);
    // Width is not below the loss ratio (RFC 9971).
    let goal = Goal {
        name: "goal".to_owned(),
        final_duration: minute,
        initial_duration: Nanos::SECOND,
        duration_sum: minute,
        loss: Ratio::from_ppm(device.tolerated_ppm),
        exceed: Ratio::ZERO,
        width,
    };
    match way {
        Way::Binary | Way::Warm => binary,
        Way::EarlyEnd => SearchSettings { early_end: true, ..binary },
        Way::BinaryVerify => SearchSettings { verify: Some(Verify { tries: 2, at_most: Some(1_000) }), ..binary },
        Way::Mlr => SearchSettings { goals: vec![goal], ..plain },
    }
}

/// Runs as many repetitions of a search as the closure of its results needs. Repetitions of a warm start begin at the bounds of
/// the one before.
pub(crate) fn repeat(way: Way, device: &Device, repetitions: u32, seed: u64) -> (Vec<SearchResult>, Cost) {
    let device_of = SimulatedDut::new(device.truth.clone(), seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut counted = Counted { device: device_of, trials: 0, sending: 0 };
    let mut results: Vec<SearchResult> = Vec::new();
    for at in 0..repetitions {
        let exact = results.iter().rfind(|result| result.kind == ResultKind::Exact);
        let warm = exact.filter(|_| way == Way::Warm);
        let warm = warm.map(|last| Warm { passed: last.rate, failed: Rate(last.rate.0 + last.error.0) });
        // The upper end varies, so that the rates that are tried do.
        let off = (seed.wrapping_mul(7_919) + u64::from(at) * 104_729) % 100_000;
        let settings = SearchSettings { warm, hi: Rate(TOP.0 - off), ..settings(way, device) };
        results.push(throughput::measure(&mut counted, &settings, None, &mut |_| ()).expect("the device answers"));
    }
    let sending = counted.sending as f64 / 1e9;
    let whole = sending + counted.trials as f64 * AROUND.as_secs_f64();
    (results, Cost { trials: counted.trials, sending, whole })
}

/// How far a result is outside of what the truth allows, as a share of the capacity; 0 inside. A result may be lower than the
/// truth by the width.
pub(crate) fn outside(device: &Device, rate: Rate) -> f64 {
    let (low, high) = device.between;
    let width = rate.0 as f64 * WIDTH_PPM as f64 / 1e6 + 1.0;
    let rate = rate.0 as f64;
    (low - width - rate).max(rate - high).max(0.0) / CAPACITY.0 as f64
}
