//! The runs of a folder as a list: headers and numbers of results, without their trials. It follows no symbolic links.

use crate::merge::{MERGE, MergedFolder};
use crate::plan::Measurement;
use crate::printable::printable;
use crate::read::{self, RecordError};
use crate::report::result::SureWord;
use crate::store::dir::LINES_AT_MOST;
use crate::store::{
    CALIBRATION, COMMANDS, Dir, EVENTS, FACTS, HEADER, NULLS, PAGE, RESULTS, SCENARIO, SELF_TEST, StoreError, TRIALS,
};
use document::html::SURE;
use rustix::fs::{FileType, Stat};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The files from which a report derives.
const FILES: [&str; 10] = [SCENARIO, HEADER, FACTS, CALIBRATION, SELF_TEST, COMMANDS, EVENTS, TRIALS, RESULTS, NULLS];
const REQUIRED: [&str; 2] = [SCENARIO, HEADER];
/// Octets at the end of the events in which the last event is searched. The event at the end of a run is a short line with a path.
const LAST_EVENT: u64 = 8 << 10;
/// Octets of the head of a page that come before its style.
const HEAD: u64 = 256;

#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    pub name: String,
    /// When one of its files was last written.
    pub written: Option<SystemTime>,
    pub found: Result<RunSummary, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub scenario: String,
    /// The scenario in words, by the name of each property.
    pub words: BTreeMap<String, String>,
    pub version: String,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// Planned measurements, without those that were not needed; of a merged folder, of all its runs.
    pub planned: usize,
    pub measured: usize,
    pub has_ended: bool,
    /// The word of its page, if the run has one.
    pub how_sure: Option<&'static str>,
    /// Runs of a merged folder; none of a run.
    pub parts: Option<usize>,
}

method::worded! {
    /// The state of a run, as far as the list knows it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum State: name {
        /// Every measurement has a result.
        Complete = "complete",
        /// The run has ended without a result of each measurement.
        Partial = "partial",
        /// The run has not ended: it is in progress or was interrupted.
        Unfinished = "unfinished",
        /// The folder joins several runs. Its report says which measurements of the campaign have no result.
        Merged = "merged",
        /// Its header or its results cannot be read.
        Damaged = "damaged",
    }
}

impl RunEntry {
    pub fn state(&self) -> State {
        match &self.found {
            Err(_) => State::Damaged,
            Ok(brief) if brief.parts.is_some() => State::Merged,
            Ok(brief) if !brief.has_ended => State::Unfinished,
            Ok(brief) if brief.measured < brief.planned => State::Partial,
            Ok(_) => State::Complete,
        }
    }

    /// Whether each of these words, in lower case, is part of its name or of its scenario in words.
    pub fn has(&self, words: &[String]) -> bool {
        let mut text = self.name.to_lowercase();
        if let Ok(brief) = &self.found {
            for part in brief.words.values().chain([&brief.version, &brief.started]) {
                text.push('\n');
                text.push_str(&part.to_lowercase());
            }
        }
        words.iter().all(|word| text.contains(word))
    }
}

/// Size and time of files; `None` for a missing file.
pub type Stamp = Vec<Option<(u64, SystemTime)>>;

/// The runs of a folder. It keeps each summary until the files of that run change.
#[derive(Debug)]
pub struct Runs {
    folder: PathBuf,
    known: HashMap<String, (Stamp, RunEntry)>,
}

impl Runs {
    pub fn of(folder: &Path) -> Runs {
        Runs { folder: folder.to_path_buf(), known: HashMap::new() }
    }

