//! Trials until a time limit, or until Ctrl-C. At the limit a search ends as on Ctrl-C: a resumed run continues it.

use method::{TrialError, TrialOutcome, TrialSpec, Trials};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Begins no trial after `end`.
pub struct Until<T> {
    /// Runs the trials.
    pub inner: T,
    /// `None` for no limit.
    pub end: Option<Instant>,
}

/// The time limit is reached.
pub fn is_over(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}

impl<T: Trials> Trials for Until<T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        if is_over(self.end) { Err(TrialError::Interrupted) } else { self.inner.run(spec) }
    }
}

/// The engine ends a trial on Ctrl-C; a simulated device takes no time and does not check for it.
pub struct UntilInterrupted<'a, T> {
    /// Runs the trials.
    pub inner: T,
    /// Interrupted by Ctrl-C.
    pub interrupted: &'a AtomicBool,
}

impl<T: Trials> Trials for UntilInterrupted<'_, T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        if self.interrupted.load(Ordering::Relaxed) { Err(TrialError::Interrupted) } else { self.inner.run(spec) }
    }
}
