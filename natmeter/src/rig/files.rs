//! The files that a scenario names: opened for a technology, and looked at before anything is touched, so that `check` shows
//! what a run would have shown an hour later.

use scenario::{Complaints, Loaded};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Opens a file for a technology.
///
/// # Errors
/// When it cannot be read.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(Box::new(BufReader::with_capacity(1 << 20, File::open(path)?)))
}

/// Loads the files that a scenario names, and forgets them again. Memory and time are those of the run's own loading.
///
/// # Errors
/// What is wrong with a file, under the words that name it.
pub fn see_that_files_are_right(loaded: &Loaded) -> Result<(), Complaints> {
    let scenario = &loaded.scenario;
    for (at, dut) in scenario.duts.iter().enumerate() {
        let Some((plays, technology)) = dut.technology() else { continue };
        let Some((key, path)) = technology.file() else { continue };
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            let why = format!("{}: not a regular file, but natmeter reads it more than once", path.display());
            return Err(loaded.complaint_about_file(key, &why));
        }
        // What a file must have room for, it needs at the point with the most subscribers.
        let points = scenario.combinations(dut).into_iter().map(|values| scenario.at(at, &values));
        if let Some(point) = points.max_by_key(|point| point.traffic.flows.subscribers) {
            let checked = technology.check_file(plays, &point.traffic.flows, &open);
            checked.map_err(|why| loaded.complaint_about_file(key, &why))?;
        }
    }
    Ok(())
}
