//! Examples of wrong frames: what arrived, beside what was expected.

use super::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first frame with a fault of its kind that a receiver saw in a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Example {
    /// The kind of its fault.
    pub fault: Fault,
    /// The frame in one line.
    pub got: String,
    /// The frame that should have arrived, or the rule that this one breaks; none if no frame was expected in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The first octets of the frame, at most 256, in hexadecimal.
    pub octets: String,
}

impl Example {
    /// The first octets of the frame.
    pub fn frame(&self) -> Vec<u8> {
        let octet = |at: usize| self.octets.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        (0..self.octets.len()).step_by(2).map_while(octet).collect()
    }

    /// The line of a report: the frame, and what was expected.
    pub fn in_words(&self) -> String {
        match &self.expected {
            Some(expected) => format!("got {}; expected {expected}", self.got),
            None => format!("got {}", self.got),
        }
    }
}
