//! Requests and answers on an open connection, one segment each. No side waits: SEG.SEQ contains
//! their number, and SEG.ACK covers what was received without a gap (RFC 9293, section 3.4).

use super::flag::{ACK, PSH};
use super::{MOST_OCTETS, Segment, Side};

/// Exchanges with equal segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchanges {
    payload: u16,
    most: u16,
}

impl Exchanges {
    /// 15 bits of [`Progress`].
    const MOST: u32 = 0x7ffe;

    /// Exchanges of `payload` octets; `None` if not even one fits into [`MOST_OCTETS`].
    pub fn new(payload: u16) -> Option<Exchanges> {
        // SYN and a possible FIN consume a sequence number each.
        let most = (MOST_OCTETS - 2) / u32::from(payload.max(1));
        (payload > 0 && most > 0).then_some(Exchanges { payload, most: most.min(Self::MOST) as u16 })
    }

    /// Largest number of exchanges of one connection.
    pub fn most(self) -> u16 {
        self.most
    }

    /// Request `number` < [`Exchanges::most`] of an Initiator that has the first `whole` answers.
    #[inline(always)]
    pub fn request(self, number: u16, whole: u16) -> Segment {
        let (initiator, responder) = (self.after(number), self.after(whole));
        Segment { from: Side::Initiator, flags: ACK | PSH, initiator, responder, data: true }
    }

    /// Answer to request `number` of a Responder that has the first `whole` requests.
    #[inline(always)]
    pub fn answer(self, number: u16, whole: u16) -> Segment {
        let (initiator, responder) = (self.after(whole), self.after(number));
        Segment { from: Side::Responder, flags: ACK | PSH, initiator, responder, data: true }
    }

    #[inline(always)]
    fn after(self, segments: u16) -> u16 {
        1 + segments * self.payload
    }

    /// Number of a request or answer, and how many segments it acknowledges; `None` for others.
    #[inline(always)]
    pub fn read(self, segment: &Segment) -> Option<(u16, u16)> {
        let (own, other) = match segment.from {
            Side::Initiator => (segment.initiator, segment.responder),
            Side::Responder => (segment.responder, segment.initiator),
        };
        let whole = |come: u16| {
            let octets = come.wrapping_sub(1);
            let segments = octets / self.payload;
            (segments * self.payload == octets).then_some(segments)
        };
        let (number, acknowledged) = (whole(own)?, whole(other)?);
        (segment.flags == ACK | PSH && number < self.most && acknowledged <= self.most)
            .then_some((number, acknowledged))
    }
}

/// What one side has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number after the highest received.
    pub next: u16,
    /// Numbers without a gap. Gaps stay: nothing is retransmitted.
    pub whole: u16,
}

impl Progress {
    /// Bit of a word with progress; other words have none.
    const MARK: u32 = 1 << 31;

    /// `None` if `n` or a later one came before.
    #[inline(always)]
    pub fn with(self, n: u16) -> Option<Progress> {
        let whole = if n == self.whole { n + 1 } else { self.whole };
        (n >= self.next).then_some(Progress { next: n + 1, whole })
    }

    /// The highest bit is 1.
    #[inline(always)]
    pub fn word(self) -> u32 {
        Self::MARK | u32::from(self.next) << 16 | u32::from(self.whole)
    }

    /// A progress from a word.
    #[inline(always)]
    pub fn of(word: u32) -> Progress {
        if word & Self::MARK == 0 {
            return Progress::default();
        }
        Progress { next: (word >> 16) as u16 & 0x7fff, whole: word as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Numbers;
    use proptest::prelude::*;

    #[test]
    fn requests_and_answers_follow_the_handshake() {
        let all = Exchanges::new(10).unwrap();
        let (request, answer) = (all.request(2, 1), all.answer(2, 3));
        assert_eq!((request.from, request.initiator, request.responder), (Side::Initiator, 21, 11));
        assert_eq!((answer.from, answer.initiator, answer.responder), (Side::Responder, 31, 21));
        assert_eq!((all.read(&request), all.read(&answer)), (Some((2, 1)), Some((2, 3))));
    }

    #[test]
    fn no_side_sends_more_than_its_sequence_numbers_tell() {
        assert_eq!(Exchanges::new(1_460).unwrap().most(), 44);
        assert_eq!(Exchanges::new(0), None);
        let most = Exchanges::new(6).unwrap();
        let last = most.request(most.most() - 1, 0);
        assert!(most.read(&last).is_some());
        assert!(most.read(&Segment { initiator: last.initiator + 6, ..last }).is_none());
    }

    #[test]
    fn a_segment_between_two_numbers_is_none() {
        let all = Exchanges::new(10).unwrap();
        for wrong in [
            Segment { initiator: 12, ..all.request(1, 0) },
            Segment { responder: 0, ..all.request(1, 0) },
            Segment { flags: ACK, ..all.request(1, 0) },
        ] {
            assert_eq!(all.read(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn an_acknowledgment_stops_at_the_first_gap() {
        let after = |received: &[u16]| received.iter().try_fold(Progress::default(), |progress, &n| progress.with(n));
        assert_eq!(after(&[0, 1, 2]), Some(Progress { next: 3, whole: 3 }));
        assert_eq!(after(&[0, 2, 3]), Some(Progress { next: 4, whole: 1 }));
        assert_eq!(after(&[0, 2, 1]), None);
        assert_eq!(after(&[0, 0]), None);
    }

    proptest! {
        #[test]
        fn a_word_keeps_the_progress(next in 0u16..0x7fff, whole: u16) {
            let progress = Progress { next, whole };
            prop_assert_eq!(Progress::of(progress.word()), progress);
        }

        #[test]
        fn every_exchange_names_its_connection(trial: u16, index: u32, payload in 1u16..1_460, at: u16, received: u16) {
            let (numbers, all) = (Numbers::new(trial), Exchanges::new(payload).unwrap());
            let (n, whole) = (at % all.most(), received % (all.most() + 1));
            for s in [all.request(n, whole), all.answer(n, whole)] {
                let (seq, ack) = numbers.of(index, &s);
                let (found, initiator, responder) = numbers.read(s.from, (seq, ack, s.flags));
                prop_assert_eq!(found, index);
                prop_assert_eq!(all.read(&Segment { initiator, responder, ..s }), Some((n, whole)));
            }
        }
    }
}
