//! TCP connections: the highest rate at which connections are opened, used and closed while others are held, and the
//! throughput of segments on held connections. Trials count connections and exchanges in place of frames.

use crate::Procedure;
use crate::metric::{MAX_TCP_CONN_RATE, TCP_ENTRIES, TCP_THROUGHPUT, TCP_TRANSITORY_TIME};
use method::judged::Patience;
use method::search::{Decider, Phase2, Progress, SearchResult, SearchSettings, binary, data_trial};
use method::trial::{Direction, Load, Tcp, TcpClose, TrialError, TrialOptions, TrialOutcome, TrialSpec, Trials};
use method::units::{Count, Nanos, Rate};

/// Entry in the list of procedures.
pub const PROCEDURE: Procedure = Procedure {
    key: "tcp",
    title: "TCP life cycle",
    reference: "RFC 3511 section 5.3; RFC 9411 section 7.2; RFC 5382",
    metrics: &[MAX_TCP_CONN_RATE.key, TCP_THROUGHPUT.key],
    phase1: false,
    stateful: true,
    at_throughput: false,
    summary: "binary search for the highest rate of TCP connections that complete beside those that are held, or of segments \
              on these",
};

/// The largest number of octets that a side of a connection sends, SYN and FIN included: a window without scaling.
const MOST_OCTETS: u64 = 65_535;

/// Parameters of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Different new connections.
    pub different: Count,
    /// Segments with data from each side of a new connection.
    pub exchanges: u16,
    /// How new connections end.
    pub close: TcpClose,
    /// How long the DUT's table is watched for closed connections after the search; `None` for not at all.
    pub watch: Option<Nanos>,
}

impl Life {
    /// The trials of the search, whose table is not watched.
    fn tcp(&self) -> Tcp {
        let Life { exchanges, close, different, .. } = *self;
        Tcp::Life { exchanges, close, different, watch: None }
    }

    /// Segments of one new connection that the Initiator sends: more than the Responder does.
    pub fn of_initiator(&self) -> Count {
        self.tcp().segments()[0]
    }

    /// Returns the highest rate of new connections, in trials of this length, at which none is used twice.
    pub fn most_connections(&self, duration: Nanos) -> Rate {
        per_second(self.different, duration)
    }
}

/// Returns the highest rate of exchanges on `held` connections, in trials of this length, at which no connection
/// exceeds the octets that it can send.
pub fn most_exchanges(held: Count, payload: Count, duration: Nanos) -> Rate {
    per_second(held.saturating_mul((MOST_OCTETS - 2) / payload.max(1)), duration)
}

/// `count` in this time, as a rate per second.
fn per_second(count: Count, duration: Nanos) -> Rate {
    let rate = u128::from(count) * u128::from(Nanos::SECOND.0) / u128::from(duration.0.max(1));
    Rate(u64::try_from(rate).unwrap_or(u64::MAX))
}

/// Measures the maximum TCP connection rate. The connections of `phase2` are those that are held. `settings.hi` bounds the
/// segments per second of the Initiator, because its side is the busier one.
///
/// # Errors
/// As [`crate::throughput::measure`]; [`TrialError::Refused`] if there are no new connections.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Phase2,
    life: Life,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let most = Rate(settings.hi.0 / life.of_initiator()).min(life.most_connections(settings.duration));
    if most.0 == 0 {
        return Err(TrialError::Refused(format!(
            "no TCP connection fits into a trial: {} different ones, and {} segments/s at most; raise `max-rate`, use more \
             connections, or shorter trials",
            life.different, settings.hi
        )));
    }
    let (mut result, best) = search(trials, settings, phase2, (life.tcp(), most), watch)?;
    if result.rate.0 == 0 {
        return Ok(result);
    }
    let mut part = |key: &str, value: u64| {
        result.parts.insert(key.to_owned(), i64::try_from(value).unwrap_or(i64::MAX));
    };
    if let Some(entries) = best.and_then(|best| best.store?.dut_entries_after) {
        part(TCP_ENTRIES.key, entries);
    }
    if let Some(at_most) = life.watch {
        let Life { exchanges, close, different, .. } = life;
        let tcp = Tcp::Life { exchanges, close, different, watch: Some(at_most) };
        let spec = TrialSpec { rate: result.rate, ..trial(settings, phase2, tcp)? };
        // The trial measures a time and no rate, so its losses do not matter. It is no step of the search.
        let outcome = trials.run(&spec)?;
        let emptied = outcome.observed.tcp.as_ref().and_then(|tcp| tcp.emptying?.emptied);
        if let Some(emptied) = emptied {
            part(TCP_TRANSITORY_TIME.key, emptied.0);
        }
        if let (Some(seen), Some(tcp)) = (&mut result.observed.tcp, outcome.observed.tcp) {
            seen.emptying = tcp.emptying;
        }
    }
    Ok(result)
}

