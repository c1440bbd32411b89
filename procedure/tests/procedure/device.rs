//! Procedures that look at the device or act on it: what is injected into a simulated device is what they find.

use key::quantity::WrittenRate;
use method::search::bottleneck::{CoreLoads, Limit, LockWait, Symptoms};
use method::search::{Bottleneck, Phase2};
use method::simulated::{ControlTruth, SimulatedDut, Truth};
use method::trial::{CoreSamples, Profile};
use method::{Nanos, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError};
use procedure::churn::Churn;
use procedure::cpu_idle::{CPU_IDLE, CpuIdle};
use procedure::disruption::{FAILOVER, Failover, RESET, Reset};
use procedure::profiling::{LOCK_WAIT, Stacks};
use procedure::tear_down::{CONN_TEAR_DOWN_RATE, Emptying, Filling, MEMORY_PER_CONNTRACK_ENTRY};
use procedure::{Context, Keys, Metric};

fn settings() -> SearchSettings {
    SearchSettings { hi: Rate(1_000_000), duration: Nanos::from_secs(1), ..SearchSettings::default() }
}

fn phase2(connections: u64) -> Phase2 {
    Phase2 { connections, phase1_rate: Rate(100_000) }
}

fn device(control: ControlTruth) -> SimulatedDut {
    SimulatedDut::new(Truth { control, ..Truth::new(Rate(1_000_000), Rate(500_000)) }, 7)
}

/// Measures at 100,000 frames per second; a device without connections is stateless.
fn measured(
    metric: &'static Metric,
    keys: &Keys,
    control: ControlTruth,
    connections: u64,
) -> Result<SearchResult, TrialError> {
    let settings = settings();
    let context = Context::new(metric, keys, &settings).with(phase2(connections));
    Context { throughput: Some(Rate(100_000)), ..context }.measure(&mut device(control))
}

fn tear_down(control: ControlTruth, connections: u64) -> SearchResult {
    let keys = Keys::of_table(Emptying { fills: 3, empty: 5 });
    measured(&CONN_TEAR_DOWN_RATE, &keys, control, connections).unwrap()
}

/// Seven million connections per second, with 2 s for the command and the size of the table: the rate is found within 1 %, and
/// without the correction it would be a third of it.
#[test]
fn the_time_of_the_empty_table_is_no_part_of_the_tear_down_rate() {
    let control = ControlTruth {
        tear_down_rate: Rate(7_000_000),
        tear_down_empty: Nanos::from_secs(2),
        tear_down_spread: Nanos::from_millis(5),
        ..ControlTruth::default()
    };
    let result = tear_down(control, 7_000_000);
    assert_eq!(result.kind, ResultKind::Observed);
    assert!(result.rate.0.abs_diff(7_000_000) < 70_000, "{}", result.rate);
    assert!(result.parts["filled_table_deletion_time"] > 3_000_000_000);
    assert!(result.parts["empty_table_deletion_time"] < 2_010_000_000);
    assert_eq!(result.trials, 3);
}

/// A thousand connections take 1 ms, and the empty table takes between 20 and 25 ms.
#[test]
fn a_time_below_resolution_is_a_lower_bound() {
    let control = ControlTruth { tear_down_spread: Nanos::from_millis(5), ..ControlTruth::default() };
    let result = tear_down(control, 1_000);
    assert_eq!(result.kind, ResultKind::AtUpperLimit);
    assert!(result.rate < Rate(1_000_000), "the bound is not above the truth: {}", result.rate);
    let below = result.evidence.below_resolution.unwrap();
    assert!(below.net.0 < 5 * below.spread.0);
}

#[test]
fn the_memory_of_a_connection_is_that_of_the_device() {
    let control = ControlTruth { entry_bytes: 385, buckets: (65_536, 8), ..ControlTruth::default() };
    let result = memory(control, 3).unwrap();
    assert_eq!((result.kind, result.rate), (ResultKind::Observed, Rate(385)));
    assert_eq!(result.parts["memory_per_hash_bucket"], 8);
    assert_eq!(result.evidence.leak, None);
}

