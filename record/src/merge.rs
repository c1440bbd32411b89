//! A folder that joins several runs of one scenario, the cells of its matrix: `merge.json` and a copy of every run. A report
//! audits each run on its own, then joins them. Results of test beds that differ are kept apart by the names of their devices,
//! unless the user declares that the beds are `alike`.

mod join;

use crate::audit::{Audit, Finding, audit};
use crate::folder::{Facts, RECORD};
use crate::read::{Record, RecordError, check_version, scenario_text};
use crate::store::{Dir, StoreError, dir};
use rustix::fs::{FileType, Mode, fchmod};
use scenario::{Lists, Options};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

pub const MERGE: &str = "merge.json";
const PARTS: &str = "parts";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Merge {
    record: u32,
    version: String,
    /// Whether the user declared that all test beds are equal.
    alike: bool,
    parts: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a single run cannot be merged: name two or more run folders")]
    One,
    #[error("{} exists: name a new folder; nothing was changed", .0.display())]
    Exists(PathBuf),
    #[error("{} is a merged folder: name the runs below its folder `parts`", .0.display())]
    Merged(PathBuf),
    #[error("{} would be in the run {}: name a folder elsewhere; nothing was changed", .into.display(), .run.display())]
    Within { into: PathBuf, run: PathBuf },
    #[error("the record of {} is damaged: {finding}", .run.display())]
    Damaged { run: PathBuf, finding: Finding },
    #[error(
        "{} and {} differ in {what}, so they are not runs of one campaign; merge runs of the same scenario, options and \
         version of the rules", .first.display(), .second.display()
    )]
    Differ { first: PathBuf, second: PathBuf, what: &'static str },
}

pub fn is_merged(folder: &Path) -> bool {
    Dir::open(folder).is_ok_and(|folder| folder.has(MERGE))
}

/// A merged folder that is open.
pub(crate) struct MergedFolder {
    alike: bool,
    names: Vec<String>,
    /// The merged runs; at least one.
    pub(crate) runs: Vec<Dir>,
}

/// Octets of `merge.json`.
const MERGE_AT_MOST: u64 = 1 << 20;

impl MergedFolder {
    /// Opens the runs that `merge.json` names; `None` if the folder has no such file.
    pub(crate) fn open(folder: &Dir) -> Result<Option<MergedFolder>, RecordError> {
        folder.read(MERGE, MERGE_AT_MOST)?;
        let Some(Merge { record, version, alike, parts: names }) = folder.document(MERGE)? else { return Ok(None) };
        let path = folder.path_of(MERGE);
        check_version(&path, record, &version, None)?;
        let distinct = names.iter().collect::<BTreeSet<_>>().len();
        if names.is_empty() || distinct < names.len() || !names.iter().all(|name| is_part(name)) {
            return Err(RecordError::Parts(path));
        }
        let all = folder.folder(PARTS)?;
        let runs = names.iter().map(|name| all.folder(name)).collect::<Result<_, StoreError>>()?;
        Ok(Some(MergedFolder { alike, names, runs }))
    }
}

/// Whether a name is one that natmeter wrote, and leads nowhere else.
fn is_part(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && !name.starts_with('.')
}

/// Joins runs in a new folder. The runs do not change.
///
/// # Errors
/// If a run cannot be read, runs are not of one campaign, or the folder cannot be created. Then it leaves no files behind.
pub fn merge(runs: &[PathBuf], alike: bool, into: &Path, lists: impl Into<Lists>) -> Result<(), MergeError> {
    let lists = lists.into();
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
    let records: Vec<Record> = runs.iter().map(|run| Record::read(run, lists)).collect::<Result<_, RecordError>>()?;
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
    let (parent, name) = Dir::of_file(into)?;
    let draft_name = dir::draft_of(name.as_ref());
    let draft = parent.draft_folder(&draft_name, is_draft)?;
    let written = write(runs, alike, &draft).and_then(|()| parent.rename(&draft_name, name));
    if written.is_err() {
        // The first error is reported.
        let _ = std::fs::remove_dir_all(draft.path());
    }
    Ok(written?)
}

