//! Small files of each format, written from the documented formats.

use super::{Series, read};
use crate::published::PublishedFigure;

const ESTABLISHMENT: &str = "No, Size, n, m, Initial R Rate, N, M, T, D, Error, Date, Iterations needed, rate\n\
    1, 84, 2, 2, 500000, 4000000, 4000000, 500, 0, 1000, 2022-03-01 10:00:00, 10, 223500\n\
    2, 84, 2, 2, 500000, 4000000, 4000000, 500, 0, 1000, 2022-03-01 10:20:00, 10, 226700\n\
    3, 84, 2, 2, 500000, 4000000, 4000000, 500, 0, 1000, 2022-03-01 10:40:00, 10, 221600\n";

const THROUGHPUT: &str = "No, Size, Dir, n, m, Duration, Initial Rate, N, M, R, T, D, Error, Date, Iterations needed, rate\n\
    1, 84, b, 2, 2, 60, 500000, 4000000, 4000000, 200000, 500, 21000, 1000, 2022-03-01 10:00:00, 10, 207450\n";

const STATELESS: &str = "No, Size, Dir, n, m, Duration, Initial Rate, Timeout, Error, Date, Iterations needed, rate\n\
    1, 84, f, 2, 2, 60, 4000000, 2000, 1000, 2022-03-01 10:00:00, 13, 455000\n";

const CAPACITY: &str = "No, ExpIt, C0, R0, CS, RS, CT, RT, FinBinIt, C\n\
    1, 3, 1000000, 2562500, 4000000, 2250945, 8000000, 0, 22, 4194301\n";

fn of<'a>(name: &'a str, text: &'a str) -> Result<Vec<Series>, String> {
    read([(name, text)]).map(|(all, _)| all).map_err(|(name, error)| format!("{name}: {error}"))
}

fn only(text: &str) -> Series {
    let mut all = of("x", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn stat<'a>(series: &'a Series, stat: &str) -> &'a PublishedFigure {
    series.values.iter().find(|value| value.stat == stat).unwrap()
}

#[test]
fn repetitions_become_median_and_ends() {
    let series = only(ESTABLISHMENT);
    let value = |of: &str| stat(&series, of).value;
    assert_eq!((value("median"), value("min"), value("max")), (223_500.0, 221_600.0, 226_700.0));
    let median = stat(&series, "median");
    assert_eq!((median.metric.as_str(), median.unit.as_str()), ("max_conn_est_rate", "cps"));
    assert_eq!((median.x_name.as_str(), median.x.as_str()), ("connections", "4000000"));
    let under = &median.under;
    assert_eq!((under.connections, under.frame_size, under.experiments), (Some(4_000_000), Some(64), Some(3)));
    assert!(series.notes[0].contains("the last rate that each search tested"));
}

/// The frames per second of siitperf are those of one direction.
#[test]
fn each_script_has_its_metric_and_unit() {
    let found = [THROUGHPUT, STATELESS, CAPACITY].map(|text| {
        let series = only(text);
        let median = stat(&series, "median").clone();
        (median.metric, median.unit, median.x_name, median.value, series.title)
    });
    let row = |metric: &str, unit: &str, x: &str, value: f64, title: &str| {
        (metric.to_owned(), unit.to_owned(), x.to_owned(), value, title.to_owned())
    };
    let fps = "fps, each direction";
    assert_eq!(found[0], row("throughput", fps, "connections", 207_450.0, "throughput"));
    assert_eq!(found[1], row("throughput", fps, "all", 455_000.0, "throughput, left to right"));
    let capacity = "connection tracking table capacity";
    assert_eq!(found[2], row("conn_table_capacity", "connections", "all", 4_194_301.0, capacity));
}

#[test]
fn files_of_one_kind_are_one_series() {
    let more = ESTABLISHMENT.replace("4000000", "8000000").replace(", 226700", ", 126700");
    let files = [("a/rate.csv", ESTABLISHMENT), ("b/rate.csv", &more), ("c/rate.csv", THROUGHPUT)];
    let (all, _) = read(files).unwrap();
    let places = |series: &Series| {
        let medians = series.values.iter().filter(|value| value.stat == "median");
        medians.map(|value| value.x.clone()).collect::<Vec<_>>()
    };
    assert_eq!(all.iter().map(places).collect::<Vec<_>>(), [vec!["4000000", "8000000"], vec!["4000000"]]);
    assert_eq!(all[0].files, ["a/rate.csv", "b/rate.csv"]);
}

