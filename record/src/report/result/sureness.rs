//! How sure a result is: one of three words, and the reasons.

use schemars::JsonSchema;
use serde::Serialize;

method::worded! {
    /// How sure a value is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum SureWord: name {
        /// Tester or host decided, or fewer than half of the repetitions have a figure.
        Low = "LOW",
        /// Neither of the others.
        Medium = "MEDIUM",
        /// All repetitions, an interval of at most ± 5 %, and the device was the limit.
        High = "HIGH",
    }
}

/// A word and why it is not the next higher one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sure {
    /// The word.
    pub word: SureWord,
    /// The reasons as sentences without a full stop, those of the word first; none of `high`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}
