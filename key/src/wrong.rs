//! Why a value is refused, with advice.

use crate::quantity::QuantityError;

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl From<QuantityError> for Wrong {
    fn from(error: QuantityError) -> Wrong {
        Wrong { what: error.wrong, instead: error.instead }
    }
}
