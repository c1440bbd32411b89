//! Runs one phase of TCP connections on all lanes.

use super::end::{End, EndPlan};
use super::lane::{self, TcpReport, TcpTasks};
use super::opener::{Opener, OpenerPlan};
use super::stages::Stages;
use super::{Course, Steps, TcpPhase};
use crate::example::examples;
use crate::lane::Shared;
use crate::pacer::Pacer;
use crate::schedule::Departures;
use crate::stage::{LEAST_START_DELAY, Stage, add_examples, add_sender};
use method::{Count, Fault, HostNoise, Leg, Nanos, TrialError};
use port::PortError;
use port::host::{PREEMPT_AT_MOST, spawn_in};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wire::tcp::{Exchanges, Numbers, Script, Segment, SegmentTemplate, Side};

/// Outcome of one phase.
#[derive(Clone, Debug, Default)]
pub struct TcpOutcome {
    /// Connections or exchanges: begun ones are sent, completed ones received, with the faults at Right.
    pub begun: Leg,
    /// Faults at Left.
    pub reverse: Leg,
    /// Connections established by the Responder.
    pub established: Count,
    /// Connections learned by the Responder.
    pub learned: Count,
    /// Segments sent at Left and at Right.
    pub sent: [Count; 2],
    /// Segments received at either side.
    pub received: Count,
    /// Host noise.
    pub host: HostNoise,
}

/// `payload` is in octets; `table` lists the segments of a script.
fn steps_of(course: Course, payload: usize, table: &mut Vec<Segment>) -> Result<Steps<'_>, TrialError> {
    let octets = u16::try_from(payload).unwrap_or(u16::MAX);
    let made = match course {
        Course::Life { exchanges, close } => Script::new(exchanges, octets, close).map(|script| {
            table.extend((0..script.segments()).map(|n| script.segment(n)));
            Steps::Script(script, table)
        }),
        Course::Exchange => Exchanges::new(octets).map(Steps::Exchanges),
    };
    made.ok_or_else(|| {
        TrialError::Refused(format!(
            "a TCP connection has segments of {payload} octets, of which it can have {} from each side; use fewer of them, \
             or smaller frames",
            most_exchanges(payload)
        ))
    })
}

/// The most exchanges of a connection with so many octets of data each.
pub fn most_exchanges(payload: usize) -> u16 {
    u16::try_from(payload).ok().and_then(Exchanges::new).map_or(0, Exchanges::most)
}

