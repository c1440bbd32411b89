//! Begins connections, or exchanges on them, on schedule.

use super::Steps;
use super::end::EndPlan;
use super::stages::Stages;
use crate::schedule::Departures;
use crate::sender::still_takes;
use method::{Count, Leg, Nanos, Timing};
use port::{BATCH, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use wire::tcp::{Ends, Numbers, Segment, SegmentTemplate, Side};
use wire::{Batch, View, Words};

pub(super) struct OpenerPlan<'a> {
    pub(super) view: &'a View,
    pub(super) segments: &'a SegmentTemplate,
    pub(super) steps: Steps<'a>,
    /// For acknowledgements.
    pub(super) stages: &'a Stages,
    pub(super) numbers: Numbers,
    pub(super) departures: Departures,
    pub(super) first: u32,
    pub(super) different: Count,
    pub(super) turn: (u64, u64),
}

pub(super) struct Opener<'a> {
    plan: OpenerPlan<'a>,
    clock: Clock,
    next: u64,
    start: Ticks,
    give_up_late: Ticks,
    burst: Burst,
    indices: [u32; BATCH],
    flows: [u32; BATCH],
    values: Batch,
    words: Words,
    leg: Leg,
    worst_late: Ticks,
    last_handed: Ticks,
    last_taken: Ticks,
    own: Ticks,
    backend: Ticks,
}

impl<'a> Opener<'a> {
    /// Gives up when later than `give_up_late`.
    pub(super) fn new(plan: OpenerPlan<'a>, clock: Clock, give_up_late: Ticks) -> Opener<'a> {
        let burst = plan.departures.burst();
        let timing = Timing { burst, worst_burst: burst, ..Timing::default() };
        Opener {
            leg: Leg { planned: plan.departures.frames(), timing, ..Leg::default() },
            plan,
            clock,
            next: 0,
            start: 0,
            give_up_late,
            burst: port::burst(),
            indices: [0; BATCH],
            flows: [0; BATCH],
            values: Batch::default(),
            words: Words::default(),
            worst_late: 0,
            last_handed: 0,
            last_taken: 0,
            own: 0,
            backend: 0,
        }
    }

    pub(super) fn start_at(&mut self, start: Ticks) {
        (self.start, self.last_handed) = (start, start);
        self.plan.departures.start_at(start);
    }

    pub(super) fn inside(&self) -> Ticks {
        self.backend
    }

    /// False once all have begun or it has given up.
    pub(super) fn poll(&mut self, now: Ticks, port: &mut impl Port, pool: &mut Pool) -> Result<bool, PortError> {
        let due = self.plan.departures.due_count(now);
        if due == self.next {
            return Ok(self.next < self.leg.planned);
        }
        let behind = due - self.next;
        let late = now.saturating_sub(self.plan.departures.due(self.next));
        self.worst_late = self.worst_late.max(late);
        let timing = &mut self.leg.timing;
        if behind > u64::from(timing.burst) {
            timing.catch_ups += 1;
            timing.crowded += if behind > BATCH as u64 { BATCH as u64 } else { 0 };
            timing.worst_burst = timing.worst_burst.max(u32::try_from(behind).unwrap_or(u32::MAX));
            if late > self.give_up_late {
                timing.gave_up = still_takes(self.last_taken, now, self.give_up_late);
                return Ok(false);
            }
        }
        if self.burst.is_empty() {
            self.build(behind.min(BATCH as u64) as usize, pool);
        }
        let offered = self.burst.len();
        let before = self.clock.now();
        let sent = port.transmit(pool, &mut self.burst)?;
        let after = self.clock.now();
        if self.burst.len() < offered {
            self.next += (offered - self.burst.len()) as u64;
            self.last_taken = after;
        }
        self.leg.sent += (sent.accepted + sent.refused) as Count;
        self.leg.refused += sent.refused as Count;
        self.last_handed = after;
        self.own += before - now;
        self.backend += after - before;
        Ok(self.next < self.leg.planned)
    }

    fn build(&mut self, n: usize, pool: &mut Pool) {
        let plan = &self.plan;
        let (which, of) = plan.turn;
        let length = plan.segments.len(matches!(plan.steps, Steps::Exchanges(_)));
        let built = pool.alloc_burst(n, length, &mut self.burst);
        let different = plan.different.max(1);
        let place = |k: u64| which + (self.next + k) * of;
        for (k, index) in self.indices[..built].iter_mut().enumerate() {
            *index = plan.first + (place(k as u64) % different) as u32;
        }
        plan.view.order.fill(&self.indices[..built], &mut self.flows[..built]);
        self.values.set(&plan.view.flows, &self.flows);
        plan.view.left.words(&self.values, &mut self.words);
        for (k, frame) in self.burst.iter_mut().map(Frame::bytes_mut).enumerate() {
            let index = self.indices[k];
            let segment = plan.first_of(index, place(k as u64) / different);
            let (numbers, ends) = (plan.numbers.of(index, &segment), Ends::of(&self.words, k));
            plan.segments.write(frame, &ends, index, numbers, (segment.flags, segment.data));
        }
    }

    pub(super) fn finish(mut self, pool: &mut Pool) -> Leg {
        pool.free_all(&mut self.burst);
        let departures = &self.plan.departures;
        let ns = |t: Ticks| Nanos(self.clock.nanos(t));
        let last_due = departures.due(departures.frames().saturating_sub(1));
        let is_short = self.next < self.leg.planned;
        let late = if is_short { self.worst_late } else { self.last_handed.saturating_sub(last_due) };
        let timing = Timing {
            finished_late: ns(late),
            worst_late: ns(self.worst_late),
            own_time: ns(self.own),
            backend_time: ns(self.backend),
            ..self.leg.timing
        };
        Leg { send_time: ns(self.last_handed.saturating_sub(self.start)), timing, ..self.leg }
    }
}

impl<'a> OpenerPlan<'a> {
    pub(super) fn beside(
        end: &EndPlan<'a>,
        departures: Departures,
        (first, different): (u32, Count),
        turn: (u64, u64),
    ) -> Self {
        OpenerPlan {
            view: end.view,
            segments: end.segments,
            steps: end.steps,
            stages: end.stages,
            numbers: end.numbers,
            departures,
            first,
            different,
            turn,
        }
    }

    #[inline(always)]
    fn first_of(&self, index: u32, number: u64) -> Segment {
        match self.steps {
            Steps::Script(_, all) => all[0],
            Steps::Exchanges(all) => {
                let whole = self.stages.progress(index, Side::Initiator).whole;
                all.request(number as u16, whole)
            }
        }
    }
}
