//! Sizings of runs with known limits.

use super::fixture::{self, Run, Truth};
use super::{report, snapshots, softwires};
use record::report::sizing::SIZING_FORMATS;
use record::size::demand::Demand;
use record::size::{Choice, LimitKind, Sizing};
use record::versioned::{FORMAT_VERSION, schema_of};
use scenario::Sweep;

/// 1 M sessions, 5 k new sessions/s, 3.57 Mfps.
const DEMAND: Demand =
    Demand { subscribers: 1e4, sessions: 100.0, new_sessions: 0.5, mbit: 2.0, packet_size: 700.0, headroom: 0.3 };

/// A device that forwards 1.5 Mfps and sets up 200 k sessions/s with each core, and 2 Mfps with 1 M connections.
fn run(metrics: &[&str]) -> Run {
    let mut scenario = fixture::quickstart_scenario();
    scenario.sweep =
        Sweep { connections: vec![1_000_000, 4_000_000], cores: vec![1, 2, 4].into(), exclude: Vec::new() };
    scenario.measure.metrics = metrics.iter().map(|&metric| metric.into()).collect();
    scenario.measure.repetitions = 5.into();
    Run::new(scenario).measure(|m| {
        let few = m.point.connections == 1_000_000;
        let each = if m.metric != "throughput" {
            200_000
        } else if few {
            2_000_000
        } else {
            1_500_000
        };
        Truth { capacity: each * u64::from(m.point.cores), tester: 40_000_000, noise: 10 }
    })
}

fn both() -> Run {
    run(&["max_conn_est_rate", "throughput"])
}

fn sizing(demand: Demand, run: &Run) -> Sizing {
    Sizing::of(demand, &[report(run)])
}

fn chosen(demand: Demand, run: &Run) -> Choice {
    let sizing = sizing(demand, run);
    assert_eq!(sizing.devices.len(), 1);
    sizing.devices[0].options[0].clone()
}

fn near(value: f64, truth: f64) -> bool {
    (value / truth - 1.0).abs() < 0.03
}

#[test]
fn the_fewest_cores_of_one_device_suffice_with_headroom() {
    let choice = chosen(DEMAND, &both());
    // 1 M sessions with 30 % headroom need the point with 4 M; 5.1 Mfps need 4 cores of 1.5 Mfps.
    assert_eq!((choice.devices, choice.cores, choice.connections), (1, Some(4), 4_000_000));
    assert_eq!(choice.binding, Some(LimitKind::Both));
    // And 5 k of 800 k set-ups/s.
    assert!(near(choice.headroom.unwrap(), 1.0 - 3.571 / 5.97 - 5.0 / 796.0), "{choice:?}");
    let table = choice.limits.iter().find(|limit| limit.kind == LimitKind::Table).unwrap();
    assert_eq!((table.needed, table.load), (1e6, 0.25));
    // 1 M sessions at 800 k/s.
    let restart = choice.restart.unwrap();
    let seconds = restart.seconds.unwrap();
    assert!(near(seconds.value, 1.25) && seconds.low <= seconds.value && seconds.value <= seconds.high, "{seconds:?}");
    assert_eq!((restart.sessions, choice.missing), (1e6, vec![LimitKind::Memory]));
}

#[test]
fn several_devices_share_what_one_cannot_do() {
    let choice = chosen(Demand { subscribers: 1e5, ..DEMAND }, &both());
    // 51 Mfps of 8 Mfps a device with 1 M connections, but 14.3 M sessions: 15 devices. With 4 M: 9 devices of 6 Mfps.
    assert_eq!((choice.devices, choice.cores, choice.connections), (9, Some(4), 4_000_000));
    assert!(choice.limits.iter().all(|limit| limit.load <= 0.7 + 1e-9), "{choice:?}");
}

