//! The sender: one hot loop for every kind of trial, with flows, order, departure times and tags as data.

use crate::indices::Indices;
use crate::native::NativeSender;
use crate::observe::FrameStamps;
use crate::pacer::{Due, Pacer};
use crate::schedule::Departures;
use crate::store::StateTable;
use method::{Count, Leg, NativeFrames};
use port::{BATCH, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use wire::{Batch, BatchFields, Ends6, Expect, Sizes, Tag, Template, Values, View, Words, edges};

const _: () = assert!(port::BATCH == wire::BATCH);

/// The task of a sender in one phase.
pub struct SenderPlan<'a> {
    /// Flows and order.
    pub view: &'a View,
    /// Template of the frames.
    pub template: &'a Template,
    /// State table, and the trial that learned it.
    pub outer: Option<(&'a StateTable, u16)>,
    /// Octets by which the DUT lengthens frames.
    pub growth: usize,
    /// Departure times of the first schedule.
    pub departures: Departures,
    /// Order of the connections.
    pub indices: Indices,
    /// Tag of each frame, without sequence and index.
    pub tag: Tag,
}

/// What the device makes of a sender's frames, so that the first ones meet the edges of its checksums.
#[derive(Clone, Copy)]
pub struct Edges<'a> {
    /// The expected frames.
    pub expect: &'a Expect,
    /// State table, and the trial that learned it.
    pub learned: Option<(&'a StateTable, u16)>,
}

impl Edges<'_> {
    /// Values of a connection; before the device has mapped it, the likely ones.
    fn values(&self, view: &View, index: u32) -> Values {
        let flow = view.flow(index);
        let known = self.learned.and_then(|(store, trial)| store.get(index, trial));
        let likely = || (self.expect.outer_addresses().next().unwrap_or_default(), flow.inside_port);
        let (addr, port) = known.unwrap_or_else(likely);
        Values::of(flow).learned(addr, port)
    }
}

/// A sender.
pub struct Sender<'a> {
    plan: SenderPlan<'a>,
    pacer: Pacer,
    /// Schedules that follow, the next one last.
    later: Vec<LaterSchedule>,
    /// Templates by size, instead of the plan's.
    mix: Option<&'a Sizes<Template>>,
    native: Option<Box<NativeSender<'a>>>,
    stamps: Option<&'a FrameStamps>,
    edges: Option<Edges<'a>>,
    /// Indices drawn early for prefetching.
    ahead: [u32; BATCH],
    ahead_flows: [u32; BATCH],
    burst: Burst,
    work: Work,
}

/// Schedule that follows another one.
pub struct LaterSchedule {
    /// Ticks from the start of the first schedule.
    pub after: Ticks,
    /// Departure times.
    pub departures: Departures,
    /// Flows in use.
    pub flows: Count,
}

