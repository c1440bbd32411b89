//! Cost of a frame for the embedded gateway's worker: link receive, technology, link transmit, with the tester on another core.
//! The tester sends 64-byte frames in random order, in one direction at a time, at a rate above the worker's capacity, so that
//! bursts are full. Prints nanoseconds per frame (median of the runs, in parentheses the best) and 10^9 divided by the median.
//! The best run matters because other virtual machines use cores and caches for seconds.
//!
//! The directions run in turn. Where one of them lengthens frames, the last column is its time divided by that of the other
//! direction, per pair of runs: the median, and the interval that covers it with 96 % (order statistics of 15 pairs).
//!
//! `cargo bench -p natmeter --bench gateway [-- WORD…]` runs only the rows whose name contains one of the words. Rows of 16 M
//! sessions and more, which need minutes and gigabytes, run only by name.

use method::{Direction, Load, Nanos, PhaseKind, Rate, TrialOutcome, TrialSpec, Trials};
use natmeter::rig::{Rig, RunContext};
use record::plan::Plan;
use scenario::{Options, Scenario, parse};

const RUNS: usize = 15;

struct Row {
    name: String,
    tables: String,
    sessions: u64,
    large: bool,
    /// The direction in which frames become longer.
    grows: Option<Direction>,
}

const SIIT: &str = "[technology.siit]\neam = [\"198.18.0.0/24 2001:2::/120\"]\npref64 = \"2001:2:0:1000::/96\"\n";
const NAT64: &str = "[technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\"\n";
const DS_LITE: &str =
    "[technology.ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\n";
const NAT46: &str = "[technology.nat46]\npref64 = \"2001:2:0:1000::/96\"\npool = \"2001:2:0:200::1\"\n";
const NAT66: &str = "[technology.nat66]\npool = \"2001:2:0:200::1\"\n";
const MAP: &str =
    "ipv6-prefix = \"2001:db8:1::/48\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 16\npsid-offset = 6\nce = 3\n";
const NAT: &str = "udp-timeout = \"10000 s\"\nmapping = \"address-and-port-dependent\"\n";
const ONE_HOST: &str = "source-ports = \"1024-41023\"\ndestination-ports = \"1-6400\"\n";
const SUBSCRIBERS: &str = "source-ports = \"1024-1151\"\ndestination-ports = \"1-100\"\nsubscribers = 65536\n";
const THOUSAND: &str = "source-ports = \"1024-2047\"\ndestination-ports = \"1-100\"\nsubscribers = \"1k\"\n";
/// As many customers, with IPv4 addresses.
const THOUSAND_HOSTS: &str =
    "source-ports = \"1024-2047\"\ndestination-ports = \"1-100\"\ninside = \"198.18.0.2 - 198.18.3.233\"\n";

fn rows() -> Vec<Row> {
    let row = |name: &str, technology: &str, traffic: &str, sessions: u64| Row {
        name: name.to_owned(),
        tables: format!("[dut.embedded]\nplays = \"pe\"\n{technology}[traffic]\n{traffic}"),
        sessions,
        large: sessions >= 16_000_000,
        grows: match name.split([' ', ',']).next() {
            Some("nat66") => None,
            Some("nat46") => Some(Direction::Forward),
            _ => Some(Direction::Reverse),
        },
    };
    let mut rows = Vec::new();
    let counts = [100_000, 1_000_000, 4_000_000, 16_000_000, 64_000_000, 256_000_000];
    for (mapping, short) in [("address-and-port-dependent", ""), ("endpoint-independent", " endpoint-independent")] {
        for n in counts.into_iter().filter(|n| short.is_empty() || *n <= 4_000_000) {
            rows.push(Row {
                name: format!("nat44{short} {}", million(n)),
                tables: format!("[dut.embedded]\nmapping = \"{mapping}\"\ntable = {n}\n[traffic]\n{ONE_HOST}"),
                sessions: n,
                large: n >= 16_000_000,
                grows: None,
            });
        }
    }
    rows.push(row("siit", SIIT, "source-ports = \"1024-41023\"\ndestination-ports = \"1-100\"\n", 0));
    let map = |name: &str, own: &str| format!("[technology.{name}]\n{own}{MAP}{NAT}");
    rows.push(row("map-t br, 64 k customers", &map("map-t", "dmr = \"2001:2:0:1000::/96\"\n"), SUBSCRIBERS, 0));
    rows.push(row("map-e br, 64 k customers", &map("map-e", "br = \"2001:2:0:100::2\"\n"), SUBSCRIBERS, 0));
    for (ipv4, subscribers) in [("203.0.113.0/24", 65_536), ("10.16.0.0/20", 1_048_576)] {
        let lw4o6 = format!(
            "[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nipv4 = \"{ipv4}\"\nb4 = \"2001:db8:1:0::1\"\n\
             psid-length = 8\npsid-offset = 6\nce = 3\n{NAT}"
        );
        let ports = if subscribers > 65_536 { "\"1-10\"" } else { "\"1-100\"" };
        let traffic = SUBSCRIBERS.replace("65536", &subscribers.to_string()).replace("\"1-100\"", ports);
        rows.push(row(&format!("lwaftr, {} softwires", million(subscribers)), &lw4o6, &traffic, 0));
    }
    for n in [65_536, 1_000_000] {
        rows.push(row(&format!("nat64 {}", million(n)), &format!("{NAT64}{NAT}table = {n}\n"), THOUSAND, n));
        rows.push(row(&format!("aftr {}", million(n)), &format!("{DS_LITE}{NAT}table = {n}\n"), THOUSAND, n));
        rows.push(row(&format!("nat46 {}", million(n)), &format!("{NAT46}{NAT}table = {n}\n"), THOUSAND_HOSTS, n));
        rows.push(row(&format!("nat66 {}", million(n)), &format!("{NAT66}{NAT}table = {n}\n"), THOUSAND, n));
    }
    rows
}

