//! Begins connections, or exchanges on them, on schedule.

use super::Steps;
use super::end::EndPlan;
use super::stages::Stages;
use crate::pacer::{Due, Pacer};
use method::{Count, Leg};
use port::{BATCH, Burst, Frame, Pool, Port, PortError, Ticks};
use wire::tcp::{Ends, Numbers, Segment, SegmentTemplate, Side};
use wire::{Batch, View, Words};

pub(super) struct OpenerPlan<'a> {
    pub(super) view: &'a View,
    pub(super) segments: &'a SegmentTemplate,
    pub(super) steps: Steps<'a>,
    pub(super) stages: &'a Stages,
    pub(super) numbers: Numbers,
    pub(super) first: u32,
    pub(super) different: Count,
    pub(super) turn: (u64, u64),
}

pub(super) struct Opener<'a> {
    plan: OpenerPlan<'a>,
    pacer: Pacer,
    burst: Burst,
    indices: [u32; BATCH],
    flows: [u32; BATCH],
    values: Batch,
    words: Words,
}

impl<'a> Opener<'a> {
    pub(super) fn new(plan: OpenerPlan<'a>, pacer: Pacer) -> Opener<'a> {
        Opener {
            plan,
            pacer,
            burst: port::burst(),
            indices: [0; BATCH],
            flows: [0; BATCH],
            values: Batch::default(),
            words: Words::default(),
        }
    }

    pub(super) fn start_at(&mut self, start: Ticks) {
        self.pacer.start_at(start);
    }

    pub(super) fn inside(&self) -> Ticks {
        self.pacer.backend
    }

    /// Opens due connections; false once all have begun or the opener has given up.
    pub(super) fn poll(&mut self, now: Ticks, port: &mut impl Port, pool: &mut Pool) -> Result<bool, PortError> {
        match self.pacer.due(now) {
            Due::Nothing => return Ok(self.pacer.has_more()),
            Due::TooLate => return Ok(false),
            Due::Frames(n) if self.burst.is_empty() => self.build(n, pool),
            Due::Frames(_) => {}
        }
        self.pacer.transmit(now, port, pool, &mut self.burst)?;
        Ok(self.pacer.has_more())
    }

    fn build(&mut self, n: usize, pool: &mut Pool) {
        let plan = &self.plan;
        let (which, of) = plan.turn;
        let length = plan.segments.len(matches!(plan.steps, Steps::Exchanges(_)));
        let built = pool.alloc_burst(n, length, &mut self.burst);
        let different = plan.different.max(1);
        let place = |k: u64| which + (self.pacer.next + k) * of;
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
        self.pacer.finish()
    }
}

impl<'a> OpenerPlan<'a> {
    pub(super) fn beside(end: &EndPlan<'a>, (first, different): (u32, Count), turn: (u64, u64)) -> Self {
        OpenerPlan {
            view: end.view,
            segments: end.segments,
            steps: end.steps,
            stages: end.stages,
            numbers: end.numbers,
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