fn memory(control: ControlTruth, fills: u32) -> Result<SearchResult, TrialError> {
    measured(&MEMORY_PER_CONNTRACK_ENTRY, &Keys::of_table(Filling { fills }), control, 100_000)
}

/// Bytes of each of 100,000 connections, those that its removal does not free, and the most that others use.
#[test]
fn fills_tell_use_from_a_leak_and_from_noise() {
    let table = [
        ((20_000, 20_000, 0), Err("grew by 2,000,000,000 bytes (2,000,000,000 to 2,000,000,000) with each of 8 fills")),
        (
            (20_000, 20_000, 10_000_000),
            Err("with each of 8 fills, 19,992 bytes a connection, and did not fall after `clear`"),
        ),
        ((400, 80, 0), Ok((320, true))),
        ((400, 0, 1_000_000), Ok((400, false))),
        ((400, 0, 1_000_000_000), Err("does not separate the connections from other memory")),
    ];
    for ((entry_bytes, leaked_bytes, memory_noise), expected) in table {
        let control = ControlTruth { entry_bytes, leaked_bytes, memory_noise, ..ControlTruth::default() };
        match (memory(control, 8), expected) {
            (Ok(result), Ok((each, is_leak))) => {
                assert!(result.rate.0.abs_diff(each) <= 10, "{} of {each} bytes", result.rate);
                assert_eq!(result.evidence.leak.is_some(), is_leak);
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, _) => panic!("{found:?}, not {expected:?}"),
        }
    }
}

const LENGTH: Nanos = Nanos::from_secs(10);
const AT: Nanos = Nanos::from_secs(2);

fn reset(control: ControlTruth, off: Nanos, connections: u64) -> SearchResult {
    measured(&RESET, &Keys::of_table(Reset { duration: LENGTH, at: AT, off, rate: None }), control, connections)
        .unwrap()
}

#[test]
fn a_reset_takes_its_time_in_both_methods() {
    let control = ControlTruth { reset: Nanos::from_millis(1_700), ..ControlTruth::default() };
    let result = reset(control, Nanos(0), 1_000);
    assert_eq!((result.kind, result.rate), (ResultKind::Observed, Rate(1_700_000_000)));
    for part in ["reset_forward", "reset_gap_reverse"] {
        assert!(result.parts[part].abs_diff(1_700_000_000) <= 20_000, "{part}: {}", result.parts[part]);
    }
    assert_eq!(result.parts["reset_survived"], 0);
}

#[test]
fn the_time_without_power_is_no_part_of_the_reset() {
    let control = ControlTruth { reset: Nanos::from_millis(6_000), ..ControlTruth::default() };
    let result = reset(control, Nanos::from_secs(5), 0);
    assert_eq!(result.rate, Rate(1_000_000_000));
    assert!(!result.parts.contains_key("reset_survived"), "a stateless device has no connections");
}

/// It does not come back before the trial ends.
#[test]
fn a_device_that_stays_dark_gives_a_lower_bound() {
    let control = ControlTruth { reset: Nanos::from_secs(60), ..ControlTruth::default() };
    let result = reset(control, Nanos(0), 0);
    assert_eq!((result.kind, result.rate), (ResultKind::AtUpperLimit, Rate(8_000_000_000)));
}

fn failover_truth() -> ControlTruth {
    ControlTruth {
        failover: [Nanos::from_millis(150), Nanos::from_millis(400)],
        survive: Ratio::from_ppm(900_000),
        moved: Ratio::from_ppm(500_000),
        ..ControlTruth::default()
    }
}

#[test]
fn a_failover_has_a_dark_time_in_each_direction_and_survivors() {
    let keys = Keys::of_table(Failover { duration: LENGTH, at: AT, churn: None, rate: None });
    let result = measured(&FAILOVER, &keys, failover_truth(), 1_000).unwrap();
    for (part, nanos) in [("failover_forward", 150_000_000), ("failover_reverse", 400_000_000)] {
        assert!(result.parts[part].abs_diff(nanos) <= 20_000, "{part}: {}", result.parts[part]);
    }
    assert_eq!((result.parts["failover_survived"], result.parts["failover_moved"]), (900_000, 50_000));
}

