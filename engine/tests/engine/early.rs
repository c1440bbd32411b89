//! Trials that end early.

use crate::common::{of_inner, on_a_cable};
use method::trial::EarlyEnd;
use method::{Criteria, Load, Nanos, Rate, Ratio, TrialOptions, TrialOutcome, TrialSpec, Trials, Verdict, judge};
use port::link::LinkPort;
use port::{Burst, Pool, Port, PortError, Sent};

struct Loses {
    inner: LinkPort,
    passes: usize,
}

impl Port for Loses {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        if self.passes > 0 {
            self.passes = self.passes.saturating_sub(burst.len());
            return self.inner.transmit(pool, burst);
        }
        let accepted = burst.len();
        pool.free_all(burst);
        Ok(Sent { accepted, refused: 0 })
    }
}

/// Two seconds on a cable that loses every frame from Left to Right after these.
fn trial(passes: usize, early_end: bool, lanes: usize) -> (TrialSpec, TrialOutcome) {
    let mut engine = on_a_cable(lanes, |inner| Loses { inner, passes }, |right| right);
    let option = EarlyEnd { acceptance: Ratio::ONE };
    let spec = TrialSpec {
        options: TrialOptions { early_end: early_end.then_some(option), ..TrialOptions::default() },
        ..TrialSpec::stateless(Rate(20_000), Load::For(Nanos::from_secs(2)))
    };
    let outcome = engine.run(&spec).unwrap();
    (spec, outcome)
}

#[test]
fn a_hopeless_trial_ends_soon_and_fails() {
    for lanes in [1, 2] {
        let (spec, outcome) = trial(0, true, lanes);
        let ended = outcome.observed.ended_early.expect("it lost every frame");
        // 100 ms of frames may be on their way.
        assert!(ended >= Nanos::from_millis(99) && ended < Nanos::from_millis(1_500), "{ended:?}");
        for leg in [&outcome.forward, &outcome.reverse] {
            assert_eq!(leg.planned, 40_000);
            assert!(leg.sent < 35_000 && leg.send_time < Nanos::from_millis(1_600), "{leg:?}");
        }
        assert_eq!((outcome.forward.received, outcome.reverse.received), (0, outcome.reverse.sent));
        let verdict = judge(&spec, &outcome, &Criteria::default());
        assert!(!matches!(verdict, Verdict::Pass), "{verdict}");
    }
}

#[test]
fn a_trial_without_loss_or_without_the_option_has_its_full_length() {
    for (passes, early_end) in [(usize::MAX, true), (0, false)] {
        let outcome = trial(passes, early_end, 1).1;
        assert_eq!((outcome.observed.ended_early, outcome.forward.sent, outcome.reverse.sent), (None, 40_000, 40_000));
    }
}
