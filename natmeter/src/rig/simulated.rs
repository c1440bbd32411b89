//! The simulated device of a scenario: what its keys inject.

use method::simulated::{ControlTruth, SimulatedDut, Truth, WhenFull};
use method::{Nanos, Rate, Ratio};
use scenario::Simulated;

/// Returns the device of these keys; rates in bits per second are those of frames of so many octets.
pub(super) fn device(keys: &Simulated, frame: usize) -> SimulatedDut {
    let rate = |rate: scenario::quantity::WrittenRate| Rate(rate.frames_per_second(frame));
    let share = |ppm: u32| Ratio::from_ppm(ppm.into());
    let capacity = rate(keys.capacity);
    let truth = Truth {
        reverse_capacity: keys.reverse_capacity.map_or(capacity, rate),
        table_size: keys.table.unwrap_or(u64::MAX),
        when_full: match keys.when_full {
            WhenFull::Collect(_) => WhenFull::Collect(keys.collect),
            other => other,
        },
        loss: share(keys.loss_ppm),
        misrouted: share(keys.misrouted_ppm),
        corrupted: share(keys.corrupted_ppm),
        duplicated: share(keys.duplicated_ppm),
        reordered: share(keys.reordered_ppm),
        stall: keys.stall,
        queue: keys.queue,
        cache: keys.cache.map(|holds| (holds, share(keys.uncached_capacity_ppm))),
        cold: (keys.cold, share(keys.cold_capacity_ppm)),
        // By default large enough to reveal a resumed run that differs from an uninterrupted one.
        jitter: share(keys.jitter_ppm),
        host_stalls: share(keys.host_noise_ppm),
        control: control(keys, frame),
        ..Truth::new(capacity, rate(keys.set_up_rate))
    };
    SimulatedDut::new(truth, keys.seed)
}

/// What its keys inject beside forwarding.
fn control(keys: &Simulated, frame: usize) -> ControlTruth {
    let share = |ppm: u32| Ratio::from_ppm(ppm.into());
    let idle = if keys.idle_ppm.is_empty() { &[0][..] } else { &keys.idle_ppm };
    ControlTruth {
        tear_down_rate: Rate(keys.tear_down_rate.frames_per_second(frame)),
        tear_down_empty: keys.tear_down_empty,
        // A hundredth, as far as times of a real device repeat.
        tear_down_spread: Nanos(keys.tear_down_empty.0 / 100),
        entry_bytes: keys.entry_octets,
        idle: idle.iter().map(|ppm| share(*ppm)).collect(),
        reset: keys.reset_time,
        failover: [keys.failover_time; 2],
        survive: share(keys.survive_ppm),
        moved: share(keys.move_ppm),
        ..ControlTruth::default()
    }
}
