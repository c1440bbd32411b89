//! The page in HTML: its structure, what each figure carries, and the files in it.

use super::fixture::{self, Run, Truth};
use super::{examples, report};
use data_encoding::BASE64;
use method::trial::{CoreSamples, CpuIdle, PerDirection, Profile};
use method::{Delays, Nanos, Rate, ResultKind, SearchResult};
use procedure::cpu_idle::CPU_IDLE;
use procedure::delay::LATENCY;
use procedure::profiling::LOCK_WAIT;
use record::folder::BUILD;
use record::plan::Measurement;
use scenario::Sweep;
use std::collections::BTreeSet;

fn page(run: &Run) -> String {
    report(run).render("html").unwrap()
}

/// The values of an attribute, in order.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    page.split(begin.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// The contents of all elements of a name, in order. None of them contains another one of its name.
fn elements<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let (begin, end) = (format!("<{name}"), format!("</{name}>"));
    let is_whole = |rest: &&str| rest.starts_with(['>', ' ']);
    page.split(begin.as_str()).skip(1).filter(is_whole).map(|rest| rest.split(end.as_str()).next().unwrap()).collect()
}

/// Every opened element is closed, in order.
pub(super) fn balanced(name: &str, page: &str) {
    let body = page.split("</style>").nth(1).unwrap();
    let mut open: Vec<&str> = vec!["html", "head"];
    for tag in body.split('<').skip(1) {
        let tag = &tag[..tag.find('>').unwrap_or_else(|| panic!("{name}: {tag}"))];
        if tag.ends_with('/') {
            continue;
        }
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}"),
            None => open.push(tag.split(' ').next().unwrap()),
        }
    }
    assert!(open.is_empty(), "{name}: {open:?}");
}

#[test]
fn a_page_needs_nothing_from_elsewhere_and_is_well_formed() {
    for (name, run) in examples() {
        let page = page(&run);
        for outside in ["<script", "<link", "<img", "<iframe", "@import", "url(", " src="] {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
        let inside = |link: &&str| link.starts_with("data:") || link.starts_with('#');
        assert_eq!(values(&page, "href").iter().find(|link| !inside(link)), None, "{name}");
        let text = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        let text = values(&text, "href").iter().fold(text.clone(), |text, link| text.replace(link, ""));
        assert!(text.find("http").is_none(), "{name}");
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{name}");
        balanced(name, &page);
    }
}

#[test]
fn every_name_that_is_referred_to_exists_once() {
    for (name, run) in examples() {
        let page = page(&run);
        let ids = values(&page, "id");
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "{name}: ids are unique");
        let labels = values(&page, "aria-labelledby");
        let labels = labels.iter().flat_map(|labels| labels.split(' '));
        let links = values(&page, "href").into_iter().filter_map(|link| link.strip_prefix('#'));
        for id in labels.chain(links) {
            assert!(unique.contains(id), "{name}: {id}");
        }
    }
}

#[test]
fn headings_are_in_order_and_files_are_last() {
    for (name, run) in examples() {
        let page = page(&run);
        let level = |rest: &str| rest.chars().next().and_then(|c| c.to_digit(10));
        let headings: Vec<u32> = page.split("<h").skip(1).filter_map(level).collect();
        assert_eq!(headings.iter().filter(|&&level| level == 1).count(), 1, "{name}");
        assert!(headings[0] == 1 && headings.windows(2).all(|two| two[1] <= two[0] + 1), "{name}: {headings:?}");
        let parts: Vec<&str> = elements(&page, "h2").iter().map(|h| h.split('>').nth(1).unwrap()).collect();
        let all = ["Figures", "Summary", "Tables", "Details", "Conditions", "Commands", "Files"];
        let present: Vec<&str> = all.into_iter().filter(|part| parts.contains(part)).collect();
        assert_eq!(parts, present, "{name}");
        assert_eq!(parts.last(), Some(&"Files"), "{name}");
    }
}

/// Paper has every caveat: the summary is never folded.
#[test]
fn the_summary_has_every_doubt_and_departure() {
    for (name, run) in examples() {
        let report = report(&run);
        let page = report.render("html").unwrap();
        let summary = page.split("<h2 id=\"summary\"").nth(1).unwrap().split("<h2").next().unwrap();
        let plain =
            |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let reasons = report.how_sure.reasons.iter();
        let reasons: Vec<String> =
            reasons.map(|reason| reason.replace("null device", "same path without the device")).collect();
        // The reasons stand in a list of their own.
        let sentences = report.sentences.iter().filter(|said| !said.starts_with("How sure: "));
        for said in report.doubts.iter().chain(&report.conformance.departures).chain(sentences).chain(&reasons) {
            let first = plain(said.split('`').next().unwrap());
            assert!(summary.contains(&first), "{name}: {said}");
        }
        assert!(!summary.contains("<details"), "{name}");
    }
}

