//! The service gets frames without a tag during and between trials, and no counter contains them.

use crate::common::{
    self, Hand, Hub, Queue, bed, engine, of_inner, phase, pool, settings, stage, trial_spec, unchanged,
};
use engine::expected::JudgePlan;
use engine::judge::{Arrivals, Judge};
use engine::phase::Phase;
use engine::{Device, Lane, NoDevice, Service, ServiceVerdict};
use method::{Direction, Fault, Nanos, Order, PhaseKind, Rate, TrialError, TrialSpec, Trials};
use plane::view::{forwarding, nat44};
use port::{BATCH, Burst, Clock, Frame, Pool, PoolConfig, Port, PortError, PortFacts, Sent};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wire::{FramePurpose, Tag, Values, View};

const REQUEST: u8 = 1;
const ANSWER: u8 = 2;
const OTHER: u8 = 3;

fn untagged(kind: u8) -> Vec<u8> {
    vec![kind; 42]
}

fn service(sides: &Arc<Mutex<Vec<(bool, u8)>>>) -> Service {
    let sides = Arc::clone(sides);
    Box::new(move |left, frame: &mut Frame| {
        sides.lock().unwrap().push((left, frame.bytes()[0]));
        match frame.bytes()[0] {
            REQUEST => {
                assert!(frame.set_len(60));
                frame.bytes_mut().fill(ANSWER);
                ServiceVerdict::Answer
            }
            ANSWER => ServiceVerdict::Taken,
            _ => ServiceVerdict::Foreign,
        }
    })
}

const TRIAL: u16 = 7;

fn plan(view: &View) -> JudgePlan<'_> {
    JudgePlan::new(view, false, TRIAL, FramePurpose::Data)
}

/// Answers leave on the same port.
#[test]
fn a_judge_counts_only_what_the_service_refuses() {
    let view = forwarding(&bed(64));
    let frame = |trial: u16, sequence: u64| {
        let index = sequence as u32;
        let tag = Tag { trial, stream: Tag::stream(FramePurpose::Data, false), sender: 0, sequence, index };
        let mut bytes = vec![0; view.left.len()];
        view.left.write(&mut bytes, &Values::of(view.flows.flow(view.order.get(index))), &tag);
        bytes
    };
    let late = frame(TRIAL - 1, 1);
    let mut burst: Vec<Vec<u8>> = (0..BATCH as u64 - 7).map(|sequence| frame(TRIAL, sequence)).collect();
    for (at, other) in [(0, REQUEST), (3, ANSWER), (9, OTHER), (10, OTHER), (20, REQUEST)] {
        burst.insert(at, untagged(other));
    }
    burst.extend([late, untagged(REQUEST)]);
    assert_eq!(burst.len(), BATCH);
    for with_service in [true, false] {
        let sides = Arc::default();
        let service = Mutex::new(service(&sides));
        let mut seen = [Arrivals::default()];
        seen[0].reset(1000);
        let plan = plan(&view);
        let (mut port, mut pool) = (Hand { bursts: [burst.clone()].into(), ..Hand::default() }, pool());
        let mut judge = Judge::new(plan, Clock::system(), &mut seen);
        if with_service {
            judge = judge.beside(&service, true);
        }
        judge.poll(0, &mut port, &mut pool).unwrap();
        let findings = &judge.findings;
        assert_eq!((findings.received, findings.reordered), (BATCH as u64 - 7, 0));
        let faults = [Fault::Foreign, Fault::Late].map(|fault| findings.faults.get(fault));
        assert_eq!(pool.available(), 256, "every frame goes back to the pool");
        if with_service {
            assert_eq!((faults, findings.faults.total()), ([2, 1], 3));
            assert_eq!(port.sent, vec![vec![ANSWER; 60]; 3]);
            let kinds = [REQUEST, ANSWER, OTHER, OTHER, REQUEST, REQUEST];
            assert_eq!(*sides.lock().unwrap(), kinds.map(|kind| (true, kind)));
        } else {
            assert_eq!((faults, port.sent.len()), ([6, 1], 0));
        }
    }
}

/// A port that never takes an answer keeps no frame.
#[test]
fn an_answer_waits_for_a_port_but_not_for_ever() {
    let view = forwarding(&bed(64));
    for (limits, sent) in [(Some((1, 0)), 3), (Some((0, 0)), 0), (Some((1, 1)), 2)] {
        let service = Mutex::new(service(&Arc::default()));
        let plan = plan(&view);
        let bursts = [vec![untagged(REQUEST); 3]].into();
        let (mut port, mut pool) = (Hand { bursts, limits, ..Hand::default() }, pool());
        let mut judge = Judge::new(plan, Clock::system(), &mut []).beside(&service, false);
        judge.poll(0, &mut port, &mut pool).unwrap();
        assert_eq!((port.sent.len(), judge.findings.faults.total(), pool.available()), (sent, 0, 256));
    }
}

fn lane(queues: &[Queue; 2], service: Option<Service>) -> Lane {
    let [to_right, to_left] = queues.each_ref().map(Arc::clone);
    let pool = Pool::single(PoolConfig::compact(1, 1024, 128)).unwrap();
    let facts = PortFacts { own_queue: 4096, ..PortFacts::default() };
    let left = Hub { own: Arc::clone(&to_left), others: vec![Arc::clone(&to_right)], facts: facts.clone() };
    let right = Hub { own: to_right, others: vec![to_left], facts };
    Lane { service, ..common::lane(pool, left, right) }
}

