//! One trial from spec to outcome: clear, phase 1, gap, phase 2, drain, collect. The only place where the
//! steps of a trial stand in order.

use crate::lane::Lane;
use crate::phase::{Phase, PhaseOutcome, Stage};
use crate::store::StateTable;
use method::{
    Count, Direction, HostNoise, Leg, Load, Loop, Nanos, Order, PhaseKind, Rate, Spoiler, StoreFacts, TrialError,
    TrialOutcome, TrialSpec, Trials, Verdict,
};
use port::{Clock, PortFacts};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::{Kind, View};

/// What the engine needs of a device under test. It never changes the device in any other way.
pub trait Device: Send {
    /// Empty the connection tracking table.
    ///
    /// # Errors
    /// In words: what was tried and what went wrong.
    fn clear(&mut self) -> Result<(), String>;
    /// Entries of the connection tracking table, where the device can say.
    ///
    /// # Errors
    /// In words.
    fn entries(&mut self) -> Result<Option<Count>, String>;
    /// What kept threads of the device from their work since the last call, those included that still do not run.
    ///
    /// # Errors
    /// In words.
    fn away(&mut self) -> Result<Away, String> {
        Ok(Away::default())
    }
    /// A trial begins, which is to last about this long: a device that shares the machine with the tester gives its work
    /// its whole attention.
    fn wake(&mut self, _lasts: Nanos) {}
    /// No trial is under way: such a device may leave its cores to others until the next [`Device::wake`]. Ordinary
    /// threads of these cores (the kernel's own among them) that never got a turn would take one in the middle of a
    /// trial, for as long as they like.
    fn rest(&mut self) {}
}

/// What kept a device's threads from their work, where that is known: each figure is that of the thread that was kept longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Away {
    /// The longest time between two rounds.
    pub stall: Nanos,
    /// How long it waited for its core in all, by the scheduler's account; `None` where that cannot be known.
    pub run_delay: Option<Nanos>,
}

/// Stateless devices: nothing to clear or to count.
pub struct NoDevice;

impl Device for NoDevice {
    fn clear(&mut self) -> Result<(), String> {
        Ok(())
    }
    fn entries(&mut self) -> Result<Option<Count>, String> {
        Ok(None)
    }
}

/// Times and seed of all trials of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Both directions start this long after the ports are ready.
    pub start_delay: Nanos,
    /// How long frames may arrive after the last was sent.
    pub drain: Nanos,
    /// Rest before the next trial.
    pub settle: Nanos,
    /// Drain of phase 1 (T of RFC 9693).
    pub phase1_drain: Nanos,
    /// Seed of the order of phase 2.
    pub seed: u64,
    /// Where the device does its work.
    pub dut_loop: Loop,
}

