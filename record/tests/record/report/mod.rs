//! Reports of example run folders, word for word; and the same folder always gives the same bytes.

mod bottleneck;
mod bounds;
mod browser;
mod compare;
mod compared_runs;
mod fixture;
mod formats;
mod memory;
mod model;
mod openmetrics;
mod page;
mod repeated;
mod schema;
mod size;
mod toy_device;
mod trend;

use fixture::{Run, Truth};
use method::trial::Fault;
use method::{Nanos, Rate, ResultKind, StepVerdict, StoreFacts};
use record::audit::{Audit, Basis};
use record::folder::{BUILD, CONNTRACK_TABLE_SIZE, HASH_TABLE_SIZE, TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use record::printable::is_hidden;
use record::report::result::SureWord;
use record::report::{KNOWN, Report, Screen};
use scenario::{Options, Sweep, parse};
use std::collections::BTreeSet;

fn report(run: &Run) -> Report {
    let audit = Audit { basis: Basis::DerivedAgain, findings: Vec::new() };
    Report::of(run.record(), audit)
}

/// The first sentence, and that on how sure the run is.
fn found_and_sure(report: &Report) -> String {
    let sure = report.sentences.iter().find(|said| said.starts_with("How sure: ")).unwrap();
    format!("{} {sure}", report.sentences[0])
}

fn text(run: &Run) -> String {
    report(run).render("text").unwrap()
}

/// Everything in words.
fn whole_text(run: &Run) -> String {
    report(run).text(Screen { columns: 100, verbose: true })
}

/// Compares snapshots whose file names are the names of their cases.
fn snapshots(compare: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(compare);
}

/// All example runs, including cases that need a caveat.
fn examples() -> Vec<(&'static str, Run)> {
    vec![
        ("quickstart", fixture::quickstart()),
        ("kernel", fixture::kernel()),
        ("cores", fixture::cores()),
        ("tester_limited", tester_limited()),
        ("nothing_passed", nothing_passed()),
        ("closed_loop", closed_loop()),
        ("unfinished", unfinished()),
        ("conforming", conforming()),
        ("kernel_sweep", kernel_sweep()),
        ("matrix", matrix()),
        ("softwires", softwires()),
        ("lossy", lossy()),
        ("host_decided", host_decided()),
    ]
}

/// A device that loses one frame of a thousand at every rate, until the time limit ends the searches of throughput.
fn lossy() -> Run {
    let mut run = fixture::quickstart();
    run.outcomes.retain(|o| o.measurement.metric != "throughput");
    run.trials.retain(|t| !t.measurement.contains("/throughput/") || t.measurement.ends_with("/1"));
    for trial in run.trials.iter_mut().filter(|t| t.measurement.contains("/throughput/")) {
        let lossy = trial.outcome.forward.sent - trial.outcome.forward.sent / 1_000;
        (trial.outcome.forward.received, trial.outcome.reverse.received) = (lossy, lossy);
        trial.verdict = fixture::fail(trial.outcome.forward.sent, lossy);
    }
    run
}

/// The null device slowed down during the trials of one point, and the repetitions of another spread.
fn host_decided() -> Run {
    let mut run = fixture::quickstart();
    for null in run.nulls.iter_mut().filter(|null| !null.before && null.point.connections == 4_000_000) {
        null.frames = null.frames.scaled(6, 10);
    }
    let spread = |o: &&mut record::folder::Outcome| {
        o.measurement.metric == "throughput" && o.measurement.point.connections == 1_000_000
    };
    for (i, outcome) in run.outcomes.iter_mut().filter(spread).enumerate() {
        outcome.result.rate = Rate(outcome.result.rate.0 * (10 - i as u64) / 10);
    }
    run
}

fn tester_limited() -> Run {
    Run::new(fixture::quickstart_scenario()).measure(|m| {
        let few = m.point.connections == 100_000;
        let tester = if few { 6_000_000 } else { 14_000_000 };
        Truth { capacity: if few { 7_600_000 } else { 4_600_000 }, tester, noise: 30 }
    })
}

fn nothing_passed() -> Run {
    let mut run = fixture::quickstart();
    for outcome in run.outcomes.iter_mut().filter(|o| o.measurement.point.connections == 4_000_000) {
        let result = &mut outcome.result;
        (result.rate, result.kind) = (Rate(0), ResultKind::NothingPassed);
        result.trace = (0..9).map(|i| fixture::step_of(1_000_000 >> i, StepVerdict::Fail)).collect();
    }
    run
}

fn closed_loop() -> Run {
    let mut run = fixture::kernel();
    run.outcomes.iter_mut().for_each(|o| o.result.closed_loop = true);
    run.outcomes[4].result.one_sided = true;
    run.outcomes[5].result.phase1_lost = 12;
    run.inject(Fault::WrongPort, 3);
    run.inject(Fault::Foreign, 5);
    run
}

fn unfinished() -> Run {
    let mut run = fixture::quickstart();
    run.outcomes.truncate(7);
    run.trials.truncate(70);
    run
}

fn conforming() -> Run {
    let mut scenario = fixture::quickstart_scenario();
    scenario.full = true;
    scenario.measure.repetitions = 10.into();
    scenario.measure.duration = Nanos::from_secs(60);
    scenario.measure.drain = Nanos::from_secs(2);
    scenario.measure.settle = Nanos::from_secs(5);
    Run::new(scenario).measure(|_| Truth { capacity: 4_600_000, tester: 14_000_000, noise: 40 })
}

/// Devices side by side at two numbers of connections, one of them stateless.
fn kernel_sweep() -> Run {
    let mut scenario = fixture::kernel().header.scenario;
    scenario.sweep.connections = vec![50_000, 200_000];
    Run::new(scenario).measure(|m| {
        let capacity = if m.point.dut == 0 { 640_000 } else { 340_000 - m.point.connections / 4 };
        Truth { capacity, tester: 3_000_000, noise: 60 }
    })
}

/// Both axes, and more columns than fit a line.
fn matrix() -> Run {
    let mut scenario = fixture::quickstart_scenario();
    scenario.name = "matrix".into();
    scenario.sweep =
        Sweep { connections: (0..9).map(|i| 1_000_000 << i).collect(), cores: vec![1, 2].into(), exclude: Vec::new() };
    scenario.measure.metrics = vec!["throughput".into()];
    scenario.measure.repetitions = 1.into();
    Run::new(scenario).measure(|m| {
        Truth::steady(5_000_000 * u64::from(m.point.cores) * 9 / (9 + u64::from(m.point.connections.ilog2())))
    })
}

/// A further axis beside cores, and a table that is loaded.
fn softwires() -> Run {
    let file = include_str!("../../../../scenarios/lwaftr-softwires.toml");
    let mut run = Run::new(fixture::scenario(file, &["sweep.cores=1,2", "repetitions=1"])).measure(|m| {
        Truth::steady(7_000_000 * u64::from(m.point.cores) / (1 + m.point.axes["softwires"].ilog10() as u64))
    });
    for outcome in &mut run.outcomes {
        let n = outcome.measurement.point.axes["softwires"] as f64;
        outcome.figures.insert(TABLE_ENTRIES.into(), n);
        outcome.figures.insert(TABLE_LOAD_TIME.into(), n / 8e3);
        outcome.figures.insert(TABLE_MEMORY.into(), n / 64.0 + 264.0);
    }
    run
}

#[test]
fn texts_read_well() {
    snapshots(|| {
        for (name, run) in examples() {
            insta::assert_snapshot!(name, whole_text(&run));
            insta::assert_snapshot!(format!("{name}_short"), text(&run));
        }
    });
}

#[test]
fn values_are_listed_like_the_published_ones() {
    let mut scenario = fixture::quickstart_scenario();
    scenario.sweep.connections = vec![100_000, 1_000_000];
    scenario.measure.repetitions = 2.into();
    let run = Run::new(scenario).measure(|_| Truth { capacity: 4_000_000, tester: 14_000_000, noise: 40 });
    let csv = report(&run).render("csv").unwrap();
    snapshots(|| insta::assert_snapshot!("csv", csv));
    let ours: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let published: Vec<&str> = include_str!("../../../published/all.csv").lines().next().unwrap().split(',').collect();
    assert_eq!(ours[..published.len()], published[..]);
}

/// Folders of versions that recorded none are reported without it.
/// Nothing of a report follows from the process that renders it, such as the order of a hash map.
#[test]
fn the_same_run_gives_the_same_bytes_in_every_format() {
    for ((name, one), (_, other)) in examples().into_iter().zip(examples()) {
        let reports = [report(&one), report(&other)];
        for format in KNOWN {
            let [one, other] = reports.each_ref().map(|report| report.render(format.name).unwrap());
            assert!(one == other, "{name} as {}", format.name);
        }
    }
}

#[test]
fn every_format_names_the_build() {
    let mut run = fixture::quickstart();
    let names = |run: &Run| {
        let report = report(run);
        KNOWN.iter().map(|f| report.render(f.name).unwrap().contains("0123456789ab")).collect::<Vec<_>>()
    };
    assert_eq!(names(&run), vec![false; KNOWN.len()]);
    run.facts.tester.insert(BUILD.into(), "commit 0123456789ab, target CPU x86-64-v3".into());
    assert_eq!(names(&run), vec![true; KNOWN.len()]);
    assert!(whole_text(&run).contains("0123456789ab"));
}

#[test]
fn no_line_of_text_is_wider_than_the_screen() {
    for (name, run) in examples() {
        let report = report(&run);
        for columns in [10, 60, 61, 80, 100, 137, 200, 1_000] {
            for verbose in [false, true] {
                let widest = columns.clamp(Screen::NARROWEST, Screen::WIDEST);
                for line in report.text(Screen { columns, verbose }).lines() {
                    assert!(line.chars().count() <= widest, "{name}, {columns} columns: {line}");
                    assert_eq!(line, line.trim_end(), "{name}");
                }
            }
        }
    }
}

/// The program adds five lines below it: the page, and what to do next.
#[test]
fn the_short_text_of_up_to_four_points_fits_a_screen_of_24_lines() {
    for (name, run) in examples() {
        let (text, report) = (text(&run), report(&run));
        let points: BTreeSet<_> =
            report.results.iter().map(|c| (c.dut, c.connections, c.cores, c.axes.clone())).collect();
        let lines = text.lines().count();
        assert!(lines <= 19 || points.len() > 4, "{name}: {lines} lines\n{text}");
        assert!(!text.contains("Conditions") && !text.contains("null device"), "{name}: {text}");
    }
}

/// The examples whose word is clear from how they were made.
#[test]
fn a_run_is_as_sure_as_its_least_sure_value() {
    for (name, run, word, reason) in [
        ("quickstart", fixture::quickstart(), SureWord::High, None),
        ("kernel", fixture::kernel(), SureWord::Medium, Some("device and tester share a core")),
        (
            "tester_limited",
            tester_limited(),
            SureWord::Low,
            Some("The tester was the limit, not the device (at 100 k connections)"),
        ),
        ("closed_loop", closed_loop(), SureWord::Low, Some("Device and tester ran on one thread")),
        ("host_decided", host_decided(), SureWord::Low, Some("This machine was the limit, not the device: ")),
        ("nothing_passed", nothing_passed(), SureWord::High, None),
        ("unfinished", unfinished(), SureWord::Low, Some("measurements are done")),
    ] {
        let sure = report(&run).how_sure;
        assert_eq!(sure.word, word, "{name}: {sure:?}");
        let first = sure.reasons.first().cloned().unwrap_or_default();
        assert!(reason.map_or(first.is_empty(), |reason| first.contains(reason)), "{name}: {first}");
    }
}

/// Only if each rate has a ratio to that at the fewest connections.
#[test]
fn the_short_text_claims_no_more_of_connections_than_ratios_show() {
    const CLAIM: &str = "More connections: no difference shown.";
    assert!(text(&conforming()).contains(CLAIM));
    let mut run = conforming();
    run.end(|m| m.metric == "throughput" && m.point.connections == 100_000, ResultKind::AtUpperLimit, 4_630_000, 0);
    let text = text(&run);
    assert!(report(&run).results.iter().any(|result| result.s_c_interval.is_some()) && !text.contains(CLAIM), "{text}");
}

#[test]
fn each_value_is_in_the_short_text() {
    for (name, run) in examples() {
        let text = text(&run);
        let values =
            text.lines().filter(|line| line.starts_with("  ") && line.contains(['(', '<', '≥', 'M', 'k'])).count();
        let results = report(&run).results.iter().filter(|c| c.summary.is_some() || c.failing().is_some()).count();
        assert!(values >= results, "{name}: {results} results\n{text}");
    }
}

#[test]
fn every_printed_rate_says_per_direction_or_total() {
    for (name, run) in examples() {
        for sentence in report(&run).sentences {
            for (at, _) in sentence.match_indices("fps") {
                assert!(sentence[at..].starts_with("fps per direction"), "{name}: {sentence}");
            }
        }
    }
}

#[test]
fn the_median_and_its_total_are_those_of_the_repetitions() {
    let report = report(&fixture::quickstart());
    for result in &report.results {
        let mut rates: Vec<u64> = result.repetitions.iter().map(|r| r.rate.0).collect();
        rates.sort_unstable();
        assert_eq!(result.summary.unwrap().median.to_bits(), (rates[2] as f64).to_bits());
        assert_eq!(result.directions, if result.metric == "throughput" { 2 } else { 1 });
    }
}

#[test]
fn an_interrupted_run_says_how_far_it_got() {
    let report = report(&unfinished());
    assert!(report.sentences.last().unwrap().contains("Not finished: 7 of 30 measurements"), "{:?}", report.sentences);
}

#[test]
fn a_hop_limit_of_no_router_is_a_doubt() {
    let mut run = fixture::quickstart();
    let sent_with = run.header.scenario.traffic.ttl;
    for (hop, doubt) in
        [(sent_with - 2, None), (sent_with, Some("a router would have decremented it")), (1, Some("for each second"))]
    {
        run.trials[3].outcome.hop_limit = [Some(sent_with - 1), Some(hop)];
        let doubts = report(&run).doubts;
        let found = doubts.iter().find(|doubt| doubt.contains("hop limit"));
        assert!(
            found.is_some() == doubt.is_some() && doubt.is_none_or(|words| found.unwrap().contains(words)),
            "{found:?}"
        );
    }
}

#[test]
fn a_measurement_without_result_is_a_doubt_and_not_for_lack_of_time() {
    let mut run = fixture::quickstart();
    let lost = run.outcomes.pop().unwrap();
    let doubt = format!("{}: no result: phase 1 does not complete", lost.measurement.key());
    run.facts.doubts.push(doubt.into());
    let report = report(&run);
    let last = report.sentences.last().unwrap();
    assert!(last.contains("1 measurement gave no result; see the doubts."), "{last}");
    assert!(!last.contains("Not finished"), "{last}");
    assert!(report.doubts.iter().any(|d| d.contains("no result: phase 1 does not complete")));
}

#[test]
fn a_failed_self_test_comes_first() {
    let mut run = fixture::quickstart();
    run.self_test.passed = false;
    run.self_test.checks[0].passed = false;
    let report = report(&run);
    assert_eq!(report.sentences[0], "The tester's self-test failed: do not use these figures.");
    assert_eq!(report.doubts[0], "The self-test failed (forwarding capacity): do not use any of these figures.");
}

#[test]
fn a_device_that_counts_fewer_connections_than_the_tester_is_doubted() {
    let mut run = fixture::quickstart();
    let doubt = |run: &Run| report(run).doubts.into_iter().find(|d| d.contains("the device's own table held fewer"));
    let store = |counted| Some(StoreFacts { learned: 1_000, dut_entries: Some(counted), ..StoreFacts::default() });
    run.trials[0].outcome.store = store(1_001);
    assert_eq!(doubt(&run), None);
    (run.trials[1].outcome.store, run.trials[2].outcome.store) = (store(999), store(12));
    let said = doubt(&run).unwrap();
    assert!(said.starts_with("In 2 trials ") && said.contains("at worst 12 of 1,000"), "{said}");
}

#[test]
fn an_inconclusive_self_test_is_called_so_everywhere() {
    let mut run = fixture::quickstart();
    (run.self_test.checks[0].passed, run.self_test.checks[0].inconclusive) = (false, true);
    let report = report(&run);
    let doubt = &report.doubts[0];
    assert!(doubt.starts_with("The self-test was inconclusive (forwarding capacity)"), "{doubt}");
    let said = found_and_sure(&report);
    assert!(said.contains("is not shown: the self-test was inconclusive."), "{said}");
    let page = report.render("html").unwrap();
    assert!(page.contains("<span class=\"badge\">inconclusive</span>") && page.contains("<td>inconclusive</td>"));
    assert!(text(&run).contains("self-test was inconclusive (forwarding"));
}

/// A BR alone beside a published pair of CE and BR, and other frames.
#[test]
fn a_published_set_up_that_differs_is_named() {
    let file = include_str!("../../../../scenarios/map-t-br.toml");
    let scenario = fixture::scenario(file, &["repetitions=1", "frame-size=128"]);
    let run = Run::new(scenario).measure(|_| Truth::steady(5_000_000));
    let report = report(&run);
    let closing = report.sentences.iter().find(|s| s.starts_with("For comparison")).unwrap();
    for difference in [
        "customer edge and provider edge as a pair (here one edge: BR of MAP-T, stateless)",
        "frames of 64 octets (here 128)",
        "tester and device on machines of their own (here in one process)",
    ] {
        assert!(report.beside[0].differences.contains(&difference.to_owned()), "{:?}", report.beside[0].differences);
        assert!(report.beside[0].notes[0].contains(difference) && closing.contains(difference), "{closing}");
    }
}

/// Conforming settings alone do not make a run conforming.
#[test]
fn events_of_a_run_can_depart_from_the_rfcs() {
    let departures = |change: &dyn Fn(&mut Run)| {
        let mut run = conforming();
        change(&mut run);
        let conformance = report(&run).conformance;
        assert_eq!(conformance.procedure_conforms, conformance.label.starts_with("procedure conforms"));
        conformance.departures
    };
    let by_settings = departures(&|_| ());
    let departures = |change: &dyn Fn(&mut Run)| -> Vec<String> {
        departures(change).into_iter().filter(|departure| !by_settings.contains(departure)).collect()
    };
    let lost_by_host = Some(StoreFacts { phase1_resent: 7, ..StoreFacts::default() });
    let resent = departures(&|run| run.trials[0].outcome.store.clone_from(&lost_by_host));
    assert!(resent[0].contains("opened 7 connections again"), "{resent:?}");
    let ended = departures(&|run| run.outcomes[0].result.kind = ResultKind::Between);
    assert_eq!(ended, ["1 search ended before reaching the requested precision"]);
    assert_eq!(departures(&|run| run.self_test.passed = false), ["the tester's self-test failed"]);
    assert_eq!(departures(&|run| run.outcomes[0].shares_core = true), ["tester and device share a core"]);
}

#[test]
fn scaling_over_shared_cores_is_always_marked() {
    let mut run = fixture::cores();
    let said = |run: &Run| {
        let report = report(run);
        let csv = report.render("csv-long").unwrap();
        (
            report.sentences[0].contains(") the rate on one core"),
            csv.lines().skip(1).any(|l| l.contains(",rel_scale_up,")),
        )
    };
    assert_eq!(said(&run), (true, true));
    assert!(whole_text(&run).contains("\n  S_CPU  "));
    run.outcomes.iter_mut().for_each(|o| o.shares_core = true);
    assert_eq!(said(&run), (false, false));
    assert!(whole_text(&run).contains("\n  S_CPU (not a scaling result)  "));
}

#[test]
fn columns_of_published_tables_are_filled() {
    let column = |run: &Run, name: &str| {
        let csv = report(run).render("csv").unwrap();
        let fields = |line: &str| {
            let mut quoted = false;
            let ends = |c: char| {
                quoted ^= c == '"';
                c == ',' && !quoted
            };
            line.split(ends).map(str::to_owned).collect::<Vec<_>>()
        };
        let mut lines = csv.lines().map(fields);
        let at = lines.next().unwrap().iter().position(|column| column == name).unwrap();
        lines.next().unwrap()[at].clone()
    };
    let mut run = fixture::quickstart();
    assert_eq!(column(&run, "setup"), "single DUT");
    assert_eq!(column(&run, "conntrack_table_size"), "8388608");
    let file = include_str!("../../../../scenarios/464xlat.toml");
    run.header.scenario.duts = fixture::scenario(file, &[]).duts;
    assert_eq!(column(&run, "setup"), "dual DUT");
    let mut run = fixture::kernel();
    let figures = &mut run.outcomes[0].figures;
    figures.insert(HASH_TABLE_SIZE.into(), 262_144.0);
    figures.insert(CONNTRACK_TABLE_SIZE.into(), 1_048_576.0);
    assert_eq!([column(&run, "hash_table_size"), column(&run, "conntrack_table_size")], ["262144", "1048576"]);
}

/// A box can send any text.
#[test]
fn no_text_of_a_device_is_a_formula_in_csv() {
    let mut run = fixture::quickstart();
    run.facts.duts.entry("embedded".to_owned()).or_default().insert("software".to_owned(), "=HYPERLINK(1)".to_owned());
    let csv = report(&run).render("csv").unwrap();
    assert!(csv.contains(",'=HYPERLINK(1),") && !csv.contains(",=HYPERLINK(1),"), "{csv}");
}

/// On two cores, the tester has an isolated core next to a device of one core, but not next to a device of two.
#[test]
fn only_points_that_share_a_core_are_marked() {
    let mut run = fixture::cores();
    run.outcomes.iter_mut().filter(|o| o.measurement.point.cores > 1).for_each(|o| o.shares_core = true);
    let text = whole_text(&run);
    let row = text.lines().find(|l| l.starts_with("  S_CPU (*: not a scaling result)")).unwrap();
    let marked: Vec<bool> = row.split_whitespace().rev().take(3).map(|value| value.ends_with('*')).collect();
    assert_eq!(marked, [true, true, false], "{row}");
    assert!(text.contains("in 4 of 6 results: their S_CPU is not a scaling result"), "{text}");
    let report = report(&run);
    assert!(report.doubts.iter().any(|d| d.starts_with("Tester and device share a core in 4 of 6 results")));
    let reason = "Whether the device was the limit is not shown: device and tester share a core, so each rate is that of \
                  both together (at 1 M connections on 2 cores; at 1 M connections on 4 cores)";
    let said = found_and_sure(&report);
    assert!(said.contains(reason), "{said}");
}

#[test]
fn a_simulated_device_is_compared_with_nothing_published() {
    let run = Run::new(fixture::simulated_scenario()).measure(|_| Truth::steady(4_000_000));
    let report = report(&run);
    assert!(report.beside.is_empty());
    assert!(!report.sentences.iter().any(|s| s.contains("comparison")));
}

#[test]
fn a_folder_without_results_is_reported_as_such() {
    let run = Run::new(fixture::quickstart_scenario());
    let report = report(&run);
    assert_eq!(report.sentences[0], "Nothing was measured.");
    for format in KNOWN {
        assert!(!report.render(format.name).unwrap().is_empty());
    }
}

#[test]
fn a_wrong_folder_or_format_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let error = Report::from_folder(dir.path(), tech::ALL).unwrap_err().to_string();
    assert!(error.contains("is not a run folder (run.json is missing)"), "{error}");
    let error = report(&fixture::quickstart()).render("pdf").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`pdf` is not a report format: use one of text, csv, csv-long, json, html, markdown, latex, xml2rfc, xml2rfc-section, rfc-text, junit, openmetrics"
    );
    let known: Vec<&str> = KNOWN.iter().map(|format| format.name).collect();
    assert_eq!(error.to_string(), format!("`pdf` is not a report format: use one of {}", known.join(", ")));
}

