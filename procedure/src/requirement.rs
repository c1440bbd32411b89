//! What RFCs require of each metric. A document is one file with a row for each of its requirements; a row says what the document
//! asks, of which metrics, and whether natmeter meets it: always, never, or according to the settings and the record of a run.
//! The label of a run follows from these rows.

mod assessment;
mod conditions;
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
pub use conditions::{
    Conditions, Device, Goal, Nature, Path, Phase1, Repetitions, Run, Search, Specifics, Traffic, Trial,
};
pub use page::{of_metrics, page};

use crate::Metric;
use crate::back_to_back::BACK_TO_BACK_FRAMES;
use crate::delay::{IPDV, LATENCY, PDV};
use crate::disruption::RESET;
use crate::frame_loss::FRAME_LOSS_RATE;
use crate::overload::OVERLOAD_SCALABILITY;
use crate::recovery::SYSTEM_RECOVERY_TIME;
use crate::throughput::{IPV4_FORWARDING_THROUGHPUT, THROUGHPUT};

/// A document with its requirements.
#[derive(Debug)]
pub struct Document {
    /// Its name.
    pub name: &'static str,
    /// Its title, or what it is about.
    pub title: &'static str,
    /// Whether it is an RFC: a metric without requirements of an RFC is defined by natmeter.
    pub is_rfc: bool,
    /// Its requirements, in the order of the text.
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
    /// Its key word; none of a definition.
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
    /// How binding it is.
    pub level: Level,
    /// What it asks, in one sentence.
    pub asks: &'static str,
    /// The metrics of which it asks this; none if natmeter measures nothing of the kind.
    pub of: &'static [Metric],
    /// Whether it is met.
    pub check: Check,
}

/// How it is known whether a requirement is met.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Always: how.
    Met(&'static str),
    /// Never, or by further runs alone: what natmeter does instead.
    Named(&'static str),
    /// It concerns something that natmeter does not measure: why.
    NotApplicable(&'static str),
    /// Settings and record of a run decide.
    If(fn(&Conditions) -> Finding),
}

/// Whether a run meets a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It does.
    Met,
    /// It does not: what it does instead.
    NotMet(String),
    /// It measures something else under this name, which no RFC defines: what.
    AnotherMetric(String),
    /// The requirement does not concern the run.
    NotApplicable,
}

impl Finding {
    /// Met, or not met with these words.
    fn met_if(met: bool, words: impl FnOnce() -> String) -> Finding {
        if met { Finding::Met } else { Finding::NotMet(words()) }
    }

    /// The same where something concerns the run.
    fn where_it_applies(applies: bool, met: bool, words: impl FnOnce() -> String) -> Finding {
        if applies { Finding::met_if(met, words) } else { Finding::NotApplicable }
    }

    /// Met without a departure, or not met because of it.
    fn unless(departure: Option<String>) -> Finding {
        departure.map_or(Finding::Met, Finding::NotMet)
    }
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

/// The metrics of which RFCs report the average (RFC 2544, sections 26.2, 26.4 and 26.5; RFC 6201, section 1.4; RFC 9004, section
/// 6.4).
pub const AVERAGED: &[Metric] = &[LATENCY, BACK_TO_BACK_FRAMES, SYSTEM_RECOVERY_TIME, RESET];

/// Every metric, also those of procedures that this list of requirements does not know.
const EVERY: &[Metric] = &[Metric::USUAL];
/// Throughputs.
const SEARCHED: &[Metric] = &[THROUGHPUT, IPV4_FORWARDING_THROUGHPUT, OVERLOAD_SCALABILITY];
/// Throughputs and the loss at given loads.
const AT_LOADS: &[Metric] = &[THROUGHPUT, IPV4_FORWARDING_THROUGHPUT, OVERLOAD_SCALABILITY, FRAME_LOSS_RATE];
/// Delays at the throughput.
const DELAYS: &[Metric] = &[LATENCY, PDV, IPDV];
/// The metrics of RFC 2544, with those that later RFCs define for the same trials: in phase 2 or stateless.
const OF_DATA: &[Metric] = &[
    THROUGHPUT,
    IPV4_FORWARDING_THROUGHPUT,
    OVERLOAD_SCALABILITY,
    FRAME_LOSS_RATE,
    LATENCY,
    PDV,
    IPDV,
    BACK_TO_BACK_FRAMES,
    SYSTEM_RECOVERY_TIME,
    RESET,
];

const fn requirement(
    level: Level,
    section: &'static str,
    of: &'static [Metric],
    asks: &'static str,
    check: Check,
) -> Requirement {
    Requirement { section, level, asks, of, check }
}

const fn must(section: &'static str, of: &'static [Metric], asks: &'static str, check: Check) -> Requirement {
    requirement(Level::Must, section, of, asks, check)
}

const fn defines(section: &'static str, of: &'static [Metric], asks: &'static str, check: Check) -> Requirement {
    requirement(Level::Defines, section, of, asks, check)
}

const fn should(section: &'static str, of: &'static [Metric], asks: &'static str, check: Check) -> Requirement {
    requirement(Level::Should, section, of, asks, check)
}

/// Every requirement with its document.
fn all() -> impl Iterator<Item = (&'static Document, &'static Requirement)> {
    DOCUMENTS.iter().flat_map(|document| document.requirements.iter().map(move |row| (document, row)))
}

/// The requirements of a metric, with their documents.
pub fn of(metric: &Metric) -> impl Iterator<Item = (&'static Document, &'static Requirement)> {
    let metric = *metric;
    all().filter(move |(_, row)| row.of == EVERY || row.of.contains(&metric))
}

/// Whether an RFC defines a metric.
pub fn is_of_an_rfc(metric: &Metric) -> bool {
    of(metric).any(|(document, _)| document.is_rfc)
}

#[cfg(test)]
mod tests;
