//! A point that was repeated because the null device changed has the later results and their null device, and the report says
//! that it was repeated.

use super::fixture::{self, Run, Truth};
use super::{report, text, whole_text};
use method::Rate;
use record::folder::NullDevice;
use record::report::result::PointResult;

/// The repeated point.
const CONNECTIONS: u64 = 1_000_000;
const CAPACITY: u64 = 2_000_000;

/// One visit to each point of the quick start. The null device changes by a third at the second one.
fn changed() -> Run {
    let mut run = fixture::quickstart();
    let points: Vec<u64> = run.header.scenario.sweep.connections.clone();
    let visit = |connections: u64| points.iter().position(|n| *n == connections).map(|at| at as u32 + 1);
    for outcome in &mut run.outcomes {
        (outcome.attempt, outcome.visit) = (Some(1), visit(outcome.measurement.point.connections));
    }
    for null in &mut run.nulls {
        null.visit = visit(null.point.connections);
    }
    for null in run.nulls.iter_mut().filter(|n| n.visit == Some(2) && !n.before) {
        let slower = |rate: Rate| rate.scaled(3, 4);
        (null.frames, null.set_up) = (slower(null.frames), null.set_up.map(slower));
    }
    run
}

/// The same run, whose second visit was repeated on a steady null device, and a slower device.
pub(super) fn repeated() -> Run {
    let mut run = changed();
    let measurements = run.header.plan.measurements.clone();
    for m in measurements.iter().filter(|m| m.point.connections == CONNECTIONS) {
        let first = run.trials.len();
        run.search(m, &Truth { capacity: CAPACITY, tester: 14_000_000, noise: 30 });
        run.trials[first..].iter_mut().for_each(|trial| trial.measurement = m.attempt_key(2));
        let outcome = run.outcomes.last_mut().unwrap();
        (outcome.attempt, outcome.visit) = (Some(2), Some(4));
    }
    let first = run.nulls.iter().find(|null| null.visit == Some(2)).unwrap().clone();
    run.nulls.extend([true, false].map(|before| NullDevice { before, visit: Some(4), ..first.clone() }));
    run
}

fn point(run: &Run) -> Vec<PointResult> {
    let results = report(run).results.into_iter();
    results.filter(|result| result.connections == CONNECTIONS).collect()
}

#[test]
fn the_later_results_and_their_null_device_count() {
    let (before, after) = (changed(), repeated());
    assert!(report(&before).doubts.iter().any(|doubt| doubt.starts_with("The null device changed by up to ")));
    assert!(!report(&after).doubts.iter().any(|doubt| doubt.starts_with("The null device changed ")));
    let report = report(&after);
    assert_eq!((report.measured, report.planned), (report.header.plan.measurements.len(), report.measured));
    for (old, new) in point(&before).iter().zip(&point(&after)) {
        let median = new.median().unwrap();
        assert!((median - CAPACITY as f64).abs() < CAPACITY as f64 / 20.0, "{median}");
        assert!(old.median() > new.median());
        assert_eq!((old.repetitions.len(), new.repetitions.len()), (5, 5));
        assert_eq!(new.null.iter().map(|null| null.visit).collect::<Vec<_>>(), [Some(4); 2]);
        assert!(new.loss.iter().all(|trial| trial.rate.0 <= 5 * CAPACITY), "trials of a replaced result");
    }
}

#[test]
fn the_verbose_text_and_the_page_say_how_many_points_were_repeated() {
    let says = "1 point was repeated, because the null device changed by more than 15 %.";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let run = repeated();
    let html = report(&run).render("html").unwrap();
    assert!(words(&whole_text(&run)).contains(says) && words(&html).contains(says));
    assert!(!words(&text(&run)).contains("repeated,"), "the short text has no room for it");
    assert!(!words(&whole_text(&changed())).contains("was repeated,"));
}