/// Buffers of a sender, which are never cleared.
#[derive(Default)]
struct Work {
    values: Batch,
    words: Words,
    prepared: BatchFields,
    /// Indices after those in `ahead`.
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
        Sender {
            pacer: Pacer::new(plan.departures, clock, give_up_late),
            plan,
            later: Vec::new(),
            mix: None,
            native: None,
            stamps: None,
            edges: None,
            ahead,
            ahead_flows,
            burst: port::burst(),
            work: Work::default(),
        }
    }

    /// Sends frames of several sizes.
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
    pub fn stamping(self, stamps: Option<&'a FrameStamps>) -> Sender<'a> {
        Sender { stamps, ..self }
    }

    /// Meets the edges of the device's checksums with the first frames.
    #[must_use]
    pub fn meeting(self, edges: Edges<'a>) -> Sender<'a> {
        Sender { edges: Some(edges), ..self }
    }

    /// Continues with these schedules.
    #[must_use]
    pub fn then(mut self, mut later: Vec<LaterSchedule>) -> Sender<'a> {
        self.pacer.planned += later.iter().map(|later| later.departures.frames()).sum::<Count>();
        later.reverse();
        Sender { later, ..self }
    }

    /// Whether frames are left, if need be in the next schedule.
    #[inline(always)]
    fn more(&mut self) -> bool {
        self.pacer.has_more() || self.change_rate()
    }

    #[cold]
    fn change_rate(&mut self) -> bool {
        let Some(LaterSchedule { after, departures, flows }) = self.later.pop() else { return false };
        self.pacer.follow(after, departures);
        self.plan.indices.use_flows(flows);
        // A schedule may be empty, and a later one not.
        self.pacer.next < self.pacer.planned
    }

    /// Sends the frames due at `now`; false once all are sent or it has given up.
    ///
    /// # Errors
    /// When the port fails.
    #[inline]
    pub fn poll(&mut self, now: Ticks, port: &mut impl Port, pool: &mut Pool) -> Result<bool, PortError> {
        let n = match self.pacer.due(now) {
            Due::Nothing => return Ok(self.more()),
            Due::TooLate => return Ok(false),
            Due::Frames(n) => n,
        };
        if self.burst.is_empty() {
            match (self.mix, &self.native) {
                (None, None) => self.build(n, pool),
                _ => self.build_each(n, pool),
            }
            if self.pacer.next < edges::FRAMES {
                self.meet_edges();
            }
        }
        let (sent, at) = self.pacer.transmit(now, port, pool, &mut self.burst)?;
        if let Some(stamps) = self.stamps {
            stamps.sent(self.plan.tag.sender.into(), sent, at);
        }
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
        template.prepare(words, &Tag { sequence: self.pacer.next, ..*tag }, &self.ahead, prepared);
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

    #[cold]
    fn meet_edges(&mut self) {
        let Some(edges) = self.edges else { return };
        let SenderPlan { view, template, .. } = &self.plan;
        for (sequence, frame) in (self.pacer.next..).zip(&mut self.burst) {
            let is_native = self.native.as_ref().is_some_and(|native| native.has(sequence));
            let tag = Tag::read(frame.bytes(), template.tag_at()).filter(|_| !is_native);
            if let Some(tag) = tag {
                let values = edges.values(view, tag.index);
                edges::meet(frame.bytes_mut(), sequence, (template, edges.expect), &values);
            }
        }
    }

    /// Builds frames one by one; not inlined: frames of one kind must not pay for it.
    #[inline(never)]
    fn build_each(&mut self, n: usize, pool: &mut Pool) {
        let mut used = 0;
        for sequence in (self.pacer.next..).take(n) {
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

    /// When the sender last transmitted frames.
    #[inline(always)]
    pub fn last_handed(&self) -> Ticks {
        self.pacer.last_handed
    }

    /// Time inside the back-end.
    #[inline(always)]
    pub fn inside(&self) -> Ticks {
        self.pacer.backend
    }

    /// Sets the start, once all lanes are ready.
    pub fn start_at(&mut self, start: Ticks) {
        self.pacer.start_at(start);
    }

    /// Number of frames transmitted.
    #[inline(always)]
    pub fn progress(&self) -> u64 {
        self.pacer.next
    }

    /// Ends the sender on purpose, before its last frame.
    pub fn end(&mut self) {
        self.pacer.ended = true;
    }

    /// Ends the sender and returns its counters as part of a leg.
    pub fn finish(mut self, pool: &mut Pool) -> Leg {
        pool.free_all(&mut self.burst);
        let sent = self.pacer.next;
        let native = self.native.map(|native| NativeFrames { sent: native.among(sent), received: 0 });
        Leg { native, ..self.pacer.finish() }
    }
}

/// Prefetches IPv6 addresses; not inlined: frames without an IPv6 header must not pay for it.
#[inline(never)]
fn fetch_rows_of(view: &View, ends: &Ends6, flows: &[u32; BATCH], values: &mut Batch) {
    if ends.is_large() {
        values.set(&view.flows, flows);
        values.rows_ahead(ends, arena::prefetch);
    }
}
