//! Checks whether this machine supports the devices of a scenario, before any change.

use super::{RigError, configuration, dns};
use dut::dns::QueryPath;
use dut::tool::{self, ETHTOOL, IP, Tool};
use dut::{Configuration, DutError};
use scenario::bed::{Bed, PortIo};
use scenario::{Point, Scenario};

/// Checks that the programs for kernel devices and DNS are installed, and that the ports can be made.
pub(crate) fn check_tools(scenario: &Scenario, points: &[Point]) -> Result<(), RigError> {
    let mut needed: Vec<Tool> = Vec::new();
    let mut has_taps = false;
    for point in points {
        let between = dns::between(scenario, point).or(scenario.sends_queries().then_some(QueryPath::Nothing));
        if let Some(between) = between {
            dut::dns::see_that_tools_are_there(&between)?;
        }
        if let Some((bed, configuration)) = made(scenario, point) {
            let tools = [IP, ETHTOOL].iter().chain(configuration.software.tools);
            let new: Vec<Tool> = tools.copied().filter(|tool| !needed.contains(tool)).collect();
            needed.extend(new);
            has_taps |= bed.left.io == PortIo::Tap;
        }
    }
    tool::require(&needed).map_err(DutError::from)?;
    if has_taps {
        port::backend::tap::see_that_tun_is_there()?;
    }
    Ok(())
}

/// The bed whose links natmeter makes, and what steps configure in it.
fn made(scenario: &Scenario, point: &Point) -> Option<(Bed, Configuration)> {
    let bed = scenario.bed_with(&scenario.duts[point.dut]).filter(|bed| bed.makes_links())?.into_owned();
    let (role, keys) = bed.boxes.first()?;
    let configured = configuration::of(scenario, &bed, (role, keys), point)?;
    Some((bed, configured))
}

/// Checks that this machine supports all kernel devices and DNS set-ups of these points, and perf
/// if they need it, for root or for another user. Otherwise a run could fail after it has measured
/// other devices.
pub(crate) fn check_devices(scenario: &Scenario, points: &[Point], root: bool) -> Result<(), RigError> {
    if scenario.is_profiled() && scenario.duts.iter().any(|dut| dut.is_profiled_here(scenario)) {
        dut::perf::see_that_it_works(root)?;
    }
    for point in points {
        let scenario = &*point.of(scenario);
        if let Some(between) = dns::between(scenario, point) {
            dut::dns::plan(&between)?;
        }
        if let Some(refused) = what_takes_root(scenario, point).filter(|_| !root) {
            return Err(refused.into());
        }
        if let Some((_, configuration)) = made(scenario, point) {
            configuration.plan()?;
        }
    }
    Ok(())
}

/// The refusal of what only root can have at a point; none if a user namespace is enough.
pub(crate) fn what_takes_root(scenario: &Scenario, point: &Point) -> Option<DutError> {
    let (bed, configuration) = made(scenario, point)?;
    let pinned = configuration.pinning_takes_root();
    let is_xdp = bed.ports().iter().any(|(_, port)| !matches!(port.io, PortIo::AfPacket | PortIo::Tap));
    let xdp = is_xdp.then(|| DutError::Refused {
        what: "AF_XDP needs root; a user namespace is not enough".to_owned(),
        way_out: "run as root, or use tap or af-packet".to_owned(),
    });
    pinned.or(xdp).or_else(|| configuration.what_takes_root())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::plan::Plan;
    use scenario::{Options, parse};

    #[test]
    fn an_unsupported_later_device_is_refused_before_the_first() {
        let text = include_str!("../../../scenarios/kernel-nat44-xdp.toml");
        let scenario = parse("x.toml", text, &Options::default(), tech::ALL).unwrap().scenario;
        let points: Vec<Point> = Plan::new(&scenario).measurements.into_iter().map(|m| m.point).collect();
        let refused = check_devices(&scenario, &points, false).unwrap_err().to_string();
        assert!(refused.contains("AF_XDP needs root"), "{refused}");
    }
}
