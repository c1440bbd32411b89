//! Maximum connection establishment rate (RFC 9693 section 4.5), and with validation (section 4.6).
//! A trial has one frame per connection, no duration, and starts from an empty table.

use crate::known;
use crate::prelude::*;
use crate::validation::Validation;
use method::judged::probe_connections;
use method::search::{LossLog, no_rate};
use method::validity::check_buffers;

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "establishment",
    title: "Maximum connection establishment rate",
    reference: "RFC 9693 sections 4.5 and 4.6",
    summary: "binary search for the highest rate at which each of N new connections is set up, from an empty table",
    metrics: &[MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED],
    sends: Sends::NewConnections,
    stateful: true,
    check,
    search,
    known: KNOWN,
    ..Procedure::USUAL
};

/// Rate from phase 1 only.
pub const MAX_CONN_EST_RATE: Metric = Metric {
    key: "max_conn_est_rate",
    title: "Maximum connection establishment rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 9693 section 4.5",
    definition: "The highest rate at which the first frame of each of N new connections passes, starting from an empty \
                 connection tracking table.",
    gives: Some(Gives::SetUpRate),
    trials: TrialKind::Phase1,
    ..Metric::USUAL
};

/// Rate from phase 1 and validation.
pub const MAX_CONN_EST_RATE_VALIDATED: Metric = Metric {
    key: "max_conn_est_rate_validated",
    title: "Maximum connection establishment rate, validated",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 9693 section 4.6",
    definition: "The highest rate at which N new connections are set up and one frame on each of them, sent back at \
                 alpha times that rate, arrives too.",
    gives: Some(Gives::SetUpRate),
    validated: true,
    trials: TrialKind::Phase1,
    ..Metric::USUAL
};

fn check(asked: &mut MeasureRequest<'_>) {
    asked.needs_whole_phase1(&MAX_CONN_EST_RATE_VALIDATED);
    if let Some(at) = asked.metric_at(&MAX_CONN_EST_RATE_VALIDATED).filter(|_| asked.is_stateful && !asked.has_alpha) {
        let fault = Fault::new("validation needs alpha").at(at, "validated at alpha times the rate");
        let fault = fault.needs(asked.at("alpha"));
        asked.refuse(fault.instead("write alpha = \"50 %\" in [measure] (RFC 9693, section 4.6)"));
    }
}

/// Refuses connections that are too few for the path's buffers.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let Context { connections, settings, .. } = *context;
    settings.check()?;
    if connections == 0 {
        return Err(TrialError::Refused("phase 1 needs at least one connection".to_owned()));
    }
    check_buffers(connections, context.buffered)?;
    // Above the forwarding rate, validation would lower the result, which would then not be that of establishment.
    let limit = Validation::of(context, connections, trials, watch)?;
    let mut decider = Decider::new(trials, settings);
    let mut decide = |rate: Rate, patience: Patience| {
        let spec = trial(rate, connections, settings.alpha, limit.at_most);
        let (few, slow) = probe_connections(connections, rate);
        let probe = trial(slow, few, settings.alpha, limit.at_most);
        decider.decide(&spec, &probe, patience)
    };
    let ends = (settings.lo, settings.hi);
    let least = (Rate(1), least_strict(connections, settings.invalid_at_most));
    let mut losses = LossLog::new(Ratio::ZERO);
    let learned = |rate: Rate, patience: Patience| {
        let judgement = decide(rate, patience)?;
        losses.learn(rate, &judgement);
        Ok(judgement)
    };
    let result = binary::search(settings.warm, ends, least, (settings.precision, no_rate::ends), learned, watch)?;
    let again = |rate| Ok((decide(rate, Patience::Repeat)?, None));
    let result = losses.conclude(result, settings.lo, again, watch)?;
    Ok(limit.beside(context, result.rate, result))
}

/// At the lowest rate of the strict search, the connections take the whole time limit of invalid
/// trials. Slower trials, one for each halving, would take many times as long, on a host whose
/// noise left all faster ones undecided.
fn least_strict(connections: Count, at_most: Option<Nanos>) -> Rate {
    let time = at_most.filter(|time| time.0 > 0);
    time.map_or(Rate(1), |time| Rate::at_least(connections, time).max(Rate(1)))
}

/// alpha × R, capped, at least 1.
pub fn validation_rate(rate: Rate, alpha: Ratio, at_most: Option<Rate>) -> Rate {
    let wanted = alpha.of(rate);
    wanted.min(at_most.unwrap_or(wanted)).max(Rate(1))
}

/// A trial with validation if alpha is given.
pub(crate) fn trial(rate: Rate, connections: Count, alpha: Option<Ratio>, validate_at_most: Option<Rate>) -> TrialSpec {
    TrialSpec {
        validate_rate: alpha.map(|alpha| validation_rate(rate, alpha, validate_at_most)),
        ..TrialSpec::establish(rate, connections)
    }
}

fn known_point(device: Truth, alpha: Option<Ratio>) -> KnownPoint {
    let phase2 = Some(Phase2 { connections: 1_000_000, ..HELD });
    let settings = SearchSettings { alpha, ..known::forward() };
    KnownPoint { settings, phase2, ..KnownPoint::new((), device) }
}

const KNOWN: &[KnownValue] = &[
    KnownValue {
        metric: MAX_CONN_EST_RATE.key,
        device: "sets up 300,000 connections/s",
        truth: Some(300_000),
        error: of_search(300_000),
        point: || known_point(known::simulated(), None),
    },
    KnownValue {
        metric: MAX_CONN_EST_RATE_VALIDATED.key,
        device: "forwards 100,000 frames/s in reverse, alpha = 50 %",
        truth: Some(200_000),
        error: of_search(200_000),
        point: || {
            let slow = Truth { reverse_capacity: Rate(100_000), ..known::simulated() };
            known_point(slow, Some(Ratio::from_ppm(500_000)))
        },
    },
];
