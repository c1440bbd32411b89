//! Workers of a plane function, the steering in front of them, their inboxes, and time. Every suite adds its own addresses.

use crate::judge::{Header, judge};
use crate::link::{LINKS, Link};
use crate::packets::{self, At};
use crate::{Frame, Outbox};
use plane::function::BATCH;
use plane::{Function, Input, Packet, Side, Steering, Verdict};
use std::collections::VecDeque;

/// Nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// Looks at every frame that leaves, and the side that it leaves by.
type Judge = Box<dyn Fn(Side, &[u8])>;

/// Ends of the tunnels behind which customers are.
#[derive(Clone, Copy)]
pub struct Tunnels {
    /// Puts a customer's frame into its tunnel.
    pub enter: fn(&[u8]) -> Vec<u8>,
    /// The frame for a customer that was in a tunnel.
    pub leave: fn(&[u8]) -> Vec<u8>,
}

/// Workers, the steering in front of them, and a judge of every frame that leaves.
pub struct Bed<F> {
    /// The workers.
    pub workers: Vec<F>,
    /// The time.
    pub now: u64,
    /// Frames that crossed from one worker to another.
    pub crossings: usize,
    /// Packets that may be made beyond those that came in, in a batch.
    pub memory: usize,
    /// Octets of the largest of them.
    pub largest: usize,
    /// Put every frame into the wrong worker, as a link that cannot steer might.
    pub misled: bool,
    /// Links whose Ethernet addresses every frame gets that arrives at a side; without them frames stay as they are.
    pub arrive_by: Option<[Link; 2]>,
    /// Tunnels of all frames on the customers' side.
    pub tunnels: Option<Tunnels>,
    /// Steering of the customers' and of the Internet's side.
    pub steering: [Steering; 2],
    judge: Judge,
}

impl<F: Function> Bed<F> {
    /// These workers behind this steering; `judge` sees every frame that leaves, with its side.
    pub fn new(mut workers: Vec<F>, steering: [Steering; 2], judge: impl Fn(Side, &[u8]) + 'static) -> Bed<F> {
        plane::function::agree(&mut workers);
        Bed {
            workers,
            now: 1000 * SECOND,
            crossings: 0,
            memory: usize::MAX,
            largest: usize::MAX,
            misled: false,
            arrive_by: None,
            tunnels: None,
            steering,
            judge: Box::new(judge),
        }
    }

    /// Returns a gateway between the links of [`crate::link`], which have these IP versions. It judges every frame that
    /// leaves.
    pub fn gateway(workers: Vec<F>, steering: [Steering; 2], versions: [u8; 2]) -> Bed<F> {
        Bed::new(workers, steering, move |side, f| {
            let side = usize::from(side == Side::Internet);
            LINKS[side].judge(f);
            let kind = if versions[side] == 4 { [8, 0] } else { [0x86, 0xdd] };
            assert_eq!(f[12..14], kind, "EtherType");
            judge(f);
        })
    }

    /// The same, where each frame gets the Ethernet addresses of the side that it arrives at.
    pub fn readdressing(workers: Vec<F>, steering: [Steering; 2], versions: [u8; 2]) -> Bed<F> {
        Bed { arrive_by: Some(LINKS), ..Bed::gateway(workers, steering, versions) }
    }

    /// One worker, that nothing needs to be steered to.
    pub fn one(function: F, judge: impl Fn(Side, &[u8]) + 'static) -> Bed<F> {
        Bed::new(vec![function], [Steering::Hash(&[]); 2], judge)
    }

    /// Let so many seconds pass.
    pub fn wait(&mut self, seconds: u64) {
        self.now += seconds * SECOND;
    }

    /// Let background work be done for so many seconds.
    pub fn idle(&mut self, seconds: u64) {
        for _ in 0..seconds * 2 {
            self.now += SECOND / 2;
            for w in &mut self.workers {
                for _ in 0..16 {
                    w.idle(self.now);
                }
            }
        }
    }

    /// Clear the state of all workers.
    pub fn clear(&mut self) {
        self.workers.iter_mut().for_each(Function::clear);
    }

    /// The sum of a counter over all workers.
    pub fn count(&self, name: &str) -> u64 {
        let all = self.workers.iter().flat_map(Function::counters);
        let found: Vec<u64> = all.filter(|c| c.0 == name).map(|c| c.1).collect();
        assert!(!found.is_empty(), "no counter {name}");
        found.iter().sum()
    }

    /// Counters that have counted something.
    pub fn nonzero(&self) -> Vec<(&'static str, u64)> {
        self.workers.iter().flat_map(Function::counters).filter(|c| c.1 > 0).collect()
    }

    /// Sessions and mappings.
    pub fn entries(&self) -> (u64, u64) {
        self.workers.iter().fold((0, 0), |s, w| {
            let e = w.entries().unwrap();
            (s.0 + e.0, s.1 + e.1)
        })
    }

    /// A frame as it arrives at a side.
    fn arriving(&self, from: Side, frame: &[u8]) -> Vec<u8> {
        let tunnels = self.tunnels.filter(|_| from == Side::Customer);
        let frame = tunnels.map_or(frame.to_vec(), |tunnels| (tunnels.enter)(frame));
        let link = self.arrive_by.map(|links| links[usize::from(from == Side::Internet)]);
        link.map_or_else(|| frame.clone(), |link| link.arriving(&frame))
    }

    /// The worker that a frame is steered to.
    pub fn steered(&self, from: Side, frame: &[u8]) -> usize {
        let frame = self.arriving(from, frame);
        self.steering[usize::from(from == Side::Internet)].worker(&frame, self.workers.len())
    }

