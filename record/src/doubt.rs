//! A doubt that a run records with its facts. Its file has a sentence; here it is what the sentence says. The words of each
//! kind are in this file alone, and never change: folders of all versions have them.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Doubt {
    /// The measurement with this key has no result, for this reason.
    NoResult(String, String),
    /// The invalid trials of the measurement with this key took too long: how long, and what helps.
    InvalidTooLong(String, String),
    /// The trials of the measurement with this key took longer than predicted: how long, and why.
    TookLong(String, String),
    /// The run was resumed where or by what it did not begin: the difference.
    ResumedElsewhere(String),
    /// No self-test ruled out faults of the tester.
    SelfTestSkipped,
    Other(String),
}

const NO_RESULT: &str = ": no result: ";
const INVALID_TOO_LONG: &str = ": invalid trials took ";
const TOOK_LONG: &str = ": its trials took ";
const RESUMED_ELSEWHERE: &str = "this run was begun with ";
const SELF_TEST_SKIPPED: &str = "The self-test was skipped: faults of the tester were not ruled out.";

impl Doubt {
    /// The key of the measurement that it is about.
    pub(crate) fn measurement_mut(&mut self) -> Option<&mut String> {
        match self {
            Doubt::NoResult(key, _) | Doubt::InvalidTooLong(key, _) | Doubt::TookLong(key, _) => Some(key),
            _ => None,
        }
    }

    /// Whether it is about trials that a resumed run keeps. Others are raised anew.
    pub fn is_of_trials(&self) -> bool {
        matches!(
            self,
            Doubt::InvalidTooLong(..) | Doubt::TookLong(..) | Doubt::ResumedElsewhere(_) | Doubt::SelfTestSkipped
        )
    }
}

impl From<String> for Doubt {
    fn from(text: String) -> Doubt {
        let split = |by: &str| text.split_once(by).map(|(key, rest)| (key.to_owned(), rest.to_owned()));
        if text == SELF_TEST_SKIPPED {
            Doubt::SelfTestSkipped
        } else if let Some(difference) = text.strip_prefix(RESUMED_ELSEWHERE) {
            Doubt::ResumedElsewhere(difference.to_owned())
        } else if let Some((key, reason)) = split(NO_RESULT) {
            Doubt::NoResult(key, reason)
        } else if let Some((key, times)) = split(INVALID_TOO_LONG) {
            Doubt::InvalidTooLong(key, times)
        } else if let Some((key, times)) = split(TOOK_LONG) {
            Doubt::TookLong(key, times)
        } else {
            Doubt::Other(text)
        }
    }
}

impl From<Doubt> for String {
    fn from(doubt: Doubt) -> String {
        doubt.to_string()
    }
}

impl Display for Doubt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NoResult(key, reason) => write!(f, "{key}{NO_RESULT}{reason}"),
            Doubt::InvalidTooLong(key, times) => write!(f, "{key}{INVALID_TOO_LONG}{times}"),
            Doubt::TookLong(key, times) => write!(f, "{key}{TOOK_LONG}{times}"),
            Doubt::ResumedElsewhere(difference) => write!(f, "{RESUMED_ELSEWHERE}{difference}"),
            Doubt::SelfTestSkipped => f.write_str(SELF_TEST_SKIPPED),
            Doubt::Other(text) => f.write_str(text),
        }
    }
}
