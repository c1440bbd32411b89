//! A run of a technology that does not ship, as a folder and as reports.

use crate::toy::{SCENARIO, TOYS};
use method::simulated::{SimulatedDut, Truth};
use method::{Criteria, Rate, TrialError, TrialOutcome, TrialRecord, TrialSpec, Trials, judge};
use record::audit::{self, Basis};
use record::folder::{Calibration, Ceiling, Facts, Header, Outcome, Over};
use record::plan::Plan;
use record::read::Record;
use record::report::{KNOWN, Report};
use record::search::Search;
use record::store::{CALIBRATION, FACTS, RunFolder, write_whole};
use scenario::{Options, Scenario, parse};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Writes each trial of a device of known truth, as a run does.
struct Recorded<'a> {
    device: SimulatedDut,
    folder: &'a mut RunFolder,
    measurement: String,
    criteria: Criteria,
    next_seq: &'a mut u64,
}

impl Trials for Recorded<'_> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let outcome = self.device.run(spec)?;
        let record = TrialRecord {
            seq: *self.next_seq,
            measurement: self.measurement.clone(),
            spec: spec.clone(),
            outcome: outcome.clone(),
            verdict: judge(spec, &outcome, &self.criteria),
        };
        *self.next_seq += 1;
        self.folder.append_trial(&record).map_err(|e| TrialError::Store(e.to_string()))?;
        Ok(outcome)
    }
}

fn calibration(header: &Header) -> Calibration {
    let ceiling = |connections| Ceiling {
        connections,
        over: Over::of(&header.scenario.link),
        workers: header.scenario.tester.workers,
        frames: Rate(15_000_000),
        set_up: Some(Rate(15_000_000)),
        send_ps: 10_000,
        receive_ps: 10_000,
        ..Ceiling::default()
    };
    let ceilings = header.scenario.sweep.connections.iter().copied().map(ceiling).collect();
    Calibration { ceilings, ..Calibration::default() }
}

fn header(scenario: Scenario) -> Header {
    let plan = Plan::new(&scenario);
    Header::new("2026-01-12T10:15:30Z".into(), scenario, Options::default(), plan)
}

fn record_run(parent: &Path) -> PathBuf {
    let loaded = parse("toy.toml", SCENARIO, &Options::default(), &TOYS).unwrap_or_else(|e| panic!("{e}"));
    let header = header(loaded.scenario);
    let mut folder = RunFolder::create(parent, "toy", SystemTime::UNIX_EPOCH, SCENARIO, &header).unwrap();
    let calibration = calibration(&header);
    let write =
        |file, text: serde_json::Result<String>| write_whole(&folder.path().join(file), &text.unwrap()).unwrap();
    write(CALIBRATION, serde_json::to_string(&calibration));
    write(FACTS, serde_json::to_string(&Facts::default()));
    let (mut known, mut next_seq) = (Vec::new(), 0);
    for m in &header.plan.measurements {
        let search = Search::new(m, &header.scenario, &calibration, &known).unwrap();
        let mut trials = Recorded {
            device: SimulatedDut::new(Truth::new(Rate(3_000_000), Rate(700_000)), 1),
            folder: &mut folder,
            measurement: m.key(),
            criteria: search.settings.criteria,
            next_seq: &mut next_seq,
        };
        let result = search.run(&mut trials, &mut |_| {}).unwrap();
        let outcome = Outcome::new(m.clone(), search.direction(), result);
        folder.append_outcome(&outcome).unwrap();
        known.push(outcome);
    }
    folder.path().to_path_buf()
}

#[test]
fn a_run_folder_and_every_report_have_it() {
    let parent = tempfile::tempdir().unwrap();
    let path = record_run(parent.path());
    audit::check_resumable(&Record::read(&path, &TOYS).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let report = Report::from_folder(&path, &TOYS).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((report.audit.basis, &report.audit.findings[..]), (Basis::DerivedAgain, &[][..]));
    for format in KNOWN {
        let text = report.render(format.name).unwrap();
        assert!(text.to_lowercase().contains("toy"), "{}: {text}", format.name);
    }
    let others = Report::from_folder(&path, tech::ALL).unwrap_err().to_string();
    assert!(others.contains("unknown table [technology.toy]"), "{others}");
}