#[test]
fn a_failover_under_churn_has_the_same_dark_times() {
    let churned = |arrivals| {
        let churn = Some(WrittenRate::Frames(arrivals));
        let keys = Keys::of_table(Failover { duration: LENGTH, at: AT, churn, rate: None });
        let churn = Churn { held_ppm: 10_000, frames: 1, timeout: Some(Nanos::from_secs(60)), held_rate: None };
        measured(&FAILOVER, &keys.and(churn), failover_truth(), 100_000)
    };
    let result = churned(1_000).unwrap();
    assert!(result.parts["failover_reverse"].abs_diff(400_000_000) <= 20_000);
    assert!(matches!(churned(20_000), Err(TrialError::Refused(why)) if why.contains("use more connections")));
}

fn sampled(idle: &[u64], limit: Limit) -> SearchResult {
    let idle = idle.iter().map(|ppm| Ratio::from_ppm(*ppm)).collect();
    let keys = CpuIdle { duration: Nanos::from_secs(10), interval: Nanos::from_secs(1), rate: None };
    let (keys, settings) = (Keys::of_table(keys), settings());
    let point = Context::new(&CPU_IDLE, &keys, &settings).with(phase2(1_000));
    let mut device = device(ControlTruth { idle, ..ControlTruth::default() });
    Context { throughput: Some(Rate(1_000_000)), limit, ..point }.measure(&mut device).unwrap()
}

#[test]
fn the_idle_time_is_that_of_the_busiest_core() {
    let result = sampled(&[300_000, 20_000, 600_000], Limit::Device);
    assert_eq!((result.kind, result.rate), (ResultKind::Observed, Rate(20_000)));
    assert_eq!(result.observed.cpu[0].cores.len(), 3);
}

#[test]
fn the_idle_times_name_the_bottleneck() {
    let named = |idle: &[u64], limit| sampled(idle, limit).evidence.bottleneck.unwrap();
    assert_eq!(named(&[0, 50_000], Limit::Device), Bottleneck::Device { of: 0, boxes: 1 });
    let hot = Bottleneck::HotCore { of: 0, boxes: 1, core: "core 1".to_owned() };
    assert_eq!(named(&[500_000, 50_000], Limit::Device), hot);
    assert_eq!(named(&[600_000, 600_000], Limit::Device), Bottleneck::Contention);
    assert_eq!(named(&[0, 0], Limit::Tester), Bottleneck::Tester);
    assert_eq!(named(&[600_000], Limit::Unknown), Bottleneck::Unknown);
}

fn seen(idle: &[&[u32]], waits: Option<u32>, limit: Limit) -> Option<Bottleneck> {
    let loads = idle.iter().zip(0..).map(|(cores, of)| CoreLoads {
        of,
        cores: cores.iter().zip(0..).map(|(idle, at)| (format!("core {at}"), *idle)).collect(),
    });
    let locks = waits.map(|waits| LockWait { of: 0, waits });
    Symptoms { limit, boxes: 2, loads: loads.collect(), locks }.bottleneck()
}

