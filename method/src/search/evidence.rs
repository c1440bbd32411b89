//! How a search saved time, and what proves that its result is the same.

use super::bottleneck::Bottleneck;
use super::cause::NoRate;
use super::warm::Warm;
use crate::ratio::Ratio;
use crate::trial::{PerDirection, WarmUpFrames};
use crate::units::{Count, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Evidence beside the steps of a search; each part is there if the search used it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Evidence {
    /// The bounds of an earlier search, at which this one began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
    /// Trials that ended before their full length, because their loss was already too large.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub ended_early: Count,
    /// Frames of the warm-ups before its trials, in all directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUpFrames>,
    /// The limit on the rate of validation that `alpha = "auto"` measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_cap: Option<ValidationCap>,
    /// What shows that the connections of one phase 1 were there in all trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_table: Option<KeptTable>,
    /// Why the time to remove connections is a bound only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_resolution: Option<BelowResolution>,
    /// The rate that a slow tester offered at the capacity of a table, in connections per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_tester: Option<Rate>,
    /// Memory that each fill of the table left behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leak: Option<Leak>,
    /// What limits the throughput, as the CPU idle times or the profile show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Why there is no rate, with [`super::ResultKind::NoRate`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_rate: Option<NoRate>,
}

/// The net time to empty a table is less than five times the spread of the times to empty an empty one, so that it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BelowResolution {
    /// Median of the full table minus median of the empty table; it may be negative, and is 0 then.
    pub net: Nanos,
    /// Longest minus shortest time to empty the empty table.
    pub spread: Nanos,
}

/// Memory in bytes that each fill of a table adds and no removal of its entries frees, with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leak {
    /// Estimate.
    pub bytes: u64,
    /// Lower end.
    pub least: u64,
    /// Upper end.
    pub most: u64,
    /// Fills of the table.
    pub fills: u64,
    /// Entries of a fill.
    pub entries: Count,
}

impl Evidence {
    pub(super) fn add_warm_up(&mut self, of: &PerDirection<WarmUpFrames>) {
        for warmed in [of.forward, of.reverse].into_iter().flatten() {
            self.warm_up = Some(self.warm_up.unwrap_or_default().plus(warmed));
        }
    }
}

/// The limit on the rate of validation, from the reverse one-way throughput of the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationCap {
    /// The reverse one-way throughput, frames per second.
    pub reverse: Rate,
    /// The limit: 0.9 of it.
    pub cap: Rate,
    /// Whether the limit was below alpha times the result.
    pub limited: bool,
    /// Trials of the search for the reverse throughput, 0 if an earlier repetition had measured it.
    pub trials: Count,
}

/// Part of the reverse one-way throughput that is safe.
const SAFE: Ratio = Ratio::from_ppm(900_000);

impl ValidationCap {
    /// The limit from a reverse one-way throughput of so many trials.
    pub fn of(reverse: Rate, trials: Count) -> ValidationCap {
        ValidationCap { reverse, cap: SAFE.of(reverse).max(Rate(1)), limited: false, trials }
    }

    /// The cap as a limit from an earlier search of the same point.
    #[must_use]
    pub fn again(self) -> ValidationCap {
        ValidationCap::of(self.reverse, 0)
    }

    /// The limit beside a result that was validated at alpha times itself or at this limit.
    #[must_use]
    pub fn beside(self, rate: Rate, alpha: Ratio) -> ValidationCap {
        ValidationCap { limited: alpha.of(rate) > self.cap, ..self }
    }
}

/// The proof that a table was kept: frames on a sample of the connections in reverse, and the DUT's count, before the first and
/// after the last trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptTable {
    /// Connections of the sample.
    pub sampled: Count,
    /// Of these: connections without an answer before the first trial.
    pub lost_before: Count,
    /// Of these: connections without an answer after the last trial.
    pub lost_after: Count,
    /// Entries of the DUT's table before the first trial, if it can count them.
    pub entries_before: Option<Count>,
    /// Entries of the DUT's table after the last trial, if it can count them.
    pub entries_after: Option<Count>,
    /// Phases 1 that the search needed: 1, and one more after each interruption.
    pub phases1: Count,
}

impl KeptTable {
    /// Whether the sample answered twice and the count did not change.
    pub fn is_proven(&self) -> bool {
        self.lost_before == 0 && self.lost_after == 0 && self.entries_before == self.entries_after
    }
}
