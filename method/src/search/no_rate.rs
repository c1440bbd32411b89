//! Looks for losses that no rate causes, so that there is no rate to find (METHODOLOGY.md, losses that no rate causes).

use super::Progress;
use super::cause::{FlatLoss, LateFrames, NoRate, SmallTable};
use super::result::{ResultKind, SearchResult, SearchStep, StepVerdict};
use crate::judged::{Attempt, Decision, Judgement};
use crate::ratio::Ratio;
use crate::trial::{Fault, FaultCounts, TrialError, TrialOutcome};
use crate::units::{Count, Nanos, Rate};
use crate::validity::{FailReason, Failure, Stream, Verdict};

/// Most trials after a search.
pub const MOST_TRIALS: u32 = 5;
/// Length of these trials, if it is a time, in lengths of the trials of the search.
pub const LONGER: u64 = 4;
/// Failed trials after a search that confirm a share.
const CONFIRMED_BY: u32 = 2;
/// Two shares differ if one is this many times the other.
const APART: f64 = 4.0;
/// Two shares of frames that passed differ from this factor on. Above an edge this share falls as the rate rises.
const PASSING_APART: f64 = 1.25;
/// An equal share is seen from one rate to this many times that rate, or at every rate tried.
const SPAN: f64 = 1.5;
/// A trial that passed where so many wrong frames are expected has another share: by chance 1 in 1,000 pass.
const EXPECTED: f64 = 7.0;
/// If at least this share is lost, the trials must show that the share that passes does not fall.
const LARGE: f64 = 0.1;
/// Logarithm of a ratio of likelihoods from which on a loss is no share of all frames.
const BETTER: f64 = 5.0;
/// From this number of passed frames on, the share that passes is known well enough.
const PASSING: Count = 5;
/// Of trials with equal numbers of frames, more than one in this many must pass: full queues may pass the same number at every rate.
const MORE_THAN_QUEUES: u64 = 10;
/// Rates with one number of connections that show the size of a table, and that number's least difference from all:
/// random losses agree at three rates with a probability below 1 in 1,000.
const EQUAL_RATES: usize = 3;
const LEAST_MISSING: Count = 100;
/// From one rate to this many times that rate, with so many wrong frames, an equal share needs no trial after the search.
const WIDE_SPAN: u64 = 8;
const MANY_WRONG: Count = 10;
/// The same for trials of equal numbers of frames, by the number of rates.
const ALIKE_RATES: usize = 5;
/// Late frames explain a loss that is at most so many times as large. Of an overload, at most half of the frames are late in a factor
/// of two below its end, so that a wider span of rates with such losses shows a delay.
const ARE_LATE: f64 = 1.1;
const LATE_SPAN: u64 = 4;

/// What the valid trials of a search lost.
#[derive(Debug)]
pub struct LossLog {
    /// Share that a passed trial may lose.
    allowed: Ratio,
    trials: Vec<TrialLoss>,
}

#[derive(Debug)]
struct TrialLoss {
    rate: Rate,
    passed: bool,
    /// The sender was late, which depends on the rate.
    is_late: bool,
    /// Connections that the device counts.
    counted: Option<Count>,
    streams: Vec<StreamLoss>,
}

#[derive(Clone, Debug)]
struct StreamLoss {
    stream: Stream,
    lost: Loss,
    faults: FaultCounts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Loss {
    wrong: Count,
    sent: Count,
}

impl Loss {
    fn plus(self, other: Loss) -> Loss {
        Loss { wrong: self.wrong.saturating_add(other.wrong), sent: self.sent.saturating_add(other.sent) }
    }

    fn exceeds_queues(self) -> bool {
        let passed = self.sent.saturating_sub(self.wrong);
        passed >= MANY_WRONG && passed.saturating_mul(MORE_THAN_QUEUES) > self.sent
    }

    fn share(self) -> f64 {
        self.wrong as f64 / self.sent.max(1) as f64
    }

