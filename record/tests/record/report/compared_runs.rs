//! Comparisons of runs whose differences are known.

use super::fixture::{self, Run, Truth};
use super::report;
use method::ResultKind;

use record::compare::threshold::{Condition, Meets, is_about, judge, sentence};
use record::compare::{self, Comparison, Finding, compare, text};
use record::versioned::{VersionedDocument, schema_of};
use scenario::Scenario;
use std::path::PathBuf;

/// A run that is compared, with this text of its scenario.
pub(super) fn compared(name: &str, text: &str, run: &Run) -> compare::Run {
    let mut report = report(run);
    text.clone_into(&mut report.scenario_text);
    compare::Run { folder: PathBuf::from(name), report }
}

/// A run of a device whose rates are so many thousandths of the usual ones.
pub(super) fn run(scenario: Scenario, seed: u64, thousandths: u64) -> Run {
    Run::new(scenario).seeded(seed).measure(|m| {
        let usual = if m.metric == "throughput" { 5_000_000 } else { 3_000_000 };
        Truth { capacity: usual * thousandths / 1_000, tester: 14_000_000, noise: 20 }
    })
}

fn differences(comparison: &Comparison) -> impl Iterator<Item = &compare::Difference> {
    comparison.points.iter().flat_map(|point| &point.values).filter_map(|value| value.difference.as_ref())
}

fn of_two(thousandths: u64, seed: u64) -> Comparison {
    let runs = [(seed, 1_000), (seed + 1, thousandths)]
        .map(|(seed, rate)| compared("run", "", &run(fixture::simulated_scenario(), seed, rate)));
    compare(&runs)
}

#[test]
fn a_known_difference_is_found_at_every_point() {
    for seed in 0..10 {
        for (thousandths, finding) in [(900, Finding::Lower), (1_150, Finding::Higher)] {
            let comparison = of_two(thousandths, seed * 7);
            assert_eq!(comparison.points.len(), 6);
            for difference in differences(&comparison) {
                let truth = thousandths as f64 / 10.0 - 100.0;
                let holds = difference.low.unwrap() <= truth && truth <= difference.high.unwrap();
                assert!(difference.finding == finding && holds, "seed {seed}, {truth} %: {difference:?}");
            }
        }
    }
}

/// Intervals of 96.8 % that errors of the searches widen exclude 0 in at most 3.2 % of all cases.
#[test]
fn equal_devices_seldom_differ() {
    let comparisons: Vec<Comparison> = (0..40).map(|seed| of_two(1_000, 1_000 + seed * 3)).collect();
    let findings: Vec<Finding> = comparisons.iter().flat_map(differences).map(|d| d.finding).collect();
    let alarms = findings.iter().filter(|finding| **finding != Finding::NoDifferenceShown).count();
    assert!(findings.len() == 240 && alarms <= 8, "{alarms} of {}", findings.len());
}

#[test]
fn bounds_and_missing_points_are_not_compared() {
    let reference = compared("a", "", &super::tester_limited());
    let other = compared("b", "", &super::unfinished());
    let comparison = compare(&[reference, other]);
    let at = |connections, metric: &str| {
        let point = comparison.points.iter().find(|p| p.connections == connections && p.metric == metric).unwrap();
        point.values.last().unwrap().difference.unwrap().finding
    };
    assert_eq!(at(100_000, "throughput"), Finding::Bounded);
    assert_eq!(at(4_000_000, "throughput"), Finding::NoValue);
    assert!(differences(&comparison).all(|d| d.finding.is_judged() == d.low.is_some()));
}

/// A tester whose null device became 20 % slower does not show that a device became 10 % slower.
#[test]
fn the_drift_of_the_null_device_widens_the_interval() {
    let reference = run(fixture::quickstart_scenario(), 1, 1_000);
    let mut slower = run(fixture::quickstart_scenario(), 2, 900);
    let difference = |other: &Run| {
        let comparison = compare(&[compared("a", "", &reference), compared("b", "", other)]);
        *differences(&comparison).next().unwrap()
    };
    let steady = difference(&slower);
    // The rates of the null device before and after the trials are 95 % and 93 % of the ceiling.
    assert!(steady.finding == Finding::Lower && (steady.drift_percent.unwrap() - 2.15).abs() < 0.01, "{steady:?}");
    for null in &mut slower.nulls {
        (null.frames, null.set_up) = (null.frames.scaled(8, 10), null.set_up.map(|rate| rate.scaled(8, 10)));
    }
    let drifting = difference(&slower);
    assert!(drifting.finding == Finding::NoDifferenceShown && drifting.drift_percent.unwrap() > 25.0, "{drifting:?}");
    assert_eq!(drifting.percent, steady.percent);
}

