//! Trials until a time limit. At the limit, a search ends as on Ctrl-C, and a resumed run continues it.

use method::{TrialError, TrialOutcome, TrialSpec, Trials};
use std::time::Instant;

/// Begins no trial after `end`.
pub(crate) struct TimeLimited<T> {
    pub(crate) inner: T,
    /// `None` for no limit.
    pub(crate) end: Option<Instant>,
}

pub(crate) fn is_over(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}

impl<T: Trials> Trials for TimeLimited<T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        if is_over(self.end) { Err(TrialError::Interrupted) } else { self.inner.run(spec) }
    }
}
