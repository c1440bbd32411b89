//! Reset (RFC 6201) and failover: how long a DUT forwards nothing while it is reset, or while a standby takes over.
//! Frames are sent at a rate that the DUT forwards without loss; the disruption begins in mid-trial. If the DUT is
//! stateful, one frame on each connection afterwards shows which connections survived.

use crate::Procedure;
use crate::churn::Limits;
use crate::frame_loss::loss_ppm;
use crate::metric::{FAILOVER as FAILOVER_METRIC, RESET as RESET_METRIC};
use method::judged::{Decision, Patience};
use method::search::{Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, data_trial, probe};
use method::trial::{
    Acted, Action, Churn, Disruption, Load, Losses, Observed, ResponderTable, TrialError, TrialOptions, TrialSpec,
    Trials,
};
use method::units::{Nanos, Rate};
use std::collections::BTreeMap;

/// Entry of the reset in the list of procedures.
pub const RESET: Procedure = Procedure {
    key: "reset",
    title: RESET_METRIC.title,
    reference: RESET_METRIC.reference,
    metrics: &[RESET_METRIC.key],
    phase1: false,
    stateful: false,
    at_throughput: true,
    summary: "frames lost because of a reset in mid-trial, divided by their rate",
};

/// Entry of the failover.
pub const FAILOVER: Procedure = Procedure {
    key: "failover",
    title: FAILOVER_METRIC.title,
    reference: FAILOVER_METRIC.reference,
    metrics: &[FAILOVER_METRIC.key],
    phase1: false,
    stateful: true,
    at_throughput: true,
    summary: "longest time without frames while a standby takes over, and the connections that survive",
};

/// Frames that were due within this time before the disruption may have been inside the DUT.
const ON_THE_WAY: Nanos = Nanos::from_millis(100);
/// A frame lost in this last part of the time after the disruption shows no recovery: 1/10.
const LAST_PART: u64 = 10;

/// Parameters of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// What is done, and when.
    pub action: Action,
    /// The rate, at which the DUT forwards without loss.
    pub rate: Rate,
    /// Duration of the trial.
    pub duration: Nanos,
    /// Time that is no part of the result: that for which the power was off (RFC 6201, section 4.3).
    pub off: Nanos,
    /// New connections per second in addition to those of phase 1, with their limits; `None` without churn.
    pub churn: Option<(Rate, Limits)>,
}

/// Measures the time of a disruption once, in nanoseconds: that of the slower direction, with directions and connections as
/// parts. It is a lower bound if frames are still lost near the end.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Refused`] if the trial ends before the disruption, or the new connections
/// do not fit; [`TrialError::NotMeasurable`] if frames were lost before the disruption.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Option<Phase2>,
    outage: Outage,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let rate = outage.rate;
    let spec = trial(settings, phase2, &outage)?;
    watch(&Progress { lo: rate, hi: rate, rate, steps_left: 1 });
    // The times of lost frames are the result.
    let settings = SearchSettings { verify: None, ..settings.clone() };
    let judgement = Decider::new(trials, &settings).decide(&spec, &probe(&spec), Patience::Repeat)?;
    let mut result = SearchResult::empty();
    result.note(rate, &judgement);
    if let Decision::TesterBound(reason) | Decision::HostBound(reason) = judgement.decision {
        return Ok(result.nothing_measured(reason));
    }
    let observed = judgement.last().outcome.observed.clone();
    let acted = observed.action.ok_or_else(|| TrialError::Tester("the disruption was not carried out".to_owned()))?;
    was_clean_before(&outage, &acted, &observed)?;
    let times = Times::of(&outage, &spec, &acted, &observed);
    let kind = if times.lost_to_the_end { ResultKind::AtUpperLimit } else { ResultKind::Observed };
    Ok(SearchResult { rate: Rate(times.longest), kind, parts: times.parts, observed, ..result })
}