    /// Send frames in at a side, as few batches as may be, and give all that comes out; without frames time alone does its
    /// work.
    pub fn send_all(&mut self, from: Side, frames: &[Vec<u8>]) -> Vec<(Side, Vec<u8>)> {
        let worker = |f: &[u8]| (self.steered(from, f) + usize::from(self.misled)) % self.workers.len();
        let steered = frames.iter().map(|f| (worker(f), Frame::new(&self.arriving(from, f)))).collect();
        self.run(from, steered)
    }

    /// The same, with the worker of each frame chosen by the caller.
    pub fn run(&mut self, from: Side, frames: Vec<(usize, Frame)>) -> Vec<(Side, Vec<u8>)> {
        let mut inbox: VecDeque<(usize, Side, Vec<Frame>)> = VecDeque::new();
        if frames.is_empty() {
            inbox.extend((0..self.workers.len()).map(|w| (w, from, Vec::new())));
        }
        for (w, f) in frames {
            match inbox.back_mut() {
                Some((last, _, batch)) if *last == w && batch.len() < BATCH => batch.push(f),
                _ => inbox.push_back((w, from, vec![f])),
            }
        }
        let mut out = Vec::new();
        while let Some((w, from, batch)) = inbox.pop_front() {
            let made = self.batch(w, from, batch);
            out.extend(made.out.into_iter().map(|(s, f)| (s, f.bytes().to_vec())));
            for (to, from, f) in made.handed {
                assert_ne!(usize::from(to), w, "handed over to itself");
                self.crossings += 1;
                assert!(self.crossings < 10_000, "a frame goes round for ever");
                inbox.push_back((to.into(), from, vec![f]));
            }
        }
        for (side, f) in &mut out {
            (self.judge)(*side, f);
            if let (Some(tunnels), Side::Customer) = (self.tunnels, *side) {
                *f = (tunnels.leave)(f);
            }
        }
        out
    }

    /// One batch at one worker: what leaves it, the batch's own frames first.
    fn batch(&mut self, worker: usize, from: Side, mut batch: Vec<Frame>) -> Outbox {
        let mut made = Outbox::new(self.memory, self.largest);
        // A verdict that is not written would be noticed.
        let mut verdicts = vec![Verdict::HandOver(u16::MAX); batch.len()];
        let input = Input::new(self.now, from, &mut batch, &mut verdicts);
        self.workers[worker].process(input, &mut made);
        let mut own = Vec::new();
        for (f, v) in batch.into_iter().zip(verdicts) {
            match v {
                Verdict::Forward(side) => own.push((side, f)),
                Verdict::HandOver(to) => made.handed.push((to, from, f)),
                Verdict::Drop | Verdict::Held | Verdict::Local => {}
            }
        }
        made.out.splice(..0, own);
        made
    }

    /// Send one frame in at a side, and give all that comes out.
    pub fn send(&mut self, from: Side, frame: &[u8]) -> Vec<(Side, Vec<u8>)> {
        self.send_all(from, &[frame.to_vec()])
    }

    /// Send one frame that must come out on this side, alone.
    #[track_caller]
    pub fn pass(&mut self, from: Side, to: Side, frame: &[u8]) -> Vec<u8> {
        let mut out = self.send(from, frame);
        assert_eq!(out.len(), 1, "one frame must come out; counters {:?}", self.nonzero());
        assert_eq!(out[0].0, to, "side; counters {:?}", self.nonzero());
        out.remove(0).1
    }

    /// Send a frame that must be dropped for this reason, with nothing sent instead.
    #[track_caller]
    pub fn dropped(&mut self, from: Side, frame: &[u8], why: &str) {
        let before = self.count(why);
        let out = self.send(from, frame);
        assert!(out.is_empty(), "nothing may come out: {out:02x?}");
        assert_eq!(self.count(why), before + 1, "{why}; counters {:?}", self.nonzero());
    }

    /// Send a frame that must be dropped for this reason, with one frame sent instead, back to where it came from.
    #[track_caller]
    pub fn refused(&mut self, from: Side, frame: &[u8], why: &str) -> Vec<u8> {
        let before = self.count(why);
        let answer = self.pass(from, from, frame);
        assert_eq!(self.count(why), before + 1, "{why}; counters {:?}", self.nonzero());
        answer
    }

    /// Send one frame from a customer that must come out at the Internet alone.
    #[track_caller]
    pub fn out(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Customer, Side::Internet, frame)
    }

    /// Send one frame from the Internet that must come out at the customers alone.
    #[track_caller]
    pub fn back(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Internet, Side::Customer, frame)
    }

    /// Send one frame from a customer that must come out at the customers alone.
    #[track_caller]
    pub fn around(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Customer, Side::Customer, frame)
    }

    /// What a frame from a customer looks like on the Internet.
    #[track_caller]
    pub fn seen_out(&mut self, frame: &[u8]) -> Header {
        judge(&self.out(frame))
    }

    /// What a frame from the Internet looks like to a customer.
    #[track_caller]
    pub fn seen_back(&mut self, frame: &[u8]) -> Header {
        judge(&self.back(frame))
    }

    /// Open a UDP flow from a customer and give its outside end point.
    #[track_caller]
    pub fn map(&mut self, from: impl packets::EndPoint, to: impl packets::EndPoint) -> At {
        self.seen_out(&packets::udp(from, to)).from
    }

    /// The customer's end point that a UDP packet from the Internet reaches.
    #[track_caller]
    pub fn reached(&mut self, from: impl packets::EndPoint, to: impl packets::EndPoint) -> At {
        self.seen_back(&packets::udp(from, to)).to
    }
}
