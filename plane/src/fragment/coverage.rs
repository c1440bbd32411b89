//! Which octets of a datagram have arrived, and how a further fragment fits them.

use super::Piece;

/// The worst order of a 64-KiB datagram in Ethernet frames needs 22.
const RUNS: usize = 24;

/// Disjoint runs in order, each as its first octet and the one after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    runs: [(u32, u32); RUNS],
    used: u8,
    /// Octets of the datagram, 0 until the last fragment has arrived.
    total: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    New,
    /// No octet is missing.
    Complete,
    /// A duplicate.
    Again,
    /// The fragment overlaps in part, or disagrees about the end.
    Overlap,
    /// More gaps than are kept.
    Scattered,
}

impl Coverage {
    pub(super) const NOTHING: Coverage = Coverage { runs: [(0, 0); RUNS], used: 0, total: 0 };

    /// Adds a fragment; only `New` and `Complete` change something.
    pub(super) fn add(&mut self, piece: Piece) -> Fit {
        let (first, end, last) = (piece.offset as u32, (piece.offset + piece.len) as u32, !piece.more);
        let used = usize::from(self.used);
        let runs = &self.runs[..used];
        let farthest = runs.last().map_or(0, |run| run.1);
        let ends_elsewhere =
            if last { self.total > 0 && self.total != end } else { self.total > 0 && end > self.total };
        if first >= end || ends_elsewhere || (last && farthest > end) {
            return Fit::Overlap;
        }
        // First run that may overlap.
        let at = runs.iter().position(|run| run.1 > first).unwrap_or(used);
        if let Some(run) = runs.get(at).filter(|run| run.0 < end) {
            return if run.0 <= first && end <= run.1 { Fit::Again } else { Fit::Overlap };
        }
        let joins_before = at > 0 && runs[at - 1].1 == first;
        let joins_after = at < used && runs[at].0 == end;
        match (joins_before, joins_after) {
            (true, true) => {
                self.runs[at - 1].1 = self.runs[at].1;
                self.runs.copy_within(at + 1..used, at);
                self.used -= 1;
            }
            (true, false) => self.runs[at - 1].1 = end,
            (false, true) => self.runs[at].0 = first,
            (false, false) if used == RUNS => return Fit::Scattered,
            (false, false) => {
                self.runs.copy_within(at..used, at + 1);
                self.runs[at] = (first, end);
                self.used += 1;
            }
        }
        if last {
            self.total = end;
        }
        if self.used == 1 && self.runs[0] == (0, self.total) { Fit::Complete } else { Fit::New }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coverage, Fit, Piece, RUNS};
    use proptest::prelude::*;

    fn add(coverage: &mut Coverage, first: u32, end: u32, last: bool) -> Fit {
        coverage.add(Piece { offset: first as usize, len: (end - first) as usize, more: !last })
    }

    #[test]
    fn more_gaps_than_are_kept_are_refused() {
        let mut coverage = Coverage::NOTHING;
        for i in 0..RUNS as u32 {
            assert_eq!(add(&mut coverage, i * 16, i * 16 + 8, false), Fit::New);
        }
        let end = RUNS as u32 * 16;
        assert_eq!(add(&mut coverage, end, end + 8, false), Fit::Scattered);
        assert_eq!(add(&mut coverage, 8, 16, false), Fit::New, "a gap that closes takes no room");
        assert_eq!(add(&mut coverage, end, end + 8, true), Fit::New);
    }

    proptest! {
        /// The same as marking every octet.
        #[test]
        fn runs_are_a_bitmap(pieces in proptest::collection::vec((0..12u32, 1..5u32, prop::bool::weighted(0.2)), 1..20)) {
            let mut coverage = Coverage::NOTHING;
            let (mut octets, mut total) = ([false; 160], None);
            for (at, len, last) in pieces {
                let (first, end) = (at * 8, (at + len) * 8);
                let inside = &octets[first as usize..end as usize];
                let wrong_end = match total {
                    Some(total) => end > total || (last && end != total),
                    None => last && octets[end as usize..].contains(&true),
                };
                let expected = if wrong_end {
                    Fit::Overlap
                } else if inside.iter().all(|seen| *seen) {
                    Fit::Again
                } else if inside.contains(&true) {
                    Fit::Overlap
                } else {
                    octets[first as usize..end as usize].fill(true);
                    total = total.or(last.then_some(end));
                    let complete = total.is_some_and(|total| octets[..total as usize].iter().all(|seen| *seen));
                    if complete { Fit::Complete } else { Fit::New }
                };
                prop_assert_eq!(add(&mut coverage, first, end, last), expected);
                if expected == Fit::Overlap {
                    break;
                }
            }
        }
    }
}
