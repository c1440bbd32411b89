//! A gateway of one or several workers, as small as it can be: steering, inboxes, time. Every frame that leaves it
//! is judged.

use crate::packets::{CUSTOMER_HOP, CUSTOMER_MAC, INTERNET_HOP, INTERNET_MAC, Seen, judge};
use plane::function::BATCH;
use plane::{Function, Packet, Side, Spare, Steering, Verdict};
use std::collections::VecDeque;

/// A packet with room in front and behind.
#[derive(Clone, Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl Frame {
    pub fn new(bytes: &[u8]) -> Frame {
        let mut buffer = vec![0xee; 128 + bytes.len() + 128];
        buffer[128..128 + bytes.len()].copy_from_slice(bytes);
        Frame { buffer, start: 128, len: bytes.len() }
    }
}

impl Packet for Frame {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.len]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.start + self.len]
    }
    fn grow_front(&mut self, n: usize) -> bool {
        let ok = n <= self.start;
        if ok {
            self.start -= n;
            self.len += n;
        }
        ok
    }
    fn shrink_front(&mut self, n: usize) -> bool {
        let ok = n <= self.len;
        if ok {
            self.start += n;
            self.len -= n;
        }
        ok
    }
    fn set_len(&mut self, len: usize) -> bool {
        let ok = self.start + len <= self.buffer.len();
        if ok {
            self.len = len;
        }
        ok
    }
}

/// What a function makes beyond the batch.
struct Made {
    out: Vec<(Side, Frame)>,
    handed: Vec<(u16, Side, Frame)>,
}

impl Spare<Frame> for Made {
    fn fresh(&mut self, len: usize) -> Option<Frame> {
        Some(Frame::new(&vec![0xee; len]))
    }
    fn emit(&mut self, to: Side, packet: Frame) {
        self.out.push((to, packet));
    }
    fn hand_over(&mut self, to: u16, from: Side, packet: Frame) {
        self.handed.push((to, from, packet));
    }
}

pub const SECOND: u64 = 1_000_000_000;

/// Workers and the steering in front of them.
pub struct Gateway<F> {
    pub workers: Vec<F>,
    steering: [Steering; 2],
    pub now: u64,
    /// Frames that crossed from one worker to another.
    pub crossings: usize,
    /// Put every frame into the wrong worker, as a link that cannot steer might.
    pub misled: bool,
}

impl<F: Function> Gateway<F> {
    pub fn new(workers: Vec<F>, customer: Steering, internet: Steering) -> Gateway<F> {
        Gateway { workers, steering: [customer, internet], now: 1000 * SECOND, crossings: 0, misled: false }
    }

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

    pub fn clear(&mut self) {
        self.workers.iter_mut().for_each(Function::clear);
    }

    pub fn count(&self, name: &str) -> u64 {
        let all = self.workers.iter().flat_map(Function::counters);
        let found: Vec<u64> = all.filter(|c| c.0 == name).map(|c| c.1).collect();
        assert!(!found.is_empty(), "no counter {name}");
        found.iter().sum()
    }

    /// Sessions and mappings.
    pub fn entries(&self) -> (u64, u64) {
        self.workers.iter().fold((0, 0), |s, w| {
            let e = w.entries().unwrap();
            (s.0 + e.0, s.1 + e.1)
        })
    }

    /// The worker that a frame is steered to.
    pub fn steered(&self, from: Side, frame: &[u8]) -> usize {
        self.steering[usize::from(from == Side::Internet)].worker(frame, self.workers.len())
    }

