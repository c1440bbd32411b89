//! Carries out one trial: clear, phase 1, gap, phase 2, drain, collect.

use crate::beside::{self, PhaseClock};
use crate::clear_proof::ClearProof;
use crate::device::{Device, DeviceStalls};
use crate::lane::{self, Lane};
use crate::observe::Extra;
use crate::phase::{Phase, PhaseOutcome};
use crate::service;
use crate::stage::Stage;
use crate::store::StateTable;
use method::trial::{
    Action, ActionTime, CpuIdle, Observed, PerDirection, Profiler, Sampler, SharedTuples, Stamps, WarmUpFrames,
};
use method::{
    Count, Direction, Fault, HostNoise, Leg, Loop, Nanos, Order, PhaseKind, Rate, ResponderTable, Spoiler, StoreFacts,
    TrialError, TrialOutcome, TrialSpec, Trials, Verdict,
};
use port::Clock;
use port::host::spawn_in;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::{FramePurpose, View};

/// Times and seed of all trials of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time between ready ports and the start.
    pub start_delay: Nanos,
    /// Time to receive after the last frame was sent.
    pub drain: Nanos,
    /// Pause before the next trial.
    pub settle: Nanos,
    /// Drain time of phase 1 (T of siitperf).
    pub phase1_drain: Nanos,
    /// Seed of the order of phase 2.
    pub seed: u64,
    /// Which thread does the device's work.
    pub dut_loop: Loop,
}

