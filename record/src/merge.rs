//! A folder that joins several runs of one scenario: the cells of its matrix, measured on several test beds or one after the other.
//! It holds `merge.json` and an unchanged copy of every run. A report reads and audits each run on its own, then joins them.
//!
//! Results of test beds that differ are kept apart: the name of the bed follows the name of the device, so that no ratio compares
//! points of two beds. With `alike`, the user declares that the beds are equal, and a doubt names the differences.

mod join;

use crate::audit::{Audit, Finding, audit};
use crate::folder::{Facts, RECORD};
use crate::read::{Record, RecordError};
use crate::store::{self, StoreError, read_document, read_text, write_whole};
use scenario::{Options, Technologies};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The document of a merged folder.
pub const MERGE: &str = "merge.json";
/// The folder below it with the runs.
const PARTS: &str = "parts";

/// The content of `merge.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Merge {
    /// Version of the run folder.
    record: u32,
    /// Version of natmeter.
    version: String,
    /// Whether the user declared that all test beds are equal.
    alike: bool,
    /// Names of the runs below `parts`.
    parts: Vec<String>,
}

/// Why runs cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A run cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is only one run.
    #[error("a single run cannot be merged: name two or more run folders")]
    One,
    /// The new folder exists.
    #[error("{} exists: name a new folder; nothing was changed", .0.display())]
    Exists(PathBuf),
    /// A part is a merged folder itself.
    #[error("{} is a merged folder: name the runs below its folder `parts`", .0.display())]
    Merged(PathBuf),
    /// The new folder would be in a run.
    #[error("{} would be in the run {}: name a folder elsewhere; nothing was changed", .into.display(), .run.display())]
    Within {
        /// The new folder.
        into: PathBuf,
        /// The run.
        run: PathBuf,
    },
    /// A run is damaged.
    #[error("the record of {} is damaged: {finding}", .run.display())]
    Damaged {
        /// The run.
        run: PathBuf,
        /// The first error in its record.
        finding: Finding,
    },
    /// Two runs are not of one campaign.
    #[error(
        "{} and {} differ in {what}, so they are not runs of one campaign; merge runs of the same scenario, options and \
         version of the rules", .first.display(), .second.display()
    )]
    Differ {
        /// A run.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
        /// What differs.
        what: &'static str,
    },
}

/// Whether a folder joins runs.
pub fn is_merged(folder: &Path) -> bool {
    folder.join(MERGE).is_file()
}

/// Returns the runs of a merged folder from the text of its `merge.json`.
///
/// # Errors
/// The reason why there are none, as a sentence without a full stop.
pub(crate) fn parts(folder: &Path, text: &[u8]) -> Result<Vec<PathBuf>, String> {
    let wrong = |why: &str| format!("{MERGE}: {why}; restore it from a copy");
    let merge: Merge = serde_json::from_slice(text).map_err(|error| wrong(&error.to_string()))?;
    if merge.record > RECORD {
        return Err(format!(
            "{MERGE}: version {} of the run folder is unknown; use natmeter {}",
            merge.record, merge.version
        ));
    }
    if merge.parts.is_empty() || !merge.parts.iter().all(|name| is_part(name)) {
        return Err(wrong("it does not name the runs below `parts`"));
    }
    Ok(merge.parts.iter().map(|name| folder.join(PARTS).join(name)).collect())
}

/// Whether a name is one that natmeter wrote, and leads nowhere else.
fn is_part(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && !name.starts_with('.')
}

/// Joins runs in a new folder. The runs do not change.
///
/// # Errors
/// If a run cannot be read, runs are not of one campaign, or the folder cannot be created. Then it leaves no files behind.
pub fn merge(runs: &[PathBuf], alike: bool, into: &Path, technologies: Technologies) -> Result<(), MergeError> {
    if runs.len() < 2 {
        return Err(MergeError::One);
    }
    // Without a slash at the end.
    let into: &Path = &into.components().collect::<PathBuf>();
    if into.exists() {
        return Err(MergeError::Exists(into.to_path_buf()));
    }
    let parent = into.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(run) = runs.iter().find(|run| is_within(parent, run)) {
        return Err(MergeError::Within { into: into.to_path_buf(), run: run.clone() });
    }
    if let Some(merged) = runs.iter().find(|run| is_merged(run)) {
        return Err(MergeError::Merged(merged.clone()));
    }
    let records: Vec<Record> =
        runs.iter().map(|run| Record::read(run, technologies)).collect::<Result<_, RecordError>>()?;
    for (run, record) in runs.iter().zip(&records).skip(1) {
        if let Some(what) = difference((&runs[0], &records[0]), (run, record))? {
            return Err(MergeError::Differ { first: runs[0].clone(), second: run.clone(), what });
        }
    }
    for (run, record) in runs.iter().zip(&records) {
        if let Some(finding) = audit(record).findings.into_iter().next() {
            return Err(MergeError::Damaged { run: run.clone(), finding });
        }
    }
    let mut draft = into.as_os_str().to_owned();
    draft.push(".draft");
    let draft = PathBuf::from(draft);
    // Fails if it exists: it may be the user's.
    fs::create_dir(&draft).map_err(|source| failed("created", &draft, source))?;
    let written = write(runs, alike, &draft)
        .and_then(|()| fs::rename(&draft, into).map_err(|source| failed("created", into, source)));
    if written.is_err() {
        // The first error is reported.
        let _ = fs::remove_dir_all(&draft);
    }
    Ok(written?)
}

/// Whether a folder is a run or below it.
fn is_within(folder: &Path, run: &Path) -> bool {
    let [folder, run] = [folder, run].map(Path::canonicalize);
    matches!((folder, run), (Ok(folder), Ok(run)) if folder.starts_with(&run))
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_path_buf(), source }
}

