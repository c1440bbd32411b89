//! Native frames among those of a sender and a receiver (RFC 8219, section 5.3).

use crate::expected::{JudgePlan, Work};
use crate::findings::Findings;
use crate::indices::Indices;
use crate::observe::FrameStamps;
use crate::seen::Arrivals;
use port::{Burst, Frame, Pool};
use wire::{Expect, Foreground, Sizes, Tag, Template, Values, View};

/// A sender's native frames.
pub struct NativeSender<'a> {
    /// Flows and their order.
    pub view: &'a View,
    /// Which frames are foreground.
    pub foreground: Foreground,
    /// The kind of frames.
    pub template: &'a Template,
    /// Templates by size, instead of `template`.
    pub sizes: Option<&'a Sizes<Template>>,
    /// Order of the flows.
    pub indices: Indices,
}

impl NativeSender<'_> {
    pub(crate) fn has(&self, sequence: u64) -> bool {
        !self.foreground.has(sequence)
    }

    /// Builds a native frame, without its index; false if the pool is empty.
    pub(crate) fn build(&mut self, tag: Tag, pool: &mut Pool, burst: &mut Burst) -> bool {
        let template = self.sizes.map_or(self.template, |sizes| sizes.of(tag.sequence));
        if pool.alloc_burst_to_grow(1, template.len(), 0, burst) == 0 {
            return false;
        }
        let mut index = [0];
        self.indices.fill(&mut index);
        let values = Values::of(self.view.flows.flow(self.view.order.get(index[0])));
        if let Some(frame) = burst.last_mut() {
            template.write(frame.bytes_mut(), &values, &Tag { index: index[0], ..tag });
        }
        true
    }

    /// Native frames among the first `frames`.
    pub(crate) fn among(&self, frames: u64) -> u64 {
        frames - self.foreground.among(frames)
    }
}

/// A receiver's native frames.
pub struct NativeJudge<'a> {
    /// The native frames.
    pub plan: JudgePlan<'a>,
    /// Which frames are foreground.
    pub foreground: Foreground,
    /// Expectations by size, instead of the view's.
    pub sizes: Option<&'a Sizes<Expect>>,
    /// Whether this phase has native frames.
    pub are_sent: bool,
    /// Counters of native frames.
    pub findings: Findings,
    /// Buffers with flow numbers of the background's view.
    pub(crate) work: Work,
}

impl NativeJudge<'_> {
    /// One of an earlier phase is late.
    fn has(&self, frame: &Frame) -> bool {
        let is_native = |tag: Tag| self.are_sent && !self.foreground.has(tag.sequence);
        let tag = Tag::read(frame.bytes(), self.plan.expect.tag_at());
        tag.is_some_and(|tag| tag.trial != self.plan.trial || is_native(tag))
    }

    /// Returns one bit for each frame without a tag.
    pub(crate) fn judge_runs(
        &mut self,
        foreground: &JudgePlan<'_>,
        frames: &[Frame],
        (held, sizes): (u32, Option<&Sizes<Expect>>),
        work: &mut Work,
        (seen, stamps): (&mut [Arrivals], Option<&FrameStamps>),
        findings: &mut Findings,
    ) -> u32 {
        let (mut untagged, mut at) = (0, 0);
        while let Some(first) = frames.get(at) {
            let is_native = self.has(first);
            let len = frames[at..].iter().take_while(|frame| self.has(frame) == is_native).count();
            let run = &frames[at..at + len];
            untagged |= if is_native {
                self.plan.judge_each(run, (0, self.sizes), &mut self.work, (seen, stamps), &mut self.findings)
            } else {
                foreground.judge_each(run, (held, sizes), work, (seen, stamps), findings)
            } << at;
            at += len;
        }
        untagged
    }
}
