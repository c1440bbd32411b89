//! Bounds of rates: a report names the right cause, for the right results.

use super::fixture::{self, Run, Truth};
use super::{found_and_sure, host_decided, lossy, report, tester_limited, text, whole_text};
use method::search::{FlatLoss, NoRate};
use method::validity::Stream;
use method::{Direction, Fault, Invalid, Nanos, Rate, ResultKind};
use record::doubt::Doubt;
use record::folder::{Cost, Over, Spread};
use record::plan::Measurement;
use record::report::{Screen, number};
use scenario::Link;

#[test]
fn a_tester_limited_rate_is_never_printed_as_the_devices_own() {
    let report = report(&tester_limited());
    let limited: Vec<_> = report.results.iter().filter(|c| c.bound == ResultKind::TesterLimit).collect();
    assert_eq!(limited.len(), 2);
    assert!(limited.iter().all(|c| c.s_c.is_none()), "a lower bound has no known scale");
    // The ratios of all other results refer to the limited one, so they are unknown, too.
    assert!(report.results.iter().all(|c| c.s_c.is_none()));
    assert_eq!(text(&tester_limited()).matches("≥ 5.97 (").count(), 2);
    for rendered in [whole_text(&tester_limited()), report.render("html").unwrap()] {
        for cell in &limited {
            let median = record::report::table_value(cell);
            assert!(median.starts_with("≥ "), "{median}");
            assert!(rendered.contains(&median), "{rendered}");
        }
    }
    let said = "The tester was the limit (at 100 k connections): the rate is a lower bound. The device was the limit (at 1 M connections; at 4 M connections): the null device reaches \
                at least ";
    assert!(report.sentences[0].contains(said), "{}", report.sentences[0]);
}

/// 10 M failed, 5 M passed, and 7.5 M was never decided: the result is ≥ 5 M, not 5 M.
#[test]
fn a_search_that_the_host_ended_is_a_lower_bound_and_scales_in_no_known_way() {
    let mut run = fixture::quickstart();
    run.end(|m| m.point.connections == 100_000, ResultKind::Between, 5_000_000, 5_000_000);
    let report = report(&run);
    assert!(report.results.iter().all(|c| c.s_c.is_none()));
    let text = whole_text(&run);
    assert!(text.contains("≥ 5,000,000") && text.contains("between 5,000,000 and 10,000,000"), "{text}");
    let first = &report.sentences[0];
    assert!(first.contains("Searches ended early because of invalid trials (at 100 k connections)"), "{first}");
    assert!(first.contains("The device was the limit (at 1 M connections; at 4 M connections)"), "{first}");
}

#[test]
fn what_failed_is_printed_where_nothing_else_is_known() {
    let mut run = fixture::quickstart();
    run.end(|_| true, ResultKind::Below, 0, 2_500_000);
    let report = report(&run);
    assert!(report.results.iter().all(|c| c.summary.is_none() && record::report::table_value(c) == "< 2,500,000"));
    let first = &report.sentences[0];
    assert!(first.contains("is less than 2.5 M connections/s"), "{first}");
    assert!(!report.sentences.iter().any(|s| s.contains("device was the limit")), "{:?}", report.sentences);
}