    /// Whether the share is larger than that of lower rates, or a smaller part passes than at the lowest one: both by
    /// more than chance.
    fn grows_from(self, lower: Loss, lowest: Loss) -> bool {
        let most = |n: f64, deviations: f64| n + deviations * (n.sqrt() + 1.0);
        let passing = |loss: Loss| loss.sent.saturating_sub(loss.wrong) as f64;
        let expected = passing(lowest) / lowest.sent.max(1) as f64 * self.sent as f64;
        self.share() > APART * most(lower.wrong as f64, 2.0) / lower.sent.max(1) as f64
            || most(passing(self), 3.0) * PASSING_APART < expected
    }
}

impl TrialLoss {
    fn from(rate: Rate, attempt: &Attempt, allowed: Ratio) -> Option<TrialLoss> {
        let is_late = match &attempt.verdict {
            Verdict::Pass => false,
            Verdict::Fail(Failure { reason, .. }) => matches!(reason, FailReason::Late { .. }),
            Verdict::Invalid(_) => return None,
        };
        let streams = streams(&attempt.outcome);
        let counted = attempt.outcome.store.as_ref().and_then(|store| store.dut_entries);
        let mut trial = TrialLoss { rate, passed: true, is_late, counted, streams };
        let Loss { wrong, sent } = trial.loss();
        trial.passed = attempt.verdict == Verdict::Pass || !is_late && wrong <= allowed.floor_of(sent);
        Some(trial)
    }

    fn of(&self, stream: Stream) -> Option<Loss> {
        self.streams.iter().find(|own| own.stream == stream).map(|own| own.lost)
    }

    fn loss(&self) -> Loss {
        self.streams.iter().map(|stream| stream.lost).fold(Loss::default(), Loss::plus)
    }
}

fn streams(outcome: &TrialOutcome) -> Vec<StreamLoss> {
    let legs = [(Stream::Forward, Some(&outcome.forward)), (Stream::Reverse, Some(&outcome.reverse))];
    let legs = legs.into_iter().chain([(Stream::Validation, outcome.validation.as_ref())]);
    let legs = legs.filter_map(|(stream, leg)| Some((stream, leg.filter(|leg| leg.sent > 0)?)));
    legs.map(|(stream, leg)| StreamLoss {
        stream,
        lost: Loss { wrong: leg.lost(), sent: leg.sent },
        faults: leg.faults,
    })
    .collect()
}

/// A share that may be the same at every rate.
struct Suspicion<'a> {
    alike: Vec<&'a TrialLoss>,
    /// The lowest and the highest of these trials.
    rates: [Rate; 2],
    /// The highest that is below an edge without doubt.
    below_edge: Rate,
    loss: Loss,
}

impl LossLog {
    /// Without trials. A passed trial may lose this share, 0 except for goals of MLRsearch.
    pub fn new(allowed: Ratio) -> LossLog {
        LossLog { allowed, trials: Vec::new() }
    }

    pub fn learn(&mut self, rate: Rate, judgement: &Judgement) {
        self.trials
            .extend(judgement.attempts.iter().filter_map(|attempt| TrialLoss::from(rate, attempt, self.allowed)));
    }

