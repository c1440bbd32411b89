//! Why a value is refused, with advice.

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {instead}")]
pub struct Wrong {
    /// What is wrong, shown under the value.
    pub what: String,
    /// The advice, shown below.
    pub instead: String,
}

impl Wrong {
    /// Makes a refusal.
    pub fn new(what: impl Into<String>, instead: impl Into<String>) -> Wrong {
        Wrong { what: what.into(), instead: instead.into() }
    }
}
