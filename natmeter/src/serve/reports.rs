//! Reports of runs, kept until the run changes. One report is made at a time, to limit memory.

use record::report::Report;
use record::runs::{Stamp, check_files, stamp, without_path};
use record::store::{EVENTS, RESULTS, TRIALS};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Octets of files; a larger run has no report.
const RUN_AT_MOST: u64 = 512 << 20;
/// Reports in the cache.
const KEPT: usize = 4;

/// The reports that are kept, with the state of the files from which each was made.
#[derive(Debug, Default)]
pub(super) struct Reports {
    kept: Mutex<HashMap<PathBuf, (Stamp, Arc<Report>)>>,
    making: Mutex<()>,
}

impl Reports {
    pub(super) fn of(&self, run: &Path) -> Result<Arc<Report>, String> {
        if let Some(report) = self.of_present_files(run) {
            return Ok(report);
        }
        let _turn = lock(&self.making);
        // The turn before may have made it.
        if let Some(report) = self.of_present_files(run) {
            return Ok(report);
        }
        lock(&self.kept).remove(run);
        let stamp = stamp_of(run);
        check_files(run, RUN_AT_MOST)?;
        let report = Report::from_folder(run, tech::ALL).map_err(|error| without_path(run, &error))?;
        let report = Arc::new(report);
        let mut kept = lock(&self.kept);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(run.to_path_buf(), (stamp, Arc::clone(&report)));
        Ok(report)
    }

    fn of_present_files(&self, run: &Path) -> Option<Arc<Report>> {
        let stamp = stamp_of(run);
        let kept = lock(&self.kept);
        kept.get(run).filter(|(then, _)| *then == stamp).map(|(_, report)| Arc::clone(report))
    }
}

fn stamp_of(run: &Path) -> Stamp {
    stamp(run, &[TRIALS, RESULTS, EVENTS])
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
