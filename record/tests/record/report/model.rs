//! Reports of series: the fit of a known law, its words and its curve, and series to which nothing is fitted.

use super::fixture::{self, Run, Truth};
use super::{report, snapshots, whole_text};
use method::model::Refusal;
use method::model::cores::Law;
use method::model::sessions::Shape;
use record::report::model::{Along, SeriesModel};
use scenario::Sweep;

/// One series of throughputs.
fn run(connections: Vec<u64>, cores: Vec<u32>, repetitions: u32, capacity: impl Fn(f64, f64) -> f64) -> Run {
    let mut scenario = fixture::quickstart_scenario();
    scenario.name = "series".into();
    scenario.sweep = Sweep { connections, cores: cores.into(), exclude: Vec::new() };
    scenario.measure.metrics = vec!["throughput".into()];
    scenario.measure.repetitions = repetitions.into();
    Run::new(scenario).measure(|m| Truth {
        capacity: capacity(m.point.connections as f64, m.point.cores.into()) as u64,
        tester: 40_000_000,
        noise: 4,
    })
}

/// A contention of 5 %.
fn over_cores() -> Run {
    run(vec![100_000], vec![1, 2, 4, 8, 16], 6, |_, n| 1e6 * n / (1.0 + 0.05 * (n - 1.0)))
}

/// A step to 60 % between 1 M and 4 M connections.
fn over_connections() -> Run {
    let at = vec![10_000, 100_000, 1_000_000, 4_000_000, 16_000_000];
    run(at, vec![1], 6, |n, _| if n < 2e6 { 5e6 } else { 3e6 })
}

#[test]
fn a_law_over_cores_is_recovered_and_said() {
    let run = over_cores();
    let report = report(&run);
    let [model] = &report.models[..] else { panic!("one series: {:?}", report.models) };
    let SeriesModel::Cores(fitted) = &model.outcome else { panic!("{model:?}") };
    assert_eq!(fitted.preferred, Law::Amdahl);
    assert!((fitted.fit().contention.value - 0.05).abs() < 0.005, "{fitted:?}");
    let result = &report.results[0];
    let curve = report.fitted_curve(result, Along::Cores).unwrap();
    assert_eq!((curve[0].0, curve[curve.len() - 1].0), (1.0, 16.0));
    assert!((curve[0].1 / 1e6 - 1.0).abs() < 0.02, "{curve:?}");
    assert_eq!(report.fitted_curve(result, Along::Connections), None);
    let said = report.sentences.iter().find(|s| s.contains("Amdahl's law")).unwrap();
    assert!(said.contains("over cores") && said.contains("extrapolated beyond the 16 cores measured"), "{said}");
}

#[test]
fn a_step_over_connections_is_recovered_and_said() {
    let report = report(&over_connections());
    let [model] = &report.models[..] else { panic!("one series: {:?}", report.models) };
    let SeriesModel::Connections(fitted) = &model.outcome else { panic!("{model:?}") };
    assert_eq!((fitted.shape, fitted.steps.len()), (Shape::Steps, 1));
    assert_eq!((fitted.steps[0].after, fitted.steps[0].until), (1e6, 4e6));
    let said = report.sentences.join("\n");
    assert!(said.contains("a step between 1 M and 4 M connections to"), "{said}");
}

#[test]
fn nothing_is_fitted_to_three_points_and_the_report_says_so() {
    let run = fixture::quickstart();
    let report = report(&run);
    assert!(!report.models.is_empty());
    assert!(report.models.iter().all(|m| m.outcome == SeriesModel::Refused(Refusal::TooFewPoints { points: 3 })));
    assert!(whole_text(&run).contains("Series without a fit"));
    assert!(!report.sentences.iter().any(|s| s.contains("fit")), "{:?}", report.sentences);
}

#[test]
fn no_steps_are_fitted_to_two_repetitions_and_the_report_says_so() {
    let run = run(vec![10_000, 100_000, 1_000_000, 4_000_000], vec![1], 2, |n, _| if n < 2e6 { 5e6 } else { 3e6 });
    let report = report(&run);
    assert!(report.models.iter().all(|m| m.outcome == SeriesModel::Refused(Refusal::TooFewRepetitions)));
    let text = whole_text(&run).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("1 series: a point has fewer than 3 repetitions"), "{text}");
}

#[test]
fn points_that_the_tester_limits_are_left_out() {
    let mut run = over_cores();
    for outcome in run.outcomes.iter_mut().filter(|o| o.measurement.point.cores == 16) {
        outcome.result.kind = method::ResultKind::TesterLimit;
    }
    let report = report(&run);
    let [model] = &report.models[..] else { panic!("one series") };
    assert_eq!((&model.points[..], model.left_out[0].at), (&[1, 2, 4, 8][..], 16));
    assert!(matches!(model.outcome, SeriesModel::Cores(_)));
}

#[test]
fn models_read_well() {
    snapshots(|| {
        for (name, run) in [("model_cores", over_cores()), ("model_connections", over_connections())] {
            insta::assert_snapshot!(name, whole_text(&run));
        }
    });
}