    /// Looks for a loss that no rate causes, and if there is one, takes the rate from the result. `again` runs a trial
    /// at a rate above `least`, perhaps a longer one, and returns its length where it is a time.
    ///
    /// # Errors
    /// Those of the trials.
    pub fn conclude(
        mut self,
        mut result: SearchResult,
        least: Rate,
        mut again: impl FnMut(Rate) -> Result<(Judgement, Option<Nanos>), TrialError>,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<SearchResult, TrialError> {
        use ResultKind::{Below, Between, Exact, NothingPassed};
        if !matches!(result.kind, Exact | Between | NothingPassed | Below) {
            return Ok(result);
        }
        if let Some(late) = late_frames(&result.trace) {
            return Ok(result.without_rate(NoRate::LateFrames(late)));
        }
        if let Some(table) = self.small_table() {
            return Ok(result.without_rate(NoRate::SmallTable(table)));
        }
        let Some(suspicion) = self.suspicion() else { return Ok(result) };
        let (share, highest) = (suspicion.loss.share(), suspicion.below_edge);
        let is_certain = suspicion.is_certain();
        let (found, rate) = (self.trials.len(), suspicion.rate_after().max(least).max(Rate(1)));
        let (mut seen, mut hits) = (Loss::default(), 0);
        // Where the loss is certain, one longer trial shows whether it is a share of all frames.
        let most = match (is_certain, are_as_long(&suspicion.alike)) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => MOST_TRIALS,
        };
        for left in (1..=most).rev() {
            watch(&Progress { lo: rate, hi: rate, rate, steps_left: left });
            let (judgement, duration) = again(rate)?;
            result.note(rate, &judgement);
            if let Some(step) = result.trace.last_mut() {
                (step.duration, step.after) = (duration, true);
            }
            let before = self.trials.len();
            self.learn(rate, &judgement);
            seen = self.trials[before..].iter().map(TrialLoss::loss).fold(seen, Loss::plus);
            hits += u32::from(self.trials[before..].iter().any(|trial| !trial.passed));
            let expected = share * seen.sent as f64;
            let is_undecided = matches!(judgement.decision, Decision::TesterBound(_) | Decision::HostBound(_));
            if is_undecided || hits >= CONFIRMED_BY || seen.wrong == 0 && expected > EXPECTED {
                break;
            }
        }
        let alike = self.trials[..found].iter().filter(|trial| !trial.passed && trial.rate <= highest);
        let is_lower = alike.map(TrialLoss::loss).any(|loss| loss.grows_from(seen, seen));
        let is_higher = seen.grows_from(Loss { wrong: (share * seen.sent as f64) as Count, ..seen }, seen);
        let is_absent = seen.wrong == 0 && share * seen.sent as f64 > EXPECTED;
        if is_certain && !is_absent || hits >= CONFIRMED_BY && !is_lower && !is_higher {
            let flat = self.flat_losses(found, highest);
            return Ok(result.without_rate(NoRate::FlatLoss(flat)));
        }
        result.lower_strict();
        Ok(result)
    }

    fn failed(&self) -> Vec<&TrialLoss> {
        let mut failed: Vec<&TrialLoss> = self.trials.iter().filter(|trial| !trial.passed).collect();
        failed.sort_by_key(|trial| trial.rate);
        failed
    }

