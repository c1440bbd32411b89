//! Prints how long an index of a million trials takes: `cargo run --release -p natmeter-record --example index_trials`.
//! An argument gives another number of trials. The trials are in run folders of 10,000 each.

#![allow(clippy::disallowed_methods)]

use method::trial::{Leg, Load, PhaseKind, TrialOutcome, TrialSpec};
use method::validity::{FailReason, Failure, Stream};
use method::{Direction, Nanos, Order, Rate, ResponderTable, TrialOptions, TrialRecord, Verdict};
use record::folder::Header;
use record::index::{FILE, index};
use record::plan::Plan;
use record::store::TRIALS;
use scenario::{Options, parse};
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

const SCENARIO: &str = "name = \"many\"\n[dut.simulated]\n[sweep]\nconnections = [\"100k\", \"1M\"]\n[measure]\n\
metrics = [\"max_conn_est_rate\", \"throughput\"]\nrepetitions = 20\n";
const TRIALS_OF_A_RUN: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let trials: u64 = std::env::args_os().nth(1).map_or(Ok(1_000_000), |number| number.to_string_lossy().parse())?;
    let parent = tempfile::tempdir()?;
    let mut octets = 0;
    for run in 0..trials.div_ceil(TRIALS_OF_A_RUN) {
        let folder = parent.path().join(format!("many-{run:06}"));
        octets += write_run(&folder, TRIALS_OF_A_RUN.min(trials - run * TRIALS_OF_A_RUN))?;
    }
    let file = parent.path().join(FILE);
    let start = Instant::now();
    let indexed = index(parent.path(), &file, tech::ALL)?;
    let seconds = start.elapsed().as_secs_f64();
    let size = fs::metadata(&file)?.len();
    println!(
        "{} trials of {} runs, {:.0} MB: index of {:.0} MB in {seconds:.1} s",
        indexed.trials,
        indexed.runs,
        octets as f64 / 1e6,
        size as f64 / 1e6
    );
    Ok(())
}

/// Writes a run folder, and returns the octets of its trials.
fn write_run(folder: &Path, trials: u64) -> Result<u64, Box<dyn Error>> {
    let scenario =
        parse("scenario.toml", SCENARIO, &Options::default(), tech::ALL).map_err(|wrong| wrong.render(false))?;
    let scenario = scenario.scenario;
    let plan = Plan::new(&scenario);
    let header = Header::new("2026-01-01T00:00:00Z".to_owned(), scenario, Options::default(), plan);
    fs::create_dir(folder)?;
    fs::write(folder.join("scenario.toml"), SCENARIO)?;
    fs::write(folder.join("run.json"), serde_json::to_string(&header)?)?;
    let path = folder.join(TRIALS);
    let mut file = BufWriter::new(File::create(&path)?);
    for seq in 0..trials {
        let measurement = &header.plan.measurements[(seq % header.plan.measurements.len() as u64) as usize];
        serde_json::to_writer(&mut file, &trial(seq, measurement.key()))?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    Ok(fs::metadata(path)?.len())
}

/// A trial as of a throughput search: three of four pass.
fn trial(seq: u64, measurement: String) -> TrialRecord {
    let duration = Nanos::from_secs(1);
    let (rate, lost) = (1_000_000 + seq % 4_096, if seq.is_multiple_of(4) { 1_234 } else { 0 });
    let leg = Leg { planned: rate, sent: rate, received: rate - lost, send_time: duration, ..Leg::default() };
    let reason = FailReason::Loss { stream: Stream::Forward, sent: rate, received: rate - lost, needed: rate };
    TrialRecord {
        seq,
        measurement,
        spec: TrialSpec {
            kind: PhaseKind::Established,
            rate: Rate(rate),
            load: Load::For(duration),
            direction: Direction::Both,
            connections: 100_000,
            phase1_rate: Some(Rate(500_000)),
            validate_rate: None,
            keep_table: false,
            responder_order: Order::Random,
            responder_table: ResponderTable::Keep,
            options: TrialOptions::default(),
        },
        outcome: TrialOutcome { forward: leg.clone(), reverse: leg, ..TrialOutcome::default() },
        verdict: if lost > 0 { Verdict::Fail(Failure { reason, closed_loop: false }) } else { Verdict::Pass },
    }
}
