//! The record of an emptied table.

/// How the table was emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    pub how: String,
    /// Nanoseconds, with the round trip to the host.
    pub nanos: u64,
}
