//! Churn rate: the highest rate at which new connections arrive and are abandoned, while a DUT
//! holds many others. Each trial sets up the held connections; then frames on held and new
//! connections are one stream Left to Right, in which each held connection has a frame before it
//! times out. Frames Right to Left are on held connections only.

use crate::known;
use crate::prelude::*;
use key::kind::{number, rate, seconds_from, share};
use method::search::probe;
use method::trial::{self};

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "churn",
    summary: "binary search for the highest rate of new connections beside those that are held, without loss",
    metrics: &[CHURN_RATE, OCCUPANCY, ENTRIES],
    sends: Sends::FramesInTurn,
    stateful: true,
    tables: &[TABLE],
    check,
    search,
    known: KNOWN,
    ..Procedure::of(&CHURN_RATE)
};

/// The table that says which connections are held.
pub(crate) const TABLE: KeyTable = KeyTable::of::<Churn>("churn");

/// New connections while others are held.
pub const CHURN_RATE: Metric = Metric {
    key: "churn_rate",
    title: "Churn rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 4787 section 4.3",
    definition: "The highest rate at which new connections arrive, have their frames and are abandoned, while no frame is lost, \
                 neither of these connections nor of those that are held and used all the time.",
    ..Metric::USUAL
};

/// Connections in the table in the trials.
const OCCUPANCY: Metric = Metric {
    higher_is_better: true,
    ..CHURN_RATE.part(
        "churn_occupancy",
        "Connections that have not timed out",
        Unit::Connections,
        "The connections that are held, and the new ones of one time-out, or of the whole trial if that is shorter.",
    )
};

/// Connections that the device reports.
const ENTRIES: Metric = Metric {
    higher_is_better: true,
    ..CHURN_RATE.part(
        "churn_entries",
        "Entries of the DUT after the trial",
        Unit::Connections,
        "The entries of the connection tracking table after the trial at the churn rate, if the DUT counts them.",
    )
};

key::table! {
    /// New connections that come and are abandoned while others are held.
    pub struct Churn {
        /// Share of the connections of the point that phase 1 sets up and that are held; all others are new ones.
        held_ppm: u32 = "held", share(), or("25 %");
        /// Frames of each new connection, Left to Right.
        frames: u64 = "frames", number(1..=1_000), or("1");
        /// The device forgets a connection without frames after this time. Each held connection has three frames in it.
        timeout: Option<Nanos> = "timeout", maybe(seconds_from(1)), computed("`udp-timeout` of the device");
        /// Frames on all held connections together, Left to Right, at least.
        held_rate: Option<WrittenRate> = "held-rate", maybe(rate()), computed("three on each in a time-out");
    }
}

impl Churn {
    /// Number of held connections of so many.
    pub fn held(&self, connections: Count) -> Count {
        (u128::from(connections) * u128::from(self.held_ppm) / 1_000_000) as Count
    }

    /// Held connections of so many, and the parameters of the trials, on a device with this
    /// time-out, with frames of this size.
    pub fn limits(&self, connections: Count, forgets_after: Nanos, frame: usize) -> (Count, Limits) {
        let held = self.held(connections);
        let limits = Limits {
            different: connections - held,
            frames: self.frames,
            timeout: self.timeout.unwrap_or(forgets_after),
            held_rate: self.held_rate.map_or(Rate(0), |rate| Rate(rate.frames_per_second(frame))),
        };
        (held, limits)
    }
}

/// Held connections and parameters at the point of a measurement.
pub(crate) fn limits(context: &Context<'_>) -> (Count, Limits) {
    let keys = context.keys.get::<Churn>();
    keys.limits(context.connections, context.device.forgets_after(), context.frame[1])
}

/// Some connections are held, some are new, and the Initiator sends.
fn check(asked: &mut MeasureRequest<'_>) {
    let Some(at) = asked.metric_at(&CHURN_RATE) else { return };
    let keys = asked.keys.get::<Churn>();
    let what = ("connections", "churn.held");
    asked.needs_held_and_new(what, &at, |all| keys.held(all), "write a share between, such as held = \"25 %\"");
    if let Some(direction) = (asked.reverse_at)(CHURN_RATE.key) {
        let fault = Fault::new("no new connection arrives").at(direction, "the Initiator sends nothing");
        let fault = fault.at(at, "the Initiator opens connections");
        asked.refuse(fault.instead("write \"forward\" or \"both\" in place of \"reverse\""));
    }
}

