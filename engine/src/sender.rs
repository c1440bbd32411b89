//! The sender: one hot loop for every kind of trial, with flows, order, departure times and tags as data.

use crate::indices::Indices;
use crate::native::NativeSender;
use crate::observe::Row;
use crate::schedule::Departures;
use crate::store::StateTable;
use method::{Count, Leg, Nanos, NativeFrames, Timing};
use port::{BATCH, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use wire::{Batch, Ends6, Prepared, Sizes, Tag, Template, Values, View, Words};

const _: () = assert!(port::BATCH == wire::BATCH);

/// The task of a sender in one phase.
pub struct SenderPlan<'a> {
    /// Flows and order.
    pub view: &'a View,
    /// Of the frames.
    pub template: &'a Template,
    /// And the trial that learned it.
    pub outer: Option<(&'a StateTable, u16)>,
    /// Octets by which the DUT lengthens frames.
    pub growth: usize,
    /// Departure times.
    pub departures: Departures,
    /// Of connections.
    pub indices: Indices,
    /// Without sequence and index.
    pub tag: Tag,
}

/// A sender.
pub struct Sender<'a> {
    plan: SenderPlan<'a>,
    clock: Clock,
    next: u64,
    done: u64,
    frames: u64,
    start: Ticks,
    /// Last first.
    later: Vec<Later>,
    /// Instead of the template's.
    mix: Option<&'a Sizes<Template>>,
    native: Option<Box<NativeSender<'a>>>,
    stamps: Option<&'a Row>,
    /// Drawn early for prefetching.
    ahead: [u32; BATCH],
    ahead_flows: [u32; BATCH],
    burst: Burst,
    work: Work,
    accepted: u64,
    refused: u64,
    timing: Timing,
    worst_late: Ticks,
    last_handed: Ticks,
    last_taken: Ticks,
    late_at_change: Ticks,
    give_up_late: Ticks,
    ended: bool,
    own: Ticks,
    backend: Ticks,
}

/// Follows another schedule.
pub struct Later {
    /// From the start of the first.
    pub after: Ticks,
    /// Its departure times.
    pub departures: Departures,
    /// Flows in use.
    pub flows: Count,
}

/// Never cleared.
#[derive(Default)]
struct Work {
    values: Batch,
    words: Words,
    prepared: Prepared,
    /// After those in `ahead`.
    fresh: [u32; BATCH],
    fresh_flows: [u32; BATCH],
    fresh_values: Batch,
}