#[test]
fn json_holds_every_single_result() {
    let run = fixture::quickstart();
    let json: serde_json::Value = serde_json::from_str(&report(&run).render("json").unwrap()).unwrap();
    let rates: usize =
        json["results"].as_array().unwrap().iter().map(|c| c["repetitions"].as_array().unwrap().len()).sum();
    let trials: usize = json["results"].as_array().unwrap().iter().map(|c| c["loss"].as_array().unwrap().len()).sum();
    assert_eq!((rates, trials), (run.outcomes.len(), run.trials.len()));
}

#[test]
fn what_a_device_printed_cannot_break_the_page() {
    let mut run = fixture::kernel();
    run.commands[1].output = "</code></pre></main><script>alert(1)</script> & \"".into();
    let page = report(&run).render("html").unwrap();
    assert!(!page.contains("<script"));
    page::balanced("hostile", &page);
}

/// Names, versions, facts and outputs come from files that anyone can write.
#[test]
fn no_control_character_and_no_bidirectional_mark_reaches_a_report() {
    let hostile = |text: &str| format!("{text} \u{9b}31m\u{202e}\u{1b}[2J\u{2066}\u{7f}\r");
    let mut run = fixture::kernel();
    run.header.scenario.about = hostile("about");
    run.header.version = hostile("0.1.0");
    run.facts.tester.insert(hostile("fact"), hostile("value"));
    run.facts.doubts.push(hostile("doubt").into());
    run.commands[1].output = hostile("output");
    run.self_test.checks[0].name = hostile("check");
    for format in KNOWN {
        let rendered = report(&run).render(format.name).unwrap();
        assert!(!rendered.contains(is_hidden), "{}", format.name);
    }
    let json: serde_json::Value = serde_json::from_str(&report(&run).render("json").unwrap()).unwrap();
    assert_eq!(json["header"]["scenario"]["about"], hostile("about"), "JSON loses nothing");
}

