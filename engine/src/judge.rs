//! The receiver: judges every frame that arrives, at any rate, without sampling. It counts each right frame of this
//! trial once. It counts all other frames by their fault; they never compensate for a loss.

use crate::native::NativeJudge;
use crate::observe::Row;
pub use crate::seen::Seen;
use crate::service::{Desk, Service};
use crate::store::StateTable;
use method::{Fault, FaultCounts};
use port::{BATCH, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use std::sync::Mutex;
use wire::{Batch, Ends6, Expect, Hops, Mismatch, Sizes, StreamId, Tag, View, Words};

// A burst of the port is one batch of the judge.
const _: () = assert!(port::BATCH == wire::BATCH);

/// What a receiver expects in one phase.
pub struct JudgePlan<'a> {
    /// Flows and order.
    pub view: &'a View,
    /// The kind of frame that is expected.
    pub expect: &'a Expect,
    /// Whether to learn outside addresses and ports (at the Responder: phase 1, and a phase 2 that updates its table).
    pub learn: bool,
    /// The state table, and the trial that filled or fills it.
    pub store: Option<(&'a StateTable, u16)>,
    /// The trial whose frames are expected.
    pub trial: u16,
    /// The common part of the tags of right frames.
    pub id: StreamId,
    /// Connections (N): right frames have a smaller index.
    pub connections: u64,
}

/// Counters of one receiver.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Distinct right frames.
    pub received: u64,
    /// Of these, reordered frames.
    pub reordered: u64,
    /// All other frames, by fault.
    pub faults: FaultCounts,
    /// Connections learned.
    pub learned: u64,
    /// Hop limit of the first right frame.
    pub hop_limit: Option<u8>,
    /// Hop limit of the outer header of tunnelled frames; 0 without one.
    pub outer_hop_limit: u8,
    /// Frames that are right except for other hop limits; [`Fault::WrongHopLimit`] counts them, too.
    pub other_hops: HopTally,
    /// Counters of native frames, which the other counters do not include; none without a background.
    pub native: Option<Box<Findings>>,
    /// Time spent judging.
    pub own: Ticks,
    /// Time inside back-end calls that returned frames.
    pub backend: Ticks,
}

/// Number of frames per hop limits. Only the first few kinds are distinguished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopTally([(Hops, u64); 4]);

/// A receiver.
pub struct Judge<'a> {
    plan: JudgePlan<'a>,
    clock: Clock,
    seen: &'a mut [Seen],
    burst: Burst,
    desk: Desk<'a>,
    work: Work,
    /// Connections that must keep the outside addresses and ports that phase 1 learned, although others are learned.
    held: u32,
    /// Frames of several sizes, in place of those of the expectation.
    mix: Option<&'a Sizes<Expect>>,
    /// Native frames beside these.
    native: Option<Box<NativeJudge<'a>>>,
    /// Where receive times are noted.
    stamps: Option<&'a Row>,
    /// Counters so far.
    pub findings: Findings,
}

impl<'a> Judge<'a> {
    /// Creates a receiver with one [`Seen`] per sender, each reset for this phase.
    pub fn new(plan: JudgePlan<'a>, clock: Clock, seen: &'a mut [Seen]) -> Judge<'a> {
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

