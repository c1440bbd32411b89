//! The runs of a folder as a list: headers and numbers of results, without their trials. It follows no symbolic links.

use crate::folder::{RECORD, RECORD_WITHOUT_VERSION, writer_in_words};
use crate::merge::{self, MERGE};
use crate::printable::printable;
use crate::store::dir::{LINES_AT_MOST, kind};
use crate::store::{
    CALIBRATION, COMMANDS, Dir, EVENTS, FACTS, HEADER, NULLS, RESULTS, SCENARIO, SELF_TEST, StoreError, TRIALS,
};
use rustix::fs::{FileType, Stat};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The files from which a report derives.
const FILES: [&str; 10] = [SCENARIO, HEADER, FACTS, CALIBRATION, SELF_TEST, COMMANDS, EVENTS, TRIALS, RESULTS, NULLS];
const REQUIRED: [&str; 2] = [SCENARIO, HEADER];
/// Largest header in a list, octets.
const HEADER_AT_MOST: u64 = 64 << 20;
/// Largest results in a list, octets.
const RESULTS_AT_MOST: u64 = 128 << 20;
/// Largest `merge.json`, octets.
const MERGE_AT_MOST: u64 = 1 << 20;
/// Octets at the end of the events in which the last event is searched. The event at the end of a run is a short line with a path.
const LAST_EVENT: u64 = 8 << 10;

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
    /// Runs of a merged folder; none of a run.
    pub parts: Option<usize>,
}

/// The state of a run, as far as the list knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every measurement has a result.
    Complete,
    /// The run has ended without a result of each measurement.
    Partial,
    /// The run has not ended: it is in progress or was interrupted.
    Unfinished,
    /// The folder joins several runs. Its report says which measurements of the campaign have no result.
    Merged,
    /// Its header or its results cannot be read.
    Damaged,
}

impl State {
    pub const ALL: [State; 5] = [State::Complete, State::Partial, State::Unfinished, State::Merged, State::Damaged];

    pub fn name(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Partial => "partial",
            State::Unfinished => "unfinished",
            State::Merged => "merged",
            State::Damaged => "damaged",
        }
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
            let stamp = stamp_of(&run, &[HEADER, RESULTS, EVENTS]);
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

    /// Returns the path of a run with this name; `None` if the name is not that of a folder directly below, or if it is a
    /// symbolic link.
    pub fn path_of(&self, name: &str) -> Option<PathBuf> {
        path_of(&self.folder, name)
    }
}

