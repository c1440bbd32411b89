//! Reset (RFC 6201) and failover: how long a DUT forwards nothing while it is reset, or a standby
//! takes over. The disruption begins in mid-trial, at a rate forwarded without loss. If the DUT is
//! stateful, one frame on each connection afterwards shows which connections survived.

use crate::churn;
use crate::churn::{Churn, Limits};
use crate::frame_loss::loss_ppm;
use crate::known;
use crate::metric::STILL_LOST;
use crate::prelude::*;
use document::number;
use key::kind::rate;
use method::trial::{self, Action, ActionTime, Disruption, Losses, Observed, ResponderTable};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Entry of the reset.
pub static RESET_PROCEDURE: Procedure = Procedure {
    key: "reset",
    summary: "frames lost because of a reset in mid-trial, divided by their rate",
    metrics: &[
        RESET,
        RESET.part("reset_forward", "Reset time, left to right", NS, BY_LOSS),
        RESET.part("reset_reverse", "Reset time, right to left", NS, BY_LOSS),
        RESET.part("reset_gap_forward", "Longest gap, left to right", NS, BY_GAP),
        RESET.part("reset_gap_reverse", "Longest gap, right to left", NS, BY_GAP),
        counted(RESET, "reset_survived", "Connections that survive the reset", SURVIVED),
        counted(RESET, "reset_moved", "Connections on another port after the reset", MOVED),
    ],
    tables: &[KeyTable::of::<Reset>("reset")],
    rate: Some(|keys| keys.get::<Reset>().rate),
    longest: |keys, _, _| keys.get::<Reset>().duration,
    check: |asked| {
        let Reset { at, duration, .. } = *asked.keys.get();
        begins_in_time(asked, &RESET, at, duration);
    },
    search: |context, trials, watch| {
        let Reset { duration, at, off, .. } = *context.keys.get();
        let action = Action { what: Disruption::Reset, at };
        search(context, Outage { action, duration, off, churn: None }, trials, watch)
    },
    sections: &[section],
    doubts: without_effect,
    known: &[KnownValue {
        metric: "reset_gap_forward",
        device: "is dark for 1.7 s after a reset",
        truth: Some(1_700_000_000),
        error: FRAME_DISTANCE,
        point: || {
            let control = ControlTruth { reset: Nanos::from_millis(1_700), ..ControlTruth::default() };
            known_point(Reset { duration: LENGTH, at: AT, off: Nanos(0), rate: None }, control)
        },
    }],
    ..Procedure::of(&RESET)
};

const NS: Unit = Unit::Nanoseconds;

/// How long a reset interrupts forwarding.
pub const RESET: Metric = Metric {
    key: "reset",
    title: "Reset time",
    unit: NS,
    reference: "RFC 6201 section 4",
    higher_is_better: false,
    definition: "The frames that are lost because of a reset, divided by their rate; of the slower direction.",
    bounded_by: Some(STILL_LOST),
    trials: TrialKind::Data,
    averaged: true,
    ..Metric::USUAL
};

const BY_LOSS: &str = "The frames lost divided by their rate (RFC 6201, frame loss method).";
const BY_GAP: &str = "The longest time between two frames received, by their due times (RFC 6201, time stamp method).";
const SURVIVED: &str =
    "Connections that carry frames Left to Right afterwards, from the outside address and port of before.";
const MOVED: &str = "Connections that carry frames Left to Right afterwards, from another outside address or port.";

/// A share of the connections, which is counted even where the time is a bound.
const fn counted(of: Metric, key: &'static str, title: &'static str, definition: &'static str) -> Metric {
    Metric { observed: true, ..of.part(key, title, Unit::PartsPerMillion, definition) }
}

