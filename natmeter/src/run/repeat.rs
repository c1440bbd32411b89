//! Repeats visits at which the null device changed, as far as the time limit allows
//! (METHODOLOGY.md, the null device). The results of a repeated visit replace those of the first.

use super::{Run, RunError};
use crate::event::Event;
use record::folder::Outcome;
use record::plan::without_attempt;
use record::visit::{doubtful, rest_of, standing};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// Measurements with a result are left as they are.
    Planned,
    /// A round in which each measurement has a result.
    Repeated,
}

impl Run<'_> {
    /// The largest change first. This takes no time from the plan, so it begins only if the time
    /// limit skipped nothing. It ends at the limit; what has not ended then keeps its first result.
    pub(super) fn repeat_doubtful(&mut self) -> Result<(), RunError> {
        let limit = self.scenario.time_limit.filter(|_| !self.skipped);
        let Some(limit) = limit.map(Duration::from) else { return Ok(()) };
        self.end = self.began.checked_add(limit);
        for visit in doubtful(&self.nulls, &self.outcomes, |outcome| self.has_later(outcome)) {
            if self.has_time_to_repeat(&visit.measurements) {
                self.tell(&Event::PointRepeated { point: visit.point, change: visit.change })?;
                self.at_point(&visit.measurements, Round::Repeated)?;
            }
        }
        Ok(())
    }

    /// The interrupted one first: otherwise other trials would come between its trials.
    pub(super) fn end_repetitions(&mut self) -> Result<(), RunError> {
        let last = self.records.iter().max_by_key(|r| r.seq).map(|r| without_attempt(&r.measurement).to_owned());
        let mut begun: Vec<Outcome> = standing(&self.outcomes).filter(|o| self.has_later(o)).cloned().collect();
        begun.sort_by_key(|outcome| Some(outcome.measurement.key()) != last);
        for outcome in begun {
            let rest = rest_of(&outcome, &self.outcomes, |other| self.has_later(other));
            self.at_point(&rest, Round::Repeated)?;
        }
        Ok(())
    }

    fn has_later(&self, outcome: &Outcome) -> bool {
        self.is_filed(&outcome.measurement.attempt_key(self.attempt_of(outcome) + 1))
    }

    pub(super) fn attempt_of(&self, outcome: &Outcome) -> u32 {
        outcome.attempt.unwrap_or_else(|| outcome.measurement.last_attempt(|key| self.is_filed(key)))
    }

    pub(super) fn is_filed(&self, key: &str) -> bool {
        self.records.iter().any(|r| r.measurement == key)
    }
}
