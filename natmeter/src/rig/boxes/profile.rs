//! Profiles of boxes with kernels of their own, for the engine.

use super::RunningBoxes;
use crate::rig::failed;
use crate::rig::profile::{STACKS, profile_of};
use dut::external::OnBox;
use engine::ProfileRun;
use method::TrialError;
use method::trial::{Profile, Profiler};
use std::sync::Arc;
use std::time::Instant;

/// Recordings in progress, with position and name of each box.
struct OnBoxes {
    all: RunningBoxes,
    recordings: Vec<(usize, String, OnBox)>,
    frequency: u32,
}

/// None if `profiled` is set for no box. Fails if perf does not start on one of them, or a connection is lost.
pub(super) fn on_boxes(
    all: &RunningBoxes,
    profiled: &[bool],
    Profiler { frequency }: Profiler,
) -> Result<Option<Box<dyn ProfileRun>>, TrialError> {
    let mut started = OnBoxes { all: Arc::clone(all), recordings: Vec::new(), frequency };
    let mut boxes = all.lock().expect("no panic while held");
    let several = boxes.len() > 1;
    for (at, (running, _)) in boxes.iter_mut().zip(profiled).enumerate().filter(|(_, (_, profiled))| **profiled) {
        let name = if several { format!("{} ", running.name()) } else { String::new() };
        match running.start_profile(frequency) {
            Ok(recording) => started.recordings.push((at, name, recording)),
            Err(error) => {
                drop(boxes);
                return Err(failed(&error));
            }
        }
    }
    drop(boxes);
    Ok((!started.recordings.is_empty()).then(|| Box::new(started) as Box<dyn ProfileRun>))
}

impl ProfileRun for OnBoxes {
    fn finish(mut self: Box<Self>, from: Instant, to: Instant) -> Result<Profile, TrialError> {
        let recordings = std::mem::take(&mut self.recordings);
        let mut boxes = self.all.lock().expect("no panic while held");
        let mut profile = Profile::default();
        let mut result = Ok(());
        for (at, name, recording) in &recordings {
            let Some(running) = boxes.get_mut(*at) else { continue };
            // After a failure, the other recordings end, too.
            match running.finish_profile(recording, from, to, STACKS) {
                Ok(stacks) => {
                    let of_box = profile_of(&stacks, &recording.cores, self.frequency, from, to);
                    joined(&mut profile, of_box, name);
                }
                Err(error) => result = Err(failed(&error)),
            }
        }
        drop(boxes);
        result.map(|()| profile)
    }
}

/// A trial without a result ends perf, too.
impl Drop for OnBoxes {
    fn drop(&mut self) {
        let Ok(mut boxes) = self.all.lock() else { return };
        for (at, _, recording) in &self.recordings {
            if let Some(running) = boxes.get_mut(*at) {
                running.drop_profile(recording);
            }
        }
    }
}

/// The box's name begins those of its cores.
fn joined(all: &mut Profile, of_box: Profile, name: &str) {
    let Profile { event, frequency, time, cores, parts, tester, others, stacks } = of_box;
    all.event = event;
    all.frequency = frequency;
    all.time = time;
    all.cores.extend(cores.into_iter().map(|(core, samples)| (format!("{name}{core}"), samples)));
    for (part, samples) in parts {
        *all.parts.entry(part).or_default() += samples;
    }
    all.tester += tester;
    all.others += others;
    all.stacks.extend(stacks.into_iter().map(|(stack, samples)| (format!("{name}{stack}"), samples)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::trial::CoreSamples;

    #[test]
    fn samples_of_two_boxes_are_apart_and_their_parts_are_summed_up() {
        let of_box = || Profile {
            frequency: 999,
            cores: [("core 0".to_owned(), CoreSamples { all: 3, waiting: 1 })].into(),
            parts: [("routing".to_owned(), 3)].into(),
            stacks: [("core 0;swapper;ip_rcv".to_owned(), 3)].into(),
            others: 2,
            ..Profile::default()
        };
        let mut profile = Profile::default();
        joined(&mut profile, of_box(), "ce ");
        joined(&mut profile, of_box(), "pe ");
        assert_eq!(profile.cores.keys().collect::<Vec<_>>(), ["ce core 0", "pe core 0"]);
        assert_eq!(profile.stacks.keys().collect::<Vec<_>>(), ["ce core 0;swapper;ip_rcv", "pe core 0;swapper;ip_rcv"]);
        assert_eq!((profile.parts["routing"], profile.others, profile.samples().all), (6, 4, 6));
    }
}
