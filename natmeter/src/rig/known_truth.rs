//! Faults and limits that keys inject: of the known-truth device of a scenario, and of the gateway as a program.

use super::RigError;
use gateway::{Faulty, KnownFault, Truth, TruthConfig, WhenFull};
use plane::{AnyFunction, Packet, Wrapper};
use port::Frame;
use scenario::quantity::WrittenRate;
use scenario::{InjectedFault, KnownTruth, Scenario};

pub(super) fn around(
    keys: &KnownTruth,
    scenario: &Scenario,
    functions: Vec<AnyFunction<Frame>>,
) -> Result<Vec<AnyFunction<Frame>>, RigError> {
    let config = config(keys, scenario.widest_frame());
    let functions = faulty(&keys.injected, functions).map_err(RigError::Gateway)?;
    Ok(functions.into_iter().map(|function| Truth::new(config).around(function)).collect())
}

/// Gives each function the fault that the keys name.
pub(crate) fn faulty<P: Packet>(
    keys: &InjectedFault,
    functions: Vec<AnyFunction<P>>,
) -> Result<Vec<AnyFunction<P>>, String> {
    let Some(name) = &keys.fault else { return Ok(functions) };
    let unknown = || format!("no fault has the name `{name}`; docs/faults.md lists all faults");
    let fault = KnownFault::named(name).ok_or_else(unknown)?;
    Ok(functions.into_iter().map(|function| Faulty::new(fault, every(keys.fault_ppm)).around(function)).collect())
}

/// Rates in bits per second are those of frames of `frame` octets.
fn config(keys: &KnownTruth, frame: usize) -> TruthConfig {
    let rate = |rate: WrittenRate| rate.frames_per_second(frame);
    let limit = |written: Option<WrittenRate>| written.map_or(0, rate);
    let KnownTruth { faults, times, .. } = keys;
    TruthConfig {
        lose_every: every(faults.loss_ppm),
        duplicate_every: every(faults.duplicated_ppm),
        misroute_every: every(faults.misrouted_ppm),
        bad_checksum_every: every(faults.corrupted_ppm),
        reorder_every: every(faults.reordered_ppm),
        after: keys.spares,
        capacity: limit(keys.capacity),
        reverse_capacity: keys.reverse_capacity.map(rate),
        set_up_rate: limit(keys.set_up_rate),
        table: keys.table.map_or(0, |table| table as usize),
        when_full: match keys.full.policy() {
            method::simulated::WhenFull::KeepOld => WhenFull::Refuse,
            method::simulated::WhenFull::ReplaceOldest => WhenFull::DropOldest,
            method::simulated::WhenFull::Collect(at_once) => WhenFull::Collect(at_once as usize),
        },
        slow_start: keys.cold.into(),
        stall: keys.stall.into(),
        stall_at: keys.stall_at.into(),
        recovery: times.recovery_time.into(),
        delay: times.delay.into(),
        random_delay: times.delay_spread.into(),
        ..TruthConfig::default()
    }
}

/// k if this share is every k-th frame; 0 for none.
fn every(ppm: u32) -> u64 {
    if ppm == 0 { 0 } else { (1_000_000 + u64::from(ppm) / 2) / u64::from(ppm) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_one_frame_of_so_many() {
        assert_eq!([0, 1, 1_287, 10_000, 300_000, 1_000_000].map(every), [0, 1_000_000, 777, 100, 3, 1]);
    }
}
