//! `natmeter run --continue`: the run that is continued.

use super::run::missing;
use crate::cli::Folder;
use record::read::Record;
use record::store;
use scenario::Loaded;
use std::fs;
use std::path::{Path, PathBuf};

/// An earlier run of a scenario with the same options.
pub(super) enum Earlier {
    /// Every measurement has a result.
    Complete(PathBuf),
    /// It stopped before the end of its plan.
    Begun(PathBuf),
}

/// The run that `--continue` continues; none without the option, or without an earlier run.
pub(super) fn earlier(folder: &Folder, loaded: &Loaded) -> Option<Earlier> {
    if folder.go_on { latest(folder.path(), loaded) } else { None }
}

/// The latest run of a scenario with the same text and options below a folder. Skips folders that are not readable runs.
fn latest(runs: &Path, loaded: &Loaded) -> Option<Earlier> {
    let folders = fs::read_dir(runs).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_same = |run: &PathBuf| fs::read_to_string(run.join(store::SCENARIO)).is_ok_and(|text| text == loaded.text);
    let records = folders.filter(is_same).filter_map(|run| Some((Record::read(&run, tech::ALL).ok()?, run)));
    let same = records.filter(|(record, _)| record.header.options == loaded.options);
    let (record, run) = same.max_by(|(a, _), (b, _)| a.header.started.cmp(&b.header.started))?;
    let (values, repetitions) = missing(&record.header, &record.outcomes);
    Some(if values.is_empty() && repetitions.is_empty() { Earlier::Complete(run) } else { Earlier::Begun(run) })
}
