//! The sender with simulated times.

use crate::common::{Hand, bed, outer, pool};
use engine::StateTable;
use engine::indices::Indices;
use engine::schedule::Departures;
use engine::sender::{LaterSchedule, Sender, SenderPlan};
use method::{Order, Rate};
use plane::view::{forwarding, nat44};
use port::{BATCH, Clock};
use wire::{FramePurpose, Tag, Values, View};

/// Origin of the test's times, in nanoseconds.
const START: u64 = 1_000_000;
const NEVER: u64 = u64::MAX;

fn plan(view: &View, rate: u64, frames: u64) -> SenderPlan<'_> {
    let tag = Tag { trial: 9, stream: Tag::stream(FramePurpose::Data, false), sender: 1, sequence: 0, index: 0 };
    SenderPlan {
        view,
        template: &view.left,
        outer: None,
        growth: 0,
        departures: Departures::new(START, 1_000_000_000, Rate(rate), frames),
        indices: Indices::new(Order::RoundRobin, view.connections(), 0, 0, 1),
        tag,
    }
}

fn sender(view: &View, rate: u64, frames: u64, give_up: u64) -> Sender<'_> {
    Sender::new(plan(view, rate, frames), Clock::system(), give_up)
}

#[test]
fn frames_leave_when_they_are_due_and_not_before() {
    let view = forwarding(&bed(64));
    let mut s = sender(&view, 500_000, 5, NEVER);
    let (mut port, mut pool) = (Hand::default(), pool());
    let mut counts = Vec::new();
    for now in [START - 1, START, START + 1999, START + 2000, START + 7999, START + 8000, START + 9000] {
        let more = s.poll(now, &mut port, &mut pool).unwrap();
        counts.push((port.sent.len(), more));
    }
    assert_eq!(counts, [(0, true), (1, true), (1, true), (2, true), (4, true), (5, false), (5, false)]);
    let leg = s.finish(&mut pool);
    assert_eq!((leg.planned, leg.sent, leg.refused), (5, 5, 0));
    // Frames 3 and 4 left together, the first of them 3.999 µs late.
    assert_eq!((leg.timing.catch_ups, leg.timing.worst_burst, leg.timing.worst_late.0), (1, 2, 3999));
    assert_eq!(pool.available(), 256);
}

/// The first parts of a slow ramp have no frame.
#[test]
fn a_schedule_without_frames_does_not_end_the_sender() {
    let view = forwarding(&bed(64));
    let later = [(1_000, 0), (2_000, 0), (3_000, 2)].map(|(after, frames)| LaterSchedule {
        after,
        departures: Departures::new(START, 1_000_000_000, Rate(500_000), frames),
        flows: view.connections(),
    });
    let mut s = sender(&view, 500_000, 0, NEVER).then(later.into());
    s.start_at(START);
    let (mut port, mut pool) = (Hand::default(), pool());
    let more = [0, 1_000, 2_000, 3_000, 5_000].map(|now| s.poll(START + now, &mut port, &mut pool).unwrap());
    assert_eq!((more, port.sent.len()), ([true, true, true, true, false], 2));
    let leg = s.finish(&mut pool);
    assert_eq!((leg.planned, leg.sent), (2, 2));
}

#[test]
fn the_declared_burst_is_no_catch_up_burst() {
    let view = forwarding(&bed(64));
    let mut s = sender(&view, 20_000_000, 100, NEVER);
    let (mut port, mut pool) = (Hand::default(), pool());
    // At 20 Mfps bursts of 20 are due each microsecond.
    for k in 0..5 {
        s.poll(START + 1000 * k, &mut port, &mut pool).unwrap();
        assert_eq!(port.sent.len() as u64, 20 * (k + 1));
    }
    let t = s.finish(&mut pool).timing;
    assert_eq!((t.burst, t.worst_burst, t.catch_ups), (20, 20, 0));
}

#[test]
fn a_late_sender_sends_at_most_a_burst_at_a_time_and_gives_up_in_the_end() {
    let view = forwarding(&bed(64));
    let mut s = sender(&view, 1_000_000, 1000, 500_000);
    let (mut port, mut pool) = (Hand::default(), pool());
    assert!(s.poll(START + 400_000, &mut port, &mut pool).unwrap());
    assert_eq!(port.sent.len(), BATCH);
    assert!(!s.poll(START + 600_000, &mut port, &mut pool).unwrap());
    let leg = s.finish(&mut pool);
    assert_eq!((leg.planned, leg.sent), (1000, BATCH as u64));
    assert!(leg.timing.finished_late.0 >= 500_000);
}

