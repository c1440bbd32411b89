//! Bounds of rates: a report names the right cause, for the right results.

use super::{fixture, report, tester_limited, text};
use method::validity::Stream;
use method::{Invalid, Nanos, Rate, ResultKind};
use record::folder::Over;
use scenario::Link;

#[test]
fn a_tester_limited_rate_is_never_printed_as_the_devices_own() {
    let report = report(&tester_limited());
    let limited: Vec<_> = report.results.iter().filter(|c| c.bound == ResultKind::TesterLimit).collect();
    assert_eq!(limited.len(), 2);
    assert!(limited.iter().all(|c| c.s_c.is_none()), "a lower bound has no known scale");
    // The ratios of all other results refer to the limited one, so they are unknown, too.
    assert!(report.results.iter().all(|c| c.s_c.is_none()));
    for format in ["text", "html"] {
        let rendered = report.render(format).unwrap();
        for cell in &limited {
            let median = record::report::table_value(cell);
            assert!(median.starts_with("≥ "), "{median}");
            assert!(rendered.contains(&median), "{format}");
        }
    }
    let said = "The tester was the limit (maximum connection establishment rate at 100 k on 1 core; throughput at 100 k \
                on 1 core): the rate is a lower bound. For the other results the device was the limit.";
    assert!(report.sentences()[0].ends_with(said), "{}", report.sentences()[0]);
}

/// 10 M failed, 5 M passed, and 7.5 M was never decided: the result is ≥ 5 M, not 5 M.
#[test]
fn a_search_that_the_host_ended_is_a_lower_bound_and_scales_in_no_known_way() {
    let mut run = fixture::quickstart();
    let smallest = |o: &&mut record::folder::Outcome| o.measurement.point.connections == 100_000;
    for outcome in run.outcomes.iter_mut().filter(smallest) {
        let result = &mut outcome.result;
        (result.kind, result.rate, result.error) = (ResultKind::Between, Rate(5_000_000), Rate(5_000_000));
    }
    let report = report(&run);
    assert!(report.results.iter().all(|c| c.s_c.is_none()));
    let text = report.render("text").unwrap();
    assert!(text.contains("≥ 5,000,000") && text.contains("between 5,000,000 and 10,000,000"), "{text}");
    let first = &report.sentences()[0];
    assert!(
        first
            .contains("Searches ended early because of invalid trials (maximum connection establishment rate at 100 k"),
        "{first}"
    );
    assert!(first.ends_with("For the other results the device was the limit."), "{first}");
}

#[test]
fn what_failed_is_printed_where_nothing_else_is_known() {
    let mut run = fixture::quickstart();
    for result in run.outcomes.iter_mut().map(|o| &mut o.result) {
        (result.kind, result.rate, result.error) = (ResultKind::Below, Rate(0), Rate(2_500_000));
    }
    let report = report(&run);
    assert!(report.results.iter().all(|c| c.summary.is_none() && record::report::table_value(c) == "< 2,500,000"));
    let first = &report.sentences()[0];
    assert!(first.contains("is less than 2.5 M connections/s"), "{first}");
    assert!(!report.sentences().iter().any(|s| s.contains("device was the limit")), "{:?}", report.sentences());
}

/// Two repetitions have a rate; a third failed at half of it and has no valid trial below, which is its upper bound.
#[test]
fn a_repetition_that_failed_lower_than_all_others_counts_with_that_rate() {
    let mut run = fixture::quickstart();
    let first = run.outcomes[0].measurement.clone();
    let alike =
        |o: &&mut record::folder::Outcome| o.measurement.point == first.point && o.measurement.metric == first.metric;
    for outcome in run.outcomes.iter_mut().filter(alike) {
        let result = &mut outcome.result;
        (result.kind, result.rate, result.error) = match outcome.measurement.repetition {
            1 => (ResultKind::Below, Rate(0), Rate(500_000)),
            _ => (ResultKind::Exact, Rate(1_000_000), Rate(10_000)),
        };
    }
    let report = report(&run);
    let cell = &report.results[0];
    let summary = cell.summary.unwrap();
    assert_eq!((summary.min, cell.sign(summary.min), cell.sign(summary.max)), (500_000.0, "< ", ""));
    let text = report.render("text").unwrap();
    assert!(text.contains("< 500,000") && text.contains("the statistics use that rate"), "{text}");
    // One of two: the median is between an upper bound and a rate.
    let one = |below: u64| {
        let mut run = run.clone();
        let mut mine = run.outcomes.iter_mut().filter(alike);
        let result = &mut mine.next().unwrap().result;
        (result.kind, result.rate, result.error) = (ResultKind::Below, Rate(0), Rate(below));
        super::report(&run).results[0].summary.unwrap().min
    };
    assert_eq!([one(400_000), one(2_000_000)], [400_000.0, 1_000_000.0], "what says nothing is left out");
}

