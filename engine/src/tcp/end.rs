//! One side of all connections: it receives segments, holds each against the script of its connection, and answers.

use super::stages::Stages;
use crate::judge::fault_of;
use crate::service::{Desk, Service};
use crate::store::StateTable;
use method::{Count, Fault, FaultCounts};
use port::{BATCH, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use std::sync::Mutex;
use wire::tcp::{Ends, Numbers, Script, Segment, SegmentTemplate, Side, Wanted, flag};
use wire::{Batch, Expect, View, Words};

/// What a side knows.
pub(super) struct EndPlan<'a> {
    /// Flows and order.
    pub(super) view: &'a View,
    /// Which side it is.
    pub(super) side: Side,
    /// What arrives there.
    pub(super) expect: &'a Expect,
    /// What it answers.
    pub(super) segments: &'a SegmentTemplate,
    /// The course of a connection.
    pub(super) script: Script,
    /// Whether a connection has exchanges that the Initiator begins on schedule.
    pub(super) exchange: bool,
    /// Sequence numbers of all connections.
    pub(super) numbers: Numbers,
    /// The phase that opened them.
    pub(super) phase: u16,
    /// How far they have come.
    pub(super) stages: &'a Stages,
    /// Outside addresses and ports, where this side learns and checks them.
    pub(super) store: Option<&'a StateTable>,
    /// Connections: right segments have a smaller index.
    pub(super) connections: u64,
}

/// Counters of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct TcpFindings {
    /// Right segments.
    pub(super) received: Count,
    /// Connections whose handshake has ended; at the Responder's side.
    pub(super) established: Count,
    /// Connections whose last segment has arrived, at the Responder's side; exchanges that were answered, at the Initiator's.
    pub(super) completed: Count,
    /// Connections learned.
    pub(super) learned: Count,
    /// Answers handed over.
    pub(super) answered: Count,
    /// Of these, refused by the DUT's ingress queue.
    pub(super) refused: Count,
    /// Answers for which there was no free frame: the tester's fault.
    pub(super) starved: Count,
    /// All other frames, by fault.
    pub(super) faults: FaultCounts,
    /// Time spent on segments.
    pub(super) own: Ticks,
    /// Time inside back-end calls.
    pub(super) backend: Ticks,
}

/// A segment that arrived.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    /// Its frame in the burst.
    frame: usize,
    index: u32,
    segment: Segment,
}

/// One side.
pub(super) struct End<'a> {
    plan: EndPlan<'a>,
    clock: Clock,
    burst: Burst,
    out: Burst,
    answers: Vec<Frame>,
    desk: Desk<'a>,
    work: Work,
    /// Counters so far.
    pub(super) findings: TcpFindings,
}

/// Intermediate results of a batch, reused.
#[derive(Default)]
struct Work {
    arrived: Vec<Arrived>,
    indices: [u32; BATCH],
    flows: [u32; BATCH],
    values: Batch,
    words: Words,
}