    fn suspicion(&self) -> Option<Suspicion<'_>> {
        let failed = self.failed();
        let mut alike: Vec<&TrialLoss> = Vec::new();
        let mut loss = Loss::default();
        for trial in &failed {
            let grows = !alike.is_empty() && trial.loss().grows_from(loss, lower_end(&alike).1);
            if trial.is_late || grows {
                break;
            }
            loss = loss.plus(trial.loss());
            alike.push(trial);
        }
        let (lowest, highest) = (alike.first()?.rate, alike.last()?.rate);
        let spans = highest.0 as f64 >= lowest.0 as f64 * SPAN || alike.len() == failed.len();
        let shows = loss.share() < LARGE || shows_edges(&alike) && (loss.exceeds_queues() || !are_as_long(&alike));
        let contradicts = self.trials.iter().filter(|trial| trial.passed).map(TrialLoss::loss).any(|passed| {
            let expected = loss.share() * passed.sent as f64;
            expected > EXPECTED && passed.wrong as f64 * APART < expected
        });
        let above = usize::from(alike.len() < failed.len() && alike.len() > 2);
        let below_edge = alike[alike.len() - 1 - above].rate;
        (spans && shows && !contradicts).then_some(Suspicion { alike, rates: [lowest, highest], below_edge, loss })
    }

    fn small_table(&self) -> Option<SmallTable> {
        let kept = |trial: &&TrialLoss| {
            let last = trial.streams.iter().rev().find(|stream| stream.lost.wrong > 0)?;
            Some((last.stream, last.lost.sent - last.lost.wrong, last.lost.sent))
        };
        let failed = self.failed();
        let lowest = failed.first()?;
        let (_, holds, opened) = kept(lowest)?;
        let is_full = |trial: &&&TrialLoss| {
            let arrived_wrong = trial.streams.iter().any(|stream| stream.faults.of_device().next().is_some());
            kept(trial) == kept(lowest) && !arrived_wrong && trial.counted.is_none_or(|counted| counted == holds)
        };
        let equal: Vec<_> = failed.iter().take_while(is_full).collect();
        let rates = equal.windows(2).filter(|pair| pair[0].rate < pair[1].rate).count() + 1;
        let passed = self.trials.iter().any(|trial| trial.passed);
        let kept_enough = Loss { wrong: opened - holds, sent: opened }.exceeds_queues();
        let is_shown = rates >= EQUAL_RATES && opened - holds >= LEAST_MISSING && kept_enough && !passed;
        let counted = equal.iter().all(|trial| trial.counted.is_some());
        is_shown.then_some(SmallTable { holds, opened, counted, lowest: lowest.rate, highest: equal.last()?.rate })
    }

    /// By stream, of the trials up to the rate `highest` and of those after the search, which begin at `found`.
    fn flat_losses(&self, found: usize, highest: Rate) -> Vec<FlatLoss> {
        let (before, after) = self.trials.split_at(found);
        // With those that passed, because the others alone have a larger share at low rates.
        let trials: Vec<&TrialLoss> = before.iter().filter(|trial| trial.rate <= highest).chain(after).collect();
        let rates = || trials.iter().filter(|trial| trial.loss().wrong > 0).map(|trial| trial.rate);
        let (lowest, highest) = (rates().min().unwrap_or_default(), rates().max().unwrap_or_default());
        let of = |stream: Stream| {
            let own = || trials.iter().flat_map(|trial| &trial.streams).filter(move |own| own.stream == stream);
            let Loss { wrong, sent } = own().map(|own| own.lost).fold(Loss::default(), Loss::plus);
            let mut faults = FaultCounts::default();
            own().for_each(|own| faults.merge(&own.faults));
            let explains = |fault: Fault| fault.is_of_device() || fault == Fault::Late;
            let fault = faults.iter().filter(|(fault, _)| explains(*fault)).max_by_key(|(_, frames)| *frames);
            let fault = fault.filter(|(_, frames)| frames.saturating_mul(2) >= wrong).map(|(fault, _)| fault);
            let each: Vec<(Rate, Loss)> =
                trials.iter().filter_map(|trial| Some((trial.rate, trial.of(stream)?))).collect();
            FlatLoss { stream, fault, wrong, sent, lowest, highest, of_each_trial: of_each_trial(&each) }
        };
        let mut flat: Vec<FlatLoss> = [Stream::Forward, Stream::Reverse, Stream::Validation].map(of).into();
        flat.sort_by(|a, b| b.share().total_cmp(&a.share()));
        let least = flat[0].share() / 10.0;
        flat.retain(|of| of.wrong > 0 && of.share() >= least);
        flat
    }
}

/// The least and the most wrong frames of a trial, if the same number, or the same time, of each trial explains them better than
/// a share does, by the likelihood of Poisson counts; or if as many trials of equal length have this number.
fn of_each_trial(trials: &[(Rate, Loss)]) -> Option<[Count; 2]> {
    let fit = |exposure: &dyn Fn(&(Rate, Loss)) -> f64| -> f64 {
        let all: f64 = trials.iter().map(exposure).sum();
        trials.iter().map(|trial| trial.1.wrong as f64 * (exposure(trial).max(1e-9) / all).ln()).sum()
    };
    let first = trials.first()?.1;
    if trials.len() >= ALIKE_RATES
        && trials.iter().all(|(_, loss)| (loss.wrong, loss.sent) == (first.wrong, first.sent))
    {
        return Some([first.wrong; 2]);
    }
    let share = fit(&|(_, loss)| loss.sent as f64);
    let other = fit(&|_| 1.0).max(fit(&|(rate, _)| rate.0 as f64));
    let wrong = || trials.iter().map(|(_, loss)| loss.wrong);
    (other - share > BETTER).then_some([wrong().min()?, wrong().max()?])
}

fn are_as_long(alike: &[&TrialLoss]) -> bool {
    let sent = |trial: &TrialLoss| trial.streams.first().map(|stream| stream.lost.sent);
    alike.windows(2).all(|pair| sent(pair[0]) == sent(pair[1]))
}

