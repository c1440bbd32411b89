//! Phases with different rates in both directions.

use crate::common::{self, bed, learning, phase, unchanged};
use engine::Lane;
use engine::lane::back_to_sender;
use engine::overload::OverloadTraffic;
use engine::phase::{Phase, PhaseOutcome};
use engine::stage::Stage;
use engine::{Engine, NoDevice, Settings};
use method::{Direction, DirectionRatio, Load, Loop, Nanos, Order, Rate, TrialSpec, Trials};
use plane::view::{forwarding, nat44};
use std::sync::Arc;
use wire::View;

fn mixed(forward: u32, reverse: u32) -> Direction {
    Direction::Mixed(DirectionRatio::new(forward, reverse).unwrap())
}

/// Each frame returns to the lane that sent it.
fn lanes(n: usize, view: &View) -> Vec<Lane> {
    common::lanes((n, 16_384), 128, || back_to_sender(&view.expect_left), |left| left, |right| right)
}

fn stage(view: View, n: usize) -> Stage {
    let lanes = lanes(n, &view);
    common::stage(view, lanes)
}

fn counted(out: &PhaseOutcome) -> [(u64, u64, u64, u64); 2] {
    [&out.forward, &out.reverse].map(|leg| (leg.planned, leg.sent, leg.received, leg.faults.total()))
}

#[test]
fn every_frame_of_a_mix_is_counted_in_its_direction() {
    for n in 1..=3 {
        let mut stage = stage(forwarding(&bed(64)), n);
        for (direction, forward, reverse) in
            [(mixed(1, 10), 700, 7_009), (mixed(10, 1), 7_009, 700), (mixed(3, 7), 3_003, 7_009)]
        {
            let out = stage.run(&Phase { rate: Rate(1_000_003), ..phase(7_009, direction) }).unwrap();
            assert_eq!(counted(&out), [(forward, forward, forward, 0), (reverse, reverse, reverse, 0)]);
        }
    }
}

#[test]
fn a_direction_may_have_fewer_frames_than_senders() {
    let mut stage = stage(forwarding(&bed(64)), 3);
    let out = stage.run(&phase(10, mixed(1, 10))).unwrap();
    assert_eq!(counted(&out), [(1, 1, 1, 0), (10, 10, 10, 0)]);
    let out = stage.run(&phase(9, mixed(1, 10))).unwrap();
    assert_eq!(counted(&out), [(0, 0, 0, 0), (9, 9, 9, 0)]);
}

/// The last of 100 frames at 10 per second is due with the last of 1,000 at 100.
#[test]
fn both_directions_last_equally_long() {
    let mut stage = stage(forwarding(&bed(64)), 1);
    let out = stage.run(&Phase { rate: Rate(10_000), ..phase(1_000, mixed(1, 10)) }).unwrap();
    assert!(out.forward.send_time >= Nanos::from_millis(99), "{:?}", out.forward.send_time);
    assert!(out.reverse.send_time >= Nanos(99_900_000), "{:?}", out.reverse.send_time);
}

#[test]
fn a_mix_uses_the_connections_of_phase_1() {
    let bed = bed(64);
    let mut stage = stage(nat44(&bed, unchanged(&bed)), 2);
    assert_eq!(stage.run(&learning()).unwrap().learned, 10_000);
    let out = stage.run(&phase(5_005, mixed(10, 1))).unwrap();
    assert_eq!(counted(&out), [(5_005, 5_005, 5_005, 0), (500, 500, 500, 0)]);
}

fn engine(view: &Arc<View>) -> Engine {
    let settings = Settings { dut_loop: Loop::Inline, ..common::settings() };
    common::engine(Arc::clone(view), lanes(1, view), NoDevice, settings)
}

#[test]
fn a_trial_sends_the_frames_of_its_specification() {
    let view = Arc::new(forwarding(&bed(64)));
    let spec =
        TrialSpec { direction: mixed(1, 10), ..TrialSpec::stateless(Rate(100_000), Load::For(Nanos::from_millis(50))) };
    let mut engine = engine(&view);
    // A sender that is descheduled for long gives up.
    let mut outcomes = (0..20).map(|_| engine.run(&spec).unwrap());
    let outcome = outcomes.find(|o| [&o.forward, &o.reverse].iter().all(|leg| leg.sent == leg.planned)).unwrap();
    assert_eq!([spec.frames_of(true), spec.frames_of(false)], [500, 5_000]);
    assert_eq!([outcome.forward.received, outcome.reverse.received], [500, 5_000]);
}

/// At most some bursts of 32 frames are ahead of the slower direction.
#[test]
fn phases_without_a_schedule_keep_the_ratio() {
    let view = Arc::new(forwarding(&bed(64)));
    let mut stage = stage(forwarding(&bed(64)), 1);
    for direction in [mixed(1, 10), mixed(10, 1)] {
        let fast = Phase { rate: Rate(1_000_000_000), ..phase(100_000_000, direction) };
        // A lane that gets no processor in this time sends nothing.
        let mut runs = (0..100).map(|_| stage.beside(&view, Nanos::from_millis(10), &fast).unwrap());
        let out = runs.find(|out| out.forward.sent > 0 && out.reverse.sent > 0).unwrap();
        let (slower, faster) =
            if direction == mixed(1, 10) { (&out.forward, &out.reverse) } else { (&out.reverse, &out.forward) };
        assert!(slower.sent * 10 <= faster.sent + 10 * 256, "{} and {}", slower.sent, faster.sent);
    }
    let offered = OverloadTraffic { view: Arc::clone(&view), direction: mixed(1, 10), responder_order: Order::Random };
    let mut engine = engine(&view);
    assert!((0..100).any(|_| engine.overload(&offered, Nanos::from_millis(10)).unwrap().0 > 0));
}