impl<'a> End<'a> {
    /// Creates a side.
    pub(super) fn new(plan: EndPlan<'a>, clock: Clock) -> End<'a> {
        let work = Work { arrived: Vec::with_capacity(BATCH), ..Work::default() };
        End {
            plan,
            clock,
            burst: port::burst(),
            out: port::burst(),
            answers: Vec::with_capacity(2 * BATCH),
            desk: Desk::default(),
            work,
            findings: TcpFindings::default(),
        }
    }

    /// Gives frames that are no segments to a service.
    #[must_use]
    pub(super) fn beside(mut self, service: &'a Mutex<Service>) -> End<'a> {
        self.desk = Desk::of(service, self.plan.side == Side::Initiator);
        self
    }

    /// Receives one burst and answers it. Returns the number of frames received.
    ///
    /// # Errors
    /// When the port fails.
    pub(super) fn poll(&mut self, port: &mut impl Port, pool: &mut Pool) -> Result<usize, PortError> {
        let before = self.clock.now();
        // What could not be handed over goes first: until then, more would only wait here.
        if self.is_waiting() {
            self.hand_over(port, pool)?;
            if self.is_waiting() {
                self.findings.backend += self.clock.now() - before;
                return Ok(0);
            }
        }
        let got = port.receive(pool, &mut self.burst)?;
        let received = self.clock.now();
        if got == 0 {
            return Ok(0);
        }
        let mut untagged = false;
        for at in (0..got).step_by(BATCH) {
            let n = (got - at).min(BATCH);
            let foreign = self.answer(at, n, pool);
            if foreign != 0 {
                untagged = true;
                let unknown = self.desk.handle(&mut self.burst[at..at + n], foreign, pool);
                self.findings.faults.0[Fault::Foreign as usize] += unknown;
            }
        }
        if untagged && !self.desk.send(port, pool) {
            return Err(self.desk.error());
        }
        pool.free_all(&mut self.burst);
        let answered = self.clock.now();
        self.hand_over(port, pool)?;
        self.findings.own += answered - received;
        self.findings.backend += (received - before) + (self.clock.now() - answered);
        Ok(got)
    }

    /// Whether answers wait.
    pub(super) fn is_waiting(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Hands answers over, as far as the port takes them.
    fn hand_over(&mut self, port: &mut impl Port, pool: &mut Pool) -> Result<(), PortError> {
        while !self.answers.is_empty() {
            let n = self.answers.len().min(BATCH);
            self.out.extend(self.answers.drain(..n));
            let sent = port.transmit(pool, &mut self.out)?;
            self.findings.answered += (sent.accepted + sent.refused) as Count;
            self.findings.refused += sent.refused as Count;
            if !self.out.is_empty() {
                self.answers.splice(..0, self.out.drain(..));
                break;
            }
        }
        Ok(())
    }

    /// Answers `n` frames of the burst from `at`. Returns those that are no segments, one bit each.
    fn answer(&mut self, at: usize, n: usize, pool: &mut Pool) -> u32 {
        let End { plan, burst, answers, work, findings, .. } = self;
        let frames = &burst[at..at + n];
        let foreign = plan.read(frames, work, findings);
        plan.expect_all(work);
        for j in 0..work.arrived.len() {
            let Arrived { frame, index, segment } = work.arrived[j];
            match plan.hold(frames[frame].bytes(), (index, segment), (&work.words, j), findings) {
                Err(fault) => findings.faults.add(fault),
                Ok((number, ends)) => {
                    findings.received += 1;
                    plan.answer_to((index, number), &ends, (answers, pool), findings);
                }
            }
        }
        foreign
    }

    /// Gives its frames back and returns its counters.
    pub(super) fn finish(mut self, pool: &mut Pool) -> TcpFindings {
        pool.free_all(&mut self.burst);
        pool.free_all(&mut self.answers);
        self.findings
    }
}

impl EndPlan<'_> {
    fn other(&self) -> Side {
        if self.side == Side::Initiator { Side::Responder } else { Side::Initiator }
    }

    /// Reads the segments of a batch, and counts those of no connection.
    fn read(&self, frames: &[Frame], work: &mut Work, findings: &mut TcpFindings) -> u32 {
        work.arrived.clear();
        let (from, mut foreign) = (self.other(), 0);
        for (j, frame) in frames.iter().enumerate() {
            let Some((seq, ack, flags)) = self.expect.segment(frame.bytes()) else {
                foreign |= 1 << j;
                continue;
            };
            let (index, initiator, responder) = self.numbers.read(from, (seq, ack, flags));
            if u64::from(index) >= self.connections {
                findings.faults.add(Fault::Unexpected);
                continue;
            }
            work.indices[work.arrived.len()] = index;
            let segment = Segment { from, flags, initiator, responder, data: flags & flag::PSH != 0 };
            work.arrived.push(Arrived { frame: j, index, segment });
            self.stages.prefetch(index);
            if let Some(store) = self.store {
                store.prefetch(index);
            }
        }
        foreign
    }

    /// Computes the addresses and ports that the segments of a batch must have.
    fn expect_all(&self, work: &mut Work) {
        let Work { arrived, indices, flows, values, words } = work;
        let count = arrived.len();
        self.view.order.fill(&indices[..count], &mut flows[..count]);
        values.set(&self.view.flows, flows);
        if let Some(store) = self.store {
            for (j, &index) in indices[..count].iter().enumerate() {
                // Of a SYN nothing is known yet: zeros.
                let is_known = arrived[j].segment.flags & flag::ACK != 0;
                let outer = if is_known { store.get(index, self.phase) } else { None };
                let (addr, port) = outer.unwrap_or_default();
                values.learned(j, addr, port);
            }
        }
        self.expect.words(values, words);
    }

    /// The number of the segment that must come next, at the earliest, and whether this one is it.
    fn number(&self, stage: u16, segment: Segment) -> Result<u16, Fault> {
        let number = if self.exchange { self.exchange_number(segment) } else { stage };
        let right = number < self.script.segments() && number >= stage && self.script.segment(number) == segment;
        if right {
            return Ok(number);
        }
        Err(if self.script.is_earlier(stage, &segment) { Fault::Duplicate } else { Fault::Unexpected })
    }

    /// The number of the request or answer that has come so far. Earlier ones may be lost.
    fn exchange_number(&self, segment: Segment) -> u16 {
        let passed = segment.responder.wrapping_sub(1) / self.script.payload().max(1);
        let first = if segment.from == Side::Initiator { 3 } else { 4 };
        passed.saturating_mul(2).saturating_add(first)
    }

    /// Holds a segment against its connection. Returns its number, and addresses and ports of the answer.
    fn hold(
        &self,
        frame: &[u8],
        (index, segment): (u32, Segment),
        words: (&Words, usize),
        findings: &mut TcpFindings,
    ) -> Result<(u16, Ends), Fault> {
        let number = self.number(self.stages.get(index, self.phase), segment)?;
        let (seq, ack) = self.numbers.of(index, &segment);
        let payload = if segment.data { self.segments.payload() } else { &[] };
        let wanted = Wanted { seq, ack, flags: segment.flags, payload };
        let learn = self.store.is_some() && number == 0;
        let (ends, outer) = self.expect.check_segment(frame, words, &wanted, learn).map_err(fault_of)?;
        if let Some(store) = self.store.filter(|_| learn) {
            findings.learned += Count::from(!store.learn(index, self.phase, outer.0, outer.1));
        }
        self.stages.set(index, self.phase, number + 1);
        Ok((number, ends.swapped()))
    }

    /// Counts what segment `number` means for its connection, and makes the segments that follow from it.
    fn answer_to(
        &self,
        (index, number): (u32, u16),
        ends: &Ends,
        (answers, pool): (&mut Vec<Frame>, &mut Pool),
        findings: &mut TcpFindings,
    ) {
        if self.side == Side::Responder {
            findings.established += Count::from(number == 2);
            findings.completed += Count::from(!self.exchange && number + 1 == self.script.segments());
        } else if self.exchange {
            findings.completed += 1;
            return;
        }
        let mut next = number + 1;
        while next < self.script.segments() && Script::from(next) == self.side {
            let segment = self.script.segment(next);
            let Some(mut frame) = pool.alloc(self.segments.len(segment.data)) else {
                findings.starved += 1;
                return;
            };
            let numbers = self.numbers.of(index, &segment);
            self.segments.write(frame.bytes_mut(), ends, index, numbers, (segment.flags, segment.data));
            answers.push(frame);
            next += 1;
        }
    }
}
