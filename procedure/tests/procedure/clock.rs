//! The simulated clock: what trials take with the waits of a tester, and that long searches need no work for single frames.

use method::search::Phase2;
use method::simulated::{DutClock, Largest, SimulatedDut, Truth, Waits};
use method::trial::{Action, Disruption, Queries, Ramp, Stamps, WarmUp};
use method::{
    Direction, Load, Nanos, PhaseKind, Rate, Ratio, SearchSettings, TrialError, TrialOptions, TrialSpec, Trials,
};
use procedure::overload::{OVERLOAD_SCALABILITY, OverloadScalability};
use procedure::tear_down::{CONN_TEAR_DOWN_RATE, Emptying};
use procedure::{Context, Keys, throughput};

const WAITS: Waits = Waits {
    start_delay: Nanos::from_secs(2),
    drain: Nanos::from_secs(30),
    phase1_drain: Nanos::from_secs(500),
    settle: Nanos::from_secs(7_000),
};
const MONTH: Nanos = Nanos::from_secs(30 * 86_400);
const N: u64 = 10_000;

fn nothing(_: &TrialSpec, _: Nanos) -> Nanos {
    Nanos(0)
}

fn clocked(waits: Waits) -> DutClock<fn(&TrialSpec, Nanos) -> Nanos> {
    let truth = Truth::new(Rate(1_000_000), Rate(100_000));
    DutClock::new(SimulatedDut::new(truth, 1), waits, nothing, MONTH)
}

/// A second of data at 1,000 frames/s.
fn stateless(options: TrialOptions) -> TrialSpec {
    TrialSpec { options, ..TrialSpec::stateless(Rate(1_000), Load::For(Nanos::SECOND)) }
}

/// The same after a phase 1 of a second.
fn phase2(options: TrialOptions) -> TrialSpec {
    let phase1_rate = Some(Rate(N));
    TrialSpec { kind: PhaseKind::Established, connections: N, phase1_rate, ..stateless(options) }
}

fn seconds(spec: &TrialSpec) -> f64 {
    clocked(WAITS).run(spec).unwrap().wall.as_secs_f64()
}

#[test]
fn each_phase_has_its_waits() {
    let none = TrialOptions::default;
    assert_eq!(seconds(&stateless(none())), 7_000.0 + 2.0 + 1.0 + 30.0);
    assert_eq!(seconds(&phase2(none())), 7_000.0 + (2.0 + 1.0 + 500.0) + (2.0 + 1.0 + 30.0));
    assert_eq!(seconds(&TrialSpec { keep_table: true, ..phase2(none()) }), 7_000.0, "no table to keep");
    let establish = TrialSpec { kind: PhaseKind::Establish, load: Load::Frames(N), ..phase2(none()) };
    let establish = TrialSpec { rate: Rate(N), direction: Direction::Forward, ..establish };
    assert_eq!(seconds(&establish), 7_000.0 + 2.0 + 1.0 + 500.0);
    let validated = TrialSpec { validate_rate: Some(Rate(N / 2)), ..establish };
    assert_eq!(seconds(&validated), 7_000.0 + (2.0 + 1.0 + 500.0) + (2.0 + 2.0 + 30.0));
}

#[test]
fn options_take_their_time() {
    let data = 7_000.0 + 2.0 + 1.0 + 30.0;
    let warm_up = Some(WarmUp { duration: Nanos::from_secs(3), rate: None });
    assert_eq!(seconds(&stateless(TrialOptions { warm_up, ..TrialOptions::default() })), data + 2.0 + 3.0 + 500.0);
    let drain = Some(Nanos::from_secs(4));
    assert_eq!(seconds(&stateless(TrialOptions { drain, ..TrialOptions::default() })), data + 4.0);
    let queries = Queries { timeout: Nanos::SECOND, cached: Ratio::ZERO };
    let queries = TrialOptions { queries: Some(queries), ..TrialOptions::default() };
    let queries = TrialSpec { direction: Direction::Forward, ..stateless(queries) };
    assert_eq!(seconds(&queries), 7_000.0 + 1.0);
    assert_eq!(seconds(&TrialSpec { rate: Rate(2_000_000), ..queries }), 7_000.0 + 2.0, "an answer that is missing");
    let action = Some(Action { what: Disruption::Failover, at: Nanos(500_000_000) });
    let acted = phase2(TrialOptions { action, ..TrialOptions::default() });
    assert_eq!(seconds(&acted), data + 2.0 * (2.0 + 1.0 + 500.0), "a second phase 1 looks which connections survived");
}