/// Writes the folder under another name.
fn write(runs: &[PathBuf], alike: bool, draft: &Path) -> Result<(), StoreError> {
    let mut parts = Vec::new();
    for (number, run) in (1..).zip(runs) {
        let name = run.canonicalize().ok().and_then(|run| Some(run.file_name()?.to_string_lossy().into_owned()));
        let part = format!("{number}-{}", name.unwrap_or_else(|| "run".to_owned()));
        copy(run, &draft.join(PARTS).join(&part))?;
        parts.push(part);
    }
    let merge = Merge { record: RECORD, version: env!("CARGO_PKG_VERSION").to_owned(), alike, parts };
    let text = serde_json::to_string_pretty(&merge).unwrap_or_default() + "\n";
    write_whole(&draft.join(MERGE), &text)
}

/// Copies a folder with everything in it; links are not followed.
fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(to).map_err(|source| failed("created", to, source))?;
    for entry in fs::read_dir(from).map_err(|source| failed("read", from, source))? {
        let entry = entry.map_err(|source| failed("read", from, source))?;
        let kind = entry.file_type().map_err(|source| failed("read", &entry.path(), source))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&path, &to)?;
        } else if kind.is_file() {
            fs::copy(&path, &to).map_err(|source| failed("copied", &path, source))?;
        }
    }
    Ok(())
}

/// The first difference between two runs that are not cells of one campaign.
fn difference(
    (first_run, first): (&Path, &Record),
    (run, record): (&Path, &Record),
) -> Result<Option<&'static str>, StoreError> {
    let texts = [first_run, run].map(|run| read_text(&run.join(store::SCENARIO)));
    let [first_text, text] = texts;
    // Cells and beds are what the parts of a campaign differ in.
    let options = |record: &Record| Options { bed: None, cell: None, ..record.header.options.clone() };
    let checks = [
        ("the scenario", first_text? == text?),
        ("the options of the command line", options(first) == options(record)),
        ("the version of the rules", first.header.rules == record.header.rules),
        ("the order of the trials", first.header.order == record.header.order),
    ];
    Ok(checks.into_iter().find(|(_, same)| !same).map(|(what, _)| what))
}

/// Reads a merged folder: its runs as one, and what the audits of all of them found.
///
/// # Errors
/// If a run cannot be read.
pub fn read(folder: &Path, technologies: Technologies) -> Result<(Record, Audit), RecordError> {
    let path = folder.join(MERGE);
    let merge: Merge =
        read_document(&path)?.ok_or_else(|| StoreError::NotARun { path: folder.to_path_buf(), missing: MERGE })?;
    if merge.record > RECORD {
        return Err(RecordError::Later { path, found: merge.record, natmeter: merge.version });
    }
    let mut parts = Vec::new();
    for name in merge.parts {
        if !is_part(&name) {
            return Err(StoreError::NotARun { path: folder.join(PARTS).join(name), missing: store::HEADER }.into());
        }
        let record = Record::read(&folder.join(PARTS).join(&name), technologies)?;
        let audit = audit(&record);
        parts.push(join::Part { name, record, audit });
    }
    join::join(parts, merge.alike)
        .ok_or_else(|| StoreError::NotARun { path: folder.to_path_buf(), missing: PARTS }.into())
}

/// The facts of a tester that decide whether results can be compared.
pub const DECIDING: [&str; 5] = ["cpu", "cores", "kernel", "natmeter", crate::folder::BUILD];

/// The deciding facts that run folders of earlier versions do not have: there they decide nothing.
const NOT_ALWAYS_RECORDED: [&str; 2] = ["natmeter", crate::folder::BUILD];
/// The value of a fact that a tester does not have.
const UNKNOWN: &str = "unknown";

/// Returns the deciding facts in which two testers differ: name, and the value of each. A fact that only one of them has is
/// a difference, unless earlier versions did not record it.
pub fn differences(first: &Facts, second: &Facts) -> Vec<(&'static str, String, String)> {
    let differs = |name: &'static str| {
        let [first, second] = [first, second].map(|facts| facts.tester.get(name));
        let is_recorded = first.is_some() && second.is_some() || !NOT_ALWAYS_RECORDED.contains(&name);
        let value = |fact: Option<&String>| fact.map_or(UNKNOWN, String::as_str).to_owned();
        (is_recorded && first != second).then(|| (name, value(first), value(second)))
    };
    DECIDING.into_iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(tester: &[(&str, &str)]) -> Facts {
        let tester = tester.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Facts { tester, ..Facts::default() }
    }

    #[test]
    fn a_fact_of_one_side_is_a_difference_on_either_side() {
        let (with, without) = (facts(&[("cpu", "One"), ("kernel", "6.12")]), facts(&[("cpu", "One")]));
        let [known, unknown] = ["6.12", "unknown"].map(str::to_owned);
        assert_eq!(differences(&with, &without), [("kernel", known.clone(), unknown.clone())]);
        assert_eq!(differences(&without, &with), [("kernel", unknown, known)]);
        assert_eq!(differences(&with, &with), []);
    }

    /// Folders of earlier versions have neither; two different builds still differ.
    #[test]
    fn version_and_build_that_are_not_recorded_are_no_difference() {
        let build = |of: &str| facts(&[("natmeter", "0.2.0"), ("build", of)]);
        assert_eq!(differences(&facts(&[]), &build("a")), []);
        assert_eq!(differences(&build("a"), &facts(&[])), []);
        assert_eq!(differences(&build("a"), &build("b")), [("build", "a".to_owned(), "b".to_owned())]);
    }
}