/// Least frames of each held connection in one time-out.
pub const REFRESHES: u64 = 3;

/// Parameters of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Different new connections.
    pub different: Count,
    /// Frames of a new connection.
    pub frames: Count,
    /// Time-out of the DUT for an idle connection.
    pub timeout: Nanos,
    /// Least frames per second on held connections.
    pub held_rate: Rate,
}

impl Limits {
    /// Rate of frames on `held` connections: [`REFRESHES`] of each in a time-out.
    pub fn held_frames(&self, held: Count) -> Rate {
        let refreshes = Rate::at_least(held.saturating_mul(REFRESHES), self.timeout);
        self.held_rate.max(refreshes).max(Rate(1))
    }

    /// Highest rate of new connections, in trials of this length, at which the DUT has forgotten a
    /// connection, within two time-outs, before it is opened again.
    pub fn most_arrivals(&self, duration: Nanos) -> Rate {
        let again_after = duration.0.min(self.timeout.0.saturating_mul(2));
        Rate::of(self.different, Nanos(again_after))
    }

    /// Connections that have not timed out at the end of a trial.
    pub fn occupancy(&self, held: Count, arrivals: Rate, duration: Nanos) -> Count {
        held.saturating_add(arrivals.frames_in(duration.min(self.timeout)))
    }
}

/// Measures the churn rate; `settings.hi` bounds the frames per second.
///
/// # Errors
/// [`TrialError::Refused`] if the frames on held connections alone reach the upper end, or there are no new connections.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let (settings, (held, limits)) = (context.settings, limits(context));
    let all = context.connected("without connections there is no churn")?;
    let (phase2, frames) = (Phase2 { connections: held, ..all }, limits.frames);
    settings.check()?;
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
    let data = data_trial(settings, Some(phase2))?;
    let mut decider = Decider::new(trials, settings);
    let mut entries = None;
    let decide = |arrivals: Rate, patience: Patience| {
        let churn = trial::Churn { arrivals, frames, different: limits.different };
        let options = TrialOptions { churn: Some(churn), ..data.options.clone() };
        let forward = Rate(churn.frame_rate().0 + held_frames.0);
        let spec = TrialSpec { rate: settings.direction.fastest_with(true, forward), options, ..data.clone() };
        let judgement = decider.decide(&spec, &probe(&spec), patience)?;
        if judgement.decision.passed() {
            let store = judgement.last().outcome.store.as_ref();
            entries = entries.max(store.and_then(|store| store.dut_entries_after).map(|found| (arrivals, found)));
        }
        Ok(judgement)
    };
    let ends = (settings.lo.min(Rate(highest.0 - 1)), highest);
    let mut result =
        binary::search(None, ends, (Rate(1), Rate(1)), (settings.precision, binary::never), decide, watch)?;
    if result.rate.0 > 0 {
        let mut part =
            |key: &str, value: Count| result.parts.insert(key.to_owned(), i64::try_from(value).unwrap_or(i64::MAX));
        part(OCCUPANCY.key, limits.occupancy(held, result.rate, settings.duration));
        if let Some((_, entries)) = entries.filter(|(arrivals, _)| *arrivals == result.rate) {
            part(ENTRIES.key, entries);
        }
    }
    Ok(result)
}

const KNOWN: &[KnownValue] = &[KnownValue {
    metric: CHURN_RATE.key,
    device: "sets up 300,000 connections/s beside 30,000",
    truth: Some(300_000),
    error: of_search(300_000),
    point: || {
        let keys = Churn { held_ppm: 1_000, frames: 1, timeout: Some(Nanos::from_secs(9)), held_rate: None };
        let phase2 = Some(Phase2 { connections: 30_000_000, ..HELD });
        KnownPoint { phase2, settings: known::forward(), ..KnownPoint::new(keys, known::simulated()) }
    },
}];
