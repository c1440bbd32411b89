//! The receiver: every frame that arrives is judged, at any rate, without sampling. Right frames of this
//! trial are counted once; everything else is counted by what is wrong with it and makes up for no loss.

use crate::store::StateTable;
use method::{Fault, FaultCounts};
use port::{BURST, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use wire::{Batch, Expect, Mismatch, StreamId, Tag, View};

/// What a receiver is to expect in one phase.
pub struct JudgePlan<'a> {
    /// Flows and order.
    pub view: &'a View,
    /// What a right frame looks like.
    pub expect: &'a Expect,
    /// Learn outside addresses and ports (phase 1 at the Responder).
    pub learn: bool,
    /// State table and the trial that learned (or learns) it.
    pub store: Option<(&'a StateTable, u16)>,
    /// The trial whose frames are right.
    pub trial: u16,
    /// What the tags of right frames have in common.
    pub id: StreamId,
    /// Connections (N): right frames have a smaller index.
    pub connections: u64,
}

/// Which sequence numbers of one sender have arrived: one bit each.
#[derive(Default)]
pub struct Seen {
    bits: Vec<u64>,
    frames: u64,
    highest: u64,
}

impl Seen {
    /// Forget everything and make room for `frames`; the memory is kept from trial to trial.
    pub fn reset(&mut self, frames: u64) {
        self.bits.clear();
        self.bits.resize(frames.div_ceil(64) as usize, 0);
        self.frames = frames;
        self.highest = 0;
    }

    /// Note the arrival of `sequence`: `None` if it had arrived before, else whether it came out of order.
    #[inline(always)]
    fn arrive(&mut self, sequence: u64) -> Option<bool> {
        let (word, bit) = (&mut self.bits[(sequence / 64) as usize], 1u64 << (sequence % 64));
        if *word & bit != 0 {
            return None;
        }
        *word |= bit;
        let out_of_order = sequence < self.highest;
        self.highest = self.highest.max(sequence);
        Some(out_of_order)
    }

    /// Merge what another receiver saw of the same sender; returns how many frames both had counted.
    pub fn merge(&mut self, other: &Seen) -> u64 {
        let mut twice = 0;
        for (a, b) in self.bits.iter_mut().zip(&other.bits) {
            twice += u64::from((*a & b).count_ones());
            *a |= b;
        }
        twice
    }
}

/// What one receiver found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Distinct right frames.
    pub received: u64,
    /// Of these, out of order.
    pub reordered: u64,
    /// Everything else.
    pub faults: FaultCounts,
    /// Connections learned.
    pub learned: u64,
    /// Hop limit of the first right frame.
    pub hop_limit: Option<u8>,
    /// Time spent judging.
    pub own: Ticks,
    /// Time inside the back-end when it had frames.
    pub backend: Ticks,
}

/// One receiver at work.
pub struct Judge<'a> {
    plan: JudgePlan<'a>,
    clock: Clock,
    seen: &'a mut [Seen],
    burst: Burst,
    /// What it has found so far.
    pub findings: Findings,
}

impl<'a> Judge<'a> {
    /// A receiver with one [`Seen`] a sender, reset for this phase.
    pub fn new(plan: JudgePlan<'a>, clock: Clock, seen: &'a mut [Seen]) -> Judge<'a> {
        Judge { plan, clock, seen, burst: port::burst(), findings: Findings::default() }
    }

    /// Receive and judge what is there; returns how many frames there were.
    ///
    /// # Errors
    /// When the port is broken.
    #[inline]
    pub fn poll(&mut self, port: &mut impl Port, pool: &mut Pool) -> Result<usize, PortError> {
        let before = self.clock.now();
        let got = port.receive(pool, &mut self.burst)?;
        if got == 0 {
            return Ok(0);
        }
        let received = self.clock.now();
        for at in (0..got).step_by(BURST) {
            self.judge_batch(at, (got - at).min(BURST));
        }
        pool.free_all(&mut self.burst);
        self.findings.backend += received - before;
        self.findings.own += self.clock.now() - received;
        Ok(got)
    }

    /// Judge `n` frames of the burst from `at` on. Several passes, each over the whole batch: the state table's lines
    /// arrive while flows are computed, and everything that is arithmetic becomes vector code.
    #[inline]
    fn judge_batch(&mut self, at: usize, n: usize) {
        let Judge { plan, seen, burst, findings, .. } = self;
        let frames = &burst[at..at + n];
        let mut tags = Tags::default();
        let all = tags.read(frames, plan);
        let mut kept: [&[u8]; BURST] = [&[]; BURST];
        let count = if all {
            kept.iter_mut().zip(frames).for_each(|(k, f)| *k = f.bytes());
            n
        } else {
            tags.keep(frames, &mut kept, plan, findings)
        };
        if let Some((store, _)) = plan.store {
            tags.indices[..count].iter().for_each(|&i| store.prefetch(i));
        }
        let mut flows = [0u32; BURST];
        plan.view.order.fill(&tags.indices[..count], &mut flows[..count]);
        let mut values = Batch::of(&plan.view.flows, &flows);
        if plan.learn {
            plan.learn_all(&kept[..count], &tags, &values, seen, findings);
        } else {
            plan.check_all(&kept[..count], &tags, &mut values, seen, findings);
        }
    }
}

