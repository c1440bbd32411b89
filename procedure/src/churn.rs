//! Churn rate: the highest rate at which new connections arrive and are abandoned, while a DUT holds many others. Each
//! trial sets up the held connections; then the tester sends frames on held and new connections as one stream Left to
//! Right, in which each held connection has a frame before it times out. The frames Right to Left are only on held
//! connections.

use crate::Procedure;
use crate::metric::{CHURN_ENTRIES, CHURN_OCCUPANCY};
use method::judged::Patience;
use method::search::{Decider, Phase2, Progress, SearchResult, SearchSettings, binary, data_trial, probe};
use method::trial::{Churn, TrialError, TrialOptions, TrialSpec, Trials};
use method::units::{Count, Nanos, Rate};

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "churn",
    title: "Churn rate",
    reference: "RFC 4787 section 4.3",
    metrics: &["churn_rate"],
    phase1: false,
    stateful: true,
    at_throughput: false,
    summary: "binary search for the highest rate of new connections beside those that are held, without loss",
};

/// Minimum number of frames of each held connection in one time-out of the DUT.
pub const REFRESHES: u64 = 3;

/// Parameters of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Different new connections.
    pub different: Count,
    /// Frames of a new connection.
    pub frames: Count,
    /// The time after which the DUT forgets a connection without frames.
    pub timeout: Nanos,
    /// Frames per second on the connections that are held, at least.
    pub held_rate: Rate,
}

impl Limits {
    /// Returns the rate of frames on `held` connections: each has at least [`REFRESHES`] of them in a time-out.
    pub fn held_frames(&self, held: Count) -> Rate {
        let refreshes = u128::from(held) * u128::from(REFRESHES) * u128::from(Nanos::SECOND.0);
        let refreshes = refreshes.div_ceil(u128::from(self.timeout.0.max(1)));
        self.held_rate.max(Rate(u64::try_from(refreshes).unwrap_or(u64::MAX))).max(Rate(1))
    }

    /// Returns the highest rate of new connections, in trials of this length, at which the DUT has forgotten a
    /// connection before it is opened again. It forgets a connection within two time-outs.
    pub fn most_arrivals(&self, duration: Nanos) -> Rate {
        let again_after = duration.0.min(self.timeout.0.saturating_mul(2)).max(1);
        let most = u128::from(self.different) * u128::from(Nanos::SECOND.0) / u128::from(again_after);
        Rate(u64::try_from(most).unwrap_or(u64::MAX))
    }

    /// Returns the connections that have not timed out at the end of a trial.
    pub fn occupancy(&self, held: Count, arrivals: Rate, duration: Nanos) -> Count {
        held.saturating_add(arrivals.frames_in(duration.min(self.timeout)))
    }
}

/// Measures the churn rate. The connections of `phase2` are those that are held; `settings.hi` bounds the frames per second.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Refused`] if the frames on held connections alone reach the upper end, or
/// there are no new connections.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Phase2,
    limits: Limits,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    settings.check()?;
    let (held, frames) = (phase2.connections, limits.frames.max(1));
    let held_frames = limits.held_frames(held);
    let most =
        if settings.direction.forward() { settings.direction.pace(true, settings.hi).per_second() } else { Rate(0) };
    let left_over = most.0.saturating_sub(held_frames.0) / frames;
    let highest = Rate(left_over).min(limits.most_arrivals(settings.duration));
    if highest.0 == 0 {
        return Err(TrialError::Refused(format!(
            "no churn rate is possible: {held} held connections need {held_frames} of at most {most} frames/s Left to Right, and each \
             of {} different new connections needs {frames} frames; hold fewer connections, or use shorter trials",
            limits.different
        )));
    }
    let trial = data_trial(settings, Some(phase2))?;
    let mut decider = Decider::new(trials, settings);
    let mut entries = None;
    let decide = |arrivals: Rate, patience: Patience| {
        let churn = Churn { arrivals, frames, different: limits.different };
        let options = TrialOptions { churn: Some(churn), ..trial.options.clone() };
        let forward = Rate(churn.frame_rate().0 + held_frames.0);
        let spec = TrialSpec { rate: settings.direction.fastest_with(true, forward), options, ..trial.clone() };
        let judgement = decider.decide(&spec, &probe(&spec), patience)?;
        if judgement.decision.passed() {
            let store = judgement.last().outcome.store.as_ref();
            entries = entries.max(store.and_then(|store| store.dut_entries_after).map(|found| (arrivals, found)));
        }
        Ok(judgement)
    };
    let ends = (settings.lo.min(Rate(highest.0 - 1)), highest);
    let mut result = binary::search(ends, Rate(1), (settings.precision, &settings.criteria), decide, watch)?;
    if result.rate.0 > 0 {
        let mut part =
            |key: &str, value: Count| result.parts.insert(key.to_owned(), i64::try_from(value).unwrap_or(i64::MAX));
        part(CHURN_OCCUPANCY.key, limits.occupancy(held, result.rate, settings.duration));
        if let Some((_, entries)) = entries.filter(|(arrivals, _)| *arrivals == result.rate) {
            part(CHURN_ENTRIES.key, entries);
        }
    }
    Ok(result)
}
