//! A tunnel end of one or several workers, as small as it can be: steering, inboxes, time.

use crate::packets::*;
use plane::function::BATCH;
use plane::tunnel::{Config, OneTunnel, Tunnel};
use plane::{Function, Packet, Side, Side4, Side6, Softwires, Spare, Verdict};
use std::collections::VecDeque;
use wire::Mac;

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

/// What a function makes beyond the batch. `limit` packets at most, of at most `largest` octets.
pub struct Made {
    pub out: Vec<(Side, Frame)>,
    pub handed: Vec<(u16, Side, Frame)>,
    pub limit: usize,
    pub largest: usize,
}

impl Spare<Frame> for Made {
    fn fresh(&mut self, len: usize) -> Option<Frame> {
        self.limit = self.limit.checked_sub(1)?;
        (len <= self.largest).then(|| Frame::new(&vec![0xee; len]))
    }
    fn emit(&mut self, to: Side, packet: Frame) {
        self.out.push((to, packet));
    }
    fn hand_over(&mut self, to: u16, from: Side, packet: Frame) {
        self.handed.push((to, from, packet));
    }
}

pub const SECOND: u64 = 1_000_000_000;

/// A configuration whose IPv6 side is this one.
pub fn config(ipv6: Side) -> Config {
    let v4 = Side4 { mac: Mac(MAC4), next_hop: Mac(HOP4), address: OWN4.into(), mtu: 1500 };
    let v6 = Side6 { mac: Mac(MAC6), next_hop: Mac(HOP6), address: OWN6.parse().unwrap(), mtu: 1500 };
    let mut c = Config::new(ipv6, v4, v6);
    c.inner_address = INSIDE.into();
    c
}

/// The one tunnel of a customer's end.
pub fn b4() -> OneTunnel {
    OneTunnel::new(B4.parse().unwrap(), PE.parse().unwrap())
}

pub struct End<S: Softwires> {
    pub workers: Vec<Tunnel<S>>,
    pub now: u64,
    /// Frames that crossed from one worker to another.
    pub crossings: usize,
    pub memory: usize,
    pub largest: usize,
    v6: Side,
}

impl End<OneTunnel> {
    /// A customer's end with one tunnel.
    pub fn b4(change: impl FnOnce(&mut Config)) -> End<OneTunnel> {
        let mut c = config(Side::Internet);
        change(&mut c);
        End::new(&c, 1, b4)
    }
}

impl<S: Softwires> End<S> {
    pub fn new(config: &Config, n: u16, softwires: impl Fn() -> S) -> End<S> {
        let workers = (0..n).map(|w| Tunnel::new(config.clone(), softwires(), w, n, 42).unwrap()).collect();
        End { workers, now: 1000 * SECOND, crossings: 0, memory: usize::MAX, largest: 9000, v6: config.ipv6 }
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now += seconds * SECOND;
    }

    pub fn count(&self, name: &str) -> u64 {
        let all = self.workers.iter().flat_map(Function::counters);
        let found: Vec<u64> = all.filter(|c| c.0 == name).map(|c| c.1).collect();
        assert!(!found.is_empty(), "no counter {name}");
        found.iter().sum()
    }

    pub fn nonzero(&self) -> Vec<(&'static str, u64)> {
        self.workers.iter().flat_map(Function::counters).filter(|c| c.1 > 0).collect()
    }

    /// Send frames in at a side and give all that comes out: first IPv4, then IPv6, as they left.
    pub fn send_all(&mut self, from: Side, frames: &[Vec<u8>]) -> Vec<(Side, Vec<u8>)> {
        let n = self.workers.len();
        let steer = if from == self.v6 { Tunnel::<S>::STEER_IPV6 } else { Tunnel::<S>::STEER_IPV4 };
        let to = frames.iter().map(|f| (steer.worker(f, n), Frame::new(f))).collect();
        self.run(from, to)
    }

    /// The same, with the worker of each frame chosen by the caller.
    pub fn run(&mut self, from: Side, frames: Vec<(usize, Frame)>) -> Vec<(Side, Vec<u8>)> {
        let mut inbox: VecDeque<(usize, Side, Vec<Frame>)> = VecDeque::new();
        for (w, f) in frames {
            match inbox.back_mut() {
                Some((last, _, batch)) if *last == w && batch.len() < BATCH => batch.push(f),
                _ => inbox.push_back((w, from, vec![f])),
            }
        }
        let mut out = Vec::new();
        while let Some((w, from, mut batch)) = inbox.pop_front() {
            let (limit, largest) = (self.memory, self.largest);
            let mut made = Made { out: Vec::new(), handed: Vec::new(), limit, largest };
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
        out
    }

    /// Send IPv4 packets in at the IPv4 side; give the frames that leave on the IPv6 side.
    pub fn enter_all(&mut self, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let frames: Vec<_> = packets.iter().map(|p| frame4(p)).collect();
        let out = self.send_all(self.v6.other(), &frames);
        out.into_iter().filter(|f| f.0 == self.v6).map(|f| f.1).collect()
    }

    /// Send an IPv4 packet that must leave alone in a tunnel.
    pub fn enter(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut out = self.send_all(self.v6.other(), &[frame4(packet)]);
        assert_eq!(out.len(), 1, "one frame; counters {:?}", self.nonzero());
        assert_eq!(out[0].0, self.v6);
        out.remove(0).1
    }

    /// Send a frame in at the IPv6 side that must leave alone on the IPv4 side; give its packet.
    pub fn leave(&mut self, frame: &[u8]) -> Vec<u8> {
        let out = self.send_all(self.v6, &[frame.to_vec()]);
        assert_eq!(out.len(), 1, "one frame; counters {:?}", self.nonzero());
        assert_eq!(out[0].0, self.v6.other());
        bare(&out[0].1)
    }

    /// Send a frame in at the IPv4 side (or else the IPv6 side) that must be dropped for this reason, with nothing sent.
    pub fn dropped(&mut self, v4: bool, frame: &[u8], why: &str) {
        let from = if v4 { self.v6.other() } else { self.v6 };
        let before = self.count(why);
        let out = self.send_all(from, &[frame.to_vec()]);
        assert!(out.is_empty(), "{out:?}");
        assert_eq!(self.count(why), before + 1, "{why}; counters {:?}", self.nonzero());
    }

    /// The same, with one frame sent back to where it came from.
    pub fn refused(&mut self, v4: bool, frame: &[u8], why: &str) -> Vec<u8> {
        let from = if v4 { self.v6.other() } else { self.v6 };
        let before = self.count(why);
        let mut out = self.send_all(from, &[frame.to_vec()]);
        assert_eq!(self.count(why), before + 1, "{why}; counters {:?}", self.nonzero());
        assert_eq!(out.len(), 1, "counters {:?}", self.nonzero());
        assert_eq!(out[0].0, from);
        out.remove(0).1
    }
}
