//! Trials of DNS queries in place of test frames (RFC 8219, section 9).

use crate::ratio::Ratio;
use crate::units::{Count, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The trial sends DNS queries for AAAA records in place of test frames. In its outcome, `sent` of Left to Right counts queries,
/// and `received` right answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Queries {
    /// An answer counts if it arrives this long after its own query, or earlier.
    pub timeout: Nanos,
    /// Share of the queries for names that were resolved before the trial. All other queries have a name of their own.
    #[schemars(with = "String")]
    pub cached: Ratio,
}

/// How the queries of a trial were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Answers {
    /// Right answers in time.
    pub valid: Count,
    /// Right answers after the time-out of their queries.
    pub late: Count,
    /// Answers with another response code than NOERROR.
    pub error_codes: Count,
    /// Answers without an AAAA record of the name.
    pub without_record: Count,
    /// Answers with another address than expected.
    pub wrong_address: Count,
    /// Messages that do not answer the query with their ID: malformed, truncated, or with another question.
    pub malformed: Count,
    /// Queries without an answer.
    pub unanswered: Count,
    /// Second answers to a query.
    pub duplicates: Count,
    /// Messages without a query.
    pub foreign: Count,
    /// Longest time from a query to its valid answer.
    pub slowest: Nanos,
}

impl Answers {
    pub fn wrong(&self) -> Count {
        self.error_codes + self.without_record + self.wrong_address + self.malformed
    }

    /// Adds the answers to other queries of the same trial.
    pub fn add(&mut self, other: &Answers) {
        self.valid += other.valid;
        self.late += other.late;
        self.error_codes += other.error_codes;
        self.without_record += other.without_record;
        self.wrong_address += other.wrong_address;
        self.malformed += other.malformed;
        self.unanswered += other.unanswered;
        self.duplicates += other.duplicates;
        self.foreign += other.foreign;
        self.slowest = self.slowest.max(other.slowest);
    }
}
