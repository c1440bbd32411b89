//! Rules between values refuse valid values that together cannot be measured or must not be sent,
//! both in quick runs and with `--full`.

mod addresses;
mod axes;
mod bed;
mod box_between;
pub(crate) mod compare;
mod device;
mod dns;
mod exclude;
mod flows;
mod foreground;
mod imix;
mod metrics;
mod networks;
#[cfg(test)]
mod overload;
mod popularity;
mod ports;
mod search_keys;
mod shares;

use crate::nat::technology_path;
use crate::quantity::show_count;
use crate::{Dut, Scenario};
use key::{At, Fault, Refusal, Spans};
use method::{Count, Direction, Rate};
use procedure::{MeasureRequest, ScenarioOrigin};
use std::collections::HashMap;
use std::hash::Hash;

/// A scenario while rules look at it.
pub(crate) struct Check<'a> {
    scenario: &'a Scenario,
    spans: &'a Spans,
    origin: ScenarioOrigin,
    faults: Vec<Fault>,
}

/// Everything that is wrong with a scenario.
pub(crate) fn check(scenario: &Scenario, spans: &Spans, origin: ScenarioOrigin) -> Vec<Fault> {
    let mut check = Check { scenario, spans, origin, faults: Vec::new() };
    check.addresses();
    check.networks();
    check.popularity();
    check.imix();
    check.foreground();
    check.bed();
    check.box_between();
    check.compare();
    check.axes();
    check.exclude();
    check.metrics();
    check.device();
    check.flows();
    check.times();
    check.nats();
    check.technologies();
    // Only of pools that suffice as a whole.
    if check.faults.is_empty() && check.technologies_are_sound() {
        check.shares();
    }
    check.faults
}

/// What is right but unwise, one sentence each.
pub(crate) fn advice(scenario: &Scenario) -> Vec<String> {
    ports::advice(scenario)
}

impl Check<'_> {
    fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    fn refuse(&mut self, title: impl Into<String>) -> Refusal<'_> {
        Refusal::among(&mut self.faults, title)
    }

    /// Path of a key in `[measure]`, or in `[full]`.
    fn measure(&self, key: &str) -> String {
        format!("{}.{key}", self.scenario.measure_path())
    }

    /// Path of the connections: those of a conforming run may be its own.
    fn connections(&self) -> &'static str {
        if self.scenario.full { "full.connections" } else { "sweep.connections" }
    }

    /// `(its default)` where a key is left out.
    fn default_words(&self, path: &str) -> &'static str {
        if self.spans.has(path) { "" } else { " (its default)" }
    }

    /// Refuses what a technology would rightly drop, or the tester cannot play.
    fn technologies(&mut self) {
        let most = self.scenario.hosts().map_or(1, |(_, most)| most);
        for dut in &self.scenario.duts {
            let Some((plays, technology)) = dut.technology() else { continue };
            let path = technology_path(technology);
            let faults = technology.faults_in_test(plays, &self.scenario.traffic.flows, most);
            self.faults.extend(faults.into_iter().map(|fault| fault.below(&path)));
        }
    }

    /// Whether the keys of every technology fit each other.
    fn technologies_are_sound(&self) -> bool {
        self.scenario
            .duts
            .iter()
            .filter_map(|dut| dut.technology())
            .all(|(_, technology)| technology.faults().is_empty())
    }

    /// Where the first direction that `meets` the condition is written: in `[traffic]`, or in `[sweep]`.
    fn direction_at(&self, meets: impl FnMut(Direction) -> bool) -> Option<At> {
        let at = self.scenario.directions().into_iter().position(meets)?;
        let is_swept = self.spans.has("sweep.direction");
        Some(if is_swept { At::key(format!("sweep.direction[{at}]")) } else { "traffic.direction".into() })
    }

    /// Where it is written that only the Responder sends, at a point of this metric.
    fn reverse_of(&self, metric: &str) -> Option<At> {
        let scenario = self.scenario;
        let mut points = scenario.points().filter(|point| scenario.has(point, metric));
        let is_reverse = points.any(|point| point.of(scenario).traffic.direction == Direction::Reverse);
        self.direction_at(|direction| direction == Direction::Reverse).filter(|_| is_reverse)
    }

    /// What each procedure refuses.
    fn procedures(&mut self) {
        let scenario = self.scenario;
        let measure = &scenario.measure;
        let mut asked = MeasureRequest {
            keys: &scenario.procedures,
            metrics: &measure.metrics,
            table: scenario.measure_path(),
            connections: &scenario.sweep.connections,
            connections_at: self.connections(),
            frame: [scenario.traffic.frame_size, scenario.widest_frame()],
            highest: scenario.max_rate().map(Rate),
            directions: scenario.directions(),
            is_stateful: scenario.is_stateful(),
            has_alpha: measure.alpha.is_some(),
            is_whole: [measure.acceptance_ppm, measure.phase1_acceptance_ppm].map(|ppm| ppm == 1_000_000),
            is_uniform: scenario.traffic.popularity.is_uniform(),
            origin: self.origin,
            reverse_at: &|metric| self.reverse_of(metric),
            faults: Vec::new(),
        };
        for procedure in scenario.procedures.list() {
            (procedure.check)(&mut asked);
        }
        let faults = asked.faults;
        self.faults.extend(faults);
    }

    /// Refuses a value that stands twice in a list. Returns whether there is one.
    fn twice<T: Eq + Hash>(&mut self, path: &str, values: &[T], show: impl Fn(&T) -> String) -> bool {
        let mut seen = HashMap::new();
        for (at, value) in values.iter().enumerate() {
            let first = *seen.entry(value).or_insert(at);
            if first != at {
                self.refuse(format!("{} is listed twice", show(value)))
                    .at(format!("{path}[{at}]"), "again")
                    .at(format!("{path}[{first}]"), "first")
                    .instead("write it once; `repetitions` is how often a value is measured");
            }
        }
        seen.len() < values.len()
    }
}

fn dut_at(dut: &Dut) -> At {
    At::key(format!("dut.{}", dut.table()))
}

/// Place of a device's technology, or of the device without one.
fn technology_at(dut: &Dut) -> At {
    dut.technology().map_or_else(|| dut_at(dut), |(_, technology)| At::key(technology_path(technology)))
}

fn quoted(n: Count) -> String {
    format!("`{}`", show_count(n))
}
