//! How sure a result is: one of three words with its reasons, the first of which decides. METHODOLOGY.md, "How sure", has the rule.

use super::evidence::{self, Limit};
use super::number::{self, percent, plural};
use super::result::{PointResult, Sure, SureWord};
use super::{Report, facts, limits};
use method::ResultKind;
use method::stats::Interval;
use std::mem::Discriminant;

/// Widest interval of a value that is sure: half of its width, as a share of the median.
const NARROW: f64 = 0.05;

/// Why a result is not sure, in the order in which they are said.
#[derive(Clone, Debug)]
enum Cause {
    Tester,
    Host(Limit),
    Noise,
    NoTrial,
    ClosedLoop,
    /// Figures, of so many repetitions: fewer than half.
    Half(usize, usize),
    /// The same: at least half, not all.
    Missing(usize, usize),
    Few(usize),
    Wide(f64),
    Early,
    Strict,
    Asked,
    Open(Limit),
    /// Why there is none, in parentheses.
    NoNull(String),
}

impl Cause {
    fn word(&self) -> SureWord {
        match self {
            Cause::Tester | Cause::Host(_) | Cause::Noise | Cause::NoTrial | Cause::ClosedLoop | Cause::Half(..) => {
                SureWord::Low
            }
            _ => SureWord::Medium,
        }
    }

    /// Whether tester or machine decided.
    fn is_of_host(&self) -> bool {
        self.word() == SureWord::Low && !matches!(self, Cause::Half(..))
    }

    /// Place among the causes, those of the lowest word first.
    fn rank(&self) -> (SureWord, u8) {
        let place = match self {
            Cause::Tester | Cause::Missing(..) => 0,
            Cause::Host(_) | Cause::Few(_) => 1,
            Cause::Noise | Cause::Wide(_) => 2,
            Cause::NoTrial | Cause::Early | Cause::Strict => 3,
            Cause::ClosedLoop | Cause::Asked => 4,
            Cause::Half(..) | Cause::Open(_) | Cause::NoNull(_) => 5,
        };
        (self.word(), place)
    }

    /// One sentence about causes of one kind.
    fn in_words(alike: &[&Cause]) -> String {
        let limits: Vec<&Limit> = alike
            .iter()
            .filter_map(|cause| match cause {
                Cause::Host(limit) | Cause::Open(limit) => Some(limit),
                _ => None,
            })
            .collect();
        let to = if alike.len() > 1 { "up to " } else { "" };
        match alike[0] {
            Cause::Tester => "The tester was the limit, not the device".to_owned(),
            Cause::Host(_) => {
                format!("This machine was the limit, not the device: {}", evidence::reasons(&limits))
            }
            Cause::Noise => "This machine was too busy at higher rates: the device may do more".to_owned(),
            Cause::NoTrial => "No trial was valid".to_owned(),
            Cause::ClosedLoop => "Device and tester ran on one thread: each rate is that of both".to_owned(),
            Cause::Half(figures, of) | Cause::Missing(figures, of) => {
                format!("{figures} of {} gave a figure", plural(*of as u64, "repetition"))
            }
            Cause::Few(n) => {
                format!("{}: an interval needs {}", plural(*n as u64, "repetition"), Interval::LEAST_VALUES)
            }
            Cause::Wide(_) => {
                let widest = alike.iter().map(|cause| if let Cause::Wide(share) = cause { *share } else { 0.0 });
                let widest = percent(widest.fold(0.0, f64::max) * 100.0);
                format!("The repetitions differ: the interval is {to}± {widest} wide")
            }
            Cause::Early => "Invalid trials ended searches early: the device may do more".to_owned(),
            Cause::Strict => {
                "This machine was too busy for valid trials: every lost frame counts as the device's".to_owned()
            }
            Cause::Asked => "The device passed all that the scenario asks for: it may do more".to_owned(),
            Cause::Open(_) => {
                format!("Whether the device was the limit is not shown: {}", evidence::reasons(&limits))
            }
            Cause::NoNull(why) => {
                format!("Nothing shows what device, machine and tester each take: no null device was measured{why}")
            }
        }
    }
}

/// How sure one result is.
pub(super) fn of_result(report: &Report, result: &PointResult) -> Sure {
    let causes = causes(report, result);
    let word = causes.iter().map(Cause::word).min().unwrap_or(SureWord::High);
    Sure { word, reasons: causes.iter().map(|cause| Cause::in_words(&[cause])).collect() }
}

