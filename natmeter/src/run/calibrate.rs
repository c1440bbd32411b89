//! Calibrates the tester at each point: with the point's number of connections and a filled state
//! table, because a table larger than the caches halves the ceiling; and with the point's back-end,
//! over veth with a cable of the same kind.

use super::RunError;
use crate::rig::place::Place;
use crate::rig::{self, RigError, RunContext, ceiling, cores, external, ports};
use engine::calibrate::{self, CalibrateError, CalibrationSettings, Ends};
use engine::overload::OverloadTraffic;
use method::{Direction, Nanos, Rate, TrialError};
use plane::Hop;
use plane::view;
use record::folder::{Calibration, Ceiling, Over};
use scenario::bed::Bed;
use scenario::{Point, Scenario};
use std::sync::Arc;
use wire::{AddrRange, FlowError, FlowSpace, OuterRange, View};

/// Duration of each of several runs at a point.
const RUN: Nanos = Nanos::from_millis(30);

/// Adds the ceiling of this point to `known`, if it is not there, and returns it. A simulated device has no frames and
/// needs no ceiling. Fails if the tester's loop does not work, or on an interrupt.
pub fn calibrate(
    known: &mut Calibration,
    scenario: &Scenario,
    point: &Point,
    process: &RunContext,
) -> Result<Option<Ceiling>, RunError> {
    let scenario = &*point.of(scenario);
    if known.at(scenario, point.connections, &point.axes).is_some() || scenario.is_simulated(point.dut) {
        return Ok(None);
    }
    let ceiling = measured(known, scenario, point, process)?;
    known.ceilings.push(ceiling.clone());
    Ok(Some(ceiling))
}

fn measured(
    known: &mut Calibration,
    scenario: &Scenario,
    point: &Point,
    process: &RunContext,
) -> Result<Ceiling, RunError> {
    // With the threads of the point.
    let clock = process.clock;
    let workers = cores::tester_cores(scenario).len() as u32;
    let view = cable(scenario, point, point.connections > 0)?;
    if known.clock.is_empty() {
        let basics = calibrate::basics(clock, port::host::cores().first().copied(), &view)?;
        known.clock = clock.describe();
        known.clock_read_ps = basics.clock_read_ps;
        (known.departure_p50_ns, known.departure_p99_ns) = (basics.departure_p50_ns, basics.departure_p99_ns);
        known.latency_floor_ns = basics.latency_floor_ns;
    }
    let here = Ceiling {
        connections: point.connections,
        axes: point.axes.clone(),
        frame: scenario.own_frame(),
        ..Ceiling::default()
    };
    if scenario.sends_queries() {
        // Measure the ceiling of the DNS client against the authoritative server.
        let found = rig::dns::ceiling(scenario, point, process)?;
        let (frames, send_ps, receive_ps) = (found.rate, found.send_ps, found.receive_ps);
        return Ok(Ceiling { over: Over::Dns, workers: 1, frames, send_ps, receive_ps, ..here });
    }
    let how = how(scenario, process);
    let (found, floor) = match scenario.bed_of_cable(&scenario.duts[point.dut]) {
        Some(bed) => over_cable(scenario, &bed, &how, &view, process)?,
        None => (calibrate::ceiling(&how, &view, None)?, None),
    };
    let found = match &scenario.bed {
        Some(bed) => {
            within(found, send_ceiling(scenario, bed, point, process)?, ports::line_rate(bed, scenario.widest_frame()))
        }
        None => found,
    };
    Ok(Ceiling {
        over: Over::of(&scenario.link),
        direction_ratio: scenario.traffic.direction.ratio(),
        workers,
        frames: found.frames,
        set_up: found.set_up,
        send_ps: found.send_ps,
        receive_ps: found.receive_ps,
        latency_floor_ns: floor,
        ..here
    })
}

/// Frames per second and direction that the tester can send over the ports of a bed.
pub fn send_ceiling(scenario: &Scenario, bed: &Bed, point: &Point, process: &RunContext) -> Result<Rate, RunError> {
    Ok(ceiling::send_ceiling(scenario, bed, &addressed_to_sender(scenario, bed, point)?, process)?)
}

/// No box accepts these frames and no switch forwards them.
pub(super) fn addressed_to_sender(scenario: &Scenario, bed: &Bed, point: &Point) -> Result<OverloadTraffic, RunError> {
    let hops = ports::macs(bed)?.map(|mac| Hop { own: mac, next: mac });
    Ok(offered(scenario, cable_between(hops, scenario, point, false)?))
}

