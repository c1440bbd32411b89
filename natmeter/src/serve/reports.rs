//! Reports of runs, cached until the run changes. Each run has a lock of its own, so that a long report does not delay those of
//! other runs; few reports are made at one time, to limit memory.

use record::report::Report;
use record::runs::{Stamp, check_files, stamp};
use record::store::{EVENTS, RESULTS, TRIALS};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The server makes no report of a larger run, in octets of its files.
const RUN_AT_MOST: u64 = 512 << 20;
/// Reports that are kept.
const KEPT: usize = 4;
/// Reports that are made at one time.
const AT_ONCE: usize = 2;

/// The report of one run, with the state of the files from which it was made.
type Slot = Arc<Mutex<Option<(Stamp, Arc<Report>)>>>;

/// The reports that are kept, the latest used last.
#[derive(Debug, Default)]
pub(super) struct Reports {
    kept: Mutex<Vec<(PathBuf, Slot)>>,
    made: Turns,
}

impl Reports {
    /// Returns the report of a run.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(super) fn of(&self, run: &Path) -> Result<Arc<Report>, String> {
        self.with(run, || {
            check_files(run, RUN_AT_MOST)?;
            Report::from_folder(run, tech::ALL).map_err(|error| without_path(&error.to_string(), run))
        })
    }

    /// Returns the report of a run, which this makes if there is none of the present files.
    fn with(&self, run: &Path, make: impl FnOnce() -> Result<Report, String>) -> Result<Arc<Report>, String> {
        let slot = self.slot(run);
        let mut kept = lock(&slot);
        let stamp = stamp(run, &[TRIALS, RESULTS, EVENTS]);
        if let Some((_, report)) = kept.as_ref().filter(|(then, _)| *then == stamp) {
            return Ok(Arc::clone(report));
        }
        let _turn = self.made.take();
        *kept = None;
        let report = Arc::new(make()?);
        *kept = Some((stamp, Arc::clone(&report)));
        Ok(report)
    }

    /// Returns the slot of a run, and makes it the latest.
    fn slot(&self, run: &Path) -> Slot {
        let mut kept = lock(&self.kept);
        let at = kept.iter().position(|(path, _)| path == run);
        let entry = at.map_or_else(|| (run.to_path_buf(), Slot::default()), |at| kept.remove(at));
        let slot = Arc::clone(&entry.1);
        kept.push(entry);
        if kept.len() > KEPT {
            kept.remove(0);
        }
        slot
    }
}

/// The number of reports that are being made.
#[derive(Debug, Default)]
struct Turns {
    taken: Mutex<usize>,
    free: Condvar,
}

/// A turn to make a report, until it is dropped.
struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for a turn.
    fn take(&self) -> Turn<'_> {
        let taken = lock(&self.taken);
        let wait = self.free.wait_while(taken, |taken| *taken >= AT_ONCE);
        *wait.unwrap_or_else(PoisonError::into_inner) += 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.taken) -= 1;
        self.0.free.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the path of the run from a text, so that readers do not see it.
fn without_path(text: &str, run: &Path) -> String {
    text.replace(&format!("{}/", run.display()), "").replace(&run.display().to_string(), "the folder")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    fn failed(reports: &Reports, run: &str) -> String {
        reports.with(Path::new(run), || Err(run.to_owned())).unwrap_err()
    }

    #[test]
    fn a_long_report_delays_no_other_run() {
        let reports = Reports::default();
        let ((begun, has_begun), (end, ends)) = (channel(), channel());
        thread::scope(|threads| {
            let long = &reports;
            threads.spawn(move || {
                long.with(Path::new("/long"), || {
                    begun.send(()).unwrap();
                    ends.recv().unwrap();
                    Err(String::new())
                })
            });
            has_begun.recv().unwrap();
            assert_eq!(failed(&reports, "/short"), "/short");
            end.send(()).unwrap();
        });
    }

    #[test]
    fn few_reports_are_made_at_one_time() {
        let turns = Turns::default();
        let held: Vec<Turn<'_>> = (0..AT_ONCE).map(|_| turns.take()).collect();
        thread::scope(|threads| {
            let waits = threads.spawn(|| drop(turns.take()));
            thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waits.is_finished());
            drop(held);
        });
        assert_eq!(*lock(&turns.taken), 0);
    }
}
