//! Delays and losses on a cable where they are known.

use crate::common::{self, bed, lanes, of_inner, phase};
use engine::lane::back_to_sender;
use engine::observe::Extra;
use engine::phase::Phase;
use engine::stage::Stage;
use method::trial::{Piece, RateStep, Stamps};
use method::{Direction, Nanos, Rate, Ratio};
use plane::view::forwarding;
use port::link::LinkPort;
use port::{Burst, Clock, Pool, Port, PortError, PortFacts};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use wire::Tag;

const DELAY: Nanos = Nanos(5_000_000);

/// Delays frames, and loses those with these numbers.
struct Late {
    inner: LinkPort,
    received: u64,
    lost: Range<u64>,
    seen: Arc<Mutex<Vec<Tag>>>,
    tag_at: usize,
}

impl Port for Late {
    of_inner!(transmit counters);
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let before = into.len();
        self.inner.receive(pool, into)?;
        let mut kept = Burst::new();
        for mut frame in into.drain(before..) {
            frame.stamp += Clock::system().ticks(DELAY.0);
            self.received += 1;
            self.seen.lock().unwrap().extend(Tag::read(frame.bytes(), self.tag_at));
            if self.lost.contains(&(self.received - 1)) {
                pool.free(frame);
            } else {
                kept.push(frame);
            }
        }
        into.append(&mut kept);
        Ok(into.len() - before)
    }
    fn facts(&self) -> PortFacts {
        PortFacts { stamped_by_kernel: true, ..self.inner.facts() }
    }
}

fn stage(n: usize, lost: &Range<u64>) -> Stage {
    watched(n, lost).0
}

fn watched(n: usize, lost: &Range<u64>) -> (Stage, Arc<Mutex<Vec<Tag>>>) {
    let tags: Arc<Mutex<Vec<Tag>>> = Arc::default();
    let view = forwarding(&bed(64));
    let tag_at = view.expect_left.tag_at();
    let late = |inner| Late { inner, received: 0, lost: lost.clone(), seen: Arc::clone(&tags), tag_at };
    let lanes = lanes((n, 16_384), 128, || back_to_sender(&view.expect_left), late, late);
    (common::stage(view, lanes), tags)
}

#[test]
fn every_frame_has_its_delay() {
    for n in 1..=2 {
        let extra =
            Extra { stamps: Some((Stamps::All { timeout: Some(Nanos(0)) }, Nanos::from_secs(9))), ..Extra::default() };
        let out = stage(n, &(0..0)).run_with(&phase(5_000, Direction::Both), &extra).unwrap();
        for (_, delays) in out.observed.delays.iter() {
            assert_eq!((delays.frames, delays.lost, delays.late), (5_000, 0, 5_000));
            assert!(delays.min >= DELAY && delays.min <= delays.median && delays.median <= delays.p99_9);
            // A busy machine makes frames late, but not all of them.
            assert!(delays.min.0 < DELAY.0 + 3_000_000, "{:?}", delays.min);
            let d = delays.differences.unwrap();
            assert!(d.min <= d.median && d.median <= d.max);
            assert_eq!(delays.histogram.iter().map(|bucket| bucket.1).sum::<u64>(), 5_000);
            assert_eq!(delays.source, "kernel");
        }
        assert_eq!(out.observed.delays.iter().count(), 2);
        assert!(out.observed.losses.is_empty());
    }
}

#[test]
fn tagged_frames_are_spread_over_the_rest_of_the_trial() {
    let some = Stamps::Some { frames: 500, from: Nanos::from_millis(1) };
    let extra = Extra { stamps: Some((some, Nanos::from_secs(9))), ..Extra::default() };
    // Frames 1,000, 1,008, …, 4,992, the half from 3,000 on lost.
    let out = stage(1, &(3_000..5_000)).run_with(&phase(5_000, Direction::Forward), &extra).unwrap();
    let delays = out.observed.delays.forward.unwrap();
    assert_eq!((delays.frames, delays.lost, delays.differences), (500, 250, None));
    assert_eq!((delays.p99_9, delays.late), (Nanos::from_secs(9), 0));
}

/// 3,000 frames in 3 ms, and 1,000 in 2 ms at half the rate.
#[test]
fn losses_have_their_due_times_at_both_rates() {
    for (n, lost, times) in [(1, 2_990..3_011, [2_990_000, 3_020_000]), (2, 1_495..1_500, [2_990_000, 2_999_000])] {
        let step = RateStep { at: Nanos::from_millis(3), to: Ratio::from_ppm(500_000) };
        let first = Piece { from: Nanos(0), before: 0, rate: Rate(1_000_000), seconds: 1, flows: None };
        let then = Piece { from: step.at, before: 3_000, rate: Rate(500_000), ..first };
        let extra = Extra { pieces: [first, then].into(), losses: true, ..Extra::default() };
        let spec = Phase { frames: 4_000, ..phase(0, Direction::Forward) };
        let out = stage(n, &lost).run_with(&spec, &extra).unwrap();
        assert_eq!((out.forward.planned, out.forward.sent), (4_000, 4_000));
        assert!(out.forward.send_time >= Nanos(4_998_000), "{:?}", out.forward.send_time);
        let losses = out.observed.losses.forward.unwrap();
        let all = (lost.end - lost.start) * n as u64;
        assert_eq!((losses.frames, [losses.first.0, losses.last.0]), (all, times));
    }
}

/// Four flows begin 1 ms apart at 1,000,000 frames/s of all: 250, 500 and 750 frames, and then 2,000 in 2 ms.
#[test]
fn flows_begin_one_after_the_other() {
    for n in [1, 2] {
        let share = |begun: u64, before| Piece {
            from: Nanos::from_millis(begun),
            before,
            rate: Rate(1_000_000 * (begun + 1)),
            seconds: 4,
            flows: Some(begun + 1),
        };
        let pieces = [share(0, 0), share(1, 250), share(2, 750), share(3, 1_500)].into();
        let spec = Phase { frames: 3_500, ..phase(0, Direction::Both) };
        let (mut stage, tags) = watched(n, &(0..0));
        let out = stage.run_with(&spec, &Extra { pieces, ..Extra::default() }).unwrap();
        // The indices of a batch are drawn before the one that is sent.
        let drawn = (port::BATCH * n) as u64;
        let most = |frames: Range<u64>| {
            let is_in = |tag: &&Tag| frames.contains(&(tag.sequence * n as u64 + u64::from(tag.sender)));
            tags.lock().unwrap().iter().filter(is_in).map(|tag| tag.index).max()
        };
        let pieces = [0..250, 250 + drawn..750, 750 + drawn..1_500, 1_500 + drawn..3_500];
        assert_eq!(pieces.map(most), [Some(0), Some(1), Some(2), Some(3)]);
        for leg in [&out.forward, &out.reverse] {
            assert_eq!((leg.planned, leg.sent, leg.received), (3_500, 3_500, 3_500));
            assert!(leg.send_time >= Nanos(4_990_000), "{:?}", leg.send_time);
        }
    }
}
