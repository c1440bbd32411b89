//! Results of several lanes and senders add up to those of one.

use crate::common::{self, Hub, Queue, bed, lane, learning, phase, pool, stage, unchanged};
use engine::Lane;
use engine::lane::back_to_sender;
use engine::phase::{Phase, PhaseOutcome};
use method::{Direction, Fault, Nanos, Rate};
use plane::view::{forwarding, nat44};
use port::link::Steer;
use port::{Burst, Counters, Pool, PoolConfig, Port, PortError, PortFacts, Sent};
use std::sync::Arc;
use wire::FramePurpose;

fn lanes(n: usize) -> Vec<Lane> {
    steered(n, || Steer::Hash(vec![(34, 4)]))
}

fn steered(n: usize, steer: impl Fn() -> Steer) -> Vec<Lane> {
    common::lanes((n, 8192), 128, steer, |left| left, |right| right)
}

fn complete(out: &PhaseOutcome, forward: u64, reverse: u64) {
    for (leg, frames) in [(&out.forward, forward), (&out.reverse, reverse)] {
        assert_eq!((leg.planned, leg.sent, leg.received), (frames, frames, frames), "{:?}", leg.faults);
        assert_eq!((leg.refused, leg.faults.total()), (0, 0));
    }
}

#[test]
fn several_senders_share_a_phase_without_rest() {
    for n in 1..=3 {
        let mut stage = stage(forwarding(&bed(64)), lanes(n));
        // Shares of frames and of the rate differ.
        let odd = Phase { rate: Rate(1_000_003), ..phase(7001, Direction::Both) };
        complete(&stage.run(&odd).unwrap(), 7001, 7001);
        complete(&stage.run(&phase(501, Direction::Forward)).unwrap(), 501, 0);
        complete(&stage.run(&phase(502, Direction::Reverse)).unwrap(), 0, 502);
    }
}

/// As many as its share, and in order.
#[test]
fn what_a_lane_has_sent_comes_back_to_it() {
    let view = forwarding(&bed(64));
    let lanes = steered(3, || back_to_sender(&view.expect_left));
    let mut stage = stage(view, lanes);
    let out = stage.run(&phase(6000, Direction::Both)).unwrap();
    complete(&out, 6000, 6000);
    assert_eq!((out.forward.reordered, out.reverse.reordered), (0, 0));
    for mut lane in stage.exchange(Vec::new()) {
        let received = [&mut lane.left, &mut lane.right].map(|p| p.as_mut().unwrap().counters().received);
        assert_eq!(received, [2000, 2000]);
    }
    assert_eq!((out.forward.arrived, out.reverse.arrived), (vec![2000; 3], vec![2000; 3]));
}

/// More senders than frames per second, and than frames.
#[test]
fn a_rate_below_the_number_of_senders_ends() {
    let mut stage = stage(forwarding(&bed(64)), lanes(3));
    let slow = Phase { rate: Rate(2), drain: Nanos::from_millis(1), ..phase(1, Direction::Both) };
    complete(&stage.run(&slow).unwrap(), 1, 1);
    let (rate, out) = (Rate(100), |out: PhaseOutcome| out.forward.send_time);
    let four = stage.run(&Phase { rate, ..phase(4, Direction::Forward) }).unwrap();
    complete(&four, 4, 0);
    // The last of four frames at 100 per second is due after 30 ms.
    assert!(out(four) >= Nanos::from_millis(30));
}

#[test]
fn all_lanes_together_learn_every_connection_once() {
    for n in 1..=2 {
        let bed = bed(64);
        let mut stage = stage(nat44(&bed, unchanged(&bed)), lanes(n));
        let out = stage.run(&learning()).unwrap();
        complete(&out, 10_000, 0);
        assert_eq!(out.learned, 10_000);
        complete(&stage.run(&phase(5000, Direction::Both)).unwrap(), 5000, 5000);
        let validation = Phase { kind: FramePurpose::Validate, ..phase(10_000, Direction::Reverse) };
        complete(&stage.run(&validation).unwrap(), 0, 10_000);
    }
}

/// One right frame and one duplicate.
#[test]
fn a_frame_at_two_receivers_counts_once() {
    let rights: Vec<Queue> = vec![Queue::default(), Queue::default()];
    // Even if a lane is preempted for long, it receives what its queue holds.
    let facts = PortFacts { own_queue: 1001, ..PortFacts::default() };
    let pools = Pool::for_workers(PoolConfig::compact(2, 256, 60)).unwrap();
    let lanes = pools.into_iter().zip(&rights).map(|(pool, own)| {
        let left = Hub { own: Queue::default(), others: rights.clone(), facts: facts.clone() };
        lane(pool, left, Hub { own: Arc::clone(own), others: Vec::new(), facts: facts.clone() })
    });
    let out = stage(forwarding(&bed(64)), lanes.collect()).run(&phase(1001, Direction::Forward)).unwrap();
    assert_eq!((out.forward.sent, out.forward.received), (1001, 1001));
    assert_eq!((out.forward.faults.get(Fault::Duplicate), out.forward.faults.total()), (1001, 1001));
    assert_eq!(out.forward.arrived, [1001, 1001]);
}

/// An unknown queue depth is not 0.
#[test]
fn the_shortest_known_queue_counts() {
    let queues = |left: [usize; 2], right: [usize; 2]| {
        let facts = |[dut_queue, own_queue]: [usize; 2]| PortFacts { dut_queue, own_queue, ..PortFacts::default() };
        let far = Queue::default();
        let left = Hub { own: Queue::default(), others: vec![Arc::clone(&far)], facts: facts(left) };
        let lane = lane(pool(), left, Hub { own: far, others: Vec::new(), facts: facts(right) });
        let short = Phase { drain: Nanos::from_millis(1), ..phase(1, Direction::Forward) };
        let host = stage(forwarding(&bed(64)), vec![lane]).run(&short).unwrap().host;
        (host.queue_lasts, host.dut_queue)
    };
    // At 1 Mfps a queue absorbs one microsecond per frame.
    assert_eq!(queues([1000, 512], [1000, 512]), (Some(Nanos(512_000)), Some(1000)));
    assert_eq!(queues([0, 512], [1000, 0]), (Some(Nanos(512_000)), None));
    assert_eq!(queues([0, 0], [0, 0]), (None, None));
}

#[test]
fn the_queues_of_several_lanes_absorb_longer_stalls() {
    let host = |n| stage(forwarding(&bed(64)), lanes(n)).run(&phase(100, Direction::Both)).unwrap().host;
    let [one, two] = [1, 2].map(host);
    assert_eq!((one.queue_lasts, one.dut_queue), (Some(Nanos(8_192_000)), Some(8192)));
    assert_eq!((two.queue_lasts, two.dut_queue), (Some(Nanos(16_384_000)), Some(8192)));
}

struct Breaks;

impl Port for Breaks {
    fn receive(&mut self, _: &mut Pool, _: &mut Burst) -> Result<usize, PortError> {
        panic!("a fault in a port")
    }
    fn transmit(&mut self, _: &mut Pool, _: &mut Burst) -> Result<Sent, PortError> {
        Ok(Sent::default())
    }
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
    fn facts(&self) -> PortFacts {
        PortFacts::default()
    }
}

/// They have frames to send for an hour.
#[test]
#[should_panic(expected = "a lane panicked")]
fn a_lane_that_panics_ends_the_others() {
    let mut lanes = lanes(2);
    lanes[1].right = Some(Box::new(Breaks));
    let slow = Phase { rate: Rate(1), ..phase(3_600, Direction::Forward) };
    let _ = stage(forwarding(&bed(64)), lanes).run(&slow);
}
