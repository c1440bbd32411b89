//! Outside addresses and the ports of them that a worker may use, which determine the steering on
//! the Internet's side.

use wire::{AddrRange, PortRange, PortSet};

/// log2 of a worker's successive ports in a NAT that has all ports: steering is `port >> 6` modulo workers.
pub(super) const CHUNK_SHIFT: u32 = 6;
pub(super) const CHUNK: u32 = 64;

#[derive(Clone, Debug)]
pub(super) struct Pool {
    ranges: Vec<AddrRange>,
    size: u32,
}

impl Pool {
    pub(super) fn new(ranges: Vec<AddrRange>) -> Pool {
        let size = ranges.iter().map(|r| u64::from(r.count)).sum::<u64>() as u32;
        Pool { ranges, size }
    }
    pub(super) fn len(&self) -> u32 {
        self.size
    }
    #[inline]
    pub(super) fn number(&self, addr: u32) -> Option<u32> {
        let mut before = 0;
        for r in &self.ranges {
            let i = addr.wrapping_sub(u32::from(r.first));
            if i < r.count {
                return Some(before + i);
            }
            before += r.count;
        }
        None
    }
    #[inline]
    pub(super) fn contains(&self, addr: u32) -> bool {
        self.ranges.iter().any(|r| addr.wrapping_sub(u32::from(r.first)) < r.count)
    }
    #[inline]
    pub(super) fn addr(&self, mut number: u32) -> u32 {
        for r in &self.ranges {
            if number < r.count {
                return u32::from(r.first) + number;
            }
            number -= r.count;
        }
        u32::from(self.ranges[0].first)
    }
}

/// Ports of a set are numbered without gaps; a worker has every `workers`-th run of numbers. Its
/// runs in a row are its *places*, which bitmaps and random draws use.
#[derive(Clone, Copy, Debug)]
struct Layout {
    set: PortSet,
    worker: u32,
    workers: u32,
    /// log2 of the length of a run.
    run: u32,
    /// Steering: `port >> shift` modulo workers.
    shift: u32,
    first: u32,
    /// One worker: a place is its port.
    plain: bool,
}

impl Layout {
    /// A set without offset is one range, divided into runs of 64, or fewer if some worker would
    /// get none. In other sets each range is a run (RFC 7597, appendix B: the bits A of a port).
    fn new(set: PortSet, worker: usize, workers: usize) -> Layout {
        let (worker, workers) = (worker as u32, workers as u32);
        let row = u32::from(16 - set.offset - set.len);
        let (run, shift, before) = if set.offset == 0 {
            let run = CHUNK_SHIFT.min(row.saturating_sub(workers.next_power_of_two().trailing_zeros()).max(row.min(1)));
            (run, run, u32::from(set.psid) << (row - run))
        } else {
            (row, u32::from(16 - set.offset), 1)
        };
        let first = (worker + workers - before % workers) % workers;
        Layout { set, worker, workers, run, shift, first, plain: set == PortSet::ALL && workers == 1 }
    }

    #[inline]
    fn owner(&self, port: u16) -> u32 {
        (u32::from(port) >> self.shift) % self.workers
    }

    #[inline(always)]
    fn port(&self, place: u32) -> u16 {
        if self.plain {
            return place as u16;
        }
        let run = self.first + (place >> self.run) * self.workers;
        self.set.nth((run << self.run) | (place & ((1 << self.run) - 1)))
    }

    #[inline(always)]
    fn place(&self, port: u16) -> Option<u32> {
        if self.plain {
            return Some(port.into());
        }
        let number = self.set.index_of(port)?;
        let run = (number >> self.run).wrapping_sub(self.first);
        // Without division for one worker.
        let ours = if self.workers == 1 { run } else { run / self.workers };
        let mine = self.workers == 1 || self.owner(port) == self.worker;
        mine.then_some((ours << self.run) | (number & ((1 << self.run) - 1)))
    }

    /// `limit` ≤ 65,536.
    fn places_below(&self, limit: u32) -> u32 {
        let number = below(self.set, limit);
        let run = number >> self.run;
        let whole = run.saturating_sub(self.first).div_ceil(self.workers) << self.run;
        let started = run >= self.first && (run - self.first).is_multiple_of(self.workers);
        whole + if started { number & ((1 << self.run) - 1) } else { 0 }
    }
}

