//! A simulated device beside forwarding: emptying, memory, idle cores, reset and failover.

use super::SimulatedDut;
use crate::ratio::Ratio;
use crate::trial::{
    Action, ActionTime, Buckets, CoreSamples, CpuIdle, Disruption, EmptyingTimes, Leg, Losses, Profile, Profiler,
    Sampler, Survivors, TableMemory, TearDown, TrialSpec,
};
use crate::units::{Count, Nanos, Rate};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlTruth {
    /// Connections per second.
    pub tear_down_rate: Rate,
    /// Time to empty an empty table.
    pub tear_down_empty: Nanos,
    /// Maximum additional time, evenly distributed.
    pub tear_down_spread: Nanos,
    /// Bytes of one connection.
    pub entry_bytes: u64,
    /// Bytes of one connection that its removal does not free.
    pub leaked_bytes: u64,
    /// Maximum of the bytes that others use, evenly distributed.
    pub memory_noise: u64,
    /// Buckets of the hash table, and bytes of each.
    pub buckets: (Count, u64),
    /// Idle share of each core at its capacity.
    pub idle: Vec<Ratio>,
    /// Share of working time.
    pub waiting: Ratio,
    /// How long a reset stops forwarding.
    pub reset: Nanos,
    /// Left to Right and Right to Left.
    pub failover: [Nanos; 2],
    /// Share of the connections.
    pub survive: Ratio,
    /// Share of the others that return on another port.
    pub moved: Ratio,
}

impl Default for ControlTruth {
    fn default() -> ControlTruth {
        ControlTruth {
            tear_down_rate: Rate(1_000_000),
            tear_down_empty: Nanos::from_millis(20),
            tear_down_spread: Nanos(0),
            entry_bytes: 320,
            leaked_bytes: 0,
            memory_noise: 0,
            buckets: (65_536, 8),
            idle: vec![Ratio::ZERO],
            waiting: Ratio::ZERO,
            reset: Nanos::from_millis(500),
            failover: [Nanos::from_millis(100), Nanos::from_millis(100)],
            survive: Ratio::ONE,
            moved: Ratio::ZERO,
        }
    }
}

impl SimulatedDut {
    fn dark(&self, what: Disruption, is_forward: bool) -> Nanos {
        match what {
            Disruption::Reset => self.truth.control.reset,
            Disruption::Failover => self.truth.control.failover[usize::from(!is_forward)],
        }
    }

    pub(super) fn lose_in_action(&self, spec: &TrialSpec, leg: &mut Leg, is_forward: bool) {
        let Some(Action { what, at }) = spec.options.action else { return };
        let (first, last) = dark_frames(spec, (at, self.dark(what, is_forward)), is_forward, leg.planned);
        leg.received = leg.received.saturating_sub(last - first);
    }

    pub(super) fn losses_of_action(&self, spec: &TrialSpec, leg: &Leg, is_forward: bool) -> Option<Losses> {
        let Action { what, at } = spec.options.action?;
        let pace = spec.pace_of(is_forward);
        let (first, last) = dark_frames(spec, (at, self.dark(what, is_forward)), is_forward, leg.planned);
        if leg.lost() == 0 || first == last {
            return Some(Losses { frames: leg.lost(), ..Losses::default() });
        }
        // From the last frame before to the first frame after, or the last of all.
        let ends = (last).min(leg.planned.saturating_sub(1));
        let gap = pace.time_for(ends).0 - pace.time_for(first.saturating_sub(1)).0;
        let (first, last) = (pace.time_for(first), pace.time_for(last - 1));
        Some(Losses { frames: leg.lost(), first, last, longest_gap: Nanos(gap) })
    }

    pub(super) fn acted(&self, spec: &TrialSpec) -> Option<ActionTime> {
        let Action { what, at } = spec.options.action?;
        let all = spec.connections;
        let kept = match what {
            Disruption::Reset => 0,
            Disruption::Failover => self.truth.control.survive.floor_of(all),
        };
        let moved = self.truth.control.moved.floor_of(all - kept);
        let connections = (all > 0).then_some(Survivors { all, same: kept, moved });
        let entries = (all > 0).then_some([all, kept + moved]);
        Some(ActionTime { began: at, took: self.dark(what, true), connections, entries })
    }