/// Measures the throughput of segments with `payload` octets of data on the connections of `phase2`.
///
/// # Errors
/// As [`crate::throughput::measure`].
pub fn measure_throughput(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Phase2,
    payload: Count,
    watch: &mut dyn FnMut(&Progress),
) -> Result<SearchResult, TrialError> {
    let most = settings.hi.min(most_exchanges(phase2.connections, payload, settings.duration));
    if most.0 == 0 {
        return Err(TrialError::Refused(format!(
            "{} TCP connections cannot have one exchange of {payload} octets in a trial of {} s; use more connections, \
             smaller frames, or shorter trials",
            phase2.connections,
            settings.duration.as_secs_f64()
        )));
    }
    Ok(search(trials, settings, phase2, (Tcp::Exchange, most), watch)?.0)
}

/// The trial of a phase 2 with TCP connections; its rate is 0.
fn trial(settings: &SearchSettings, phase2: Phase2, tcp: Tcp) -> Result<TrialSpec, TrialError> {
    // The Initiator begins every connection and exchange; all other segments are responses.
    let options = TrialOptions { tcp: Some(tcp), ..TrialOptions::default() };
    Ok(TrialSpec { direction: Direction::Forward, options, ..data_trial(settings, Some(phase2))? })
}

/// The search, which observes the trial at the rate found, and the outcome of this trial.
fn search(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Phase2,
    (tcp, most): (Tcp, Rate),
    watch: &mut dyn FnMut(&Progress),
) -> Result<(SearchResult, Option<TrialOutcome>), TrialError> {
    settings.check()?;
    let trial = trial(settings, phase2, tcp)?;
    let mut decider = Decider::new(trials, settings);
    let mut best: Option<(Rate, TrialOutcome)> = None;
    let decide = |rate: Rate, patience: Patience| {
        let spec = TrialSpec { rate, ..trial.clone() };
        let judgement = decider.decide(&spec, &probe(&spec, tcp), patience)?;
        if judgement.decision.passed() && best.as_ref().is_none_or(|(highest, _)| rate >= *highest) {
            best = Some((rate, judgement.last().outcome.clone()));
        }
        Ok(judgement)
    };
    let ends = (settings.lo.min(Rate(most.0 - 1)), most);
    let least = per_second(1, settings.duration).max(Rate(1));
    let mut result = binary::search(ends, least, (settings.precision, &settings.criteria), decide, watch)?;
    let best = best.filter(|(rate, _)| *rate == result.rate).map(|(_, outcome)| outcome);
    result.observed = best.as_ref().map(|outcome| outcome.observed.clone()).unwrap_or_default();
    Ok((result, best))
}

/// A probe of the DUT: with a working DUT, at least one of these completes.
fn probe(spec: &TrialSpec, tcp: Tcp) -> TrialSpec {
    const MOST: Count = 1_000;
    let count = match tcp {
        Tcp::Life { different, .. } => different.clamp(1, MOST),
        Tcp::Exchange => spec.connections.clamp(1, MOST),
    };
    TrialSpec { rate: spec.rate.min(Rate(MOST)), load: Load::Frames(count), ..spec.clone() }
}