/// Why an engine cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The state table gets no memory.
    #[error(transparent)]
    Memory(#[from] arena::ArenaError),
    /// No lane has the port.
    #[error("no tester thread has a port on the {0} side")]
    NoPort(&'static str),
}

/// Carries out trials on one set-up.
pub struct Engine {
    pub(crate) stage: Stage,
    pub(crate) device: Box<dyn Device>,
    pub(crate) settings: Settings,
    pub(crate) held: Count,
    pub(crate) clear_proof: ClearProof,
    /// The four-tuples of a complete phase 1 were compared.
    compared: bool,
    /// Beginning and end of each phase of the trial.
    marks: Vec<(FramePurpose, [Instant; 2])>,
}

/// Tells a thread beside a trial that the trial is over, even by a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Engine {
    /// Creates an engine for this view on these lanes; setting `interrupted` ends a trial.
    ///
    /// # Errors
    /// A side has no port, or there is no memory for the state table.
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
        Ok(Engine {
            stage,
            device,
            settings,
            held: 0,
            clear_proof: ClearProof::default(),
            compared: false,
            marks: Vec::new(),
        })
    }

    /// Frames and expectations of both sides.
    pub fn view(&self) -> &Arc<View> {
        self.stage.view()
    }

    fn trial(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let began = Instant::now();
        self.rest(self.settings.settle)?;
        self.allow(self.lasts(spec));
        self.marks.clear();
        let outcome = match (spec.options.sampler, spec.options.profiler) {
            (Some(sampler), _) => self.sampled(spec, sampler),
            (None, Some(profiler)) => self.profiled(spec, profiler),
            (None, None) => self.carry_out(spec),
        };
        self.device.rest();
        let mut outcome = outcome?;
        outcome.dut_loop = self.settings.dut_loop;
        outcome.wall = began.elapsed().into();
        self.rest(self.breather(outcome.wall))?;
        Ok(outcome)
    }

    fn carry_out(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        match (spec.kind, spec.options.tcp) {
            (_, Some(tcp)) => self.tcp(spec, tcp),
            (PhaseKind::Stateless, None) => self.stateless(spec),
            (PhaseKind::Establish, None) => self.establish(spec),
            (PhaseKind::Established, None) => self.established(spec),
        }
    }

    fn sampled(&mut self, spec: &TrialSpec, sampler: Sampler) -> Result<TrialOutcome, TrialError> {
        let times = self.device.cpu_times(sampler.of)?;
        let (began, over) = (Instant::now(), AtomicBool::new(false));
        let (outcome, cpu) = std::thread::scope(|scope| {
            let over_at_end = Over(&over);
            let sampling = spawn_in(scope, || beside::sample(times, sampler, began, &over));
            let sampling = sampling.map_err(|e| TrialError::Tester(e.to_string()))?;
            let outcome = self.carry_out(spec);
            drop(over_at_end);
            let cpu = sampling.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, TrialError>((outcome, cpu))
        })?;
        // A warm-up comes before the data.
        let mark = |kind| {
            let (_, ends) = self.marks.iter().rfind(|(of, _)| *of == kind)?;
            Some(ends.map(|at| Nanos::from(at.saturating_duration_since(began))))
        };
        let (mut outcome, cpu) = (outcome?, cpu?);
        let (phase1, phase2) = (mark(FramePurpose::Establish), mark(FramePurpose::Data).unwrap_or_default());
        outcome.observed.cpu = vec![CpuIdle { phase1, phase2, ..cpu }];
        Ok(outcome)
    }

    /// Runs a profiled trial; only samples of the data phase count.
    fn profiled(&mut self, spec: &TrialSpec, profiler: Profiler) -> Result<TrialOutcome, TrialError> {
        let profiling = self.device.profile(profiler)?;
        let mut outcome = self.carry_out(spec)?;
        if let Some((_, [from, to])) = self.marks.iter().rfind(|(kind, _)| *kind == FramePurpose::Data) {
            outcome.observed.profile = Some(profiling.finish(*from, *to)?);
        }
        Ok(outcome)
    }

    /// The kernel stops real-time threads for the rest of a second in which they took more than 950
    /// ms of a core (sched_rt_runtime_us). Only threads on in-process links have that priority, in
    /// trials shorter than a second.
    pub(crate) fn breather(&self, wall: Nanos) -> Nanos {
        let within = self.stage.port_facts().iter().all(|f| f.backend == "link");
        Nanos(if within { (wall.0.min(SECOND) / BREATHER).saturating_sub(self.settings.settle.0) } else { 0 })
    }

    fn stateless(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let warm_up = self.warm_up(spec)?;
        self.stage.end_early(spec.options.early_end);
        let p = self.phase_acting(&self.data_phase(spec), &self.extra(spec), spec.options.action)?;
        Ok(TrialOutcome {
            forward: p.forward,
            reverse: p.reverse,
            host: p.host,
            hop_limit: p.hop_limit,
            observed: Observed { warm_up, ..p.observed },
            ..TrialOutcome::default()
        })
    }

    fn establish(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        self.clear()?;
        let p = self.phase1(spec.rate, spec.frames())?;
        let mut store = StoreFacts {
            learned: p.learned,
            dut_entries: self.entries_after_phase1()?,
            phase1_attempts: 1,
            phase1_rate: Some(spec.rate),
            ..StoreFacts::default()
        };
        let complete = p.forward.received == p.forward.planned;
        let mut host = p.host.clone();
        let validation = match spec.validate_rate {
            // Otherwise phase 1 has failed, and validation is skipped.
            Some(rate) if complete => {
                let v = self.phase(&validation_phase(rate, spec.frames(), self.settings.drain))?;
                host = worse(&host, &v.host);
                store.dut_entries_after = self.entries()?;
                Some(v.reverse)
            }
            _ => None,
        };
        store.shared = self.compare_once(&store, spec.frames())?;
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
        let (mut store, host, first, late) = if spec.keep_table {
            let learned = spec.connections - self.stage.missing(spec.connections);
            (StoreFacts { learned, ..StoreFacts::default() }, HostNoise::default(), None, [0; 2])
        } else {
            let (store, host, first, late) = self.prepare(spec)?;
            (store, host, Some(first), late)
        };
        if store.learned < spec.connections {
            // The caller decides whether to repeat an incomplete phase 1.
            return Ok(TrialOutcome { store: Some(store), host, phase1: first, ..TrialOutcome::default() });
        }
        store.dut_entries = self.entries_after_phase1()?;
        let extra = self.extra(spec);
        let warm_up = self.warm_up(spec)?;
        let known = spec.options.action.map(|_| self.stage.known(spec.connections));
        self.stage.end_early(spec.options.early_end);
        self.stage.set_churn(spec.options.churn);
        let p = self.phase_acting(&self.data_phase(spec), &extra, spec.options.action);
        self.stage.set_churn(None);
        let mut p = p?;
        for (leg, late) in [&mut p.forward, &mut p.reverse].into_iter().zip(late) {
            leg.faults.0[Fault::Late as usize] += late;
        }
        store.dut_entries_after = self.entries()?;
        if let (Some(known), Some(acted)) = (known, &mut p.observed.action) {
            acted.entries = store.dut_entries.zip(store.dut_entries_after).map(|(before, after)| [before, after]);
            acted.connections = Some(self.survey(spec, &known)?);
        }
        self.after(spec, &mut p.observed)?;
        if !spec.keep_table {
            store.shared = self.compare_once(&store, spec.connections)?;
        }
        Ok(TrialOutcome {
            observed: Observed { warm_up, ..p.observed },
            forward: p.forward,
            reverse: p.reverse,
            host: p.host,
            store: Some(store),
            hop_limit: p.hop_limit,
            ..TrialOutcome::default()
        })
    }

    fn warm_up(&mut self, spec: &TrialSpec) -> Result<PerDirection<WarmUpFrames>, TrialError> {
        let Some(phase) = self.warm_up_phase(spec) else { return Ok(PerDirection::default()) };
        let p = self.phase_with(&phase, &Extra { popularity: spec.options.popularity, ..Extra::default() })?;
        let warmed = |leg: &Leg| WarmUpFrames { sent: leg.sent, received: leg.received };
        Ok(PerDirection {
            forward: phase.direction.forward().then(|| warmed(&p.forward)),
            reverse: phase.direction.reverse().then(|| warmed(&p.reverse)),
        })
    }

    /// Prepares a trial from an empty table; returns the tables' state, noise and leg of the last
    /// attempt, and the frames of an earlier trial that arrived meanwhile, left to right and back.
    fn prepare(&mut self, spec: &TrialSpec) -> Result<(StoreFacts, HostNoise, Leg, [Count; 2]), TrialError> {
        let rate = spec.phase1_rate.unwrap_or(spec.rate);
        let mut so_far = self.lasts(spec);
        self.clear()?;
        let p = self.phase1(rate, spec.connections)?;
        let mut facts = StoreFacts {
            learned: p.learned,
            phase1_lost: p.forward.planned.saturating_sub(p.forward.received),
            phase1_attempts: 1,
            phase1_rate: Some(rate),
            ..StoreFacts::default()
        };
        let late_in = |p: &PhaseOutcome| [&p.forward, &p.reverse].map(|leg| leg.faults.get(Fault::Late));
        let mut late = late_in(&p);
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
            late.iter_mut().zip(late_in(&p)).for_each(|(sum, more)| *sum += more);
            last = (missing, p);
        }
        Ok((facts, last.1.host, last.1.forward, late))
    }

    /// Length of a trial in nanoseconds, with pauses, in which real-time threads poll, too.
    fn lasts(&self, spec: &TrialSpec) -> u64 {
        let last = |rate| self.phase_lasts(rate, spec.frames(), self.settings.drain);
        let warm_up =
            self.warm_up_phase(spec).map_or(0, |phase| self.phase_lasts(phase.rate, phase.frames, phase.drain));
        let data = warm_up + self.settings.start_delay.0 + spec.send_time().0 + self.drain(spec).0;
        match spec.kind {
            PhaseKind::Stateless => data,
            PhaseKind::Establish => last(spec.rate) + spec.validate_rate.map_or(0, last),
            PhaseKind::Established if spec.keep_table => data,
            PhaseKind::Established => {
                let rate = spec.phase1_rate.unwrap_or(spec.rate);
                let phase1 = self.phase_lasts(rate, spec.connections, self.settings.phase1_drain);
                phase1 + data + spec.options.action.map_or(0, |_| phase1)
            }
        }
    }

    fn phase_lasts(&self, rate: Rate, frames: Count, drain: Nanos) -> u64 {
        self.settings.start_delay.0 + rate.time_for(frames).0 + drain.0
    }

    pub(crate) fn allow(&mut self, lasts: u64) {
        self.stage.expect(Nanos(lasts));
        self.device.wake(Nanos(lasts));
    }

    pub(crate) fn phase1(&mut self, rate: Rate, connections: Count) -> Result<PhaseOutcome, TrialError> {
        self.phase(&self.first_phase(rate, connections))
    }

    pub(crate) fn first_phase(&self, rate: Rate, connections: Count) -> Phase {
        Phase {
            learn: true,
            drain: self.settings.phase1_drain,
            ..Phase::of(FramePurpose::Establish, rate, connections)
        }
    }

    fn data_phase(&self, spec: &TrialSpec) -> Phase {
        // Stateless tests use all flows.
        let connections = if spec.kind == PhaseKind::Stateless { self.stage.connections() } else { spec.connections };
        Phase {
            connections,
            direction: spec.direction,
            forward_order: Order::Random,
            reverse_order: spec.responder_order,
            update: spec.kind == PhaseKind::Established
                && (spec.responder_table == ResponderTable::Update || spec.options.churn.is_some()),
            drain: self.drain(spec),
            ..Phase::of(FramePurpose::Data, spec.rate, spec.frames())
        }
    }

    fn warm_up_phase(&self, spec: &TrialSpec) -> Option<Phase> {
        let warm_up = spec.options.warm_up?;
        let (rate, frames) = (warm_up.rate_before(spec.rate), warm_up.frames_before(spec.rate));
        (frames > 0).then(|| Phase { rate, frames, drain: self.settings.phase1_drain, ..self.data_phase(spec) })
    }

    pub(crate) fn drain(&self, spec: &TrialSpec) -> Nanos {
        Nanos(self.settings.drain.0 + spec.options.drain.unwrap_or_default().0)
    }

    /// A lost frame counts as if it arrived at the end of the drain.
    fn extra(&self, spec: &TrialSpec) -> Extra {
        let ends = spec.send_time().0 + self.drain(spec).0;
        let stamps = spec.options.stamps.map(|stamps| {
            let from = if let Stamps::Some { from, .. } = stamps { from.0 } else { 0 };
            (stamps, Nanos(ends.saturating_sub(from)))
        });
        let losses = spec.options.action.is_some() || spec.options.step.is_some();
        Extra { stamps, popularity: spec.options.popularity, pieces: spec.pieces().into(), losses }
    }

    pub(crate) fn phase(&mut self, phase: &Phase) -> Result<PhaseOutcome, TrialError> {
        self.phase_with(phase, &Extra::default())
    }

    fn phase_with(&mut self, phase: &Phase, extra: &Extra) -> Result<PhaseOutcome, TrialError> {
        self.phase_acting(phase, extra, None)
    }

    fn phase_acting(
        &mut self,
        phase: &Phase,
        extra: &Extra,
        action: Option<Action>,
    ) -> Result<PhaseOutcome, TrialError> {
        self.device.away()?;
        let began = Instant::now();
        let mut outcome = match action {
            Some(action) => self.run_acting(phase, extra, action)?,
            None => self.stage.run_with(phase, extra)?,
        };
        self.marks.push((phase.kind, [began, Instant::now()]));
        let DeviceStalls { stall, stalled, run_delay } = self.device.away()?;
        (outcome.host.dut_stall, outcome.host.dut_stalled, outcome.host.dut_run_delay) = (stall, stalled, run_delay);
        Ok(outcome)
    }

    fn run_acting(&mut self, phase: &Phase, extra: &Extra, action: Action) -> Result<PhaseOutcome, TrialError> {
        let Engine { stage, device, .. } = self;
        let (clock, start) = stage.next_start();
        let over = AtomicBool::new(false);
        let (outcome, acted) = std::thread::scope(|scope| {
            let over_at_end = Over(&over);
            let watched = PhaseClock { clock, start: &start, over: &over };
            let acting = spawn_in(scope, move || beside::act(&mut **device, action, &watched));
            let acting = acting.map_err(|e| TrialError::Tester(e.to_string()))?;
            let outcome = stage.run_with(phase, extra);
            drop(over_at_end);
            let acted: Result<Option<ActionTime>, TrialError> =
                acting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, TrialError>((outcome, acted))
        })?;
        let mut outcome = outcome?;
        outcome.observed.action = acted?;
        Ok(outcome)
    }

    pub(crate) fn clear(&mut self) -> Result<(), TrialError> {
        let ports = self.while_serving(|device| device.clear().map(|()| device.source_ports()))??;
        ports.map_or(Ok(()), |ports| self.stage.use_source_ports(ports))?;
        self.prove_clear()
    }

    /// Compares the four-tuples of the first complete phase 1, after the trial.
    fn compare_once(&mut self, store: &StoreFacts, connections: Count) -> Result<Option<SharedTuples>, TrialError> {
        if self.compared || store.learned < connections {
            return Ok(None);
        }
        self.compared = true;
        self.stage.shared(connections)
    }

    fn entries_after_phase1(&mut self) -> Result<Option<Count>, TrialError> {
        let entries = self.entries()?;
        self.clear_proof.filled(entries);
        Ok(entries)
    }

    pub(crate) fn entries(&mut self) -> Result<Option<Count>, TrialError> {
        self.while_serving(|device| device.entries())?
    }

    /// Runs `work` on the device, which may take seconds, while the services of the lanes answer.
    ///
    /// # Errors
    /// A port of a lane with a service fails.
    pub fn while_serving<T: Send>(&mut self, work: impl FnOnce(&mut dyn Device) -> T + Send) -> Result<T, TrialError> {
        let Engine { stage, device, .. } = self;
        lane::while_serving(&mut stage.lanes, || work(&mut **device))
    }

    /// Waits for this time or an interrupt, while the services of the lanes answer.
    ///
    /// # Errors
    /// On an interrupt, or a port of a lane with a service fails.
    pub fn rest(&mut self, time: Nanos) -> Result<(), TrialError> {
        let end = Instant::now() + Duration::from(time);
        let interval = if self.stage.has_service() { service::INTERVAL } else { Duration::from_millis(50) };
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            if self.stage.interrupted.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            self.stage.serve()?;
            std::thread::sleep(left.min(interval));
        }
        Ok(())
    }
}