/// 10,000 of a million entries a second, twenty times an empty table of 20 ms.
#[test]
fn emptying_a_table_takes_the_time_of_the_device() {
    let settings = SearchSettings { hi: Rate(1_000), ..SearchSettings::default() };
    let mut trials = clocked(Waits::default());
    let keys = Keys::of_table(Emptying { fills: 1, empty: 19 });
    let phase2 = Phase2 { connections: N, phase1_rate: Rate(N) };
    Context::new(&CONN_TEAR_DOWN_RATE, &keys, &settings).with(phase2).measure(&mut trials).unwrap();
    assert_eq!(trials.elapsed().0, 2 * Nanos::SECOND.0 + 10_000_000 + 20 * 20_000_000);
}

/// A billion stamps, and a ramp of a billion flows.
#[test]
fn a_trial_does_no_work_for_single_frames() {
    let mut trials = clocked(Waits::default());
    let day = Load::For(Nanos::from_secs(86_400));
    let stamps = Some(Stamps::All { timeout: None });
    let stamped = TrialSpec { load: day, ..stateless(TrialOptions { stamps, ..TrialOptions::default() }) };
    let stamped = TrialSpec { rate: Rate(100_000), ..stamped };
    assert!(trials.run(&stamped).unwrap().observed.delays.forward.is_some());
    let all = 2 * 86_400 * 100_000;
    assert_eq!(trials.largest(), Largest { frames: all, stamps: all });
    let ramp = Some(Ramp { flows: 1_000_000_000, interval: Nanos(1_000) });
    let outcome = trials.run(&stateless(TrialOptions { ramp, ..TrialOptions::default() })).unwrap();
    assert_eq!((outcome.wall.as_secs_f64().round(), outcome.forward.lost()), (1_001.0, 0));
}

/// A search for a few flows and one for a million that begin one after the other.
#[test]
fn searches_see_the_frames_that_they_asked_for() {
    let settings = SearchSettings { hi: Rate(4_000_000), duration: Nanos::SECOND, ..SearchSettings::default() };
    let all = Phase2 { connections: 1_000_000, phase1_rate: Rate(100_000) };
    let keys = Keys::of_table(OverloadScalability { flows: 1, interval: Some(Nanos(1_000)) });
    let context = Context::new(&OVERLOAD_SCALABILITY, &keys, &settings).with(all);
    let result = context.measure(&mut clocked(WAITS)).unwrap();
    assert_eq!(result.parts["overload_degradation"], 0);
}

#[test]
fn no_trial_begins_after_the_end() {
    let truth = Truth::new(Rate(1_000_000), Rate(100_000));
    let end = Nanos::from_secs(10_000);
    let before = |spec: &TrialSpec, alone: Nanos| Nanos(spec.connections + alone.0 / 2);
    let mut trials = DutClock::new(SimulatedDut::new(truth, 1), WAITS, before, end);
    let settings = SearchSettings { hi: Rate(4_000_000), ..SearchSettings::default() };
    let error = throughput::measure(&mut trials, &settings, None, &mut |_| ()).unwrap_err();
    assert_eq!((error, trials.elapsed()), (TrialError::Interrupted, end));
    let mut trials = DutClock::new(SimulatedDut::new(Truth::new(Rate(1), Rate(1)), 1), Waits::default(), before, end);
    let wall = trials.run(&TrialSpec { rate: Rate(1), ..stateless(TrialOptions::default()) }).unwrap().wall;
    assert_eq!(wall, Nanos(1_500_000_000), "what the device needs before a trial counts");
}