    /// Send frames in at a side, in one batch a worker, and give all that comes out.
    pub fn send_all(&mut self, from: Side, frames: &[Vec<u8>]) -> Vec<(Side, Vec<u8>)> {
        let n = self.workers.len();
        let mut inbox: VecDeque<(usize, Side, Vec<Frame>)> = VecDeque::new();
        for f in frames {
            let w = (self.steered(from, f) + usize::from(self.misled)) % n;
            match inbox.back_mut() {
                Some((last, _, batch)) if *last == w && batch.len() < BATCH => batch.push(Frame::new(f)),
                _ => inbox.push_back((w, from, vec![Frame::new(f)])),
            }
        }
        if frames.is_empty() {
            // Time alone.
            inbox.extend((0..n).map(|w| (w, from, Vec::new())));
        }
        let mut out = Vec::new();
        while let Some((w, from, mut batch)) = inbox.pop_front() {
            let mut made = Made { out: Vec::new(), handed: Vec::new() };
            let mut verdicts = vec![Verdict::Drop; batch.len()];
            self.workers[w].process(self.now, from, &mut batch, &mut verdicts, &mut made);
            for (f, v) in batch.into_iter().zip(verdicts) {
                match v {
                    Verdict::Forward(side) => out.push((side, f.bytes().to_vec())),
                    Verdict::HandOver(to) => made.handed.push((to, from, f)),
                    Verdict::Drop | Verdict::Local => {}
                }
            }
            out.extend(made.out.into_iter().map(|(s, f)| (s, f.bytes().to_vec())));
            for (to, from, f) in made.handed {
                assert_ne!(usize::from(to), w, "handed over to itself");
                self.crossings += 1;
                assert!(self.crossings < 10_000, "a frame goes round for ever");
                inbox.push_back((to.into(), from, vec![f]));
            }
        }
        for (side, f) in &out {
            let (hop, own) = match side {
                Side::Customer => (CUSTOMER_HOP, CUSTOMER_MAC),
                Side::Internet => (INTERNET_HOP, INTERNET_MAC),
            };
            assert_eq!((&f[..6], &f[6..12]), (&hop[..], &own[..]), "Ethernet addresses");
            assert_eq!(f[12..14], if *side == Side::Customer { [0x86, 0xdd] } else { [8, 0] }, "EtherType");
            judge(f);
        }
        out
    }

    pub fn send(&mut self, from: Side, frame: &[u8]) -> Vec<(Side, Vec<u8>)> {
        self.send_all(from, &[frame.to_vec()])
    }

    /// Send one frame that must come out on this side, alone.
    #[track_caller]
    pub fn pass(&mut self, from: Side, to: Side, frame: &[u8]) -> Vec<u8> {
        let mut out = self.send(from, frame);
        let dropped: Vec<_> = self.workers.iter().flat_map(Function::counters).filter(|c| c.1 > 0).collect();
        assert_eq!(out.len(), 1, "one frame must come out; counters: {dropped:?}");
        let (side, f) = out.remove(0);
        assert_eq!(side, to);
        f
    }

    /// From a customer to the Internet.
    #[track_caller]
    pub fn out(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Customer, Side::Internet, frame)
    }

    /// From the Internet to a customer.
    #[track_caller]
    pub fn back(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Internet, Side::Customer, frame)
    }

    /// What a frame from a customer looks like on the Internet.
    #[track_caller]
    pub fn seen_out(&mut self, frame: &[u8]) -> Seen {
        judge(&self.out(frame))
    }

    /// What a frame from the Internet looks like to a customer.
    #[track_caller]
    pub fn seen_back(&mut self, frame: &[u8]) -> Seen {
        judge(&self.back(frame))
    }

    /// A frame that must be dropped for this reason, without any answer.
    #[track_caller]
    pub fn dropped(&mut self, from: Side, frame: &[u8], why: &str) {
        let before = self.count(why);
        assert_eq!(self.send(from, frame), [], "nothing may come out");
        assert_eq!(self.count(why), before + 1, "{why}");
    }

    /// A frame that must be dropped for this reason, with one answer to where it came from.
    #[track_caller]
    pub fn refused(&mut self, from: Side, frame: &[u8], why: &str) -> Vec<u8> {
        let before = self.count(why);
        let answer = self.pass(from, from, frame);
        assert_eq!(self.count(why), before + 1, "{why}");
        answer
    }
}
