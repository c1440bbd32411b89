//! T0: what the tester's ports can do, cabled to each other, in a file beside the bed file.

use super::Bed;
use crate::file::{ScenarioError, text_of};
use crate::tables::Traffic;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One measurement of the tester's ports, cabled left to right by a person: T0, the null device of a bed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct T0 {
    /// When it was measured (RFC 3339).
    pub date: String,
    /// Version of natmeter.
    pub natmeter: String,
    /// Interface, back-end, queues and VLAN of both ports; with others the measurement does not count.
    pub ports: [String; 2],
    /// Frame size in octets, with FCS.
    pub frame_size: usize,
    /// The mix of sizes in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_sizes: Option<String>,
    /// Share of foreground frames in parts per million, where others were native IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground_ppm: Option<u32>,
    /// Frames per second and direction that arrived, right, under overload.
    pub frames: u64,
    /// Frames per second and direction that the tester sent when nothing had to come back.
    pub sent: u64,
}

/// `bed.t0.json` beside `bed.toml`.
pub fn t0_file(bed: &Path) -> PathBuf {
    let name = bed.file_name().unwrap_or_default().to_string_lossy();
    bed.with_file_name(format!("{}.t0.json", name.strip_suffix(".toml").unwrap_or(&name)))
}

/// Reads T0 of a bed; nothing if it was not measured.
///
/// # Errors
/// When the file cannot be read, or is no list of T0.
pub fn read_t0(bed: &Path) -> Result<Vec<T0>, ScenarioError> {
    let path = t0_file(bed);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let why = |why: serde_json::Error| ScenarioError::Unreadable {
        path: path.clone(),
        why: format!("{why}; measure it again with `natmeter bed t0`"),
    };
    serde_json::from_str(&text_of(&path)?).map_err(why)
}

impl Bed {
    /// The latest T0 with these ports, and frame sizes and foreground of this traffic.
    pub fn t0_of(&self, traffic: &Traffic) -> Option<&T0> {
        let mix = traffic.frame_sizes.as_ref().map(ToString::to_string);
        let is_of_sizes = |t0: &&T0| t0.frame_sizes == mix && (mix.is_some() || t0.frame_size == traffic.frame_size);
        let ports = self.ports().map(|(_, port)| port.settings());
        let foreground = traffic.mixed_foreground();
        self.t0.iter().rfind(|t0| t0.ports == ports && is_of_sizes(t0) && t0.foreground_ppm == foreground)
    }
}
