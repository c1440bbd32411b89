//! The cores of the boxes: those of this machine that forward packets of boxes in namespaces, and
//! what a report says about all.

use crate::rig::RigError;
use crate::rig::cores::{LocalCores, shared_out};
use crate::rig::place::named;
use record::folder::FactTable;
use scenario::bed::{self, Bed, BoxKeys};
use scenario::{Point, Scenario};
use std::collections::BTreeSet;

/// Boxes whose packets this machine steers to their cores.
pub(super) fn steered<'a>(scenario: &'a Scenario, bed: &'a Bed) -> impl Iterator<Item = &'a str> {
    let is_steered = |(role, keys): &&'a (&'static str, BoxKeys)| keys.is_steered(role, &scenario.sweep.cores);
    bed.boxes.iter().filter(is_steered).map(|(role, _)| *role)
}

/// `None` for boxes that are elsewhere.
pub(crate) fn on_this_machine(scenario: &Scenario, bed: &Bed, point: &Point) -> Option<LocalCores> {
    if !bed.makes_links() {
        return None;
    }
    let (all, lanes) = (port::host::cores(), bed.lanes() as usize);
    let tester: Vec<usize> = all.iter().copied().take(lanes).collect();
    let of_box = |(role, keys): &(&'static str, BoxKeys)| match keys {
        _ if keys.is_steered(role, &scenario.sweep.cores) => {
            let [_, device] = shared_out(lanes, scenario.sweep.cores.of_box(role, point.cores) as usize);
            device
        }
        // The thread that sends a frame forwards it.
        _ if keys.has_kernel_of_tester() && keys.start.is_none() => tester.clone(),
        // The scheduler keeps programs, and natmeter keeps guests, off the cores of the tester's
        // threads, if there are others.
        _ => Some(&all[tester.len()..]).filter(|free| !free.is_empty()).unwrap_or(&all).to_vec(),
    };
    let device: BTreeSet<usize> = bed.boxes.iter().flat_map(of_box).collect();
    Some(LocalCores { tester, device: device.into_iter().collect() })
}

/// Cores of the scenario that the tester does not use, or else all, because the thread that sends a
/// frame forwards it.
pub(super) fn cores_here(scenario: &Scenario, bed: &Bed, point: &Point) -> Vec<usize> {
    let here: Vec<_> = bed.boxes.iter().filter(|(_, keys)| keys.has_kernel_of_tester()).collect();
    let most = |role: &str| scenario.sweep.cores.of_box(role, point.cores) as usize;
    match here.iter().map(|(role, _)| most(role)).max() {
        None => Vec::new(),
        Some(cores) if steered(scenario, bed).count() == here.len() => {
            let [tester, mut device] = shared_out(bed.lanes() as usize, cores);
            device.retain(|core| !tester.contains(core));
            if device.is_empty() { tester } else { device }
        }
        Some(_) => port::host::cores(),
    }
}

/// What a report says of the cores of several boxes.
pub(super) fn cores_of_boxes(scenario: &Scenario, bed: &Bed) -> FactTable {
    let cores = &scenario.sweep.cores;
    let mut facts = FactTable::new();
    if bed.boxes.len() == 1 {
        return facts;
    }
    let fixed = cores.boxes.iter().flat_map(|boxes| &boxes.fixed);
    facts.extend(fixed.map(|(role, cores)| (named(role, "cores"), cores.to_string())));
    if cores.values.len() > 1 {
        let is_fixed = |role: &str| facts.contains_key(&named(role, "cores"));
        let varying = bed.boxes.iter().filter(|(role, keys)| keys.has_varying_cores() && !is_fixed(role));
        let varying: Vec<&str> = varying.map(|(role, _)| *role).collect();
        facts.insert("box whose cores vary".to_owned(), varying.join(", "));
    }
    facts
}

/// A mask of the kernel; of no use for boxes that are not on this machine.
pub(super) fn core_mask(bed: &Bed, (role, keys): (&str, &BoxKeys), cores: u32) -> Result<String, RigError> {
    let is_steered = keys.cores_by() == Some(bed::CoresBy::Steering);
    let [_, found] = shared_out(bed.lanes() as usize, cores as usize);
    if is_steered && found.len() < cores as usize {
        return Err(RigError::Bed(format!(
            "too many cores for the box `{role}` in a namespace: {cores}; natmeter may use {} of this machine; lower `cores` of [sweep]",
            found.len()
        )));
    }
    Ok(dut::interface::cpu_mask(&found))
}