/// Rows with another share of foreground frames, and CSIT's tests of other protocols, translations and cores, are other tests.
#[test]
fn results_of_different_tests_are_different_series() {
    let native = THROUGHPUT.lines().nth(1).unwrap().replace("b, 2, 2,", "b, 2, 0,");
    let titles = |files: &[(&str, &str)]| {
        let (all, _) = read(files.iter().copied()).unwrap();
        all.into_iter().map(|series| series.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(&[("a", &format!("{THROUGHPUT}{native}\n"))]), ["throughput, m 2", "throughput, m 0"]);
    let udp = csit(&bounds("pps"));
    let others = [
        udp.replace("ethip4udp", "ethip4tcp"),
        udp.replace("nat44ed", "nat44det"),
        udp.replace("-1c-", "-2c-").replace("\"1C\"", "\"2C\""),
    ];
    for other in &others {
        assert_eq!(titles(&[("a", &udp), ("b", other)]).len(), 4, "two bounds each");
    }
    let more_sessions = udp.replace("h4096-p63-s258048", "h16384-p63-s1032192");
    assert_eq!(titles(&[("a", &udp), ("b", &more_sessions)]).len(), 2, "NDR and PDR over the sessions");
    let one_way = of("x", &udp.replace("-cps-", "-udir-")).unwrap();
    assert_eq!(stat(&one_way[0], "median").unit, "fps, each direction");
    assert!(one_way[0].title.ends_with(", left to right"));
}

#[test]
fn a_file_of_another_kind_is_named_and_left_out() {
    let setup = "{\"version\": \"1.5.1\", \"hosts\": {}}";
    let (all, others) = read([("a", ESTABLISHMENT), ("setup.info.json", setup)]).unwrap();
    assert_eq!((all.len(), others[0].0), (1, "setup.info.json"));
    assert!(read([("setup.info.json", setup)]).is_err());
    assert_eq!(only(&format!("\u{feff}{ESTABLISHMENT}")).values.len(), 3);
}

/// With the name of a file, as `gzip` writes it.
#[test]
fn a_gzip_file_is_unpacked() {
    let mut gzip = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
    gzip.extend(b"rate.csv\0");
    gzip.extend(miniz_oxide::deflate::compress_to_vec(ESTABLISHMENT.as_bytes(), 6));
    let end = gzip.len();
    gzip.extend([0; 8]);
    assert_eq!(super::unpacked(&gzip).unwrap(), ESTABLISHMENT.as_bytes());
    for cut in 0..end {
        assert!(super::unpacked(&gzip[..cut]).is_err(), "{cut}");
    }
    // RFC 1952, section 2.2: a file is a series of members.
    let several = gzip.repeat(3);
    assert_eq!(super::unpacked(&several).unwrap(), ESTABLISHMENT.repeat(3).as_bytes());
    assert!(super::unpacked(&several[..2 * gzip.len() + end - 1]).is_err());
    assert!(super::unpacked(&[&gzip, ESTABLISHMENT.as_bytes()].concat()).is_err(), "no member");
    assert!(super::unpacked(&[&gzip[..], &[0; 99]].concat()).is_ok(), "padding");
}

const LOG: &str = "#############################\nTested Implementation: lab-iptables\nN: 4000000\nM: 4000000\nT: 500\nD: 0\n\
    Frame size: 84:\nValue of n: 2\nValue of m: 2\nStarting R rate (QPS): 500000\nMeasurement Error: 1000\n\
    #############################\n\
    ---\n2022-03-01 10:00:00.1 Iteration no. 1-1\n---\nTesting R rate: 500000 fps.\nTEST FAILED\n\
    ---\n2022-03-01 10:01:00.1 Iteration no. 1-2\n---\nTesting R rate: 250000 fps.\nTEST PASSED\n\
    ---\n2022-03-01 10:02:00.1 Iteration no. 1-3\n---\nTesting R rate: 375000 fps.\nTEST FAILED\n\
    ---\n2022-03-01 10:03:00.1 Iteration no. 2-1\n---\nTesting R rate: 260000 fps.\nTEST PASSED\n";

#[test]
fn a_log_has_the_highest_rates_that_passed() {
    let series = only(LOG);
    assert_eq!((stat(&series, "min").value, stat(&series, "max").value), (250_000.0, 260_000.0));
    let median = stat(&series, "median");
    assert_eq!((median.metric.as_str(), median.under.implementation.as_str()), ("max_conn_est_rate", "lab-iptables"));
    assert_eq!((median.under.connections, median.under.frame_size), (Some(4_000_000), Some(64)));
    assert_eq!(series.notes, Vec::<String>::new());
}

fn csit(result: &str) -> String {
    format!(
        "{{\"version\": \"1.5.1\", \"passed\": true, \"message\": \"\", \"dut_type\": \"VPP\", \"dut_version\": \"23.10-release\",\n\
         \"test_id\": \"tests.vpp.perf.ip4.x.64b-1c-ethip4udp-nat44ed-h4096-p63-s258048-cps-ndrpdr\",\n\
         \"tags\": [\"1C\", \"2T1C\", \"64B\", \"NAT44\", \"NIC_Intel-XXV710\"],\n\"result\": {result}}}"
    )
}

fn bounds(unit: &str) -> String {
    let rate = |value: u32| format!("{{\"rate\": {{\"value\": {value}.5, \"unit\": \"{unit}\"}}}}");
    format!(
        "{{\"type\": \"ndrpdr\", \"ndr\": {{\"lower\": {}, \"upper\": {}}}, \"pdr\": {{\"lower\": {}, \"upper\": {}}}}}",
        rate(1_200_000),
        rate(1_210_000),
        rate(1_220_000),
        rate(1_230_000)
    )
}

/// The packets per second of CSIT are totals of both directions; its lower bounds are the results.
#[test]
fn csit_has_a_series_for_each_loss_tolerance() {
    let all = of("x", &csit(&bounds("pps"))).unwrap();
    let median = |at: usize| stat(&all[at], "median");
    assert_eq!(all.len(), 2);
    assert_eq!((median(0).value, median(0).under.tolerance), (1_200_000.5, Some(0.0)));
    assert_eq!((median(1).value, median(1).under.tolerance), (1_220_000.5, Some(0.005)));
    assert_eq!((median(0).metric.as_str(), median(0).unit.as_str()), ("throughput", "fps, both directions"));
    let under = &median(0).under;
    assert_eq!((under.connections, under.cores, under.frame_size), (Some(258_048), Some(1), Some(64)));
    assert_eq!((under.implementation.as_str(), under.technology.as_str()), ("VPP 23.10-release", "stateful NAT44"));
    let of_connections = of("x", &csit(&bounds("cps"))).unwrap();
    assert_eq!(stat(&of_connections[0], "median").metric, "max_conn_est_rate");
}

#[test]
fn samples_of_mrr_are_repetitions() {
    let mrr = "{\"type\": \"mrr\", \"receive_rate\": {\"rate\": {\"values\": [1, 5, 2], \"avg\": 2.7, \"stdev\": 1.7, \"unit\": \"pps\"}}}";
    let series = only(&csit(mrr));
    assert_eq!((stat(&series, "median").value, stat(&series, "median").under.experiments), (2.0, Some(3)));
    assert_eq!(stat(&series, "median").metric, "mrr");
}

#[test]
fn mistakes_have_line_and_field() {
    let refused = |text: &str| of("f", text).unwrap_err();
    assert_eq!(
        refused(&ESTABLISHMENT.replace("226700", "22x")),
        "f: line 3: field `rate`: `22x` is not a whole number"
    );
    assert_eq!(refused(&ESTABLISHMENT.replace(", 226700", "")), "f: line 3: 12 fields, but the header has 13");
    assert!(refused(&ESTABLISHMENT.replace("1, 84", "1, 8")).starts_with("f: line 2: field `Size`: 8 octets"));
    assert!(refused("No, a, b\n1, 2, 3\n").starts_with("f: line 1: no script of siitperf"));
    assert!(refused(&THROUGHPUT.replace(" b,", " x,")).starts_with("f: line 2: field `Dir`: `x`"));
    assert!(refused("something\n").starts_with("f: line 1: unknown format; natmeter reads rate.csv"));
    assert!(refused(ESTABLISHMENT.lines().next().unwrap()).contains("no result in this file"));
    let orphan = LOG.replace("Testing R rate: 250000 fps.\n", "");
    assert_eq!(refused(&orphan), "f: line 21: field `TEST PASSED`: no tested rate stands before it");
    assert!(refused("{\n\"version\": ").starts_with("f: line 2: this is not JSON"));
    assert!(refused(&csit("{\"type\": \"reconf\"}")).starts_with("f: field `result.type`: `reconf` has no rate"));
    let unit = bounds("furlongs");
    assert!(refused(&csit(&unit)).starts_with("f: field `result.ndr.lower.rate.unit`: `furlongs`"));
    let missing = csit(&bounds("pps").replace("lower", "bower"));
    assert_eq!(refused(&missing), "f: field `result.ndr.lower.rate`: missing");
    let failed =
        csit("{}").replace("\"passed\": true, \"message\": \"\"", "\"passed\": false, \"message\": \"no link\"");
    assert_eq!(refused(&failed), "f: field `passed`: the test did not pass: no link");
    assert!(refused(&csit("{}").replace("1.5.1", "0.2.0")).starts_with("f: field `version`: `0.2.0`"));
}

/// Every beginning of a file, and every file with one octet changed, is read or refused in words.
#[test]
fn damaged_files_are_read_or_refused() {
    let json = csit(&bounds("pps"));
    for text in [ESTABLISHMENT, THROUGHPUT, STATELESS, CAPACITY, LOG, &json] {
        for at in 0..text.len() {
            let changed = ["x", "\n", ",", "9"].map(|new| format!("{}{new}{}", &text[..at], &text[at + 1..]));
            for damaged in changed.iter().map(String::as_str).chain([&text[..at]]) {
                match of("f", damaged) {
                    Ok(all) => assert!(all.iter().all(|series| [3, 6, 9].contains(&series.values.len())), "{all:?}"),
                    Err(error) => assert!(error.starts_with("f: ") && error.len() > 10, "{error}"),
                }
            }
        }
    }
}
