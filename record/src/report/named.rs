//! Names in the JSON of a report for values that are pairs in the model.

use method::{Count, Fault};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Connections that a device and the tester counted after one phase 1.
#[derive(Serialize, JsonSchema)]
pub(super) struct Counts {
    /// Entries in the device's table.
    device: Count,
    /// Connections that the tester had received.
    tester: Count,
}

#[allow(clippy::ref_option, reason = "serde hands a reference to the field")]
pub(super) fn counts<S: Serializer>(counts: &Option<(Count, Count)>, serializer: S) -> Result<S::Ok, S::Error> {
    counts.map(|(device, tester)| Counts { device, tester }).serialize(serializer)
}

pub(super) fn faults<S: Serializer>(faults: &[(Fault, Count)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(faults.iter().copied())
}