#[test]
fn too_few_repetitions_are_not_judged() {
    let mut scenario = fixture::simulated_scenario();
    scenario.measure.repetitions = 3.into();
    let runs = [1_000, 500].map(|rate| compared("run", "", &run(scenario.clone(), rate, rate)));
    let comparison = compare(&runs);
    for difference in differences(&comparison) {
        assert_eq!((difference.finding, difference.low), (Finding::TooFewRepetitions, None));
        assert!((difference.percent.unwrap() + 50.0).abs() < 2.0, "{difference:?}");
    }
}

/// Two releases of a device, an edited scenario and another kernel.
fn unlike() -> [compare::Run; 3] {
    let texts = [
        "name = \"quickstart\"\n[dut.simulated]\n[measure]\nerror = \"1 %\"\n",
        "name = \"quickstart\"\n[dut.simulated]\n[measure]\nerror = \"1 %\"\n",
        "name = \"other\"\n[dut.simulated]\nseed = 7\n[measure]\nerror = \"2 %\"\n",
    ];
    let mut scenario = fixture::simulated_scenario();
    scenario.sweep.connections.truncate(2);
    let mut runs = [(1, 1_000), (2, 940), (3, 1_000)].map(|(seed, rate)| run(scenario.clone(), seed, rate));
    runs[1].facts.tester.insert("kernel".into(), "6.13.0".into());
    runs[1].facts.tester.insert("load at the start".into(), "3.5".into());
    runs[2].header.version = "0.2.0".into();
    runs[2].header.rules = None;
    runs[2].header.scenario.name = "other".into();
    runs[2].outcomes.retain(|outcome| outcome.measurement.metric == "throughput");
    runs[2].header.plan.measurements.retain(|m| m.metric == "throughput");
    let names = ["runs/quickstart-1", "runs/quickstart-2", "runs/other-1"];
    let mut number = 0;
    runs.map(|run| {
        number += 1;
        compared(names[number - 1], texts[number - 1], &run)
    })
}

#[test]
fn unlike_conditions_are_named() {
    let comparison = compare(&unlike());
    let unlike: Vec<String> = comparison.unlike.iter().map(|u| format!("{} {}", u.run, u.in_words())).collect();
    assert_eq!(
        unlike,
        [
            "2 tester kernel: 6.13.0; reference: 6.12.0",
            "3 natmeter: 0.2.0; reference: 0.1.0",
            &format!("3 rules: not recorded; reference: {}", method::RULES),
            "3 scenario dut.simulated.seed: 7; reference: not given",
            "3 scenario measure.error: 2 %; reference: 1 %",
        ]
    );
}

fn in_words(runs: &[compare::Run]) -> Vec<String> {
    compare(runs).unlike.iter().map(compare::Unlike::in_words).collect()
}

/// The text of the scenario is the same: its options alone name what differs.
#[test]
fn scale_and_cell_are_conditions() {
    let mut scenario = fixture::simulated_scenario();
    let text = "name = \"quickstart\"\n[scale.small]\nconnections = \"100k\"\n";
    let reference = compared("a", text, &run(scenario.clone(), 1, 1_000));
    scenario.sweep.connections.truncate(1);
    let mut scaled = run(scenario, 2, 1_000);
    scaled.header.options.scale = Some("small".to_owned());
    scaled.header.options.cell = Some("2/3".parse().unwrap());
    assert_eq!(
        in_words(&[reference, compared("b", text, &scaled)]),
        ["scenario --cell: 2/3; reference: not given", "scenario --scale: small; reference: not given"]
    );
}

#[test]
fn scenarios_that_differ_in_no_key_are_a_condition_and_names_are_none() {
    let mut scenario = fixture::simulated_scenario();
    let reference = || compared("a", "", &run(fixture::simulated_scenario(), 1, 1_000));
    (scenario.name, scenario.about) = ("other".to_owned(), "another sentence".to_owned());
    assert_eq!(in_words(&[reference(), compared("b", "", &run(scenario.clone(), 2, 1_000))]), Vec::<String>::new());
    scenario.sweep.connections.truncate(1);
    assert_eq!(in_words(&[reference(), compared("b", "", &run(scenario, 2, 1_000))]), ["the scenarios differ"]);
}

