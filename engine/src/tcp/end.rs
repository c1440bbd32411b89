//! One side of all connections: it compares each segment with the course of its connection, and answers.

use super::Steps;
use super::stages::Stages;
use crate::findings::fault_of;
use crate::first_wrong::{FirstWrong, fault_of_stray};
use crate::service::{Desk, Service};
use crate::store::StateTable;
use method::{Count, Fault, FaultCounts};
use port::{BATCH, Burst, Clock, Frame, Pool, Port, PortError, Ticks};
use std::sync::Mutex;
use wire::tcp::{Ends, Exchanges, Numbers, Progress, Script, Segment, SegmentTemplate, Side, flag};
use wire::{Batch, Expect, View, Words};

pub(super) struct EndPlan<'a> {
    pub(super) view: &'a View,
    pub(super) side: Side,
    pub(super) expect: &'a Expect,
    pub(super) segments: &'a SegmentTemplate,
    pub(super) steps: Steps<'a>,
    pub(super) numbers: Numbers,
    pub(super) phase: u16,
    pub(super) stages: &'a Stages,
    /// State table where this side learns connections.
    pub(super) store: Option<&'a StateTable>,
    /// A bound on indices.
    pub(super) connections: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TcpFindings {
    pub(super) received: Count,
    pub(super) established: Count,
    /// Connections that ended, at the Responder; answered exchanges, at the Initiator.
    pub(super) completed: Count,
    pub(super) learned: Count,
    pub(super) answered: Count,
    /// Segments refused by the DUT's ingress queue.
    pub(super) refused: Count,
    /// Segments without a free frame: the tester's fault.
    pub(super) starved: Count,
    pub(super) faults: FaultCounts,
    pub(super) first_wrong: FirstWrong,
    pub(super) own: Ticks,
    pub(super) backend: Ticks,
}

impl TcpFindings {
    #[cold]
    fn count_wrong(&mut self, fault: Fault, frame: &[u8]) {
        self.faults.add(fault);
        self.first_wrong.keep(fault, frame);
    }
}

#[derive(Clone, Copy, Debug)]
struct SegmentArrival {
    frame: usize,
    index: u32,
    segment: Segment,
}

#[derive(Clone, Copy, Debug)]
enum Expectation<'a> {
    /// A segment of a script, and the segments that follow it.
    Script(u16, &'a [Segment]),
    /// An exchange, after which the side has received this progress.
    Exchange(Exchanges, u16, Progress),
}

pub(super) struct End<'a> {
    plan: EndPlan<'a>,
    clock: Clock,
    burst: Burst,
    out: Burst,
    answers: Vec<Frame>,
    desk: Desk<'a>,
    work: Work,
    pub(super) findings: TcpFindings,
}

#[derive(Default)]
struct Work {
    arrived: Vec<SegmentArrival>,
    indices: [u32; BATCH],
    flows: [u32; BATCH],
    values: Batch,
    words: Words,
}

impl<'a> End<'a> {
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

