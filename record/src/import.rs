//! Results of other testers, for comparison: files of siitperf's scripts and of CSIT become values of the same kind as the published
//! record, with the conditions that the files state.

mod csit;
mod siitperf;

use crate::published::{Conditions, PublishedFigure};
use method::stats::median_of;
use std::collections::HashMap;
use std::fmt;

/// The longest file that is read, in octets. A log of siitperf has some kilobytes for each trial.
pub const LONGEST: usize = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The line, counted from 1, if it is known.
    pub line: Option<usize>,
    /// The field: a column, or the path of a JSON value. Empty: the whole file.
    pub field: String,
    pub why: String,
}

impl ImportError {
    fn new(field: &str, why: impl Into<String>) -> ImportError {
        ImportError { line: None, field: field.to_owned(), why: why.into() }
    }

    fn at(self, line: usize) -> ImportError {
        ImportError { line: Some(line), ..self }
    }
}

impl std::error::Error for ImportError {}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "field `{}`: ", self.field)?;
        }
        f.write_str(&self.why)
    }
}

/// A result of a file: one search, or one test case.
#[derive(Clone, Debug, PartialEq)]
struct ForeignResult {
    under: Conditions,
    /// Key of the metric, or a name of the tester's own.
    metric: &'static str,
    /// Unit, as in the published record.
    unit: &'static str,
    /// What distinguishes the results of its series, as in the published record; `all`: nothing.
    x_name: &'static str,
    x: String,
    value: f64,
    title: String,
    note: Option<&'static str>,
}

/// A series of results of other testers, as a table of the published record.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub cite: String,
    pub files: Vec<String>,
    pub title: String,
    /// Median, minimum and maximum of each place.
    pub values: Vec<PublishedFigure>,
    pub notes: Vec<String>,
}

struct Format {
    name: &'static str,
    is: fn(&str) -> bool,
    read: fn(&str) -> Result<Vec<ForeignResult>, ImportError>,
}

const KNOWN: [Format; 3] = [
    Format { name: "rate.csv of siitperf's scripts", is: siitperf::is_csv, read: siitperf::csv },
    Format { name: "ratetest.log of siitperf's scripts", is: siitperf::is_log, read: siitperf::log },
    Format { name: "test case output of CSIT (JSON, model 1)", is: csit::is_json, read: csit::read },
];

/// Reads files, each with its name, and joins their results: those of the same tester and metric are one series.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Vec<Series>, (String, ImportError)> {
    let mut all: Vec<(&str, ForeignResult)> = Vec::new();
    for (name, text) in files {
        let found = one(text).map_err(|error| (name.to_owned(), error))?;
        all.extend(found.into_iter().map(|single| (name, single)));
    }
    let series = document::grouped_by(all, |(_, single)| {
        let ForeignResult { under, metric, x_name, title, .. } = single;
        (under.table.clone(), under.implementation.clone(), under.tolerance, *metric, *x_name, title.clone())
    });
    Ok(series.into_iter().map(|(_, singles)| joined(singles)).collect())
}

fn one(text: &str) -> Result<Vec<ForeignResult>, ImportError> {
    if text.len() > LONGEST {
        return Err(ImportError::new("", "the file is longer than 64 MiB"));
    }
    let Some(format) = KNOWN.iter().find(|format| (format.is)(text)) else {
        let known: Vec<&str> = KNOWN.iter().map(|format| format.name).collect();
        return Err(ImportError::new("", format!("unknown format; natmeter reads {}", known.join(", "))).at(1));
    };
    let found = (format.read)(text)?;
    if found.is_empty() {
        return Err(ImportError::new("", format!("no result in this file ({})", format.name)));
    }
    Ok(found)
}

fn joined(singles: Vec<(&str, ForeignResult)>) -> Series {
    let files = document::distinct(singles.iter().map(|(name, _)| (*name).to_owned()));
    let notes = document::distinct(singles.iter().filter_map(|(_, single)| single.note).map(str::to_owned));
    let mut places: Vec<(ForeignResult, Vec<f64>)> = Vec::new();
    // A file may have a place for each of many lines.
    let mut at: HashMap<String, usize> = HashMap::new();
    for (_, single) in singles {
        let at = *at.entry(single.x.clone()).or_insert(places.len());
        match places.get_mut(at) {
            Some((_, values)) => values.push(single.value),
            None => places.push((single.clone(), vec![single.value])),
        }
    }
    let first = &places[0].0;
    let (cite, title) = (first.under.document.clone(), first.title.clone());
    Series { cite, files, title, values: places.into_iter().flat_map(statistics).collect(), notes }
}

fn statistics((single, mut values): (ForeignResult, Vec<f64>)) -> Vec<PublishedFigure> {
    values.sort_by(f64::total_cmp);
    let ends = [median_of(&values), values.first().copied(), values.last().copied()];
    let under = Conditions { experiments: Some(values.len() as u64), ..single.under };
    let value = |(stat, value): (&str, Option<f64>)| {
        let value = value?;
        Some(PublishedFigure {
            under: under.clone(),
            metric: single.metric.to_owned(),
            stat: stat.to_owned(),
            unit: single.unit.to_owned(),
            x_name: single.x_name.to_owned(),
            x: single.x.clone(),
            value,
            printed: value.to_string(),
        })
    };
    ["median", "min", "max"].into_iter().zip(ends).filter_map(value).collect()
}

/// The beginning of foreign text, without control characters.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// Conditions of which a file states nothing yet.
fn unstated(tester: &str, table: &str) -> Conditions {
    let not = |what: &str| format!("{what} not stated");
    Conditions {
        table: format!("{tester}/{table}"),
        document: tester.to_owned(),
        label: table.to_owned(),
        technology: not("technology"),
        implementation: not("implementation"),
        setup: not("set-up"),
        ..Conditions::default()
    }
}

#[cfg(test)]
mod tests;