#[test]
fn the_text_names_values_differences_and_conditions() {
    insta::assert_snapshot!(text(&compare(&unlike())));
}

/// The same run of a device with another name.
fn renamed(mut run: Run, name: &str) -> Run {
    for measurement in &mut run.header.plan.measurements {
        measurement.point.dut_name = name.into();
    }
    for outcome in &mut run.outcomes {
        outcome.measurement.point.dut_name = name.into();
    }
    run
}

/// Devices that are compared differ in their facts, whatever their names are.
#[test]
fn facts_of_devices_with_other_names_are_compared() {
    let with = |name: &str, software: &str, seed| {
        let mut run = renamed(run(fixture::simulated_scenario(), seed, 1_000), name);
        run.facts.duts = [(name.to_owned(), [("software".to_owned(), software.to_owned())].into())].into();
        compared(name, "", &run)
    };
    assert_eq!(
        in_words(&[with("old", "1.0", 1), with("new", "1.1", 2)]),
        ["device new (reference: old) software: 1.1; reference: 1.0"]
    );
}

#[test]
fn devices_of_one_run_are_named() {
    let mut reference = run(fixture::simulated_scenario(), 1, 1_000);
    let mut other = reference.clone();
    reference.facts.duts.insert("only here".to_owned(), [("software".to_owned(), "1.0".to_owned())].into());
    other.facts.duts.insert("only there".to_owned(), [("software".to_owned(), "1.0".to_owned())].into());
    assert_eq!(
        in_words(&[compared("a", "", &reference), compared("b", "", &other)]),
        ["device only there: measured; reference: not given", "device only here: not given; reference: measured"]
    );
}

#[test]
fn devices_with_other_names_are_matched_by_technology() {
    let mut other = fixture::simulated_scenario();
    let renamed = renamed(run(other.clone(), 2, 900), "new");
    other.name = "other".into();
    let comparison = compare(&[compared("a", "", &run(other, 1, 1_000)), compared("b", "", &renamed)]);
    assert_eq!((comparison.points.len(), differences(&comparison).count()), (6, 6));
    assert_eq!(comparison.points[0].values[1].device, "new");
}

#[test]
fn conditions_judge_intervals_and_what_bounds_allow() {
    let judged = |run: &Run, condition: &str| {
        let condition: Condition = condition.parse().unwrap();
        let report = report(run);
        let result = report.results.iter().find(|r| is_about(&condition, r) && r.connections == 100_000).unwrap();
        let meets = judge(&condition, result, None);
        assert_eq!(sentence(&condition, meets, result).is_none(), meets == Meets::No);
        meets
    };
    let exact = run(fixture::simulated_scenario(), 1, 1_000);
    assert_eq!(judged(&exact, "throughput < 4.8M"), Meets::No);
    assert_eq!(judged(&exact, "throughput < 5.2M"), Meets::Yes);
    // At least 5.9 M: more than 5 M, and perhaps more than 7 M.
    let bounded = super::tester_limited();
    assert_eq!(judged(&bounded, "throughput < 5M"), Meets::No);
    assert_eq!(judged(&bounded, "throughput < 7M"), Meets::Bounded);
    assert_eq!(judged(&bounded, "throughput > 5M"), Meets::Yes);
    let mut none = exact.clone();
    none.outcomes.clear();
    assert_eq!(judged(&none, "throughput < 4M"), Meets::NoValue);
    let mut upper = exact;
    for outcome in &mut upper.outcomes {
        (outcome.result.kind, outcome.result.error) = (ResultKind::Below, method::Rate(1_000_000));
    }
    assert_eq!(judged(&upper, "throughput < 2M"), Meets::Yes);
    assert_eq!(judged(&upper, "throughput < 900k"), Meets::Bounded);
}

#[test]
fn worse_is_the_side_of_the_metric() {
    let slower = of_two(900, 3);
    let difference = differences(&slower).next().unwrap();
    assert!(difference.is_worse_by(5.0, "throughput") && !difference.is_worse_by(12.0, "throughput"));
    assert!(!difference.is_worse_by(5.0, "latency_typical_forward"));
    assert!(
        procedure::metrics(procedure::ALL)
            .any(|metric| metric.key == "latency_typical_forward" && !metric.higher_is_better)
    );
}

#[test]
fn a_comparison_is_valid_by_its_schema() {
    let validator = jsonschema::draft202012::new(&schema_of::<Comparison>("test")).unwrap();
    let document = serde_json::to_value(VersionedDocument::of(compare(&unlike()))).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}