impl Stage {
    /// Runs one phase of TCP connections to the end of its drain.
    ///
    /// # Errors
    /// It was interrupted, a port failed, there is no memory for the connections, or they cannot
    /// have so many segments.
    pub fn run_tcp(&mut self, phase: &TcpPhase) -> Result<TcpOutcome, TrialError> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let stages = match self.stages.take() {
            Some(stages) => stages,
            None => Stages::new(self.connections()).map_err(|e| TrialError::Tester(e.to_string()))?,
        };
        let opened_in = self.next_tcp_number(phase);
        let before = self.own_side_now();
        let reports = self.on_tcp_lanes(phase, &stages, opened_in);
        self.stages = Some(stages);
        let reports = reports?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let mut outcome = add_up(&reports, phase.course, |ticks| Nanos(self.clock.nanos(ticks)));
        let after = self.own_side();
        outcome.host.tester_drops += after.0.saturating_sub(before.0);
        outcome.host.link_lost = before.1 || after.1;
        (outcome.host.queue_lasts, outcome.host.dut_queue) = self.queues(phase.rate);
        Ok(outcome)
    }

    /// Returns the number of the phase that opened the connections.
    fn next_tcp_number(&mut self, phase: &TcpPhase) -> u16 {
        self.next_number(phase.hold);
        if phase.course == Course::Exchange { self.learned_in } else { self.phase }
    }

    fn on_tcp_lanes(
        &mut self,
        phase: &TcpPhase,
        stages: &Stages,
        opened_in: u16,
    ) -> Result<Vec<TcpReport>, TrialError> {
        let clock = self.clock;
        let segments = [&self.view.left, &self.view.right].map(SegmentTemplate::new);
        let mut table = Vec::new();
        let steps = steps_of(phase.course, segments[0].payload().len(), &mut table)?;
        let openers = self.senders(true);
        let lasts = self.start_delay.0 + phase.rate.time_for(phase.count).0 + phase.drain.0;
        let shared = Shared {
            starting: AtomicUsize::new(self.lanes.len()),
            start: Arc::default(),
            start_delay: clock.ticks(self.start_delay.max(LEAST_START_DELAY).0),
            sending: AtomicUsize::new(openers as usize),
            sent_at: AtomicU64::new(u64::MAX),
            held: None,
            early: None,
            short: Duration::from(self.lasts.max(Nanos(lasts))) <= PREEMPT_AT_MOST,
            stop: Arc::clone(&self.interrupted),
            broken: AtomicBool::new(false),
        };
        let (view, store) = (&*self.view, self.store.as_ref());
        let end_plan = |side: Side| {
            let (expect, segments) = match side {
                Side::Initiator => (&view.expect_left, &segments[0]),
                Side::Responder => (&view.expect_right, &segments[1]),
            };
            EndPlan {
                view,
                side,
                expect,
                segments,
                steps,
                numbers: Numbers::new(opened_in),
                phase: opened_in,
                stages,
                store: store.filter(|_| expect.needs_outer()),
                connections: u64::from(phase.first) + phase.different,
            }
        };
        let opener = |turn: (u64, u64)| {
            let departures = Departures::shared(0, clock.frequency(), phase.rate, phase.count, turn);
            let plan = OpenerPlan::beside(&end_plan(Side::Initiator), (phase.first, phase.different), turn);
            Opener::new(plan, Pacer::new(departures, clock, clock.ticks(self.give_up.0)))
        };
        let bursts = steps.bursts();
        let services: Vec<_> = self.lanes.iter_mut().map(|lane| lane.service.take().map(Mutex::new)).collect();
        let drain = clock.ticks(phase.drain.0);
        let mut turn = 0;
        let reports: Result<Vec<_>, PortError> = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (lane, service) in self.lanes.iter_mut().zip(&services) {
                let end = |side: Side| {
                    let end = End::new(end_plan(side), clock);
                    if let Some(service) = service { end.beside(service) } else { end }
                };
                let tasks = TcpTasks {
                    opener: lane.left.as_ref().map(|_| {
                        turn += 1;
                        opener((turn - 1, openers))
                    }),
                    left: lane.left.as_ref().map(|_| end(Side::Initiator)),
                    right: lane.right.as_ref().map(|_| end(Side::Responder)),
                    bursts,
                };
                let shared = &shared;
                let started = spawn_in(scope, move || lane::run(clock, drain, shared, tasks, lane));
                threads.push(started.inspect_err(|_| shared.broken.store(true, Ordering::Relaxed))?);
            }
            threads.into_iter().map(|t| t.join().expect("a lane panicked")).collect()
        });
        for (lane, service) in self.lanes.iter_mut().zip(services) {
            lane.service = service.map(|service| service.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        reports.map_err(|e| TrialError::Tester(e.to_string()))
    }
}

impl Steps<'_> {
    /// The segments of a burst of connections, at most 256 frames.
    fn bursts(self) -> usize {
        const MOST: usize = 8;
        if let Steps::Script(_, all) = self { all.len().min(MOST) } else { MOST }
    }
}

fn add_up(reports: &[TcpReport], course: Course, nanos: impl Fn(u64) -> Nanos) -> TcpOutcome {
    let mut out = TcpOutcome::default();
    for r in reports {
        if let Some(begun) = &r.begun {
            add_sender(&mut out.begun, begun);
            out.sent[0] += begun.sent;
            out.begun.timing.own_time.0 += begun.timing.own_time.0;
            out.begun.timing.backend_time.0 += begun.timing.backend_time.0;
        }
        let completed = if course == Course::Exchange { r.left.completed } else { r.right.completed };
        out.begun.received += completed;
        out.established += r.right.established;
        out.learned += r.right.learned;
        for (leg, found) in [(&mut out.begun, &r.right), (&mut out.reverse, &r.left)] {
            leg.faults.merge(&found.faults);
            add_examples(leg, &examples(&found.first_wrong, None, None));
        }
        for (sent, found) in out.sent.iter_mut().zip([&r.left, &r.right]) {
            *sent += found.answered;
            out.received += found.received;
            out.host.tester_drops += found.starved;
            out.begun.timing.own_time.0 += nanos(found.own).0;
            out.begun.timing.backend_time.0 += nanos(found.backend).0;
        }
        out.host.tester_stall = out.host.tester_stall.max(r.stall);
        out.host.tester_stalled.0 += r.stalled.0;
        out.host.tester_run_delay = out.host.tester_run_delay.max(r.run_delay);
    }
    // A duplicate cannot complete a connection twice, so these are other connections.
    let more = out.begun.received.saturating_sub(out.begun.sent);
    out.begun.faults.0[Fault::Unexpected as usize] += more;
    out
}