/// A queue that empties during the drain makes a device look faster.
#[test]
fn the_effect_of_queues_is_a_remark() {
    let mut run = fixture::quickstart();
    let hidden = |run: &fixture::Run| {
        report(run).results.iter().map(|c| c.queued_excess(Nanos::from_millis(100))).collect::<Vec<_>>()
    };
    assert!(hidden(&run).iter().all(Option::is_none));
    run.trials.iter_mut().for_each(|t| t.outcome.host.dut_queue = Some(1 << 20));
    let cells = report(&run).results;
    for (cell, excess) in cells.iter().zip(hidden(&run)) {
        assert_eq!(excess.is_some(), cell.metric.ends_with("throughput"), "{}", cell.metric);
        assert!(excess.is_none_or(|fps| fps == 10.0 * f64::from(1 << 20)));
    }
    assert!(report(&run).render("text").unwrap().contains("the queues in front of the device hold 1,048,576 frames"));
}

/// Its error is the whole range of the search, and says nothing about the others.
#[test]
fn a_repetition_that_measured_nothing_does_not_widen_the_error() {
    let mut run = fixture::quickstart();
    let before = report(&run).results[0].error;
    let result = &mut run.outcomes[0].result;
    (result.kind, result.rate, result.error) = (ResultKind::NothingMeasured, Rate(0), Rate(19_000_000));
    assert!(report(&run).results[0].error <= before);
}

#[test]
fn the_limit_of_one_device_is_not_that_of_the_others() {
    let mut run = fixture::kernel();
    run.outcomes.iter_mut().for_each(|o| o.shares_core = false);
    run.outcomes
        .iter_mut()
        .filter(|o| o.measurement.point.dut == 3)
        .for_each(|o| o.result.kind = ResultKind::TesterLimit);
    let report = report(&run);
    let sentences = report.sentences();
    assert!(sentences[3].starts_with("iptables-nft: at least "), "{}", sentences[3]);
    assert!(sentences[3].ends_with("The tester was the limit: the rate is a lower bound."));
    assert!(sentences[..3].iter().all(|s| !s.contains("limit")), "{sentences:?}");
    assert!(
        sentences[4].starts_with("For the other results the device was the limit; the tester ceiling is "),
        "{}",
        sentences[4]
    );
}

#[test]
fn a_rate_that_the_validation_bounds_is_marked() {
    let mut run = fixture::quickstart();
    run.outcomes[0].result.validation_failed = true;
    let report = report(&run);
    assert!(report.doubts.iter().any(|d| d.starts_with("1 of 18 searches was limited by the validation")));
    let text = report.render("text").unwrap();
    assert!(text.contains("limited by the validation in 1 of 3 repetitions"), "{text}");
}

#[test]
fn near_the_tester_ceiling_the_device_is_not_the_limit() {
    let mut run = fixture::quickstart();
    run.ceiling(Rate(8_000_000));
    let report = report(&run);
    assert!(report.sentences()[0].contains("within 10 % of the tester ceiling"), "{}", report.sentences()[0]);
    assert!(!report.sentences()[0].contains("times each rate"));
    assert!(report.doubts.iter().any(|d| d.starts_with("Above 90 % of the tester ceiling")));
}

#[test]
fn the_upper_end_of_a_search_is_named() {
    let mut run = fixture::quickstart();
    run.outcomes.iter_mut().for_each(|o| o.result.kind = ResultKind::AtUpperLimit);
    let first = report(&run).sentences()[0].clone();
    let tester = "90 % of the tester ceiling, the highest rate that natmeter tries, passed: the rate is a lower";
    assert!(first.contains(tester) && first.contains("At least 2.8 M connections/s"), "{first}");
    run.header.scenario.measure.max_rate = Some(scenario::quantity::WrittenRate::Frames(7_600_000));
    let first = report(&run).sentences()[0].clone();
    assert!(first.contains("The scenario's highest rate passed: the rate is a lower bound."), "{first}");
}

#[test]
fn without_calibration_nothing_is_said_about_the_tester() {
    let mut run = fixture::quickstart();
    run.ceiling(Rate(0));
    let first = report(&run).sentences()[0].clone();
    assert!(first.ends_with("the tester ceiling was not calibrated."), "{first}");
}

