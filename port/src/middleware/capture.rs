//! Capturing: the first and the last frames of each trial on a port, for files that Wireshark and tcpdump read (classic
//! pcap with nanoseconds). For looking at what is wrong, not for measuring: keeping them takes time from the worker.
//! They are kept in memory that was there before, and taken out between two trials: no file is touched while frames move.

use crate::clock::Calendar;
use crate::{Burst, Clock, Counters, Pool, Port, PortError, PortFacts, Sent};
use std::sync::{Arc, Mutex, PoisonError};

/// What a capture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// At most so many octets of each frame.
    pub octets: usize,
    /// At most so many frames: the first half of them, and the last that come after.
    pub frames: usize,
}

/// What was captured since it was last taken out: the end that stays with whoever owns no port.
#[derive(Clone)]
pub struct Pages(Arc<Mutex<Page>>);

impl Pages {
    /// An empty page.
    pub fn new(scope: Scope) -> Pages {
        Pages(Arc::new(Mutex::new(Page::new(scope))))
    }

    /// Take the page as a whole pcap file, and how many frames are in it; an empty one takes its place.
    pub fn turn(&self) -> (Vec<u8>, usize) {
        // Whoever panicked while a record was written has left whole records before it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).turn()
    }
}

/// Records in the order in which they came: the first ones side by side, then a ring of the latest.
struct Page {
    scope: Scope,
    first: Vec<u8>,
    firsts: usize,
    ring: Vec<u8>,
    lengths: Vec<usize>,
    /// Records that were ever put into the ring.
    later: usize,
}

const RECORD_HEADER: usize = 16;

impl Page {
    fn new(scope: Scope) -> Page {
        let slot = RECORD_HEADER + scope.octets;
        let (head, tail) = (scope.frames.div_ceil(2), scope.frames / 2);
        Page {
            scope,
            first: Vec::with_capacity(head * slot),
            firsts: 0,
            ring: vec![0; tail * slot],
            lengths: vec![0; tail],
            later: 0,
        }
    }

    fn add(&mut self, record: &[u8]) {
        if self.firsts < self.scope.frames.div_ceil(2) {
            self.first.extend_from_slice(record);
            self.firsts += 1;
            return;
        }
        if self.lengths.is_empty() {
            return;
        }
        let place = self.later % self.lengths.len();
        let at = place * (RECORD_HEADER + self.scope.octets);
        self.ring[at..at + record.len()].copy_from_slice(record);
        self.lengths[place] = record.len();
        self.later += 1;
    }

    fn turn(&mut self) -> (Vec<u8>, usize) {
        let mut file = file_header(self.scope.octets);
        file.extend_from_slice(&self.first);
        let tail = self.lengths.len();
        for number in self.later.saturating_sub(tail)..self.later {
            let at = number % tail * (RECORD_HEADER + self.scope.octets);
            file.extend_from_slice(&self.ring[at..at + self.lengths[number % tail]]);
        }
        let frames = self.firsts + self.later.min(tail);
        self.first.clear();
        (self.firsts, self.later) = (0, 0);
        (file, frames)
    }
}

/// A port whose frames are kept.
pub struct Capture<P> {
    port: P,
    octets: usize,
    clock: Clock,
    /// One moment for all files, so that intervals are exact.
    calendar: Calendar,
    pages: Pages,
    /// Records of a burst on its way out: what is left of it was not sent.
    pending: Vec<u8>,
    ends: Vec<usize>,
}

impl<P: Port> Capture<P> {
    /// Keep the frames of `port`; they are taken out of the pages that come with it.
    pub fn new(port: P, scope: Scope, clock: Clock) -> (Capture<P>, Pages) {
        let pages = Pages::new(scope);
        let room = crate::BATCH * (RECORD_HEADER + scope.octets);
        let capture = Capture {
            port,
            octets: scope.octets,
            clock,
            calendar: Calendar::now(clock),
            pages: pages.clone(),
            pending: Vec::with_capacity(room),
            ends: Vec::with_capacity(crate::BATCH),
        };
        (capture, pages)
    }

    /// Put the records of `frames` side by side, noting where each ends.
    fn prepare(&mut self, frames: &[crate::Frame], now: Option<u64>) {
        self.pending.clear();
        self.ends.clear();
        for frame in frames {
            let nanos = self.calendar.nanos_at(now.unwrap_or(frame.stamp));
            record(&mut self.pending, nanos, frame.bytes(), self.octets);
            self.ends.push(self.pending.len());
        }
    }

    /// Keep the first so many of what was prepared.
    fn keep(&mut self, records: usize) {
        let mut page = self.pages.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut begin = 0;
        for &end in &self.ends[..records] {
            page.add(&self.pending[begin..end]);
            begin = end;
        }
    }
}

impl<P: Port> Port for Capture<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let first = into.len();
        let got = self.port.receive(pool, into)?;
        if got > 0 {
            self.prepare(&into[first..], None);
            self.keep(self.ends.len());
        }
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let before = burst.len();
        if before == 0 {
            return self.port.transmit(pool, burst);
        }
        let now = self.clock.now();
        self.prepare(burst, Some(now));
        let sent = self.port.transmit(pool, burst)?;
        self.keep(before - burst.len());
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        self.port.counters()
    }

    fn facts(&self) -> PortFacts {
        self.port.facts()
    }
}

