//! Whether the figures of a run may be called results of RFC 2544 and RFC 9693, and if not, why. Its own file because
//! the label stands on every report and must follow from the settings, not from what somebody hoped for.

use super::number;
use crate::scenario::{Dut, Scenario};
use method::metric::{self, Origin};
use method::{Nanos, Order};
use serde::Serialize;

/// The label of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// In a few words, for a title.
    pub label: String,
    /// Nothing departs from the RFCs.
    pub conforming: bool,
    /// What departs, each with the section that asks for something else.
    pub departures: Vec<String>,
}

impl Conformance {
    /// Judge the settings of a scenario.
    pub fn of(scenario: &Scenario) -> Conformance {
        let departures = departures(scenario);
        let label = match (scenario.full, departures.is_empty()) {
            (false, _) => "quick, not RFC 2544",
            (true, true) => "conforms to RFC 2544 and RFC 9693",
            (true, false) => "not conforming",
        };
        Conformance { label: label.to_owned(), conforming: scenario.full && departures.is_empty(), departures }
    }
}

fn departures(scenario: &Scenario) -> Vec<String> {
    let m = &scenario.measure;
    let mut departures = Vec::new();
    let mut shorter = |what: &str, value: Nanos, least: Nanos, section: &str| {
        if value < least {
            let (value, least) = (number::duration(value.0), number::duration(least.0));
            departures.push(format!("{what} {value}, not {least} ({section})"));
        }
    };
    shorter("trials of", m.duration, Nanos::from_secs(60), "RFC 2544, 24");
    shorter("drain of", m.drain, Nanos::from_secs(2), "RFC 2544, 23 d");
    shorter("rest between trials of", m.settle, Nanos::from_secs(5), "RFC 2544, 23 e");
    let needed = m.metrics.iter().filter_map(|key| metric::by_key(key)).filter_map(|metric| match metric.origin {
        Origin::Measured { repetitions } => Some(repetitions),
        Origin::Derived => None,
    });
    if let Some(needed) = needed.max().filter(|&needed| m.repetitions < needed) {
        let repetitions = number::plural(m.repetitions.into(), "repetition");
        departures.push(format!("{repetitions}, published results use at least {needed} (RFC 9693, 6)"));
    }
    let tolerance = |ppm: u32| number::significant(f64::from(ppm) / 10_000.0, 6);
    if m.acceptance_ppm < 1_000_000 {
        let accepted = tolerance(m.acceptance_ppm);
        departures.push(format!(
            "{accepted} % received is accepted: conditional throughput (RFC 2544, 26.1 accepts no loss)"
        ));
    }
    if m.phase1_acceptance_ppm < 1_000_000 {
        let accepted = tolerance(m.phase1_acceptance_ppm);
        departures
            .push(format!("{accepted} % of the connections are accepted in phase 1 (RFC 9693, 4.5 accepts no loss)"));
    }
    if scenario.traffic.responder_order != Order::Random && scenario.duts.iter().any(Dut::is_stateful) {
        departures.push("the Responder uses its state table in order (RFC 9693, 4.7 recommends random)".to_owned());
    }
    departures
}
