//! An external device between the two ports of a test bed. `place` makes links, guests and programs where the bed file
//! asks for them; `boxes` runs the hooks, the user's or natmeter's own.

use super::cores::tester_cores;
use super::place::Place;
use super::ports::open;
use super::uncleared::Uncleared;
use super::wires::Wires;
use super::{
    Bed as TestBed, Process, Rig, RigError, check_frames_fit, connections, flow_space, settings, with_traffic,
};
use super::{boxes, loops, silence, technology};
use engine::{Device, Engine};
use method::Loop;
use plane::{Hop, view};
use record::folder::Figures;
use scenario::bed::Bed;
use scenario::{Dut, Point, Scenario};
use std::sync::Arc;
use wire::View;

/// Builds the rig.
///
/// # Errors
/// If the ports cannot be opened, or a hook fails; then the box has been restored.
pub(super) fn build(scenario: &Scenario, bed: &Bed, point: &Point, process: &Process) -> Result<Rig, RigError> {
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
    loops::refuse(&mut opened, bed.knows(loops::BRIDGE), process)?;
    let view = Arc::new(view_of(scenario, opened.hops, point)?);
    let mut wires = Wires::of(scenario, process.clock);
    let mut facts = opened.facts.clone();
    facts.extend(boxes.facts());
    facts.extend(place.facts(bed));
    facts.insert("cabling".to_owned(), bed.keys.cabling.clone());
    facts.insert("test bed".to_owned(), bed.keys.name.clone());
    if !bed.keys.allow_addresses.is_empty() {
        facts.insert("addresses of an isolated bed".to_owned(), bed.keys.allow_addresses.join(", "));
    }
    let uncleared = Uncleared::of(scenario, &scenario.duts[point.dut], &view, opened.hops[0].next, process)?;
    let doubts = wires.doubts().into_iter().chain(boxes.doubts(uncleared.as_ref())).chain(place.doubts()).collect();
    let (lanes, mutes) = opened.lanes(&mut wires, &tester_cores(scenario));
    let shares_core = boxes.shares_core;
    let (device, restore, afterwards) = boxes.running(uncleared);
    let engine = Engine::new(
        process.clock,
        lanes,
        view,
        device as Box<dyn Device>,
        settings(scenario, Loop::Open),
        Arc::clone(&process.interrupted),
    )?;
    Ok(Rig {
        bed: TestBed::Engine(Box::new(engine)),
        null: None,
        buffered: 0,
        facts,
        figures: Figures::new(),
        doubts,
        shares_core,
        price: None,
        afterwards: Some(afterwards),
        captures: wires.into_captures(),
        teardown: Some(Box::new(move || {
            let ended = place.ended().map(|ended| format!("the program that was started as the device {ended}"));
            let left: Vec<String> = restore().into_iter().chain(ended).collect();
            drop((mutes, place));
            left
        })),
    })
}

/// The view: what both sides send and expect.
fn view_of(scenario: &Scenario, hops: [Hop; 2], point: &Point) -> Result<View, RigError> {
    let Dut::External { plays, technology, .. } = &scenario.duts[point.dut] else {
        unreachable!("over a bed, the device is external")
    };
    let view = if let Some(technology) = technology {
        technology::view_between(hops, scenario, *plays, technology.as_ref(), point)?
    } else {
        let flows = flow_space(scenario)?;
        view::forwarding(&view::Bed {
            left: hops[0],
            right: hops[1],
            frame_size: scenario.traffic.frame_size,
            ttl: scenario.traffic.ttl,
            connections: connections(&flows, point),
            flows,
            seed: scenario.traffic.seed,
        })
    };
    let view = with_traffic(view, hops, scenario)?;
    check_frames_fit(&view, MTU)?;
    Ok(view)
}

/// MTU of the links of a bed.
const MTU: usize = 1500;