/// How sure a run is: as its least sure result.
pub(super) fn of(report: &Report) -> Sure {
    let results: Vec<&PointResult> = report.results.iter().collect();
    let each = results.iter().flat_map(|result| causes(report, result).into_iter().map(move |cause| (*result, cause)));
    let mut each: Vec<(&PointResult, Cause)> = each.collect();
    each.sort_by_key(|(_, cause)| cause.rank());
    let kind = |(_, cause): &(&PointResult, Cause)| -> Discriminant<Cause> { std::mem::discriminant(cause) };
    let groups = document::grouped_by(each.iter(), |one| kind(one)).into_iter().map(|(_, alike)| {
        let (of, causes): (Vec<&PointResult>, Vec<&Cause>) =
            alike.iter().map(|(result, cause)| (*result, cause)).unzip();
        let of = document::distinct(of.into_iter().map(std::ptr::from_ref));
        let of: Vec<&PointResult> = results.iter().copied().filter(|r| of.contains(&std::ptr::from_ref(*r))).collect();
        (causes[0].word(), format!("{}{}", Cause::in_words(&causes), limits::places(&of, &results)))
    });
    let mut all: Vec<(SureWord, String)> = of_run(report).into_iter().chain(groups).collect();
    let word = all.iter().map(|(word, _)| *word).min().unwrap_or(SureWord::High);
    let is_of_host = each.iter().any(|(_, cause)| cause.is_of_host());
    if let Some(few) = facts::too_few_cores(report).filter(|_| is_of_host) {
        let first = &mut all[0].1;
        first.extend([". ", &few]);
    }
    Sure { word, reasons: all.into_iter().map(|(_, words)| words).collect() }
}

/// What spoils every result of a run.
fn of_run(report: &Report) -> Vec<(SureWord, String)> {
    let mut all = Vec::new();
    let mut say = |holds: bool, word, words: &str| all.extend(holds.then(|| (word, words.to_owned())));
    say(!report.audit.findings.is_empty(), SureWord::Low, "The record of this run is damaged: do not use its figures");
    say(
        report.self_test.as_ref().is_some_and(|test| !test.passed),
        SureWord::Low,
        "The tester's self-test failed: do not use these figures",
    );
    let (done, all_of) = (report.measured, report.planned);
    let words = format!("{} of {} are done", number::grouped(done as u64), plural(all_of as u64, "measurement"));
    say(done * 2 < all_of, SureWord::Low, &words);
    say(done * 2 >= all_of && done < all_of, SureWord::Medium, &words);
    all
}

fn causes(report: &Report, result: &PointResult) -> Vec<Cause> {
    let mut causes = Vec::new();
    let all = result.repetitions.len();
    let needed = result.ended_narrow.map_or(result.planned, |last| last as usize).max(all);
    // That no rate causes the loss is a finding about the device.
    let is_figure = |kind: ResultKind| {
        kind == ResultKind::NoRate || kind.is_figure().unwrap_or_else(|| !facts::is_testers_limit(report, result))
    };
    let figures = result.repetitions.iter().filter(|one| is_figure(one.bound)).count();
    causes.extend((result.closed_loop > 0).then_some(Cause::ClosedLoop));
    let decided = decided_by(result.bound).filter(|_| all > 0 && figures * 2 <= all);
    if let Some(decided) = decided {
        causes.push(decided);
    } else if figures * 2 < needed {
        causes.push(Cause::Half(figures, needed));
    } else if figures < needed {
        causes.push(Cause::Missing(figures, needed));
    }
    if let Some(median) = result.median().filter(|median| *median > 0.0 && !result.nothing_passed()) {
        match result.interval.filter(|_| result.has_interval()) {
            None if evidence::is_said_to_be_few(report, result) => {}
            None => causes.push(Cause::Few(all)),
            Some(interval) => {
                let half = (interval.high - interval.low) / 2.0 / median;
                causes.extend((half > NARROW).then_some(Cause::Wide(half)));
            }
        }
    }
    match result.bound {
        ResultKind::Between => causes.push(Cause::Early),
        ResultKind::Strict => causes.push(Cause::Strict),
        ResultKind::AtUpperLimit if !facts::is_testers_limit(report, result) => causes.push(Cause::Asked),
        ResultKind::Exact if result.closed_loop == 0 => causes.extend(match evidence::limit(report, result) {
            Limit::Device(_) | Limit::Simulated => None,
            limit @ Limit::Host(_) => Some(Cause::Host(limit)),
            limit @ Limit::Open(_) => Some(Cause::Open(limit)),
            Limit::NoNull => Some(Cause::NoNull(evidence::no_null_device(report))),
        }),
        _ => {}
    }
    causes.sort_by_key(Cause::rank);
    causes
}

/// Who decided a result that is no figure of the device.
fn decided_by(bound: ResultKind) -> Option<Cause> {
    match bound {
        ResultKind::TesterLimit | ResultKind::AtUpperLimit => Some(Cause::Tester),
        ResultKind::HostLimit | ResultKind::Below => Some(Cause::Noise),
        ResultKind::NothingMeasured => Some(Cause::NoTrial),
        _ => None,
    }
}