/// The trial around the disruption.
fn trial(settings: &SearchSettings, phase2: Option<Phase2>, outage: &Outage) -> Result<TrialSpec, TrialError> {
    let Outage { action, rate, duration, churn, .. } = *outage;
    if action.at >= duration {
        return Err(TrialError::Refused(format!(
            "the {} begins after {:?} s, but the trial ends after {:?} s; use a longer trial",
            action.what.name(),
            action.at.as_secs_f64(),
            duration.as_secs_f64()
        )));
    }
    let churn = churn.map(|(arrivals, limits)| new_connections(arrivals, &limits, outage)).transpose()?;
    // A booting device reports no CPU times.
    let options = TrialOptions { action: Some(action), churn, sampler: None, ..settings.options.clone() };
    // A connection that reappears on another port has survived.
    let responder_table = ResponderTable::Update;
    Ok(TrialSpec { rate, load: Load::For(duration), options, responder_table, ..data_trial(settings, phase2)? })
}

/// New connections in addition to those of phase 1: none is repeated, and their frames leave some of the rate for the
/// others.
fn new_connections(arrivals: Rate, limits: &Limits, outage: &Outage) -> Result<Churn, TrialError> {
    let churn = Churn { arrivals, frames: limits.frames.max(1), different: limits.different };
    let most = limits.most_arrivals(outage.duration);
    if arrivals > most {
        return Err(TrialError::Refused(format!(
            "{arrivals} new connections per second exceed {most}, the most that {} different connections allow in this trial; \
             use more connections, or a lower churn rate",
            limits.different
        )));
    }
    if churn.frame_rate() >= outage.rate {
        return Err(TrialError::Refused(format!(
            "{arrivals} new connections per second need all of the {} frames/s of the trial, so that no frame is left for the held \
             connections; use a lower churn rate",
            outage.rate
        )));
    }
    Ok(churn)
}

/// Refuses a trial in which frames were lost before the disruption: the DUT does not forward this rate without loss.
fn was_clean_before(outage: &Outage, acted: &Acted, observed: &Observed) -> Result<(), TrialError> {
    let before = acted.began.0.saturating_sub(ON_THE_WAY.0);
    let Some((_, losses)) = observed.losses.iter().find(|(_, losses)| losses.frames > 0 && losses.first.0 < before)
    else {
        return Ok(());
    };
    let name = outage.action.what.name();
    Err(TrialError::NotMeasurable(format!(
        "frames were lost {:.3} s before the {name}, so the trial cannot show which frames the {name} lost: use a lower `rate` in \
         [measure.{name}]",
        Nanos(acted.began.0 - losses.first.0).as_secs_f64()
    )))
}

/// The times of both directions.
struct Times {
    longest: u64,
    lost_to_the_end: bool,
    parts: BTreeMap<String, i64>,
}

impl Times {
    fn of(outage: &Outage, spec: &TrialSpec, acted: &Acted, observed: &Observed) -> Times {
        let name = outage.action.what.name();
        let mut times = Times { longest: 0, lost_to_the_end: false, parts: BTreeMap::new() };
        let end = spec.send_time().0;
        let last_part = end - end.saturating_sub(acted.began.0) / LAST_PART;
        for (direction, losses) in observed.losses.iter() {
            times.lost_to_the_end |= losses.frames > 0 && losses.last.0 >= last_part;
            let by_loss = spec.pace_of(direction == "forward").time_for(losses.frames);
            let (by_loss, by_gap) = (without(by_loss, outage.off), without(gap(losses), outage.off));
            let time = match outage.action.what {
                Disruption::Reset => {
                    times.put(format!("{name}_gap_{direction}"), by_gap);
                    by_loss
                }
                Disruption::Failover => by_gap,
            };
            times.put(format!("{name}_{direction}"), time);
            times.longest = times.longest.max(time);
        }
        if let Some(connections) = acted.connections {
            times.put(format!("{name}_survived"), loss_ppm(connections.same, connections.all));
            times.put(format!("{name}_moved"), loss_ppm(connections.moved, connections.all));
        }
        times
    }

    fn put(&mut self, part: String, value: u64) {
        self.parts.insert(part, value.cast_signed());
    }
}

/// The longest time without a frame; none without loss.
fn gap(losses: &Losses) -> Nanos {
    if losses.frames == 0 { Nanos(0) } else { losses.longest_gap }
}

fn without(time: Nanos, off: Nanos) -> u64 {
    time.0.saturating_sub(off.0)
}
