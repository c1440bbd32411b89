//! Trials until a certain time. Middleware, so that no search knows that time is short: one that runs out of it is left
//! as Ctrl-C would leave it, its trials on record, to be gone on with.

use method::{TrialError, TrialOutcome, TrialSpec, Trials};
use std::time::Instant;

/// Trials of which none is begun after the end.
pub struct Until<T> {
    /// Who carries them out.
    pub inner: T,
    /// When it is over; never, if not given.
    pub end: Option<Instant>,
}

/// Whether it is over.
pub fn is_over(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}

impl<T: Trials> Trials for Until<T> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        if is_over(self.end) { Err(TrialError::Interrupted) } else { self.inner.run(spec) }
    }
}
