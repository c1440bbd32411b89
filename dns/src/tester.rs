//! Trials of DNS queries for the procedures of `method`.

use crate::answer::ExpectedAnswer;
use crate::client::{Client, Observation};
use crate::load::Load;
use crate::names::Names;
use crate::plan::QueryPlan;
use method::trial::Queries;
use method::{Count, HostNoise, Leg, Loop, Nanos, Rate, Timing, TrialError, TrialOutcome, TrialSpec, Trials};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const WARM_RATE: Rate = Rate(1_000);
/// Tries to resolve the names that still lack an answer.
const WARM_TRIES: u32 = 3;
/// Time-out of a query that asks whether anything answers.
const PROBE: Nanos = Nanos::from_millis(100);
/// Time for a program to load its zone and answer.
const READY: Duration = Duration::from_secs(120);

/// The tester's demands on the device.
pub trait Device {
    /// Empties caches and tables. Returns whether the device was started anew, so that it answers a moment later.
    fn clear(&mut self) -> Result<bool, TrialError>;
}

pub struct Tester<D> {
    pub client: Client,
    pub device: D,
    pub names: Names,
    pub expected: ExpectedAnswer,
    /// Whether each name serves once, because a resolver caches it.
    pub names_wear_out: bool,
    /// Length in queries of the shortest queue on the path, if known.
    pub queue: Option<Count>,
    pub settle: Nanos,
    pub interrupted: Arc<AtomicBool>,
}

impl<D: Device> Trials for Tester<D> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let began = Instant::now();
        let queries = spec.options.queries.ok_or_else(|| {
            TrialError::Refused("this device answers DNS queries, and has no trials of test frames".to_owned())
        })?;
        let load = self.load(spec, queries)?;
        if self.device.clear()? {
            wait_for_answers(&self.client, &self.names, self.expected, &self.interrupted)?;
        }
        self.warm(&load)?;
        std::thread::sleep(self.settle.into());
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
        let (needed, fresh) = (plan.needed(spec.frames()), plan.fresh());
        if self.names_wear_out && needed > u64::from(fresh) {
            return Err(TrialError::Refused(format!(
                "a trial needs {needed} names that were not resolved before, and the zone has {fresh}: write more `names` in \
                 [measure.dns], a lower `max-rate`, or a shorter duration"
            )));
        }
        Ok(Load { rate: spec.rate, queries: spec.frames(), timeout: queries.timeout, plan, expected: self.expected })
    }

    fn warm(&self, load: &Load) -> Result<(), TrialError> {
        let warm = load.plan.warm();
        let queries = warm.len() as Count;
        let load = Load { rate: WARM_RATE, queries, plan: QueryPlan::only(warm), ..load.clone() };
        for _ in 0..WARM_TRIES {
            if queries == 0 || self.client.run(&load, &self.names, &self.interrupted)?.answers.valid == queries {
                return Ok(());
            }
        }
        Err(TrialError::DutDead(format!(
            "it does not resolve {queries} names at {WARM_RATE} queries/s before a trial with cached names; check the path to the \
             server"
        )))
    }
}

/// Waits until the name that no trial asks for gets a right answer.
///
/// # Errors
/// [`TrialError::DutDead`] after two minutes, [`TrialError::Interrupted`], those of [`Client::run`].
pub fn wait_for_answers(
    client: &Client,
    names: &Names,
    expected: ExpectedAnswer,
    interrupted: &AtomicBool,
) -> Result<(), TrialError> {
    let plan = QueryPlan::only(names.probe()..names.probe() + 1);
    let load = Load { rate: Rate(1_000), queries: 1, timeout: PROBE, plan, expected };
    let began = Instant::now();
    let mut last = Observation::default();
    while began.elapsed() < READY {
        last = client.run(&load, names, interrupted)?;
        if last.answers.valid == 1 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let how = match last.answers.unanswered {
        0 => format!("answers wrongly: {:?}", last.answers),
        _ => "has no answer".to_owned(),
    };
    Err(TrialError::DutDead(format!("after {} s a DNS query still {how}", READY.as_secs())))
}

/// Queries are frames Left to Right.
fn outcome(load: &Load, seen: &Observation) -> TrialOutcome {
    let timing = Timing { burst: 1, ..seen.timing.clone() };
    let forward = Leg {
        planned: load.queries,
        sent: seen.sent,
        received: seen.answers.valid,
        send_time: seen.send_time,
        timing,
        ..Leg::default()
    };
    let host = HostNoise { tester_run_delay: seen.run_delay, tester_drops: seen.drops, ..HostNoise::default() };
    let mut outcome = TrialOutcome { forward, dut_loop: Loop::Open, host, ..TrialOutcome::default() };
    outcome.observed.answers = Some(seen.answers);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::trial::Answers;

    #[test]
    fn what_the_client_drops_is_the_testers() {
        let load = Load {
            rate: Rate(1_000),
            queries: 100,
            timeout: Nanos::SECOND,
            plan: QueryPlan::only(0..100),
            expected: ExpectedAnswer::Zone,
        };
        let answers = Answers { valid: 97, unanswered: 3, ..Answers::default() };
        let send_time = Nanos::from_millis(99);
        let seen = Observation { answers, sent: 100, send_time, drops: 3, ..Observation::default() };
        assert_eq!(outcome(&load, &seen).host.tester_drops, 3);
    }
}