    /// Holds frames on connections with indices below `held` against what phase 1 learned, also while others are learned.
    #[must_use]
    pub fn holding(mut self, held: u32) -> Judge<'a> {
        self.held = held;
        self
    }

    /// Gives frames without a tag to a service, which is told whether this receiver is at Left.
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

    /// Right frames of both kinds so far.
    pub(crate) fn received(&self) -> u64 {
        self.findings.received + self.native.as_ref().map_or(0, |native| native.findings.received)
    }

    /// Returns its counters.
    pub(crate) fn finish(self) -> Findings {
        let native = self.native.map(|native| Box::new(native.findings));
        Findings { native, ..self.findings }
    }

    /// Notes the receive times of right frames here.
    #[must_use]
    pub fn stamping(self, stamps: Option<&'a Row>) -> Judge<'a> {
        Judge { stamps, ..self }
    }

    /// Receives and judges one burst. Returns the number of frames and the time afterwards. `now` is the last clock
    /// reading, reused because a reading costs a third of the time of a frame.
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
        // Frames of several sizes or kinds are no row.
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

    /// Judges `n` frames of the burst from `at`. Each pass covers the whole batch: cache lines of the state table are
    /// fetched while flows are computed, and the compiler vectorises the arithmetic. Returns false and counts nothing if
    /// they are not the usual case.
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

    /// Notes the receive times of `n` right frames of the burst from `at`, which are of one sender and in sequence.
    #[inline(never)]
    fn note(&self, stamps: &Row, at: usize, n: usize) {
        let frames = &self.burst[at..at + n];
        let tag = frames.first().and_then(|frame| StreamId::words(frame.bytes(), self.plan.expect.tag_at()));
        let Some(tag) = tag else { return };
        for (frame, sequence) in frames.iter().zip(StreamId::sequence(tag)..) {
            stamps.received(StreamId::sender(tag), sequence, frame.stamp);
        }
    }

    /// Judges frames one by one, and gives those without a tag to the service. Returns false if the port failed.
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
        findings.faults.0[Fault::Foreign as usize] += desk.handle(frames, untagged, pool);
        let before = clock.now();
        let sent = desk.send(port, pool);
        // Time inside the back-end; the caller counts it as time spent judging.
        let inside = clock.now() - before;
        findings.backend += inside;
        findings.own = findings.own.wrapping_sub(inside);
        sent
    }
}

/// Intermediate results for a batch, reused so that no memory is cleared per batch.
#[derive(Default)]
pub(crate) struct Work {
    /// Second words of the tags.
    tags: [u64; BATCH],
    indices: [u32; BATCH],
    flows: [u32; BATCH],
    values: Batch,
    words: Words,
}

impl Work {
    /// Reads the tags of frames with consecutive sequence numbers of one sender. Returns the sender and the first
    /// sequence number; `None` if they are not consecutive or not of the expected stream.
    #[inline(always)]
    fn read_row(&mut self, frames: &[Frame], plan: &JudgePlan<'_>) -> Option<(u8, u64)> {
        let at = plan.expect.tag_at();
        let first = StreamId::words(frames.first()?.bytes(), at)?;
        let mut differ = 0;
        for (frame, tag) in frames.iter().zip(&mut self.tags) {
            let words = StreamId::words(frame.bytes(), at)?;
            differ |= words[0] ^ first[0];
            *tag = words[1];
        }
        let mut highest = 0;
        for ((tag, index), after) in self.tags[..frames.len()].iter().zip(&mut self.indices).zip(0..) {
            differ |= StreamId::differs(first[1], *tag, after);
            *index = StreamId::index([0, *tag]);
            highest = highest.max(*index);
        }
        let right = differ == 0 && plan.id.owns(first) && (highest as u64) < plan.connections;
        right.then(|| (StreamId::sender(first), StreamId::sequence(first)))
    }
}