/// What the tags of a batch say, number by number.
#[derive(Default)]
struct Tags {
    sequences: [u64; BURST],
    indices: [u32; BURST],
    senders: [u8; BURST],
}

impl Tags {
    /// Read the tags of all frames. False if one of them is not of the stream that is expected: then what was read
    /// is not to be used.
    #[inline(always)]
    fn read(&mut self, frames: &[Frame], plan: &JudgePlan<'_>) -> bool {
        let mut all = true;
        let slots = self.sequences.iter_mut().zip(&mut self.indices).zip(&mut self.senders);
        for (frame, ((sequence, index), sender)) in frames.iter().zip(slots) {
            let Some(tag) = plan.id.read(frame.bytes(), plan.expect.tag_at()) else { return false };
            (*sender, *sequence, *index) = tag;
            all &= (tag.2 as u64) < plan.connections;
        }
        all
    }

    /// The long way where some frames are not of the stream: count these by what they are, keep the others.
    #[cold]
    fn keep<'f>(
        &mut self,
        frames: &'f [Frame],
        kept: &mut [&'f [u8]; BURST],
        plan: &JudgePlan<'_>,
        findings: &mut Findings,
    ) -> usize {
        let mut count = 0;
        for frame in frames.iter().map(Frame::bytes) {
            match plan.id.read(frame, plan.expect.tag_at()) {
                Some((sender, sequence, index)) if (index as u64) < plan.connections => {
                    (self.senders[count], self.sequences[count], self.indices[count]) = (sender, sequence, index);
                    kept[count] = frame;
                    count += 1;
                }
                _ => findings.faults.add(plan.refusal(frame)),
            }
        }
        count
    }
}

impl JudgePlan<'_> {
    /// Why a frame is not even held against an expectation.
    fn refusal(&self, frame: &[u8]) -> Fault {
        match Tag::read(frame, self.expect.tag_at()) {
            None => Fault::Foreign,
            Some(tag) if tag.trial != self.trial => Fault::Late,
            Some(_) => Fault::Unexpected,
        }
    }

    /// Judge frames of known flows.
    #[inline(always)]
    fn check_all(&self, frames: &[&[u8]], tags: &Tags, values: &mut Batch, seen: &mut [Seen], findings: &mut Findings) {
        if let Some((store, trial)) = self.store {
            for (j, &index) in tags.indices[..frames.len()].iter().enumerate() {
                let (addr, port) = store.get(index, trial).unwrap_or_default();
                values.learned(j, addr, port);
            }
        }
        let words = values.words(self.expect.fields());
        let expected = words.addresses.iter().zip(&words.ports);
        let tags = tags.sequences.iter().zip(&tags.senders);
        for ((frame, (&addresses, &ports)), (&sequence, &sender)) in frames.iter().zip(expected).zip(tags) {
            let Some(seen) = planned(seen, sender, sequence) else {
                findings.faults.add(Fault::Unexpected);
                continue;
            };
            match self.expect.check_words(frame, addresses, ports) {
                Ok(hop) => {
                    findings.count(hop, seen, sequence);
                }
                Err(mismatch) => findings.faults.add(fault_of(mismatch)),
            }
        }
    }

    /// Judge frames of phase 1 and learn from the right ones.
    #[inline(never)]
    fn learn_all(&self, frames: &[&[u8]], tags: &Tags, values: &Batch, seen: &mut [Seen], findings: &mut Findings) {
        let words = values.words(self.expect.fields());
        let expected = words.addresses.iter().zip(&words.ports);
        let tags = tags.sequences.iter().zip(&tags.senders).zip(&tags.indices);
        for ((frame, (&addresses, &ports)), ((&sequence, &sender), &index)) in frames.iter().zip(expected).zip(tags) {
            let Some(seen) = planned(seen, sender, sequence) else {
                findings.faults.add(Fault::Unexpected);
                continue;
            };
            match self.expect.learn_words(frame, addresses, ports) {
                Ok((addr, port, hop)) => {
                    if let (true, Some((store, trial))) = (findings.count(hop, seen, sequence), self.store) {
                        findings.learned += u64::from(!store.learn(index, trial, addr, port));
                    }
                }
                Err(mismatch) => findings.faults.add(fault_of(mismatch)),
            }
        }
    }
}

/// Where the arrival of a frame is noted, if there was to be such a frame.
#[inline(always)]
fn planned(seen: &mut [Seen], sender: u8, sequence: u64) -> Option<&mut Seen> {
    seen.get_mut(sender as usize).filter(|s| sequence < s.frames)
}

impl Findings {
    /// Count a frame that is what it must be, unless its hop limit differs from the others or it had arrived before.
    #[inline(always)]
    fn count(&mut self, hop: u8, seen: &mut Seen, sequence: u64) -> bool {
        if *self.hop_limit.get_or_insert(hop) != hop {
            self.faults.add(Fault::WrongHopLimit);
            return false;
        }
        let Some(out_of_order) = seen.arrive(sequence) else {
            self.faults.add(Fault::Duplicate);
            return false;
        };
        self.received += 1;
        self.reordered += u64::from(out_of_order);
        true
    }
}

fn fault_of(mismatch: Mismatch) -> Fault {
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
