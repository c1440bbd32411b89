//! Frames of a warm-up pass the device before the trial, and none counts.

use crate::common::{of_inner, on_a_cable};
use method::trial::{PerDirection, WarmUp, WarmUpFrames};
use method::{Direction, Load, Nanos, PhaseKind, Rate, TrialOptions, TrialOutcome, TrialSpec, Trials};
use port::link::LinkPort;
use port::{Burst, Pool, Port, PortError, Sent};

/// Loses the first frames.
struct Cold {
    inner: LinkPort,
    loses: usize,
}

impl Port for Cold {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let lost = self.loses.min(burst.len());
        self.loses -= lost;
        burst.drain(..lost).for_each(|frame| pool.free(frame));
        let sent = self.inner.transmit(pool, burst)?;
        Ok(Sent { accepted: lost + sent.accepted, ..sent })
    }
}

/// 2,000 frames on a cable that loses the first 100 from Left.
fn trial(warm_up: Option<WarmUp>, direction: Direction) -> TrialOutcome {
    let mut engine = on_a_cable(1, |inner| Cold { inner, loses: 100 }, |right| right);
    let options = TrialOptions { warm_up, ..TrialOptions::default() };
    let stateless = TrialSpec { kind: PhaseKind::Stateless, phase1_rate: None, ..crate::common::trial_spec(0) };
    let spec = TrialSpec { rate: Rate(100_000), load: Load::Frames(2_000), direction, options, ..stateless };
    engine.run(&spec).unwrap()
}

#[test]
fn a_warm_up_takes_the_losses_of_a_cold_device() {
    let cold = trial(None, Direction::Both);
    assert_eq!((cold.forward.received, cold.reverse.received), (1_900, 2_000));
    assert!(method::is_default(&cold.observed));
    let warm_up = WarmUp { duration: Nanos::from_millis(10), rate: Some(Rate(50_000)) };
    let warm = trial(Some(warm_up), Direction::Both);
    assert_eq!((warm.forward.sent, warm.forward.received, warm.reverse.received), (2_000, 2_000, 2_000));
    assert_eq!(warm.forward.faults.total() + warm.reverse.faults.total(), 0);
    let (forward, reverse) = (WarmUpFrames { sent: 500, received: 400 }, WarmUpFrames { sent: 500, received: 500 });
    assert_eq!(warm.observed.warm_up, PerDirection { forward: Some(forward), reverse: Some(reverse) });
}

#[test]
fn a_warm_up_has_the_rate_and_directions_of_its_trial() {
    let warm_up = WarmUp { duration: Nanos::from_millis(10), rate: None };
    let warm = trial(Some(warm_up), Direction::Forward).observed.warm_up;
    assert_eq!(warm, PerDirection { forward: Some(WarmUpFrames { sent: 1_000, received: 900 }), reverse: None });
}