/// A TAP's share of a rate is in no calibrated ceiling, so no report states headroom over a TAP.
#[test]
fn over_a_tap_or_a_ceiling_of_another_link_no_headroom_is_stated() {
    let mut run = fixture::kernel();
    let headroom = |text: &str| text.contains("times each rate") || text.contains("the tester alone reaches");
    assert!(report(&run).sentences().iter().any(|s| headroom(s)), "{:?}", report(&run).sentences());
    run.calibration.ceilings.iter_mut().for_each(|c| c.over = Over::Process);
    let told = report(&run).sentences().to_vec();
    assert!(
        !told.iter().any(|s| headroom(s)) && told.iter().any(|s| s.contains("whose ceiling was not calibrated")),
        "{told:?}"
    );
    run.header.scenario.link = Link::Tap;
    let told = report(&run).sentences().to_vec();
    assert!(
        !told.iter().any(|s| headroom(s)) && told.iter().any(|s| s.contains("whose ceiling was not calibrated")),
        "{told:?}"
    );
    assert!(text(&run).contains("Ceiling without the TAP"), "{}", text(&run));
}

/// Establishment rates of one core and a throughput of two: each names its number of cores.
#[test]
fn every_figure_names_its_cores_if_they_vary() {
    let mut run = fixture::cores();
    for outcome in run.outcomes.iter_mut().filter(|o| o.measurement.point.cores > 1) {
        outcome.result.kind = ResultKind::NothingMeasured;
    }
    run.outcomes.retain(|o| o.measurement.metric == "throughput" || o.measurement.point.cores == 1);
    let first = report(&run).sentences()[0].clone();
    assert!(first.contains("could not be measured on "), "{first}");
    assert!(first.contains(" on 1 core"), "{first}");
}

/// A quiet host does not help if the tester invalidated the trials.
#[test]
fn advice_follows_from_the_cause_of_invalid_trials() {
    let stall = Invalid::HostStall { of_dut: true, stall: Nanos(4_000_000), queue_lasts: None };
    let late = Invalid::SenderLate { stream: Stream::Forward, late: Nanos(400_000), limit: Nanos(100_000) };
    for (reason, kind) in [stall, late].into_iter().zip([ResultKind::NothingMeasured, ResultKind::Below]) {
        let mut run = fixture::quickstart();
        for result in run.outcomes.iter_mut().map(|o| &mut o.result) {
            (result.kind, result.rate, result.tester_limit) = (kind, Rate(0), Some(reason));
        }
        let first = report(&run).sentences()[0].clone();
        assert!(first.ends_with(&format!("{}.", reason.advice())), "{first}");
    }
}

/// It has neither a value nor an error, in any format.
#[test]
fn what_was_not_measured_has_no_figures() {
    let mut run = fixture::quickstart();
    for result in run.outcomes.iter_mut().map(|o| &mut o.result) {
        (result.kind, result.rate, result.error) = (ResultKind::NothingMeasured, Rate(0), Rate(19_000_000));
    }
    let report = report(&run);
    assert!(report.results.iter().all(|c| c.bound == ResultKind::NothingMeasured));
    let text = report.render("text").unwrap();
    let errors = text.lines().filter(|line| line.starts_with("  error of the search  ") && !line.contains("minus"));
    assert!(errors.clone().all(|line| line.ends_with(" –")) && errors.count() > 1, "{text}");
    let csv = report.render("csv").unwrap();
    assert!(csv.lines().skip(1).all(|line| line.contains(",,,") && line.contains("nothing-measured")), "{csv}");
    assert!(!csv.contains(",0,0,") && !csv.contains("19000000"), "{csv}");
}

/// Conditions and ceiling name several workers of the tester; each worker has its own queues in front of the device.
#[test]
fn several_workers_of_the_tester_are_named() {
    let with = |workers: u32| {
        let mut run = fixture::quickstart();
        run.header.scenario.tester.workers = workers;
        run.calibration.ceilings.iter_mut().for_each(|c| c.workers = workers);
        run.trials.iter_mut().for_each(|t| t.outcome.host.dut_queue = Some(1024));
        run
    };
    let [one, two] = [1, 2].map(|n| text(&with(n)));
    assert!(two.contains("2 workers, each in both directions") && two.contains("2 workers together, 100,000"), "{two}");
    assert!(!one.contains("workers together") && !one.contains("each in both directions"), "{one}");
    let queued = |n| report(&with(n)).results[0].queued;
    assert_eq!([1, 2].map(queued), [Some(1024), Some(2048)]);
}