/// The loss of the lowest rates, up to the rate with which enough frames passed.
fn lower_end(alike: &[&TrialLoss]) -> (Rate, Loss) {
    let mut end = (Rate(0), Loss::default());
    for trial in alike {
        end = (trial.rate, end.1.plus(trial.loss()));
        if end.1.sent - end.1.wrong >= PASSING {
            break;
        }
    }
    end
}

/// Whether an edge below these rates would show: the part that passes would fall as the rate rises.
fn shows_edges(alike: &[&TrialLoss]) -> bool {
    let Some(last) = alike.last() else { return false };
    let (rate, lowest) = lower_end(alike);
    let sent = last.loss().sent as f64;
    let passing = (1.0 - lowest.share()) * sent * rate.0 as f64 / last.rate.0.max(1) as f64;
    let above = Loss { wrong: (sent - passing) as Count, sent: sent as Count };
    above.grows_from(lowest, lowest)
}

impl Suspicion<'_> {
    fn is_certain(&self) -> bool {
        self.rates[1].0 >= self.rates[0].0.saturating_mul(WIDE_SPAN)
            && (self.loss.wrong >= MANY_WRONG || self.alike.len() >= ALIKE_RATES && are_as_long(&self.alike))
    }

    /// Half the lowest rate that failed; up to that rate, if two wrong frames are to be expected there only.
    fn rate_after(&self) -> Rate {
        let lowest = self.rates[0];
        let expected = self.loss.share() * self.alike[0].loss().sent as f64 * LONGER as f64;
        Rate((lowest.0 as f64 * (2.0 / expected.max(1e-9)).clamp(0.5, 1.0)) as u64)
    }
}

/// Whether the failed steps of a search in which no rate passed show that none will: all frames of the last ones arrived,
/// some wrong, down to an eighth of a rate; or trials of as many frames lost as many, at several rates, or an equal share,
/// at more.
pub fn ends(trace: &[SearchStep]) -> bool {
    let Some(last) = trace.last().filter(|step| step.verdict == StepVerdict::Fail && step.lost > 0) else {
        return false;
    };
    let loss = |step: &SearchStep| Loss { wrong: step.lost, sent: step.sent };
    let failed = || trace.iter().rev().take_while(|step| step.verdict == StepVerdict::Fail);
    let equal = failed().take_while(|step| (step.lost, step.sent) == (last.lost, last.sent)).count();
    let is_alike = |step: &&SearchStep| !loss(step).grows_from(loss(last), loss(last));
    let spans = |steps: &[&SearchStep]| steps.last().is_some_and(|step| step.rate.0 / WIDE_SPAN >= last.rate.0);
    let arrived: Vec<_> = failed().take_while(is_alike).take_while(|step| step.wrong == step.lost).collect();
    let all_arrived = arrived.iter().map(|step| step.wrong).sum::<Count>() >= MANY_WRONG && spans(&arrived);
    let alike: Vec<_> = failed().take_while(is_alike).take_while(|step| step.sent == last.sent).collect();
    let all_alike = alike.len() >= ALIKE_RATES && spans(&alike);
    let is_flat = equal >= EQUAL_RATES && last.lost >= LEAST_MISSING || all_alike;
    let none_passed = trace.iter().all(|step| step.verdict != StepVerdict::Pass);
    late_frames(trace).is_some() || none_passed && (loss(last).exceeds_queues() && is_flat || all_arrived)
}

