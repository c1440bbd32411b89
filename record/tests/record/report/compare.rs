//! Runs beside published tables and beside imported results of other testers.

use super::fixture::{Run, Truth};
use super::report;
use method::ResultKind;
use record::import;
use record::report::{Report, Screen};
use scenario::{Options, parse};

/// A run of kernel devices that forward 500,000 frames per second, direction and core.
fn measured(compare: &str, tables: &str, sweep: &str) -> Run {
    let metrics = if tables.contains("nftables") { "" } else { "metrics = \"throughput\"\n" };
    let text = format!(
        "name = \"x\"\n{compare}\n{tables}\n[sweep]\n{sweep}\n[measure]\n{metrics}repetitions = 5\nmax-rate = \"9M\"\n"
    );
    let scenario = parse("x.toml", &text, &Options::default(), tech::ALL).unwrap_or_else(|e| panic!("{e}")).scenario;
    Run::new(scenario).measure(|m| Truth { capacity: 500_000 * u64::from(m.point.cores), tester: 9_000_000, noise: 0 })
}

fn run(compare: &str, tables: &str, sweep: &str) -> Report {
    report(&measured(compare, tables, sweep))
}

/// The text on a screen that is wide enough for all columns and titles.
fn wide(report: &Report) -> String {
    report.text(Screen { columns: 200, verbose: false })
}

/// The table of a device in the section of comparisons, from its title to the first note.
fn table<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let from = text.lines().skip_while(|line| !line.contains(title));
    from.take_while(|line| !line.trim_start().starts_with("[1]")).collect()
}

