//! Reports of runs, derived one at a time and cached until the run changes, to limit time and memory.

use record::report::Report;
use record::runs::check_files;
use record::store::{EVENTS, RESULTS, TRIALS};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Largest run of which the server makes a report, octets of its files.
const RUN_AT_MOST: u64 = 512 << 20;
/// Reports that are kept.
const KEPT: usize = 4;

/// Time and size of the files that grow.
type Stamp = [Option<(u64, SystemTime)>; 3];

/// The reports that are kept, the latest used last.
#[derive(Debug, Default)]
pub(super) struct Reports(Mutex<Vec<(PathBuf, Stamp, Arc<Report>)>>);

impl Reports {
    /// Returns the report of a run.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(super) fn of(&self, run: &Path) -> Result<Arc<Report>, String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(run);
        let found = kept.iter().position(|(path, then, _)| path == run && *then == stamp);
        let entry = if let Some(at) = found {
            kept.remove(at)
        } else {
            check_files(run, RUN_AT_MOST)?;
            let report = Report::from_folder(run, tech::ALL).map_err(|error| without_path(&error.to_string(), run))?;
            (run.to_path_buf(), stamp, Arc::new(report))
        };
        let report = Arc::clone(&entry.2);
        kept.retain(|(path, ..)| path != run);
        kept.push(entry);
        if kept.len() > KEPT {
            kept.remove(0);
        }
        Ok(report)
    }
}

fn stamp(run: &Path) -> Stamp {
    [TRIALS, RESULTS, EVENTS].map(|name| {
        let metadata = fs::symlink_metadata(run.join(name)).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    })
}

/// Removes the path of the run from a text, so that readers do not see it.
fn without_path(text: &str, run: &Path) -> String {
    text.replace(&format!("{}/", run.display()), "").replace(&run.display().to_string(), "the folder")
}