/// The frames of failed steps of a search in which no rate passed, if what each step lost arrived in the next one.
fn late_frames(trace: &[SearchStep]) -> Option<LateFrames> {
    let is_late = |pair: &&[SearchStep]| {
        let (lost, sent) = (pair[0].lost, pair[0].sent);
        pair[0].verdict == StepVerdict::Fail
            && lost > 0
            && lost <= sent / 2
            && lost as f64 <= ARE_LATE * pair[1].late as f64
    };
    let late: Vec<&[SearchStep]> = trace.windows(2).filter(is_late).collect();
    let rates = || late.iter().map(|pair| pair[0].rate);
    let (lowest, highest) = (rates().min()?, rates().max()?);
    let passed = trace.iter().any(|step| step.verdict == StepVerdict::Pass);
    let sum = |of: &dyn Fn(&SearchStep) -> Count| late.iter().map(|pair| of(&pair[0])).sum();
    let is_shown = !passed && late.len() >= EQUAL_RATES && highest.0 / LATE_SPAN >= lowest.0;
    is_shown.then(|| LateFrames { late: sum(&|step| step.lost), sent: sum(&|step| step.sent), lowest, highest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(rate: u64, lost: Count, wrong: Count) -> SearchStep {
        let (rate, sent, verdict) = (Rate(rate), rate / 10, StepVerdict::Fail);
        SearchStep { rate, verdict, trials: 1, lost, sent, wrong, ..SearchStep::default() }
    }

    #[test]
    fn a_number_of_frames_of_each_trial_is_no_share() {
        let trials = |wrong: &dyn Fn(Rate, Count) -> Count| -> Vec<(Rate, Loss)> {
            let rates = [64_000, 16_000, 4_000, 1_000].map(Rate);
            let longer = (Rate(1_000), 4_000);
            let all = rates.map(|rate| (rate, rate.0)).into_iter().chain([longer]);
            all.map(|(rate, sent)| (rate, Loss { wrong: wrong(rate, sent), sent })).collect()
        };
        assert_eq!(of_each_trial(&trials(&|_, _| 3)), Some([3, 3]));
        assert_eq!(of_each_trial(&trials(&|rate, _| rate.0 / 200)), Some([5, 320]), "the first 5 ms");
        assert_eq!(of_each_trial(&trials(&|_, sent| sent / 500)), None);
        let equal = [8, 4, 2, 1].map(|rate| (Rate(rate), Loss { wrong: 20, sent: 1_000 }));
        assert_eq!(of_each_trial(&[equal, equal].concat()), Some([20; 2]), "the same connections");
        assert_eq!(of_each_trial(&trials(&|_, sent| sent / 500 + sent % 7)), None);
    }

    /// A device delays each frame by 0.1 s more than the trial waits; or queues what exceeds 100,000 frames/s, without a limit.
    #[test]
    fn frames_that_arrive_after_their_trial_end_a_search() {
        let trace = |rates: u32, lost: &dyn Fn(u64) -> Count, share: Count| -> Vec<SearchStep> {
            let mut late = 0;
            let steps = (0..rates).map(|i| 800_000 >> i).map(|rate| {
                let before = std::mem::replace(&mut late, lost(rate) * share / 100);
                SearchStep { late: before, sent: 100_000, ..failed(rate, lost(rate), 0) }
            });
            steps.collect()
        };
        let delayed: &dyn Fn(u64) -> Count = &|rate| (rate / 10).min(100_000);
        let queued: &dyn Fn(u64) -> Count = &|rate| 100_000 - 100_000 * 100_000 / rate.max(100_001);
        assert!(ends(&trace(5, delayed, 100)));
        let late = LateFrames { late: 70_000, sent: 300_000, lowest: Rate(100_000), highest: Rate(400_000) };
        assert_eq!(late_frames(&trace(5, delayed, 100)), Some(late));
        for (trace, why) in [
            (trace(4, delayed, 100), "two rates"),
            (trace(8, delayed, 80), "a fifth never arrived"),
            (trace(5, queued, 100), "what exceeds the capacity"),
        ] {
            assert!(!ends(&trace), "{why}");
        }
    }

    #[test]
    fn frames_that_arrive_wrong_down_to_an_eighth_of_a_rate_end_a_search() {
        let trace = |wrong: Count, rates: u32| -> Vec<SearchStep> {
            let overload = failed(2_000_000, 90_000, 3);
            [overload].into_iter().chain((0..rates).map(|i| failed(1_000_000 >> i, 3, wrong))).collect()
        };
        assert!(ends(&trace(3, 4)));
        assert!(!ends(&trace(3, 3)), "a quarter");
        assert!(!ends(&trace(2, 4)), "one did not arrive");
        let overloaded = [1_000_000, 500_000, 250_000, 125_000]
            .map(|rate| failed(rate, (rate - 120_000) / 10, (rate - 120_000) / 10));
        assert!(!ends(&overloaded), "what exceeds the capacity");
    }
}