#[test]
fn every_figure_has_a_name_a_description_and_a_caption() {
    for (name, run) in examples() {
        let page = page(&run);
        let figures = elements(&page, "figure");
        assert!(figures.len() > 2, "{name}");
        for figure in figures {
            assert_eq!(figure.matches("<svg ").count(), 1, "{name}");
            assert_eq!(figure.matches("role=\"img\"").count(), 1, "{name}");
            for part in ["title", "desc", "figcaption"] {
                let text = elements(figure, part)[0].split_once('>').unwrap().1;
                assert!(text.len() > 5, "{name}: {part} of {figure}");
            }
        }
    }
}

#[test]
fn every_cell_of_a_heading_says_what_it_heads() {
    for (name, run) in examples() {
        let page = page(&run);
        let tables = elements(&page, "table");
        assert!(!tables.is_empty(), "{name}");
        for cell in tables.iter().flat_map(|table| elements(table, "th")) {
            assert!(cell.starts_with(" scope=\""), "{name}: {cell}");
        }
    }
}

#[test]
fn every_mark_and_every_repetition_shows_its_value() {
    let run = fixture::quickstart();
    let page = page(&run);
    let figure = elements(&page, "figure").into_iter().find(|f| f.contains("Throughput against")).unwrap();
    let repetitions = run.outcomes.iter().filter(|o| o.measurement.metric == "throughput");
    for outcome in repetitions {
        let value = record::report::number::grouped(outcome.result.rate.0);
        assert!(
            figure.contains(&format!("repetition {}\n{value} frames/s", outcome.measurement.repetition)),
            "{value}"
        );
    }
    // Three medians with their ranges.
    assert_eq!(figure.matches("\nrange ").count(), 3, "{figure}");
    assert!(figure.contains("connections (log scale)") && figure.contains("1,000,000 connections\n"), "{figure}");
    // The published value with its source, in a figure beside it, stretches no axis.
    assert!(!figure.contains("published"), "{figure}");
    let panel = elements(&page, "figure")
        .into_iter()
        .find(|f| f.contains("Throughput against the number of connections, published"))
        .unwrap();
    assert!(
        panel.contains("published: iptables, Figure 2") && panel.contains("published: 207,450 frames/s"),
        "{panel}"
    );
}

/// On four cores, the line of ideal scaling is four times as high above the axis as on one.
#[test]
fn the_ideal_line_is_the_rate_on_one_core_times_the_cores() {
    let page = page(&fixture::cores());
    let figure = elements(&page, "figure").into_iter().find(|f| f.contains("Throughput against")).unwrap();
    let path = figure.split("class=\"s0 ideal bare\"").nth(2).unwrap().split("d=\"M").nth(1).unwrap();
    let points = path.split('"').next().unwrap().split('L').map(|point| point.split_once(' ').unwrap().1);
    let heights: Vec<f64> = points.map(|y| y.parse().unwrap()).collect();
    let axis = figure.split("class=\"axis\"").nth(1).unwrap();
    let bottom: f64 = axis.split(['V', 'H']).nth(1).unwrap().parse().unwrap();
    let above: Vec<f64> = heights.iter().map(|y| bottom - y).collect();
    assert_eq!(above.len(), 3);
    assert!((above[1] / above[0] - 2.0).abs() < 0.01 && (above[2] / above[0] - 4.0).abs() < 0.01, "{above:?}");
}

/// RFC 2544, section 26.2: the average of the recorded values.
#[test]
fn latency_has_its_average_beside_its_median() {
    let mut run = fully_observed();
    let mut latencies: Vec<_> = run.outcomes.iter_mut().filter(|o| o.measurement.metric == LATENCY.key).collect();
    let repetitions = i64::try_from(latencies.len() / 4).unwrap();
    assert!(repetitions > 1, "four points");
    latencies[0].result.parts.insert("latency_typical_forward".to_owned(), 20_000 + 1_000 * repetitions);
    let text = super::whole_text(&run);
    let average = text.lines().find(|line| line.trim_start().starts_with("average")).unwrap();
    assert!(average.contains("21,000"), "{average}");
}

/// A figure of latency over cores has no line of ideal scaling: it would say that more cores delay frames longer.
#[test]
fn only_rates_have_an_ideal_line() {
    let page = page(&fully_observed());
    let figures = elements(&page, "figure");
    let of_latency = figures.iter().find(|f| f.contains("Typical latency, left to right against the number of cores"));
    assert!(!of_latency.unwrap().contains("ideal"), "{of_latency:?}");
    assert!(figures.iter().any(|f| f.contains("Throughput against") && f.contains("ideal")));
}

