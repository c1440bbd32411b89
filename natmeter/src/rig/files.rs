//! The files that a scenario or a bed names, which natmeter checks before any change.

use scenario::bed::{Bed, BoxKeys};
use scenario::{Complaints, LoadedScenario};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Opens a file for a technology.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(Box::new(BufReader::with_capacity(1 << 20, File::open(path)?)))
}

/// Loads the files of a scenario once, which takes the same memory and time as in a run. Marks errors at the file's
/// name in the scenario.
pub fn check(loaded: &LoadedScenario) -> Result<(), Complaints> {
    let scenario = &loaded.scenario;
    for (at, dut) in scenario.duts.iter().enumerate() {
        let Some((plays, technology)) = dut.technology() else { continue };
        let Some((key, path)) = technology.file() else { continue };
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            let why = format!("{}: not a regular file, but natmeter reads it more than once", path.display());
            return Err(loaded.complaint_about_file(key, &why));
        }
        // The point with the most subscribers needs the most entries.
        let most = scenario.most_connections();
        let points = scenario.combinations(dut).into_iter().map(|values| scenario.at(at, most, &values));
        if let Some(point) = points.max_by_key(|point| point.traffic.flows.subscribers) {
            let checked = technology.check_file(plays, &point.traffic.flows, &open);
            checked.map_err(|why| loaded.complaint_about_file(key, &why))?;
        }
    }
    Ok(())
}

pub fn folder(bed: &Bed) -> PathBuf {
    if bed.folder.as_os_str().is_empty() { PathBuf::from(".") } else { bed.folder.clone() }
}

pub fn ssh_config(bed: &Bed, keys: &BoxKeys) -> Option<PathBuf> {
    keys.ssh_config.as_ref().map(|file| bed.folder.join(file))
}