impl Trials for Engine {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        self.trial(spec)
    }
}

pub(crate) fn validation_phase(rate: Rate, connections: Count, drain: Nanos) -> Phase {
    Phase { direction: Direction::Reverse, drain, ..Phase::of(FramePurpose::Validate, rate, connections) }
}

/// 1/15 of a trial is 6 % of the time, more than the 5 % that the kernel takes from real-time threads.
const BREATHER: u64 = 15;
const SECOND: u64 = 1_000_000_000;
const SENT_AGAIN: u32 = 20;

fn swallowed_by_host(rate: Rate, (frames, phase): &(Count, PhaseOutcome), dut_loop: Loop) -> bool {
    let spec = TrialSpec { responder_order: Order::RoundRobin, ..TrialSpec::establish(rate, *frames) };
    let (forward, host) = (phase.forward.clone(), phase.host.clone());
    let outcome = TrialOutcome { forward, host, dut_loop, ..TrialOutcome::default() };
    let verdict = method::judge(&spec, &outcome, &method::Criteria::default());
    matches!(verdict, Verdict::Invalid(reason) if reason.spoiler() == Spoiler::Host)
}

fn worse(a: &HostNoise, b: &HostNoise) -> HostNoise {
    HostNoise {
        tester_stall: a.tester_stall.max(b.tester_stall),
        dut_stall: a.dut_stall.max(b.dut_stall),
        tester_stalled: Nanos(a.tester_stalled.0 + b.tester_stalled.0),
        dut_stalled: Nanos(a.dut_stalled.0 + b.dut_stalled.0),
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

    fn explained(lost: Count, stall: Nanos) -> bool {
        let timing = Timing { burst: 1, worst_burst: 1, ..Timing::default() };
        let forward = Leg { planned: 10_000, sent: 10_000, received: 10_000 - lost, timing, ..Leg::default() };
        let host = HostNoise { dut_stall: stall, ..HostNoise::default() };
        let phase = PhaseOutcome { forward, host, ..PhaseOutcome::default() };
        swallowed_by_host(Rate(1_000_000), &(10_000, phase), Loop::Open)
    }

    /// In a closed loop, the tester may wait for kernel threads that do the device's work: no host noise.
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
        assert!(!explained(700, Nanos(0)), "the device lost the frame");
        assert!(!explained(10_000, Nanos(stall.0 / 2)), "ten times more than was due in that time");
    }
}