/// The cells of the first row with this name in a group.
fn row(table: &[&str], group: &str, name: &str) -> Vec<String> {
    let rows = table.iter().skip_while(|line| !line.starts_with(group));
    let mut found = rows.filter_map(|line| line.strip_prefix(&format!("  {name}  ")));
    let cells = found.next().unwrap_or_else(|| panic!("{group}, {name}: {table:#?}"));
    cells.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

const ESTABLISHMENT: &str = "Maximum connection establishment rate";

#[test]
fn the_hash_size_of_the_device_is_its_place() {
    let with = |keys: &str| {
        let report = run(
            "compare = \"004-tab1\"",
            &format!("[dut.nftables]\ntable = 50_000_000\n{keys}"),
            "connections = \"40M\"",
        );
        let text = wide(&report);
        row(&table(&text, "Table I:"), ESTABLISHMENT, "measured")
    };
    // Published are 2^21, 2^22, … 2^26.
    let found = with("hash-size = 8_388_608");
    assert!(found.len() == 6 && ["498", "499"].iter().any(|near| found[2].starts_with(near)), "{found:?}");
    assert_eq!(found.iter().filter(|cell| *cell == "–").count(), 5);
    assert_eq!(with(""), ["–"; 6]);
}

/// The forwarding throughput of a table is that of a device that forwards, and of no other.
#[test]
fn forwarding_stands_beside_forwarding() {
    let tables = "[dut.linux-forwarding]\n[dut.nftables]";
    let text = wide(&run("compare = \"000-fig02\"", tables, "connections = \"4M\""));
    let [forwarding, nat] = ["· linux-forwarding", "· nftables"].map(|title| table(&text, title));
    let baseline = "IPv4 forwarding throughput";
    let ratio = row(&forwarding, baseline, "measured / published");
    // 910,900 in both directions.
    assert_eq!(ratio[0], "1.09 ×");
    assert!(!forwarding.iter().any(|line| line.starts_with(ESTABLISHMENT)), "{forwarding:#?}");
    assert!(!nat.iter().any(|line| line.starts_with(baseline)), "{nat:#?}");
    assert!(row(&nat, ESTABLISHMENT, "measured")[0] != "–");
}

/// The ratio of a bound to a published value is a bound; a share of a bound is withheld.
#[test]
fn bounds_stay_bounds_beside_published_values() {
    let limited_on = |cores: u32| {
        let mut run = measured("compare = \"000-fig02\"", "[dut.linux-forwarding]", "cores = [1, 2]");
        let on = |o: &&mut record::folder::Outcome| o.measurement.point.cores == cores;
        run.outcomes.iter_mut().filter(on).for_each(|o| o.result.kind = ResultKind::TesterLimit);
        report(&run)
    };
    let (report, baseline) = (limited_on(2), "IPv4 forwarding throughput (baseline), frames/s per direction");
    let text = wide(&report);
    let table = table(&text, "· linux-forwarding");
    for name in ["measured", "measured / published", "measured, share of the first"] {
        let cells = row(&table, baseline, name);
        assert!(!cells[0].contains('≥') && cells[1].starts_with("≥ "), "{name}: {cells:?}");
    }
    let html = report.render("html").unwrap();
    let said = html.split("id=\"compare-0-d\">").nth(1).and_then(|rest| rest.split("</desc>").next()).unwrap();
    assert!(said.contains("≥ ") && said.contains(" at 2"), "{said}");
    let text = wide(&limited_on(1));
    let shares = row(&self::table(&text, "· linux-forwarding"), baseline, "measured, share of the first");
    assert!(shares.iter().all(|cell| cell == "–"), "{shares:?}");
}

/// Figure 12: the throughput falls to 198,828 / 237,304 = 84 %.
#[test]
fn the_shape_of_a_series_is_judged() {
    for (at_4m, noise, kind, verdict) in [
        (838_000, 0, None, "yes (at 4,000,000 it is 8"),
        (950_000, 0, None, "no (at 4,000,000 it is 9"),
        (600_000, 0, None, "no (at 4,000,000 it is "),
        (838_000, 300, None, "cannot say (at 4,000,000 it is "),
        (838_000, 0, Some(ResultKind::TesterLimit), "cannot say (a bound or no value: at 4,000,000 or 400,000)"),
    ] {
        let text = "name = \"x\"\ncompare = \"000-fig12\"\n[dut.simulated]\n[sweep]\n\
                    connections = [\"400k\", \"4M\"]\n[measure]\nrepetitions = 5\n";
        let scenario = parse("x.toml", text, &Options::default(), tech::ALL).unwrap_or_else(|e| panic!("{e}")).scenario;
        let is_large = |m: &record::plan::Measurement| m.point.connections == 4_000_000;
        let capacity = |m: &_| if is_large(m) { at_4m } else { 1_000_000 };
        let mut run = Run::new(scenario).measure(|m| Truth { capacity: capacity(m), tester: 9_000_000, noise });
        let large = run.outcomes.iter_mut().filter(|o| is_large(&o.measurement));
        large.for_each(|o| o.result.kind = kind.unwrap_or(o.result.kind));
        let report = report(&run);
        let words = format!("Throughput falls as published: {verdict}");
        let html = report.render("html").unwrap();
        assert!(wide(&report).contains(&words) && html.contains(&words), "{words}\n{}", wide(&report));
        let json: serde_json::Value = serde_json::from_str(&report.render("json").unwrap()).unwrap();
        let shape = json["shapes"].as_array().unwrap().iter().find(|shape| shape["metric"] == "throughput").unwrap();
        let name = verdict.split(" (").next().unwrap().replace(' ', "-");
        assert_eq!((shape["as_published"].as_str(), shape["table"].as_str()), (Some(name.as_str()), Some("000-fig12")));
    }
}

/// The published DNS load went through both edges of 464XLAT (METHODOLOGY.md, DNS).
#[test]
fn dns_load_stands_beside_that_of_the_same_pair() {
    let of = |device: &str| {
        let metric = "metrics = \"dns_queries_resolved\"\nrepetitions = 2\n[measure.dns]\nthreads = 1\n";
        let text = format!(
            "name = \"x\"\ncompare = \"000-fig15\"\n{device}\n[sweep]\nconnections = 1600\n[measure]\n{metric}"
        );
        let loaded = parse("x.toml", &text, &Options::default(), tech::ALL).unwrap_or_else(|e| panic!("{e}"));
        wide(&report(&Run::new(loaded.scenario).measure(|_| Truth { capacity: 50_000, tester: 900_000, noise: 0 })))
    };
    let edges =
        "[technology.464xlat]\npref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"198.19.0.1\"";
    let pair = of(&format!("[dut.embedded]\n{edges}"));
    assert!(pair.contains("Figure 15"), "{pair}");
    assert!(pair.contains("(here on one machine)") && !pair.contains("in one process"), "{pair}");
    for other in ["[dut.nftables]", "[dut.embedded]"] {
        let text = of(other);
        assert!(!text.contains("Figure 15"), "{text}");
    }
}

#[test]
fn imported_results_stand_beside_the_run() {
    const CSV: &str = "No, Size, Dir, n, m, Duration, Initial Rate, N, M, R, T, D, Error, Date, Iterations needed, rate\n\
        1, 84, b, 2, 2, 60, 500000, 4000000, 4000000, 200000, 500, 21000, 1000, 2022-03-01 10:00:00, 10, 250000\n";
    let mut report = run("", "[dut.nftables]", "connections = [\"2M\", \"4M\"]");
    let before = report.render("json").unwrap();
    assert!(!wide(&report).contains("siitperf"));
    report.imported = import::read([("lab/rate.csv", CSV)]).unwrap().0;
    let text = wide(&report);
    let table = table(&text, "siitperf, lab/rate.csv: throughput");
    // The frames per second of siitperf are those of one direction.
    assert_eq!(row(&table, "Throughput", "imported"), ["–", "250,000"]);
    assert_eq!(row(&table, "Throughput", "measured / imported")[1], "1.99 ×");
    assert!(text.contains("the last rate that each search tested"), "{text}");
    assert!(report.render("html").unwrap().contains("siitperf, lab/rate.csv"));
    assert_eq!(report.render("json").unwrap(), before, "JSON is that of the run alone");
}

/// A file without connections has one value; it stands beside the one point of a device that forwards.
#[test]
fn an_imported_value_without_connections_stands_beside_forwarding() {
    const CSV: &str = "No, Size, Dir, n, m, Duration, Initial Rate, Timeout, Error, Date, Iterations needed, rate\n\
        1, 84, b, 2, 2, 60, 4000000, 2000, 1000, 2022-03-01 10:00:00, 13, 455000\n";
    let mut report = run("", "[dut.linux-forwarding]", "cores = 1");
    report.imported = import::read([("rate.csv", CSV)]).unwrap().0;
    let text = wide(&report);
    let ratio = row(&table(&text, "siitperf, rate.csv: throughput"), "Throughput", "measured / imported");
    assert_eq!(ratio, ["1.09 ×"]);
}
