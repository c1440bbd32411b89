//! When each query of a sender was sent, and which were answered: one 32-bit word a query, shared with the receiver.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Length of a tick in nanoseconds: 2^32 ticks are 18 minutes.
const TICK: u64 = 256;
/// Longest time to an answer, in nanoseconds.
pub(crate) const LONGEST: u64 = (ANSWERED as u64 - 2) * TICK;
const NOT_SENT: u32 = 0;
const ANSWERED: u32 = u32::MAX;

/// Query `l` leaves from port `l % ports` with ID `l / ports`.
pub(crate) struct SentQueries {
    times: Vec<AtomicU32>,
    ports: u64,
    next: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// The query with its times in nanoseconds after the trial's start.
    Query {
        l: u64,
        sent_at: u64,
    },
    Answered,
    None,
}

impl SentQueries {
    pub(crate) fn new(queries: u64, ports: u64) -> SentQueries {
        SentQueries { times: (0..queries).map(|_| AtomicU32::new(NOT_SENT)).collect(), ports, next: AtomicU64::new(0) }
    }

    /// Socket and identifier of query `l`.
    pub(crate) fn place(&self, l: u64) -> (usize, u16) {
        ((l % self.ports) as usize, (l / self.ports) as u16)
    }

    /// Notes a query before its system call, so that no answer precedes the note.
    pub(crate) fn note(&self, l: u64, nanos: u64) {
        self.times[l as usize].store((nanos / TICK) as u32 + 1, Ordering::Relaxed);
        self.next.store(l + 1, Ordering::Release);
    }

    pub(crate) fn find(&self, port: usize, id: u16) -> Match {
        let Some(last) = self.next.load(Ordering::Acquire).checked_sub(port as u64 + 1) else { return Match::None };
        let last = last / self.ports;
        let Some(of_port) = last.checked_sub(u64::from((last as u16).wrapping_sub(id))) else { return Match::None };
        let l = of_port * self.ports + port as u64;
        match self.times[l as usize].load(Ordering::Relaxed) {
            NOT_SENT => Match::None,
            ANSWERED => Match::Answered,
            time => Match::Query { l, sent_at: u64::from(time - 1) * TICK },
        }
    }

    pub(crate) fn answered(&self, l: u64) {
        self.times[l as usize].store(ANSWERED, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_finds_its_query_by_port_and_id() {
        let sent = SentQueries::new(200_000, 3);
        for l in 0..200_000 {
            sent.note(l, l * 1_000);
        }
        for l in [200_000 - 1, 150_000, 3 * 70_000 - 3 * 65_536] {
            let (port, id) = sent.place(l);
            assert!(
                matches!(sent.find(port, id), Match::Query { l: found, sent_at } if found == l && sent_at / TICK == l * 1_000 / TICK)
            );
        }
        // The ID of port 0 was in use again after 65,536 queries.
        assert!(matches!(sent.find(0, 5), Match::Query { l, .. } if l == 3 * (65_536 + 5)));
    }

    #[test]
    fn duplicates_and_answers_to_nothing_are_told_apart() {
        let sent = SentQueries::new(10, 2);
        assert_eq!(sent.find(0, 0), Match::None);
        (0..3).for_each(|l| sent.note(l, 0));
        assert_eq!(sent.find(1, 1), Match::None, "query 3 was not sent");
        sent.answered(2);
        assert_eq!((sent.find(0, 1), sent.find(0, 7)), (Match::Answered, Match::None));
    }
}
