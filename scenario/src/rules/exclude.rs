//! Each condition of `exclude` names something measured, and something is left to measure.

use super::Check;
use crate::Scenario;
use crate::axis::AxisValues;
use crate::exclude::{CONNECTIONS, CORES, Exclusion};
use key::{Fault, did_you_mean};
use method::Count;
use tech::Axis;

impl Check<'_> {
    pub(super) fn exclude(&mut self) {
        let scenario = self.scenario;
        let faults =
            scenario.sweep.exclude.iter().enumerate().flat_map(|(at, exclusion)| faults(scenario, at, exclusion));
        let faults: Vec<Fault> = faults.collect();
        let is_sound = faults.is_empty();
        self.faults.extend(faults);
        if is_sound && !scenario.sweep.exclude.is_empty() && scenario.points().next().is_none() {
            let fault = Fault::new("every point is excluded").at("sweep.exclude", "leaves nothing to measure");
            self.fault(fault.instead("remove an item, or add a condition to it"));
        }
        self.tables();
    }

    /// A swept table has room for the connections of each of its points.
    fn tables(&mut self) {
        let scenario = self.scenario;
        if scenario.fills_tables() {
            return;
        }
        let too_small = |values: &AxisValues, n: Count| values.get(tech::TABLE).filter(|table| **table < n).copied();
        let found = scenario.points().find_map(|p| Some((too_small(&p.axes, p.connections)?, p.connections)));
        if let Some((table, connections)) = found {
            let fault = Fault::new(format!("a table of {table} entries has no room for {connections} connections"));
            let fault = fault.at(key::At::key("sweep.table"), "swept together with the connections");
            self.fault(fault.instead("write larger tables, or leave these points out with `exclude` in [sweep]"));
        }
    }
}

fn faults(scenario: &Scenario, at: usize, exclusion: &Exclusion) -> Vec<Fault> {
    let path = |name: &str, value: usize| format!("sweep.exclude[{at}].{name}[{value}]");
    let devices: Vec<&str> = scenario.duts.iter().map(|dut| dut.name()).collect();
    let metrics: Vec<&str> = scenario.measure.metrics.iter().map(String::as_str).collect();
    let mut faults = Vec::new();
    for (name, of, known) in [("device", &exclusion.devices, &devices), ("metric", &exclusion.metrics, &metrics)] {
        for (value, word) in of.iter().enumerate().filter(|(_, word)| !known.contains(&word.as_str())) {
            let fault = Fault::new(format!("this scenario has no {name} `{word}`"));
            let fault = fault.at(path(name, value), format!("it has {}", known.join(", ")));
            faults.push(match did_you_mean(word, known.iter().copied()) {
                Some(meant) => fault.instead(format!("did you mean `{meant}`?")),
                None => fault.instead("name one of them, or remove the condition"),
            });
        }
    }
    // They may be those of the quick run or of `--full`.
    for (axis, values) in exclusion.axes.iter().filter(|(axis, _)| axis != CONNECTIONS) {
        let swept = swept(scenario, axis);
        for (value, n) in values.iter().enumerate().filter(|(_, n)| !swept.contains(n)) {
            let shown = Axis::by_name(axis).map_or_else(|| n.to_string(), |axis| axis.plain(*n));
            let fault = Fault::new(format!("`{axis}` is never {shown} in this scenario"))
                .at(path(axis, value), "excludes nothing");
            faults.push(
                fault.instead(format!("write one of the values of `{axis}` in [sweep], or remove the condition")),
            );
        }
    }
    faults
}

fn swept(scenario: &Scenario, axis: &str) -> Vec<Count> {
    if axis == CORES {
        return scenario.sweep.cores.values.iter().map(|&n| n.into()).collect();
    }
    scenario.swept(axis).map_or_else(Vec::new, |swept| swept.values.clone())
}
