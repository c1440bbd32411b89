//! Where a device spends its time: the throughput trial once more, while call stacks of the device are sampled. It
//! shows which functions take the time, and which share of it is spent waiting for locks. Sampling takes CPU time, so
//! that the frames of this trial give no result.

use crate::known;
use crate::prelude::*;
use document::flame::FlameGraph;
use document::{Drawing, Figure, Finding, number};
use key::kind::{number, rate};
use method::search::bottleneck::{CoreLoads, LockWait, Symptoms};
use method::search::probe;
use method::trial::{Profile, Profiler};
use std::collections::BTreeMap;

/// Entry in the list of procedures.
pub static PROCEDURE: Procedure = Procedure {
    key: "profiling",
    summary: "functions in which the device spends its time in a trial at the throughput, and its share that waits for locks",
    profiles: true,
    tables: &[KeyTable::of::<Stacks>("profiling")],
    rate: Some(|keys| keys.get::<Stacks>().rate),
    longest: |keys, _, _| keys.get::<Stacks>().duration,
    search,
    sections: &[section],
    findings,
    known: KNOWN,
    ..Procedure::of(&LOCK_WAIT)
};

/// The time that waits for locks.
pub const LOCK_WAIT: Metric = Metric {
    key: "lock_wait",
    title: "Time that waits for locks",
    unit: Unit::PartsPerMillion,
    reference: "METHODOLOGY.md, profile",
    origin: Origin::Measured { repetitions: 1 },
    higher_is_better: false,
    definition: "The share of the device's working time that waits for locks, of samples in a trial at the throughput.",
    ..Metric::USUAL
};

