//! The tester is measured at each point with the point's own number of connections, its state table filled: a table larger
//! than the caches halves what the tester can do, and a ceiling of another point would promise too much.

use crate::folder::{Calibration, Ceiling};
use crate::plan::Point;
use crate::rig::{self, Process};
use crate::scenario::{Dut, Scenario};
use engine::calibrate::{self, CalibrateError};
use method::{Nanos, TrialError};
use plane::Hop;
use plane::view::{self, Bed};
use std::sync::Arc;
use wire::{AddrRange, FlowError, FlowSpace, OuterRange, View};

/// Each of several runs at a point lasts about so long.
const RUN: Nanos = Nanos::from_millis(30);

/// Add to `known` what is not yet known of the tester at this point; says what that was. With a simulated device there is
/// nothing to know: it has no frames.
///
/// # Errors
/// When the tester's own loop does not work.
pub fn calibrate(
    known: &mut Calibration,
    scenario: &Scenario,
    point: &Point,
    process: &Process,
) -> Result<Option<Ceiling>, CalibrateError> {
    let scenario = &*point.of(scenario);
    if known.at(point.connections, &point.axes).is_some() || matches!(scenario.duts[point.dut], Dut::Simulated { .. }) {
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
    process: &Process,
) -> Result<Ceiling, CalibrateError> {
    let (clock, core) = (process.clock, port::host::cores().first().copied());
    let view = Arc::new(cable(scenario, point).map_err(|e| TrialError::Refused(e.to_string()))?);
    if known.clock.is_empty() {
        let basics = calibrate::basics(clock, core, &view)?;
        known.clock = clock.describe();
        known.clock_read_ps = basics.clock_read_ps;
        (known.departure_p50_ns, known.departure_p99_ns) = (basics.departure_p50_ns, basics.departure_p99_ns);
        known.latency_floor_ns = basics.latency_floor_ns;
    }
    let traffic = &scenario.traffic;
    let found = calibrate::ceiling(clock, core, &view, traffic.direction, traffic.responder_order, RUN)?;
    Ok(Ceiling {
        connections: point.connections,
        axes: point.axes.clone(),
        frames: found.frames,
        set_up: found.set_up,
        send_ps: found.send_ps,
        receive_ps: found.receive_ps,
    })
}

/// Flows for so many connections: what a technology's customers have between them, many hosts of one scenario have here.
fn enough(scenario: &Scenario, flows: FlowSpace, connections: u64) -> Result<FlowSpace, FlowError> {
    let (t, times) = (&scenario.traffic, connections.div_ceil(flows.size()));
    if times <= 1 {
        return Ok(flows);
    }
    let hosts = u32::try_from(u64::from(flows.inside().count) * times).unwrap_or(u32::MAX);
    FlowSpace::new(AddrRange { count: hosts, ..flows.inside() }, t.source_ports, t.remote, t.destination_ports)
}

/// What the two sides send and expect at this point with a plain cable between them: where a state table is needed, that
/// of a NAT which translates nothing.
fn cable(scenario: &Scenario, point: &Point) -> Result<View, FlowError> {
    let flows = enough(scenario, rig::flow_space(scenario)?, point.connections)?;
    let nothing = OuterRange { addrs: flows.inside(), ports: flows.inside_ports() };
    let bed = Bed {
        left: Hop::default(),
        right: Hop::default(),
        frame_size: scenario.traffic.frame_size,
        ttl: scenario.traffic.ttl,
        connections: rig::connections(&flows, point),
        flows,
        seed: scenario.traffic.seed,
    };
    Ok(if point.connections == 0 { view::forwarding(&bed) } else { view::nat44(&bed, nothing) })
}
