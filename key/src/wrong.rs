//! The reason why a value is refused, and the advice for the user.

use crate::quantity::QuantityError;

/// The reason why a value is refused, with advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, to be shown under the value.
    pub what: String,
    /// The advice, to be shown below the reason.
    pub instead: String,
}

impl Wrong {
    /// Makes a refusal from what is wrong and what to write instead.
    pub fn new(what: impl Into<String>, instead: impl Into<String>) -> Wrong {
        Wrong { what: what.into(), instead: instead.into() }
    }
}

impl From<QuantityError> for Wrong {
    fn from(error: QuantityError) -> Wrong {
        Wrong { what: error.wrong, instead: error.instead }
    }
}
