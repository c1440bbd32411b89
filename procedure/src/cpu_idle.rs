//! CPU idle time per core: the throughput trial once more, while the cores of one device are sampled. It shows what
//! limits the throughput. Sampling takes CPU time, so that the frames of this trial give no result.

use crate::known;
use crate::prelude::*;
use document::scale::Axis;
use document::svg::{Strip, Strips};
use document::{Drawing, Figure};
use key::kind::rate;
use method::search::bottleneck::{CoreLoads, Limit, Symptoms};
use method::trial::{self, Sampler};
use std::collections::BTreeMap;

/// Entry in the list of procedures.
pub static PROCEDURE: Procedure = Procedure {
    key: "cpu-idle",
    summary: "idle time of each core of the device in a trial at the throughput, and what limits it",
    metrics: &[
        CPU_IDLE,
        share(
            "cpu_idle_left",
            "CPU idle time of the busiest core, left device",
            "Of two devices, that of the left one.",
        ),
        share(
            "cpu_idle_right",
            "CPU idle time of the busiest core, right device",
            "Of two devices, that of the right one.",
        ),
        share("cpu_idle_mean", "CPU idle time, mean of all cores", "The mean of the medians of all cores."),
    ],
    tables: &[KeyTable::of::<CpuIdle>("cpu-idle")],
    rate: Some(|keys| keys.get::<CpuIdle>().rate),
    longest: |keys, _, _| keys.get::<CpuIdle>().duration,
    interval: |keys| Some(keys.get::<CpuIdle>().interval),
    search,
    sections: &[section],
    known: KNOWN,
    ..Procedure::of(&CPU_IDLE)
};

/// The idle time of the busiest core.
pub const CPU_IDLE: Metric = Metric {
    key: "cpu_idle",
    title: "CPU idle time of the busiest core",
    unit: Unit::PartsPerMillion,
    reference: "METHODOLOGY.md, CPU idle time",
    origin: Origin::Measured { repetitions: 1 },
    definition: "The median of the idle shares of the device's busiest core, sampled in a trial at the throughput.",
    ..Metric::USUAL
};

const fn share(key: &'static str, title: &'static str, definition: &'static str) -> Metric {
    CPU_IDLE.part(key, title, Unit::PartsPerMillion, definition)
}

key::table! {
    /// The trial beside which the CPU times of the device are sampled.
    pub struct CpuIdle {
        /// Length of the trial; with several boxes, one for each.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s");
        /// Time between two samples.
        interval: Nanos = "interval", duration(Nanos::from_millis(10)..=Nanos::from_secs(3600)), or("1 s");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Samples the idle times once; the value is the idle share of the busiest core, in parts per million.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let CpuIdle { duration, interval, .. } = *context.keys.get();
    let trial = context.data(context.throughput()?, duration)?;
    let of_box = |of| {
        let options = TrialOptions { sampler: Some(Sampler { interval, of }), ..trial.options.clone() };
        TrialSpec { options, ..trial.clone() }
    };
    let specs: Vec<TrialSpec> = (0..context.device.boxes().max(1)).map(of_box).collect();
    let (mut result, observed) = single::observe(context, &specs, trials, watch)?;
    if observed.is_empty() {
        return Ok(result);
    }
    result.observed.cpu = observed.into_iter().flat_map(|observed| observed.cpu).collect();
    of_samples(context, result)
}

fn of_samples(context: &Context<'_>, mut result: SearchResult) -> Result<SearchResult, TrialError> {
    let boxes: Vec<CoreLoads> = result.observed.cpu.iter().map(CoreLoads::of_samples).collect();
    let busiest = boxes.iter().filter_map(CoreLoads::busiest).min_by_key(|(_, idle)| *idle);
    let Some((_, busiest)) = busiest else {
        return Err(TrialError::NotMeasurable("no CPU time of the device was sampled; use a longer trial".to_owned()));
    };
    result.parts = parts(&boxes);
    let (limit, number) = (context.limit, context.device.boxes());
    result.evidence.bottleneck = Symptoms { limit, boxes: number, loads: boxes, locks: None }.bottleneck();
    Ok(SearchResult { rate: Rate(busiest.into()), kind: ResultKind::Observed, ..result })
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

fn section(results: &Results<'_>) -> Option<Section> {
    let all = results.of(&[CPU_IDLE.key]);
    section_of(
        &all,
        "CPU idle time",
        "Idle time of each core in a trial at the throughput, whose frames give no result, because sampling takes CPU time.",
        |named| Section {
            findings: results.bottlenecks.clone(),
            figures: all.iter().enumerate().flat_map(|(at, result)| figures(at, result)).collect(),
            ..named
        },
    )
}

/// Idle times of the last repetition that has any.
fn idle_of<'a>(result: &MetricResult<'a>) -> &'a [trial::CpuIdle] {
    result.observed(|observed| (!observed.cpu.is_empty()).then_some(&observed.cpu[..])).next_back().unwrap_or(&[])
}

