//! The report of a run: a model derived from the run folder alone, and the formats that print it. The same folder gives the
//! same bytes: nothing here reads a clock, the environment or anything outside the folder.

mod bottleneck;
mod conformance;
mod content;
mod csv;
mod csv_long;
mod doubts;
mod evidence;
pub(crate) mod facts;
mod figure;
mod files;
mod glance;
mod json;
pub mod judged;
mod junit;
mod limits;
pub mod model;
pub mod no_rate;
mod openmetrics;
pub(crate) mod parts;
mod plain;
pub mod published;
mod remarks;
pub mod result;
mod saved;
mod section;
mod sentences;
mod series;
pub mod sizing;
mod sure;
mod table;
mod terms;
pub(crate) mod value;
pub mod ways;

use crate::audit::{Audit, audit};
use crate::enough::StoppingRule;
use crate::folder::{Calibration, CommandLine, Facts, Header, NullDevice, Outcome, SelfTest};
use crate::import::Series;
use crate::merge;
use crate::printable::printable;
use crate::read::{Record, RecordError};
use crate::visit;
pub use conformance::Conformance;
use content::document;
pub use document::number;
use document::report::Sentences;
use document::text;
pub(crate) use figure::in_unit;
use published::NearestPublished;
use result::{PointResult, Sure, SureWord};
use scenario::Lists;
use schemars::JsonSchema;
use section::shape::Shape;
use serde::Serialize;
use std::path::Path;

/// The median of a result as tables print it.
pub fn table_value(result: &PointResult) -> String {
    value::median(result).to_string()
}

/// The screen on which a text report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its columns; used between [`Screen::NARROWEST`] and [`Screen::WIDEST`].
    pub columns: usize,
    /// Whether to print everything, or what fits one screen.
    pub verbose: bool,
}

impl Screen {
    pub const NARROWEST: usize = text::NARROWEST;
    pub const WIDEST: usize = text::WIDEST;
    /// Where the columns are not known, such as in a file.
    pub const USUAL: Screen = Screen { columns: 80, verbose: false };
}

#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    /// Extension of a file that holds it.
    pub extension: &'static str,
    /// Its purpose, in one line.
    pub about: &'static str,
    render: fn(&Report) -> String,
}

pub const KNOWN: &[Format] = &[
    Format {
        name: "text",
        extension: "txt",
        about: "tables and bars for a terminal",
        render: |report| report.printed(Screen::USUAL),
    },
    csv::FORMAT,
    csv_long::FORMAT,
    json::FORMAT,
    Format {
        name: "html",
        extension: "html",
        about: "a page with figures, for a browser",
        render: |report| document::html::render(&document(report), &files::of(report)),
    },
    Format {
        name: "markdown",
        extension: "md",
        about: "tables for an issue, a wiki or a pull request",
        render: |report| document::markdown::render(&document(report)),
    },
    Format {
        name: "latex",
        extension: "tex",
        about: "a LaTeX document with booktabs tables, for a paper",
        render: |report| document::latex::render(&document(report)),
    },
    Format {
        name: "xml2rfc",
        extension: "xml",
        about: "an Internet-Draft in XML, which xml2rfc renders",
        render: |report| document::xml2rfc::draft(&document(report)),
    },
    Format {
        name: "xml2rfc-section",
        extension: "xml",
        about: "a section in XML, to paste into an Internet-Draft",
        render: |report| document::xml2rfc::section(&document(report)),
    },
    Format {
        name: "rfc-text",
        extension: "txt",
        about: "plain-text tables of 72 columns in ASCII, for an RFC or a mail",
        render: |report| document::rfc_text::render(&document(report)),
    },
    junit::FORMAT,
    openmetrics::FORMAT,
];

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The folder cannot be read, or is no run folder.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No such format.
    #[error("`{name}` is not a report format: use one of {}", KNOWN.iter().map(|f| f.name).collect::<Vec<_>>().join(", "))]
    Format {
        /// The requested name.
        name: String,
    },
}

/// The model of a report.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Scenario, plan, version, time.
    pub header: Header,
    /// Basis of verdicts and results, and damage of the record.
    pub audit: Audit,
    /// The text of the scenario; the run folder has it.
    #[serde(skip)]
    pub scenario_text: String,
    /// The label: whether the procedure conforms, and the test bed.
    pub conformance: Conformance,
    /// Finished measurements.
    pub measured: usize,
    /// Planned measurements.
    pub planned: usize,
    /// Points that were repeated because the null device changed. The results are those of the repetitions.
    pub repeated_points: usize,
    /// The results in sentences.
    pub sentences: Vec<String>,
    /// The same, by what they are about.
    #[serde(skip)]
    said: Sentences,
    /// How sure the results are: the word of the least sure one.
    pub how_sure: Sure,
    /// The results.
    pub results: Vec<PointResult>,
    /// Models of the series of results over cores and over connections.
    pub models: Vec<model::Model>,
    /// Comparison with the nearest published values.
    pub beside: Vec<NearestPublished>,
    /// The shapes of series beside published ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<Shape>,
    /// Results of other testers that the report prints beside the run; none of the run folder.
    #[serde(skip)]
    pub imported: Vec<Series>,
    /// The limits, judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<judged::JudgedLimit>,
    /// Doubts about the results.
    pub doubts: Vec<String>,
    /// The tester's own limits.
    pub calibration: Option<Calibration>,
    /// Verdict of the self-test.
    pub self_test: Option<SelfTest>,
    /// Facts of tester and DUTs.
    pub facts: Facts,
    /// Commands run on the DUTs.
    pub commands: Vec<CommandLine>,
    /// Counters of the judge over all trials.
    pub judged: facts::TrialCounts,
}

