//! What limits the throughput: the first match of rules over rate, idle times and waits for locks.

use crate::stats::median;
use crate::trial::{CoreSamples, CpuIdle, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A core that is idle for less is busy: 10 %.
pub const BUSY_BELOW_PPM: u32 = 100_000;
/// Share of working time: 10 %.
pub const LOCKS_FROM_PPM: u32 = 100_000;
/// A profile with this part of its samples outside the device shows no idle time: 5 %.
const OUTSIDE_FROM_PPM: u128 = 50_000;

/// What is known of the rate at which the trials run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The device fails above it.
    Device,
    /// The tester could not offer more.
    Tester,
    /// The scenario gives the rate, or host noise ended the search.
    Unknown,
}

/// What limits the throughput.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// All cores of a box are busy.
    Device {
        /// Number of the box, from 0 on the left.
        of: u32,
        /// Number of boxes.
        boxes: u32,
    },
    /// Some cores of a box are busy and others are not: its work is not spread evenly.
    HotCore {
        /// Number of the box, from 0 on the left.
        of: u32,
        /// Number of boxes.
        boxes: u32,
        /// The busiest core.
        core: String,
    },
    /// Much of the working time of a box waits for locks. A core that spins is busy, too.
    Locks {
        /// Number of the box, from 0 on the left.
        of: u32,
        /// Number of boxes.
        boxes: u32,
        /// The share of its working time, in parts per million.
        waits: u32,
    },
    /// Every core has idle time, few wait for locks, and yet frames are lost at a higher rate: memory, or a full queue.
    Memory,
    /// Every core has idle time, and yet frames are lost at a higher rate; without a profile: locks or memory.
    Contention,
    /// The tester could not offer more.
    Tester,
    /// Every core has idle time, and nothing shows a limit.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreLoads {
    /// Number from 0 on the left.
    pub of: u32,
    /// Name and idle share in parts per million.
    pub cores: Vec<(String, u32)>,
}

/// Time of a box that waits for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// Number from 0 on the left.
    pub of: u32,
    /// Share of its working time in parts per million.
    pub waits: u32,
}

/// What was seen at one rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symptoms {
    /// What is known of the rate.
    pub limit: Limit,
    pub boxes: u32,
    /// If seen.
    pub loads: Vec<CoreLoads>,
    /// Locks of the box that waits most.
    pub locks: Option<LockWait>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cores {
    AllBusy,
    SomeBusy,
    NoneBusy,
    Unseen,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Locks {
    Much,
    Little,
    Unseen,
}

impl Symptoms {
    /// Judges the box with the busiest core; `None` if not enough was seen.
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        let boxes = self.boxes.max(1);
        let decisive = self.loads.iter().filter_map(|load| Some((load, load.busiest()?)));
        let decisive = decisive.min_by_key(|(_, (_, idle))| *idle);
        let cores = decisive.map_or(Cores::Unseen, |(load, _)| load.cores());
        let locks = self.locks.map_or(Locks::Unseen, |locks| match locks.waits {
            LOCKS_FROM_PPM.. => Locks::Much,
            _ => Locks::Little,
        });
        Some(match (self.limit, cores, locks) {
            (Limit::Tester, _, _) => Bottleneck::Tester,
            // A device with idle time may wait for locks without harm.
            (Limit::Device, _, Locks::Much) | (_, Cores::AllBusy | Cores::SomeBusy, Locks::Much) => {
                self.locks.map(|LockWait { of, waits }| Bottleneck::Locks { of, boxes, waits })?
            }
            (_, Cores::AllBusy, _) => decisive.map(|(load, _)| Bottleneck::Device { of: load.of, boxes })?,
            (_, Cores::SomeBusy, _) => {
                decisive.map(|(load, (core, _))| Bottleneck::HotCore { of: load.of, boxes, core: core.to_owned() })?
            }
            (Limit::Device, Cores::NoneBusy, Locks::Little) => Bottleneck::Memory,
            (Limit::Device, Cores::NoneBusy, Locks::Unseen) => Bottleneck::Contention,
            (Limit::Unknown, Cores::NoneBusy, _) => Bottleneck::Unknown,
            (_, Cores::Unseen, _) => return None,
        })
    }
}

impl CoreLoads {
    /// Medians over phase 2.
    pub fn of_samples(cpu: &CpuIdle) -> CoreLoads {
        let middle = |mut shares: Vec<u32>| {
            shares.sort_unstable();
            median(&shares).map(|middle| middle.round() as u32)
        };
        let cores = cpu.in_phase2().filter_map(|(name, shares)| Some((name.to_owned(), middle(shares)?)));
        CoreLoads { of: cpu.of, cores: cores.collect() }
    }

    /// The part of the time without a sample of the device, if no other program worked on its cores.
    pub fn of_profile(profile: &Profile) -> Option<CoreLoads> {
        let whole = u128::from(profile.frequency) * u128::from(profile.time.0);
        let outside = u128::from(profile.tester) + u128::from(profile.others);
        let all = outside + u128::from(profile.samples().all);
        if whole == 0 || outside * 1_000_000 > all * OUTSIDE_FROM_PPM {
            return None;
        }
        let idle = |samples: &CoreSamples| {
            let busy = u128::from(samples.all) * 1_000_000_000 * 1_000_000 / whole;
            1_000_000 - busy.min(1_000_000) as u32
        };
        let cores = profile.cores.iter().map(|(name, samples)| (name.clone(), idle(samples)));
        Some(CoreLoads { of: 0, cores: cores.collect() })
    }

    /// Busiest core and its idle share in parts per million.
    pub fn busiest(&self) -> Option<(&str, u32)> {
        self.cores.iter().map(|(name, idle)| (name.as_str(), *idle)).min_by_key(|(_, idle)| *idle)
    }

    fn cores(&self) -> Cores {
        let busy = self.cores.iter().filter(|(_, idle)| *idle < BUSY_BELOW_PPM).count();
        match busy {
            0 => Cores::NoneBusy,
            busy if busy == self.cores.len() => Cores::AllBusy,
            _ => Cores::SomeBusy,
        }
    }
}

impl LockWait {
    /// Share of a profile with samples.
    pub fn of_profile(profile: &Profile) -> Option<LockWait> {
        Some(LockWait { of: 0, waits: profile.lock_wait()? })
    }
}