impl JudgePlan<'_> {
    /// Judges frames with consecutive sequence numbers of one sender, the usual case, at once. Returns false and counts
    /// nothing if they are not consecutive or one is not right.
    #[inline(always)]
    fn judge_row<const LEARN: bool, const HELD: bool>(
        &self,
        frames: &[Frame],
        held: u32,
        work: &mut Work,
        seen: &mut [Seen],
        findings: &mut Findings,
    ) -> bool {
        let count = frames.len();
        let Some((sender, first)) = work.read_row(frames, self) else { return false };
        let Some(seen) = seen.get_mut(sender as usize).filter(|s| first + count as u64 <= s.frames()) else {
            return false;
        };
        self.expect_all(count, work);
        let Some(first_hops) = frames.first().and_then(|f| self.expect.hops(f.bytes())) else { return false };
        let hops = findings.hops().unwrap_or(first_hops);
        let bytes = frames.iter().map(Frame::bytes);
        let right = if LEARN {
            self.expect.all_right_and_new(bytes, hops, &work.words, &mut work.values)
        } else {
            self.expect.all_right(bytes, hops, &work.words)
        };
        if !right {
            return false;
        }
        if HELD {
            let outer = |j| work.values.outer(j);
            if work.indices[..count].iter().enumerate().any(|(j, &index)| self.has_moved(index, held, outer(j))) {
                return false;
            }
        }
        if !seen.arrive_in_a_row(first, count) {
            return false;
        }
        findings.set_hops(hops);
        findings.received += count as u64;
        if let (Some((store, trial)), true) = (self.store, LEARN) {
            for (j, &index) in work.indices[..count].iter().enumerate() {
                let (addr, port) = work.values.outer(j);
                findings.learned += u64::from(!store.learn(index, trial, addr, port));
            }
        }
        true
    }

    /// Computes the expected contents of `count` frames with the indices in `work`.
    #[inline(always)]
    fn expect_all(&self, count: usize, work: &mut Work) {
        let Work { indices, flows, values, words, .. } = work;
        let indices = &indices[..count];
        // Prefetch in two halves with other work in between: a core handles about ten outstanding cache lines, not
        // thirty.
        let (soon, later) = indices.split_at(count / 2);
        if let Some((store, _)) = self.store {
            store.prefetch_all(soon);
        }
        self.view.order.fill(indices, &mut flows[..count]);
        if let Some((store, _)) = self.store {
            store.prefetch_all(later);
        }
        values.set(&self.view.flows, flows);
        if let Some(ends) = self.expect.layout().ends() {
            fetch_rows(ends, values);
        }
        if let (Some((store, trial)), false) = (self.store, self.learn) {
            for (j, &index) in indices.iter().enumerate() {
                let (addr, port) = store.get(index, trial).unwrap_or_default();
                values.learned(j, addr, port);
            }
        }
        self.expect.words(values, words);
    }

    /// Judges frames one by one. Returns those without a tag, one bit each, and does not count them.
    #[inline(never)]
    pub(crate) fn judge_each(
        &self,
        frames: &[Frame],
        (held, mix): (u32, Option<&Sizes<Expect>>),
        work: &mut Work,
        (seen, stamps): (&mut [Seen], Option<&Row>),
        findings: &mut Findings,
    ) -> u32 {
        let mut kept: [(&[u8], [u64; 2], Ticks); BATCH] = [(&[], [0; 2], 0); BATCH];
        let (mut count, mut untagged) = (0, 0);
        let mut rest = frames.iter().map(|frame| (frame.bytes(), frame.stamp));
        // The position of a frame is computed for those without a tag only.
        #[allow(clippy::while_let_on_iterator, reason = "a `for` loop would own the iterator")]
        while let Some((frame, stamp)) = rest.next() {
            match StreamId::words(frame, self.expect.tag_at()) {
                Some(tag) if self.id.owns(tag) && (StreamId::index(tag) as u64) < self.connections => {
                    kept[count] = (frame, tag, stamp);
                    work.indices[count] = StreamId::index(tag);
                    count += 1;
                }
                _ => match self.refusal(frame) {
                    Fault::Foreign => untagged |= 1 << (frames.len() - 1 - rest.len()),
                    fault => findings.faults.add(fault),
                },
            }
        }
        self.expect_all(count, work);
        for (j, &(frame, tag, stamp)) in kept[..count].iter().enumerate() {
            let expect = mix.map_or(self.expect, |mix| mix.of(StreamId::sequence(tag)));
            let outcome = match planned(seen, StreamId::sender(tag), StreamId::sequence(tag)) {
                None => Err(Fault::Unexpected),
                Some(seen) if self.learn => {
                    self.learn_one(frame, expect, (&work.words, j), (tag, held), (seen, findings))
                }
                Some(seen) => match expect.check_words(frame, &work.words, j) {
                    Ok(hops) => findings.count(hops, seen, StreamId::sequence(tag)),
                    Err(mismatch) => Err(fault_of(mismatch)),
                },
            };
            match (outcome, stamps) {
                (Err(fault), _) => findings.faults.add(fault),
                (Ok(()), Some(stamps)) => stamps.received(StreamId::sender(tag), StreamId::sequence(tag), stamp),
                (Ok(()), None) => {}
            }
        }
        untagged
    }

    /// Returns the fault of a frame that is rejected by its tag.
    #[cold]
    fn refusal(&self, frame: &[u8]) -> Fault {
        match Tag::read(frame, self.expect.tag_at()) {
            None => Fault::Foreign,
            Some(tag) if tag.trial != self.trial => Fault::Late,
            Some(_) => Fault::Unexpected,
        }
    }

    /// Whether one of the held connections has another outside address or port than in phase 1: the DUT has forgotten it.
    #[inline(always)]
    fn has_moved(&self, index: u32, held: u32, outer: (u32, u16)) -> bool {
        let of_phase1 = || self.store.and_then(|(store, trial)| store.get(index, trial));
        index < held && of_phase1().is_some_and(|known| known != outer)
    }

    /// Judges a frame of phase 1, and learns from a right one.
    fn learn_one(
        &self,
        frame: &[u8],
        expect: &Expect,
        (words, j): (&Words, usize),
        (tag, held): ([u64; 2], u32),
        (seen, findings): (&mut Seen, &mut Findings),
    ) -> Result<(), Fault> {
        let (addr, port, hops) = expect.learn_words(frame, words, j).map_err(fault_of)?;
        if self.has_moved(StreamId::index(tag), held, (addr, port)) {
            return Err(Fault::WrongPort);
        }
        let counted = findings.count(hops, seen, StreamId::sequence(tag));
        // Which hop limit is wrong is decided at the end of the phase.
        if let Err(fault) = counted
            && fault != Fault::WrongHopLimit
        {
            return counted;
        }
        if let Some((store, trial)) = self.store {
            findings.learned += u64::from(!store.learn(StreamId::index(tag), trial, addr, port));
        }
        counted
    }
}

