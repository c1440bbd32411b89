//! CPU idle time per core: the throughput trial once more, with the cores of one device sampled beside it. It shows what limits
//! the throughput. Sampling takes CPU time, so that the frames of this trial give no result.

use super::throughput::probe;
use super::{Decider, Phase2, Procedure, Progress, ResultKind, SearchResult, SearchSettings, data_trial};
use crate::judged::{Decision, Patience};
use crate::metric::CPU_IDLE;
use crate::stats::median;
use crate::trial::{CpuIdle, Load, Sampler, TrialError, TrialOptions, TrialSpec, Trials};
use crate::units::{Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "cpu-idle",
    title: CPU_IDLE.title,
    reference: CPU_IDLE.reference,
    metrics: &[CPU_IDLE.key],
    phase1: false,
    stateful: false,
    at_throughput: true,
    summary: "idle time of each core of the device in a trial at the throughput, and what limits it",
};

/// A core that is idle for less than this part of the time is busy: 10 %.
pub const BUSY_BELOW_PPM: u32 = 100_000;

/// What is known of the rate at which the trials run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The device fails above it.
    Device,
    /// The tester could not offer more.
    Tester,
    /// Nothing: the scenario gives the rate, or host noise ended the search.
    Unknown,
}

/// Parameters of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The rate per direction.
    pub rate: Rate,
    /// What limits it.
    pub limit: Limit,
    /// Duration of each trial.
    pub duration: Nanos,
    /// Time between two samples.
    pub interval: Nanos,
    /// Boxes; each has a trial of its own.
    pub boxes: u32,
}

/// What limits the throughput.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// All cores of a box are busy.
    Device {
        /// Number of the box, from 0 on the left.
        of: u32,
        /// Number of boxes.
        boxes: u32,
    },
    /// Some cores of a box are busy and others are not: its work is not spread evenly.
    HotCore {
        /// Number of the box, from 0 on the left.
        of: u32,
        /// Number of boxes.
        boxes: u32,
        /// The busiest core.
        core: String,
    },
    /// Every core has idle time, and yet frames are lost at a higher rate: locks or memory.
    Contention,
    /// The tester could not offer more.
    Tester,
    /// Every core has idle time, and nothing shows a limit.
    Unknown,
}

/// Samples the idle times once. The value is the idle share of the busiest core, in parts per million.
///
/// # Errors
/// As [`super::throughput::measure`]; [`TrialError::NotMeasurable`] if the device does not tell its CPU times.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Option<Phase2>,
    sampling: Sampling,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let Sampling { rate, duration, interval, boxes, .. } = sampling;
    let trial = TrialSpec { rate, load: Load::For(duration), ..data_trial(settings, phase2)? };
    let settings = SearchSettings { verify: None, ..settings.clone() };
    let mut decider = Decider::new(trials, &settings);
    let mut result = SearchResult::empty();
    for of in 0..boxes.max(1) {
        watch(&Progress { lo: rate, hi: rate, rate, steps_left: boxes.max(1) - of });
        let options = TrialOptions { sampler: Some(Sampler { interval, of }), ..settings.options.clone() };
        let spec = TrialSpec { options, ..trial.clone() };
        let judgement = decider.decide(&spec, &probe(&spec), Patience::Repeat)?;
        result.note(rate, &judgement);
        // A trial that the tester or the host spoiled shows no idle time of the device.
        if let Decision::TesterBound(reason) | Decision::HostBound(reason) = judgement.decision {
            return Ok(result.nothing_measured(reason));
        }
        result.observed.cpu.extend(judgement.last().outcome.observed.cpu.iter().cloned());
    }
    of_samples(sampling, result)
}

fn of_samples(sampling: Sampling, mut result: SearchResult) -> Result<SearchResult, TrialError> {
    let boxes: Vec<CoreLoads> = result.observed.cpu.iter().map(CoreLoads::of).collect();
    let busiest = boxes.iter().filter_map(CoreLoads::busiest).min_by_key(|(_, idle)| *idle);
    let Some((_, busiest)) = busiest else {
        return Err(TrialError::NotMeasurable("no CPU time of the device was sampled; use a longer trial".to_owned()));
    };
    result.parts = parts(&boxes);
    result.evidence.bottleneck = Some(bottleneck(sampling, &boxes));
    Ok(SearchResult { rate: Rate(busiest.into()), kind: ResultKind::Observed, ..result })
}

/// The medians of the idle shares of the cores of one box.
struct CoreLoads {
    of: u32,
    cores: Vec<(String, u32)>,
}

impl CoreLoads {
    fn of(cpu: &CpuIdle) -> CoreLoads {
        let middle = |mut shares: Vec<u32>| {
            shares.sort_unstable();
            median(&shares).map(|middle| middle.round() as u32)
        };
        let cores = cpu.in_phase2().filter_map(|(name, shares)| Some((name.to_owned(), middle(shares)?)));
        CoreLoads { of: cpu.of, cores: cores.collect() }
    }

    fn busiest(&self) -> Option<(&str, u32)> {
        self.cores.iter().map(|(name, idle)| (name.as_str(), *idle)).min_by_key(|(_, idle)| *idle)
    }

    fn is_busy(&self) -> bool {
        self.cores.iter().any(|(_, idle)| *idle < BUSY_BELOW_PPM)
    }
}

fn parts(boxes: &[CoreLoads]) -> BTreeMap<String, i64> {
    let all: Vec<u64> = boxes.iter().flat_map(|of| &of.cores).map(|(_, idle)| u64::from(*idle)).collect();
    let mean = all.iter().sum::<u64>() / all.len().max(1) as u64;
    let mut parts = BTreeMap::from([("cpu_idle_mean".to_owned(), mean.cast_signed())]);
    if let [left, .., right] = boxes {
        for (name, of) in [("cpu_idle_left", left), ("cpu_idle_right", right)] {
            parts.extend(of.busiest().map(|(_, idle)| (name.to_owned(), i64::from(idle))));
        }
    }
    parts
}

/// The box with the busiest core limits, if one is busy; otherwise what is known of the rate decides.
fn bottleneck(sampling: Sampling, loads: &[CoreLoads]) -> Bottleneck {
    let boxes = sampling.boxes.max(1);
    let busy = loads.iter().filter(|load| load.is_busy());
    let busiest = busy.filter_map(|load| Some((load, load.busiest()?))).min_by_key(|(_, (_, idle))| *idle);
    match (sampling.limit, busiest) {
        (Limit::Tester, _) => Bottleneck::Tester,
        (_, Some((load, _))) if load.cores.iter().all(|(_, idle)| *idle < BUSY_BELOW_PPM) => {
            Bottleneck::Device { of: load.of, boxes }
        }
        (_, Some((load, (core, _)))) => Bottleneck::HotCore { of: load.of, boxes, core: core.to_owned() },
        (Limit::Device, None) => Bottleneck::Contention,
        (Limit::Unknown, None) => Bottleneck::Unknown,
    }
}
