//! Why a value is refused, and what to write instead.

use crate::quantity::QuantityError;

/// Why a value is refused, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, to be shown under the value.
    pub what: String,
    /// The advice, to be shown below.
    pub instead: String,
}

impl Wrong {
    /// What is wrong, and what to write instead.
    pub fn new(what: impl Into<String>, instead: impl Into<String>) -> Wrong {
        Wrong { what: what.into(), instead: instead.into() }
    }
}

impl From<QuantityError> for Wrong {
    fn from(error: QuantityError) -> Wrong {
        Wrong { what: error.wrong, instead: error.instead }
    }
}
