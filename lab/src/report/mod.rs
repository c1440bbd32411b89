//! The report of a run: a model derived from the run folder alone, and the list of formats in which it is printed.
//! Same folder, same bytes: nothing here reads a clock, the environment or anything outside the folder.

pub mod cell;
mod conformance;
mod csv;
mod facts;
mod figure;
mod html;
mod json;
mod limits;
pub mod number;
pub mod published;
mod scale;
mod sentences;
mod svg;
mod table;
mod terms;
mod text;
mod words;

use crate::folder::{Calibration, CommandLine, Facts, Header, Outcome, SelfTest};
use crate::store::{self, StoreError, read_document, read_lines};
use cell::Cell;
pub use conformance::Conformance;
use method::TrialRecord;
use published::Beside;
use serde::Serialize;
use std::path::{Path, PathBuf};
pub use words::median as table_value;

/// A format in which a report is printed.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Extension of a file that holds it.
    pub extension: &'static str,
    /// What it is for.
    pub about: &'static str,
    render: fn(&Report) -> String,
}

/// The known formats.
pub const KNOWN: &[Format] = &[text::FORMAT, csv::FORMAT, json::FORMAT, html::FORMAT];

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The folder cannot be read.
    #[error("the run cannot be reported: {0}")]
    Store(#[from] StoreError),
    /// No such format.
    #[error("there is no format `{name}`: use one of {}", KNOWN.iter().map(|f| f.name).collect::<Vec<_>>().join(", "))]
    Format {
        /// What was asked for.
        name: String,
    },
    /// The folder is none of ours.
    #[error("{} is not a run folder ({} is missing): name the folder that `natmeter run` printed", .0.display(), store::HEADER)]
    NotARun(PathBuf),
}

/// Everything that a report says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Scenario, plan, version, time.
    pub header: Header,
    /// Whether the figures may be called results of RFC 2544 and RFC 9693.
    pub conformance: Conformance,
    /// Finished measurements.
    pub measured: usize,
    /// Planned measurements.
    pub planned: usize,
    /// Last lines: what was found, in sentences.
    pub sentences: Vec<String>,
    /// The results.
    pub cells: Vec<Cell>,
    /// Published values nearest to them.
    pub beside: Vec<Beside>,
    /// What may spoil the results.
    pub doubts: Vec<String>,
    /// The tester's own limits.
    pub calibration: Option<Calibration>,
    /// Verdict of the self-test.
    pub self_test: Option<SelfTest>,
    /// Facts of tester and DUTs.
    pub facts: Facts,
    /// Commands run on the DUTs.
    pub commands: Vec<CommandLine>,
    /// What the judge counted over all trials.
    pub judged: facts::Judged,
}

impl Report {
    /// Read a run folder, finished or not, without changing it.
    ///
    /// # Errors
    /// When it is no run folder, or a whole line of it cannot be read.
    pub fn from_folder(path: &Path) -> Result<Report, ReportError> {
        let header: Header =
            read_document(&path.join(store::HEADER))?.ok_or_else(|| ReportError::NotARun(path.into()))?;
        let outcomes = read_lines::<Outcome>(&path.join(store::RESULTS))?;
        let trials = read_lines::<TrialRecord>(&path.join(store::TRIALS))?;
        let commands = read_lines::<CommandLine>(&path.join(store::COMMANDS))?;
        let torn = [(store::RESULTS, outcomes.torn), (store::TRIALS, trials.torn), (store::COMMANDS, commands.torn)];
        let (outcomes, trials) = (outcomes.values, trials.values);
        let cells = cell::group(&header.scenario, &header.plan, &outcomes, &trials);
        let self_test: Option<SelfTest> = read_document(&path.join(store::SELF_TEST))?;
        let found = conformance::Found { cells: &cells, trials: &trials, self_test: self_test.as_ref() };
        let mut report = Report {
            conformance: Conformance::of(&header.scenario, &found),
            measured: outcomes.len(),
            planned: header.plan.measurements.len(),
            sentences: Vec::new(),
            cells,
            beside: Vec::new(),
            doubts: Vec::new(),
            calibration: read_document(&path.join(store::CALIBRATION))?,
            self_test,
            facts: read_document(&path.join(store::FACTS))?.unwrap_or_default(),
            commands: commands.values,
            judged: facts::Judged::of(&trials, header.scenario.traffic.ttl),
            header,
        };
        report.beside = published::beside(&report);
        report.doubts = facts::doubts(&report, &torn);
        report.sentences = sentences::of(&report);
        Ok(report)
    }

    /// Print in one of the [`KNOWN`] formats.
    ///
    /// # Errors
    /// When there is no such format.
    pub fn render(&self, format: &str) -> Result<String, ReportError> {
        let known = KNOWN.iter().find(|f| f.name == format);
        known.map(|f| (f.render)(self)).ok_or_else(|| ReportError::Format { name: format.to_owned() })
    }

    /// What was found, in sentences.
    pub fn sentences(&self) -> &[String] {
        &self.sentences
    }

    /// The name of the run: scenario and start, as in the folder's name.
    pub fn run_name(&self) -> String {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let (date, time) = self.header.started.split_once('T').unwrap_or((&self.header.started, ""));
        format!("{}-{}-{}", self.header.scenario.name, digits(date), digits(time))
    }
}
