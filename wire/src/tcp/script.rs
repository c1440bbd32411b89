//! The segments of one connection, with relative sequence numbers from 0.

use super::flag::{ACK, FIN, PSH, RST, SYN};

/// Octets of one side, SYN and FIN included, that [`super::Numbers`] separates from the connection's number.
pub const MOST_OCTETS: u32 = 65_535;

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left opens the connection.
    Initiator,
    /// Right.
    Responder,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Close {
    /// FIN by the Initiator, FIN by the Responder, last acknowledgment (RFC 9293, section 3.6).
    #[default]
    Fin,
    /// RST by the Initiator (RFC 9293, section 3.5.2).
    Rst,
    /// The connection stays open.
    Open,
}

/// A segment with numbers relative to the initial sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Side that sends the segment.
    pub from: Side,
    /// Flags.
    pub flags: u8,
    /// Number of the Initiator in SEG.SEQ or SEG.ACK, relative to its initial sequence number.
    pub initiator: u16,
    /// Number of the Responder in SEG.SEQ or SEG.ACK, relative to its initial sequence number.
    pub responder: u16,
    /// Whether the segment carries data.
    pub data: bool,
}

/// SYN, SYN-ACK, ACK; requests and answers of equal length; the end. The Initiator's segment is last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    exchanges: u16,
    payload: u16,
    close: Close,
    segments: u16,
}

impl Script {
    const HANDSHAKE: u16 = 3;

    /// A script with `exchanges` segments of `payload` octets from each side; `None` if they exceed [`MOST_OCTETS`].
    pub fn new(exchanges: u16, payload: u16, close: Close) -> Option<Script> {
        let octets = u32::from(exchanges) * u32::from(payload) + 2;
        let segments = u32::from(Self::HANDSHAKE) + 2 * u32::from(exchanges) + Script::closing(exchanges, close);
        let segments = u16::try_from(segments).ok()?;
        (octets <= MOST_OCTETS).then_some(Script { exchanges, payload, close, segments })
    }

    fn closing(exchanges: u16, close: Close) -> u32 {
        match close {
            Close::Fin => 3,
            Close::Rst => 1,
            Close::Open => u32::from(exchanges > 0),
        }
    }

    /// Segments of both sides.
    pub fn segments(self) -> u16 {
        self.segments
    }

    /// Number of segments that the Initiator sends.
    pub fn of_initiator(self) -> u16 {
        (0..self.segments).filter(|&n| Script::from(n) == Side::Initiator).count() as u16
    }

    /// The sender of segment `n`: they alternate after the handshake.
    #[inline(always)]
    pub fn from(n: u16) -> Side {
        if n == 2 || n == 0 || n != 1 && n % 2 == 1 { Side::Initiator } else { Side::Responder }
    }

    /// First segment from `n` on that this side receives.
    #[inline(always)]
    pub fn next_at(side: Side, n: u16) -> u16 {
        if Script::from(n) != side {
            return n;
        }
        // The Initiator sends two segments in a row.
        n + 1 + u16::from(n == 2 && side == Side::Initiator)
    }

    /// A segment, below [`Script::segments`].
    #[inline]
    pub fn segment(self, n: u16) -> Segment {
        let from = Script::from(n);
        let (initiator, responder, flags, data) = match n {
            0 => (0, 0, SYN, false),
            1 => (1, 0, SYN | ACK, false),
            2 => (1, 1, ACK, false),
            n => self.after_handshake(n - Self::HANDSHAKE),
        };
        Segment { from, flags, initiator, responder, data }
    }

    #[inline]
    fn after_handshake(self, n: u16) -> (u16, u16, u8, bool) {
        let (d, sent) = (self.payload, 1 + self.exchanges * self.payload);
        let closing = n.wrapping_sub(2 * self.exchanges);
        match (closing, self.close) {
            // Requests acknowledge earlier answers; answers their requests.
            _ if n < 2 * self.exchanges => (1 + n.div_ceil(2) * d, 1 + n / 2 * d, ACK | PSH, true),
            (0, Close::Fin) => (sent, sent, FIN | ACK, false),
            (1, Close::Fin) => (sent + 1, sent, FIN | ACK, false),
            (_, Close::Fin) => (sent + 1, sent + 1, ACK, false),
            (_, Close::Rst) => (sent, sent, RST | ACK, false),
            (_, Close::Open) => (sent, sent, ACK, false),
        }
    }

    /// An earlier segment is equal, as after a retransmission or duplicate.
    #[cold]
    pub fn is_earlier(self, n: u16, segment: &Segment) -> bool {
        (0..n.min(self.segments)).any(|n| self.segment(n) == *segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(exchanges: u16, close: Close) -> Vec<(Side, u8, u16, u16)> {
        let script = Script::new(exchanges, 10, close).unwrap();
        let all = (0..script.segments()).map(|n| script.segment(n));
        all.map(|s| (s.from, s.flags, s.initiator, s.responder)).collect()
    }

    use Side::{Initiator as I, Responder as R};

    /// RFC 9293, figures 6 and 12, with FIN and the acknowledgment of the other FIN in one segment.
    #[test]
    fn a_connection_is_opened_and_closed_by_both_sides() {
        let wanted = [
            (I, SYN, 0, 0),
            (R, SYN | ACK, 1, 0),
            (I, ACK, 1, 1),
            (I, FIN | ACK, 1, 1),
            (R, FIN | ACK, 2, 1),
            (I, ACK, 2, 2),
        ];
        assert_eq!(listed(0, Close::Fin), wanted);
    }

    #[test]
    fn data_takes_turns_before_a_reset() {
        let data = PSH | ACK;
        let wanted = [(I, data, 1, 1), (R, data, 11, 1), (I, data, 11, 11), (R, data, 21, 11), (I, RST | ACK, 21, 21)];
        assert_eq!(listed(2, Close::Rst)[3..], wanted);
    }

    #[test]
    fn an_open_connection_ends_with_an_acknowledgment() {
        assert_eq!(listed(0, Close::Open).len(), 3);
        assert_eq!(listed(1, Close::Open)[5], (I, ACK, 11, 11));
    }

    #[test]
    fn the_initiator_sends_the_last_segment_of_every_script() {
        for exchanges in 0..4 {
            for close in [Close::Fin, Close::Rst, Close::Open] {
                let script = Script::new(exchanges, 6, close).unwrap();
                assert_eq!(script.segment(script.segments() - 1).from, I, "{script:?}");
            }
        }
        assert_eq!(Script::new(2, 6, Close::Fin).unwrap().of_initiator(), 6);
    }

    #[test]
    fn each_side_receives_what_the_other_one_sends() {
        for side in [I, R] {
            for n in 0..20 {
                let received = (n..n + 3).find(|&n| Script::from(n) != side).unwrap();
                assert_eq!(Script::next_at(side, n), received, "{side:?} from {n}");
            }
        }
    }

    #[test]
    fn more_octets_than_sequence_numbers_can_tell_are_refused() {
        assert!(Script::new(44, 1_460, Close::Fin).is_some());
        assert!(Script::new(45, 1_460, Close::Fin).is_none());
        assert!(Script::new(u16::MAX, 0, Close::Fin).is_none());
    }
}
