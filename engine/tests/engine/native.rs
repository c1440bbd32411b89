//! Native frames beside those that the DUT translates.

use crate::common::{any_port, bed, cabled, of_inner, stateless, trial_spec};
use method::{Fault, NativeFrames, Rate, TrialOutcome, TrialSpec, Trials};
use plane::view::{Subscriber6, TranslatedEnds, forwarding, forwarding6, nat44};
use port::link::LinkPort;
use port::{Burst, Pool, Port, PortError, Sent};
use std::sync::{Arc, Mutex};
use wire::header::{TYPE_IPV6, be16};
use wire::{Background, Foreground, View};

/// Whether each frame that passed was native.
type Passed = Arc<Mutex<Vec<bool>>>;

/// Notes which frames it transmits, and changes some.
struct Spoils {
    inner: LinkPort,
    passed: Passed,
    /// Loses one of so many native frames.
    loses_native: usize,
    /// Loses one of so many other frames.
    loses_other: usize,
    /// The native frame with another source address.
    corrupts: Option<usize>,
}

impl Spoils {
    fn none(inner: LinkPort) -> Spoils {
        Spoils { inner, passed: Passed::default(), loses_native: 0, loses_other: 0, corrupts: None }
    }
}

fn is_native(frame: &[u8]) -> bool {
    be16(frame, 12) == TYPE_IPV6
}

impl Port for Spoils {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let mut passed = self.passed.lock().unwrap();
        let (mut kept, mut lost) = (port::burst(), 0);
        for mut frame in burst.drain(..) {
            let native = is_native(frame.bytes());
            passed.push(native);
            let number = passed.iter().filter(|kind| **kind == native).count();
            if native && self.corrupts == Some(number) {
                frame.bytes_mut()[25] ^= 1;
            }
            let every = if native { self.loses_native } else { self.loses_other };
            if every > 0 && number.is_multiple_of(every) {
                lost += 1;
                pool.free(frame);
            } else {
                kept.push(frame);
            }
        }
        let sent = self.inner.transmit(pool, &mut kept)?;
        assert!(kept.is_empty(), "the cable is long enough");
        Ok(Sent { accepted: sent.accepted + lost, ..sent })
    }
}

fn beside(view: View, ppm: u32) -> View {
    let subscribers = [Subscriber6 { address: 0x2001_0002 << 96 | 2 }];
    let remotes = [0x2001_0002_0000_8000 << 64 | 2];
    let native = forwarding6(&bed(64), &TranslatedEnds { subscribers: &subscribers, remotes: &remotes }).unwrap();
    view.beside(Some(Background { view: Box::new(native), foreground: Foreground::of_ppm(ppm) }))
}

fn run(view: View, lanes: usize, spec: &TrialSpec, left: impl FnMut(LinkPort) -> Spoils) -> TrialOutcome {
    let outcome = cabled(view, lanes, left, Spoils::none).run(spec).unwrap();
    let faults = outcome.forward.faults.total() + outcome.reverse.faults.total();
    assert_eq!(faults, outcome.forward.faults.get(Fault::WrongAddress), "{outcome:?}");
    outcome
}

#[test]
fn frame_i_is_foreground_if_i_mod_n_is_less_than_m() {
    for (ppm, m, n) in [(900_000, 9, 10), (500_000, 1, 2), (100_000, 1, 10)] {
        let passed = Passed::default();
        let left = |inner| Spoils { passed: Arc::clone(&passed), ..Spoils::none(inner) };
        let outcome = run(beside(forwarding(&bed(64)), ppm), 1, &stateless(2_000), left);
        let passed = passed.lock().unwrap();
        assert!(passed.iter().enumerate().all(|(i, native)| *native == (i % n >= m)), "{ppm} ppm");
        let all = 2_000 / n as u64 * (n - m) as u64;
        for leg in [&outcome.forward, &outcome.reverse] {
            assert_eq!((leg.received, leg.reordered), (2_000, 0));
            assert_eq!(leg.native, Some(NativeFrames { sent: all, received: all }));
        }
    }
}

#[test]
fn a_lost_frame_is_lost_of_its_kind() {
    // 1,000 frames of each kind.
    let left = |inner| Spoils { loses_native: 100, loses_other: 250, ..Spoils::none(inner) };
    let outcome = run(beside(forwarding(&bed(64)), 500_000), 1, &stateless(2_000), left);
    assert_eq!((outcome.forward.lost(), outcome.forward.lost_by_kind()), (14, Some([4, 10])));
    assert_eq!((outcome.reverse.lost(), outcome.reverse.lost_by_kind()), (0, Some([0, 0])));
}

#[test]
fn a_wrong_native_frame_is_a_fault_and_lost_as_native() {
    let left = |inner| Spoils { corrupts: Some(7), ..Spoils::none(inner) };
    let outcome = run(beside(forwarding(&bed(64)), 500_000), 1, &stateless(2_000), left);
    assert_eq!(outcome.forward.faults.get(Fault::WrongAddress), 1, "{outcome:?}");
    assert_eq!(outcome.forward.lost_by_kind(), Some([0, 1]));
}

#[test]
fn native_frames_are_no_connections() {
    let view = beside(nat44(&bed(64), any_port(&bed(64))), 500_000);
    let spec = TrialSpec { rate: Rate(100_000), phase1_rate: Some(Rate(100_000)), ..trial_spec(4_000) };
    let passed = Passed::default();
    let left = |inner| Spoils { passed: Arc::clone(&passed), ..Spoils::none(inner) };
    let mut engine = cabled(view, 1, left, Spoils::none);
    let outcome = engine.run(&spec).unwrap();
    assert_eq!(outcome.store.as_ref().unwrap().learned, 4_000);
    let passed = passed.lock().unwrap();
    assert!(passed[..4_000].iter().all(|native| !native));
    assert_eq!(passed[4_000..].iter().filter(|native| **native).count(), 1_000);
}

#[test]
fn kinds_are_counted_once_over_several_lanes() {
    let left = |inner| Spoils { loses_native: 100, loses_other: 250, ..Spoils::none(inner) };
    let outcome = run(beside(forwarding(&bed(64)), 500_000), 2, &stateless(2_000), left);
    assert_eq!(outcome.forward.lost_by_kind(), Some([4, 10]));
    assert_eq!(outcome.forward.received, 1_986);
}
