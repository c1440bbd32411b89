//! Trials of DNS queries for the procedures of `method`: clears the device, resolves the warm names, sends the queries, and
//! reports the outcome.

use crate::answer::Expected;
use crate::client::{Client, Load, Observation};
use crate::names::Names;
use crate::plan::QueryPlan;
use method::trial::Queries;
use method::{Count, HostNoise, Leg, Loop, Nanos, Rate, Timing, TrialError, TrialOutcome, TrialSpec, Trials};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Queries per second with which warm names are resolved.
const WARM_RATE: Rate = Rate(1_000);
/// How often names that were not resolved are asked for again.
const WARM_TRIES: u32 = 3;

/// What the tester has the device do.
pub trait Device {
    /// Empties caches and tables, so that no trial profits from an earlier one.
    ///
    /// # Errors
    /// When the device does not work afterwards.
    fn clear(&mut self) -> Result<(), TrialError>;
}

/// Client and device, ready for trials.
pub struct Tester<D> {
    /// The client.
    pub client: Client,
    /// The device.
    pub device: D,
    /// The names of the zone.
    pub names: Names,
    /// What answers must contain.
    pub expected: Expected,
    /// Whether each name may be asked for once only: a resolver caches the answer.
    pub names_wear_out: bool,
    /// Queries that the queue in front of the device holds, if that is known.
    pub queue: Option<Count>,
    /// Rest before each trial.
    pub settle: Nanos,
    /// Set on Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
}

impl<D: Device> Trials for Tester<D> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let began = Instant::now();
        let queries = spec.options.queries.ok_or_else(|| {
            TrialError::Refused("this device answers DNS queries, and has no trials of test frames".to_owned())
        })?;
        let load = self.load(spec, queries)?;
        self.device.clear()?;
        std::thread::sleep(self.settle.into());
        self.warm(&load)?;
        let seen = self.client.run(&load, &self.names, &self.interrupted)?;
        let mut outcome = outcome(&load, &seen);
        outcome.host.dut_queue = self.queue;
        outcome.host.queue_lasts = self.queue.map(|queries| spec.rate.time_for(queries));
        outcome.wall = Nanos(began.elapsed().as_nanos() as u64);
        Ok(outcome)
    }
}

impl<D> Tester<D> {
    fn load(&self, spec: &TrialSpec, queries: Queries) -> Result<Load, TrialError> {
        let plan = QueryPlan::new(self.names.count, queries.cached.floor_of(1_000_000) as u32);
        let load =
            Load { rate: spec.rate, queries: spec.frames(), timeout: queries.timeout, plan, expected: self.expected };
        let needed = plan.needed(load.queries);
        if self.names_wear_out && needed > u64::from(plan.fresh()) {
            return Err(TrialError::Refused(format!(
                "a trial needs {needed} names that were not resolved before, and the zone has {}: raise `names` in [measure.dns], lower \
                 `max-rate`, or use a shorter duration",
                plan.fresh()
            )));
        }
        Ok(load)
    }

    /// Resolves the warm names, at a rate that any resolver does.
    fn warm(&self, load: &Load) -> Result<(), TrialError> {
        let warm = load.plan.warm();
        if warm.is_empty() {
            return Ok(());
        }
        // A plan of cached queries only asks for the warm names, one after the other.
        let plan = QueryPlan::new(self.names.count, 1_000_000);
        let load = Load { rate: WARM_RATE, queries: u64::from(warm.end - warm.start), plan, ..*load };
        for _ in 0..WARM_TRIES {
            let seen = self.client.run(&load, &self.names, &self.interrupted)?;
            if seen.answers.valid == seen.sent {
                return Ok(());
            }
        }
        Err(TrialError::DutDead(format!(
            "it does not resolve {} names at {WARM_RATE} queries/s before a trial with cached names; check the path to the server",
            load.queries
        )))
    }
}

/// The outcome of a trial: a query is a frame Left to Right.
fn outcome(load: &Load, seen: &Observation) -> TrialOutcome {
    let timing = Timing {
        burst: 1,
        worst_burst: seen.worst_burst,
        catch_ups: seen.catch_ups,
        crowded: seen.crowded,
        finished_late: seen.finished_late,
        worst_late: seen.worst_late,
        own_time: seen.own_time,
        backend_time: Nanos(0),
    };
    let forward = Leg {
        planned: load.queries,
        sent: seen.sent,
        received: seen.answers.valid,
        send_time: seen.send_time,
        timing,
        ..Leg::default()
    };
    let mut outcome = TrialOutcome { forward, dut_loop: Loop::Open, ..TrialOutcome::default() };
    outcome.host = HostNoise { tester_run_delay: seen.run_delay, ..HostNoise::default() };
    outcome.observed.answers = Some(seen.answers);
    outcome
}
