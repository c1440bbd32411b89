//! Compares received frames with those expected in a phase, and learns outside addresses and ports.

use crate::findings::{Findings, fault_of};
use crate::observe::FrameStamps;
use crate::seen::Arrivals;
use crate::store::StateTable;
use method::Fault;
use port::{BATCH, Frame, Ticks};
use wire::{Batch, Ends6, Expect, FramePurpose, Sizes, StreamId, Tag, View, Words};

const _: () = assert!(port::BATCH == wire::BATCH);

/// Expected by a receiver in one phase.
pub struct JudgePlan<'a> {
    /// Flows and order.
    pub view: &'a View,
    /// The expected frames.
    pub expect: &'a Expect,
    /// Outside addresses and ports.
    pub learn: bool,
    /// State table, and the trial that fills it.
    pub store: Option<(&'a StateTable, u16)>,
    /// The trial whose frames are expected.
    pub trial: u16,
    /// Common part of the tags.
    pub id: StreamId,
    /// N: a bound on indices.
    pub connections: u64,
}

impl<'a> JudgePlan<'a> {
    /// Expects the frames of one kind at one side in a trial, without a state table.
    pub fn new(view: &'a View, at_left: bool, trial: u16, kind: FramePurpose) -> JudgePlan<'a> {
        JudgePlan {
            view,
            expect: if at_left { &view.expect_left } else { &view.expect_right },
            learn: false,
            store: None,
            trial,
            id: StreamId::new(trial, Tag::stream(kind, at_left)),
            connections: view.connections(),
        }
    }
}

/// Buffers of a judge, which are never cleared.
#[derive(Default)]
pub(crate) struct Work {
    tags: [u64; BATCH],
    indices: [u32; BATCH],
    flows: [u32; BATCH],
    values: Batch,
    words: Words,
}

impl Work {
    /// `None` if the sequence numbers are not consecutive or of another stream.
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
    /// Consecutive frames of one sender at once; returns false and counts nothing unless all are right.
    #[inline(always)]
    pub(crate) fn judge_row<const LEARN: bool, const HELD: bool>(
        &self,
        frames: &[Frame],
        held: u32,
        work: &mut Work,
        seen: &mut [Arrivals],
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
        let Some(differ) = right else { return false };
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
        findings.identifications.see(self.expect, frames[0].bytes());
        if differ {
            self.count_open(frames, findings);
        }
        if let (Some((store, trial)), true) = (self.store, LEARN) {
            for (j, &index) in work.indices[..count].iter().enumerate() {
                let (addr, port) = work.values.outer(j);
                findings.learned += u64::from(!store.learn(index, trial, addr, port));
            }
        }
        true
    }

    #[inline(never)]
    fn count_open(&self, frames: &[Frame], findings: &mut Findings) {
        for frame in frames {
            findings.count_open(self.expect, frame.bytes());
        }
    }

    #[inline(always)]
    fn expect_all(&self, count: usize, work: &mut Work) {
        let Work { indices, flows, values, words, .. } = work;
        let indices = &indices[..count];
        // A core handles about ten outstanding cache lines, not thirty.
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

    /// Returns one bit for each frame without a tag.
    #[inline(never)]
    pub(crate) fn judge_each(
        &self,
        frames: &[Frame],
        (held, mix): (u32, Option<&Sizes<Expect>>),
        work: &mut Work,
        (seen, stamps): (&mut [Arrivals], Option<&FrameStamps>),
        findings: &mut Findings,
    ) -> u32 {
        let mut kept: [(&[u8], [u64; 2], Ticks); BATCH] = [(&[], [0; 2], 0); BATCH];
        let (mut count, mut untagged) = (0, 0);
        let mut rest = frames.iter().map(|frame| (frame.bytes(), frame.stamp));
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
                    fault => findings.count_wrong(fault, frame),
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
            if outcome.is_ok() {
                findings.identifications.see(expect, frame);
                findings.count_open(expect, frame);
            }
            match (outcome, stamps) {
                (Err(fault), _) => findings.count_wrong(fault, frame),
                (Ok(()), Some(stamps)) => stamps.received(StreamId::sender(tag), StreamId::sequence(tag), stamp),
                (Ok(()), None) => {}
            }
        }
        untagged
    }

    #[cold]
    fn refusal(&self, frame: &[u8]) -> Fault {
        match Tag::read(frame, self.expect.tag_at()) {
            None => Fault::Foreign,
            Some(tag) if tag.trial != self.trial => Fault::Late,
            Some(tag) if (tag.stream & 0x80 != 0) != self.id.is_reverse() => Fault::Returned,
            Some(_) => Fault::Unexpected,
        }
    }

    /// Whether the connection has another outside address or port than in phase 1.
    #[inline(always)]
    fn has_moved(&self, index: u32, held: u32, outer: (u32, u16)) -> bool {
        let of_phase1 = || self.store.and_then(|(store, trial)| store.get(index, trial));
        index < held && of_phase1().is_some_and(|known| known != outer)
    }

    fn learn_one(
        &self,
        frame: &[u8],
        expect: &Expect,
        (words, j): (&Words, usize),
        (tag, held): ([u64; 2], u32),
        (seen, findings): (&mut Arrivals, &mut Findings),
    ) -> Result<(), Fault> {
        let (addr, port, hops) = expect.learn_words(frame, words, j).map_err(fault_of)?;
        if self.has_moved(StreamId::index(tag), held, (addr, port)) {
            return Err(Fault::WrongPort);
        }
        findings.count(hops, seen, StreamId::sequence(tag))?;
        if let Some((store, trial)) = self.store {
            findings.learned += u64::from(!store.learn(StreamId::index(tag), trial, addr, port));
        }
        Ok(())
    }
}

/// Prefetches IPv6 addresses; not inlined: frames without an IPv6 header must not pay for it.
#[inline(never)]
fn fetch_rows(ends: &Ends6, values: &Batch) {
    values.rows_ahead(ends, arena::prefetch);
}

#[inline(always)]
fn planned(seen: &mut [Arrivals], sender: u8, sequence: u64) -> Option<&mut Arrivals> {
    let seen = seen.get_mut(sender as usize)?;
    (sequence < seen.frames() || seen.is_unexpected(sequence)).then_some(seen)
}