/// Two repetitions have a rate; a third failed at half of it and has no valid trial below, which is its upper bound.
#[test]
fn a_repetition_that_failed_lower_than_all_others_counts_with_that_rate() {
    let mut run = fixture::quickstart();
    let first = run.outcomes[0].measurement.clone();
    let alike = |m: &Measurement| m.point == first.point && m.metric == first.metric;
    run.end(alike, ResultKind::Exact, 1_000_000, 10_000);
    run.end(|m| alike(m) && m.repetition == 1, ResultKind::Below, 0, 500_000);
    let report = report(&run);
    let cell = &report.results[0];
    let summary = cell.summary.unwrap();
    assert_eq!(
        (summary.min, cell.bound_of(summary.min).sign(), cell.bound_of(summary.max).sign()),
        (500_000.0, "< ", "")
    );
    let text = whole_text(&run);
    assert!(text.contains("< 500,000") && text.contains("the statistics use that rate"), "{text}");
    // One of two: the median is between an upper bound and a rate.
    let one = |below: u64| {
        let mut run = run.clone();
        run.end(|m| alike(m) && m.repetition == 1, ResultKind::Below, 0, below);
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
    assert!(whole_text(&run).contains("the queues in front of the device hold 1,048,576 frames"));
}

/// Its error is the whole range of the search, and says nothing about the others.
#[test]
fn a_repetition_that_measured_nothing_does_not_widen_the_error() {
    let mut run = fixture::quickstart();
    let before = report(&run).results[0].error;
    let first = run.outcomes[0].measurement.clone();
    run.end(|m| *m == first, ResultKind::NothingMeasured, 0, 19_000_000);
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
    let sentences = report.sentences;
    assert!(sentences[3].starts_with("iptables-nft: at least "), "{}", sentences[3]);
    assert!(sentences[3].ends_with("The tester was the limit: the rate is a lower bound."));
    assert!(sentences[..3].iter().all(|s| !s.contains("limit")), "{sentences:?}");
    let said = "The device was the limit (5 of 7 results): the null device reaches at least ";
    assert!(sentences[4].starts_with(said), "{}", sentences[4]);
}

#[test]
fn a_rate_that_the_validation_bounds_is_marked() {
    let mut run = fixture::quickstart();
    run.outcomes[0].result.validation_failed = true;
    let report = report(&run);
    assert!(report.doubts.iter().any(|d| d.starts_with("1 of 30 searches was limited by the validation")));
    let text = whole_text(&run);
    assert!(text.contains("limited by the validation in 1 of 5 repetitions"), "{text}");
}

/// A given rate above the upper end of all searches is not the rate of the trials.
#[test]
fn a_given_rate_that_no_trial_had_is_a_doubt() {
    let doubts = |max_rate: &str| {
        let file = format!(
            "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"10k\"\n[measure]\nrepetitions = 1\n\
             metrics = [\"throughput\", \"back_to_back_frames\"]\nphase1-rate = \"100k\"\nmax-rate = \"{max_rate}\"\n\
             [measure.back-to-back]\nrate = \"2M\"\n"
        );
        let run = Run::new(fixture::scenario(&file, &[])).measure(|_| Truth::steady(500_000));
        report(&run).doubts.into_iter().filter(|doubt| doubt.starts_with("The trials of")).collect::<Vec<_>>()
    };
    assert_eq!(
        doubts("1M"),
        [
            "The trials of back-to-back frames had 1,000,000 frames/s, not the 2,000,000 that the scenario gives: `max-rate` or \
          the tester allows no more."
        ]
    );
    assert_eq!(doubts("3M"), [""; 0]);
}

/// Near the tester ceiling, and near the null device, no rate is the device's.
#[test]
fn near_the_tester_ceiling_the_device_is_not_the_limit() {
    let mut run = fixture::quickstart();
    run.ceiling(Rate(8_000_000));
    let ceiling = report(&run);
    let first = found_and_sure(&ceiling);
    let said = "not shown: the rate is within 10 % of the tester ceiling (throughput at 100 k)";
    assert!(first.contains(said), "{first}");
    assert!(ceiling.doubts.iter().any(|d| d.starts_with("Above 90 % of the tester ceiling")));
    let mut run = fixture::quickstart();
    run.nulls.iter_mut().filter(|n| n.point.connections == 100_000).for_each(|n| n.frames = Rate(8_000_000));
    let first = found_and_sure(&report(&run));
    assert!(first.contains("This machine was the limit, not the device: the null device reaches 10"), "{first}");
    assert!(first.contains(" % of the rate; ") && first.contains(" % (throughput at 100 k)"), "{first}");
}

#[test]
fn a_null_device_that_changes_makes_its_point_doubtful() {
    let report = report(&host_decided());
    let doubt = "The null device changed by up to 70 % (throughput at 4 M); repeat on an idle machine.";
    assert!(report.doubts.iter().any(|d| d == doubt), "{:?}", report.doubts);
    let first = found_and_sure(&report);
    assert!(first.contains("This machine was the limit, not the device: "), "{first}");
    assert!(first.contains("the repetitions differ by 48 %; "), "{first}");
    assert!(first.contains("changed by 70 % (throughput at 1 M; throughput at 4 M)"), "{first}");
    assert!(first.contains("The device was the limit (4 of 6 results)"), "{first}");
    // Steady between before and after, but another rate than at the other points.
    let mut run = fixture::quickstart();
    run.nulls.iter_mut().filter(|n| n.point.connections == 100_000).for_each(|n| n.frames = n.frames.scaled(3, 2));
    let doubts = super::report(&run).doubts;
    assert!(doubts.iter().any(|d| d.contains("% (throughput at 100 k); repeat")), "{doubts:?}");
}

/// What a frame costs where nothing crosses cores, in nanoseconds.
fn one_thread(nanos: f64) -> Cost {
    let spread = Spread { median: nanos, low: nanos, high: nanos, least: nanos, n: 20 };
    Cost { cpu_ns_per_frame: None, paired_ratio: None, one_thread_ns_per_frame: Some(spread) }
}

/// What takes a piece of evidence away.
type Change<'a> = &'a dyn Fn(&mut fixture::Run);

/// Each condition of the sentence alone takes it away.
#[test]
fn the_device_was_the_limit_needs_all_of_its_evidence() {
    let said = |change: &dyn Fn(&mut fixture::Run)| {
        let mut run = fixture::cores();
        change(&mut run);
        found_and_sure(&report(&run))
    };
    assert!(said(&|_| ()).contains("The device was the limit: the null device reaches at least "));
    let none = said(&|run| run.nulls.clear());
    let without = "Nothing shows what device, machine and tester each take: no null device was measured.";
    assert!(none.contains(without), "{none}");
    assert!(!none.contains("the rate on one core"), "without the host's drift nothing is compared: {none}");
    let transferred = said(&|run| {
        // At 4 M frames/s in each direction a core has more than 100 ns for a frame; 1 is the device's own.
        run.outcomes.iter_mut().for_each(|outcome| outcome.cost = Some(one_thread(1.0)));
    });
    assert!(
        transferred.contains("This machine was the limit, not the device: ")
            && transferred.contains("of the time of a frame passes between cores"),
        "{transferred}"
    );
    let changes: [(&str, Change); 7] = [
        ("both before and after", &|run| run.nulls.retain(|null| null.before)),
        ("2 repetitions cannot show the spread", &|run| run.outcomes.retain(|o| o.measurement.repetition <= 2)),
        ("a search was one-sided", &|run| run.outcomes.iter_mut().for_each(|o| o.result.one_sided = true)),
        ("the self-test was inconclusive", &|run| {
            (run.self_test.checks[0].passed, run.self_test.checks[0].inconclusive) = (false, true);
        }),
        ("the self-test was skipped", &|run| run.facts.doubts.push(Doubt::SelfTestSkipped)),
        ("more than half of the trials were invalid", &|run| {
            run.outcomes.iter_mut().for_each(|o| o.result.invalid_repeats = o.result.trials);
        }),
        ("device and tester share a core", &|run| run.outcomes.iter_mut().for_each(|o| o.shares_core = true)),
    ];
    for (reason, change) in changes {
        let said = said(change);
        assert!(said.contains("Whether the device was the limit is not shown: ") && said.contains(reason), "{said}");
        assert!(!said.contains("The device was the limit") && !said.contains("the limit, not the device"), "{said}");
    }
    let simulated = Run::new(fixture::simulated_scenario()).measure(|_| Truth::steady(4_000_000));
    let said = report(&simulated).sentences[0].clone();
    assert!(said.contains("The simulated device was the limit."), "{said}");
}

/// Two ranges that overlap show no difference, and the drift of the null device widens them.
#[test]
fn ratios_have_intervals_and_overlapping_ones_show_no_difference() {
    let run = fixture::quickstart();
    let whole = report(&run);
    let last = whole.results.iter().find(|c| c.metric == "throughput" && c.connections == 4_000_000).unwrap();
    let (ratio, interval) = (last.s_c.unwrap(), last.s_c_interval.unwrap());
    let csv = whole.render("csv-long").unwrap();
    let of_csv = csv.lines().rfind(|line| line.contains(",scaling_over_connections,")).unwrap();
    assert!(of_csv.contains(&format!(",{},{},{},", interval.low, interval.high, interval.coverage)), "{of_csv}");
    assert!(interval.low < ratio && ratio < interval.high && interval.coverage == 0.875, "{interval:?}");
    let first = &whole.sentences[0];
    assert!(first.contains(" %, coverage 88 %) of the rate at 100 k connections"), "{first}");
    let mut drifted = run.clone();
    drifted.null_after(0.5);
    let wider = report(&drifted);
    let last = wider.results.iter().find(|c| c.metric == "throughput" && c.connections == 4_000_000).unwrap();
    assert!(last.s_c_interval.unwrap().contains(1.0));
    let said = &wider.sentences[0];
    assert!(said.contains(", no difference shown from the rate at 100 k connections"), "{said}");
    assert!(whole_text(&drifted).contains("the interval of S_C contains 1"));
    // Four repetitions are a range.
    let mut few = run;
    few.outcomes.retain(|o| o.measurement.repetition <= 4);
    let few_report = report(&few);
    assert!(few_report.results.iter().all(|c| c.s_c.is_none() && c.interval.unwrap().coverage == 0.875));
    let first = &few_report.sentences[0];
    assert!(first.contains("(range ") && !first.contains("of the rate at"), "{first}");
    assert!(whole_text(&few).contains("fewer than 5 repetitions have a rate"));
}

/// It is a finding, not a missing result.
#[test]
fn a_lossy_device_has_an_upper_bound_and_its_loss() {
    let report = report(&lossy());
    let first = &report.sentences[0];
    assert!(first.contains("the device loses 0.1 % at every rate tried; throughput < "), "{first}");
    assert!(!first.contains("Nothing was measured") && !first.contains("could not be measured"), "{first}");
    let lossy = report.results.iter().filter(|c| c.metric == "throughput");
    for cell in lossy {
        assert_eq!(record::report::table_value(cell), format!("< {}", number::grouped(cell.upper().unwrap().0)));
    }
    // Nothing else has a result.
    let mut alone = super::lossy();
    alone.outcomes.clear();
    alone.trials.retain(|t| t.measurement.contains("/throughput/"));
    let first = super::report(&alone).sentences[0].clone();
    assert!(first.starts_with("The device loses 0.1 % at every rate tried; throughput < "), "{first}");
    // Without a right frame there is no bound.
    alone.trials.iter_mut().for_each(|t| (t.outcome.forward.received, t.outcome.reverse.received) = (0, 0));
    assert!(super::report(&alone).results.iter().all(|cell| cell.upper().is_none()));
}

#[test]
fn the_upper_end_of_a_search_is_named() {
    let mut run = fixture::quickstart();
    run.outcomes.iter_mut().for_each(|o| o.result.kind = ResultKind::AtUpperLimit);
    let first = report(&run).sentences[0].clone();
    let tester = "90 % of the tester ceiling, the highest rate that natmeter tries, passed: the rate is a lower";
    assert!(first.contains(tester) && first.contains("At least 2.88 (2.86–2.91) M connections/s"), "{first}");
    run.header.scenario.measure.max_rate = Some(scenario::quantity::WrittenRate::Frames(7_600_000));
    let first = report(&run).sentences[0].clone();
    assert!(first.contains("The scenario's highest rate passed: the rate is a lower bound."), "{first}");
}

#[test]
fn without_calibration_the_null_device_still_counts() {
    let mut run = fixture::quickstart();
    run.ceiling(Rate(0));
    let first = report(&run).sentences[0].clone();
    assert!(first.contains("The device was the limit: the null device reaches at least "), "{first}");
}

/// A TAP's share of a rate is in no null device, so no report says anything about the device alone over a TAP.
#[test]
fn over_a_tap_nothing_is_said_about_the_device_alone() {
    let mut run = fixture::kernel();
    run.header.scenario.link = Link::Tap;
    run.nulls.clear();
    let told = report(&run).sentences.join(" ");
    assert!(told.contains("no null device was measured (a TAP has none)"), "{told}");
    assert!(!told.contains("evice was the limit") && !told.contains("of plain forwarding;"), "{told}");
    run.calibration.ceilings.iter_mut().for_each(|c| c.over = Over::Process);
    assert!(whole_text(&run).contains("Ceiling without the TAP"), "{}", whole_text(&run));
}

/// Establishment rates of one core and a throughput of two: each names its number of cores.
#[test]
fn every_figure_names_its_cores_if_they_vary() {
    let mut run = fixture::cores();
    for outcome in run.outcomes.iter_mut().filter(|o| o.measurement.point.cores > 1) {
        outcome.result.kind = ResultKind::NothingMeasured;
    }
    run.outcomes.retain(|o| o.measurement.metric == "throughput" || o.measurement.point.cores == 1);
    let first = report(&run).sentences[0].clone();
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
        let first = report(&run).sentences[0].clone();
        assert!(first.contains(&format!("{}.", reason.advice())), "{first}");
    }
}

