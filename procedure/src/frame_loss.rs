//! Frame loss rate (RFC 2544 section 26.3): the share of lost frames at falling loads. No trial
//! fails; invalid ones are repeated.

use crate::known;
use crate::prelude::*;
use crate::throughput::THROUGHPUT;
use document::scale::Axis;
use document::svg::{Plot, Point, Series, highest, in_words};
use document::{Drawing, Figure, number};
use key::kind::{list, rate, share};
use method::SearchStep;
use method::search::{StepVerdict, probe};
use std::collections::BTreeMap;

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "frame-loss",
    title: "Frame loss rate",
    summary: "one trial at each of a series of falling loads, until two successive trials lose no frame",
    tables: &[KeyTable::of::<FrameLoss>("frame-loss")],
    search,
    sections: &[section, by_kind],
    known: KNOWN,
    metrics: &[
        FRAME_LOSS_RATE,
        FRAME_LOSS_RATE.part(WAYS[0], "Frame loss rate, left to right", PPM, ONE_WAY),
        FRAME_LOSS_RATE.part(WAYS[1], "Frame loss rate, right to left", PPM, ONE_WAY),
    ],
    both_ways: &[("frame loss rate", WAYS)],
    ..Procedure::of(&FRAME_LOSS_RATE)
};

const PPM: Unit = Unit::PartsPerMillion;
const WAYS: [&str; 2] = ["frame_loss_rate_forward", "frame_loss_rate_reverse"];
const ONE_WAY: &str =
    "The share of the frames sent in this direction that are not received right, at the highest load.";

/// The loss at each offered load.
pub const FRAME_LOSS_RATE: Metric = Metric {
    key: "frame_loss_rate",
    title: "Frame loss rate at the highest load",
    unit: Unit::PartsPerMillion,
    reference: "RFC 2544 section 26.3",
    higher_is_better: false,
    definition: "The share of the frames sent that are not received right, at each of a series of falling loads; the \
                 value is that at the highest load.",
    by_kind: true,
    trials: TrialKind::AtLoads,
    ..Metric::USUAL
};

key::table! {
    /// The loads at which the frame loss rate is measured.
    pub struct FrameLoss {
        /// Distance of two loads, as a share of the highest; RFC 2544 allows at most 10 %.
        step_ppm: u32 = "step", share(), or("10 %").conforms();
        /// The loads themselves, for devices far below the line rate.
        loads: Option<Vec<WrittenRate>> = "loads", maybe(list(rate())), computed("from `max-rate` down in steps");
    }
}

impl FrameLoss {
    /// Loads per direction, the highest first and at most `highest`, for frames of this size.
    pub fn loads(&self, highest: Rate, frame: usize) -> Vec<Rate> {
        let Some(written) = &self.loads else { return falling(highest, self.step_ppm) };
        let mut loads: Vec<Rate> =
            written.iter().map(|load| Rate(load.frames_per_second(frame)).min(highest)).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.reverse();
        loads
    }

    /// Returns the largest distance between successive loads for frames of this size, in parts per million of the
    /// highest load.
    pub(crate) fn largest_step(&self, frame: usize) -> u32 {
        if self.loads.is_none() {
            return self.step_ppm;
        }
        let loads = self.loads(Rate(u64::MAX), frame);
        let highest = loads.first().map_or(1, |load| load.0.max(1));
        let step = loads.windows(2).map(|pair| pair[0].0 - pair[1].0).max().unwrap_or(highest);
        (u128::from(step) * 1_000_000 / u128::from(highest)) as u32
    }
}

/// Successive trials without loss that end the series.
const WITHOUT_LOSS: u32 = 2;

