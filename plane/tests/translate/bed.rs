//! A translator with a link on each side, as small as it can be. Every frame that leaves it is judged.

use crate::packets::*;
use plane::function::BATCH;
use plane::translate::{Config, Pref64, Siit, Translate};
use plane::{Addressing, Function, Packet, Prefix6, Side, Side4, Side6, Spare, Verdict};
use wire::Mac;

/// A packet with room in front and behind.
#[derive(Clone, Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

/// Room in front and behind.
const ROOM: usize = 64;

impl Frame {
    pub fn new(bytes: &[u8]) -> Frame {
        let mut buffer = vec![0xee; ROOM + bytes.len() + 256];
        buffer[ROOM..ROOM + bytes.len()].copy_from_slice(bytes);
        Frame { buffer, start: ROOM, len: bytes.len() }
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
pub struct Made {
    pub out: Vec<(Side, Frame)>,
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
    fn hand_over(&mut self, _: u16, _: Side, _: Frame) {
        panic!("a translator hands nothing over");
    }
}

pub const SECOND: u64 = 1_000_000_000;

pub fn config() -> Config {
    let v4 = Side4 { mac: Mac(V4_MAC), next_hop: Mac(V4_HOP), address: OWN4.into(), mtu: 1500 };
    let v6 = Side6 { mac: Mac(V6_MAC), next_hop: Mac(V6_HOP), address: six(OWN6).into(), mtu: 1500 };
    Config::new(Side::Customer, v4, v6)
}

/// The prefix of the tests.
pub fn pref64() -> Pref64 {
    Pref64::new(Prefix6 { addr: six(PREFIX).into(), len: 96 }, false).unwrap()
}

pub struct Bed<A: Addressing> {
    pub engine: Translate<A>,
    pub now: u64,
    /// Packets that may be made beyond those that came in.
    pub memory: usize,
}

/// A bed with the prefix alone.
pub fn bed(change: impl FnOnce(&mut Config)) -> Bed<Siit> {
    let mut c = config();
    change(&mut c);
    Bed::new(c, Siit::prefix(pref64()))
}

impl<A: Addressing> Bed<A> {
    pub fn new(config: Config, addressing: A) -> Bed<A> {
        let engine = Translate::new(config, addressing).unwrap();
        Bed { engine, now: 1000 * SECOND, memory: usize::MAX }
    }

    /// The side of an IP version.
    fn side(&self, ipv6: bool) -> Side {
        if ipv6 { self.engine.config().ipv6 } else { self.engine.config().ipv6.other() }
    }

    pub fn count(&self, name: &str) -> u64 {
        self.engine.counters().iter().find(|c| c.0 == name).unwrap_or_else(|| panic!("no counter {name}")).1
    }

    pub fn nonzero(&self) -> Vec<(&'static str, u64)> {
        self.engine.counters().into_iter().filter(|c| c.1 > 0).collect()
    }

    /// Send frames in over IPv6 or IPv4, in batches, and give all that comes out, with whether it is over IPv6.
    pub fn send_all(&mut self, ipv6: bool, frames: &[Vec<u8>]) -> Vec<(bool, Vec<u8>)> {
        let from = self.side(ipv6);
        let mut out = Vec::new();
        for chunk in frames.chunks(BATCH) {
            let mut batch: Vec<Frame> = chunk.iter().map(|f| Frame::new(f)).collect();
            let mut verdicts = vec![Verdict::Local; batch.len()];
            let mut made = Made { out: Vec::new(), limit: self.memory };
            self.engine.process(self.now, from, &mut batch, &mut verdicts, &mut made);
            for (f, v) in batch.into_iter().zip(verdicts) {
                match v {
                    Verdict::Forward(side) => out.push((side, f)),
                    Verdict::HandOver(_) => panic!("a translator hands nothing over"),
                    Verdict::Drop | Verdict::Local => {}
                }
            }
            out.extend(made.out);
        }
        let six = self.engine.config().ipv6;
        let out: Vec<(bool, Vec<u8>)> = out.into_iter().map(|(s, f)| (s == six, f.bytes().to_vec())).collect();
        for (over6, f) in &out {
            let (hop, own) = if *over6 { (V6_HOP, V6_MAC) } else { (V4_HOP, V4_MAC) };
            assert_eq!((&f[..6], &f[6..12]), (&hop[..], &own[..]), "Ethernet addresses");
            assert!(f.len() >= 60, "shorter than any Ethernet frame");
            judge(f);
        }
        out
    }

    pub fn send(&mut self, ipv6: bool, frame: &[u8]) -> Vec<(bool, Vec<u8>)> {
        self.send_all(ipv6, &[frame.to_vec()])
    }

    /// Send one frame in; exactly one must come out, over this version.
    pub fn one(&mut self, ipv6: bool, frame: &[u8], out6: bool) -> Vec<u8> {
        let mut out = self.send(ipv6, frame);
        assert_eq!(out.len(), 1, "one frame out; counters {:?}", self.nonzero());
        assert_eq!(out[0].0, out6, "version; counters {:?}", self.nonzero());
        out.remove(0).1
    }

    /// Over IPv4 in, over IPv6 out.
    pub fn to6(&mut self, frame: &[u8]) -> Vec<u8> {
        self.one(false, frame, true)
    }

    /// Over IPv6 in, over IPv4 out.
    pub fn to4(&mut self, frame: &[u8]) -> Vec<u8> {
        self.one(true, frame, false)
    }

    /// Send a frame that must be dropped for this reason, with nothing sent instead.
    pub fn dropped(&mut self, ipv6: bool, frame: &[u8], why: &str) {
        let before = self.count(why);
        let out = self.send(ipv6, frame);
        assert_eq!(self.count(why), before + 1, "counters {:?}", self.nonzero());
        assert!(out.is_empty(), "{out:02x?}");
    }

    /// Send a frame that must be dropped for this reason, with one frame sent back.
    pub fn refused(&mut self, ipv6: bool, frame: &[u8], why: &str) -> Vec<u8> {
        let before = self.count(why);
        let mut out = self.send(ipv6, frame);
        assert_eq!(self.count(why), before + 1, "counters {:?}", self.nonzero());
        assert_eq!(out.len(), 1, "counters {:?}", self.nonzero());
        assert_eq!(out[0].0, ipv6, "sent back");
        out.remove(0).1
    }

    /// Send a frame that must be left to the machine.
    pub fn local(&mut self, ipv6: bool, frame: &[u8]) {
        let before = self.count("local");
        assert!(self.send(ipv6, frame).is_empty());
        assert_eq!(self.count("local"), before + 1, "counters {:?}", self.nonzero());
    }
}
