//! Reads the record of a run, also of earlier versions. The scenario is parsed again from its text, with the options of the run.

pub(crate) mod device;
mod version1;

use crate::folder::{
    Calibration, CommandLine, Facts, Header, NullDevice, Outcome, RECORD, RECORD_WITHOUT_VERSION, SelfTest,
    recorded_defaults, writer_in_words,
};
use crate::plan::Plan;
use crate::store::{self, Dir, StoreError};
use method::TrialRecord;
use scenario::{Complaints, Lists, Options, Scenario, Sequence};
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{}: version {found} of the run folder is unknown, this natmeter reads versions 1 to {RECORD}; \
         use {natmeter}, which wrote it, or a later one",
        .path.display()
    )]
    Later { path: PathBuf, found: u32, natmeter: String },
    #[error("{}: the scenario of this run is not valid; restore the file from a copy\n{}", .path.display(), .complaints.render(false))]
    Scenario { path: PathBuf, complaints: Box<Complaints> },
    #[error("{}: it does not name the runs below `parts`; restore it from a copy", .0.display())]
    Parts(PathBuf),
}

/// Refuses a file from a natmeter with a later version of run folders.
pub(crate) fn check_version(path: &Path, found: u32, version: &str, commit: Option<&str>) -> Result<(), RecordError> {
    if found <= RECORD {
        return Ok(());
    }
    Err(RecordError::Later { path: path.to_path_buf(), found, natmeter: writer_in_words(version, commit) })
}

/// The content of a run folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub header: Header,
    pub scenario_text: String,
    pub facts: Facts,
    pub calibration: Option<Calibration>,
    pub self_test: Option<SelfTest>,
    /// Finished measurements, in the order of their lines.
    pub outcomes: Vec<Outcome>,
    /// Trials, in the order of their lines.
    pub trials: Vec<TrialRecord>,
    /// Measurements of the null device, in the order of their lines.
    pub nulls: Vec<NullDevice>,
    pub commands: Vec<CommandLine>,
    /// Files that end in an incomplete line, and the octets of that line.
    pub torn: Vec<(&'static str, u64)>,
    /// Files that a run writes before its first trial, and that are missing although it has trials or results.
    pub missing: Vec<&'static str>,
}

impl Record {
    /// Reads a run folder, finished or not, without changing it.
    pub fn read(folder: &Path, lists: impl Into<Lists>) -> Result<Record, RecordError> {
        Record::below(&Dir::of_run(folder)?, lists.into())
    }

    pub(crate) fn below(folder: &Dir, lists: Lists) -> Result<Record, RecordError> {
        Ok(Record::of(header_below(folder, lists)?, folder)?)
    }

    /// Reads the files of a run other than its header.
    pub fn of(header: Header, folder: &Dir) -> Result<Record, StoreError> {
        folder.see_that_files_are_regular()?;
        let outcomes = device::outcomes(folder, &header.scenario)?;
        let trials = folder.lines::<TrialRecord>(store::TRIALS)?;
        let commands = folder.lines::<CommandLine>(store::COMMANDS)?;
        let nulls = device::nulls(folder, &header.scenario)?;
        let torn = [
            (store::RESULTS, outcomes.torn),
            (store::TRIALS, trials.torn),
            (store::NULLS, nulls.torn),
            (store::COMMANDS, commands.torn),
        ];
        let begun = !(trials.values.is_empty() && outcomes.values.is_empty());
        let missing = [store::TRIALS, store::RESULTS, store::COMMANDS, store::EVENTS, store::FACTS];
        let missing = missing.into_iter().filter(|file| begun && !folder.has(file));
        Ok(Record {
            scenario_text: scenario_text(folder)?,
            missing: missing.collect(),
            facts: folder.document(store::FACTS)?.unwrap_or_default(),
            calibration: folder.document(store::CALIBRATION)?,
            self_test: folder.document(store::SELF_TEST)?,
            outcomes: outcomes.values,
            trials: trials.values,
            nulls: nulls.values,
            commands: commands.values,
            torn: torn.into_iter().filter_map(|(file, torn)| Some((file, torn?))).collect(),
            header,
        })
    }
}

/// The fields that every version of the header has.
#[derive(Deserialize)]
struct Versions {
    #[serde(default = "without_version")]
    record: u32,
    version: String,
    commit: Option<String>,
}

fn without_version() -> u32 {
    RECORD_WITHOUT_VERSION
}

/// The header as versions 1 to 3 write it.
#[derive(Deserialize)]
pub(crate) struct StoredHeader {
    #[serde(default = "without_version")]
    record: u32,
    pub(crate) version: String,
    commit: Option<String>,
    rules: Option<u32>,
    order: Option<String>,
    pub(crate) started: String,
    options: Option<Options>,
    pub(crate) scenario: serde_json::Value,
    pub(crate) plan: Plan,
}

/// Reads the header of a run folder, and the scenario from its text.
pub fn header(folder: &Path, lists: impl Into<Lists>) -> Result<Header, RecordError> {
    header_below(&Dir::of_run(folder)?, lists.into())
}

/// Reads the header as stored, without the scenario's text.
pub(crate) fn stored_header(folder: &Dir) -> Result<StoredHeader, RecordError> {
    let missing = || not_a_run(folder, store::HEADER);
    let versions: Versions = folder.document(store::HEADER)?.ok_or_else(missing)?;
    check_version(&folder.path_of(store::HEADER), versions.record, &versions.version, versions.commit.as_deref())?;
    Ok(folder.document(store::HEADER)?.ok_or_else(missing)?)
}

fn header_below(folder: &Dir, lists: Lists) -> Result<Header, RecordError> {
    let stored = stored_header(folder)?;
    let (scenario, options) = scenario_of(folder, &stored, lists)?;
    device::check_plan(folder, &stored.plan, &scenario)?;
    Ok(Header {
        record: stored.record,
        version: stored.version,
        commit: stored.commit,
        rules: stored.rules,
        order: stored.order.unwrap_or_else(|| Sequence::PointByPoint.name().to_owned()),
        started: stored.started,
        options,
        scenario,
        plan: stored.plan,
    })
}

fn not_a_run(folder: &Dir, missing: &'static str) -> StoreError {
    StoreError::NotARun { path: folder.path().to_path_buf(), missing }
}

pub(crate) fn scenario_text(folder: &Dir) -> Result<String, StoreError> {
    folder.text(store::SCENARIO)?.ok_or_else(|| not_a_run(folder, store::SCENARIO))
}

fn scenario_of(folder: &Dir, stored: &StoredHeader, lists: Lists) -> Result<(Scenario, Options), RecordError> {
    let (text, path) = (scenario_text(folder)?, folder.path_of(store::SCENARIO));
    let name = path.display().to_string();
    let Some(options) = &stored.options else {
        return Ok(version1::scenario(&name, &text, &stored.scenario, lists)?);
    };
    let read = scenario::parse_recorded(recorded_defaults(stored.record, stored.rules), &name, &text, options, lists);
    let read = read.map_err(|complaints| RecordError::Scenario { path, complaints: complaints.into() });
    Ok((read?.scenario, options.clone()))
}
