//! Frames of several sizes on the wire.

use crate::common::{any_port, bed, of_inner, stateless};
use method::{Fault, Rate, TrialOutcome, TrialSpec, Trials};
use plane::view::{forwarding, nat44};
use port::link::LinkPort;
use port::{Burst, Pool, Port, PortError, Sent};
use std::sync::{Arc, Mutex};
use wire::View;

/// Notes the lengths of transmitted frames, and shortens one.
struct Notes {
    inner: LinkPort,
    lengths: Arc<Mutex<Vec<usize>>>,
    shortens: Option<usize>,
}

impl Port for Notes {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let mut lengths = self.lengths.lock().unwrap();
        for frame in burst.iter_mut() {
            lengths.push(frame.len());
            if self.shortens == Some(lengths.len()) {
                assert!(frame.set_len(60));
            }
        }
        self.inner.transmit(pool, burst)
    }
}

/// The lengths of the frames from Left, in order.
fn trial(view: View, spec: &TrialSpec, shortens: Option<usize>) -> (Vec<usize>, TrialOutcome) {
    let lengths = Arc::default();
    let notes = |inner| Notes { inner, lengths: Arc::clone(&lengths), shortens };
    let mut engine = crate::common::cabled(view, 1, notes, |inner| inner);
    let outcome = engine.run(spec).unwrap();
    let lengths = lengths.lock().unwrap().clone();
    (lengths, outcome)
}

const SIZES: [usize; 4] = [64, 64, 570, 1518];

#[test]
fn sizes_follow_their_sequence_and_every_frame_is_right() {
    let (lengths, outcome) = trial(forwarding(&bed(1518)).of_sizes(&SIZES), &stateless(2_000), None);
    assert_eq!((outcome.forward.received, outcome.reverse.received), (2_000, 2_000), "{outcome:?}");
    assert_eq!(outcome.forward.faults.total() + outcome.reverse.faults.total(), 0);
    // Without FCS.
    assert!(lengths.iter().zip(SIZES.iter().cycle()).all(|(length, size)| length + 4 == *size));
}

#[test]
fn a_frame_of_another_size_of_the_mix_is_wrong() {
    // The third frame is to have 570 octets.
    let (_, outcome) = trial(forwarding(&bed(1518)).of_sizes(&SIZES), &stateless(2_000), Some(3));
    let wrong = outcome.forward.faults.get(Fault::WrongLength);
    assert_eq!((outcome.forward.received, wrong), (1_999, 1), "{outcome:?}");
}

#[test]
fn phase_1_learns_from_frames_of_several_sizes() {
    let bed = bed(1518);
    let view = nat44(&bed, any_port(&bed)).of_sizes(&SIZES);
    let spec = TrialSpec { rate: Rate(100_000), phase1_rate: Some(Rate(100_000)), ..crate::common::trial_spec(4_000) };
    let (lengths, outcome) = trial(view, &spec, None);
    assert_eq!(outcome.store.as_ref().unwrap().learned, 4_000);
    assert_eq!((outcome.forward.received, outcome.reverse.received), (2_000, 2_000), "{outcome:?}");
    assert!(lengths[..4_000].iter().zip(SIZES.iter().cycle()).all(|(length, size)| length + 4 == *size));
}