/// A box has the cores that it has, unless the scenario sets them.
#[test]
fn the_cores_of_a_box_are_a_number_only_if_the_scenario_sets_them() {
    let with = |cores: &str| {
        let port = |side: &str, net: u8| {
            format!(
                "[bed.{side}]\ninterface = \"{side}\"\naddresses = [\"198.{net}.0.2/24\"]\ngateway = \"198.{net}.0.1\"\n"
            )
        };
        let text = format!("{}{}[dut]\ncores = \"./set {{cores}}\"\n", port("left", 18), port("right", 19));
        let bed = Some(scenario::bed::BedText { name: "bed.toml".to_owned(), text, t0: Vec::new() });
        let options = Options { bed, ..Options::default() };
        let text = format!(
            "name = \"box\"\n[dut.external]\n[sweep]\n{cores}\n[measure]\nmetrics = \"throughput\"\nrepetitions = 1\n"
        );
        let scenario =
            parse("box.toml", &text, &options, tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false))).scenario;
        let truth = |_: &record::plan::Measurement| Truth { capacity: 640_000, tester: 3_000_000, noise: 0 };
        let run = Run::new(scenario).measure(truth);
        (whole_text(&run), report(&run).render("csv").unwrap())
    };
    let (text, csv) = with("");
    assert!(text.contains("· cores as found") && !text.contains("· 1 core"), "{text}");
    // Source ports, destination ports, cores, hash table, table, repetitions.
    assert!(csv.lines().skip(1).all(|line| line.contains(",40000,100,,,,1,")), "{csv}");
    let (text, _) = with("cores = [1, 2]");
    assert!(text.contains("cores of the device") && !text.contains("as found"), "{text}");
}