impl<'a> Sender<'a> {
    /// Gives up when later than `give_up_late`, which invalidates the trial.
    pub fn new(mut plan: SenderPlan<'a>, clock: Clock, give_up_late: Ticks) -> Sender<'a> {
        let mut ahead = [0; BATCH];
        plan.indices.fill(&mut ahead);
        let mut ahead_flows = [0; BATCH];
        plan.view.order.fill(&ahead, &mut ahead_flows);
        let timing =
            Timing { burst: plan.departures.burst(), worst_burst: plan.departures.burst(), ..Timing::default() };
        let frames = plan.departures.frames();
        Sender {
            plan,
            clock,
            next: 0,
            done: 0,
            frames,
            start: 0,
            later: Vec::new(),
            mix: None,
            native: None,
            stamps: None,
            ahead,
            ahead_flows,
            burst: port::burst(),
            work: Work::default(),
            accepted: 0,
            refused: 0,
            timing,
            worst_late: 0,
            last_handed: 0,
            last_taken: 0,
            late_at_change: 0,
            give_up_late,
            ended: false,
            own: 0,
            backend: 0,
        }
    }

    /// Sends several sizes.
    #[must_use]
    pub fn of_sizes(self, mix: Option<&'a Sizes<Template>>) -> Sender<'a> {
        Sender { mix, ..self }
    }

    /// Sends native frames, too.
    #[must_use]
    pub fn beside(self, native: Option<NativeSender<'a>>) -> Sender<'a> {
        Sender { native: native.map(Box::new), ..self }
    }

    /// Notes the send times of frames.
    #[must_use]
    pub fn stamping(self, stamps: Option<&'a Row>) -> Sender<'a> {
        Sender { stamps, ..self }
    }

    /// Continues with these schedules.
    #[must_use]
    pub fn then(self, mut later: Vec<Later>) -> Sender<'a> {
        let more: Count = later.iter().map(|later| later.departures.frames()).sum();
        later.reverse();
        Sender { frames: self.frames + more, later, ..self }
    }

    /// If need be in the next schedule.
    #[inline(always)]
    fn more(&mut self) -> bool {
        self.next < self.done + self.plan.departures.frames() || self.change_rate()
    }

    #[cold]
    fn change_rate(&mut self) -> bool {
        let Some(Later { after, mut departures, flows }) = self.later.pop() else { return false };
        departures.start_at(self.start + after);
        let before = &self.plan.departures;
        let late = self.last_handed.saturating_sub(before.due(before.frames().saturating_sub(1)));
        self.late_at_change = self.late_at_change.max(if before.frames() > 0 { late } else { 0 });
        self.timing.burst = departures.burst();
        self.plan.indices.use_flows(flows);
        self.done += before.frames();
        self.plan.departures = departures;
        self.next < self.frames
    }

    /// Sends the frames due at `now`; false once all are sent or it has given up.
    ///
    /// # Errors
    /// When the port fails.
    #[inline]
    pub fn poll(&mut self, now: Ticks, port: &mut impl Port, pool: &mut Pool) -> Result<bool, PortError> {
        let due = self.done + self.plan.departures.due_count(now);
        if due == self.next {
            return Ok(self.more());
        }
        let behind = due - self.next;
        let late = now.saturating_sub(self.plan.departures.due(self.next - self.done));
        self.worst_late = self.worst_late.max(late);
        if behind > self.timing.burst as u64 {
            self.timing.catch_ups += 1;
            if behind > BATCH as u64 {
                self.timing.crowded += BATCH as u64;
            }
            self.timing.worst_burst = self.timing.worst_burst.max(behind.min(u32::MAX as u64) as u32);
            if late > self.give_up_late {
                self.timing.gave_up = still_takes(self.last_taken, now, self.give_up_late);
                return Ok(false);
            }
        }
        if self.burst.is_empty() {
            let n = behind.min(BATCH as u64) as usize;
            match (self.mix, &self.native) {
                (None, None) => self.build(n, pool),
                _ => self.build_each(n, pool),
            }
        }
        let offered = self.burst.len();
        let before = self.clock.now();
        let sent = port.transmit(pool, &mut self.burst)?;
        let after = self.clock.now();
        let first = self.next;
        self.next += (offered - self.burst.len()) as u64;
        if self.next > first {
            self.last_taken = after;
        }
        if let Some(stamps) = self.stamps {
            // Before the call, inside of which the device may work.
            stamps.sent(self.plan.tag.sender.into(), first..self.next, before);
        }
        self.accepted += sent.accepted as u64;
        self.refused += sent.refused as u64;
        self.last_handed = after;
        self.own += before - now;
        self.backend += after - before;
        Ok(self.more())
    }

    #[inline]
    fn build(&mut self, n: usize, pool: &mut Pool) {
        let SenderPlan { view, template, outer, indices, tag, growth, .. } = &mut self.plan;
        // With an empty pool, the sender becomes late and reports it.
        let built = pool.alloc_burst_to_grow(n, template.len(), *growth, &mut self.burst);
        let Work { values, words, prepared, fresh, fresh_flows, fresh_values } = &mut self.work;
        let (now, fresh) = (&self.ahead[..built], &mut fresh[..built]);
        indices.fill(fresh);
        // A core handles about ten outstanding cache lines, not thirty.
        let (soon, later) = fresh.split_at(built / 3);
        let (later, last) = later.split_at(built / 3);
        let prefetch = |part: &[u32]| {
            if let Some((store, _)) = *outer {
                store.prefetch_all(part);
            }
        };
        prefetch(soon);
        view.order.fill(fresh, &mut fresh_flows[..built]);
        prefetch(later);
        values.set(&view.flows, &self.ahead_flows);
        if let Some((store, trial)) = *outer {
            for (j, &index) in now.iter().enumerate() {
                // Phase 2 starts only after a complete phase 1.
                let (addr, port) = store.get(index, trial).unwrap_or_default();
                values.learned(j, addr, port);
            }
        }
        template.words(values, words);
        template.prepare(words, &Tag { sequence: self.next, ..*tag }, &self.ahead, prepared);
        prefetch(last);
        if let Some(ends) = template.layout().ends() {
            fetch_rows_of(view, ends, fresh_flows, fresh_values);
        }
        template.write_all(self.burst.iter_mut().take(BATCH).map(Frame::bytes_mut), words, prepared);
        template.write_sources(self.burst.iter_mut().take(BATCH).map(Frame::bytes_mut), &self.ahead);
        if built == BATCH {
            // A copy of constant length.
            (self.ahead, self.ahead_flows) = (self.work.fresh, self.work.fresh_flows);
            return;
        }
        for (ahead, fresh) in [(&mut self.ahead, &self.work.fresh), (&mut self.ahead_flows, &self.work.fresh_flows)] {
            ahead.copy_within(built.., 0);
            ahead[BATCH - built..].copy_from_slice(&fresh[..built]);
        }
    }

    /// Not inlined: frames of one kind must not pay for it.
    #[inline(never)]
    fn build_each(&mut self, n: usize, pool: &mut Pool) {
        let mut used = 0;
        for sequence in (self.next..).take(n) {
            let tag = Tag { sequence, ..self.plan.tag };
            let native = self.native.as_mut().filter(|native| native.has(sequence));
            let is_foreground = native.is_none();
            let is_built = match native {
                Some(native) => native.build(tag, pool, &mut self.burst),
                None => self.build_one(used, tag, pool),
            };
            if !is_built {
                break;
            }
            used += usize::from(is_foreground);
        }
        self.use_up(used);
    }

    /// False if the pool is empty.
    fn build_one(&mut self, place: usize, tag: Tag, pool: &mut Pool) -> bool {
        let SenderPlan { view, template, outer, growth, .. } = &self.plan;
        let template = self.mix.map_or(*template, |mix| mix.of(tag.sequence));
        if pool.alloc_burst_to_grow(1, template.len(), *growth, &mut self.burst) == 0 {
            return false;
        }
        let index = self.ahead[place];
        let mut values = Values::of(view.flows.flow(self.ahead_flows[place]));
        if let Some((store, trial)) = *outer {
            let (addr, port) = store.get(index, trial).unwrap_or_default();
            values = values.learned(addr, port);
        }
        if let Some(frame) = self.burst.last_mut() {
            template.write(frame.bytes_mut(), &values, &Tag { index, ..tag });
        }
        true
    }

    fn use_up(&mut self, used: usize) {
        let SenderPlan { view, outer, indices, .. } = &mut self.plan;
        self.ahead.copy_within(used.., 0);
        let fresh = &mut self.ahead[BATCH - used..];
        indices.fill(fresh);
        if let Some((store, _)) = *outer {
            store.prefetch_all(fresh);
        }
        self.ahead_flows.copy_within(used.., 0);
        view.order.fill(fresh, &mut self.ahead_flows[BATCH - used..]);
    }

    /// When it last transmitted frames.
    #[inline(always)]
    pub fn last_handed(&self) -> Ticks {
        self.last_handed
    }

    /// Time inside the back-end.
    #[inline(always)]
    pub fn inside(&self) -> Ticks {
        self.backend
    }

    /// Once all lanes are ready.
    pub fn start_at(&mut self, start: Ticks) {
        self.start = start;
        self.plan.departures.start_at(start);
    }

    /// Frames transmitted.
    #[inline(always)]
    pub fn progress(&self) -> u64 {
        self.next
    }

    /// Ends the sender on purpose, before its last frame.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// As part of a leg.
    pub fn finish(mut self, pool: &mut Pool) -> Leg {
        pool.free_all(&mut self.burst);
        let d = &self.plan.departures;
        let ns = |t: Ticks| Nanos(self.clock.nanos(t));
        let frames = if self.ended { self.next } else { d.frames() };
        let last_due = d.due(frames.saturating_sub(1));
        let finished_late = if !self.ended && self.next < self.frames {
            self.worst_late
        } else {
            self.last_handed.saturating_sub(last_due).max(self.late_at_change)
        };
        Leg {
            planned: self.frames,
            sent: self.accepted + self.refused,
            refused: self.refused,
            native: self.native.map(|native| NativeFrames { sent: native.among(self.next), received: 0 }),
            send_time: ns(self.last_handed.saturating_sub(self.start)),
            timing: Timing {
                finished_late: ns(finished_late),
                worst_late: ns(self.worst_late),
                own_time: ns(self.own),
                backend_time: ns(self.backend),
                ..self.timing
            },
            ..Leg::default()
        }
    }
}

/// The port is slow and not stuck: it took a frame in the last half of the lateness.
pub(crate) fn still_takes(last_taken: Ticks, now: Ticks, give_up_late: Ticks) -> bool {
    now.saturating_sub(last_taken) < give_up_late / 2
}

/// Not inlined: frames without an IPv6 header must not pay for it.
#[inline(never)]
fn fetch_rows_of(view: &View, ends: &Ends6, flows: &[u32; BATCH], values: &mut Batch) {
    if ends.is_large() {
        values.set(&view.flows, flows);
        values.rows_ahead(ends, arena::prefetch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Giving up 200 ticks late: a port is stuck 200 ticks after its last frame, slow 99 ticks after it.
    #[test]
    fn a_slow_port_takes_frames_to_the_last() {
        let taken = |at| still_takes(at, 10_000, 200);
        assert_eq!(
            [taken(9_990), taken(9_901), taken(9_900), taken(9_800), taken(0)],
            [true, true, false, false, false]
        );
    }
}
