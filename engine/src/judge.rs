//! The receiver: judges every frame at any rate, counts each right one once, and all others by their fault.

use crate::example::examples;
use crate::expected::{JudgePlan, Work};
use crate::findings::Findings;
use crate::first_wrong::fault_of_stray;
use crate::native::NativeJudge;
use crate::observe::FrameStamps;
pub use crate::seen::Arrivals;
use crate::service::{Desk, Service};
use method::Fault;
use port::{BATCH, Burst, Clock, Pool, Port, PortError, Ticks};
use std::sync::Mutex;
use wire::{Expect, Sizes, StreamId, Tag, decode};

/// A receiver.
pub struct Judge<'a> {
    plan: JudgePlan<'a>,
    clock: Clock,
    seen: &'a mut [Arrivals],
    burst: Burst,
    desk: Desk<'a>,
    work: Work,
    /// Connections below this index keep what phase 1 learned, although others are learned.
    held: u32,
    /// Expectations by size, instead of the view's.
    mix: Option<&'a Sizes<Expect>>,
    native: Option<Box<NativeJudge<'a>>>,
    stamps: Option<&'a FrameStamps>,
    /// Counters so far.
    pub findings: Findings,
}

impl<'a> Judge<'a> {
    /// One [`Arrivals`] per sender, each reset for this phase.
    pub fn new(plan: JudgePlan<'a>, clock: Clock, seen: &'a mut [Arrivals]) -> Judge<'a> {
        let (burst, desk) = (port::burst(), Desk::default());
        Judge {
            plan,
            clock,
            seen,
            burst,
            desk,
            work: Work::default(),
            held: 0,
            mix: None,
            native: None,
            stamps: None,
            findings: Findings::default(),
        }
    }

    /// Compares indices below `held` with phase 1, also while others are learned.
    #[must_use]
    pub fn holding(mut self, held: u32) -> Judge<'a> {
        self.held = held;
        self
    }

    /// Gives frames without a tag to a service.
    #[must_use]
    pub fn beside(mut self, service: &'a Mutex<Service>, left: bool) -> Judge<'a> {
        self.desk = Desk::of(service, left);
        self
    }

    /// Expects frames of several sizes.
    #[must_use]
    pub fn of_sizes(self, mix: Option<&'a Sizes<Expect>>) -> Judge<'a> {
        Judge { mix, ..self }
    }

    /// Expects native frames, too.
    #[must_use]
    pub fn and_native(self, native: Option<NativeJudge<'a>>) -> Judge<'a> {
        Judge { native: native.map(Box::new), ..self }
    }

    pub(crate) fn received(&self) -> u64 {
        self.findings.received + self.native.as_ref().map_or(0, |native| native.findings.received)
    }

    /// Returns the counters, and examples of wrong frames in words.
    #[must_use]
    pub fn finish(self) -> Findings {
        let in_words = |findings: Findings, plan: &JudgePlan<'_>| {
            let examples = examples(&findings.first_wrong, Some(plan), findings.hop_limit);
            Findings { examples, ..findings }
        };
        let native = self.native.map(|native| Box::new(in_words(native.findings, &native.plan)));
        Findings { native, ..in_words(self.findings, &self.plan) }
    }

    /// Notes the receive times of right frames.
    #[must_use]
    pub fn stamping(self, stamps: Option<&'a FrameStamps>) -> Judge<'a> {
        Judge { stamps, ..self }
    }

    /// Receives and judges one burst; returns the number of frames and the time afterwards. `now`
    /// is the last clock reading: another one would cost a third of a frame's time.
    ///
    /// # Errors
    /// When the port fails.
    #[inline]
    pub fn poll(&mut self, now: Ticks, port: &mut impl Port, pool: &mut Pool) -> Result<(usize, Ticks), PortError> {
        let got = port.receive(pool, &mut self.burst)?;
        if got == 0 {
            return Ok((0, now));
        }
        let received = self.clock.now();
        let may_be_rows = self.mix.is_none() && self.native.is_none();
        for at in (0..got).step_by(BATCH) {
            let n = (got - at).min(BATCH);
            if may_be_rows && self.judge_batch(at, n) {
                if let Some(stamps) = self.stamps {
                    self.note(stamps, at, n);
                }
            } else if !self.judge_slowly(at, n, port, pool) {
                return Err(self.desk.error());
            }
        }
        pool.free_all(&mut self.burst);
        let end = self.clock.now();
        self.findings.backend += received - now;
        self.findings.own = self.findings.own.wrapping_add(end - received);
        Ok((got, end))
    }

    /// Judges in passes over the whole batch, for prefetching and vectorisation. Returns false and
    /// counts nothing if the `n` frames are not the usual case.
    #[inline]
    fn judge_batch(&mut self, at: usize, n: usize) -> bool {
        let Judge { plan, seen, burst, findings, work, held, .. } = self;
        let frames = &burst[at..at + n];
        match (plan.learn, *held) {
            (true, 0) => plan.judge_row::<true, false>(frames, 0, work, seen, findings),
            (true, held) => plan.judge_row::<true, true>(frames, held, work, seen, findings),
            (false, _) => plan.judge_row::<false, false>(frames, 0, work, seen, findings),
        }
    }

    #[inline(never)]
    fn note(&self, stamps: &FrameStamps, at: usize, n: usize) {
        let frames = &self.burst[at..at + n];
        let tag = frames.first().and_then(|frame| StreamId::words(frame.bytes(), self.plan.expect.tag_at()));
        let Some(tag) = tag else { return };
        for (frame, sequence) in frames.iter().zip(StreamId::sequence(tag)..) {
            stamps.received(StreamId::sender(tag), sequence, frame.stamp);
        }
    }

    /// One by one, with the service; false if the port failed.
    #[inline(never)]
    fn judge_slowly(&mut self, at: usize, n: usize, port: &mut impl Port, pool: &mut Pool) -> bool {
        let Judge { plan, seen, burst, findings, work, desk, clock, held, mix, native, stamps } = self;
        let frames = &mut burst[at..at + n];
        let untagged = match native {
            None => plan.judge_each(frames, (*held, *mix), work, (seen, *stamps), findings),
            Some(native) => native.judge_runs(plan, frames, (*held, *mix), work, (seen, *stamps), findings),
        };
        if untagged == 0 {
            return true;
        }
        let foreign = desk.handle(frames, untagged, pool);
        for (_, frame) in frames.iter().enumerate().filter(|(bit, _)| foreign & 1 << bit != 0) {
            let frame = frame.bytes();
            let tag = decode::tag_in(frame).and_then(|at| Tag::read(frame, at));
            let is_late = tag.is_some_and(|tag| tag.trial != plan.trial);
            findings.count_wrong(if is_late { Fault::Late } else { fault_of_stray(frame) }, frame);
        }
        let before = clock.now();
        let sent = desk.send(port, pool);
        // The caller counts back-end time as time spent judging.
        let inside = clock.now() - before;
        findings.backend += inside;
        findings.own = findings.own.wrapping_sub(inside);
        sent
    }
}
