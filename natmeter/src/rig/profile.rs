//! Profiles of devices on cores of this machine.

use dut::perf::script::Stacks;
use dut::perf::{EVENT, Recording};
use engine::ProfileRun;
use method::trial::{CoreSamples, Profile, Profiler};
use method::{Nanos, TrialError};
use std::time::Instant;

/// Most stacks of each core in a record; the others are summed up.
pub(super) const STACKS: usize = 800;

/// A recording in progress.
struct OfCores {
    recording: Recording,
    frequency: u32,
    cores: Vec<usize>,
}

pub(super) fn of_cores(cores: &[usize], profiler: Profiler) -> Result<Box<dyn ProfileRun>, TrialError> {
    let Profiler { frequency } = profiler;
    let recording = Recording::start(cores, frequency).map_err(failed)?;
    Ok(Box::new(OfCores { recording, frequency, cores: cores.to_vec() }))
}

fn failed(error: impl std::fmt::Display) -> TrialError {
    TrialError::Device(format!("the device was not profiled: {error}"))
}

impl ProfileRun for OfCores {
    fn finish(self: Box<Self>, from: Instant, to: Instant) -> Result<Profile, TrialError> {
        let stacks = self.recording.finish(from, to, STACKS).map_err(failed)?;
        let cores: Vec<u32> = self.cores.iter().map(|core| *core as u32).collect();
        Ok(profile_of(&stacks, &cores, self.frequency, from, to))
    }
}

pub(super) fn profile_of(stacks: &Stacks, cores: &[u32], frequency: u32, from: Instant, to: Instant) -> Profile {
    // A core without a sample was idle.
    let of = |core: &u32| stacks.cores.get(core).copied().unwrap_or_default();
    let samples = |core: &u32| CoreSamples { all: of(core).all, waiting: of(core).waiting };
    Profile {
        event: EVENT.to_owned(),
        frequency,
        time: Nanos::from(to.saturating_duration_since(from)),
        cores: cores.iter().map(|core| (format!("core {core}"), samples(core))).collect(),
        parts: stacks.parts.iter().map(|(part, samples)| ((*part).to_owned(), *samples)).collect(),
        tester: stacks.tester,
        others: stacks.others,
        stacks: stacks.stacks.clone(),
    }
}