/// It has neither a value nor an error, in any format.
#[test]
fn what_was_not_measured_has_no_figures() {
    let mut run = fixture::quickstart();
    run.end(|_| true, ResultKind::NothingMeasured, 0, 19_000_000);
    let report = report(&run);
    assert!(report.results.iter().all(|c| c.bound == ResultKind::NothingMeasured));
    let text = whole_text(&run);
    let errors = text.lines().filter(|line| line.starts_with("  error of the search  ") && !line.contains("minus"));
    assert!(errors.clone().all(|line| line.ends_with(" –")) && errors.count() > 1, "{text}");
    let csv = report.render("csv").unwrap();
    let value = |line: &str| line.split("connections,").nth(1)?.split(',').nth(1).map(str::to_owned);
    let is_empty = |line: &str| value(line).as_deref() == Some("") && line.contains("nothing-measured");
    let given: Vec<&str> = csv.lines().skip(1).filter(|line| !is_empty(line)).collect();
    assert!(given.is_empty(), "{given:#?}");
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
    let [one, two] = [1, 2].map(|n| whole_text(&with(n)));
    assert!(two.contains("2 workers, each in both directions") && two.contains("2 workers together, 100,000"), "{two}");
    assert!(!one.contains("workers together") && !one.contains("each in both directions"), "{one}");
    let queued = |n| report(&with(n)).results[0].queued;
    assert_eq!([1, 2].map(queued), [Some(1024), Some(2048)]);
}