/// No frame leaves before the first of its burst is due; lateness depends on the machine.
#[test]
fn no_frame_leaves_early_on_the_real_clock() {
    let (view, clock) = (forwarding(&bed(64)), Clock::system());
    for (rate, which, of) in [(300_000, 0, 1), (2_000_000, 0, 1), (2_000_001, 2, 3), (40_000_000, 0, 1)] {
        let departures = Departures::shared(clock.now() + 10_000, clock.frequency(), Rate(rate), 2999, (which, of));
        let plan = SenderPlan { departures, ..plan(&view, 1, 1) };
        let mut s = Sender::new(plan, clock, NEVER);
        let (mut port, mut pool) = (Hand::default(), pool());
        while s.poll(clock.now(), &mut port, &mut pool).unwrap() {}
        let leg = s.finish(&mut pool);
        assert_eq!(
            (leg.sent, leg.planned, port.sent.len() as u64),
            (departures.frames(), departures.frames(), leg.sent)
        );
        let burst = u64::from(departures.burst());
        for (k, (sent, &at)) in (0..).zip(port.sent.iter().zip(&port.times)) {
            let early = departures.due(k / burst * burst).saturating_sub(at);
            assert_eq!(early, 0, "frame {k} of sender {which} of {of} at {rate}/s");
            assert_eq!(Tag::read(sent, wire::Template::TAG_AT).unwrap().sequence, k);
        }
        assert!(leg.timing.burst == departures.burst() && leg.timing.worst_burst >= leg.timing.burst);
    }
}

/// Over bursts of all sizes, whether the port accepts or refuses frames.
#[test]
fn every_frame_is_the_one_that_is_next() {
    let view = forwarding(&bed(128));
    let mut s = sender(&view, 1_000_000, 200, NEVER);
    let (mut port, mut pool) = (Hand::default(), pool());
    let mut now = START;
    for k in 0.. {
        // The port sometimes leaves frames with the caller.
        port.limits = (k % 3 > 0).then_some((k % 7, 0));
        now += 1000 * (k as u64 % 50);
        if !s.poll(now, &mut port, &mut pool).unwrap() {
            break;
        }
    }
    assert_eq!(port.sent.len(), 200);
    let mut right = vec![0; view.left.len()];
    for (k, sent) in port.sent.iter().enumerate() {
        let tag = Tag {
            trial: 9,
            stream: Tag::stream(FramePurpose::Data, false),
            sender: 1,
            sequence: k as u64,
            index: k as u32,
        };
        view.left.write(&mut right, &Values::of(view.flows.flow(view.order.get(tag.index))), &tag);
        assert_eq!(*sent, right, "frame {k}");
    }
    assert_eq!((s.finish(&mut pool).sent, pool.available()), (200, 256));
}

#[test]
fn refused_frames_are_sent_and_lost() {
    let view = forwarding(&bed(64));
    let mut s = sender(&view, 1_000_000, 64, NEVER);
    let (mut port, mut pool) = (Hand { limits: Some((20, 12)), ..Hand::default() }, pool());
    while s.poll(START + 1_000_000, &mut port, &mut pool).unwrap() {}
    let leg = s.finish(&mut pool);
    assert_eq!((leg.sent, leg.refused, port.sent.len()), (64, 24, 40));
}

#[test]
fn an_empty_pool_makes_the_sender_late_and_nothing_else() {
    let view = forwarding(&bed(64));
    let mut s = sender(&view, 1_000_000, 10, NEVER);
    let (mut port, mut pool) = (Hand::default(), pool());
    let mut held = port::burst();
    pool.alloc_burst(256, 60, &mut held);
    assert!(s.poll(START + 20_000, &mut port, &mut pool).unwrap());
    assert_eq!(port.sent.len(), 0);
    pool.free_all(&mut held);
    assert!(!s.poll(START + 30_000, &mut port, &mut pool).unwrap());
    let leg = s.finish(&mut pool);
    assert_eq!((leg.sent, leg.timing.worst_late.0), (10, 30_000));
}

#[test]
fn the_responder_sends_to_what_it_learned() {
    let view = nat44(&bed(64), outer());
    let store = StateTable::new(view.connections()).unwrap();
    (0..10_000).for_each(|i| assert!(!store.learn(i, 4, 0xc613_0001, 1024 + i as u16)));
    let plan = SenderPlan {
        view: &view,
        template: &view.right,
        outer: Some((&store, 4)),
        growth: 0,
        departures: Departures::new(START, 1_000_000_000, Rate(1_000_000), 100),
        indices: Indices::new(Order::Random, view.connections(), 3, 0, 1),
        tag: Tag { trial: 9, stream: Tag::stream(FramePurpose::Data, true), sender: 0, sequence: 0, index: 0 },
    };
    let mut s = Sender::new(plan, Clock::system(), NEVER);
    let (mut port, mut pool) = (Hand::default(), pool());
    while s.poll(START + 1_000_000, &mut port, &mut pool).unwrap() {}
    for sent in &port.sent {
        let tag = Tag::read(sent, wire::Template::TAG_AT).unwrap();
        let port = u16::from_be_bytes([sent[36], sent[37]]);
        assert_eq!((&sent[30..34], port), (&[198, 19, 0, 1][..], 1024 + tag.index as u16));
    }
    assert_eq!(port.sent.len(), 100);
}