/// A core that spins on a lock is busy: the profile decides before the idle times.
#[test]
fn idle_times_and_profile_together_name_the_bottleneck() {
    const BUSY: &[u32] = &[0, 50_000];
    const HALF: &[u32] = &[600_000, 20_000];
    const FREE: &[u32] = &[600_000, 600_000];
    let locks = |waits| Some(Bottleneck::Locks { of: 0, boxes: 2, waits });
    assert_eq!(seen(&[BUSY, FREE], Some(100_000), Limit::Device), locks(100_000));
    assert_eq!(seen(&[FREE, FREE], Some(250_000), Limit::Device), locks(250_000));
    let at_a_lower_rate = seen(&[FREE, FREE], Some(250_000), Limit::Unknown);
    assert_eq!(at_a_lower_rate, Some(Bottleneck::Unknown), "nothing shows that the locks limit a rate");
    assert_eq!(seen(&[], Some(250_000), Limit::Device), locks(250_000));
    let left = Some(Bottleneck::Device { of: 0, boxes: 2 });
    assert_eq!(seen(&[BUSY, FREE], Some(99_999), Limit::Device), left);
    assert_eq!(seen(&[HALF, BUSY], Some(0), Limit::Device), Some(Bottleneck::Device { of: 1, boxes: 2 }));
    let hot = Some(Bottleneck::HotCore { of: 1, boxes: 2, core: "core 1".to_owned() });
    assert_eq!(seen(&[FREE, HALF], Some(0), Limit::Unknown), hot);
    assert_eq!(seen(&[FREE, FREE], Some(99_999), Limit::Device), Some(Bottleneck::Memory));
    assert_eq!(seen(&[FREE, FREE], None, Limit::Device), Some(Bottleneck::Contention));
    assert_eq!(seen(&[FREE, FREE], Some(0), Limit::Unknown), Some(Bottleneck::Unknown));
    assert_eq!(seen(&[BUSY], Some(500_000), Limit::Tester), Some(Bottleneck::Tester));
    assert_eq!(seen(&[], Some(0), Limit::Device), None, "few wait for locks, and no idle time was seen");
}

/// A core of which every second possible sample is one of the device is idle half of the time.
#[test]
fn a_profile_shows_idle_times_unless_other_work_shares_the_core() {
    let cores = [("core 1", 999), ("core 2", 0), ("core 3", 4_995)];
    let cores = cores.map(|(name, all)| (name.to_owned(), CoreSamples { all, waiting: 0 }));
    let time = Nanos::from_secs(10);
    let profile = Profile { frequency: 999, time, cores: cores.into(), ..Profile::default() };
    let loads = CoreLoads::of_profile(&profile).unwrap();
    assert_eq!(loads.cores.iter().map(|(_, idle)| *idle).collect::<Vec<_>>(), [900_000, 1_000_000, 500_000]);
    assert_eq!(CoreLoads::of_profile(&Profile { tester: 400, ..profile.clone() }), None);
    assert_eq!(CoreLoads::of_profile(&Profile { others: 400, ..profile.clone() }), None);
    assert_eq!(CoreLoads::of_profile(&Profile { time: Nanos(0), ..profile }), None);
}

/// A device of which a known share of the time waits for locks.
#[test]
fn the_share_of_time_that_waits_for_locks_is_measured() {
    let settings = settings();
    let profiled = |waiting, frequency| {
        let keys = Keys::of_table(Stacks { duration: Nanos::from_secs(10), frequency, rate: None });
        let point = Context::new(&LOCK_WAIT, &keys, &settings).with(phase2(1_000));
        let mut device = device(ControlTruth { waiting, ..ControlTruth::default() });
        Context { throughput: Some(Rate(1_000_000)), limit: Limit::Device, ..point }.measure(&mut device)
    };
    let result = profiled(Ratio::from_ppm(125_000), 1_000).unwrap();
    assert_eq!(result.evidence.bottleneck, Some(Bottleneck::Locks { of: 0, boxes: 1, waits: 125_000 }));
    assert_eq!((result.kind, result.rate), (ResultKind::Observed, Rate(125_000)));
    let profile = result.observed.profile.unwrap();
    assert_eq!(profile.samples(), CoreSamples { all: 10_000, waiting: 1_250 });
    assert_eq!(profile.functions(), [("forward", 8_750), ("spin_lock", 1_250)]);
    assert_eq!(profiled(Ratio::ZERO, 1_000).unwrap().rate, Rate(0));
    let error = profiled(Ratio::ZERO, 0).unwrap_err();
    assert!(matches!(error, TrialError::NotMeasurable(why) if why.contains("longer trial")));
}
