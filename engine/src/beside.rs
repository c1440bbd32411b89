//! Threads beside a trial: a disruption at a time of a phase, and the sampler of CPU times.

use crate::device::{CoreTime, CpuTimes, Device};
use method::trial::{Action, ActionTime, CpuIdle, Sampler};
use method::{Nanos, TrialError};
use port::Clock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(10);

pub(crate) struct PhaseClock<'a> {
    pub clock: Clock,
    /// Start of the phase in ticks; 0 before it.
    pub start: &'a AtomicU64,
    /// Whether the phase is over.
    pub over: &'a AtomicBool,
}

impl PhaseClock<'_> {
    fn wait_until(&self, at: Nanos) -> bool {
        loop {
            if self.over.load(Ordering::Acquire) {
                return false;
            }
            let left = self.since_start().map(|now| Duration::from(Nanos(at.0.saturating_sub(now.0))));
            match left {
                Some(left) if left.is_zero() => return true,
                Some(left) => std::thread::sleep(left.min(LOOK)),
                None => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    }

    fn since_start(&self) -> Option<Nanos> {
        let start = self.start.load(Ordering::Acquire);
        let now = self.clock.now();
        (start != 0 && now >= start).then(|| Nanos(self.clock.nanos(now - start)))
    }
}

/// Takes the action, unless the phase ended before.
pub(crate) fn act(
    device: &mut dyn Device,
    action: Action,
    phase: &PhaseClock<'_>,
) -> Result<Option<ActionTime>, TrialError> {
    if !phase.wait_until(action.at) {
        return Ok(None);
    }
    let began = phase.since_start().unwrap_or_default();
    let clock = Instant::now();
    device.disrupt(action.what)?;
    Ok(Some(ActionTime { began, took: clock.elapsed().into(), ..ActionTime::default() }))
}

/// Samples CPU times from `began` until the trial is over.
pub(crate) fn sample(
    mut times: Box<dyn CpuTimes>,
    sampler: Sampler,
    began: Instant,
    over: &AtomicBool,
) -> Result<CpuIdle, TrialError> {
    let mut idle = CpuIdle { of: sampler.of, ..CpuIdle::default() };
    let mut last = times.read()?;
    let mut next = Instant::now();
    loop {
        next += Duration::from(sampler.interval);
        while !over.load(Ordering::Acquire) && Instant::now() < next {
            std::thread::sleep(next.saturating_duration_since(Instant::now()).min(LOOK));
        }
        if over.load(Ordering::Acquire) {
            return Ok(idle);
        }
        let now = times.read()?;
        idle.ends.push(began.elapsed().into());
        add(&mut idle.cores, &last, &now);
        last = now;
    }
}

fn add(cores: &mut BTreeMap<String, Vec<u32>>, before: &[CoreTime], now: &[CoreTime]) {
    for (before, now) in before.iter().zip(now) {
        let all = now.all.0.saturating_sub(before.all.0);
        let idle = now.idle.0.saturating_sub(before.idle.0).min(all);
        // A core that had no time did not work.
        let share = (u128::from(idle) * 1_000_000).checked_div(u128::from(all)).unwrap_or(1_000_000);
        cores.entry(now.name.clone()).or_default().push(share as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_share_is_that_between_two_readings() {
        let core = |idle, all| CoreTime { name: "cpu0".to_owned(), idle: Nanos(idle), all: Nanos(all) };
        let mut cores = BTreeMap::new();
        add(&mut cores, &[core(100, 1_000)], &[core(350, 2_000)]);
        add(&mut cores, &[core(350, 2_000)], &[core(350, 2_000)]);
        assert_eq!(cores["cpu0"], [250_000, 1_000_000]);
    }
}
