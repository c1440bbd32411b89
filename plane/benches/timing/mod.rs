//! What all benchmarks of the plane share: a frame with room in front, CPU time, the spread of several runs, and the words of the
//! command line.
#![allow(dead_code, reason = "each benchmark uses most of it")]

use plane::{Packet, Side};
use rustix::time::{ClockId, clock_gettime};
use testbed::arriving;
use testbed::link::{CUSTOMER, INTERNET};
use wire::Mac;

pub(crate) const BATCH: usize = plane::function::BATCH;
/// Frames that lie in the L2 cache together, as if a port had just received them.
pub(crate) const GROUP: usize = 2048;
/// Payload of a frame of 64 octets with IPv4 and UDP.
pub(crate) const PAYLOAD: [u8; 18] = [0; 18];
/// Octets in front of a frame.
const HEAD: usize = 64;

/// A frame that begins with a cache line, as the slots of a pool do.
#[repr(align(64))]
pub(crate) struct Frame {
    buffer: [u8; 192],
    start: usize,
    len: usize,
}

impl Frame {
    pub(crate) fn many(count: usize) -> Vec<Frame> {
        (0..count).map(|_| Frame { buffer: [0; 192], start: HEAD, len: 0 }).collect()
    }

    /// A frame of so many octets, all zero, as it arrives.
    pub(crate) fn reset(&mut self, len: usize) -> &mut [u8] {
        (self.start, self.len) = (HEAD, len);
        self.buffer[HEAD..HEAD + len].fill(0);
        self.bytes_mut()
    }

    pub(crate) fn set(&mut self, from: Side, frame: &[u8]) {
        let bytes = arriving(from, frame);
        (self.start, self.len) = (HEAD, bytes.len());
        self.bytes_mut().copy_from_slice(&bytes);
    }
}

impl Packet for Frame {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.len]
    }
    #[inline(always)]
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.start + self.len]
    }
    #[inline(always)]
    fn grow_front(&mut self, n: usize) -> bool {
        let ok = n <= self.start;
        if ok {
            (self.start, self.len) = (self.start - n, self.len + n);
        }
        ok
    }
    #[inline(always)]
    fn shrink_front(&mut self, n: usize) -> bool {
        let ok = n <= self.len;
        if ok {
            (self.start, self.len) = (self.start + n, self.len - n);
        }
        ok
    }
    #[inline(always)]
    fn set_len(&mut self, len: usize) -> bool {
        let ok = self.start + len <= self.buffer.len();
        if ok {
            self.len = len;
        }
        ok
    }
}

/// CPU time of this thread in nanoseconds: what others do on the core does not count.
pub(crate) fn cpu_time() -> i64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

pub(crate) fn macs(side: Side) -> (Mac, Mac) {
    let link = if side == Side::Customer { CUSTOMER } else { INTERNET };
    (Mac(link.own), Mac(link.hop))
}

/// Times `count` frames: `bench` makes groups of them, and works on these in batches; nanoseconds a frame. Only the work is timed.
pub(crate) fn timed<B>(
    bench: &mut B,
    count: u64,
    mut make: impl FnMut(&mut B, u64, &mut Frame),
    mut work: impl FnMut(&mut B, &mut [Frame]),
) -> f64 {
    let mut frames = Frame::many(GROUP);
    let (mut spent, mut done) = (0, 0);
    while done < count {
        let group = &mut frames[..(count - done).min(GROUP as u64) as usize];
        for (i, frame) in (done..).zip(group.iter_mut()) {
            make(bench, i, frame);
        }
        let start = cpu_time();
        group.chunks_mut(BATCH).for_each(|batch| work(bench, batch));
        spent += cpu_time() - start;
        done += group.len() as u64;
    }
    spent as f64 / count as f64
}

/// Least, median, most.
pub(crate) fn spread(v: &[f64]) -> String {
    let mut v = v.to_vec();
    v.sort_by(f64::total_cmp);
    format!("{:6.1} {:6.1} {:6.1}", v[0], v[v.len() / 2], v[v.len() - 1])
}

/// The words after `--`.
pub(crate) struct Words(Vec<String>);

impl Words {
    pub(crate) fn read() -> Words {
        Words(std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect())
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|word| word == flag)
    }

    pub(crate) fn text(&self, flag: &str) -> Option<&str> {
        let at = self.0.iter().position(|word| word == flag)?;
        self.0.get(at + 1).map(String::as_str)
    }

    pub(crate) fn value(&self, flag: &str) -> Option<u64> {
        self.text(flag)?.parse().ok()
    }
}
