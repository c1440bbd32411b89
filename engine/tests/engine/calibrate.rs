//! The calibration is complete and detects faults; figures depend on the machine.

use crate::common::{bed, pool, unchanged};
use engine::calibrate::{CalibrateError, CalibrationSettings, Ends, basics, ceiling, latency};
use method::{Direction, Nanos, Order, TrialError};
use plane::view::{forwarding, nat44};
use port::Clock;
use port::link::{Steer, link};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::{AddrRange, OuterRange, View};

const SHORT: Nanos = Nanos::from_millis(2);

fn how() -> CalibrationSettings {
    CalibrationSettings {
        clock: Clock::system(),
        cores: vec![None],
        direction: Direction::Both,
        responder_order: Order::Random,
        responder_table: method::ResponderTable::Keep,
        per_run: SHORT,
        popularity: method::Popularity::Uniform,
        interrupted: Arc::default(),
    }
}

fn measured(view: View) -> Result<engine::calibrate::Ceiling, CalibrateError> {
    ceiling(&how(), &Arc::new(view), None)
}

fn cable() -> Ends {
    let (mut left, mut right) = link("cable", Clock::system(), 1024, (1, Steer::First), (1, Steer::First));
    Ends { pool: pool(), left: Box::new(left.remove(0)), right: Box::new(right.remove(0)) }
}

#[test]
fn the_table_is_filled_over_another_cable_too() {
    let bed = bed(64);
    let found = ceiling(&how(), &Arc::new(nat44(&bed, unchanged(&bed))), Some(cable())).unwrap();
    assert!(found.set_up.is_some_and(|rate| rate.0 > 0) && found.frames.0 > 0, "{found:?}");
    let found = ceiling(&how(), &Arc::new(forwarding(&bed)), Some(cable())).unwrap();
    assert!(found.set_up.is_none() && found.frames.0 > 0, "{found:?}");
}

#[test]
fn an_interrupt_ends_it() {
    let how = CalibrationSettings { interrupted: Arc::new(true.into()), ..how() };
    let error = ceiling(&how, &Arc::new(forwarding(&bed(64))), None).unwrap_err();
    assert!(matches!(error, CalibrateError::Trial(TrialError::Interrupted)), "{error}");
}

#[test]
fn a_table_is_filled_and_used() {
    let bed = bed(64);
    let found = measured(nat44(&bed, unchanged(&bed))).unwrap();
    assert!(found.set_up.is_some_and(|rate| rate.0 > 0) && found.frames.0 > 0, "{found:?}");
    assert!(found.send_ps > 0 && found.receive_ps > 0, "{found:?}");
}

#[test]
fn several_lanes_fill_one_table() {
    let bed = bed(64);
    let three = CalibrationSettings { cores: vec![None; 3], ..how() };
    let found = ceiling(&three, &Arc::new(nat44(&bed, unchanged(&bed))), None).unwrap();
    assert!(found.set_up.is_some_and(|rate| rate.0 > 0) && found.frames.0 > 0, "{found:?}");
}

#[test]
fn without_a_table_nothing_is_set_up() {
    let found = measured(forwarding(&bed(64))).unwrap();
    assert!(found.set_up.is_none() && found.frames.0 > 0, "{found:?}");
}

/// The view expects translated addresses, which a cable never delivers.
#[test]
fn a_loop_that_gives_back_wrong_frames_is_an_error() {
    let bed = bed(64);
    let elsewhere = OuterRange { addrs: AddrRange::one([203, 0, 113, 1].into()), ports: bed.flows.inside_ports() };
    let error = measured(nat44(&bed, elsewhere)).unwrap_err();
    assert!(matches!(error, CalibrateError::Loop { sent: 10_000, received: 0, .. }), "{error}");
}

#[test]
fn latency_grows_by_the_delay_of_what_lies_between() {
    let (clock, view, mut pool) = (Clock::system(), forwarding(&bed(64)), pool());
    let floor = basics(clock, None, &view).unwrap().latency_floor_ns;
    let (mut left, mut right) = link("cable", clock, 8, (1, Steer::First), (1, Steer::First));
    let delay = Duration::from_micros(200);
    let mut wait = || {
        let start = Instant::now();
        while start.elapsed() < delay {}
    };
    let found = latency(clock, &view, (&mut left[0], &mut right[0]), &mut pool, &mut wait).unwrap();
    // On a busy machine some frames take longer, but not all.
    let fastest = floor.min(1_000) + 200_000 - 1_000;
    assert!(found.median >= found.least && (fastest..300_000).contains(&found.least), "{found:?}, floor {floor} ns");
}
