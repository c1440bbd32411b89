//! Whole runs on the simulated device, shared by several tests.

use method::TrialRecord;
use natmeter::forecast;
use natmeter::rig::RunContext;
use natmeter::run::Run;
use record::folder::{Facts, Header, Outcome};
use record::store::{Dir, RunFolder, TRIALS};
use scenario::{Options, parse};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(crate) const SCENARIO: &str = r#"
name = "simulated"
about = "A device of known truth."
[dut.simulated]
capacity = "3 Mfps"
set-up-rate = "700k"
seed = 5
[sweep]
connections = ["100k", "1M"]
[measure]
metrics = ["max_conn_est_rate", "throughput"]
repetitions = 2
duration = "100 ms"
error = "1 %"
"#;

/// Eight measurements: two connection counts, two metrics, twice.
pub(crate) fn header() -> Header {
    header_of(SCENARIO, Options::default())
}

pub(crate) fn set(set: &[&str]) -> Options {
    Options { set: set.iter().map(|&set| set.to_owned()).collect(), ..Options::default() }
}

pub(crate) fn header_of(text: &str, options: Options) -> Header {
    let scenario =
        parse("simulated.toml", text, &options, tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false))).scenario;
    let plan = forecast::plan(&scenario);
    Header::new("2026-01-01T00:00:00Z".into(), scenario, options, plan)
}

pub(crate) fn run(parent: &Path, header: &Header) -> (PathBuf, Vec<Outcome>) {
    run_of(parent, SCENARIO, header)
}

pub(crate) fn run_of(parent: &Path, text: &str, header: &Header) -> (PathBuf, Vec<Outcome>) {
    let (path, folder) = folder_of(parent, text, header);
    (path, Run::open(header, folder, RunContext::new(), &mut ()).unwrap().complete(Facts::default(), None).unwrap())
}

pub(crate) fn folder(parent: &Path, header: &Header) -> (PathBuf, RunFolder) {
    folder_of(parent, SCENARIO, header)
}

pub(crate) fn folder_of(parent: &Path, text: &str, header: &Header) -> (PathBuf, RunFolder) {
    let folder = RunFolder::create(parent, "simulated", SystemTime::UNIX_EPOCH, text, header).unwrap();
    (folder.path().to_path_buf(), folder)
}

pub(crate) fn resume(path: &Path, header: &Header) -> Vec<Outcome> {
    let (folder, _) = RunFolder::open_for_resume(path).unwrap();
    Run::open(header, folder, RunContext::new(), &mut ()).unwrap().complete(Facts::default(), None).unwrap()
}

pub(crate) fn trials(path: &Path) -> Vec<TrialRecord> {
    Dir::open(path).unwrap().lines(TRIALS).unwrap().values
}
