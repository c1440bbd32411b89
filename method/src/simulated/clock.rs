//! How long trials of a simulated device would take.

use super::SimulatedDut;
use crate::trial::{Load, PhaseKind, Stamps, Tcp, TrialError, TrialOutcome, TrialSpec, Trials};
use crate::units::{Count, Nanos, Rate};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Time before the first frame of each phase.
    pub start_delay: Nanos,
    /// Time after the last frame of phase 2.
    pub drain: Nanos,
    /// Time after the last frame of phase 1.
    pub phase1_drain: Nanos,
    pub settle: Nanos,
}

/// The largest trial so far, in all directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Largest {
    pub frames: Count,
    pub stamps: Count,
}

impl Largest {
    #[must_use]
    pub fn max(self, other: Largest) -> Largest {
        Largest { frames: self.frames.max(other.frames), stamps: self.stamps.max(other.stamps) }
    }

    fn of(spec: &TrialSpec) -> Largest {
        Largest { frames: spec.direction.all_frames(spec.frames()), stamps: stamps_of(spec) }
    }
}

#[derive(Debug)]
pub struct DutClock<B> {
    device: SimulatedDut,
    waits: Waits,
    /// What the device needs before a trial of this length.
    before: B,
    elapsed: Nanos,
    end: Nanos,
    largest: Largest,
}

impl<B: Fn(&TrialSpec, Nanos) -> Nanos> DutClock<B> {
    pub fn new(device: SimulatedDut, waits: Waits, before: B, end: Nanos) -> DutClock<B> {
        DutClock { device, waits, before, elapsed: Nanos(0), end, largest: Largest::default() }
    }

    pub fn elapsed(&self) -> Nanos {
        self.elapsed.min(self.end)
    }

    pub fn largest(&self) -> Largest {
        self.largest
    }

    fn time(&self, spec: &TrialSpec, outcome: &TrialOutcome) -> Nanos {
        let alone = sum(&[self.waits.settle, self.phases(spec, outcome), afterwards(&self.device, spec, outcome)]);
        sum(&[alone, (self.before)(spec, alone)])
    }

    fn phases(&self, spec: &TrialSpec, outcome: &TrialOutcome) -> Nanos {
        let Waits { start_delay, drain, phase1_drain, .. } = self.waits;
        if let Some(queries) = spec.options.queries {
            let waits_for_last = outcome.forward.lost() > 0;
            return sum(&[outcome.forward.send_time, if waits_for_last { queries.timeout } else { Nanos(0) }]);
        }
        let first = |time: Nanos| sum(&[start_delay, time, phase1_drain]);
        let last = |time: Nanos| sum(&[start_delay, time, drain, spec.options.drain.unwrap_or_default()]);
        let data = sending(spec, outcome);
        let data = match spec.kind {
            // Phase 1 was incomplete.
            _ if outcome.forward.planned + outcome.reverse.planned == 0 => Nanos(0),
            PhaseKind::Establish => first(data),
            PhaseKind::Stateless | PhaseKind::Established => last(data),
        };
        let warm_up = spec.options.warm_up.map(|warm_up| {
            let frames = warm_up.frames_before(spec.rate);
            first(warm_up.rate_before(spec.rate).time_for(frames))
        });
        let opened = spec.opened_at().filter(|_| spec.kind == PhaseKind::Established);
        let opened = opened.map(|rate| first(rate.time_for(spec.connections)));
        let validated = outcome.validation.as_ref().map(|leg| last(leg.send_time));
        let surveyed = outcome.observed.action.as_ref().and_then(|acted| acted.connections).map(|connections| {
            let rate = spec.phase1_rate.unwrap_or(SURVEY).min(SURVEY);
            first(rate.time_for(connections.all))
        });
        let more = [opened, warm_up, validated, surveyed].map(Option::unwrap_or_default);
        sum(&[data, sum(&more)])
    }
}

impl<B: Fn(&TrialSpec, Nanos) -> Nanos> Trials for DutClock<B> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        if self.elapsed >= self.end {
            return Err(TrialError::Interrupted);
        }
        let mut outcome = self.device.run(&without_frames(spec))?;
        outcome.wall = self.time(spec, &outcome);
        self.elapsed = sum(&[self.elapsed, outcome.wall]);
        self.largest = self.largest.max(Largest::of(spec));
        Ok(outcome)
    }

    fn begin(&mut self, series: &str, before: u64) {
        self.device.begin(series, before);
    }
}

const SURVEY: Rate = Rate(100_000);
/// How long the memory in use falls after the table was emptied.
const FREEING: Nanos = Nanos::SECOND;
/// Time stamps and samples that show as much as all.
const FEW: u64 = 100;

/// The trial with few stamps, and all flows from the start.
fn without_frames(spec: &TrialSpec) -> TrialSpec {
    let mut few = spec.clone();
    if few.options.ramp.take().is_some() {
        few.load = Load::Frames(spec.frames());
    }
    few.options.stamps = spec.options.stamps.map(|_| Stamps::Some { frames: FEW, from: Nanos(0) });
    if let Some(sampler) = &mut few.options.sampler {
        sampler.interval = sampler.interval.max(Nanos(spec.send_time().0 / FEW));
    }
    few
}

fn sending(spec: &TrialSpec, outcome: &TrialOutcome) -> Nanos {
    let sent = outcome.forward.send_time.max(outcome.reverse.send_time);
    if outcome.observed.ended_early.is_some() { sent } else { sent.max(spec.send_time()) }
}

fn afterwards(device: &SimulatedDut, spec: &TrialSpec, outcome: &TrialOutcome) -> Nanos {
    let (control, observed) = (&device.truth.control, &outcome.observed);
    let emptied = observed.emptied.as_ref().map(|emptied| sum(&[emptied.full, sum(&emptied.empty)]));
    let freed = observed
        .memory
        .as_ref()
        .map(|memory| sum(&[control.tear_down_rate.time_for(memory.entries), control.tear_down_empty, FREEING]));
    let at_most = if let Some(Tcp::Life { watch, .. }) = spec.options.tcp { watch } else { None };
    let seen = observed.tcp.as_ref().and_then(|tcp| tcp.emptying?.emptied);
    sum(&[emptied, freed, at_most.map(|at_most| seen.unwrap_or(at_most))].map(Option::unwrap_or_default))
}

fn stamps_of(spec: &TrialSpec) -> Count {
    let Some(stamps) = spec.options.stamps else { return 0 };
    let from = if let Stamps::Some { from, .. } = stamps { from } else { Nanos(0) };
    let of = |forward: bool| stamps.choose(spec.frames_of(forward), spec.pace_of(forward).frames_in(from)).frames;
    of(true) + of(false)
}

fn sum(times: &[Nanos]) -> Nanos {
    Nanos(times.iter().fold(0, |sum, time| sum.saturating_add(time.0)))
}
