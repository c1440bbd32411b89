//! What the counts of a device have shown of its `clear`.

use method::Count;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClearProof {
    /// Entries after the first `clear`, which may be those of others.
    pub others: Option<Count>,
    /// All entries after a phase 1, if they were more.
    pub filled: Option<Count>,
    /// Whether a `clear` has removed those of the phase 1.
    pub is_shown: bool,
}

impl ClearProof {
    /// Entries after a phase 1.
    pub(crate) fn filled(&mut self, entries: Option<Count>) {
        let more = entries.filter(|entries| self.others.is_some_and(|others| *entries > others));
        self.filled = self.filled.or(more);
    }

    /// Most entries that a `clear` may leave. A tenth is tolerated: other hosts may open connections meanwhile.
    pub(crate) fn most_left(self, all: Count) -> Count {
        let others = self.others.unwrap_or(0).min(all);
        others + (all - others) / 10
    }
}