impl Report {
    /// Reads a run folder, finished or not, or one that joins several runs, without changing it, and audits its record.
    ///
    /// # Errors
    /// If it is not a run folder, or a complete line cannot be read.
    pub fn from_folder(path: &Path, lists: impl Into<Lists>) -> Result<Report, ReportError> {
        let lists = lists.into();
        let (record, audit) = if merge::is_merged(path) {
            merge::read(path, lists)?
        } else {
            let record = Record::read(path, lists)?;
            let audit = audit(&record);
            (record, audit)
        };
        Ok(Report::of(record, audit))
    }

    pub fn of(record: Record, audit: Audit) -> Report {
        let Record {
            header,
            scenario_text,
            mut facts,
            calibration,
            mut self_test,
            outcomes,
            trials,
            nulls,
            commands,
            torn,
            missing,
        } = record;
        plain::facts(&mut facts);
        self_test.iter_mut().flat_map(|test| &mut test.checks).for_each(plain::check);
        let repeated_points = visit::repeated_points(&outcomes);
        let evidence: Vec<NullDevice> = visit::evidence(&nulls, &outcomes).cloned().collect();
        let outcomes: Vec<Outcome> = visit::standing(&outcomes).cloned().collect();
        let mut results = result::group(&header.scenario, &header.plan, &outcomes, &trials, &evidence);
        let enough = StoppingRule::of(&header.scenario, &outcomes);
        header.plan.measurements.iter().filter(|m| enough.is_last(m)).for_each(|m| result::end(&mut results, m));
        let found = conformance::RunResults { results: &results, trials: &trials, self_test: self_test.as_ref() };
        let mut report = Report {
            conformance: Conformance::of(&header.scenario, &found),
            audit,
            scenario_text,
            measured: outcomes.len(),
            planned: header.plan.measurements.iter().filter(|m| !enough.is_enough(m)).count(),
            repeated_points,
            sentences: Vec::new(),
            said: Sentences::default(),
            how_sure: Sure { word: SureWord::High, reasons: Vec::new() },
            models: model::Model::all(&results),
            results,
            beside: Vec::new(),
            shapes: Vec::new(),
            imported: Vec::new(),
            limits: Vec::new(),
            doubts: Vec::new(),
            calibration,
            self_test,
            facts,
            commands,
            judged: facts::TrialCounts::of(&trials, &header),
            header,
        };
        report.beside = published::beside(&report);
        report.shapes = section::shapes(&report);
        let how_sure: Vec<Sure> = report.results.iter().map(|result| sure::of_result(&report, result)).collect();
        report.results.iter_mut().zip(how_sure).for_each(|(result, sure)| result.how_sure = Some(sure));
        report.how_sure = sure::of(&report);
        report.doubts = doubts::of(&report, &torn, &missing);
        report.said = sentences::of(&report);
        report.sentences = report.said.all();
        let limits = report.header.scenario.limits.clone();
        report.judge(&limits, None);
        report
    }

    /// Renders the report in one of the [`KNOWN`] formats.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn render(&self, format: &str) -> Result<String, ReportError> {
        let known = KNOWN.iter().find(|f| f.name == format);
        known
            .map(|f| printable(&(f.render)(self)).into_owned())
            .ok_or_else(|| ReportError::Format { name: format.to_owned() })
    }

    /// Renders the text report for a screen.
    pub fn text(&self, screen: Screen) -> String {
        printable(&self.printed(screen)).into_owned()
    }

    fn printed(&self, Screen { columns, verbose }: Screen) -> String {
        document::text::render(&document(self), columns, verbose)
    }

    fn technology(&self, result: &PointResult) -> &'static str {
        self.header.scenario.duts.get(result.dut).map_or("", |dut| dut.function())
    }

    /// The name of the run: scenario and start, as in the folder's name.
    pub fn run_name(&self) -> String {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let (date, time) = self.header.started.split_once('T').unwrap_or((&self.header.started, ""));
        format!("{}-{}-{}", self.header.scenario.name, digits(date), digits(time))
    }
}