/// Measures the loss at each load, per direction, the highest first.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let settings = context.settings;
    let loads = context.keys.get::<FrameLoss>().loads(settings.hi, context.frame[1]);
    let (Some(&highest), Some(&lowest)) = (loads.first(), loads.last()) else {
        return Err(TrialError::Refused("the frame loss rate needs at least one load".to_owned()));
    };
    let trial = data_trial(settings, context.phase2()?)?;
    let mut decider = Decider::new(trials, settings);
    let mut result = SearchResult::empty();
    let (mut without_loss, mut undecided) = (0, None);
    let mut parts = BTreeMap::new();
    for (at, &rate) in loads.iter().enumerate() {
        watch(&Progress { lo: lowest, hi: highest, rate, steps_left: (loads.len() - at) as u32 });
        let spec = TrialSpec { rate, ..trial.clone() };
        let judgement = decider.decide(&spec, &probe(&spec), Patience::Repeat)?;
        result.note(rate, &judgement);
        if let Decision::TesterBound(reason) | Decision::HostBound(reason) = judgement.decision {
            (undecided, without_loss) = (Some(reason), 0);
            continue;
        }
        if at == 0 && settings.direction.count() == 2 {
            let outcome = &judgement.last().outcome;
            for (key, leg) in WAYS.into_iter().zip([&outcome.forward, &outcome.reverse]) {
                parts.insert(key.to_owned(), loss_ppm(leg.lost(), leg.sent).cast_signed());
            }
        }
        let step = result.trace.last().expect("a step was noted");
        without_loss = if step.lost == 0 { without_loss + 1 } else { 0 };
        if without_loss == WITHOUT_LOSS {
            break;
        }
    }
    let decided = |verdict| matches!(verdict, StepVerdict::Pass | StepVerdict::Fail);
    // The value is that of the highest load.
    let loss = result.trace.first().filter(|step| decided(step.verdict)).map(|step| loss_ppm(step.lost, step.sent));
    let kind = if loss.is_some() { ResultKind::Observed } else { ResultKind::NothingMeasured };
    Ok(SearchResult { rate: Rate(loss.unwrap_or(0)), kind, tester_limit: undecided, parts, ..result })
}

/// Parts per million of the frames sent, rounded to the nearest.
pub fn loss_ppm(lost: Count, sent: Count) -> u64 {
    let (lost, sent) = (u128::from(lost), u128::from(sent.max(1)));
    ((lost * 1_000_000 + sent / 2) / sent) as u64
}

/// Loads in steps of a share of the highest: for 10 %, ten loads from the highest to a tenth of it.
pub fn falling(highest: Rate, step_ppm: u32) -> Vec<Rate> {
    let steps = 1_000_000 / u64::from(step_ppm.max(1));
    let share = |k: u64| 1_000_000 - k * u64::from(step_ppm);
    (0..steps).map(|k| highest.scaled(share(k), 1_000_000)).filter(|load| load.0 > 0).collect()
}

fn section(results: &Results<'_>) -> Option<Section> {
    let results = results.of(&[FRAME_LOSS_RATE.key]);
    section_of(
        &results,
        "Frame loss rate",
        "Loss in percent of the frames sent, at each offered load in percent of the highest (RFC 2544, section 26.3). \
                Marks are medians of the repetitions; bars reach from the smallest to the largest.",
        |named| Section { figures: vec![curve(&results)], ..named },
    )
}

