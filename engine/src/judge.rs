//! The receiver: every frame that arrives is judged, at any rate, without sampling. Right frames of this
//! trial are counted once; everything else is counted by what is wrong with it and makes up for no loss.

use crate::store::StateTable;
use method::{Fault, FaultCounts};
use port::{BURST, Burst, Clock, Pool, Port, PortError, Ticks};
use wire::{Expect, Mismatch, Tag, Values, View};

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
    /// Stream byte of right frames.
    pub stream: u8,
    /// Frames that each sender of this direction is to send.
    pub planned: &'a [u64],
}

/// Which sequence numbers of one sender have arrived: one bit each.
#[derive(Default)]
pub struct Seen {
    bits: Vec<u64>,
    highest: u64,
}

impl Seen {
    /// Forget everything and make room for `frames`; the memory is kept from trial to trial.
    pub fn reset(&mut self, frames: u64) {
        self.bits.clear();
        self.bits.resize(frames.div_ceil(64) as usize, 0);
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

    /// Judge `n` frames of the burst from `at` on. Two passes, so that the state table's lines arrive meanwhile.
    #[inline]
    fn judge_batch(&mut self, at: usize, n: usize) {
        let mut tags = [None; BURST];
        let mut indices = [0u32; BURST];
        let mut flows = [0u32; BURST];
        let connections = self.plan.view.connections();
        for j in 0..n {
            let tag = Tag::read(self.burst[at + j].bytes(), self.plan.expect.tag_at());
            match self.admit(tag, connections) {
                Ok(tag) => {
                    tags[j] = Some(tag);
                    indices[j] = tag.index;
                    if let Some((store, _)) = self.plan.store {
                        store.prefetch(tag.index);
                    }
                }
                Err(fault) => self.findings.faults.add(fault),
            }
        }
        self.plan.view.order.fill(&indices[..n], &mut flows[..n]);
        for j in 0..n {
            if let Some(tag) = tags[j] {
                self.judge_one(at + j, &tag, flows[j]);
            }
        }
    }

    /// Whether a frame can be one of this trial at all.
    #[inline(always)]
    fn admit(&self, tag: Option<Tag>, connections: u64) -> Result<Tag, Fault> {
        let tag = tag.ok_or(Fault::Foreign)?;
        if tag.trial != self.plan.trial {
            return Err(Fault::Late);
        }
        let planned = self.plan.planned.get(tag.sender as usize).copied().unwrap_or(0);
        if tag.stream != self.plan.stream || tag.sequence >= planned || tag.index as u64 >= connections {
            return Err(Fault::Unexpected);
        }
        Ok(tag)
    }

    #[inline(always)]
    fn judge_one(&mut self, at: usize, tag: &Tag, flow: u32) {
        let frame = self.burst[at].bytes();
        let plan = &self.plan;
        let mut values = Values::of(plan.view.flows.flow(flow));
        let outcome = if plan.learn {
            plan.expect.learn(frame, &values).map(Some)
        } else {
            if let Some((store, trial)) = plan.store {
                let (addr, port) = store.get(tag.index, trial).unwrap_or_default();
                values = values.learned(addr, port);
            }
            plan.expect.check(frame, &values).map(|()| None)
        };
        let f = &mut self.findings;
        let learned = match outcome {
            Ok(learned) => learned,
            Err(mismatch) => return f.faults.add(fault_of(mismatch)),
        };
        let hop = frame[Expect::TTL_AT];
        if *f.hop_limit.get_or_insert(hop) != hop {
            return f.faults.add(Fault::WrongHopLimit);
        }
        let Some(out_of_order) = self.seen[tag.sender as usize].arrive(tag.sequence) else {
            return f.faults.add(Fault::Duplicate);
        };
        if let (Some((addr, port)), Some((store, trial))) = (learned, plan.store) {
            f.learned += u64::from(!store.learn(tag.index, trial, addr, port));
        }
        f.received += 1;
        f.reordered += u64::from(out_of_order);
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