/// `limit` ≤ 65,536.
pub(super) fn below(set: PortSet, limit: u32) -> u32 {
    let row = u32::from(16 - set.offset - set.len);
    let period = u32::from(16 - set.offset);
    let (rows, rest) = (limit >> period, limit & ((1 << period) - 1));
    let in_row = rest.saturating_sub(u32::from(set.psid) << row).min(1 << row);
    match set.offset {
        0 => (rows << row) + in_row,
        _ if rows == 0 => 0,
        _ => ((rows - 1) << row) + in_row,
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    layout: Layout,
    /// First place of the share, and one past the last.
    start: u32,
    end: u32,
}

impl Ports {
    /// One worker's share of the ports `first ..= last` of a set.
    pub(super) fn new(set: PortSet, first: u16, last: u16, worker: usize, workers: usize) -> Ports {
        // Without a PSID, an offset only excludes the lowest ports.
        let (set, least) = match set.len {
            0 if set.offset > 0 => (PortSet::ALL, (1u32 << (16 - set.offset)) as u16),
            _ => (set, 0),
        };
        let layout = Layout::new(set, worker, workers);
        let start = layout.places_below(first.max(least).into());
        let end = layout.places_below(u32::from(last) + 1);
        Ports { layout, start, end: end.max(start) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(super) fn count(&self) -> u32 {
        self.end - self.start
    }

    /// log2 of the successive ports that steering gives a worker.
    pub(super) fn shift(&self) -> u32 {
        self.layout.shift
    }

    #[inline]
    pub(super) fn place(&self, port: u16) -> Option<u32> {
        self.layout.place(port).filter(|p| (self.start..self.end).contains(p))
    }

    #[inline]
    pub(super) fn owns(&self, port: u16) -> bool {
        self.place(port).is_some()
    }

    #[inline]
    pub(super) fn owner(&self, port: u16) -> u32 {
        self.layout.owner(port)
    }

    #[inline]
    pub(super) fn port(&self, place: u32) -> u16 {
        self.layout.port(place)
    }

    /// Pseudo-random, over all ports of the share in the next power of two of steps. `None` for
    /// steps outside the range.
    #[inline]
    pub(super) fn walk(&self, hash: u64, k: u32) -> Option<u16> {
        let mask = self.count().checked_next_power_of_two()?.wrapping_sub(1);
        let i = (hash as u32).wrapping_add(k.wrapping_mul((hash >> 32) as u32 | 1)) & mask;
        // Hosts prefer contiguous runs of hundreds of ports: no stride may stay in one.
        let half = mask.count_ones().div_ceil(2).max(1);
        let i = ((i ^ i >> half).wrapping_mul(0x9e37_79b1)) & mask;
        let i = i ^ i >> half;
        (i < self.count()).then(|| self.port(self.start + i))
    }

    /// Chunk i has the places 64 i to 64 i + 63.
    pub(super) fn first_chunk(&self) -> u32 {
        self.start / CHUNK
    }

    pub(super) fn chunks(&self) -> u32 {
        if self.is_empty() { 0 } else { (self.end - 1) / CHUNK + 1 - self.first_chunk() }
    }

    /// A bit for each place in the range.
    pub(super) fn chunk(&self, chunk: u32) -> u64 {
        let upto = |place: u32| match place.saturating_sub(chunk * CHUNK) {
            n @ 0..CHUNK => (1u64 << n) - 1,
            _ => u64::MAX,
        };
        upto(self.end) & !upto(self.start)
    }

    /// Places of one parity; all bits if the set's ports have one parity.
    pub(super) fn parity(&self, odd: bool) -> u64 {
        let single = self.layout.set.offset + self.layout.set.len == 16;
        match odd {
            _ if single => u64::MAX,
            true => 0xaaaa_aaaa_aaaa_aaaa,
            false => 0x5555_5555_5555_5555,
        }
    }
}

/// Ports by the classes of RFC 4787, REQ-3a.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortClasses {
    low: Ports,
    high: Ports,
    pub all: Ports,
}

impl PortClasses {
    /// One worker's share.
    pub(super) fn new(
        PortRange { first, last }: PortRange,
        set: PortSet,
        worker: usize,
        workers: usize,
    ) -> PortClasses {
        let ports = |first, last| Ports::new(set, first, last, worker, workers);
        PortClasses { low: ports(first, last.min(1023)), high: ports(first.max(1024), last), all: ports(first, last) }
    }

    /// The ports of a customer's port's class, if there are any.
    #[inline]
    pub(super) fn class(&self, inside: u16) -> &Ports {
        let (own, other) = if inside < 1024 { (&self.low, &self.high) } else { (&self.high, &self.low) };
        if own.is_empty() { other } else { own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ports, ranges of 8192 and of 4, runs shorter than a chunk, single ports, an offset alone.
    const SETS: [PortSet; 7] = [
        PortSet::ALL,
        PortSet { offset: 0, len: 3, psid: 3 },
        PortSet { offset: 6, len: 8, psid: 0x34 },
        PortSet { offset: 4, len: 2, psid: 1 },
        PortSet { offset: 0, len: 11, psid: 77 },
        PortSet { offset: 4, len: 12, psid: 1000 },
        PortSet { offset: 3, len: 0, psid: 0 },
    ];

    #[test]
    fn workers_share_out_every_port_of_a_set_once() {
        for set in SETS {
            for (first, last) in [(1024u16, 65535u16), (1, 65535), (0, 65535), (1000, 5000), (4000, 4010)] {
                for workers in [1usize, 2, 3, 7] {
                    let mut owned = vec![0; 65536];
                    for w in 0..workers {
                        let p = Ports::new(set, first, last, w, workers);
                        let mut places = 0;
                        for chunk in p.first_chunk()..p.first_chunk() + p.chunks() {
                            let bits = p.chunk(chunk);
                            for place in (0..64).filter(|k| bits >> k & 1 == 1).map(|k| chunk * 64 + k) {
                                let port = p.port(place);
                                owned[port as usize] += 1;
                                places += 1;
                                assert!(p.owns(port) && p.place(port) == Some(place));
                                assert_eq!((usize::from(port) >> p.shift()) % workers, w, "as links steer");
                                if set.offset + set.len < 16 {
                                    assert_eq!(p.parity(port & 1 == 1) >> (place & 63) & 1, 1);
                                }
                            }
                        }
                        assert_eq!(places, p.count());
                    }
                    for port in 0..=65535u16 {
                        let is = (first..=last).contains(&port) && set.contains(port);
                        assert_eq!(owned[port as usize], i32::from(is), "{port} of {set:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn ports_below_a_limit_are_counted() {
        for set in SETS {
            let mut n = 0;
            for limit in 0..=65536u32 {
                assert_eq!(below(set, limit), n, "{limit} of {set:?}");
                n += u32::from(limit < 65536 && set.contains(limit as u16));
            }
        }
    }

    #[test]
    fn small_sets_have_shorter_runs_so_that_each_worker_gets_ports() {
        let of = |len, workers: usize| {
            let set = PortSet { offset: 0, len, psid: 1 };
            let all: Vec<u32> = (0..workers).map(|w| Ports::new(set, 0, 65535, w, workers).count()).collect();
            (Ports::new(set, 0, 65535, 0, workers).shift(), all)
        };
        assert_eq!(of(3, 2), (6, vec![4096, 4096]));
        assert_eq!(of(9, 2), (6, vec![64, 64]));
        assert_eq!(of(10, 2), (5, vec![32, 32]));
        assert_eq!(of(12, 3), (2, vec![4, 8, 4]));
    }

    #[test]
    fn a_walk_comes_by_every_port_once() {
        for set in SETS {
            for (first, last, workers) in
                [(1000u16, 1500u16, 3usize), (1024, 65535, 1), (4000, 4003, 1), (1024, 65535, 5)]
            {
                let p = Ports::new(set, first, last, 1 % workers, workers);
                let all = (first..=last).filter(|&q| p.owns(q)).count();
                for hash in [0, 0x1234_5678_9abc_def0, u64::MAX] {
                    let steps = if p.count() == 0 { 1 } else { p.count().next_power_of_two() };
                    let seen: std::collections::BTreeSet<_> = (0..steps).filter_map(|k| p.walk(hash, k)).collect();
                    assert!(seen.iter().all(|&q| p.owns(q)));
                    assert_eq!((seen.len(), all), (p.count() as usize, p.count() as usize));
                }
            }
        }
        assert_eq!(Ports::new(PortSet::ALL, 10, 5, 0, 1).walk(7, 7), None);
    }

    /// Many hosts that prefer the same thousand ports have taken them all: with every stride, the next steps lead
    /// elsewhere.
    #[test]
    fn no_walk_stays_among_neighbours() {
        let p = Ports::new(PortSet::ALL, 1024, 65535, 0, 1);
        for stride in [1u64, 3, 5, 0x7fff, 0x8001, 0xfffd, 0xffff] {
            for start in [0, 500, 1023] {
                let ports: Vec<u16> = (0..64).filter_map(|k| p.walk(stride << 32 | start, k)).collect();
                let near = ports.iter().filter(|&&q| ports.iter().any(|&o| o != q && o.abs_diff(q) < 64)).count();
                let elsewhere = ports.iter().filter(|&&q| q >= 2048).count();
                assert!(elsewhere > 48 && near < 48, "stride {stride:#x} from {start}: {ports:?}");
            }
        }
    }

    #[test]
    fn pool_numbers_are_a_bijection_over_separate_ranges() {
        let pool = vec![
            AddrRange { first: [192, 0, 2, 1].into(), count: 3 },
            AddrRange { first: [198, 51, 100, 7].into(), count: 2 },
        ];
        let p = Pool::new(pool);
        assert_eq!(p.len(), 5);
        assert!((0..5).all(|i| p.number(p.addr(i)) == Some(i) && p.contains(p.addr(i))));
        assert_eq!(p.number(u32::from_be_bytes([192, 0, 2, 4])), None);
    }
}