#[test]
fn what_the_service_takes_is_in_no_figure_of_a_trial() {
    let queues: [Queue; 2] = Default::default();
    for queue in &queues {
        queue.lock().unwrap().extend([untagged(REQUEST), untagged(REQUEST)]);
    }
    let sides = Arc::default();
    let lane = lane(&queues, Some(service(&sides)));
    let mut stage = stage(forwarding(&bed(64)), vec![lane]);
    let out = stage.run(&Phase { reverse_order: Order::Random, ..phase(2000, Direction::Both) }).unwrap();
    for leg in [&out.forward, &out.reverse] {
        assert_eq!((leg.sent, leg.received, leg.reordered, leg.faults.total()), (2000, 2000, 0, 0));
    }
    let mut sides = sides.lock().unwrap().clone();
    sides.sort_unstable();
    // Each side was asked twice, and got the other's two answers.
    let each = |side| [(side, REQUEST), (side, REQUEST), (side, ANSWER), (side, ANSWER)];
    assert_eq!(sides, [each(false), each(true)].concat());
}

/// Its commands need the tester's answer at Left.
struct Asks(Arc<Mutex<u32>>, [Queue; 2]);

impl Asks {
    fn ask(&mut self) -> Result<(), TrialError> {
        let [to_right, to_left] = &self.1;
        to_left.lock().unwrap().push_back(untagged(REQUEST));
        let deadline = Instant::now() + Duration::from_secs(5);
        while !to_right.lock().unwrap().contains(&vec![ANSWER; 60]) {
            if Instant::now() > deadline {
                return Err(TrialError::Device("the tester did not answer".to_owned()));
            }
            std::thread::yield_now();
        }
        to_right.lock().unwrap().retain(|frame| *frame != vec![ANSWER; 60]);
        *self.0.lock().unwrap() += 1;
        Ok(())
    }
}

impl Device for Asks {
    fn clear(&mut self) -> Result<(), TrialError> {
        self.ask()
    }
    fn entries(&mut self) -> Result<Option<u64>, TrialError> {
        self.ask().map(|()| None)
    }
}

/// What arrives at Right stays there.
fn at_left(frame_at_left: bool, frame: &mut Frame) -> ServiceVerdict {
    if !frame_at_left || frame.bytes()[0] != REQUEST {
        return ServiceVerdict::Foreign;
    }
    frame.set_len(60);
    frame.bytes_mut().fill(ANSWER);
    ServiceVerdict::Answer
}

#[test]
fn the_service_answers_while_a_command_of_the_device_runs() {
    let (bed, queues): (_, [Queue; 2]) = (bed(64), Default::default());
    let asked = Arc::<Mutex<u32>>::default();
    // Its own cable, on which it can wait for the tester.
    let own: [Queue; 2] = Default::default();
    let mut lane = lane(&queues, Some(Box::new(at_left)));
    let inner = lane.left.take().unwrap();
    let device = Hub { own: Arc::clone(&own[1]), others: vec![Arc::clone(&own[0])], facts: PortFacts::default() };
    lane.left = Some(Box::new(Beside { inner, device }));
    let view = Arc::new(nat44(&bed, unchanged(&bed)));
    let mut engine = engine(view, vec![lane], Asks(Arc::clone(&asked), own), settings());
    let validate_rate = Some(Rate(1_000_000));
    let spec = TrialSpec { kind: PhaseKind::Establish, phase1_rate: None, validate_rate, ..trial_spec(10_000) };
    let outcome = engine.run(&spec).unwrap();
    assert_eq!((outcome.forward.received, outcome.forward.faults.total()), (2000, 0));
    assert_eq!(outcome.validation.unwrap().received, 2000);
    assert_eq!(*asked.lock().unwrap(), 3, "clear, and entries after each phase");
    assert_eq!(engine.while_serving(|device| device.clear()), Ok(Ok(())));
}

/// A cable that passes frames without a tag to a device.
struct Beside {
    inner: Box<dyn Port>,
    device: Hub,
}

impl Port for Beside {
    of_inner!(counters facts);
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        match self.device.receive(pool, into)? {
            0 => self.inner.receive(pool, into),
            got => Ok(got),
        }
    }
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        if burst.iter().all(|frame| frame.bytes()[0] == ANSWER && frame.bytes()[20] == ANSWER) {
            self.device.transmit(pool, burst)
        } else {
            self.inner.transmit(pool, burst)
        }
    }
}

/// A lane without a service is not touched.
#[test]
fn an_idle_lane_answers_and_keeps_nothing() {
    for with_service in [true, false] {
        let queues: [Queue; 2] = Default::default();
        let service = with_service.then(|| Box::new(at_left) as Service);
        let mut engine = engine(Arc::new(forwarding(&bed(64))), vec![lane(&queues, service)], NoDevice, settings());
        // More than one burst.
        queues[1].lock().unwrap().extend(vec![untagged(OTHER); 100]);
        queues[1].lock().unwrap().push_back(untagged(REQUEST));
        engine.rest(Nanos::from_millis(1)).unwrap();
        let waiting = queues.each_ref().map(|queue| queue.lock().unwrap().len());
        if with_service {
            // The answer arrives at Right, where it is no request, in this round or the next.
            assert_eq!(waiting[1], 0);
            engine.rest(Nanos::from_millis(1)).unwrap();
            assert_eq!(queues[0].lock().unwrap().len(), 0);
        } else {
            assert_eq!(waiting, [0, 101]);
        }
    }
}
