//! Where the cores of a device spend their time during a trial.

use crate::units::{Count, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Call stacks of a device that are sampled beside a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Profiler {
    /// Samples of each core per second.
    pub frequency: u32,
}

/// The samples of phase 2. A core that is idle has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Profile {
    /// What takes a sample, such as `cpu-clock`.
    pub event: String,
    /// Samples of each core per second of work.
    pub frequency: u32,
    /// Time from the first to the last moment at which samples count.
    pub time: Nanos,
    /// The samples of each core, by its name.
    pub cores: BTreeMap<String, CoreSamples>,
    /// Samples of each part of the kernel, by its name: that of the innermost function whose part is known.
    pub parts: BTreeMap<String, Count>,
    /// Samples of the tester's own code, on a core that it shares with the device; nowhere else in here.
    pub tester: Count,
    /// Samples of other programs on the same cores, nowhere else in here.
    pub others: Count,
    /// Samples of each call stack: core, thread and functions from the outermost to the innermost, with `;` in between. Rare
    /// stacks of a core are one entry.
    pub stacks: BTreeMap<String, Count>,
}

/// Samples of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreSamples {
    /// All samples.
    pub all: Count,
    /// Of these: the core waited for a lock.
    pub waiting: Count,
}

impl Profile {
    pub fn samples(&self) -> CoreSamples {
        let sum = |of: fn(&CoreSamples) -> Count| self.cores.values().map(of).fold(0, Count::saturating_add);
        CoreSamples { all: sum(|samples| samples.all), waiting: sum(|samples| samples.waiting) }
    }

    /// Time that waits for locks, in parts per million; `None` without samples.
    pub fn lock_wait(&self) -> Option<u32> {
        let CoreSamples { all, waiting } = self.samples();
        let share = (u128::from(waiting) * 1_000_000).checked_div(u128::from(all))?;
        Some(share.min(1_000_000) as u32)
    }

    /// Samples by innermost function, the most frequent first.
    pub fn functions(&self) -> Vec<(&str, Count)> {
        let mut functions: BTreeMap<&str, Count> = BTreeMap::new();
        for (stack, samples) in &self.stacks {
            if let Some((_, function)) = stack.rsplit_once(';').filter(|(before, _)| before.contains(';')) {
                let sum = functions.entry(function).or_default();
                *sum = sum.saturating_add(*samples);
            }
        }
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by_key(|(name, samples)| (std::cmp::Reverse(*samples), *name));
        functions
    }
}