    #[must_use]
    pub(super) fn beside(mut self, service: &'a Mutex<Service>) -> End<'a> {
        self.desk = Desk::of(service, self.plan.side == Side::Initiator);
        self
    }

    /// Returns the number of frames.
    pub(super) fn poll(&mut self, port: &mut impl Port, pool: &mut Pool) -> Result<usize, PortError> {
        let before = self.clock.now();
        // More would only wait here.
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
                for (_, frame) in self.burst[at..at + n].iter().enumerate().filter(|(bit, _)| unknown & 1 << bit != 0) {
                    self.findings.count_wrong(fault_of_stray(frame.bytes()), frame.bytes());
                }
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

    pub(super) fn is_waiting(&self) -> bool {
        !self.answers.is_empty()
    }

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

    /// Returns one bit for each frame that is no segment.
    fn answer(&mut self, at: usize, n: usize, pool: &mut Pool) -> u32 {
        let End { plan, burst, answers, work, findings, .. } = self;
        let frames = &burst[at..at + n];
        let foreign = plan.read(frames, work, findings);
        plan.expect_all(work);
        for j in 0..work.arrived.len() {
            let SegmentArrival { frame, index, segment } = work.arrived[j];
            let mut ends = Ends::of(&work.words, j);
            match plan.hold(frames[frame].bytes(), (index, segment), &mut ends, findings) {
                Err(fault) => findings.count_wrong(fault, frames[frame].bytes()),
                Ok(step) => {
                    findings.received += 1;
                    plan.answer_to((index, step), &ends.swapped(), (answers, pool), findings);
                }
            }
        }
        foreign
    }

    pub(super) fn finish(mut self, pool: &mut Pool) -> TcpFindings {
        pool.free_all(&mut self.burst);
        pool.free_all(&mut self.answers);
        self.findings
    }
}

impl<'a> EndPlan<'a> {
    fn other(&self) -> Side {
        if self.side == Side::Initiator { Side::Responder } else { Side::Initiator }
    }

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
                findings.count_wrong(Fault::Unexpected, frame.bytes());
                continue;
            }
            work.indices[work.arrived.len()] = index;
            let segment = Segment { from, flags, initiator, responder, data: flags & flag::PSH != 0 };
            work.arrived.push(SegmentArrival { frame: j, index, segment });
            self.stages.prefetch(index);
            if let Some(store) = self.store {
                store.prefetch(index);
            }
        }
        foreign
    }

    fn expect_all(&self, work: &mut Work) {
        let Work { arrived, indices, flows, values, words } = work;
        let count = arrived.len();
        self.view.order.fill(&indices[..count], &mut flows[..count]);
        values.set(&self.view.flows, flows);
        if let Some(store) = self.store {
            for (j, &index) in indices[..count].iter().enumerate() {
                // Of a SYN nothing is known yet.
                let is_known = arrived[j].segment.flags & flag::ACK != 0;
                let outer = if is_known { store.get(index, self.phase) } else { None };
                let (addr, port) = outer.unwrap_or_default();
                values.learned(j, addr, port);
            }
        }
        self.expect.words(values, words);
    }

    #[inline(always)]
    fn step(&self, index: u32, segment: Segment) -> Result<Expectation<'a>, Fault> {
        match self.steps {
            Steps::Script(script, all) => {
                let stage = self.stages.get(index, self.side, self.phase);
                let number = Script::next_at(self.side, stage);
                if let Some((wanted, rest)) = all.get(usize::from(number)..).and_then(<[Segment]>::split_first)
                    && *wanted == segment
                {
                    return Ok(Expectation::Script(number, rest));
                }
                Err(if script.is_earlier(stage, &segment) { Fault::Duplicate } else { Fault::Unexpected })
            }
            Steps::Exchanges(all) => {
                let before = self.stages.progress(index, self.side);
                let (number, acknowledged) = all.read(&segment).ok_or(Fault::Unexpected)?;
                let after = before.with(number).ok_or(Fault::Duplicate)?;
                // The Responder has answered what it received; the Initiator has at least sent the
                // request of this answer.
                let sent = if self.side == Side::Responder { before.next } else { after.next };
                if acknowledged > sent { Err(Fault::Unexpected) } else { Ok(Expectation::Exchange(all, number, after)) }
            }
        }
    }

    #[inline(always)]
    fn hold(
        &self,
        frame: &[u8],
        (index, segment): (u32, Segment),
        ends: &mut Ends,
        findings: &mut TcpFindings,
    ) -> Result<Expectation<'a>, Fault> {
        let step = self.step(index, segment)?;
        let wanted = self.segments.wanted(self.numbers.of(index, &segment), (segment.flags, segment.data));
        let learn = self.store.is_some() && matches!(step, Expectation::Script(0, _));
        let outer = self.expect.check_segment(frame, ends, &wanted, learn).map_err(fault_of)?;
        if let Some(store) = self.store.filter(|_| learn) {
            findings.learned += Count::from(!store.learn(index, self.phase, outer.0, outer.1));
        }
        match step {
            Expectation::Script(number, _) => self.stages.set(index, self.side, self.phase, number + 1),
            Expectation::Exchange(_, _, after) => self.stages.set_progress(index, self.side, after),
        }
        Ok(step)
    }

    fn answer_to(
        &self,
        (index, step): (u32, Expectation<'_>),
        ends: &Ends,
        (answers, pool): (&mut Vec<Frame>, &mut Pool),
        findings: &mut TcpFindings,
    ) {
        let mut answer = |segment: Segment| match self.made((index, segment), ends, pool) {
            Some(frame) => answers.push(frame),
            None => findings.starved += 1,
        };
        match step {
            Expectation::Exchange(..) if self.side == Side::Initiator => findings.completed += 1,
            Expectation::Exchange(all, number, after) => answer(all.answer(number, after.whole)),
            Expectation::Script(number, rest) => {
                rest.iter().take_while(|segment| segment.from == self.side).for_each(|segment| answer(*segment));
                let is_responder = self.side == Side::Responder;
                findings.established += Count::from(is_responder && number == 2);
                findings.completed += Count::from(is_responder && rest.is_empty());
            }
        }
    }

    #[inline(always)]
    fn made(&self, (index, segment): (u32, Segment), ends: &Ends, pool: &mut Pool) -> Option<Frame> {
        let mut frame = pool.alloc(self.segments.len(segment.data))?;
        let numbers = self.numbers.of(index, &segment);
        self.segments.write(frame.bytes_mut(), ends, index, numbers, (segment.flags, segment.data));
        Some(frame)
    }
}
