//! Time and memory of the reports of a large run: `cargo run --release -p natmeter --example report_cost [TRIALS]`.
//!
//! Makes a run folder with at least TRIALS trials (default: 10,000) on simulated devices, then reads and renders it in each
//! format, in a process of its own.

use natmeter::rig::RunContext;
use natmeter::run::Run;
use record::folder::{Facts, Header};
use record::report::{KNOWN, Report};
use record::store::{RunFolder, TRIALS};
use scenario::{Options, parse};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Instant, SystemTime};

/// Trials of one repetition of the scenario, at least.
const TRIALS_OF_A_REPETITION: usize = 300;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match &arguments[..] {
        [folder, format] => report(Path::new(folder), format),
        [] => all(10_000),
        [trials] => match trials.parse() {
            Ok(trials) => all(trials),
            Err(_) => return ExitCode::from(2),
        },
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn all(trials: usize) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let began = Instant::now();
    let folder = make(dir.path(), trials);
    let count = std::fs::read_to_string(folder.join(TRIALS)).expect("the run has trials").lines().count();
    println!("{count} trials, made in {:.1} s", began.elapsed().as_secs_f64());
    for format in KNOWN {
        let this = std::env::current_exe().expect("the path of this program");
        let status = Command::new(this).arg(&folder).arg(format.name).status();
        assert!(status.is_ok_and(|status| status.success()), "{} failed", format.name);
    }
}

fn make(parent: &Path, trials: usize) -> std::path::PathBuf {
    let text = include_str!("report_cost.toml");
    let repetitions = trials.div_ceil(TRIALS_OF_A_REPETITION);
    let options = Options { set: vec![format!("repetitions={repetitions}")], ..Options::default() };
    let scenario =
        parse("report_cost.toml", text, &options, tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false)));
    let scenario = scenario.scenario;
    let plan = natmeter::forecast::plan(&scenario);
    let header = Header::new("2026-01-01T00:00:00Z".to_owned(), scenario, options, plan);
    let folder = RunFolder::create(parent, "cost", SystemTime::UNIX_EPOCH, text, &header).expect("a new folder");
    let path = folder.path().to_path_buf();
    Run::open(&header, folder, RunContext::new(), &mut ())
        .unwrap()
        .complete(Facts::default(), None)
        .expect("a whole run");
    path
}

/// CPU seconds of this process, which has one thread; other programs do not lengthen them.
fn cpu() -> f64 {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    statistics.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

/// Reads and renders a folder, and prints both times, CPU time and the peak of this process's memory.
fn report(folder: &Path, format: &str) {
    let began = Instant::now();
    let report = Report::from_folder(folder, tech::ALL).expect("a run folder");
    let (read, rendering) = (began.elapsed(), Instant::now());
    let text = report.render(format).expect("a known format");
    let rendered = rendering.elapsed();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!(
        "{format:16} read {:.3} s, rendered {:.3} s, CPU {:.3} s; {} bytes; peak memory {peak}",
        read.as_secs_f64(),
        rendered.as_secs_f64(),
        cpu(),
        text.len()
    );
    assert!(report.audit.findings.is_empty(), "{:?}", report.audit.findings);
}
