//! Losses that no rate causes, in words: why a result has no rate, and what was wrong at rates that passed.

use super::number::{self, grouped, plural, si, significant};
use super::result::PointResult;
use super::ways::{WrongFrames, way};
use method::search::{FlatLoss, LateFrames, NoRate, SmallTable};
use method::{Fault, Rate, ResultKind};
use procedure::metric::Gives;

/// Below it shares are in parts per million.
const IN_PPM: f64 = 1e-4;
/// A share above it leaves no throughput, whatever is tolerated.
const MOST_TOLERATED: f64 = 0.01;

/// "20 ppm (12–31) of the frames right to left arrive with a wrong port at every rate from 1 k to 1 M/s".
pub fn in_words(why: &NoRate) -> String {
    match why {
        NoRate::FlatLoss(flat) => {
            let kinds = document::grouped_by(flat, |of| of.fault);
            kinds.into_iter().map(|(fault, alike)| of_kind(fault, &alike)).collect::<Vec<_>>().join("; ")
        }
        NoRate::LateFrames(LateFrames { late, sent, lowest, highest }) => {
            let (late, sent, at) = (grouped(*late), grouped(*sent), at_rates(*lowest, *highest));
            format!("`drain` is too short: {late} of {sent} frames arrived after the end of their trial{at}")
        }
        NoRate::SmallTable(SmallTable { holds, opened, counted, lowest, highest }) => {
            let (holds, opened, at) = (grouped(*holds), grouped(*opened), at_rates(*lowest, *highest));
            if *counted {
                format!("the table holds {holds} of {opened} connections{at}")
            } else {
                format!("{holds} of {opened} connections work{at}, as with a table of that size")
            }
        }
    }
}

/// Streams whose frames have the same fault, or were lost.
fn of_kind(fault: Option<Fault>, alike: &[&FlatLoss]) -> String {
    let what = fault.map_or_else(|| "are lost".to_owned(), |fault| format!("arrive {}", as_what(fault)));
    let shares = alike.iter().map(|of| {
        if let Some([least, most]) = of.of_each_trial {
            let frames = if least == most { grouped(least) } else { format!("{}–{}", grouped(least), grouped(most)) };
            return format!("{frames} of each trial's frames {}", way(of.stream));
        }
        let [low, high] = of.interval();
        let (factor, unit) = if of.share() < IN_PPM { (1e6, "ppm") } else { (1e2, "%") };
        let [low, share, high] = [low, of.share(), high].map(|share| significant(share * factor, 2));
        format!("{share} {unit} ({low}–{high}) of the frames {}", way(of.stream))
    });
    let shares = shares.collect::<Vec<_>>().join(" and ");
    let at = alike.first().map_or_else(String::new, |of| at_rates(of.lowest, of.highest));
    format!("{shares} {what}{at}")
}

/// A fault behind "arrived".
fn as_what(fault: Fault) -> String {
    match fault {
        Fault::IcmpError | Fault::Fragment => format!("as {}", fault.name()),
        Fault::Late => "after the end of their trial".to_owned(),
        fault => fault.name().to_owned(),
    }
}

fn at_rates(lowest: Rate, highest: Rate) -> String {
    match [lowest, highest].map(|rate| si(rate.0 as f64, 2)) {
        [lowest, highest] if lowest == highest => format!(" at {lowest}/s"),
        [lowest, highest] => format!(" at every rate from {lowest} to {highest}/s"),
    }
}

/// The repetitions without a rate, with the first reason.
pub(super) fn of(result: &PointResult) -> Option<&NoRate> {
    result.repetitions.iter().find_map(|repetition| repetition.evidence.no_rate.as_ref())
}

/// "no throughput: 20 ppm … right to left"; `None` if some repetition has a rate.
pub(super) fn headline(result: &PointResult) -> Option<String> {
    let why = of(result).filter(|_| result.has_no_rate())?;
    let what = result.known.map_or(result.metric.clone(), |metric| number::uncapitalised(metric.title));
    Some(format!("no {what}: {}", in_words(why)))
}

/// A sentence on the repetitions without a rate where others have one, and on what would give a rate.
pub(super) fn sentences(result: &PointResult) -> Vec<String> {
    let Some(why) = of(result) else { return Vec::new() };
    let (n, all) = (result.count(ResultKind::NoRate), result.repetitions.len());
    let some = format!("{n} of {} found no rate: {}", plural(all as u64, "repetition"), in_words(why));
    (n < all && !result.has_no_rate()).then_some(some).into_iter().chain(way_out(result, why)).collect()
}

