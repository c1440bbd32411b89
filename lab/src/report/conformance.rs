//! The label of a run: whether its figures may be called results of RFC 2544 and RFC 9693. Its own file because the
//! label stands on every report and must follow from the settings, not from what somebody hoped for.

use crate::scenario::{Scenario, conformance};
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
        let departures = conformance(scenario);
        let label = match (scenario.full, departures.is_empty()) {
            (_, true) => "conforms to RFC 2544 and RFC 9693",
            (false, false) => "quick, not RFC 2544",
            (true, false) => "not conforming",
        };
        Conformance { label: label.to_owned(), conforming: departures.is_empty(), departures }
    }
}
