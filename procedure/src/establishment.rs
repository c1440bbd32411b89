//! Maximum connection establishment rate (RFC 9693 section 4.5), and with validation (section 4.6). Its trials have a
//! fixed number of frames, one per connection, instead of a duration, and each starts from an empty connection tracking
//! table.

use crate::Procedure;
use method::judged::{Patience, probe_connections};
use method::ratio::Ratio;
use method::search::{Decider, Progress, SearchResult, SearchSettings, binary};
use method::trial::{Direction, Load, Order, PhaseKind, TrialError, TrialSpec, Trials};
use method::units::{Count, Nanos, Rate};
use method::validity::check_buffers;

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "establishment",
    title: "Maximum connection establishment rate",
    reference: "RFC 9693 sections 4.5 and 4.6",
    metrics: &["max_conn_est_rate", "max_conn_est_rate_validated"],
    phase1: true,
    stateful: true,
    at_throughput: false,
    summary: "binary search for the highest rate at which each of N new connections is set up, from an empty table",
};

/// Parameters of phase 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase1 {
    /// Connections to establish (N).
    pub connections: Count,
    /// Frames that the path can buffer (queues, rings, the in-process link); 0 if unknown.
    pub buffered: Count,
    /// Maximum validation rate: 0.9 of the reverse one-way throughput, if that was measured. A validation rate above
    /// the forwarding rate would lower the result, which would then not measure connection establishment.
    pub validate_at_most: Option<Rate>,
}

/// Measures the maximum connection establishment rate, with validation if `settings.alpha` is given.
///
/// # Errors
/// As [`Trials::run`]; [`TrialError::DutDead`] if no connection is set up at a low rate either;
/// [`TrialError::Refused`] if N is too small for the path's buffers, or the settings have no result.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase1: Phase1,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    settings.check()?;
    if phase1.connections == 0 {
        return Err(TrialError::Refused("phase 1 needs at least one connection".to_owned()));
    }
    check_buffers(phase1.connections, phase1.buffered)?;
    let mut decider = Decider::new(trials, settings);
    let decide = |rate: Rate, patience: Patience| {
        let spec = trial(rate, phase1.connections, settings.alpha, phase1.validate_at_most);
        let (few, slow) = probe_connections(phase1.connections, rate);
        let probe = trial(slow, few, settings.alpha, phase1.validate_at_most);
        decider.decide(&spec, &probe, patience)
    };
    let (ends, by) = ((settings.lo, settings.hi), (settings.precision, &settings.criteria));
    let least = (Rate(1), least_strict(phase1.connections, settings.invalid_at_most));
    binary::search_from(settings.warm, ends, least, by, decide, watch)
}

/// The lowest rate of the strict search: at this rate the connections take the whole time limit of invalid trials.
/// Slower trials, one for each halving, would take many times as long, on a host whose noise left all faster ones
/// undecided.
fn least_strict(connections: Count, at_most: Option<Nanos>) -> Rate {
    let Some(time) = at_most.filter(|time| time.0 > 0) else { return Rate(1) };
    let rate = (u128::from(connections) * u128::from(Nanos::SECOND.0)).div_ceil(u128::from(time.0));
    Rate(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
}

/// Returns the validation rate of a trial at R: alpha × R, capped, at least 1.
pub fn validation_rate(rate: Rate, alpha: Ratio, at_most: Option<Rate>) -> Rate {
    let wanted = alpha.of(rate);
    wanted.min(at_most.unwrap_or(wanted)).max(Rate(1))
}

/// A trial of `connections` new connections at a rate, validated if alpha is given.
pub(crate) fn trial(rate: Rate, connections: Count, alpha: Option<Ratio>, validate_at_most: Option<Rate>) -> TrialSpec {
    TrialSpec {
        kind: PhaseKind::Establish,
        rate,
        load: Load::Frames(connections),
        direction: Direction::Forward,
        connections,
        phase1_rate: None,
        validate_rate: alpha.map(|alpha| validation_rate(rate, alpha, validate_at_most)),
        keep_table: false,
        responder_order: Order::Random,
        responder_table: method::trial::ResponderTable::Keep,
        options: method::trial::TrialOptions::default(),
    }
}
