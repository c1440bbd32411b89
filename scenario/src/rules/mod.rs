//! Rules between values: they refuse valid values that together cannot be measured or must not be sent. Each rule marks
//! the words at fault and names a way out. All rules check the scenario with its quick values and with those of
//! `--full`, so that one run shows every error.

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
mod overload;
mod popularity;
mod ports;
mod search_keys;
mod shares;
mod tcp;

use crate::nat::technology_path;
use crate::procedures::is_of_tcp;
use crate::quantity::show_count;
use crate::{Dut, Scenario};
use key::{At, Fault, Spans};
use method::{Count, Direction};
use procedure::is_of_phase1;
use procedure::metric::{CONN_TEAR_DOWN_RATE, MEMORY_PER_CONNTRACK_ENTRY, is_of_queries};
use std::collections::HashMap;
use std::hash::Hash;

/// A scenario while rules look at it.
pub(crate) struct Check<'a> {
    scenario: &'a Scenario,
    spans: &'a Spans,
    faults: Vec<Fault>,
}

/// Everything that is wrong with a scenario.
pub(crate) fn check(scenario: &Scenario, spans: &Spans) -> Vec<Fault> {
    let mut check = Check { scenario, spans, faults: Vec::new() };
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
    check.tcp();
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

/// What is right and still unwise, one sentence each.
pub(crate) fn advice(scenario: &Scenario) -> Vec<String> {
    ports::advice(scenario)
}

impl Check<'_> {
    fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// The path of a key of `[measure]`, or of `[full]`.
    fn measure(&self, key: &str) -> String {
        format!("{}.{key}", self.scenario.measure_path())
    }

    /// The path of the connections: those of a conforming run may be its own.
    fn connections(&self) -> &'static str {
        if self.scenario.full { "full.connections" } else { "sweep.connections" }
    }

    /// `(its default)` where a key is left out.
    fn default_words(&self, path: &str) -> &'static str {
        if self.spans.has(path) { "" } else { " (its default)" }
    }

    /// What a technology would rightly drop, or the tester cannot play.
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

    /// Returns where the first direction that `meets` the condition is written: in `[traffic]`, or in `[sweep]`.
    fn direction_at(&self, meets: impl FnMut(Direction) -> bool) -> Option<At> {
        let at = self.scenario.directions().into_iter().position(meets)?;
        let is_swept = self.spans.has("sweep.direction");
        Some(if is_swept { At::key(format!("sweep.direction[{at}]")) } else { "traffic.direction".into() })
    }

    /// Returns where it is written that only the Responder sends, at a point at which this metric is measured.
    fn reverse_of(&self, metric: &str) -> Option<At> {
        let scenario = self.scenario;
        let mut points = scenario.points().filter(|point| scenario.has(point, metric));
        let is_reverse = points.any(|point| point.of(scenario).traffic.direction == Direction::Reverse);
        self.direction_at(|direction| direction == Direction::Reverse).filter(|_| is_reverse)
    }

    /// Refuses a value that a list has twice. Returns whether there is one.
    fn twice<T: Eq + Hash>(&mut self, path: &str, values: &[T], show: impl Fn(&T) -> String) -> bool {
        let mut seen = HashMap::new();
        for (at, value) in values.iter().enumerate() {
            let first = *seen.entry(value).or_insert(at);
            if first != at {
                self.fault(
                    Fault::new(format!("{} is listed twice", show(value)))
                        .at(format!("{path}[{at}]"), "again")
                        .at(format!("{path}[{first}]"), "first")
                        .instead("write it once; `repetitions` is how often a value is measured"),
                );
            }
        }
        seen.len() < values.len()
    }
}

/// Whether the trials of a metric are the test frames of the scenario, with its warm-up and popularity.
pub(crate) fn sends_data(metric: &str) -> bool {
    let with_own_trials = [CONN_TEAR_DOWN_RATE.key, MEMORY_PER_CONNTRACK_ENTRY.key].contains(&metric);
    !(is_of_phase1(metric) || is_of_tcp(metric) || is_of_queries(metric) || with_own_trials)
}

/// Where the table of a device stands.
fn dut_at(dut: &Dut) -> At {
    At::key(format!("dut.{}", dut.table()))
}

/// A count as it is written.
fn quoted(n: Count) -> String {
    format!("`{}`", show_count(n))
}