/// Returns the path of a run directly below a folder, as [`Runs::path_of`] does.
pub fn path_of(folder: &Path, name: &str) -> Option<PathBuf> {
    (is_plain(name) && Dir::open(folder).and_then(|folder| folder.folder(name)).is_ok()).then(|| folder.join(name))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Checks that a report can be made of a run without leaving its folder: each file is a regular one, and all together have
/// at most so many octets.
pub fn check_files(run: &Path, at_most: u64) -> Result<(), String> {
    let folder = open(run)?;
    let mut octets = 0;
    match parts_of(&folder)? {
        None => octets += size_of(&folder)?,
        Some(parts) => {
            for part in &parts {
                octets += size_of(part).map_err(|why| within(&folder, part, &why))?;
            }
        }
    }
    if octets > at_most {
        return Err(format!("its files have {octets} octets, more than {at_most}; use `natmeter report`"));
    }
    Ok(())
}

fn open(run: &Path) -> Result<Dir, String> {
    Dir::open(run).map_err(|error| format!("the folder cannot be read: {error}"))
}

fn size_of(run: &Dir) -> Result<u64, String> {
    let mut octets: u64 = 0;
    for name in FILES {
        match regular(run, name)? {
            Some(stat) => octets = octets.saturating_add(length(&stat)),
            None if REQUIRED.contains(&name) => return Err(is_missing(name)),
            None => {}
        }
    }
    Ok(octets)
}

/// Returns the runs of a merged folder, none if the folder is a run. None of the runs is a symbolic link.
fn parts_of(folder: &Dir) -> Result<Option<Vec<Dir>>, String> {
    if regular(folder, MERGE)?.is_none() {
        return Ok(None);
    }
    merge::parts(folder, &read_at_most(folder, MERGE, MERGE_AT_MOST)?).map(Some)
}

/// Whether a folder joins several runs, if its files say so.
pub fn is_merged(folder: &Path) -> Result<bool, String> {
    Ok(parts_of(&open(folder)?)?.is_some())
}

/// Returns the text of the scenario of a run, or of the runs of a merged folder, which have the same.
pub fn scenario_text(folder: &Path, at_most: u64) -> Result<String, String> {
    check_files(folder, u64::MAX)?;
    let folder = open(folder)?;
    let parts = parts_of(&folder)?.unwrap_or_default();
    let text = read_at_most(parts.first().unwrap_or(&folder), SCENARIO, at_most)?;
    String::from_utf8(text).map_err(|error| format!("{SCENARIO} cannot be read: {error}"))
}

/// A reason against a run, with its place in a merged folder.
fn within(folder: &Dir, part: &Dir, why: &str) -> String {
    match part.path().strip_prefix(folder.path()) {
        Ok(place) if !place.as_os_str().is_empty() => format!("{}/{why}", place.display()),
        _ => why.to_owned(),
    }
}

fn not_regular(name: &str) -> String {
    format!("{name} is not a regular file; replace it by the file itself")
}

fn is_missing(name: &str) -> String {
    format!("{name} is missing; restore it from a copy")
}

/// Attributes of a regular file; `None` if it does not exist.
fn regular(run: &Dir, name: &str) -> Result<Option<Stat>, String> {
    match run.attributes(name) {
        Some(stat) if kind(&stat) != FileType::RegularFile => Err(not_regular(name)),
        found => Ok(found),
    }
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
    let parts = parts_of(run).ok().flatten().unwrap_or_default();
    let runs = parts.iter().chain([run]);
    let files = runs.flat_map(|run| names.iter().map(move |name| of(run, name)));
    files.chain([of(run, MERGE)]).collect()
}

fn listed(run: &Dir, name: &str, stamp: &Stamp) -> RunEntry {
    let found = summary(run).map_err(|why| printable(&why).into_owned());
    RunEntry { name: name.to_owned(), written: stamp.iter().flatten().map(|(_, time)| *time).max(), found }
}

/// The fields of every header, with the scenario in words.
#[derive(Deserialize)]
struct Header {
    #[serde(default = "without_version")]
    record: u32,
    version: String,
    started: String,
    scenario: BTreeMap<String, Value>,
    plan: Planned,
}

#[derive(Deserialize)]
struct Planned {
    measurements: Vec<IgnoredAny>,
}

fn without_version() -> u32 {
    RECORD_WITHOUT_VERSION
}

fn summary(folder: &Dir) -> Result<RunSummary, String> {
    let Some(parts) = parts_of(folder)? else { return brief(folder) };
    let mut all: Option<RunSummary> = None;
    for part in &parts {
        let next = brief(part).map_err(|why| within(folder, part, &why))?;
        all = Some(match all {
            None => next,
            Some(all) => RunSummary {
                planned: all.planned + next.planned,
                measured: all.measured + next.measured,
                has_ended: all.has_ended && next.has_ended,
                started: all.started.min(next.started),
                ..all
            },
        });
    }
    all.map(|all| RunSummary { parts: Some(parts.len()), ..all }).ok_or_else(|| is_missing("parts"))
}

fn brief(run: &Dir) -> Result<RunSummary, String> {
    size_of(run)?;
    let text = read_at_most(run, HEADER, HEADER_AT_MOST)?;
    let header: Header = serde_json::from_slice(&text)
        .map_err(|error| format!("{HEADER}, line {}: {error}; restore it from a copy", error.line()))?;
    if header.record > RECORD {
        let natmeter = writer_in_words(&header.version, None);
        return Err(format!("{HEADER}: version {} of the run folder is unknown; use {natmeter}", header.record));
    }
    let words: BTreeMap<String, String> =
        header.scenario.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect();
    let end = end(run);
    Ok(RunSummary {
        scenario: words.get("name").cloned().unwrap_or_default(),
        words,
        version: header.version,
        started: header.started,
        planned: header.plan.measurements.len().saturating_sub(end.unwrap_or(0)),
        measured: measured(run)?,
        has_ended: end.is_some(),
        parts: None,
    })
}

/// Counts the measurements with a result. Of each line it reads the first field, which names the measurement.
fn measured(run: &Dir) -> Result<usize, String> {
    const BEGIN: &[u8] = b"{\"measurement\":";
    if regular(run, RESULTS)?.is_none() {
        return Ok(0);
    }
    let text = read_at_most(run, RESULTS, RESULTS_AT_MOST)?;
    let mut found = HashSet::new();
    let mut rest = text.as_slice();
    for at in 1.. {
        let begin = rest;
        let length = rest.skip_until(b'\n').unwrap_or(0);
        // A kill leaves an incomplete last line, which `resume` removes.
        let Some(line) = begin[..length].strip_suffix(b"\n") else { break };
        let wrong = |why: &str| format!("{RESULTS}, line {at}: {why}; restore the file from a copy");
        let fields = line.strip_prefix(BEGIN).ok_or_else(|| wrong("it names no measurement"))?;
        let mut values = Deserializer::from_slice(fields).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => found.insert(&fields[..values.byte_offset()]),
            Some(Err(error)) => return Err(wrong(&error.to_string())),
            None => return Err(wrong("it ends too early")),
        };
    }
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

fn read_at_most(run: &Dir, name: &str, at_most: u64) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    match run.read(name, at_most) {
        Ok(None) => return Err(is_missing(name)),
        Ok(Some(mut file)) => file.read_to_end(&mut text).map_err(|error| format!("{name} cannot be read: {error}"))?,
        Err(StoreError::Large { .. }) => return Err(format!("{name} has more than {at_most} octets")),
        Err(StoreError::Kind { .. }) => return Err(not_regular(name)),
        Err(error) => return Err(format!("{name} cannot be read: {error}")),
    };
    Ok(text)
}

#[cfg(test)]
mod tests;
