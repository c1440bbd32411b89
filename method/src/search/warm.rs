//! Warm starts: a search begins at the bounds of an earlier one, and proves its own.

use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The bounds of an earlier search, frames (connections) per second per direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warm {
    /// The highest rate that passed.
    pub passed: Rate,
    /// The lowest rate above it that failed.
    pub failed: Rate,
}

impl Warm {
    pub(super) fn within(self, lo: Rate, hi: Rate) -> Option<Warm> {
        let (passed, failed) = (self.passed.max(lo), self.failed.min(hi));
        (passed < failed && passed.0 > 0).then_some(Warm { passed, failed })
    }
}

/// Steps to the first own bounds: the earlier bounds, then doubling.
pub(super) struct Gallop {
    from: Warm,
    step: u64,
}

impl Gallop {
    pub(super) fn new(from: Warm) -> Gallop {
        Gallop { from, step: from.failed.0 - from.passed.0 }
    }

    fn farther(&mut self) -> u64 {
        self.step = self.step.saturating_mul(2);
        self.step
    }

    pub(super) fn up(&mut self, passed: Option<Rate>, end: Rate) -> Rate {
        match passed {
            None => self.from.passed,
            Some(passed) if passed < self.from.failed => self.from.failed,
            Some(passed) => Rate(passed.0.saturating_add(self.farther())).min(end),
        }
    }

    pub(super) fn down(&mut self, lo: Rate, failed: Rate) -> Rate {
        let next = Rate(failed.0.saturating_sub(self.farther()));
        if next > lo { next } else { lo.halfway(failed) }
    }
}