key::table! {
    /// The trial in which the hook `reset` of the device runs (RFC 6201).
    pub struct Reset {
        /// Length of the trial; the device must be back before its end.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s").conforms();
        /// Time from the first frame to the reset.
        at: Nanos = "at", duration(LENGTHS), or("15 s").conforms();
        /// Time for which the hook switches the power off; it is no part of the result (RFC 6201, section 4.3).
        off: Nanos = "off", duration(Nanos(0)..=Nanos::from_secs(3600)), or("0 s");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

/// Entry of the failover.
pub static FAILOVER_PROCEDURE: Procedure = Procedure {
    key: "failover",
    summary: "longest time without frames while a standby takes over, and the connections that survive",
    metrics: &[
        FAILOVER,
        FAILOVER.part("failover_forward", "Dark time, left to right", NS, DARK),
        FAILOVER.part("failover_reverse", "Dark time, right to left", NS, DARK),
        counted(FAILOVER, "failover_survived", "Connections that survive the failover", SURVIVED),
        counted(FAILOVER, "failover_moved", "Connections on another port after the failover", MOVED),
    ],
    stateful: true,
    tables: &[KeyTable::of::<Failover>("failover"), churn::TABLE],
    rate: Some(|keys| keys.get::<Failover>().rate),
    longest: |keys, _, _| keys.get::<Failover>().duration,
    check: |asked| {
        let Failover { at, duration, churn, .. } = *asked.keys.get();
        begins_in_time(asked, &FAILOVER, at, duration);
        if churn.is_some() {
            under_churn(asked);
        }
    },
    search: |context, trials, watch| {
        let Failover { duration, at, churn, .. } = *context.keys.get();
        let action = Action { what: Disruption::Failover, at };
        let outage = Outage { action, duration, off: Nanos(0), churn: None };
        let Some(arrivals) = churn else { return search(context, outage, trials, watch) };
        let (connections, limits) = churn::limits(context);
        let churn = Some((context.rate(arrivals), limits));
        search(&Context { connections, ..*context }, Outage { churn, ..outage }, trials, watch)
    },
    known: &[
        KnownValue {
            metric: "failover_reverse",
            device: "is dark for 400 ms in reverse after a failover",
            truth: Some(400_000_000),
            error: FRAME_DISTANCE,
            point: || known_point(FAILED_OVER, taken_over()),
        },
        KnownValue {
            metric: "failover_survived",
            device: "keeps 90 % of the connections in a failover",
            truth: Some(900_000),
            error: EXACT,
            point: || known_point(FAILED_OVER, taken_over()),
        },
    ],
    ..Procedure::of(&FAILOVER)
};

/// How long a failover interrupts forwarding.
pub const FAILOVER: Metric = Metric {
    key: "failover",
    title: "Dark time of a failover",
    reference: "METHODOLOGY.md, failover",
    definition: "The longest time without a right frame around the switch-over; of the slower direction.",
    trials: TrialKind::Own,
    averaged: false,
    ..RESET
};

const DARK: &str = "The longest time between two frames received, by their due times.";

key::table! {
    /// The trial in which the hook `failover` of the device runs.
    pub struct Failover {
        /// Length of the trial; the device must be back before its end.
        duration: Nanos = "duration", duration(LENGTHS), or("60 s");
        /// Time from the first frame to the failover.
        at: Nanos = "at", duration(LENGTHS), or("15 s");
        /// New connections per second beside the others, as in `[measure.churn]`, which says how many are held.
        churn: Option<WrittenRate> = "churn", maybe(rate()), computed("no new connections");
        /// The rate, if it is not that of the throughput.
        rate: Option<WrittenRate> = "rate", maybe(rate()), computed("the throughput of the point");
    }
}

fn begins_in_time(asked: &mut MeasureRequest<'_>, metric: &Metric, at: Nanos, duration: Nanos) {
    if asked.metric_at(metric).is_none() || at < duration {
        return;
    }
    let key = |name: &str| asked.at(&format!("{}.{name}", metric.key));
    let fault = Fault::new(format!("the {} begins after the end of its trial", metric.key));
    let fault = fault.at(key("at"), "the beginning").at(key("duration"), "the whole trial");
    asked.refuse(fault.instead("write a smaller `at`, or a longer duration"));
}

/// New connections come Left to Right, beside others that are held.
fn under_churn(asked: &mut MeasureRequest<'_>) {
    let Some(metric) = asked.metric_at(&FAILOVER) else { return };
    let (keys, at) = (asked.keys.get::<Churn>(), asked.at("failover.churn"));
    let way_out = "write a share between in [measure.churn], such as held = \"25 %\"";
    asked.needs_held_and_new(("connections", "churn.held"), &at, |all| keys.held(all), way_out);
    if let Some(direction) = (asked.reverse_at)(FAILOVER.key) {
        let fault = Fault::new("no new connection arrives").at(direction, "the Initiator sends nothing");
        let fault = fault.at(metric, "the Initiator opens connections").at(at, "new connections");
        asked.refuse(fault.instead("write \"forward\" or \"both\" in place of \"reverse\", or remove `churn`"));
    }
}

/// Frames due within this time before the disruption may have been inside the DUT.
const ON_THE_WAY: Nanos = Nanos::from_millis(100);
/// A frame lost in this last part of the time after the disruption shows no recovery.
const LAST_PART: u64 = 10;

#[derive(Clone, Copy)]
struct Outage {
    action: Action,
    duration: Nanos,
    /// Time without power, which is no part of the result (RFC 6201, section 4.3).
    off: Nanos,
    /// New connections per second beside those of phase 1, with their limits; `None` without churn.
    churn: Option<(Rate, Limits)>,
}

/// Measures the time of a disruption once, in nanoseconds: that of the slower direction, with
/// directions and connections as parts. It is a lower bound if frames are lost near the end.
///
/// # Errors
/// [`TrialError::Refused`] if the new connections do not fit; [`TrialError::NotMeasurable`] if frames were lost before the
/// disruption.
fn search(
    context: &Context<'_>,
    outage: Outage,
    trials: &mut dyn Trials,
    watch: Watch<'_>,
) -> Result<SearchResult, TrialError> {
    let rate = context.throughput()?;
    let mut spec = context.data(rate, outage.duration)?;
    let churn = outage.churn.map(|(arrivals, limits)| new_connections(arrivals, &limits, rate, outage.duration));
    spec.options.action = Some(outage.action);
    spec.options.churn = churn.transpose()?;
    // A booting device reports no CPU times.
    spec.options.sampler = None;
    // A connection that reappears on another port has survived.
    spec.responder_table = ResponderTable::Update;
    let (result, mut observed) = single::observe(context, std::slice::from_ref(&spec), trials, watch)?;
    let Some(observed) = observed.pop() else { return Ok(result) };
    let acted = observed.action.ok_or_else(|| TrialError::Tester("the disruption was not carried out".to_owned()))?;
    was_clean_before(&outage, &acted, &observed)?;
    let times = Times::of(&outage, &spec, &acted, &observed);
    let kind = if times.lost_to_the_end { ResultKind::AtUpperLimit } else { ResultKind::Observed };
    Ok(SearchResult { rate: Rate(times.longest), kind, parts: times.parts, observed, ..result })
}

/// No new connection is repeated, and their frames leave some of the rate for the others.
fn new_connections(arrivals: Rate, limits: &Limits, rate: Rate, duration: Nanos) -> Result<trial::Churn, TrialError> {
    let churn = trial::Churn { arrivals, frames: limits.frames, different: limits.different };
    let most = limits.most_arrivals(duration);
    if arrivals > most {
        return Err(TrialError::Refused(format!(
            "{arrivals} new connections per second exceed {most}, the most that {} different connections allow in this trial; \
             use more connections, or a lower churn rate",
            limits.different
        )));
    }
    if churn.frame_rate() >= rate {
        return Err(TrialError::Refused(format!(
            "{arrivals} new connections per second need all of the {rate} frames/s of the trial, so that no frame is left for the held \
             connections; use a lower churn rate"
        )));
    }
    Ok(churn)
}

/// Refuses a trial with losses before the disruption.
fn was_clean_before(outage: &Outage, acted: &ActionTime, observed: &Observed) -> Result<(), TrialError> {
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

struct Times {
    longest: u64,
    lost_to_the_end: bool,
    parts: BTreeMap<String, i64>,
}

impl Times {
    fn of(outage: &Outage, spec: &TrialSpec, acted: &ActionTime, observed: &Observed) -> Times {
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

/// Longest time without a frame; none without loss.
fn gap(losses: &Losses) -> Nanos {
    if losses.frames == 0 { Nanos(0) } else { losses.longest_gap }
}

fn without(time: Nanos, off: Nanos) -> u64 {
    time.0.saturating_sub(off.0)
}

const FRAME_DISTANCE: (i64, i64) = (10_000, 10_000);

fn taken_over() -> ControlTruth {
    ControlTruth {
        failover: [Nanos::from_millis(150), Nanos::from_millis(400)],
        survive: Ratio::from_ppm(900_000),
        ..ControlTruth::default()
    }
}

const LENGTH: Nanos = Nanos::from_secs(10);
const AT: Nanos = Nanos::from_secs(2);
const FAILED_OVER: Failover = Failover { duration: LENGTH, at: AT, churn: None, rate: None };

fn known_point<T: Debug + Send + Sync + 'static>(keys: T, control: ControlTruth) -> KnownPoint {
    let point = KnownPoint::new(keys, known::controlled(control));
    KnownPoint { phase2: Some(HELD), throughput: Rate(100_000), ..point }
}

fn section(results: &Results<'_>) -> Option<Section> {
    let results = results.of(&[RESET.key, FAILOVER.key]);
    let rows = [
        line("the command took", &results, |r| spread(r, |acted| Some(acted.took.0), number::duration)),
        line("connections before", &results, |r| connections(r, |c| c.all)),
        line("same outside address and port afterwards", &results, |r| connections(r, |c| c.same)),
        line("another outside address or port", &results, |r| connections(r, |c| c.moved)),
        line("no frame passes", &results, |r| connections(r, |c| c.all - c.same - c.moved)),
    ];
    section_of(
        &results,
        "Resets and failovers",
        "After the trial, one frame Left to Right on each connection shows what became of it. Frames Left to Right may have \
                opened a connection again before, which then counts by the port that it got.",
        |named| Section {
            tables: vec![Table::new("Connections", "disruption", names(&results)).with_parameters(rows)],
            ..named
        },
    )
}

/// Doubts about actions that left no trace: a command may succeed without effect.
fn without_effect(results: &Results<'_>) -> Vec<String> {
    let in_words = |result: &&MetricResult<'_>| {
        let no_trace: Vec<&Observed> =
            result.observed(|observed| left_no_trace(observed).then_some(observed)).collect();
        let acted = no_trace.last()?.action?;
        let connections = acted.connections.map(|found| {
            format!(", all {} kept their outside address and port", number::plural(found.all, "connection"))
        });
        let entries = acted.entries.map(|[before, after]| {
            format!(", the table had {} entries before and {} after", number::grouped(before), number::grouped(after))
        });
        Some(format!(
            "Nothing shows that the hook `{}` took effect ({}): in {} of {} repetitions no frame was lost{}{}.",
            result.metric,
            result.place,
            no_trace.len(),
            result.repetitions.len(),
            connections.unwrap_or_default(),
            entries.unwrap_or_default()
        ))
    };
    results.of(&[RESET.key, FAILOVER.key]).iter().filter_map(in_words).collect()
}

fn left_no_trace(observed: &Observed) -> bool {
    let Some(acted) = observed.action else { return false };
    let lost = observed.losses.iter().any(|(_, losses)| losses.frames > 0);
    !lost
        && acted.connections.is_none_or(|found| found.same == found.all)
        && acted.entries.is_none_or(|[before, after]| after >= before)
}

fn connections(result: &MetricResult<'_>, count: fn(trial::Survivors) -> u64) -> Option<String> {
    spread(result, |acted| acted.connections.map(count), number::grouped)
}

/// Smallest and largest over the repetitions.
fn spread(
    result: &MetricResult<'_>,
    of: impl Fn(&ActionTime) -> Option<u64>,
    show: impl Fn(u64) -> String,
) -> Option<String> {
    let all: Vec<u64> = result.observed(|observed| of(observed.action.as_ref()?)).collect();
    let (least, most) = (*all.iter().min()?, *all.iter().max()?);
    Some(if least == most { show(least) } else { format!("{} to {}", show(least), show(most)) })
}