fn is_draft(folder: &Dir) -> bool {
    let names = [PARTS.into(), MERGE.into(), dir::draft_of(MERGE.as_ref())];
    let is_ours = |(name, _): &(_, FileType)| names.iter().any(|known: &PathBuf| known == name);
    folder.names().is_ok_and(|found| found.iter().all(is_ours))
}

fn is_within(folder: &Path, run: &Path) -> bool {
    let [folder, run] = [folder, run].map(Path::canonicalize);
    matches!((folder, run), (Ok(folder), Ok(run)) if folder.starts_with(&run))
}

fn write(runs: &[PathBuf], alike: bool, draft: &Dir) -> Result<(), StoreError> {
    let (all, mut parts) = (draft.make(PARTS)?, Vec::new());
    for (number, run) in (1..).zip(runs) {
        let name = run.canonicalize().ok().and_then(|run| Some(run.file_name()?.to_string_lossy().into_owned()));
        let part = format!("{number}-{}", name.unwrap_or_else(|| "run".to_owned()));
        copy(&Dir::open(run)?, &all.make(&part)?)?;
        parts.push(part);
    }
    let merge = Merge { record: RECORD, version: env!("CARGO_PKG_VERSION").to_owned(), alike, parts };
    draft.write(MERGE, &merge)
}

/// Copies the files and folders of a folder; links are not followed.
fn copy(from: &Dir, to: &Dir) -> Result<(), StoreError> {
    for (name, kind) in from.names()? {
        match kind {
            FileType::Directory => copy(&from.folder(&name)?, &to.make(&name)?)?,
            FileType::RegularFile => copy_file(from, to, &name)?,
            _ => {}
        }
    }
    Ok(())
}

/// Copies a file with those of its permissions that cannot harm: a program of another user does not become one of root.
fn copy_file(from: &Dir, to: &Dir, name: &OsStr) -> Result<(), StoreError> {
    let failed = |source| StoreError::Io { doing: "copied", path: from.path_of(name), source };
    let Some(mut file) = from.read(name, dir::LINES_AT_MOST)? else { return Ok(()) };
    let mode = from.attributes(name).map_or(0o600, |stat| stat.st_mode & 0o666);
    let mut copy = to.create(name)?;
    io::copy(&mut file, &mut copy).map_err(failed)?;
    fchmod(&copy, Mode::from_raw_mode(mode)).map_err(|error| failed(error.into()))
}

/// The first difference between two runs that are not cells of one campaign.
fn difference(
    (first_run, first): (&Path, &Record),
    (run, record): (&Path, &Record),
) -> Result<Option<&'static str>, StoreError> {
    let [first_text, text] =
        [first_run, run].map(|run| scenario_text(&Dir::open(run)?).map(|text| scenario::limits::without(&text)));
    // Cells and beds are what the parts of a campaign differ in.
    let options = |record: &Record| Options { bed: None, cell: None, ..record.header.options.without_limits() };
    let checks = [
        ("the scenario", first_text? == text?),
        ("the options of the command line", options(first) == options(record)),
        ("the version of the rules", first.header.rules == record.header.rules),
        ("the order of the trials", first.header.order == record.header.order),
    ];
    Ok(checks.into_iter().find(|(_, same)| !same).map(|(what, _)| what))
}

/// Reads a merged folder: its runs as one, and what the audits of all of them found.
pub fn read(folder: &Path, lists: impl Into<Lists>) -> Result<(Record, Audit), RecordError> {
    let (dir, lists) = (Dir::open(folder)?, lists.into());
    let not_merged = || StoreError::NotARun { path: folder.to_path_buf(), missing: MERGE };
    let MergedFolder { alike, names, runs } = MergedFolder::open(&dir)?.ok_or_else(not_merged)?;
    let mut parts = Vec::new();
    for (name, run) in names.into_iter().zip(&runs) {
        let record = Record::below(run, lists)?;
        let audit = audit(&record);
        parts.push(join::MergedRun { name, record, audit });
    }
    join::join(parts, alike).ok_or_else(|| RecordError::Parts(dir.path_of(MERGE)))
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