    /// Lists the runs, the latest start first; damaged runs come first. Other files and folders are not listed.
    pub fn list(&mut self) -> Result<Vec<RunEntry>, StoreError> {
        let mut known = HashMap::with_capacity(self.known.len());
        let all = Dir::open(&self.folder)?;
        for (name, kind) in all.names()? {
            let Ok(name) = name.into_string() else { continue };
            if !is_plain(&name) || kind != FileType::Directory {
                continue;
            }
            let Ok(run) = all.folder(&name) else { continue };
            // Every trial is an event, too.
            let stamp = stamp_of(&run, &[HEADER, RESULTS, EVENTS, PAGE]);
            if stamp.iter().all(Option::is_none) {
                continue;
            }
            let kept = self.known.remove(&name).filter(|(then, _)| *then == stamp);
            let listed = kept.map_or_else(|| listed(&run, &name, &stamp), |(_, listed)| listed);
            known.insert(name, (stamp, listed));
        }
        self.known = known;
        let mut all: Vec<RunEntry> = self.known.values().map(|(_, listed)| listed.clone()).collect();
        all.sort_by(|a, b| {
            let started = |listed: &RunEntry| listed.found.as_ref().map(|brief| brief.started.clone()).ok();
            let order = |listed: &RunEntry| (listed.found.is_err(), started(listed));
            order(b).cmp(&order(a)).then_with(|| b.name.cmp(&a.name))
        });
        Ok(all)
    }
}

