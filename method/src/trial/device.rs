//! What a trial does to the device, and reads from it.

use crate::units::{Count, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::worded! {
    /// What is done to the device in mid-trial.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Disruption: name {
        /// A reset (RFC 6201, section 4).
        Reset = "reset",
        /// The switch-over to a standby device.
        Failover = "failover",
    }
}

/// A disruption of the device at a time of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Action {
    /// What is done.
    pub what: Disruption,
    /// When, from the start of the frames of phase 2.
    pub at: Nanos,
}

/// An action that was carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ActionTime {
    /// When it began, from the start of the frames of phase 2.
    pub began: Nanos,
    /// How long it took until it returned.
    pub took: Nanos,
    /// The connections after the trial; none of a stateless device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Survivors>,
    /// Entries of the device's own table before the frames and after them; none if it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<[Count; 2]>,
}

/// What became of the connections of phase 1: one frame Left to Right on each of them, after the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Survivors {
    /// Connections of phase 1.
    pub all: Count,
    /// Of these: the frame had the outside address and port of phase 1.
    pub same: Count,
    /// Of these: the frame had another outside address or port.
    pub moved: Count,
}

/// CPU times that are sampled during a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Sampler {
    /// Time between two samples.
    pub interval: Nanos,
    /// Number of the box that is sampled, from 0 on the left. One at a time, because sampling takes CPU time, too.
    pub of: u32,
}

/// The idle times of cores during a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CpuIdle {
    /// Number of the box, from 0 on the left.
    pub of: u32,
    /// The ends of the samples, from the start of the trial.
    pub ends: Vec<Nanos>,
    /// Start and end of phase 1; none without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase1: Option<[Nanos; 2]>,
    /// Start and end of phase 2.
    pub phase2: [Nanos; 2],
    /// Idle share of each core in parts per million, one value for each sample, by the name of the core.
    pub cores: BTreeMap<String, Vec<u32>>,
}

impl CpuIdle {
    /// Idle shares of each core in phase 2, or in the sample with its largest part if it is short.
    pub fn in_phase2(&self) -> impl Iterator<Item = (&str, Vec<u32>)> {
        let inside = self.samples_in(self.phase2);
        self.cores.iter().map(move |(name, shares)| {
            let shares = inside.iter().filter_map(|at| shares.get(*at).copied()).collect();
            (name.as_str(), shares)
        })
    }

    fn samples_in(&self, [start, end]: [Nanos; 2]) -> Vec<usize> {
        let begins = |at: usize| if at == 0 { Nanos(0) } else { self.ends[at - 1] };
        let all = || 0..self.ends.len();
        let inside: Vec<usize> = all().filter(|at| begins(*at) >= start && self.ends[*at] <= end).collect();
        if !inside.is_empty() {
            return inside;
        }
        let overlap = |at: &usize| self.ends[*at].min(end).0.saturating_sub(begins(*at).max(start).0);
        all().max_by_key(overlap).into_iter().collect()
    }
}

/// The table is emptied after the trial, and its time is measured (RFC 9693, section 4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TearDown {
    /// How often the empty table is emptied afterwards.
    pub empty: u32,
}

/// The times to empty the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EmptyingTimes {
    /// Entries of the table before, if the device counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Count>,
    /// Time to empty the full table.
    pub full: Nanos,
    /// Times to empty the empty table.
    pub empty: Vec<Nanos>,
    /// The command, or what stands for it.
    pub how: String,
    /// Where the clock is: `device`, or `tester`, whose times include the way to the device.
    pub clock: String,
}

/// Memory of the connection tracking table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TableMemory {
    /// Bytes in use with the connections of phase 1.
    pub filled: u64,
    /// Bytes in use after the table was emptied; 0 for a table whose memory is reserved.
    pub emptied: u64,
    /// Entries to which the difference belongs: those that were removed, or the size of a reserved table.
    pub entries: Count,
    /// Bytes of the hash table and its buckets; none if the device does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Buckets>,
    /// What the bytes are.
    pub source: String,
}

/// Memory of a hash table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Buckets {
    /// Buckets.
    pub count: Count,
    /// Bytes of all of them.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_samples_inside_phase_2_count() {
        let seconds = |all: &[u64]| all.iter().map(|s| Nanos::from_secs(*s)).collect::<Vec<_>>();
        let cores = BTreeMap::from([("cpu0".to_owned(), vec![1, 2, 3, 4, 5])]);
        let idle = |start, end| {
            let phase2 = [Nanos(start), Nanos(end)];
            let idle = CpuIdle { ends: seconds(&[1, 2, 3, 4, 5]), phase2, cores: cores.clone(), ..CpuIdle::default() };
            idle.in_phase2().next().unwrap().1
        };
        assert_eq!(idle(1_500_000_000, 4_200_000_000), [3, 4]);
        assert_eq!(idle(1_500_000_000, 2_900_000_000), [3], "the larger part of phase 2");
    }
}
