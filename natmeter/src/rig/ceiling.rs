//! The tester's own limits over the ports of a bed: its send ceiling, and T0 over a cable.

use super::cores::tester_cores;
use super::place::Place;
use super::ports::open;
use super::wires::Wires;
use super::{RigError, RunContext, settings};
use engine::overload::OverloadTraffic;
use engine::{Engine, NoDevice};
use method::{Loop, Nanos, Rate, TrialError};
use port::Mute;
use scenario::Scenario;
use scenario::bed::Bed;
use std::sync::Arc;
use wire::header::FCS;

/// Number of windows, and length of each.
const WINDOWS: usize = 5;
const WINDOW: Nanos = Nanos::from_millis(30);

/// Measures T0, the rate of the tester without a device: a cable joins both ports. Returns the
/// received frames per second and direction, the median of the windows.
pub(crate) fn over_cable(
    scenario: &Scenario,
    bed: &Bed,
    cable: &OverloadTraffic,
    process: &RunContext,
) -> Result<Rate, RigError> {
    let (mut engine, _mutes) = engine(scenario, bed, cable, process)?;
    let mut rates = (0..WINDOWS).map(|_| engine.overload(cable, WINDOW)).collect::<Result<Vec<Rate>, TrialError>>()?;
    rates.sort_unstable();
    Ok(rates[WINDOWS / 2])
}

/// Returns an engine without a box, and values that must live as long as its ports.
fn engine(
    scenario: &Scenario,
    bed: &Bed,
    cable: &OverloadTraffic,
    process: &RunContext,
) -> Result<(Engine, (Vec<Mute>, Place)), RigError> {
    let place = Place::of(bed, process)?;
    let opened = open(scenario, bed, &place, process)?;
    let mut wires = Wires::bare(process.clock);
    let (lanes, mutes) = opened.lanes(&mut wires, &tester_cores(scenario));
    let (view, settings) = (Arc::clone(&cable.view), settings(scenario, Loop::Open));
    let interrupted = Arc::clone(&process.interrupted);
    Ok((Engine::new(process.clock, lanes, view, Box::new(NoDevice), settings, interrupted)?, (mutes, place)))
}

/// Measures how many frames per second and direction the tester can send: the highest of several
/// windows. The frames have the sending port's own address as destination, so that no box accepts
/// them.
pub(crate) fn send_ceiling(
    scenario: &Scenario,
    bed: &Bed,
    cable: &OverloadTraffic,
    process: &RunContext,
) -> Result<Rate, RigError> {
    let (mut engine, _mutes) = engine(scenario, bed, cable, process)?;
    match most_sent(&mut engine, cable)? {
        Rate(0) => Err(RigError::Bed(format!(
            "no frame of {} octets could be sent: see the MTU of the ports and of their far ends",
            cable.view.left.len().max(cable.view.right.len()) + FCS
        ))),
        rate => Ok(rate),
    }
}

/// No frame needs to be received.
pub(super) fn most_sent(engine: &mut Engine, cable: &OverloadTraffic) -> Result<Rate, TrialError> {
    let rates: Vec<Rate> = (0..WINDOWS).map(|_| engine.send_only(cable, WINDOW)).collect::<Result<_, _>>()?;
    Ok(rates.into_iter().max().unwrap_or_default())
}
