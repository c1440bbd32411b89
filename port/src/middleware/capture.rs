//! Capturing: all frames of a port into a file that Wireshark and tcpdump read (classic pcap with nanoseconds). For
//! looking at what is wrong, not for measuring: writing takes time from the worker. A file that cannot be written
//! never stops a trial; the error waits until the capture is finished.

use crate::clock::Calendar;
use crate::{Burst, Clock, Counters, Pool, Port, PortError, PortFacts, Sent};
use std::io::{self, BufWriter, Write};

/// Which frames are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received ones.
    In,
    /// Those handed over, refused ones included.
    Out,
    /// All.
    Both,
}

/// What a capture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Which frames.
    pub direction: Direction,
    /// At most so many octets of each.
    pub octets: usize,
    /// At most so many frames; what comes later is passed on and not captured.
    pub frames: u64,
}

impl Default for Scope {
    /// A million whole frames of both directions.
    fn default() -> Scope {
        Scope { direction: Direction::Both, octets: 65_535, frames: 1_000_000 }
    }
}

/// A port whose frames are written down.
pub struct Capture<P, W: Write> {
    port: P,
    scope: Scope,
    clock: Clock,
    /// One moment for the whole file, so that intervals are exact.
    calendar: Calendar,
    file: BufWriter<W>,
    captured: u64,
    error: Option<io::Error>,
    /// Records of a burst on its way out: what is left of it was not sent.
    pending: Vec<u8>,
    ends: Vec<usize>,
}

const BUFFER: usize = 1 << 20;

impl<P: Port, W: Write> Capture<P, W> {
    /// Write the frames of `port` to `file`.
    pub fn new(port: P, file: W, scope: Scope, clock: Clock) -> Capture<P, W> {
        let mut file = BufWriter::with_capacity(BUFFER, file);
        let error = file.write_all(&file_header(scope.octets)).err();
        let calendar = Calendar::now(clock);
        let (pending, ends) = (Vec::with_capacity(64 << 10), Vec::with_capacity(crate::BURST));
        Capture { port, scope, clock, calendar, file, captured: 0, error, pending, ends }
    }

    /// End the file: the port inside, and how many frames are in the file.
    ///
    /// # Errors
    /// The first error there was in writing.
    pub fn finish(mut self) -> Result<(P, u64), PortError> {
        let result = match self.error.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        };
        let doing = || format!("writing a capture of {} frames", self.captured);
        result.map_err(|e| PortError::system(doing(), e, "is the disk full?"))?;
        Ok((self.port, self.captured))
    }

    fn wants(&self, direction: Direction) -> bool {
        let this_way = self.scope.direction == Direction::Both || self.scope.direction == direction;
        this_way && self.error.is_none() && self.captured < self.scope.frames
    }

    fn write(&mut self, records: usize, octets: usize) {
        self.captured += records as u64;
        if let Err(error) = self.file.write_all(&self.pending[..octets]) {
            self.error = Some(error);
        }
    }

    /// Put the records of `frames` side by side, noting where each ends.
    fn prepare(&mut self, frames: &[crate::Frame], now: Option<u64>) {
        self.pending.clear();
        self.ends.clear();
        let room = (self.scope.frames - self.captured).min(frames.len() as u64) as usize;
        for frame in &frames[..room] {
            let nanos = self.calendar.nanos_at(now.unwrap_or(frame.stamp));
            record(&mut self.pending, nanos, frame.bytes(), self.scope.octets);
            self.ends.push(self.pending.len());
        }
    }
}

