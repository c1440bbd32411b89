//! A report as a document: what was measured, found and doubted, as typed blocks. Every format prints the same document.

use crate::glance::Glance;
use crate::section::{Finding, Pairs, Section};
use crate::table::Table;

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Title: the name of the run.
    pub title: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The label: whether the procedure conforms, and the test bed.
    pub label: String,
    /// Version of natmeter.
    pub version: String,
    /// How that natmeter was built, if that is known.
    pub build: Option<String>,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// What the scenario says about itself.
    pub about: String,
    /// The first screen.
    pub glance: Glance,
    /// How many measurements, of what.
    pub measured: String,
    /// Measurements without a result, and why.
    pub missing: Vec<String>,
    /// The results in sentences.
    pub sentences: Sentences,
    /// Doubts about the results.
    pub doubts: Vec<String>,
    /// Departures of the procedure from the RFCs.
    pub departures: Vec<String>,
    /// The results.
    pub results: Vec<Table>,
    /// Terms of the tables.
    pub terms: Pairs,
    /// Figures that compare results.
    pub comparisons: Vec<Section>,
    /// What procedures, models and other results add.
    pub sections: Vec<Section>,
    /// Figures that show how the results came about.
    pub details: Vec<Section>,
    /// Comparisons with the nearest published values.
    pub published: PublishedValues,
    /// Command line, build and test bed.
    pub run: Pairs,
    /// Traffic and trials.
    pub conditions: Pairs,
    /// The tester's limits.
    pub limits: Pairs,
    /// What the judge counted, if there was a trial.
    pub judge_counts: Option<String>,
    /// Verdict and checks of the self-test.
    pub self_test: Option<(Verdict, Table)>,
    /// Facts of tester and devices.
    pub facts: Vec<Pairs>,
    /// Commands that were run on devices.
    pub commands: Vec<Command>,
}

/// The results in sentences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentences {
    /// Sentences for each device: rates and their bounds; then that the device limited them.
    pub found: Vec<String>,
    /// How sure they are, with all reasons.
    pub sure: String,
    /// What was found at single points.
    pub findings: Vec<Finding>,
    /// The models.
    pub models: Vec<String>,
    /// The comparison with the nearest published value.
    pub comparison: Option<String>,
    /// How many points were repeated, if any.
    pub repeated: Option<String>,
    /// The kind of run, and whether it is complete.
    pub kind: String,
}

impl Sentences {
    /// All sentences in order.
    pub fn all(&self) -> Vec<String> {
        let mut all = self.without(&[]);
        all.insert(self.found.len(), self.sure.clone());
        all
    }

    /// All sentences but how sure they are and these findings.
    pub fn without(&self, elsewhere: &[&Finding]) -> Vec<String> {
        let findings = self.findings.iter().filter(|finding| !elsewhere.contains(finding)).map(Finding::to_string);
        let rest = self.comparison.iter().chain(&self.repeated).chain([&self.kind]).cloned();
        self.found.iter().cloned().chain(findings).chain(self.models.iter().cloned()).chain(rest).collect()
    }
}

/// Measured values beside the nearest published ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedValues {
    /// The conditions of all measured values.
    pub conditions: String,
    /// One a published value.
    pub values: Vec<Comparison>,
    /// The documents cited.
    pub documents: Vec<String>,
}

impl PublishedValues {
    /// Heading of the comparisons.
    pub const TITLE: &str = "Compared with published results";
}

/// A published value with the measured values beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The measured values: device, value, ratio, conditions.
    pub table: Table,
    /// The published value and its conditions.
    pub published: String,
    /// Document and table.
    pub source: String,
    /// Notes.
    pub notes: Vec<String>,
}

/// A verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All passed.
    Passed,
    /// Some could not be decided.
    Inconclusive,
    /// Some failed.
    Failed,
}

/// A command that was run on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Time, place, reason and exit status, in words.
    pub head: String,
    /// The command and its output.
    pub text: String,
}

/// A file inside a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Name of the file.
    pub name: String,
    /// What the file is.
    pub about: String,
    /// Media type.
    pub media: &'static str,
    /// Text of the file.
    pub text: String,
}

/// A part of a document of tables, with its heading.
#[derive(Clone, Debug, Default)]
pub struct DocumentPart {
    /// Heading of the part.
    pub title: String,
    /// Paragraphs before the tables.
    pub paragraphs: Vec<String>,
    /// Tables of the part.
    pub tables: Vec<Table>,
}

impl DocumentPart {
    fn new(title: &str, tables: impl IntoIterator<Item = Table>) -> DocumentPart {
        DocumentPart { title: title.to_owned(), tables: tables.into_iter().collect(), ..DocumentPart::default() }
    }
}

/// Documents of tables, such as Markdown and LaTeX, have no figures: their parts are tables with paragraphs.
impl Document {
    /// Scenario, tester and the results in sentences: the paragraphs before the first part.
    pub fn paragraphs(&self) -> Vec<String> {
        let build = self.build.as_ref().map_or_else(String::new, |build| format!(" Build: {build}."));
        let measured =
            format!("Measured with natmeter {}, started {}; {}.{build}", self.version, self.started, self.label);
        let mut all = vec![self.about.clone(), measured];
        all.extend(self.sentences.all());
        all.retain(|text| !text.trim().is_empty());
        all
    }

    /// The parts that have a table.
    pub fn parts(&self) -> Vec<DocumentPart> {
        let numbered = |title: &str, head, items: &[String]| Pairs::numbered(title, head, items).table();
        let mut parts = vec![
            DocumentPart::new("Doubts", numbered("Doubts about the results", "doubt", &self.doubts)),
            DocumentPart::new(
                "Departures",
                numbered("Departures of the procedure from the RFCs", "departure", &self.departures),
            ),
            DocumentPart::new("Results", self.results.clone()),
            DocumentPart::new("Terms", self.terms.table()),
        ];
        parts.extend(self.sections.iter().map(|section| DocumentPart {
            paragraphs: vec![section.paragraph()],
            ..DocumentPart::new(&section.title, section.tables.clone())
        }));
        parts.extend([
            self.published.part(),
            DocumentPart::new("Conditions", self.conditions.table().into_iter().chain(self.limits.table())),
            DocumentPart::new("Self-test", self.self_test.iter().map(|(_, table)| table.clone())),
            DocumentPart::new("Facts", self.facts.iter().filter_map(Pairs::table)),
        ]);
        parts.retain(|part| !part.tables.is_empty());
        parts
    }
}

impl PublishedValues {
    fn part(&self) -> DocumentPart {
        let table = |compared: &Comparison| {
            let published = format!("Published: {} ({}).", compared.published, compared.source);
            let notes = [published].into_iter().chain(compared.notes.clone()).collect();
            Table { notes, ..compared.table.clone() }
        };
        let paragraphs = [&self.conditions].into_iter().chain(&self.documents).cloned().collect();
        DocumentPart { paragraphs, ..DocumentPart::new(PublishedValues::TITLE, self.values.iter().map(table)) }
    }
}