key::table! {
    /// The trial beside which the call stacks of the device are sampled (`profile`).
    pub struct Stacks {
        /// Length of the trial.
        duration: Nanos = "duration", duration(LENGTHS), or("10 s");
        /// Samples of each core per second.
        frequency: u32 = "frequency", number(1..=10_000), or("999");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Samples call stacks once. The value is the share of time that is spent waiting for locks, in parts per million.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let Stacks { duration, frequency, .. } = *context.keys.get();
    let (rate, limit) = (context.throughput()?, context.limit);
    watch(&Progress { lo: rate, hi: rate, rate, steps_left: 1 });
    let mut spec = context.data(rate, duration)?;
    (spec.options.profiler, spec.options.sampler) = (Some(Profiler { frequency }), None);
    let settings = SearchSettings { verify: None, ..context.settings.clone() };
    let mut decider = Decider::new(trials, &settings);
    let mut result = SearchResult::empty();
    let judgement = decider.decide(&spec, &probe(&spec), Patience::Repeat)?;
    result.note(rate, &judgement);
    // A trial that missed its rate shows the device under another load. Host noise only reduces the number of samples:
    // those of other programs are counted separately.
    if let Decision::TesterBound(reason) = judgement.decision {
        return Ok(result.nothing_measured(reason));
    }
    let profile = judgement.last().outcome.observed.profile.clone().unwrap_or_default();
    let nothing =
        || TrialError::NotMeasurable("no call stack of the device was sampled; use a longer trial".to_owned());
    let locks = LockWait::of_profile(&profile).ok_or_else(nothing)?;
    let loads = CoreLoads::of_profile(&profile).into_iter().collect();
    result.evidence.bottleneck = Symptoms { limit, boxes: 1, loads, locks: Some(locks) }.bottleneck();
    result.observed.profile = Some(profile);
    Ok(SearchResult { rate: Rate(locks.waits.into()), kind: ResultKind::Observed, ..result })
}

const FUNCTIONS: usize = 10;
const WIDTH: f64 = 1000.0;

fn section(results: &Results<'_>) -> Option<Section> {
    let profiled: Vec<(&MetricResult, &Profile)> = of(results).collect();
    section_of(
        &profiled,
        "Profile",
        "Call stacks, sampled in a trial at the throughput, whose frames give no result, because sampling takes CPU time. An \
                idle core has no samples. In a flame graph, a function stands on the one that called it, and is as wide as its share \
                of the samples.",
        |named| Section {
            findings: findings(results),
            tables: profiled.iter().flat_map(|(result, profile)| tables(result, profile)).collect(),
            figures: profiled.iter().enumerate().map(|(at, (result, profile))| figure(at, result, profile)).collect(),
            ..named
        },
    )
}

/// The profile of each point that has one: of its last repetition.
fn of<'a, 'b>(results: &'b Results<'a>) -> impl Iterator<Item = (&'b MetricResult<'a>, &'a Profile)> {
    let profiles =
        |found: &'b MetricResult<'a>| Some((found, found.observed(|observed| observed.profile.as_ref()).next_back()?));
    results.of(&[LOCK_WAIT.key]).into_iter().filter_map(profiles)
}

/// What took most of the time, at each point.
fn findings(results: &Results<'_>) -> Vec<Finding> {
    let finding = |(result, profile): (&MetricResult, _)| {
        Some(Finding { subject: "Profile", of: result.place.clone(), found: in_words(profile)? })
    };
    of(results).filter_map(finding).collect()
}

fn in_words(profile: &Profile) -> Option<String> {
    let samples = profile.samples();
    let share = |of: Count, all: Count| number::percent(of as f64 * 100.0 / (all as f64).max(1.0));
    let (part, of_part) = profile.parts.iter().max_by_key(|(name, samples)| (**samples, std::cmp::Reverse(*name)))?;
    let (function, of_function) = *profile.functions().first()?;
    let cores: Vec<String> =
        profile.cores.iter().map(|(name, of)| format!("{name} {}", share(of.waiting, of.all))).collect();
    let each = if cores.len() > 1 { format!(" ({})", cores.join(", ")) } else { String::new() };
    Some(format!(
        "most time goes to {part}, {}; of single functions to {function}, {}; {} waits for locks{each}.",
        share(*of_part, samples.all),
        share(of_function, samples.all),
        share(samples.waiting, samples.all),
    ))
}

fn place(result: &MetricResult<'_>) -> String {
    format!("profile of {}", result.place.clone())
}

/// The shares of parts, functions and cores, the largest first.
fn tables(result: &MetricResult<'_>, profile: &Profile) -> Vec<Table> {
    let of_map = |map: &BTreeMap<String, Count>| map.iter().map(|(name, n)| (name.clone(), *n)).collect::<Vec<_>>();
    let functions = profile.functions().into_iter().take(FUNCTIONS).map(|(name, n)| (name.to_owned(), n)).collect();
    let cores = profile.cores.iter().map(|(name, of)| (name.clone(), of.all)).collect();
    let all = profile.samples().all.max(1) as f64;
    let table = |(what, mut shares): (&'static str, Vec<(String, Count)>)| {
        shares.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
        let share = |n: Count| Quantity::new(n as f64 * 100.0 / all, Form::Percent);
        let title = format!("{}, {what}", number::capitalised(&place(result)));
        let rows = shares.into_iter().map(|(name, n)| row(name, [share(n)]));
        Table::new(title, what, ["share of the samples"]).with_parameters(rows)
    };
    [("part", of_map(&profile.parts)), ("function", functions), ("core", cores)].into_iter().map(table).collect()
}

fn figure(at: usize, result: &MetricResult<'_>, profile: &Profile) -> Figure {
    let title = format!("Flame graph, {}", place(result));
    let flame = FlameGraph {
        id: format!("profile-{at}"),
        title: title.clone(),
        description: in_words(profile).unwrap_or_default(),
        stacks: profile.stacks.clone(),
        width: WIDTH,
    };
    let [all, tester, others] = [profile.samples().all, profile.tester, profile.others].map(number::grouped);
    let caption = format!(
        "{title}: {all} samples of {}, {} a second of each core. Point at a box for its name. Not drawn: {tester} samples of the \
         tester's own code and {others} of other programs on the same cores.",
        profile.event, profile.frequency
    );
    Figure { caption, drawing: Drawing::Flame(flame), wide: true }
}

const KNOWN: &[KnownValue] = &[KnownValue {
    metric: LOCK_WAIT.key,
    device: "waits for locks in 12.5 % of its time",
    truth: Some(125_000),
    error: EXACT,
    point: || {
        let keys = Stacks { duration: Nanos::from_secs(10), frequency: 1_000, rate: None };
        let control = ControlTruth { waiting: Ratio::from_ppm(125_000), ..ControlTruth::default() };
        KnownPoint { phase2: Some(HELD), ..KnownPoint::new(keys, known::controlled(control)) }
    },
}];
