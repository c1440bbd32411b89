//! What a trial does after its phases: surveys the connections after a disruption, empties the
//! table, and reads its memory.

use crate::device::{Clearing, MemoryNow};
use crate::engine::{Engine, validation_phase};
use crate::phase::Phase;
use method::trial::{EmptyingTimes, Observed, Survivors, TableMemory, TearDown};
use method::{Count, Nanos, Rate, TrialError, TrialSpec};
use std::time::{Duration, Instant};

/// Rate of the survey, unless phase 1 was slower.
const SURVEY_RATE: Rate = Rate(100_000);
/// Surveys before a connection counts as gone: host noise may lose a frame.
const SURVEYS: u32 = 3;
/// Connections of which frames show whether they were removed.
const SAMPLE: Count = 100;
const SAMPLE_RATE: Rate = Rate(1_000);
/// Largest fall in a round of memory that has settled.
const SETTLED_PART: u64 = 1_000;
/// The kernel frees removed entries in the background.
const FREED_WITHIN: Duration = Duration::from_secs(10);
const ROUND: Duration = Duration::from_millis(200);

impl Engine {
    pub(crate) fn after(&mut self, spec: &TrialSpec, observed: &mut Observed) -> Result<(), TrialError> {
        if spec.options.memory {
            observed.memory = self.memory(spec.connections)?;
        }
        if let Some(tear_down) = spec.options.tear_down {
            observed.emptied = Some(self.tear_down(tear_down, spec.connections)?);
        }
        Ok(())
    }

    /// Sends a frame Left to Right on each connection of phase 1, whose outside addresses and ports
    /// were `known`, and repeats it where it does not arrive.
    pub(crate) fn survey(&mut self, spec: &TrialSpec, known: &[u64]) -> Result<Survivors, TrialError> {
        let rate = spec.phase1_rate.map_or(SURVEY_RATE, |rate| rate.min(SURVEY_RATE));
        self.phase1(rate, spec.connections)?;
        for _ in 1..SURVEYS {
            let missing = self.stage.missing(spec.connections);
            if missing == 0 {
                break;
            }
            self.phase(&Phase { frames: missing, only_missing: true, ..self.first_phase(rate, missing) })?;
        }
        let (same, moved) = self.stage.compare(known);
        Ok(Survivors { all: spec.connections, same, moved })
    }

    fn tear_down(&mut self, of: TearDown, connections: Count) -> Result<EmptyingTimes, TrialError> {
        let entries = self.entries()?;
        let Clearing { took, how, clock } = self.clear_timed()?;
        if self.device.is_cleared_by_command() {
            self.prove_tear_down(entries, connections)?;
        }
        let empty = (0..of.empty).map(|_| Ok(self.clear_timed()?.took)).collect::<Result<Vec<Nanos>, TrialError>>()?;
        Ok(EmptyingTimes { entries, full: took, empty, how, clock: clock.name().to_owned() })
    }

    /// Checks the device's count, or else sends frames in reverse, which pass only on connections that are left.
    fn prove_tear_down(&mut self, entries: Option<Count>, connections: Count) -> Result<(), TrialError> {
        // A count that did not rise shows nothing.
        let counted = entries.zip(self.entries()?).filter(|(all, _)| *all > self.clear_proof.most_left(*all));
        let (all, left, most, what) = if let Some((all, left)) = counted {
            (all, left, self.clear_proof.most_left(all), "entries in the table of the device")
        } else {
            let sample = connections.min(SAMPLE);
            let phase = validation_phase(SAMPLE_RATE, sample, self.settings.phase1_drain);
            let left = self.phase(&phase)?.reverse.received;
            (sample, left, sample / 10, "connections: frames in reverse still pass on them")
        };
        if left > most {
            return Err(TrialError::NotMeasurable(format!("`clear` left {left} of {all} {what}")));
        }
        Ok(())
    }

    /// Memory with the connections, and once the device has freed it.
    fn memory(&mut self, connections: Count) -> Result<Option<TableMemory>, TrialError> {
        let before = self.entries()?;
        let Some(filled) = self.memory_now()? else { return Ok(None) };
        let MemoryNow { used, reserved_for, buckets, source } = filled;
        if let Some(entries) = reserved_for {
            return Ok(Some(TableMemory { filled: used, emptied: 0, entries, buckets, source }));
        }
        self.clear()?;
        let counted = before.zip(self.entries()?);
        let entries = counted.map_or(connections, |(before, left)| before.saturating_sub(left));
        let emptied = self.settled_memory()?;
        Ok(Some(TableMemory { filled: used, emptied, entries, buckets, source }))
    }

    fn settled_memory(&mut self) -> Result<u64, TrialError> {
        let end = Instant::now() + FREED_WITHIN;
        let mut last = u64::MAX;
        loop {
            let used = self.memory_now()?.map_or(0, |now| now.used);
            if used.saturating_add(used / SETTLED_PART) >= last || Instant::now() >= end {
                return Ok(used.min(last));
            }
            last = used;
            self.rest(ROUND.into())?;
        }
    }

    fn clear_timed(&mut self) -> Result<Clearing, TrialError> {
        self.while_serving(|device| device.clear_timed())?
    }

    fn memory_now(&mut self) -> Result<Option<MemoryNow>, TrialError> {
        self.while_serving(|device| device.memory())?
    }
}