/// A ratio has a rate for each direction; a column of another direction does not have that ratio.
#[test]
fn columns_of_different_directions_have_their_own_rates() {
    let text = "name = \"x\"\n[dut.embedded]\n[technology.nat44]\npool = \"198.19.0.1\"\n[sweep]\nconnections = \"100k\"\n\
        direction = [\"both\", \"forward\", \"1:10\"]\n[measure]\nmetrics = \"throughput\"\nphase1-rate = \"1M\"\nrepetitions = 2\n";
    let run = Run::new(fixture::scenario(text, &[])).measure(|_| Truth::steady(4_000_000));
    let mut report = report(&run);
    for result in &mut report.results {
        let direction = Direction::of_code(result.axes["direction"]).unwrap();
        (result.directions, result.direction_ratio) = (direction.count() as u32, direction.ratio());
    }
    let text = report.text(Screen { columns: 100, verbose: true });
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    let cells = |name: &str| row(name).split_whitespace().rev().take(3).collect::<Vec<_>>();
    assert!(row("Throughput, ").contains("per direction, of a ratio in the faster one"), "{text}");
    let [to_right, to_left] = ["median, left to right", "median, right to left"].map(cells);
    let medians = cells("  median");
    assert_eq!((to_right[1], to_left[1]), ("–", "–"), "{text}");
    assert_eq!((to_right[2], to_left[2], to_left[0]), (medians[2], medians[2], medians[0]), "{text}");
    assert!(to_right[0].len() < medians[0].len(), "{text}");
}

