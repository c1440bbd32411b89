//! The files that a scenario names, looked at before anything is touched: they are loaded as a run loads them, so that `check`
//! shows what the run would have shown an hour later. Apart from the rigs, because nothing is built here, and from the
//! scenario's own checks, which open nothing.

use super::RigError;
use super::technology::{by_map_or_prefix, listed, own_softwire};
use crate::scenario::technology::{Plays, Siit, Softwires, Technology};
use crate::scenario::{Complaints, Dut, Loaded, Scenario, Traffic};
use crate::technology;
use std::path::Path;

/// Load the files that a scenario names, and forget them again. Memory and time are those of the run's own loading.
///
/// # Errors
/// What is wrong with a file, under the words that name it.
pub fn see_that_files_are_right(loaded: &Loaded) -> Result<(), Complaints> {
    let scenario = &loaded.scenario;
    for (at, dut) in scenario.duts.iter().enumerate() {
        let Dut::Technology { plays, technology } = dut else { continue };
        let Some((key, path)) = file(technology) else { continue };
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            let why = format!("{}: this is no regular file, and it is read more than once", path.display());
            return Err(loaded.complaint_about_file(key, &why));
        }
        // What a file must have room for, it needs at the point with the most subscribers.
        let points = scenario.combinations(dut).into_iter().map(|values| scenario.at(at, &values));
        if let Some(point) = points.max_by_key(|point| point.traffic.subscribers) {
            of_technology(&point, *plays, technology).map_err(|error| {
                let why = if let RigError::Gateway(why) = error { why } else { error.to_string() };
                loaded.complaint_about_file(key, &why)
            })?;
        }
    }
    Ok(())
}

/// The file that is named, if one is, and its key.
fn file(technology: &Technology) -> Option<(&'static str, &Path)> {
    match technology {
        Technology::Lw4o6(l) => match &l.softwires {
            Softwires::File(path) => Some(("softwires", path)),
            Softwires::Row { .. } => None,
        },
        Technology::Siit(siit) => siit.eam_file.as_deref().map(|path| ("eam-file", path)),
        _ => None,
    }
}

fn of_technology(point: &Scenario, plays: Plays, technology: &Technology) -> Result<(), RigError> {
    match technology {
        Technology::Lw4o6(_) if plays == Plays::Pe => listed(point, plays, technology).map(drop),
        Technology::Lw4o6(l) => own_softwire(l).map(drop),
        Technology::Siit(siit) => explicit_maps(siit, &point.traffic),
        _ => Ok(()),
    }
}

/// Every address of the tester has one in the other version.
fn explicit_maps(siit: &Siit, traffic: &Traffic) -> Result<(), RigError> {
    let maps = technology::explicit_maps(siit).map_err(RigError::Gateway)?;
    let inside = (traffic.inside.first, traffic.inside.count.max(traffic.subscribers));
    for (first, count) in [inside, (traffic.remote.first, traffic.remote.count)] {
        for i in 0..count {
            by_map_or_prefix(maps.as_ref(), siit.pref64, u32::from(first).wrapping_add(i))?;
        }
    }
    Ok(())
}
