//! Throughput: the highest rate at which every frame sent is received right (RFC 2544 section 26.1), for stateless
//! devices and in phase 2 of a stateful test (RFC 9693 section 4.7). With an acceptance below 1 the result is a
//! conditional throughput and must be printed with its acceptance.

use super::{Decider, Procedure, Progress, SearchResult, SearchSettings, binary};
use crate::judged::Patience;
use crate::trial::{Direction, Load, Order, PhaseKind, TrialError, TrialSpec, Trials};
use crate::units::{Count, Nanos, Rate};

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "throughput",
    title: "Throughput",
    reference: "RFC 2544 section 26.1; RFC 9693 section 4.7",
    metrics: &["throughput", "ipv4_forwarding_throughput"],
    summary: "binary search for the highest rate per direction at which all frames are received right",
};

/// A probe of the DUT: a working DUT forwards at least one of this many frames at this rate.
const PROBE_FRAMES: Count = 1_000;
const PROBE_RATE: Rate = Rate(1_000);

/// Measures the throughput of a stateless device, or of plain forwarding as a baseline.
///
/// # Errors
/// As [`Trials::run`]; [`TrialError::DutDead`] if the tester receives nothing at a low rate either;
/// [`TrialError::Refused`] for settings without a result.
pub fn stateless<T: Trials>(
    trials: &mut T,
    settings: &SearchSettings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    measure(trials, settings, &stateless_trial(settings.duration, settings.direction), watch)
}

/// Measures the throughput in phase 2, on `connections` connections that a phase 1 at `phase1_rate` establishes before
/// each trial. That rate must be below the smallest maximum connection establishment rate.
///
/// # Errors
/// As [`stateless`]; [`TrialError::Phase1`] when phase 1 stays incomplete.
pub fn established<T: Trials>(
    trials: &mut T,
    settings: &SearchSettings,
    connections: Count,
    phase1_rate: Rate,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    if connections == 0 || phase1_rate.0 == 0 {
        return Err(TrialError::Refused("phase 2 needs at least one connection and a phase 1 rate above 0".to_owned()));
    }
    let trial = TrialSpec {
        kind: PhaseKind::Established,
        connections,
        phase1_rate: Some(phase1_rate),
        responder_order: settings.responder_order,
        responder_table: settings.responder_table,
        ..stateless_trial(settings.duration, settings.direction)
    };
    measure(trials, settings, &trial, watch)
}

fn measure<T: Trials>(
    trials: &mut T,
    settings: &SearchSettings,
    trial: &TrialSpec,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    settings.check()?;
    let mut decider = Decider::new(trials, settings);
    let decide = |rate: Rate, patience: Patience| {
        let spec = TrialSpec { rate, ..trial.clone() };
        let (rate, load) = (rate.min(PROBE_RATE), Load::Frames(PROBE_FRAMES));
        // A direction with a small part of the rate would have too few frames for a verdict on the device.
        let direction = if spec.direction.ratio().is_some() { Direction::Both } else { spec.direction };
        let probe = TrialSpec { rate, load, direction, ..spec.clone() };
        decider.decide(&spec, &probe, patience)
    };
    // At a lower rate the trial would send no frame in some direction.
    let least = (u128::from(settings.direction.least_frames()) * u128::from(Nanos::SECOND.0))
        .div_ceil(u128::from(settings.duration.0));
    let least = Rate(u64::try_from(least).unwrap_or(u64::MAX));
    binary::search((settings.lo, settings.hi), least, (settings.precision, &settings.criteria), decide, watch)
}

fn stateless_trial(duration: Nanos, direction: Direction) -> TrialSpec {
    TrialSpec {
        kind: PhaseKind::Stateless,
        rate: Rate(0),
        load: Load::For(duration),
        direction,
        connections: 0,
        phase1_rate: None,
        validate_rate: None,
        keep_table: false,
        responder_order: Order::Random,
        responder_table: crate::trial::ResponderTable::Keep,
    }
}