    pub(super) fn emptied(&mut self, of: TearDown) -> EmptyingTimes {
        let entries = self.table;
        let full = self.emptying(entries);
        let empty = (0..of.empty).map(|_| self.emptying(0)).collect();
        self.table = 0;
        let (how, clock) = ("simulation".to_owned(), "device".to_owned());
        EmptyingTimes { entries: Some(entries), full, empty, how, clock }
    }

    fn emptying(&mut self, entries: Count) -> Nanos {
        let control = &self.truth.control;
        let (rate, empty, spread) = (control.tear_down_rate, control.tear_down_empty, control.tear_down_spread);
        let more = self.rng.below(spread.0 + 1);
        Nanos(rate.time_for(entries).0 + empty.0 + more)
    }

    pub(super) fn memory(&mut self) -> TableMemory {
        let ControlTruth { buckets: (count, each), entry_bytes, leaked_bytes, memory_noise, .. } = self.truth.control;
        let bytes = count * each;
        let entries = std::mem::take(&mut self.table);
        let mut others = || if memory_noise == 0 { 0 } else { self.rng.below(memory_noise + 1) };
        let filled = bytes + self.leaked + entries * entry_bytes + others();
        self.leaked += entries * leaked_bytes;
        TableMemory {
            filled,
            emptied: bytes + self.leaked + others(),
            entries,
            buckets: Some(Buckets { count, bytes }),
            source: "simulation".to_owned(),
        }
    }

    /// What the rate leaves idle.
    pub(super) fn cpu(&self, spec: &TrialSpec, sampler: Sampler) -> CpuIdle {
        let start = spec.phase1_rate.map_or(Nanos(0), |rate| rate.time_for(spec.connections));
        let end = Nanos(start.0 + spec.send_time().0);
        let interval = sampler.interval.0.max(1);
        let ends: Vec<Nanos> = (1..=end.0.div_ceil(interval)).map(|n| Nanos((n * interval).min(end.0))).collect();
        let load = Ratio::new(spec.rate.0, self.truth.forward_capacity.0.max(1)).unwrap_or(Ratio::ONE);
        let share = |idle: &Ratio| 1_000_000 - load.floor_of(1_000_000 - idle.floor_of(1_000_000)) as u32;
        let cores = self.truth.control.idle.iter().enumerate();
        let cores = cores.map(|(at, idle)| (format!("core {at}"), vec![share(idle); ends.len()])).collect();
        let phase1 = (start.0 > 0).then_some([Nanos(0), start]);
        CpuIdle { of: sampler.of, ends, phase1, phase2: [start, end], cores }
    }
}

impl SimulatedDut {
    pub(super) fn profile(&self, spec: &TrialSpec, profiler: Profiler) -> Profile {
        let all = Rate(profiler.frequency.into()).frames_in(spec.send_time());
        let waiting = self.truth.control.waiting.floor_of(all);
        let stacks = [("core 0;simulation;forward", all - waiting), ("core 0;simulation;forward;spin_lock", waiting)];
        Profile {
            event: "simulation".to_owned(),
            frequency: profiler.frequency,
            time: spec.send_time(),
            cores: BTreeMap::from([("core 0".to_owned(), CoreSamples { all, waiting })]),
            parts: BTreeMap::from([("forwarding".to_owned(), all)]),
            tester: 0,
            others: 0,
            stacks: stacks.into_iter().map(|(stack, samples)| (stack.to_owned(), samples)).collect(),
        }
    }
}

/// Due while the device is dark.
fn dark_frames(spec: &TrialSpec, (at, dark): (Nanos, Nanos), is_forward: bool, planned: Count) -> (Count, Count) {
    let pace = spec.pace_of(is_forward);
    let before = |time: u64| pace.frames_in(Nanos(time)).min(planned);
    (before(at.0), before(at.0.saturating_add(dark.0)))
}