/// Why an engine cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No memory for the state table.
    #[error(transparent)]
    Memory(#[from] arena::ArenaError),
    /// No lane has the port that is needed.
    #[error("no tester thread has a port on the {0} side: give it one")]
    NoPort(&'static str),
}

/// Carries out trials for one set-up.
pub struct Engine {
    stage: Stage,
    device: Box<dyn Device>,
    settings: Settings,
}

impl Engine {
    /// An engine for this view on these lanes. `interrupted` ends the trial under way when set.
    ///
    /// # Errors
    /// When a side has no port, or there is no memory for the state table.
    pub fn new(
        clock: Clock,
        lanes: Vec<Lane>,
        view: Arc<View>,
        device: Box<dyn Device>,
        settings: Settings,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Engine, EngineError> {
        if !lanes.iter().any(|l| l.left.is_some()) {
            return Err(EngineError::NoPort("left"));
        }
        if !lanes.iter().any(|l| l.right.is_some()) {
            return Err(EngineError::NoPort("right"));
        }
        let store = if view.stateful { Some(StateTable::new(view.connections())?) } else { None };
        let stage = Stage::new(clock, lanes, view, store, settings.start_delay, settings.seed, interrupted);
        Ok(Engine { stage, device, settings })
    }

    /// The device.
    pub fn device(&mut self) -> &mut dyn Device {
        &mut *self.device
    }

    /// What the ports are, for the record.
    pub fn port_facts(&self) -> Vec<PortFacts> {
        self.stage.port_facts()
    }

    fn trial(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let began = Instant::now();
        self.rest(self.settings.settle)?;
        self.allow(self.lasts(spec));
        let outcome = match spec.kind {
            PhaseKind::Stateless => self.stateless(spec),
            PhaseKind::Establish => self.establish(spec),
            PhaseKind::Established => self.established(spec),
        };
        self.device.rest();
        let mut outcome = outcome?;
        outcome.dut_loop = self.settings.dut_loop;
        outcome.wall = began.elapsed().into();
        self.rest(self.breather(outcome.wall))?;
        Ok(outcome)
    }

    /// Rest after a trial of this length, so that the next does not pay for it: threads before all others are stopped by the
    /// kernel for the rest of a second in which they took more than 950 ms of a core (sched_rt_runtime_us), and then both
    /// tester and device stand still in the middle of a trial. Only on links within the process, and in trials that end
    /// within that second, are they before all others.
    fn breather(&self, wall: Nanos) -> Nanos {
        let within = self.stage.port_facts().iter().all(|f| f.backend == "link");
        Nanos(if within { (wall.0.min(SECOND) / BREATHER).saturating_sub(self.settings.settle.0) } else { 0 })
    }

    fn stateless(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let p = self.phase(&self.data_phase(spec))?;
        Ok(TrialOutcome {
            forward: p.forward,
            reverse: p.reverse,
            host: p.host,
            hop_limit: p.hop_limit,
            ..TrialOutcome::default()
        })
    }

    fn establish(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        self.device.clear().map_err(TrialError::Tester)?;
        let p = self.phase1(spec.rate, spec.frames())?;
        let mut store = StoreFacts {
            learned: p.learned,
            dut_entries: self.device.entries().map_err(TrialError::Tester)?,
            phase1_attempts: 1,
            phase1_rate: Some(spec.rate),
            ..StoreFacts::default()
        };
        let complete = p.forward.received == p.forward.planned;
        let mut host = p.host.clone();
        let validation = match spec.validate_rate {
            // With connections missing there is nothing to send on; phase 1 has failed anyway.
            Some(rate) if complete => {
                let v = self.phase(&validation_phase(rate, spec.frames(), self.settings.drain))?;
                host = worse(&host, &v.host);
                store.dut_entries_after = self.device.entries().map_err(TrialError::Tester)?;
                Some(v.reverse)
            }
            _ => None,
        };
        Ok(TrialOutcome {
            forward: p.forward,
            reverse: p.reverse,
            validation,
            host,
            store: Some(store),
            hop_limit: p.hop_limit,
            ..TrialOutcome::default()
        })
    }

    fn established(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let (mut store, host, first) = if spec.keep_table {
            // What the phase 1 before left is what is there, all of it or not.
            let learned = spec.connections - self.stage.missing(spec.connections);
            (StoreFacts { learned, ..StoreFacts::default() }, HostNoise::default(), None)
        } else {
            let (store, host, first) = self.prepare(spec)?;
            (store, host, Some(first))
        };
        if store.learned < spec.connections {
            // Nothing after an incomplete phase 1 can be measured; whoever asked decides whether to try again (3.9).
            return Ok(TrialOutcome { store: Some(store), host, phase1: first, ..TrialOutcome::default() });
        }
        store.dut_entries = self.device.entries().map_err(TrialError::Tester)?;
        let p = self.phase(&self.data_phase(spec))?;
        store.dut_entries_after = self.device.entries().map_err(TrialError::Tester)?;
        Ok(TrialOutcome {
            forward: p.forward,
            reverse: p.reverse,
            host: p.host,
            store: Some(store),
            hop_limit: p.hop_limit,
            ..TrialOutcome::default()
        })
    }

    /// Phase 1 from an empty table, before phase 2: what is in the tables, and how the last attempt went.
    fn prepare(&mut self, spec: &TrialSpec) -> Result<(StoreFacts, HostNoise, Leg), TrialError> {
        let rate = spec.phase1_rate.unwrap_or(spec.rate);
        let mut so_far = self.lasts(spec);
        self.device.clear().map_err(TrialError::Tester)?;
        let p = self.phase1(rate, spec.connections)?;
        let mut facts = StoreFacts {
            learned: p.learned,
            phase1_lost: p.forward.planned.saturating_sub(p.forward.received),
            phase1_attempts: 1,
            phase1_rate: Some(rate),
            ..StoreFacts::default()
        };
        let mut last = (spec.connections, p);
        while facts.learned < spec.connections
            && facts.phase1_attempts <= SENT_AGAIN
            && swallowed_by_host(rate, &last, self.settings.dut_loop)
        {
            let missing = self.stage.missing(spec.connections);
            so_far += self.phase_lasts(rate, missing, self.settings.phase1_drain);
            self.allow(so_far);
            let p = self.phase(&Phase { frames: missing, only_missing: true, ..self.first_phase(rate, missing) })?;
            facts.learned += p.learned;
            facts.phase1_resent += missing;
            facts.phase1_attempts += 1;
            last = (missing, p);
        }
        Ok((facts, last.1.host, last.1.forward))
    }

    /// Nanoseconds that a trial's phases last, if nothing goes wrong. Their pauses count: threads before all others work on in
    /// them, and are stopped later for the more.
    fn lasts(&self, spec: &TrialSpec) -> u64 {
        let last = |rate| self.phase_lasts(rate, spec.frames(), self.settings.drain);
        match spec.kind {
            PhaseKind::Stateless => last(spec.rate),
            PhaseKind::Establish => last(spec.rate) + spec.validate_rate.map_or(0, last),
            PhaseKind::Established if spec.keep_table => last(spec.rate),
            PhaseKind::Established => {
                let rate = spec.phase1_rate.unwrap_or(spec.rate);
                self.phase_lasts(rate, spec.connections, self.settings.phase1_drain) + last(spec.rate)
            }
        }
    }

    fn phase_lasts(&self, rate: Rate, frames: Count, drain: Nanos) -> u64 {
        self.settings.start_delay.0 + rate.time_for(frames).0 + drain.0
    }

    /// The trial under way is to last about so many nanoseconds in all.
    fn allow(&mut self, lasts: u64) {
        self.stage.expect(Nanos(lasts));
        self.device.wake(Nanos(lasts));
    }

    fn phase1(&mut self, rate: Rate, connections: Count) -> Result<PhaseOutcome, TrialError> {
        self.phase(&self.first_phase(rate, connections))
    }

    fn first_phase(&self, rate: Rate, connections: Count) -> Phase {
        Phase {
            kind: Kind::Establish,
            rate,
            frames: connections,
            connections,
            direction: Direction::Forward,
            forward_order: Order::RoundRobin,
            reverse_order: Order::RoundRobin,
            learn: true,
            only_missing: false,
            drain: self.settings.phase1_drain,
        }
    }

    fn data_phase(&self, spec: &TrialSpec) -> Phase {
        // Stateless tests use the whole flow space.
        let connections = if spec.kind == PhaseKind::Stateless { self.stage.connections() } else { spec.connections };
        Phase {
            kind: Kind::Data,
            rate: spec.rate,
            frames: spec.frames(),
            connections,
            direction: spec.direction,
            forward_order: Order::Random,
            reverse_order: spec.responder_order,
            learn: false,
            only_missing: false,
            drain: self.settings.drain,
        }
    }

    /// One phase, with what the device knows of its own stalls and waits.
    fn phase(&mut self, phase: &Phase) -> Result<PhaseOutcome, TrialError> {
        self.device.away().map_err(TrialError::Tester)?;
        let mut outcome = self.stage.run(phase)?;
        let Away { stall, run_delay } = self.device.away().map_err(TrialError::Tester)?;
        (outcome.host.dut_stall, outcome.host.dut_run_delay) = (stall, run_delay);
        Ok(outcome)
    }

    /// Wait, but not longer than until an interrupt.
    fn rest(&self, time: Nanos) -> Result<(), TrialError> {
        let end = Instant::now() + Duration::from(time);
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            if self.stage.interrupted.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        Ok(())
    }
}

impl Trials for Engine {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        self.trial(spec)
    }
}

fn validation_phase(rate: Rate, connections: Count, drain: Nanos) -> Phase {
    Phase {
        kind: Kind::Validate,
        rate,
        frames: connections,
        connections,
        direction: Direction::Reverse,
        forward_order: Order::RoundRobin,
        reverse_order: Order::RoundRobin,
        learn: false,
        only_missing: false,
        drain,
    }
}

/// A rest of 1/15 of a trial is 6 % of all the time: more than the 5 % that threads before all others must leave.
const BREATHER: u64 = 15;
const SECOND: u64 = 1_000_000_000;
/// How often a preparing phase 1 sends again what the host swallowed.
const SENT_AGAIN: u32 = 20;

/// Whether a stall of the host explains what a preparing phase 1 at this rate lost. Then the DUT has not failed, and the
/// connections that are missing are set up by sending them again: what phase 2 needs is a table with all of them.
fn swallowed_by_host(rate: Rate, (frames, phase): &(Count, PhaseOutcome), dut_loop: Loop) -> bool {
    let spec = TrialSpec {
        kind: PhaseKind::Establish,
        rate,
        load: Load::Frames(*frames),
        direction: Direction::Forward,
        connections: *frames,
        phase1_rate: None,
        validate_rate: None,
        keep_table: false,
        responder_order: Order::RoundRobin,
    };
    let (forward, host) = (phase.forward.clone(), phase.host.clone());
    let outcome = TrialOutcome { forward, host, dut_loop, ..TrialOutcome::default() };
    let verdict = method::judge(&spec, &outcome, &method::Criteria::default());
    matches!(verdict, Verdict::Invalid(reason) if reason.spoiler() == Spoiler::Host)
}

/// The worse of two phases of one trial.
fn worse(a: &HostNoise, b: &HostNoise) -> HostNoise {
    HostNoise {
        tester_stall: a.tester_stall.max(b.tester_stall),
        dut_stall: a.dut_stall.max(b.dut_stall),
        tester_run_delay: a.tester_run_delay.max(b.tester_run_delay),
        dut_run_delay: a.dut_run_delay.max(b.dut_run_delay),
        queue_lasts: [a.queue_lasts, b.queue_lasts].into_iter().flatten().min(),
        dut_queue: a.dut_queue.min(b.dut_queue),
        tester_drops: a.tester_drops + b.tester_drops,
        link_lost: a.link_lost || b.link_lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::Timing;

    /// A phase 1 of 10,000 frames of which some were lost, with this stall of the device.
    fn explained(lost: Count, stall: Nanos) -> bool {
        let timing = Timing { burst: 1, worst_burst: 1, ..Timing::default() };
        let forward = Leg { planned: 10_000, sent: 10_000, received: 10_000 - lost, timing, ..Leg::default() };
        let host = HostNoise { dut_stall: stall, ..HostNoise::default() };
        let phase = PhaseOutcome { forward, host, ..PhaseOutcome::default() };
        swallowed_by_host(Rate(1_000_000), &(10_000, phase), Loop::Open)
    }

    /// The tester waited for kernel threads that do the device's work: that is waiting for the device.
    #[test]
    fn in_a_closed_loop_waiting_for_the_core_explains_no_loss() {
        let timing = Timing { burst: 1, worst_burst: 1, ..Timing::default() };
        let forward = Leg { planned: 10_000, sent: 10_000, received: 9_990, timing, ..Leg::default() };
        let host = HostNoise { tester_run_delay: Some(Nanos::from_millis(50)), ..HostNoise::default() };
        let last = (10_000, PhaseOutcome { forward, host, ..PhaseOutcome::default() });
        assert!(swallowed_by_host(Rate(1_000_000), &last, Loop::Open));
        assert!(!swallowed_by_host(Rate(1_000_000), &last, Loop::Closed));
    }

    #[test]
    fn only_a_stall_that_was_long_enough_explains_a_loss() {
        let stall = Nanos::from_millis(1);
        assert!(explained(700, stall));
        assert!(!explained(700, Nanos(0)), "the device lost it");
        assert!(!explained(10_000, Nanos(stall.0 / 2)), "more than was due in that time, ten times over");
    }
}
