//! Sequence numbers that contain their connection's number instead of a look-up: the Initiator's first is the number,
//! the Responder's first has its lower half in the upper half. A trial's offsets are added, so that earlier trials'
//! segments do not match.

use super::{Segment, Side, flag};
use crate::perm::splitmix;

/// Sequence numbers of a trial's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    initiator: u32,
    responder: u32,
}

impl Numbers {
    /// Numbers of a trial.
    pub fn new(trial: u16) -> Numbers {
        let moved = splitmix(&mut u64::from(trial));
        Numbers { initiator: moved as u32, responder: (moved >> 32) as u32 }
    }

    /// SEG.SEQ and SEG.ACK of a segment of connection `index`.
    #[inline(always)]
    pub fn of(&self, index: u32, segment: &Segment) -> (u32, u32) {
        let initiator = index.wrapping_add(self.initiator).wrapping_add(segment.initiator.into());
        let responder = (index << 16).wrapping_add(self.responder).wrapping_add(segment.responder.into());
        match segment.from {
            Side::Initiator if segment.flags & flag::ACK == 0 => (initiator, 0),
            Side::Initiator => (initiator, responder),
            Side::Responder => (responder, initiator),
        }
    }

    /// Connection and both relative sequence numbers of a segment from `from`, unchecked.
    #[inline(always)]
    pub fn read(&self, from: Side, (seq, ack, flags): (u32, u32, u8)) -> (u32, u16, u16) {
        let (own, other) = if from == Side::Initiator { (seq, ack) } else { (ack, seq) };
        let initiator = own.wrapping_sub(self.initiator);
        if from == Side::Initiator && flags & flag::ACK == 0 {
            return (initiator, 0, 0);
        }
        let responder = other.wrapping_sub(self.responder);
        let come = (initiator as u16).wrapping_sub((responder >> 16) as u16);
        (initiator.wrapping_sub(come.into()), come, responder as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Close, Script};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_segment_names_its_connection(trial: u16, index: u32, exchanges in 0u16..40, payload in 1u16..1_460) {
            let numbers = Numbers::new(trial);
            let script = Script::new(exchanges, payload, Close::Fin).unwrap();
            for n in 0..script.segments() {
                let s = script.segment(n);
                let (seq, ack) = numbers.of(index, &s);
                let read = numbers.read(s.from, (seq, ack, s.flags));
                prop_assert_eq!(read, (index, s.initiator, s.responder), "segment {}", n);
            }
        }
    }

    #[test]
    fn a_syn_acknowledges_nothing() {
        let script = Script::new(0, 6, Close::Fin).unwrap();
        assert_eq!(Numbers::new(3).of(7, &script.segment(0)).1, 0);
    }

    #[test]
    fn segments_of_another_trial_do_not_fit() {
        let script = Script::new(0, 6, Close::Fin).unwrap();
        let s = script.segment(4);
        let (seq, ack) = Numbers::new(3).of(7, &s);
        let (index, initiator, responder) = Numbers::new(4).read(s.from, (seq, ack, s.flags));
        assert!(index != 7 && (initiator, responder) != (s.initiator, s.responder));
    }
}
