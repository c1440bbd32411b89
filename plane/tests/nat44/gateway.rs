//! A gateway of one or several workers, as small as it can be: steering, inboxes, time. Every frame that leaves it
//! is judged.

use crate::packets::*;
use plane::function::BATCH;
use plane::nat44::Nat44;
use plane::nat44::config::{Config, Prefix, SideConfig};
use plane::{Function, Packet, Side, Spare, Steering, Verdict};
use std::collections::VecDeque;
use wire::{AddrRange, Mac};

/// A packet with room in front and behind.
#[derive(Clone, Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl Frame {
    pub fn new(bytes: &[u8]) -> Frame {
        let mut buffer = vec![0xee; 64 + bytes.len() + 64];
        buffer[64..64 + bytes.len()].copy_from_slice(bytes);
        Frame { buffer, start: 64, len: bytes.len() }
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

/// What a function makes beyond the batch. `limit` packets at most.
pub struct Made {
    pub out: Vec<(Side, Frame)>,
    pub handed: Vec<(u16, Side, Frame)>,
    pub limit: usize,
}

impl Spare<Frame> for Made {
    fn fresh(&mut self, len: usize) -> Option<Frame> {
        self.limit = self.limit.checked_sub(1)?;
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

pub fn config() -> Config {
    let side = |mac, hop, address: [u8; 4]| SideConfig {
        mac: Mac(mac),
        next_hop: Mac(hop),
        address: address.into(),
        mtu: 1500,
    };
    let mut c = Config::new(
        side(CUSTOMER_MAC, CUSTOMER_HOP, [10, 255, 255, 1]),
        side(INTERNET_MAC, INTERNET_HOP, [192, 0, 2, 254]),
        vec![Prefix { addr: [10, 0, 0, 0].into(), len: 8 }],
        vec![AddrRange::one(POOL.into())],
    );
    c.sessions = 4096;
    c
}

pub struct Gateway {
    pub workers: Vec<Nat44>,
    pub now: u64,
    /// Frames that crossed from one worker to another.
    pub crossings: usize,
    /// Packets that may be made beyond those that came in.
    pub memory: usize,
    /// Steering on the Internet's side.
    pub steer: Steering,
}

impl Gateway {
    #[allow(clippy::needless_pass_by_value, reason = "most tests make a configuration for one gateway")]
    pub fn new(config: Config) -> Gateway {
        Gateway::with_workers(&config, 1)
    }

    pub fn with_workers(config: &Config, n: usize) -> Gateway {
        let workers = (0..n).map(|w| Nat44::new(config.clone(), w, n, 42).unwrap()).collect();
        let steer = Nat44::steer_internet(config, n);
        Gateway { workers, now: 1000 * SECOND, crossings: 0, memory: usize::MAX, steer }
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now += seconds * SECOND;
    }

    /// Let all background work be done.
    pub fn idle(&mut self) {
        for _ in 0..200 {
            self.now += SECOND / 2;
            for w in &mut self.workers {
                for _ in 0..64 {
                    w.idle(self.now);
                }
            }
        }
    }

    pub fn count(&self, name: &str) -> u64 {
        let all = self.workers.iter().flat_map(Function::counters);
        let found: Vec<u64> = all.filter(|c| c.0 == name).map(|c| c.1).collect();
        assert!(!found.is_empty(), "no counter {name}");
        found.iter().sum()
    }

    pub fn entries(&self) -> (u64, u64) {
        self.workers.iter().fold((0, 0), |s, w| {
            let e = w.entries().unwrap();
            (s.0 + e.0, s.1 + e.1)
        })
    }

    /// Send frames in at a side, in one batch a worker, and give all that comes out.
    pub fn send_all(&mut self, from: Side, frames: &[Vec<u8>]) -> Vec<(Side, Vec<u8>)> {
        let n = self.workers.len();
        let steer = if from == Side::Customer { Nat44::STEER_CUSTOMER } else { self.steer };
        let mut inbox: VecDeque<(usize, Side, Vec<Frame>)> = VecDeque::new();
        for f in frames {
            let w = steer.worker(f, n);
            match inbox.back_mut() {
                Some((last, _, batch)) if *last == w && batch.len() < BATCH => batch.push(Frame::new(f)),
                _ => inbox.push_back((w, from, vec![Frame::new(f)])),
            }
        }
        let mut out = Vec::new();
        while let Some((w, from, mut batch)) = inbox.pop_front() {
            let mut made = Made { out: Vec::new(), handed: Vec::new(), limit: self.memory };
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
            judge(f);
        }
        out
    }

    pub fn send(&mut self, from: Side, frame: &[u8]) -> Vec<(Side, Vec<u8>)> {
        self.send_all(from, &[frame.to_vec()])
    }

    /// Send one frame from a customer that must come out at the Internet alone.
    pub fn out(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut out = self.send(Side::Customer, frame);
        assert_eq!(out.len(), 1, "one frame out; counters {:?}", self.nonzero());
        assert_eq!(out[0].0, Side::Internet);
        out.remove(0).1
    }

    /// Send one frame from the Internet that must come out at the customers alone.
    pub fn back(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut out = self.send(Side::Internet, frame);
        assert_eq!(out.len(), 1, "one frame back; counters {:?}", self.nonzero());
        assert_eq!(out[0].0, Side::Customer);
        out.remove(0).1
    }

    /// Send a frame that must be dropped for this reason, with nothing sent instead.
    pub fn dropped(&mut self, from: Side, frame: &[u8], why: &str) {
        let before = self.count(why);
        let out = self.send(from, frame);
        assert!(out.is_empty(), "{out:?}");
        assert_eq!(self.count(why), before + 1, "counters {:?}", self.nonzero());
    }

    /// Send a frame that must be dropped for this reason, with one frame sent instead, back to where it came from.
    pub fn refused(&mut self, from: Side, frame: &[u8], why: &str) -> Vec<u8> {
        let before = self.count(why);
        let mut out = self.send(from, frame);
        assert_eq!(self.count(why), before + 1, "counters {:?}", self.nonzero());
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].0, from);
        out.remove(0).1
    }

    /// Open a UDP flow and give the outside end point.
    pub fn map(&mut self, from: At, to: At) -> At {
        judge(&self.out(&udp(from, to))).from
    }

    fn nonzero(&self) -> Vec<(&'static str, u64)> {
        self.workers.iter().flat_map(Function::counters).filter(|c| c.1 > 0).collect()
    }
}