/// Returns the path of the run with this name; `None` unless it is a folder directly below `folder` and no symbolic
/// link.
pub fn path_of(folder: &Path, name: &str) -> Option<PathBuf> {
    (is_plain(name) && Dir::open(folder).and_then(|folder| folder.folder(name)).is_ok()).then(|| folder.join(name))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Checks that a report can be made of a run without leaving its folder: each file is a regular one, and all together have
/// at most so many octets.
pub fn check_files(run: &Path, at_most: u64) -> Result<(), String> {
    let size = || runs_of(Dir::open(run)?)?.iter().try_fold(0u64, |sum, run| Ok(sum.saturating_add(size_of(run)?)));
    let octets = size().map_err(|error: RecordError| without_path(run, &error))?;
    if octets > at_most {
        return Err(format!("its files have {octets} octets, more than {at_most}; use `natmeter report`"));
    }
    Ok(())
}

/// Returns an error in words, without the path of the folder.
pub fn without_path(folder: &Path, error: &impl Display) -> String {
    let folder = folder.display().to_string();
    printable(&error.to_string().replace(&format!("{folder}/"), "").replace(&folder, "the folder")).into_owned()
}

/// Returns the runs of a merged folder, or else the folder itself. None of the runs is a symbolic link.
fn runs_of(folder: Dir) -> Result<Vec<Dir>, RecordError> {
    Ok(MergedFolder::open(&folder)?.map_or_else(|| vec![folder], |merged| merged.runs))
}

fn size_of(run: &Dir) -> Result<u64, StoreError> {
    let mut octets: u64 = 0;
    for name in FILES {
        match run.regular(name)? {
            Some(stat) => octets = octets.saturating_add(length(&stat)),
            None if REQUIRED.contains(&name) => return Err(StoreError::Missing(run.path_of(name))),
            None => {}
        }
    }
    Ok(octets)
}

/// Returns the text of the scenario of a run, or of the runs of a merged folder, which have the same.
///
/// # Errors
/// A folder that is no run, or a file of more than 4 MiB.
pub fn scenario_text(folder: &Path) -> Result<String, String> {
    check_files(folder, u64::MAX)?;
    let text = || {
        let run = &runs_of(Dir::open(folder)?)?[0];
        run.read(SCENARIO, SCENARIO_AT_MOST)?;
        Ok(read::scenario_text(run)?)
    };
    text().map_err(|error: RecordError| without_path(folder, &error))
}

fn length(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn written(stat: &Stat) -> SystemTime {
    let since = Duration::new(stat.st_mtime.try_into().unwrap_or(0), stat.st_mtime_nsec.try_into().unwrap_or(0));
    UNIX_EPOCH + since
}

/// Returns size and time of these files of a run, or of every run of a merged folder and of its `merge.json`.
pub fn stamp(run: &Path, names: &[&str]) -> Stamp {
    Dir::open(run).map_or_else(|_| Stamp::new(), |run| stamp_of(&run, names))
}

fn stamp_of(run: &Dir, names: &[&str]) -> Stamp {
    let of = |run: &Dir, name: &str| run.attributes(name).map(|stat| (length(&stat), written(&stat)));
    let parts = MergedFolder::open(run).ok().flatten().map_or_else(Vec::new, |merged| merged.runs);
    let runs = parts.iter().chain([run]);
    let files = runs.flat_map(|run| names.iter().map(move |name| of(run, name)));
    files.chain([of(run, MERGE)]).collect()
}

fn listed(run: &Dir, name: &str, stamp: &Stamp) -> RunEntry {
    let found = summary(run).map_err(|error| without_path(run.path(), &error));
    RunEntry { name: name.to_owned(), written: stamp.iter().flatten().map(|(_, time)| *time).max(), found }
}

fn summary(folder: &Dir) -> Result<RunSummary, RecordError> {
    let Some(MergedFolder { runs, .. }) = MergedFolder::open(folder)? else { return of_run(folder) };
    let (first, others) = runs.split_first().ok_or_else(|| StoreError::Missing(folder.path().to_path_buf()))?;
    let mut all = of_run(first)?;
    for run in others {
        let next = of_run(run)?;
        all.planned += next.planned;
        all.measured += next.measured;
        all.has_ended &= next.has_ended;
        all.started = all.started.min(next.started);
    }
    Ok(RunSummary { parts: Some(runs.len()), how_sure: None, ..all })
}

fn of_run(run: &Dir) -> Result<RunSummary, RecordError> {
    size_of(run)?;
    let header = read::stored_header(run)?;
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    let words: BTreeMap<String, String> = header.scenario.as_object().into_iter().flatten().filter_map(text).collect();
    let end = end(run);
    Ok(RunSummary {
        scenario: words.get("name").cloned().unwrap_or_default(),
        words,
        version: header.version,
        started: header.started,
        planned: header.plan.measurements.len().saturating_sub(end.unwrap_or(0)),
        measured: measured(run)?,
        has_ended: end.is_some(),
        how_sure: how_sure(run),
        parts: None,
    })
}

/// How sure the page that the run wrote is.
fn how_sure(run: &Dir) -> Option<&'static str> {
    let mut head = Vec::new();
    run.read(PAGE, LINES_AT_MOST).ok()??.into_inner().take(HEAD).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let word = head.split_once(SURE)?.1;
    [SureWord::High, SureWord::Medium, SureWord::Low]
        .map(SureWord::name)
        .into_iter()
        .find(|known| word.starts_with(known))
}

/// The part of a result that a list of runs reads.
#[derive(Deserialize)]
struct ResultLine {
    measurement: Measurement,
}

/// Octets of a scenario file.
const SCENARIO_AT_MOST: u64 = 4 << 20;
/// Octets of the results that a list counts.
const RESULTS_AT_MOST: u64 = 128 << 20;

/// Counts the measurements with a result.
fn measured(run: &Dir) -> Result<usize, StoreError> {
    run.read(RESULTS, RESULTS_AT_MOST)?;
    let mut found = HashSet::new();
    run.each_line(RESULTS, |line: ResultLine| {
        found.insert(line.measurement);
    })?;
    Ok(found.len())
}

/// Returns how many measurements were not needed if the last complete line of the events is the end of the run, else none.
/// Natmeter 0.1.0 wrote no such number, and needed all.
pub(crate) fn end(run: &Dir) -> Option<usize> {
    let last = || -> io::Result<Vec<u8>> {
        let Ok(Some(file)) = run.read(EVENTS, LINES_AT_MOST) else { return Ok(Vec::new()) };
        let mut file = file.into_inner();
        let from = file.metadata()?.len().saturating_sub(LAST_EVENT);
        file.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        file.take(LAST_EVENT).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = last().unwrap_or_default();
    let mut lines = text.split_inclusive(|&octet| octet == b'\n').filter(|line| line.ends_with(b"\n"));
    let event: Value = serde_json::from_slice(lines.next_back()?).ok()?;
    let not_needed = event["not_needed"].as_u64().unwrap_or(0);
    (event["event"] == "finished").then(|| usize::try_from(not_needed).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests;
