//! The strict result of RFC 2544 beside the verdict, and its median (METHODOLOGY.md, validity).

use crate::validity::{FRAMES, perfect, spec};
use method::search::{Strict, StrictMedian};
use method::validity::lost_any;
use method::{Nanos, Rate, TrialOutcome};

/// RFC 2544 excuses nothing, but a trial that was not carried out shows nothing.
#[test]
fn strictly_a_lost_frame_is_a_loss_and_a_pass_a_pass() {
    let strictly = |change: fn(&mut TrialOutcome)| {
        let mut outcome = perfect();
        outcome.host.dut_stall = Nanos::from_secs(1);
        change(&mut outcome);
        lost_any(&spec(), &outcome)
    };
    assert_eq!(strictly(|_| ()), Some(false));
    assert_eq!(strictly(|o| o.forward.received -= 1), Some(true));
    assert_eq!(strictly(|o| (o.reverse.sent, o.reverse.received) = (FRAMES - 1, FRAMES - 1)), None);
    assert_eq!(strictly(|o| o.reverse.timing.finished_late = Nanos::from_secs(2)), None);
    assert_eq!(strictly(|o| o.host.tester_drops = 1), None);
    assert_eq!(strictly(|o| (o.host.tester_drops, o.reverse.received) = (1, FRAMES - 1)), None);
    assert_eq!(strictly(|o| (o.host.dut_stall, o.reverse.sent) = (Nanos(0), FRAMES - 1)), None);
    assert_eq!(strictly(|o| o.host.link_lost = true), None);
}

/// A search without a rate that passed is somewhere below its bound. If a valid trial passed there, nothing is known.
#[test]
fn the_median_of_strict_results_is_less_where_a_bound_may_move_it() {
    let of_passed = |all: &[(u64, u64, u64)]| {
        let strict = |&(rate, below, passed): &(u64, u64, u64)| {
            let below = (below > 0).then_some(Rate(below));
            (Strict { rate: Rate(rate), below, decided: true }, Rate(passed))
        };
        StrictMedian::of(all.iter().map(strict)).map(|found| (found.median, found.is_less))
    };
    let median =
        |all: &[(u64, u64)]| of_passed(&all.iter().map(|&(rate, below)| (rate, below, rate)).collect::<Vec<_>>());
    assert_eq!((median(&[]), median(&[(0, 0)])), (None, None));
    assert_eq!(median(&[(0, 9)]), Some((9.0, true)));
    assert_eq!(median(&[(7, 9), (0, 0)]), Some((7.0, false)));
    assert_eq!(median(&[(0, 2), (5, 9), (6, 9)]), Some((5.0, false)));
    assert_eq!(median(&[(4, 9), (5, 9), (0, 8)]), Some((5.0, true)));
    assert_eq!(median(&[(6, 9), (0, 4)]), Some((5.0, true)));
    assert_eq!((of_passed(&[(0, 9, 9)]), of_passed(&[(0, 8, 9)])), (None, None));
    assert_eq!(of_passed(&[(5, 9, 9), (6, 9, 9), (0, 8, 9)]), None);
    assert_eq!(of_passed(&[(0, 2, 9), (5, 9, 9), (6, 9, 9)]), Some((5.0, false)));
}
