//! Checks whether this machine supports the devices of a scenario, before any change.

use super::kernel::device_config;
use super::{RigError, dns};
use dut::DeviceConfig;
use dut::dns::Between;
use scenario::{Point, Scenario};

/// Checks that the programs of these points, for kernel devices and DNS, are installed, and that their ports can be made.
///
/// # Errors
/// The missing programs.
pub fn check_tools(scenario: &Scenario, points: &[Point]) -> Result<(), RigError> {
    if scenario.sends_queries() && scenario.bed.is_some() {
        dut::dns::see_that_tools_are_there(&Between::Nothing)?;
    }
    let beds = points.iter().filter_map(|point| dns::between(scenario, point));
    beds.into_iter().try_for_each(|between| dut::dns::see_that_tools_are_there(&between))?;
    let of_frames = points.iter().filter(|point| dns::between(scenario, point).is_none());
    let configs: Vec<DeviceConfig> = of_frames.filter_map(|point| device_config(scenario, point)).collect();
    Ok(dut::see_that_tools_are_there(&configs)?)
}

/// Checks, before any change, that this machine supports all kernel devices and DNS set-ups of these points, and perf if
/// they need it, for root or for another user. Without this check, a run could fail after it has measured other devices.
///
/// # Errors
/// The first unsupported device, and the remedy.
pub fn check_devices(scenario: &Scenario, points: &[Point], root: bool) -> Result<(), RigError> {
    if scenario.is_profiled() && scenario.duts.iter().any(|dut| dut.is_profiled_here(scenario)) {
        dut::perf::see_that_it_works(root)?;
    }
    for point in points {
        let scenario = &*point.of(scenario);
        if let Some(between) = dns::between(scenario, point) {
            dut::dns::plan(&between)?;
        }
        let Some(config) = device_config(scenario, point) else { continue };
        if let Some(refused) = dut::what_takes_root(&config).filter(|_| !root) {
            return Err(refused.into());
        }
        dut::plan(&config)?;
    }
    Ok(())
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