/// Prefetches rows. Not inlined, so that frames without an IPv6 header do not pay for it.
#[inline(never)]
fn fetch_rows(ends: &Ends6, values: &Batch) {
    values.rows_ahead(ends, arena::prefetch);
}

/// Returns the sequence bitmap for a frame; `None` if no such frame was planned.
#[inline(always)]
fn planned(seen: &mut [Seen], sender: u8, sequence: u64) -> Option<&mut Seen> {
    let seen = seen.get_mut(sender as usize)?;
    (sequence < seen.frames() || seen.is_unexpected(sequence)).then_some(seen)
}

impl Findings {
    /// Returns the hop limits of the first right frame, if one has arrived.
    #[inline(always)]
    fn hops(&self) -> Option<Hops> {
        self.hop_limit.map(|hop| (self.outer_hop_limit as Hops) << 8 | hop as Hops)
    }

    #[inline(always)]
    fn set_hops(&mut self, hops: Hops) {
        (self.hop_limit, self.outer_hop_limit) = (Some(hops as u8), (hops >> 8) as u8);
    }

    /// Counts a right frame, unless it is a duplicate or its hop limits differ from the first frame's. A frame with
    /// other hop limits does not mark its sequence number as received, because the right frame may still arrive.
    #[inline(always)]
    fn count(&mut self, hops: Hops, seen: &mut Seen, sequence: u64) -> Result<(), Fault> {
        match self.hops() {
            Some(first) if first != hops => return Err(self.other_hop(hops, seen, sequence)),
            Some(_) => {}
            None => self.set_hops(hops),
        }
        let out_of_order = seen.arrive(sequence).ok_or(Fault::Duplicate)?;
        self.received += 1;
        self.reordered += u64::from(out_of_order);
        Ok(())
    }

    /// Other hop limits may turn out to be the most frequent, so duplicates among these frames are recognised, too.
    #[cold]
    fn other_hop(&mut self, hops: Hops, seen: &mut Seen, sequence: u64) -> Fault {
        if !seen.arrive_otherwise(sequence) {
            return Fault::Duplicate;
        }
        self.other_hops.add(hops, 1);
        Fault::WrongHopLimit
    }
}

impl HopTally {
    fn add(&mut self, hops: Hops, frames: u64) {
        if let Some(kind) = self.0.iter_mut().find(|(known, n)| *n == 0 || *known == hops) {
            *kind = (hops, kind.1 + frames);
        }
    }

    /// Adds the counters of a receiver.
    pub fn count(&mut self, found: &Findings) {
        if let Some(hops) = found.hops() {
            self.add(hops, found.received);
        }
        found.other_hops.0.iter().filter(|(_, n)| *n > 0).for_each(|&(hops, n)| self.add(hops, n));
    }

    /// Returns the most frequent hop limits, and the number of their frames.
    pub fn most(&self) -> (Hops, u64) {
        self.0.into_iter().rev().max_by_key(|(_, n)| *n).unwrap_or_default()
    }
}

/// The fault that a mismatch counts as.
pub(crate) fn fault_of(mismatch: Mismatch) -> Fault {
    match mismatch {
        Mismatch::Length => Fault::WrongLength,
        Mismatch::Address => Fault::WrongAddress,
        Mismatch::Port => Fault::WrongPort,
        Mismatch::Pool => Fault::OutsidePool,
        Mismatch::Header => Fault::WrongHeader,
        Mismatch::Checksum => Fault::BadChecksum,
        Mismatch::Payload => Fault::WrongPayload,
    }
}