/// The name of a box among so many.
pub fn name_of(of: u32, boxes: u32) -> String {
    match (of, boxes) {
        (_, 0 | 1) => "the device".to_owned(),
        (0, _) => "the left device".to_owned(),
        (of, boxes) if of + 1 == boxes => "the right device".to_owned(),
        (of, _) => format!("device {} from the left", of + 1),
    }
}

/// A figure for each box, of the last repetition: no average over repetitions or cores.
fn figures(at: usize, result: &MetricResult<'_>) -> Vec<Figure> {
    let boxes = idle_of(result);
    let name = |cpu: &trial::CpuIdle| {
        let place = result.place.clone();
        if boxes.len() > 1 { format!("{place}, {}", name_of(cpu.of, boxes.len() as u32)) } else { place }
    };
    boxes.iter().map(|cpu| figure(&format!("cpu-idle-{at}-{}", cpu.of), &name(cpu), cpu)).collect()
}

fn figure(id: &str, name: &str, cpu: &trial::CpuIdle) -> Figure {
    let mut cores: Vec<(&String, &Vec<u32>)> = cpu.cores.iter().collect();
    cores.sort_by_key(|(core, _)| (number_of(core), *core));
    let end = cpu.ends.last().copied().max(Some(cpu.phase2[1])).map_or(1.0, seconds);
    let in_words: Vec<String> = cpu.in_phase2().map(|(core, shares)| format!("{core}: {}", range(&shares))).collect();
    let phases = [("phase 1", cpu.phase1), ("phase 2", Some(cpu.phase2))];
    let phases: Vec<(&str, [Nanos; 2])> = phases.into_iter().filter_map(|(name, phase)| Some((name, phase?))).collect();
    let row = |(core, shares): (&String, &Vec<u32>)| Strip {
        label: core.clone(),
        samples: cpu.ends.iter().zip(shares).map(|(end, share)| (seconds(*end), f64::from(*share) / 1e4)).collect(),
        tooltip: format!("{core}\n{}", range(shares)),
    };
    let strips = Strips {
        id: id.to_owned(),
        title: format!("CPU idle time, {name}"),
        description: format!("{name}, in phase 2: {}", in_words.join("; ")),
        x: Axis::until(("time since the start of the trial", "s"), end),
        y_name: "idle, %",
        spans: phases.iter().map(|(name, [start, end])| (seconds(*start), seconds(*end), *name)).collect(),
        rows: cores.into_iter().map(row).collect(),
        width: 1000.0,
    };
    let phases: Vec<String> = phases
        .iter()
        .map(|(name, [start, end])| format!("{name} from {:.1} s to {:.1} s", seconds(*start), seconds(*end)))
        .collect();
    let caption = format!("Idle time of each core, {name}; {}.", phases.join(", "));
    Figure { caption, drawing: Drawing::Strips(strips), wide: true }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

/// The number at the end of a name, so that core 10 follows core 9.
fn number_of(core: &str) -> u64 {
    core.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Smallest and largest share in percent.
fn range(shares: &[u32]) -> String {
    let percent = |share: Option<&u32>| f64::from(share.copied().unwrap_or(0)) / 1e4;
    format!("{:.0} % to {:.0} % idle", percent(shares.iter().min()), percent(shares.iter().max()))
}

const KNOWN: &[KnownValue] = &[KnownValue {
    metric: CPU_IDLE.key,
    device: "has cores that are idle for 60, 2 and 30 %",
    truth: Some(20_000),
    error: EXACT,
    point: || {
        let idle = [600_000, 20_000, 300_000].map(Ratio::from_ppm).to_vec();
        let device = known::controlled(ControlTruth { idle, ..ControlTruth::default() });
        let keys = CpuIdle { duration: Nanos::from_secs(10), interval: Nanos::SECOND, rate: None };
        KnownPoint { phase2: Some(HELD), limit: Limit::Device, ..KnownPoint::new(keys, device) }
    },
}];
