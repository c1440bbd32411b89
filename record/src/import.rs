//! Results of other testers, for comparison: files of siitperf's scripts and of CSIT become values of the same kind as the published
//! record, with the conditions that the files state.

mod csit;
mod siitperf;

use crate::published::{Conditions, PublishedFigure};
use method::stats::median_of;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
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
    /// Whether the file is none of those that natmeter reads, rather than a damaged one.
    pub is_other: bool,
}

impl ImportError {
    fn new(field: &str, why: impl Into<String>) -> ImportError {
        ImportError { line: None, field: field.to_owned(), why: why.into(), is_other: false }
    }

    /// The file has no result that natmeter reads.
    fn other(self) -> ImportError {
        ImportError { is_other: true, ..self }
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
    /// What distinguishes its test from others, besides these: name and value.
    test: Vec<(String, String)>,
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

/// What files have: series, and the files without a result that natmeter reads, with the reason.
pub type Imported<'a> = (Vec<Series>, Vec<(&'a str, ImportError)>);

/// Reads files, each with its name, and joins their results: those of the same test are one series. A file of another
/// kind is left out, unless there is no other.
///
/// # Errors
/// The name of a damaged file, or of the first file if none has results.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Imported<'a>, (String, ImportError)> {
    let mut all: Vec<(&str, ForeignResult)> = Vec::new();
    let mut others = Vec::new();
    for (name, text) in files {
        match one(text.trim_start_matches('\u{feff}')) {
            Ok(found) => all.extend(found.into_iter().map(|single| (name, single))),
            Err(error) if error.is_other => others.push((name, error)),
            Err(error) => return Err((name.to_owned(), error)),
        }
    }
    if all.is_empty() && !others.is_empty() {
        let (name, error) = others.swap_remove(0);
        return Err((name.to_owned(), error));
    }
    let series = document::grouped_by(all, |(_, single)| {
        let ForeignResult { under, metric, x_name, title, test, .. } = single;
        let under = (under.table.clone(), under.implementation.clone(), under.tolerance, under.frame_size);
        (under, *metric, *x_name, title.clone(), test.clone())
    });
    let tests: Vec<_> = series.iter().map(|((.., title, test), _)| (title.clone(), test.clone())).collect();
    let named = |(_, mut singles): (_, Vec<(&'a str, ForeignResult)>)| {
        let ForeignResult { title, test, .. } = &singles[0].1;
        let apart = differences(&tests, title, test);
        singles[0].1.title.push_str(&apart);
        joined(singles)
    };
    Ok((series.into_iter().map(named).collect(), others))
}

/// What distinguishes a test from those with the same title.
fn differences(tests: &[(String, Vec<(String, String)>)], title: &str, test: &[(String, String)]) -> String {
    let like = || tests.iter().filter(|(other, _)| other == title).map(|(_, test)| test);
    let differs = |(name, value): &&(String, String)| {
        like().any(|other| other.iter().all(|(known, of_other)| known != name || of_other != value))
    };
    test.iter().filter(differs).fold(String::new(), |words, (name, value)| words + ", " + name + " " + value)
}

/// Unpacks a gzip file (RFC 1952); zeros may follow its last member.
///
/// # Errors
/// In words: the file is damaged, or longer than [`LONGEST`] unpacked.
pub fn unpacked(gzip: &[u8]) -> Result<Vec<u8>, String> {
    let (mut all, mut rest) = (Vec::new(), gzip);
    loop {
        rest = unpack_member(rest, &mut all).ok_or("is a damaged gzip file, or longer than 64 MiB unpacked")?;
        if rest.iter().all(|octet| *octet == 0) {
            return Ok(all);
        }
    }
}

/// Returns what follows.
fn unpack_member<'a>(gzip: &'a [u8], all: &mut Vec<u8>) -> Option<&'a [u8]> {
    let [extra, name, comment, check] = [4, 8, 16, 2];
    let (head, mut rest) = gzip.split_at_checked(10)?;
    let flags = head.strip_prefix(&[0x1f, 0x8b, 8])?[0];
    if flags & extra != 0 {
        let len = rest.first_chunk().map(|&octets| usize::from(u16::from_le_bytes(octets)))?;
        rest = rest.get(2 + len..)?;
    }
    for _ in [name, comment].iter().filter(|of| flags & **of != 0) {
        let end = rest.iter().position(|octet| *octet == 0)?;
        rest = &rest[end + 1..];
    }
    if flags & check != 0 {
        rest = rest.get(2..)?;
    }
    let (mut state, mut part) = (InflateState::new_boxed(DataFormat::Raw), vec![0; 1 << 15]);
    loop {
        let done = inflate(&mut state, rest, &mut part, MZFlush::None);
        all.extend(&part[..done.bytes_written]);
        rest = &rest[done.bytes_consumed..];
        match done.status {
            _ if all.len() > LONGEST => return None,
            // Check value and length follow.
            Ok(MZStatus::StreamEnd) => return rest.get(8..),
            Ok(_) if done.bytes_consumed + done.bytes_written > 0 => {}
            _ => return None,
        }
    }
}

fn one(text: &str) -> Result<Vec<ForeignResult>, ImportError> {
    if text.len() > LONGEST {
        return Err(ImportError::new("", "the file is longer than 64 MiB"));
    }
    let Some(format) = KNOWN.iter().find(|format| (format.is)(text)) else {
        let known: Vec<&str> = KNOWN.iter().map(|format| format.name).collect();
        return Err(ImportError::new("", format!("unknown format; natmeter reads {}", known.join(", "))).at(1).other());
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