impl<P: Port, W: Write + Send> Port for Capture<P, W> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let first = into.len();
        let got = self.port.receive(pool, into)?;
        if got > 0 && self.wants(Direction::In) {
            self.prepare(&into[first..], None);
            self.write(self.ends.len(), self.pending.len());
        }
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        if burst.is_empty() || !self.wants(Direction::Out) {
            return self.port.transmit(pool, burst);
        }
        let before = burst.len();
        let now = self.clock.now();
        self.prepare(burst, Some(now));
        let sent = self.port.transmit(pool, burst)?;
        let gone = (before - burst.len()).min(self.ends.len());
        if gone > 0 {
            self.write(gone, self.ends[gone - 1]);
        }
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
    use crate::link::{Steer, link};
    use crate::{PoolConfig, burst};

    /// A writer whose content survives, or that fails.
    #[derive(Clone, Default)]
    struct Memory(std::sync::Arc<std::sync::Mutex<Vec<u8>>>, bool);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks(4).map(|w| u32::from_ne_bytes(w.try_into().unwrap())).collect()
    }

    #[test]
    fn both_directions_are_in_the_file_in_order_and_cut_to_the_limit() {
        let clock = Clock::system();
        let mut pool = Pool::single(PoolConfig::compact(1, 16, 200)).unwrap();
        let (mut a, mut b) = link("t", clock, 8, (1, Steer::First), (1, Steer::First));
        let memory = Memory::default();
        let scope = Scope { octets: 64, frames: 3, ..Scope::default() };
        let mut a = Capture::new(a.remove(0), memory.clone(), scope, clock);
        let mut frames = burst();
        for (value, len) in [(1, 60), (2, 100)] {
            let mut frame = pool.alloc(len).unwrap();
            frame.bytes_mut().fill(value);
            frames.push(frame);
        }
        a.transmit(&mut pool, &mut frames).unwrap();
        b[0].receive(&mut pool, &mut frames).unwrap();
        b[0].transmit(&mut pool, &mut frames).unwrap();
        a.receive(&mut pool, &mut frames).unwrap();
        assert_eq!(a.finish().unwrap().1, 3, "the fourth is beyond the limit");

        let file = memory.0.lock().unwrap().clone();
        assert_eq!(words(&file[..24]), [0xa1b2_3c4d, u32::from_ne_bytes(version()), 0, 0, 64, 1]);
        let mut at = 24;
        let mut last = 0;
        for (value, kept, len) in [(1, 60, 60), (2, 64, 100), (1, 60, 60)] {
            let header = words(&file[at..at + 16]);
            let nanos = header[0] as u64 * 1_000_000_000 + header[1] as u64;
            assert!(nanos >= last && nanos > 1_600_000_000_000_000_000);
            last = nanos;
            assert_eq!(header[2..], [kept as u32, len]);
            assert!(file[at + 16..at + 16 + kept].iter().all(|b| *b == value));
            at += 16 + kept;
        }
        assert_eq!(at, file.len());
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
        let memory = Memory::default();
        let mut port = Capture::new(Stuck, memory.clone(), Scope::default(), Clock::system());
        let mut frames = burst();
        frames.extend([pool.alloc(60).unwrap(), pool.alloc(60).unwrap()]);
        port.transmit(&mut pool, &mut frames).unwrap();
        assert_eq!(port.finish().unwrap().1, 1);
        assert_eq!(memory.0.lock().unwrap().len(), 24 + 16 + 60);
    }

    #[test]
    fn a_full_disk_stops_the_capture_and_not_the_port() {
        let clock = Clock::system();
        let mut pool = Pool::single(PoolConfig::compact(1, 64, 1514)).unwrap();
        let (mut a, mut b) = link("t", clock, 64, (1, Steer::First), (1, Steer::First));
        let mut a = Capture::new(a.remove(0), Memory(std::sync::Arc::default(), true), Scope::default(), clock);
        let mut frames = burst();
        for _ in 0..1000 {
            frames.push(pool.alloc(1514).unwrap());
            assert_eq!(a.transmit(&mut pool, &mut frames).unwrap().accepted, 1);
            b[0].receive(&mut pool, &mut frames).unwrap();
            pool.free_all(&mut frames);
        }
        assert!(a.finish().err().unwrap().to_string().contains("disk full"));
    }
}