#[test]
fn each_limit_can_bind() {
    let binding = |demand| chosen(demand, &both()).binding;
    assert_eq!(binding(Demand { new_sessions: 50.0, mbit: 0.1, ..DEMAND }), Some(LimitKind::Both));
    assert_eq!(binding(Demand { sessions: 250.0, mbit: 0.1, ..DEMAND }), Some(LimitKind::Table));
    assert_eq!(chosen(DEMAND, &run(&["throughput"])).binding, Some(LimitKind::Throughput));
    assert_eq!(
        chosen(Demand { new_sessions: 50.0, ..DEMAND }, &run(&["max_conn_est_rate"])).binding,
        Some(LimitKind::SetUpRate)
    );
}

/// 68 % of the throughput and 69 % of the set-up rate are more than one device does at once.
#[test]
fn the_loads_of_throughput_and_set_ups_add() {
    let choice = chosen(Demand { sessions: 200.0, new_sessions: 55.0, mbit: 2.28, ..DEMAND }, &both());
    let load = |kind| choice.limits.iter().find(|limit| limit.kind == kind).unwrap().load;
    let [throughput, set_up, both] = [LimitKind::Throughput, LimitKind::SetUpRate, LimitKind::Both].map(load);
    assert!(near(throughput * 2.0, 0.68) && near(set_up * 2.0, 0.69), "{throughput} {set_up}");
    assert!((both - throughput - set_up).abs() < 1e-9, "{both}");
    assert_eq!((choice.devices, choice.binding), (2, Some(LimitKind::Both)));
    assert!(near(choice.headroom.unwrap(), 1.0 - both), "{choice:?}");
}

#[test]
fn nothing_is_said_beyond_the_measured_sessions() {
    let choice = chosen(Demand { sessions: 1_000.0, mbit: 0.1, ..DEMAND }, &both());
    // 14.3 M sessions of 4 M a device.
    assert_eq!((choice.devices, choice.binding), (4, Some(LimitKind::Table)));
}

#[test]
fn a_limit_that_was_not_measured_is_named() {
    let run = run(&["throughput"]);
    let choice = chosen(DEMAND, &run);
    assert_eq!(choice.missing, [LimitKind::SetUpRate, LimitKind::Memory]);
    assert_eq!(choice.restart.unwrap().seconds, None);
    let text = SIZING_FORMATS[0].render(&sizing(DEMAND, &run), 80);
    assert!(text.contains("Not measured: set-up rate, memory of a session."), "{text}");
}

#[test]
fn a_device_without_sessions_is_limited_by_its_subscribers() {
    let sizing = sizing(DEMAND, &softwires());
    let choice = &sizing.devices[0].options[0];
    assert_eq!((choice.restart, choice.connections), (None, 0));
    assert!(choice.subscribers as f64 * choice.devices as f64 * 0.7 >= 1e4, "{choice:?}");
    assert!(choice.limits.iter().any(|limit| limit.kind == LimitKind::Subscribers), "{choice:?}");
    assert!(!choice.missing.contains(&LimitKind::SetUpRate));
}

#[test]
fn a_run_without_rates_has_no_choice() {
    let mut run = both();
    run.outcomes.clear();
    let sizing = sizing(DEMAND, &run);
    assert!(sizing.devices[0].options.is_empty());
    let text = SIZING_FORMATS[0].render(&sizing, 80);
    assert!(text.contains("Neither throughput nor set-up rate was measured."), "{text}");
}

#[test]
fn formats_are_readable_and_valid() {
    let sizing = Sizing::of(DEMAND, &[report(&both()), report(&softwires())]);
    let of = |name: &str| SIZING_FORMATS.iter().find(|format| format.name == name).unwrap().render(&sizing, 80);
    assert!(of("text").lines().all(|line| line.chars().count() <= 80), "{}", of("text"));
    let document: serde_json::Value = serde_json::from_str(&of("json")).unwrap();
    let schema = jsonschema::draft202012::new(&schema_of::<Sizing>("sizing")).unwrap_or_else(|e| panic!("{e}"));
    assert!(schema.is_valid(&document));
    assert_eq!(document["format_version"], FORMAT_VERSION);
    let page = of("html");
    assert!(page.contains("<h1>Sizing</h1>") && page.ends_with("</html>\n"));
    snapshots(|| insta::assert_snapshot!("size", of("text")));
}
