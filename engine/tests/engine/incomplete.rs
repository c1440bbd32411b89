//! Trials in which not all frames were sent, or a link was down.

use crate::common::{of_inner, on_a_cable, stateless};
use method::validity::Invalid;
use method::{Criteria, TrialOutcome, Trials, Verdict, judge};
use port::link::LinkPort;
use port::{Burst, Counters, Pool, Port, PortError, Sent};
use std::collections::VecDeque;

/// Takes so many frames, and tells in each reading whether its link was lost.
struct Faulty {
    inner: LinkPort,
    takes: usize,
    link_lost: VecDeque<bool>,
}

impl Port for Faulty {
    of_inner!(receive facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        if self.takes < burst.len() {
            return Ok(Sent::default());
        }
        self.takes -= burst.len();
        self.inner.transmit(pool, burst)
    }
    fn counters(&mut self) -> Counters {
        Counters { link_lost: self.link_lost.pop_front().unwrap_or(false), ..self.inner.counters() }
    }
}

/// 10,000 frames a direction, with this port on the left.
fn trial(takes: usize, link_lost: &[bool]) -> (TrialOutcome, Verdict) {
    let link_lost: VecDeque<bool> = link_lost.iter().copied().collect();
    let mut engine = on_a_cable(1, |inner| Faulty { inner, takes, link_lost: link_lost.clone() }, |right| right);
    let spec = stateless(10_000);
    let outcome = engine.run(&spec).unwrap();
    let verdict = judge(&spec, &outcome, &Criteria::default());
    (outcome, verdict)
}

#[test]
fn a_port_that_gets_stuck_makes_the_trial_invalid() {
    for takes in [0, 2_048] {
        let (outcome, verdict) = trial(takes, &[]);
        assert!(outcome.forward.sent <= takes as u64, "{outcome:?}");
        assert!(matches!(verdict, Verdict::Invalid(_)), "{verdict:?}");
    }
}

/// The last reading is after the trial.
#[test]
fn a_link_that_is_down_when_a_trial_begins_is_lost() {
    for readings in [[true, true, false], [false, true, false], [false, false, true]] {
        assert_eq!(trial(20_000, &readings).1, Verdict::Invalid(Invalid::LinkLost), "{readings:?}");
    }
    let (outcome, verdict) = trial(20_000, &[true, false, false]);
    assert!(!outcome.host.link_lost, "the link was up again before the trial: {verdict:?}");
}
