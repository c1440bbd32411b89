//! The load of one trial.

use crate::answer::ExpectedAnswer;
use crate::plan::QueryPlan;
use method::{Count, Nanos, Rate};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Queries per second.
    pub rate: Rate,
    pub queries: Count,
    /// Timeout for an answer after its own query.
    pub timeout: Nanos,
    pub plan: QueryPlan,
    pub expected: ExpectedAnswer,
}
