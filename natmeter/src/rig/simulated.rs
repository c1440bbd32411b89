//! The simulated device of a scenario.

use method::simulated::{ControlTruth, SimulatedDut, Truth};
use method::{Nanos, Rate, Ratio};
use scenario::Simulated;

/// Rates in bits per second are those of frames of `frame` octets.
pub(crate) fn device(keys: &Simulated, frame: usize) -> SimulatedDut {
    let rate = |rate: scenario::quantity::WrittenRate| Rate(rate.frames_per_second(frame));
    let share = |ppm: u32| Ratio::from_ppm(ppm.into());
    let capacity = rate(keys.capacity);
    let truth = Truth {
        reverse_capacity: keys.reverse_capacity.map_or(capacity, rate),
        table_size: keys.table.unwrap_or(u64::MAX),
        when_full: keys.full.policy(),
        loss: share(keys.faults.loss_ppm),
        misrouted: share(keys.faults.misrouted_ppm),
        corrupted: share(keys.faults.corrupted_ppm),
        duplicated: share(keys.faults.duplicated_ppm),
        reordered: share(keys.faults.reordered_ppm),
        stall: keys.stall,
        queue: keys.queue,
        delay: keys.times.delay,
        delay_spread: keys.times.delay_spread,
        recovery: keys.times.recovery_time,
        tcp_transitory: keys.tcp_transitory_time,
        forgets: keys.forgets,
        slow_start: (keys.slow_trials, share(keys.slow_capacity_ppm)),
        dies_at: keys.dies_at,
        cache: keys.cache.map(|holds| (holds, share(keys.uncached_capacity_ppm))),
        cold: (keys.cold, share(keys.cold_capacity_ppm)),
        // Large enough to reveal a resumed run that differs from an uninterrupted one.
        jitter: share(keys.jitter_ppm),
        host_stalls: share(keys.host_noise_ppm),
        harmful_stalls: share(keys.harmful_noise_ppm),
        tester_drops: share(keys.tester_drops_ppm),
        tester_ceiling: keys.tester_ceiling.map_or(Rate(u64::MAX), rate),
        control: control(keys, frame),
        ..Truth::new(capacity, rate(keys.set_up_rate))
    };
    SimulatedDut::new(truth, keys.seed)
}

/// Behaviour in addition to forwarding.
fn control(keys: &Simulated, frame: usize) -> ControlTruth {
    let share = |ppm: u32| Ratio::from_ppm(ppm.into());
    let idle = if keys.idle_ppm.is_empty() { &[0][..] } else { &keys.idle_ppm };
    ControlTruth {
        tear_down_rate: Rate(keys.tear_down_rate.frames_per_second(frame)),
        tear_down_empty: keys.tear_down_empty,
        // About the spread of a real device.
        tear_down_spread: keys.tear_down_spread.unwrap_or(Nanos(keys.tear_down_empty.0 / 100)),
        entry_bytes: keys.entry_octets,
        buckets: (keys.buckets, keys.bucket_octets),
        idle: idle.iter().map(|ppm| share(*ppm)).collect(),
        waiting: share(keys.waiting_ppm),
        reset: keys.reset_time,
        failover: [keys.failover_time, keys.reverse_failover_time.unwrap_or(keys.failover_time)],
        survive: share(keys.survive_ppm),
        moved: share(keys.move_ppm),
        ..ControlTruth::default()
    }
}