/// T0 holds for any direction ratio: the faster direction of a ratio is at least as fast as each direction here.
fn offered(scenario: &Scenario, view: Arc<View>) -> OverloadTraffic {
    let traffic = &scenario.traffic;
    let direction = if traffic.direction.ratio().is_some() { Direction::Both } else { traffic.direction };
    OverloadTraffic { view, direction, responder_order: traffic.responder_order }
}

/// Measures T0 of a bed whose ports are cabled to each other, with the frames of a scenario: what arrives, and what is
/// sent when nothing has to come back. Fails if no frame arrives.
pub fn over_ports(scenario: &Scenario, bed: &Bed, point: &Point, process: &RunContext) -> Result<[Rate; 2], RunError> {
    let [left, right] = ports::macs(bed)?;
    let hops = [Hop { own: left, next: right }, Hop { own: right, next: left }];
    let across = offered(scenario, cable_between(hops, scenario, point, false)?);
    let arrived = ceiling::over_cable(scenario, bed, &across, process)?;
    Ok([arrived, send_ceiling(scenario, bed, point, process)?])
}

/// A ceiling in process, limited by what the ports send and by the line rate.
fn within(own: calibrate::Ceiling, sent: Rate, line_rate: Option<u64>) -> calibrate::Ceiling {
    let least = line_rate.map_or(sent, |line| sent.min(Rate(line)));
    calibrate::Ceiling { frames: own.frames.min(least), set_up: own.set_up.map(|rate| rate.min(least)), ..own }
}

fn how(scenario: &Scenario, process: &RunContext) -> CalibrationSettings {
    let traffic = &scenario.traffic;
    CalibrationSettings {
        clock: process.clock,
        cores: cores::tester_cores(scenario),
        direction: traffic.direction,
        responder_order: traffic.responder_order,
        responder_table: traffic.responder_table,
        popularity: traffic.popularity,
        per_run: RUN,
        interrupted: Arc::clone(&process.interrupted),
    }
}

/// The ceiling, and the latency of single frames in nanoseconds, over a temporary cable of the device's kind.
fn over_cable(
    scenario: &Scenario,
    bed: &Bed,
    how: &CalibrationSettings,
    view: &Arc<View>,
    process: &RunContext,
) -> Result<(calibrate::Ceiling, Option<u64>), RunError> {
    let _lock = external::lock(scenario).map_err(RigError::from)?;
    let place = Place::of_cable(scenario, bed, process)?;
    let opened = ports::open(scenario, bed, &place, process)?;
    let Ends { mut pool, mut left, mut right } = opened.of_cable().expect("a bed has a lane");
    let floor = calibrate::latency(how.clock, view, (&mut *left, &mut *right), &mut pool, &mut || {})?;
    let ceiling = calibrate::ceiling(how, view, Some(Ends { pool, left, right }))?;
    drop(place);
    Ok((ceiling, Some(floor.median)))
}

/// More hosts replace the subscribers of a technology.
fn enough(scenario: &Scenario, flows: FlowSpace, connections: u64) -> Result<FlowSpace, FlowError> {
    let (t, times) = (&scenario.traffic, connections.div_ceil(flows.size()));
    if times <= 1 {
        return Ok(flows);
    }
    let hosts = u32::try_from(u64::from(flows.inside().count) * times).unwrap_or(u32::MAX);
    FlowSpace::new(
        AddrRange { count: hosts, ..flows.inside() },
        t.flows.source_ports,
        t.flows.remote,
        t.flows.destination_ports,
    )
}

/// Frames over a cable; with connections, if the view is to be stateful, as behind a NAT that translates nothing. Fails
/// if the ranges of the flows are inconsistent.
pub(super) fn cable(scenario: &Scenario, point: &Point, stateful: bool) -> Result<Arc<View>, RunError> {
    cable_between([Hop::default(); 2], scenario, point, stateful)
}

fn cable_between(hops: [Hop; 2], scenario: &Scenario, point: &Point, stateful: bool) -> Result<Arc<View>, RunError> {
    let refused = |e: FlowError| CalibrateError::from(TrialError::Refused(e.to_string()));
    let flows = scenario.traffic.flows.space().and_then(|flows| enough(scenario, flows, point.connections));
    let flows = flows.map_err(refused)?;
    let nothing = OuterRange { addrs: flows.inside(), ports: flows.inside_ports() };
    let bed = rig::cabled(scenario, hops, flows, point);
    let view = if stateful { view::nat44(&bed, nothing) } else { view::forwarding(&bed) };
    Ok(Arc::new(rig::with_traffic(view, hops, scenario)?))
}