/// The setting that tolerates twice the upper end of the largest interval.
fn way_out(result: &PointResult, why: &NoRate) -> Option<String> {
    let NoRate::FlatLoss(flat) = why else { return None };
    if flat.iter().any(|of| of.fault == Some(Fault::Late)) {
        return Some("a longer `drain` would give a rate".to_owned());
    }
    if flat.iter().any(|of| of.of_each_trial.is_some()) {
        if result.gives(Gives::SetUpRate) {
            let same = || "each trial loses as many: the device may refuse the same connections".to_owned();
            return flat.iter().all(|of| of.fault.is_none()).then(same);
        }
        return Some("a longer trial has a smaller share of such frames".to_owned());
    }
    let largest = flat.iter().map(|of| of.interval()[1]).fold(0.0, f64::max);
    let tolerated = tolerated(2.0 * largest).filter(|share| *share <= MOST_TOLERATED)?;
    let accepted = significant(100.0 * (1.0 - tolerated), 7);
    Some(if result.gives(Gives::SetUpRate) {
        format!("`phase1-acceptance = \"{accepted} %\"` would give a rate")
    } else {
        let loss = significant(100.0 * tolerated, 1);
        format!("`acceptance = \"{accepted} %\"`, or a goal of MLRsearch with `loss = \"{loss} %\"`, would give a rate")
    })
}

/// The smallest share from 1, 2, 5, 10, … ppm on that is not below this one.
fn tolerated(least: f64) -> Option<f64> {
    let shares = (0..6).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power - 6)));
    shares.into_iter().find(|share| *share >= least)
}

/// "a fault of the device, at rates that passed: 12 of 1,000,000 frames arrived with a bad checksum, left to right".
pub(super) fn fault(wrong: &[WrongFrames]) -> Option<String> {
    let each = wrong.iter().map(|WrongFrames { stream, fault, frames, sent }| {
        let (frames, sent) = (grouped(*frames), grouped(*sent));
        match fault {
            Fault::Duplicate => format!("{frames} of {sent} frames arrived twice, {}", way(*stream)),
            fault => format!("{frames} of {sent} frames arrived {}, {}", as_what(*fault), way(*stream)),
        }
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("a fault of the device, at rates that passed: {}", each.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::validity::Stream;

    #[test]
    fn a_reason_names_share_interval_kind_rates_and_direction() {
        let lost = FlatLoss {
            stream: Stream::Reverse,
            fault: Some(Fault::WrongPort),
            wrong: 20,
            sent: 1_000_000,
            lowest: Rate(1_000),
            highest: Rate(1_000_000),
            of_each_trial: None,
        };
        let half =
            FlatLoss { stream: Stream::Forward, fault: None, wrong: 500, sent: 1_000, highest: Rate(1_000), ..lost };
        assert_eq!(
            in_words(&NoRate::FlatLoss(vec![half, lost.clone()])),
            "50 % (47–53) of the frames left to right are lost at 1 k/s; \
             20 ppm (13–31) of the frames right to left arrive with a wrong port at every rate from 1 k to 1 M/s"
        );
        let edges = FlatLoss { wrong: 18, of_each_trial: Some([3, 4]), fault: Some(Fault::BadChecksum), ..lost };
        assert_eq!(
            in_words(&NoRate::FlatLoss(vec![edges])),
            "3–4 of each trial's frames right to left arrive with a bad checksum at every rate from 1 k to 1 M/s"
        );
        let table =
            SmallTable { holds: 29_000, opened: 30_000, counted: true, lowest: Rate(62_500), highest: Rate(250_000) };
        assert_eq!(
            in_words(&NoRate::SmallTable(table)),
            "the table holds 29,000 of 30,000 connections at every rate from 63 k to 250 k/s"
        );
        let late = LateFrames { late: 4_968, sent: 10_000, lowest: Rate(25_000), highest: Rate(25_000) };
        assert_eq!(
            in_words(&NoRate::LateFrames(late)),
            "`drain` is too short: 4,968 of 10,000 frames arrived after the end of their trial at 25 k/s"
        );
    }

    #[test]
    fn what_is_tolerated_has_one_digit() {
        assert_eq!([62e-6, 1e-4, 0.0011, 3e-7].map(tolerated), [Some(1e-4), Some(1e-4), Some(0.002), Some(1e-6)]);
        assert_eq!(tolerated(0.9), None);
    }
}
