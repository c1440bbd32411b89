//! What arrived in each direction: the direction that limits a rate, frames that were wrong at rates that passed, and
//! frames that were out of order, duplicate or late (RFC 2544 section 26.3, RFC 4737, RFC 8219 section 5.3).

use super::number::{self, grouped};
use method::trial::{Fault, Leg, TrialOutcome};
use method::validity::Stream;
use method::{Count, Rate, TrialRecord, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Frames of one direction in all trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WayCounts {
    /// Frames sent.
    pub sent: Count,
    /// Of these: not received right.
    pub lost: Count,
    /// Right frames that arrived after a later one.
    pub reordered: Count,
    /// Frames that arrived once more.
    pub duplicate: Count,
    /// Frames of an earlier trial.
    pub late: Count,
}

impl WayCounts {
    fn add(&mut self, leg: &Leg) {
        self.sent += leg.sent;
        self.lost += leg.lost();
        self.reordered += leg.reordered;
        self.duplicate += leg.faults.get(Fault::Duplicate);
        self.late += leg.faults.get(Fault::Late);
    }

    fn in_words(&self) -> String {
        let [sent, lost, reordered, duplicate, late] =
            [self.sent, self.lost, self.reordered, self.duplicate, self.late].map(grouped);
        format!("{lost} of {sent} lost, {reordered} reordered, {duplicate} duplicate, {late} late")
    }
}

/// The legs of a trial that go left to right, and right to left.
fn legs(outcome: &TrialOutcome) -> [Vec<(Stream, &Leg)>; 2] {
    let validation = outcome.validation.as_ref().map(|leg| (Stream::Validation, leg));
    let reverse = [Some((Stream::Reverse, &outcome.reverse)), validation];
    [vec![(Stream::Forward, &outcome.forward)], reverse.into_iter().flatten().collect()]
}

pub(super) fn counts(trials: &[TrialRecord]) -> [WayCounts; 2] {
    let mut ways = [WayCounts::default(); 2];
    for trial in trials {
        for (way, legs) in ways.iter_mut().zip(legs(&trial.outcome)) {
            for (_, leg) in legs {
                way.add(leg);
            }
        }
    }
    ways
}

pub(super) fn of_trial(outcome: &TrialOutcome) -> [WayCounts; 2] {
    legs(outcome).map(|legs| {
        let mut way = WayCounts::default();
        for (_, leg) in legs {
            way.add(leg);
        }
        way
    })
}

/// A stream in words, for the end of a sentence.
pub(super) fn way(stream: Stream) -> &'static str {
    match stream {
        Stream::Forward => "left to right",
        Stream::Reverse => "right to left",
        Stream::Validation => "right to left, in the validation",
    }
}

const WAYS: [&str; 2] = ["left to right", "right to left"];

/// A sentence for each direction with frames.
pub(super) fn in_words(ways: &[WayCounts; 2]) -> String {
    let each = WAYS.iter().zip(ways).filter(|(_, counts)| counts.sent > 0);
    let each = each.map(|(way, counts)| format!(" {}: {}.", number::capitalised(way), counts.in_words()));
    each.collect::<Vec<_>>().concat()
}

/// For the end screen: directions with reordered or late frames. Duplicates count as faulty frames.
pub(super) fn doubt(ways: &[WayCounts; 2]) -> Option<String> {
    let is_uneven = |counts: &WayCounts| counts.reordered > 0 || counts.late > 0;
    let each = WAYS.iter().zip(ways).filter(|(_, counts)| is_uneven(counts));
    let each: Vec<String> = each.map(|(way, counts)| format!("{} {way}", counts.in_words())).collect();
    (!each.is_empty()).then(|| format!("Frames arrived out of order or late: {}.", each.join("; ")))
}

/// The one of two directions that lost frames.
pub(super) fn only(lost: [Count; 2], sent: [Count; 2]) -> Option<Stream> {
    match (lost, sent) {
        (_, [0, _] | [_, 0]) | ([0, 0], _) => None,
        ([_, 0], _) => Some(Stream::Forward),
        ([0, _], _) => Some(Stream::Reverse),
        _ => None,
    }
}

/// The only direction of two that lost frames in the failed trials at these rates.
pub(super) fn limiting(rates: &[Rate], trials: &[&TrialRecord]) -> Option<Stream> {
    let (mut lost, mut sent) = ([0; 2], [0; 2]);
    for trial in trials {
        if matches!(trial.verdict, Verdict::Fail(_)) && rates.contains(&trial.spec.rate) {
            let ways = of_trial(&trial.outcome);
            lost = [0, 1].map(|at| lost[at] + ways[at].lost);
            sent = [0, 1].map(|at| sent[at] + ways[at].sent);
        }
    }
    only(lost, sent)
}

/// Frames of one kind and stream that arrived wrong in valid trials at rates up to the highest that passed: no load
/// explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WrongFrames {
    /// The stream.
    pub stream: Stream,
    /// What was wrong.
    pub fault: Fault,
    /// How many.
    pub frames: Count,
    /// Frames sent in these trials.
    pub sent: Count,
}

/// The wrong frames at rates up to `passed`.
pub(super) fn wrong(passed: Rate, trials: &[&TrialRecord]) -> Vec<WrongFrames> {
    let mut sent = BTreeMap::new();
    let mut wrong = BTreeMap::new();
    let valid = trials.iter().filter(|trial| !matches!(trial.verdict, Verdict::Invalid(_)));
    for trial in valid.filter(|trial| trial.spec.searched_rate() <= passed) {
        for (stream, leg) in legs(&trial.outcome).into_iter().flatten() {
            *sent.entry(stream as u8).or_insert(0) += leg.sent;
            for (fault, frames) in leg.faults.of_device() {
                wrong.entry((stream as u8, fault)).or_insert((stream, 0)).1 += frames;
            }
        }
    }
    let frames = |((key, fault), (stream, frames))| WrongFrames { stream, fault, frames, sent: sent[&key] };
    wrong.into_iter().map(frames).collect()
}
