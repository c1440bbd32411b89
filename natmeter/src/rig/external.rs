//! A device between the two ports of a test bed: that of a bed file, or a device's own. `place` makes links, guests and
//! programs where the bed asks for them; `boxes` runs the hooks, the user's or natmeter's own.

use super::boxes::Boxes;
use super::cores::tester_cores;
use super::here;
use super::null::NullPath;
use super::place::Place;
use super::ports::open;
use super::uncleared::UnclearedBox;
use super::wires::Wires;
use super::{Rig, RigError, RunContext, TrialRunner, failed, settings, view_of};
use super::{boxes, loops, silence};
use dut::external::External;
use dut::links::Links;
use dut::lock::{self, Lock};
use dut::{DutError, RunDir};
use engine::Engine;
use method::TrialError;
use record::folder::{FactTable, Figures};
use scenario::bed::Bed;
use scenario::{Null, Point, Scenario};
use std::sync::{Arc, Mutex};

/// Fails if the ports cannot be opened, or a hook fails; then the box has been restored.
pub(super) fn build(scenario: &Scenario, bed: &Bed, point: &Point, process: &RunContext) -> Result<Rig, RigError> {
    let lock = lock(scenario)?;
    let mut place = Place::of(bed, process)?;
    if !bed.keys.allow_addresses.is_empty() {
        silence::require(&mut open(scenario, bed, &place, process)?, bed.keys.silence.into(), process)?;
    }
    place.boot(scenario, bed, point, process)?;
    let boxes = boxes::prepare(scenario, bed, point, &place, process)?;
    // A TAP has a carrier only while the tester has it open.
    let mut opened = open(scenario, bed, &place, process)?;
    place.start(bed, |role| boxes::values(scenario, role, point), process)?;
    opened.resolve(bed, &place, process).map_err(|error| match place.ended() {
        Some(ended) => RigError::Ended(ended),
        None => error,
    })?;
    loops::refuse_loops(&mut opened, bed.knows(loops::I_KNOW_BRIDGE), process)?;
    if boxes.are_configured() {
        opened.see_that_it_translates(bed, &scenario.duts[point.dut])?;
        boxes.each(External::clear)?;
    }
    let view = Arc::new(view_of(scenario, opened.hops, point)?);
    let mut wires = Wires::of(scenario, process.clock);
    let mut facts = opened.facts.clone();
    facts.extend(facts_of(scenario, bed, &boxes, &place));
    if !bed.keys.allow_addresses.is_empty() {
        facts.insert("addresses of an isolated bed".to_owned(), bed.keys.allow_addresses.join(", "));
    }
    let dut = &scenario.duts[point.dut];
    let (path, is_kernel) = (opened.path(), dut.is_kernel_of_tester(scenario));
    let figures = if is_kernel && dut.is_stateful() { here::table_sizes(&mut facts) } else { Figures::new() };
    // A refusal drops what is open before the boxes, which are restored without it only.
    let uncleared = UnclearedBox::of(scenario, dut, &view, opened.hops[0].next, process)?;
    let mut boxes = boxes.cleared_by(uncleared);
    let has_null = dut.null_device(scenario) == Null::InPlace;
    let doubts = wires.doubts().into_iter().chain(boxes.doubts()).chain(place.doubts());
    let doubts = doubts.chain(here::no_null().filter(|_| has_null)).collect();
    let (lanes, mutes) = opened.lanes(&mut wires, &tester_cores(scenario));
    let place = Arc::new(Mutex::new(Some(place)));
    let (price_of, end_of) = (Arc::clone(&place), Arc::clone(&place));
    let own_cores = if is_kernel { &boxes.own_cores[..] } else { &[] };
    let price = here::price(own_cores, move |work| with(&price_of, |links| Ok(links.work(work))).ok()?);
    let (restore, spread, shares_core) = (boxes.restore(), boxes.spread(), boxes.share_cores);
    let engine = Engine::new(
        process.clock,
        lanes,
        view,
        Box::new(boxes),
        settings(scenario, path.dut_loop),
        Arc::clone(&process.interrupted),
    )?;
    let mut rig = Rig::of(TrialRunner::Engine(Box::new(engine)));
    rig.null = (has_null && dut::null::is_available()).then(|| null_path(&place, path.is_generic));
    // natmeter knows the queues of this machine's kernel only.
    rig.buffered = if is_kernel { path.buffered } else { 0 };
    (rig.facts, rig.figures, rig.doubts) = (facts, figures, doubts);
    (rig.shares_core, rig.price, rig.afterwards) = (shares_core, price, Some(spread));
    rig.captures = wires.into_captures();
    if !bed.makes_links() {
        rig.interfaces = bed.ports().iter().map(|(_, keys)| keys.interface.clone()).collect();
    }
    rig.program_end = Some(Box::new(move || {
        let ended = end_of.lock().expect("no panic while held").as_mut().and_then(Place::ended);
        ended.map(|ended| format!("the program that was started as the device {ended}"))
    }));
    rig.teardown = Some(Box::new(move || {
        let place = place.lock().expect("no panic while held").take();
        let left = restore();
        drop((mutes, place, lock));
        left
    }));
    Ok(rig)
}

pub(super) fn facts_of(scenario: &Scenario, bed: &Bed, boxes: &Boxes, place: &Place) -> FactTable {
    let mut facts = boxes.facts.clone();
    facts.extend(place.facts(bed));
    if scenario.bed.is_some() {
        facts.insert("cabling".to_owned(), bed.keys.cabling.clone());
        facts.insert("test bed".to_owned(), bed.keys.name.clone());
    }
    facts
}

/// The lock of the test bed on this machine, which one run at a time has; a bed file has locks of its own.
pub(crate) fn lock(scenario: &Scenario) -> Result<Option<Lock>, DutError> {
    scenario.bed.is_none().then(|| Lock::take(&RunDir::of_this_user(), lock::TEST_BED)).transpose()
}

/// The boxes, until they are torn down.
type SharedPlace = Arc<Mutex<Option<Place>>>;

fn with<T>(standing: &SharedPlace, work: impl FnOnce(&mut Links) -> Result<T, DutError>) -> Result<T, TrialError> {
    let mut place = standing.lock().expect("no panic while held");
    let links = place.as_mut().and_then(Place::links);
    let links = links.ok_or_else(|| TrialError::Device("the links of the box are gone".to_owned()))?;
    work(links).map_err(|error| failed(&error))
}

/// The null path in place of the boxes.
fn null_path(standing: &SharedPlace, is_generic: bool) -> NullPath {
    let standing = Arc::clone(standing);
    NullPath::new(move |on| with(&standing, |links| links.set_null(is_generic, on)))
}
