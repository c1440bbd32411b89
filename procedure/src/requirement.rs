//! What RFCs require of each metric. A document is one file with a row for each of its requirements; a row says what the document
//! asks, of which metrics, and whether natmeter meets it: always, never, or according to the settings and the record of a run.
//! The label of a run follows from these rows.

mod assessment;
mod check;
mod conditions;
mod metrics;
mod natmeter;
mod page;
mod rfc2544;
mod rfc3511;
mod rfc4814;
mod rfc5180;
mod rfc6201;
mod rfc8219;
mod rfc9004;
mod rfc9693;
mod rfc9971;

pub use assessment::{Assessment, Compliance, Departure};
pub use check::Finding;
pub use conditions::{Conditions, Device, Goal, Nature, Path, Phase1, Repetitions, Run, Search, Traffic, Trial};
pub use metrics::Metrics;
pub use page::{of_metrics, page};

use crate::Metric;

/// A document with its requirements.
#[derive(Debug)]
pub struct Document {
    /// Name of the document.
    pub name: &'static str,
    /// Title, or what the document is about.
    pub title: &'static str,
    /// Whether it is an RFC: a metric without requirements of an RFC is defined by natmeter.
    pub is_rfc: bool,
    /// Requirements, in the order of the text.
    pub requirements: &'static [Requirement],
}

/// How binding a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// MUST, REQUIRED, SHALL.
    Must,
    /// A definition or a step of a procedure, without a key word. As binding as MUST: with another one, the value is another one.
    Defines,
    /// SHOULD, RECOMMENDED.
    Should,
}

impl Level {
    /// Key word; none of a definition.
    pub fn key_word(self) -> Option<&'static str> {
        match self {
            Level::Must => Some("MUST"),
            Level::Defines => None,
            Level::Should => Some("SHOULD"),
        }
    }
}

/// A requirement.
#[derive(Debug)]
pub struct Requirement {
    /// Section of the document; empty if it has none.
    pub section: &'static str,
    /// How binding the requirement is.
    pub level: Level,
    /// What the requirement asks, in one sentence.
    pub asks: &'static str,
    /// The metrics of which it asks this; none if natmeter measures nothing of the kind.
    pub of: Metrics,
    /// How compliance is checked.
    pub check: Check,
}

/// How it is known whether a requirement is met.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// natmeter always complies: how.
    Met(&'static str),
    /// natmeter never complies, or by further runs alone: what it does instead.
    Named(&'static str),
    /// The requirement concerns something that natmeter does not measure: why.
    NotApplicable(&'static str),
    /// Settings and record of a run decide.
    If(fn(&Conditions) -> Finding),
}

/// All documents.
pub const DOCUMENTS: &[Document] = &[
    rfc2544::RFC,
    rfc3511::RFC,
    rfc4814::RFC,
    rfc5180::RFC,
    rfc6201::RFC,
    rfc8219::RFC,
    rfc9004::RFC,
    rfc9693::RFC,
    rfc9971::RFC,
    natmeter::PRACTICE,
    natmeter::RULES,
];

const fn rfc(name: &'static str, title: &'static str, requirements: &'static [Requirement]) -> Document {
    Document { name, title, is_rfc: true, requirements }
}

const fn rules(name: &'static str, title: &'static str, requirements: &'static [Requirement]) -> Document {
    Document { name, title, is_rfc: false, requirements }
}

const fn requirement(
    level: Level,
    section: &'static str,
    of: Metrics,
    asks: &'static str,
    check: Check,
) -> Requirement {
    Requirement { section, level, asks, of, check }
}

const fn must(section: &'static str, of: Metrics, asks: &'static str, check: Check) -> Requirement {
    requirement(Level::Must, section, of, asks, check)
}

const fn defines(section: &'static str, of: Metrics, asks: &'static str, check: Check) -> Requirement {
    requirement(Level::Defines, section, of, asks, check)
}

const fn should(section: &'static str, of: Metrics, asks: &'static str, check: Check) -> Requirement {
    requirement(Level::Should, section, of, asks, check)
}

fn all() -> impl Iterator<Item = (&'static Document, &'static Requirement)> {
    DOCUMENTS.iter().flat_map(|document| document.requirements.iter().map(move |row| (document, row)))
}

/// The requirements of a metric, with their documents.
pub fn of(metric: &Metric) -> impl Iterator<Item = (&'static Document, &'static Requirement)> + '_ {
    all().filter(move |(_, row)| row.of.has(metric))
}

/// Whether an RFC defines a metric.
pub fn is_of_an_rfc(metric: &Metric) -> bool {
    of(metric).any(|(document, _)| document.is_rfc)
}

#[cfg(test)]
mod tests;