/// Magic of nanosecond files in the writer's byte order, version 2.4, no time zone, length limit, Ethernet.
fn file_header(octets: usize) -> Vec<u8> {
    let mut header = Vec::with_capacity(24);
    for word in [0xa1b2_3c4d, u32::from_ne_bytes(version()), 0, 0, octets as u32, 1] {
        header.extend(u32::to_ne_bytes(word));
    }
    header
}

fn version() -> [u8; 4] {
    let ([a, b], [c, d]) = (2u16.to_ne_bytes(), 4u16.to_ne_bytes());
    [a, b, c, d]
}

fn record(to: &mut Vec<u8>, nanos: u64, bytes: &[u8], limit: usize) {
    let kept = &bytes[..bytes.len().min(limit)];
    for word in [nanos / 1_000_000_000, nanos % 1_000_000_000, kept.len() as u64, bytes.len() as u64] {
        to.extend((word as u32).to_ne_bytes());
    }
    to.extend(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{LinkPort, Steer, link};
    use crate::{PoolConfig, burst};

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks(4).map(|w| u32::from_ne_bytes(w.try_into().unwrap())).collect()
    }

    /// First octet, kept and whole length of each record, after the header was looked at.
    fn records(file: &[u8], limit: u32) -> Vec<(u8, u32, u32)> {
        assert_eq!(words(&file[..24]), [0xa1b2_3c4d, u32::from_ne_bytes(version()), 0, 0, limit, 1]);
        let (mut at, mut last, mut all) = (24, 0, Vec::new());
        while at < file.len() {
            let header = words(&file[at..at + 16]);
            let nanos = header[0] as u64 * 1_000_000_000 + header[1] as u64;
            assert!(nanos >= last && nanos > 1_600_000_000_000_000_000);
            last = nanos;
            let kept = &file[at + 16..at + 16 + header[2] as usize];
            assert!(kept.iter().all(|b| *b == kept[0]));
            all.push((kept[0], header[2], header[3]));
            at += 16 + header[2] as usize;
        }
        all
    }

    fn rig(frames: usize) -> (Pool, Capture<LinkPort>, LinkPort, Pages) {
        let clock = Clock::system();
        let pool = Pool::single(PoolConfig::compact(1, 16, 200)).unwrap();
        let (mut a, mut b) = link("t", clock, 8, (1, Steer::First), (1, Steer::First));
        let (a, pages) = Capture::new(a.remove(0), Scope { octets: 64, frames }, clock);
        (pool, a, b.remove(0), pages)
    }

    fn send(pool: &mut Pool, port: &mut impl Port, value: u8, len: usize) {
        let mut frames = burst();
        let mut frame = pool.alloc(len).unwrap();
        frame.bytes_mut().fill(value);
        frames.push(frame);
        port.transmit(pool, &mut frames).unwrap();
    }

    #[test]
    fn both_directions_are_in_the_file_in_order_and_cut_to_the_limit() {
        let (mut pool, mut a, mut b, pages) = rig(10);
        send(&mut pool, &mut a, 1, 60);
        send(&mut pool, &mut a, 2, 100);
        let mut frames = burst();
        b.receive(&mut pool, &mut frames).unwrap();
        b.transmit(&mut pool, &mut frames).unwrap();
        a.receive(&mut pool, &mut frames).unwrap();
        let (file, count) = pages.turn();
        assert_eq!(count, 4);
        assert_eq!(records(&file, 64), [(1, 60, 60), (2, 64, 100), (1, 60, 60), (2, 64, 100)]);
    }

    #[test]
    fn the_first_and_the_last_frames_of_each_page_are_kept() {
        let (mut pool, mut a, mut b, pages) = rig(5);
        for (frames, kept) in [(12, vec![0, 1, 2, 10, 11]), (4, vec![0, 1, 2, 3]), (0, vec![])] {
            for value in 0..frames {
                send(&mut pool, &mut a, value, 60 + value as usize);
                let mut back = burst();
                b.receive(&mut pool, &mut back).unwrap();
                pool.free_all(&mut back);
            }
            let (file, count) = pages.turn();
            let seen: Vec<u8> = records(&file, 64).iter().map(|r| r.0).collect();
            assert_eq!((seen, count), (kept.clone(), kept.len()));
        }
    }

    #[test]
    fn what_was_not_sent_is_not_captured() {
        struct Stuck;
        impl Port for Stuck {
            fn receive(&mut self, _: &mut Pool, _: &mut Burst) -> Result<usize, PortError> {
                Ok(0)
            }
            fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
                pool.free(burst.remove(0));
                Ok(Sent { accepted: 1, refused: 0 })
            }
            fn counters(&mut self) -> Counters {
                Counters::default()
            }
            fn facts(&self) -> PortFacts {
                PortFacts::default()
            }
        }
        let mut pool = Pool::single(PoolConfig::compact(1, 4, 60)).unwrap();
        let (mut port, pages) = Capture::new(Stuck, Scope { octets: 60, frames: 8 }, Clock::system());
        let mut frames = burst();
        frames.extend([pool.alloc(60).unwrap(), pool.alloc(60).unwrap()]);
        port.transmit(&mut pool, &mut frames).unwrap();
        let (file, count) = pages.turn();
        assert_eq!((count, file.len()), (1, 24 + 16 + 60));
    }
}