fn curve(results: &[&MetricResult<'_>]) -> Figure {
    let curves = results.iter().flat_map(|result| {
        let place = result.place.clone();
        let of_kind = |(name, kind)| (format!("{place}{name}"), points(result, kind));
        KINDS.map(of_kind).into_iter().filter(|(_, points)| !points.is_empty())
    });
    let series: Vec<Series> = curves.enumerate().map(|(at, (name, points))| Series::marked(at, name, points)).collect();
    let most = highest(&series);
    let plot = Plot {
        id: "frame-loss".to_owned(),
        title: "Frame loss rate".to_owned(),
        description: in_words(&series, |p| format!("{:.2} % at {:.0} %", p.y, p.x)),
        x: Axis::linear(("offered load", "% of the highest"), 100.0),
        y: Axis::linear(("loss", "%"), if most > 95.0 { 100.0 } else { (most * 1.05).max(0.01) }),
        series,
        size: (1000.0, 300.0),
        ..Plot::default()
    };
    let highest = results.iter().flat_map(|result| result.steps()).map(|step| step.rate.0).max();
    let highest = number::si_unit(highest.unwrap_or(0) as f64, 3, "fps");
    let caption = format!("Frame loss rate. 100 % are {highest} per direction.");
    Figure { caption, drawing: Drawing::Plot(plot), wide: true }
}

/// Loss of all frames in a trial, or of one of two kinds.
type LossKind = fn(&SearchStep) -> Option<f64>;
const KINDS: [(&str, LossKind); 3] = [
    ("", |step| (step.sent > 0).then(|| step.lost as f64 / step.sent as f64)),
    (", foreground", |step| step.loss_by_kind().map(|shares| shares[0])),
    (", native", |step| step.loss_by_kind().map(|shares| shares[1])),
];

/// The loss at each load over all repetitions.
fn points(result: &MetricResult<'_>, kind: LossKind) -> Vec<Point> {
    let mut losses: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for step in result.decided() {
        if let Some(share) = kind(step) {
            losses.entry(step.rate.0).or_default().push(share * 100.0);
        }
    }
    let highest = losses.keys().next_back().copied().unwrap_or(1).max(1) as f64;
    let point = |(rate, mut losses): (u64, Vec<f64>)| {
        losses.sort_by(f64::total_cmp);
        let median = method::stats::median_of(&losses).unwrap_or(0.0);
        let whisker = (losses.len() > 1).then(|| (losses[0], losses[losses.len() - 1]));
        Point { whisker, ..Point::at(rate as f64 * 100.0 / highest, median) }
    };
    losses.into_iter().map(point).collect()
}

/// The section of all throughputs of both kinds.
fn by_kind(results: &Results<'_>) -> Option<Section> {
    let mut all = results.of(&[THROUGHPUT.key]);
    all.retain(|result| result.steps().any(is_mixed));
    section_of(
        &all,
        "Frame loss of each kind",
        "The throughput is that of foreground and native frames together. Here is what of each kind was lost at the lowest \
                rate that failed: medians of the repetitions (RFC 8219, section 5.3).",
        |named| Section { tables: vec![lowest(&all)], ..named },
    )
}

fn lowest(all: &[&MetricResult<'_>]) -> Table {
    let failed: Vec<Vec<&SearchStep>> = all.iter().map(|result| lowest_failed(result)).collect();
    let median = |of: &dyn Fn(&SearchStep) -> Option<f64>| {
        let each = failed.iter().map(|steps| {
            let values: Vec<f64> = steps.iter().filter_map(|step| of(step)).collect();
            method::stats::median_of(&values)
        });
        each.collect::<Vec<_>>()
    };
    let percent = |kind: usize| {
        let shares = median(&|step| step.loss_by_kind().map(|shares| shares[kind]));
        shares.into_iter().map(|share| share.map(|share| Quantity::new(share * 100.0, Form::Digits(3, " %"))))
    };
    let rates = median(&|step| Some(step.rate.0 as f64)).into_iter();
    let count = |rate: f64| Quantity::count(rate as u64);
    Table::new("Lowest rate that failed", "device", names(all)).with_parameters([
        row("rate, frames/s per direction", rates.map(|rate| rate.map(count))),
        row("loss of foreground frames", percent(0)),
        row("loss of native frames", percent(1)),
    ])
}

fn is_mixed(step: &SearchStep) -> bool {
    step.loss_by_kind().is_some()
}

fn lowest_failed<'a>(result: &MetricResult<'a>) -> Vec<&'a SearchStep> {
    let failed = |step: &&SearchStep| step.verdict == StepVerdict::Fail && is_mixed(step);
    let traces = result.repetitions.iter().map(|repetition| repetition.trace);
    traces.filter_map(|trace| trace.iter().filter(failed).min_by_key(|step| step.rate)).collect()
}

const KNOWN: &[KnownValue] = &[KnownValue {
    metric: FRAME_LOSS_RATE.key,
    device: "forwards 600,000 of 800,000 frames/s",
    truth: Some(250_000),
    error: EXACT,
    point: || {
        let keys = FrameLoss { step_ppm: 100_000, loads: Some(vec![WrittenRate::Frames(800_000)]) };
        KnownPoint::new(keys, known::simulated())
    },
}];