fn million(n: u64) -> String {
    if n >= 1_000_000 { format!("{} M", n / 1_000_000) } else { format!("{} k", n / 1000) }
}

fn main() {
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |row: &Row| {
        let named = words.iter().any(|w| row.name.contains(w.as_str()));
        if row.large { words.contains(&row.name) } else { words.is_empty() || named }
    };
    let process = RunContext::new();
    let _raised = natmeter::priority::raise();
    println!("{:<32} {:>24} {:>24} {:>24} {:>20}", "row", "new", "left to right", "right to left", "growing / other");
    for row in rows().iter().filter(|row| wanted(row)) {
        match measure(&process, row) {
            Ok(cells) => println!("{:<32} {cells}", row.name),
            Err(e) => println!("{:<32} {e}", row.name),
        }
    }
}

fn scenario(row: &Row) -> Result<Scenario, String> {
    let sweep = if row.sessions > 0 { format!("[sweep]\nconnections = [{}]\n", row.sessions) } else { String::new() };
    let metrics = if row.sessions > 0 { "metrics = [\"max_conn_est_rate\"]" } else { "metrics = [\"throughput\"]" };
    let text = format!(
        "name = \"bench\"\n{}{sweep}[measure]\n{metrics}\nstart-delay = \"5 ms\"\ndrain = \"20 ms\"\n\
         settle = \"0 s\"\nphase1-drain = \"20 ms\"\n",
        row.tables
    );
    parse("bench.toml", &text, &Options::default(), tech::ALL).map(|l| l.scenario).map_err(|c| c.render(false))
}

fn measure(process: &RunContext, row: &Row) -> Result<String, String> {
    let scenario = scenario(row)?;
    let point = Plan::new(&scenario).measurements.first().ok_or("nothing to measure")?.point.clone();
    let mut rig = Rig::build(&scenario, &point, process).map_err(|e| e.to_string())?;
    let n = row.sessions;
    let trial = TrialSpec {
        direction: Direction::Forward,
        connections: n,
        ..TrialSpec::stateless(Rate(18_000_000), Load::For(Nanos::from_millis(70)))
    };
    let mut new = String::new();
    let mut kind = PhaseKind::Stateless;
    if n > 0 {
        let establish =
            TrialSpec { kind: PhaseKind::Establish, rate: Rate(10_000_000), load: Load::Frames(n), ..trial.clone() };
        // A second pass over a very large table needs minutes and gives the same result.
        let runs = if row.large { 1 } else { RUNS / 3 };
        new = cell((0..runs).map(|_| price(&mut rig, &establish)).collect::<Result<_, _>>()?);
        fill(&mut rig, &trial, n)?;
        kind = PhaseKind::Established;
    }
    let both = [Direction::Forward, Direction::Reverse];
    let both = both.map(|direction| TrialSpec { kind, direction, keep_table: n > 0, ..trial.clone() });
    let mut ns = [Vec::new(), Vec::new()];
    for run in 0..RUNS {
        // Each direction runs first in every other pair, so that neither has the host's better moments.
        for way in [run % 2, (run + 1) % 2] {
            ns[way].push(price(&mut rig, &both[way])?);
        }
    }
    let ratio = row.grows.map_or_else(String::new, |grows| match grows {
        Direction::Reverse => ratio(&ns[1], &ns[0]),
        _ => ratio(&ns[0], &ns[1]),
    });
    let [out, back] = ns.map(cell);
    Ok(format!("{new:>24} {out:>24} {back:>24} {ratio:>20}"))
}

/// Fills the table completely: repeats phase 1 if the host loses frames.
fn fill(rig: &mut Rig, trial: &TrialSpec, n: u64) -> Result<(), String> {
    let spec = TrialSpec {
        kind: PhaseKind::Established,
        phase1_rate: Some(Rate(1_000_000)),
        load: Load::Frames(1000),
        rate: Rate(100_000),
        ..trial.clone()
    };
    let learned = |o: &TrialOutcome| o.store.as_ref().map_or(0, |s| s.learned);
    let mut most = 0;
    for _ in 0..3 {
        most = most.max(learned(&rig.run(&spec).map_err(|e| e.to_string())?));
        if most == n {
            return Ok(());
        }
    }
    Err(format!("phase 1 set up {most} of {n} connections at best: the host is too busy, or the table too small"))
}

/// Returns nanoseconds per frame of the worker's time in one run of a trial.
fn price(rig: &mut Rig, spec: &TrialSpec) -> Result<f64, String> {
    rig.price();
    rig.run(spec).map_err(|e| e.to_string())?;
    let (nanos, frames) = rig.price().ok_or("the gateway does not answer")?;
    Ok(nanos as f64 / frames.max(1) as f64)
}

/// Median and best of several runs, and frames per second of the median.
fn cell(mut ns: Vec<f64>) -> String {
    ns.sort_by(f64::total_cmp);
    let median = ns[ns.len() / 2];
    format!("{median:.0} ({:.0}) ns = {:.1} M/s", ns[0], 1e3 / median)
}

/// Median of the ratio per pair of runs, with its interval: of 15 sorted values, the fourth to the twelfth.
fn ratio(growing: &[f64], other: &[f64]) -> String {
    let mut ratios: Vec<f64> = growing.iter().zip(other).map(|(growing, other)| growing / other).collect();
    ratios.sort_by(f64::total_cmp);
    format!("{:.2} ({:.2}–{:.2})", ratios[RUNS / 2], ratios[RUNS / 5], ratios[RUNS - 1 - RUNS / 5])
}