fn without_rate(repetitions: usize) -> Run {
    let mut run = fixture::quickstart();
    let (stream, fault) = (Stream::Reverse, Some(Fault::WrongPort));
    let [lowest, highest] = [Rate(1_000), Rate(500_000)];
    let flat = vec![FlatLoss { stream, fault, wrong: 20, sent: 1_000_000, lowest, highest, of_each_trial: None }];
    let is_of = |o: &&mut record::folder::Outcome| {
        o.measurement.metric == "throughput" && o.measurement.repetition as usize <= repetitions
    };
    for result in run.outcomes.iter_mut().filter(is_of).map(|o| &mut o.result) {
        (result.kind, result.rate, result.error) = (ResultKind::NoRate, Rate(0), Rate(0));
        result.evidence.no_rate = Some(NoRate::FlatLoss(flat.clone()));
    }
    run
}

/// Every format says why there is no rate, and none prints one.
#[test]
fn a_loss_that_no_rate_causes_leaves_no_figure() {
    let why = "20 ppm (13–31) of the frames right to left arrive with a wrong port at every rate from 1 k to 500 k/s";
    let report = report(&without_rate(5));
    let results = || report.results.iter().filter(|c| c.metric == "throughput");
    assert!(
        results().all(|c| c.summary.is_none() && record::report::table_value(c) == "no rate" && c.upper().is_none())
    );
    let first = &report.sentences[0];
    assert!(first.contains(&format!("no throughput: {why}")), "{first}");
    assert!(first.contains("`acceptance = \"99.99 %\"`, or a goal of MLRsearch with `loss = \"0.01 %\"`"), "{first}");
    for format in ["html", "text", "junit", "markdown"] {
        // Texts break lines.
        let rendered = report.render(format).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(rendered.contains(why), "{format}");
    }
    let csv = report.render("csv").unwrap();
    let lines: Vec<&str> = csv.lines().filter(|line| line.contains(",throughput,")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(",no-rate,,,,,,,,,,,,")), "{csv}");
    assert!(report.render("json").unwrap().contains("no-rate"));
}

/// The rates of the others are chance where half of the repetitions have none.
#[test]
fn half_of_the_repetitions_without_a_rate_leave_no_figure() {
    let report = report(&without_rate(3));
    let result = report.results.iter().find(|c| c.metric == "throughput").unwrap();
    assert_eq!((result.bound, result.summary.is_none()), (ResultKind::NoRate, true));
    assert!(report.sentences[0].contains("no throughput: 20 ppm"), "{}", report.sentences[0]);
}

/// A single repetition without a rate is named, and the others have the figure.
#[test]
fn one_repetition_without_a_rate_leaves_the_figure_of_the_others() {
    let report = report(&without_rate(1));
    let result = report.results.iter().find(|c| c.metric == "throughput").unwrap();
    assert_eq!((result.bound, result.summary.map(|s| s.n)), (ResultKind::Exact, Some(4)));
    let first = &report.sentences[0];
    assert!(first.contains("1 of 5 repetitions found no rate: 20 ppm"), "{first}");
}
