//! Trends over runs whose changes are known.

use super::compared_runs::{compared, run};
use super::fixture;
use record::compare;
use record::trend::{Trend, TrendError, of_one_scenario, page, text, trend};
use record::versioned::{VersionedDocument, schema_of};

const SOFTWARE: &str = "software";

/// Runs of a device, each with the version and the rate in thousandths.
fn runs(versions: &[(&str, u64)]) -> Vec<compare::Run> {
    let mut scenario = fixture::simulated_scenario();
    scenario.sweep.connections.truncate(1);
    let of = |(number, (version, rate)): (usize, &(&str, u64))| {
        let mut run = run(scenario.clone(), number as u64 * 11, *rate);
        run.header.started = format!("2026-01-{:02}T10:00:00Z", number + 1);
        let software = [(SOFTWARE.to_owned(), (*version).to_owned())].into();
        run.facts.duts = [("simulated".to_owned(), software)].into();
        compared(&format!("runs/{:02}", number + 1), "", &run)
    };
    versions.iter().enumerate().map(of).collect()
}

fn slower_from_run_8() -> Trend {
    let mut versions = vec![("1.0", 1_000); 7];
    versions.extend([("1.1", 940); 7]);
    let mut runs = runs(&versions);
    runs.reverse();
    trend(&of_one_scenario(runs, None).unwrap())
}

#[test]
fn a_known_change_is_found_with_its_versions() {
    let trend = slower_from_run_8();
    assert_eq!((trend.series.len(), trend.runs.len()), (2, 14));
    for series in &trend.series {
        let [change] = &series.changes[..] else { panic!("{series:?}") };
        assert_eq!((change.before, change.after), (7, 8));
        let (low, high) = (change.difference.low.unwrap(), change.difference.high.unwrap());
        assert!(low < -6.0 && -6.0 < high && high < -4.0, "{change:?}");
        let [unlike] = &change.unlike[..] else { panic!("{change:?}") };
        assert_eq!(unlike.in_words(), "device simulated software: 1.1; reference: 1.0");
    }
}

#[test]
fn fewer_than_ten_runs_have_no_change_point() {
    let trend = trend(&runs(&[[("1.0", 1_000); 5].as_slice(), &[("1.1", 500); 4]].concat()));
    assert!(trend.series.iter().all(|series| series.values.len() == 9 && series.changes.is_empty()));
    assert!(text(&trend).contains("too few runs for change points"));
}

#[test]
fn the_text_lists_series_and_changes() {
    insta::assert_snapshot!(text(&slower_from_run_8()));
}

#[test]
fn the_page_has_a_figure_and_a_table_of_each_series_and_needs_nothing_else() {
    let trend = slower_from_run_8();
    let page = page(&trend);
    for (of, count) in [("<svg", 2), ("<table", 2), ("<tr", 2 * 15), ("software: 1.1; before: 1.0", 2)] {
        assert_eq!(page.matches(of).count(), count, "{of}");
    }
    assert!(trend.series.iter().all(|series| page.contains(&series.values[13].words)));
    assert!(!["<script", "href=", "src="].iter().any(|of| page.contains(of)), "a page alone");
}

#[test]
fn runs_of_several_scenarios_need_a_name() {
    let mut all = runs(&[("1.0", 1_000); 3]);
    all[2].report.header.scenario.name = "other".into();
    let message = |runs: &[compare::Run], name| of_one_scenario(runs.to_vec(), name).unwrap_err().to_string();
    assert_eq!(message(&all, None), "runs of other (1), quickstart (2): choose one of them with --scenario NAME");
    assert_eq!(message(&all, Some("x")), "no run of the scenario `x`: there are runs of other (1), quickstart (2)");
    assert_eq!(of_one_scenario(all.clone(), Some("quickstart")).unwrap().len(), 2);
    all[0].report.scenario_text = "about = \"x\"".into();
    let two = &all[..2];
    assert!(message(two, None).starts_with("the runs of `quickstart` have 2 different scenarios"));
    assert_eq!(of_one_scenario(two.to_vec(), Some("quickstart")).unwrap().len(), 2);
    assert_eq!(of_one_scenario(Vec::new(), None).unwrap_err(), TrendError::NoRun);
}

#[test]
fn a_trend_is_valid_by_its_schema() {
    let validator = jsonschema::draft202012::new(&schema_of::<Trend>("test")).unwrap();
    let document = serde_json::to_value(VersionedDocument::of(slower_from_run_8())).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}
