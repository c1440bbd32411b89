//! What the counts of a device have shown of its `clear`.

use method::Count;

/// What the counts of a device have shown of its `clear`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClearProof {
    /// Nothing was counted yet.
    #[default]
    Open,
    /// After the first `clear` the device had these entries, which may be those of others.
    Others(Count),
    /// After a phase 1 it had more: the entries of others, and all.
    Filled(Count, Count),
    /// A `clear` has left the entries of others.
    Shown(Count),
}

/// Most entries that a `clear` may leave. A tenth is tolerated: other hosts may open connections meanwhile.
pub(crate) fn most_left(others: Count, all: Count) -> Count {
    others + (all - others) / 10
}

impl ClearProof {
    /// Entries after a phase 1.
    pub(crate) fn filled(&mut self, entries: Option<Count>) {
        if let (ClearProof::Others(others), Some(entries)) = (*self, entries)
            && entries > others
        {
            *self = ClearProof::Filled(others, entries);
        }
    }

    pub(crate) fn others(self) -> Count {
        match self {
            ClearProof::Open => 0,
            ClearProof::Others(others) | ClearProof::Filled(others, _) | ClearProof::Shown(others) => others,
        }
    }
}