#[test]
fn the_files_in_a_page_are_the_reports_and_the_scenario() {
    let run = fixture::quickstart();
    let report = report(&run);
    let page = report.render("html").unwrap();
    let file = |name: &str| {
        let link = elements(&page, "a").into_iter().find(|a| a.contains(&format!("download=\"{name}\""))).unwrap();
        let content = link.split(";base64,").nth(1).unwrap().split('"').next().unwrap();
        String::from_utf8(BASE64.decode(content.as_bytes()).unwrap()).unwrap()
    };
    let name = report.run_name();
    assert_eq!(file(&format!("{name}.csv")), report.render("csv").unwrap());
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&file(&format!("{name}.json"))), json(&report.render("json").unwrap()));
    assert_eq!(file("quickstart.toml"), report.scenario_text);
}

#[test]
fn the_command_line_and_the_build_of_a_run_are_in_its_page() {
    let mut run = fixture::quickstart();
    run.header.options.full = true;
    run.header.options.set = vec!["duration=1 s".to_owned(), "repetitions=5".to_owned()];
    run.facts.tester.insert(BUILD.to_owned(), "commit 0123456789ab, flags none".to_owned());
    let page = page(&run);
    let command = "<code>natmeter run quickstart.toml --full --set 'duration=1 s' --set repetitions=5</code>";
    assert!(page.contains(command), "{page}");
    assert!(page.contains("commit 0123456789ab, flags none</dd>"));
}

/// Latency, idle times and a profile beside rates, over cores and connections, so that every kind of figure is in one page.
pub(super) fn fully_observed() -> Run {
    let mut scenario = fixture::quickstart_scenario();
    scenario.name = "observed".into();
    scenario.sweep = Sweep { connections: vec![100_000, 1_000_000], cores: vec![1, 2].into(), exclude: Vec::new() };
    scenario.measure.metrics.extend([LATENCY.key, CPU_IDLE.key, LOCK_WAIT.key].map(str::to_owned));
    let truth =
        |m: &Measurement| Truth { capacity: 1_000_000 * u64::from(m.point.cores), tester: 14_000_000, noise: 20 };
    let mut run = Run::new(scenario).measure(truth);
    for outcome in &mut run.outcomes {
        observe(&outcome.measurement, &mut outcome.result);
    }
    run
}

/// Replaces the search for a metric that needs none by what its trial observed.
fn observe(m: &Measurement, result: &mut SearchResult) {
    let seconds = Nanos::from_secs;
    let directions = ["forward", "reverse"];
    match m.metric.as_str() {
        "latency" => {
            let histogram = vec![(20_000, 600_000), (40_000, 390_000), (80_000, 9_990), (900_000, 10)];
            let delays = Delays { frames: 1_000_000, histogram, min: Nanos(19_500), ..Delays::default() };
            result.observed.delays = PerDirection { forward: Some(delays.clone()), reverse: Some(delays) };
            result.parts = directions.map(|direction| (format!("latency_typical_{direction}"), 20_000)).into();
        }
        "cpu_idle" => {
            let idle = |core: u32| (format!("core {core}"), vec![900_000, 700_000 - core * 100_000, 200_000, 250_000]);
            result.observed.cpu = vec![CpuIdle {
                ends: (1..=4).map(seconds).collect(),
                phase1: Some([Nanos(0), seconds(1)]),
                phase2: [seconds(2), seconds(4)],
                cores: (0..m.point.cores).map(idle).collect(),
                ..CpuIdle::default()
            }];
            result.rate = Rate(250_000);
        }
        "lock_wait" => {
            let stacks =
                [("core 0;softirq/0;process_backlog;nf_conntrack_in", 900), ("core 0;softirq/0;napi_poll", 99)];
            result.observed.profile = Some(Profile {
                event: "cpu-clock".to_owned(),
                frequency: 999,
                cores: [("core 0".to_owned(), CoreSamples { all: 999, waiting: 0 })].into(),
                parts: [("connection tracking".to_owned(), 900)].into(),
                stacks: stacks.map(|(stack, samples)| (stack.to_owned(), samples)).into(),
                ..Profile::default()
            });
            result.rate = Rate(0);
        }
        _ => return,
    }
    (result.kind, result.trace) = (ResultKind::Observed, result.trace.split_off(result.trace.len() - 1));
}

#[test]
fn the_phases_of_a_trial_are_marked_over_the_idle_times_of_each_core() {
    let page = page(&fully_observed());
    let figures = elements(&page, "figure");
    let of_two_cores = figures.iter().find(|f| f.contains("id=\"cpu-idle-2-0-t\"")).unwrap();
    for says in ["phase 1: 0 to 1 s", "phase 2: 2 to 4 s", "core 0\n20 % to 90 % idle", "core 1\n20 % to 90 % idle"] {
        assert!(of_two_cores.contains(&format!("<title>{says}</title>")), "{says}: {of_two_cores}");
    }
}
