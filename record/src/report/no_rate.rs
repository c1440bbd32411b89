//! Why a result has no rate, in words: a loss that no rate causes, or a table that is too small.

use super::facts::fault_name;
use super::number::{self, grouped, plural, si, significant};
use super::result::PointResult;
use method::ResultKind;
use method::search::{FlatLoss, NoRate, SmallTable};
use method::validity::Stream;
use procedure::metric::Gives;

/// Below it shares are in parts per million.
const IN_PPM: f64 = 1e-4;
/// A share above it leaves no throughput, whatever is tolerated.
const MOST_TOLERATED: f64 = 0.01;

/// "20 ppm (12–31) of the frames arrive with a wrong port at every rate from 1 k to 1 M/s, right to left".
pub fn in_words(why: &NoRate) -> String {
    match why {
        NoRate::FlatLoss(flat) => flat.iter().map(of_stream).collect::<Vec<_>>().join("; "),
        NoRate::SmallTable(SmallTable { holds, opened, lowest, highest }) => {
            let at = format!("at every rate from {} to {}/s", si(lowest.0 as f64, 3), si(highest.0 as f64, 3));
            format!("the table holds {} of {} connections, {at}", grouped(*holds), grouped(*opened))
        }
    }
}

fn of_stream(flat: &FlatLoss) -> String {
    let [low, high] = flat.interval();
    let (factor, unit) = if flat.share() < IN_PPM { (1e6, "ppm") } else { (1e2, "%") };
    let [low, share, high] = [low, flat.share(), high].map(|share| significant(share * factor, 2));
    let what = flat.fault.map_or_else(|| "are lost".to_owned(), |fault| format!("arrive {}", fault_name(fault)));
    let at = match [flat.lowest, flat.highest].map(|rate| si(rate.0 as f64, 2)) {
        [lowest, highest] if lowest == highest => format!("at {lowest}/s"),
        [lowest, highest] => format!("at every rate from {lowest} to {highest}/s"),
    };
    format!("{share} {unit} ({low}–{high}) of the frames {what} {at}, {}", way(flat.stream))
}

/// A stream as the end of a sentence has it.
pub(crate) fn way(stream: Stream) -> &'static str {
    match stream {
        Stream::Forward => "left to right",
        Stream::Reverse => "right to left",
        Stream::Validation => "right to left, in the validation",
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

/// What tolerates twice the largest share that the interval has.
fn way_out(result: &PointResult, why: &NoRate) -> Option<String> {
    let NoRate::FlatLoss(flat) = why else { return None };
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

#[cfg(test)]
mod tests {
    use super::*;
    use method::{Fault, Rate};

    #[test]
    fn a_reason_names_share_interval_kind_rates_and_direction() {
        let lost = FlatLoss {
            stream: Stream::Reverse,
            fault: Some(Fault::WrongPort),
            wrong: 20,
            sent: 1_000_000,
            lowest: Rate(1_000),
            highest: Rate(1_000_000),
        };
        let half =
            FlatLoss { stream: Stream::Forward, fault: None, wrong: 500, sent: 1_000, highest: Rate(1_000), ..lost };
        assert_eq!(
            in_words(&NoRate::FlatLoss(vec![half, lost])),
            "50 % (47–53) of the frames are lost at 1 k/s, left to right; \
             20 ppm (13–31) of the frames arrive with a wrong port at every rate from 1 k to 1 M/s, right to left"
        );
        let table = SmallTable { holds: 29_000, opened: 30_000, lowest: Rate(62_500), highest: Rate(250_000) };
        assert_eq!(
            in_words(&NoRate::SmallTable(table)),
            "the table holds 29,000 of 30,000 connections, at every rate from 62.5 k to 250 k/s"
        );
    }

    #[test]
    fn what_is_tolerated_has_one_digit() {
        assert_eq!([62e-6, 1e-4, 0.0011, 3e-7].map(tolerated), [Some(1e-4), Some(1e-4), Some(0.002), Some(1e-6)]);
        assert_eq!(tolerated(0.9), None);
    }
}
