//! Outside addresses and the ports that a worker may use of them. Apart from mappings, because both mapping
//! behaviours choose from the same numbers, and because steering on the Internet's side follows from them.

use super::config::Config;
use wire::AddrRange;

/// log2 of the ports that one worker owns in a row: the steering of the Internet's side is `port >> 6` modulo workers.
pub const CHUNK_SHIFT: u32 = 6;
/// Ports of a chunk.
pub const CHUNK: u32 = 1 << CHUNK_SHIFT;

/// The outside addresses, numbered.
#[derive(Clone, Debug)]
pub struct Pool {
    ranges: Vec<AddrRange>,
    size: u32,
}

impl Pool {
    /// The pool of a checked configuration.
    pub fn new(config: &Config) -> Pool {
        Pool { ranges: config.pool.clone(), size: config.pool_size() as u32 }
    }
    /// How many addresses.
    pub fn len(&self) -> u32 {
        self.size
    }
    /// Number of an address.
    #[inline]
    pub fn number(&self, addr: u32) -> Option<u32> {
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
    /// Whether an address is one of them.
    #[inline]
    pub fn contains(&self, addr: u32) -> bool {
        self.ranges.iter().any(|r| addr.wrapping_sub(u32::from(r.first)) < r.count)
    }
    /// Address of a number.
    #[inline]
    pub fn addr(&self, mut number: u32) -> u32 {
        for r in &self.ranges {
            if number < r.count {
                return u32::from(r.first) + number;
            }
            number -= r.count;
        }
        u32::from(self.ranges[0].first)
    }
}

/// A range of ports, of which this worker owns every `workers`-th chunk.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    first: u16,
    last: u16,
    worker: u32,
    workers: u32,
    /// First chunk that is ours, and how many.
    chunk: u32,
    chunks: u32,
    /// Ports of our first chunk that lie before the range, and how many are left in all.
    lead: u32,
    count: u32,
}

impl Ports {
    /// The share of one worker of the ports `first ..= last`.
    pub fn new(first: u16, last: u16, worker: usize, workers: usize) -> Ports {
        let (worker, workers) = (worker as u32, workers as u32);
        let (low, high) = (u32::from(first) >> CHUNK_SHIFT, u32::from(last) >> CHUNK_SHIFT);
        let chunk = low + (worker + workers - low % workers) % workers;
        let chunks = if first > last || chunk > high { 0 } else { (high - chunk) / workers + 1 };
        let mut p = Ports { first, last, worker, workers, chunk, chunks, lead: 0, count: 0 };
        if chunks > 0 {
            p.lead = p.chunk(0).1.trailing_zeros();
            p.count = chunks * CHUNK - p.lead - p.chunk(chunks - 1).1.leading_zeros();
        }
        p
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks == 0
    }

    /// Whether a port is in the range and ours.
    #[inline]
    pub fn owns(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port) && self.owner(port) == self.worker
    }

    /// The worker that a port belongs to.
    #[inline]
    pub fn owner(&self, port: u16) -> u32 {
        (u32::from(port) >> CHUNK_SHIFT) % self.workers
    }

    /// Our port number `i` < count.
    #[inline]
    pub fn nth(&self, i: u32) -> u16 {
        let l = i + self.lead;
        (((self.chunk + (l >> CHUNK_SHIFT) * self.workers) << CHUNK_SHIFT) | (l & (CHUNK - 1))) as u16
    }

    /// The `k`-th port of a pseudo-random walk that comes by every port of ours once in as many steps as the next power of
    /// two has; `None` for steps beside the road.
    #[inline]
    pub fn walk(&self, hash: u64, k: u32) -> Option<u16> {
        let mask = self.count.checked_next_power_of_two()?.wrapping_sub(1);
        let i = (hash as u32).wrapping_add(k.wrapping_mul((hash >> 32) as u32 | 1)) & mask;
        (i < self.count).then(|| self.nth(i))
    }

    /// Chunks of ours, counted from 0.
    pub fn chunks(&self) -> u32 {
        self.chunks
    }

    /// First port of our chunk number `i`, and a bit for each of its ports that lies in the range.
    pub fn chunk(&self, i: u32) -> (u16, u64) {
        let base = (self.chunk + i * self.workers) << CHUNK_SHIFT;
        let low = u32::from(self.first).saturating_sub(base).min(64);
        let high = (u32::from(self.last) + 1).saturating_sub(base).min(64);
        let upto = |n: u32| if n == 64 { u64::MAX } else { (1 << n) - 1 };
        (base as u16, upto(high) & !upto(low))
    }

    /// Number of the chunk of ours that a port lies in.
    pub fn chunk_of(&self, port: u16) -> u32 {
        ((u32::from(port) >> CHUNK_SHIFT) - self.chunk) / self.workers
    }
}

/// The ports of a NAT, by the class that RFC 4787, REQ-3a, keeps apart.
#[derive(Clone, Copy, Debug)]
pub struct PortClasses {
    low: Ports,
    high: Ports,
    /// Both together.
    pub all: Ports,
}

impl PortClasses {
    /// The share of one worker.
    pub fn new(config: &Config, worker: usize, workers: usize) -> PortClasses {
        let (first, last) = (config.ports.first, config.ports.last);
        PortClasses {
            low: Ports::new(first, last.min(1023), worker, workers),
            high: Ports::new(first.max(1024), last, worker, workers),
            all: Ports::new(first, last, worker, workers),
        }
    }

    /// The ports for a customer's port: of its own class if there is one.
    #[inline]
    pub fn class(&self, inside: u16) -> &Ports {
        let (own, other) = if inside < 1024 { (&self.low, &self.high) } else { (&self.high, &self.low) };
        if own.is_empty() { other } else { own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_out_every_port_once() {
        for (first, last) in [(1024u16, 65535u16), (1, 65535), (1000, 5000), (4000, 4010)] {
            for workers in [1usize, 2, 3, 7] {
                let mut owned = vec![0; 65536];
                for w in 0..workers {
                    let p = Ports::new(first, last, w, workers);
                    for i in 0..p.chunks() {
                        let (base, bits) = p.chunk(i);
                        for k in (0..64u16).filter(|k| bits >> k & 1 == 1) {
                            owned[(base + k) as usize] += 1;
                            assert!(p.owns(base + k) && p.chunk_of(base + k) == i);
                            assert_eq!(usize::from((base + k) >> 6) % workers, w);
                        }
                    }
                }
                for port in 0..=65535u16 {
                    assert_eq!(owned[port as usize], i32::from((first..=last).contains(&port)), "{port}");
                }
            }
        }
    }

    #[test]
    fn a_walk_comes_by_every_port_once() {
        for (first, last, workers) in [(1000u16, 1500u16, 3usize), (1024, 65535, 1), (4000, 4003, 1), (1024, 65535, 5)]
        {
            let p = Ports::new(first, last, 1 % workers, workers);
            for hash in [0, 0x1234_5678_9abc_def0, u64::MAX] {
                let seen: std::collections::BTreeSet<_> =
                    (0..p.count.next_power_of_two()).filter_map(|k| p.walk(hash, k)).collect();
                assert!(seen.iter().all(|&q| p.owns(q)));
                assert_eq!(seen.len() as u32, p.count);
                assert_eq!(seen.len(), (first..=last).filter(|&q| p.owns(q)).count());
            }
        }
        assert_eq!(Ports::new(10, 5, 0, 1).walk(7, 7), None);
    }

    #[test]
    fn pool_numbers_are_a_bijection_over_separate_ranges() {
        let side = super::super::config::SideConfig {
            mac: wire::Mac::default(),
            next_hop: wire::Mac::default(),
            address: [10, 0, 0, 1].into(),
            mtu: 1500,
        };
        let pool = vec![
            AddrRange { first: [192, 0, 2, 1].into(), count: 3 },
            AddrRange { first: [198, 51, 100, 7].into(), count: 2 },
        ];
        let p = Pool::new(&Config::new(side, side, Vec::new(), pool));
        assert_eq!(p.len(), 5);
        assert!((0..5).all(|i| p.number(p.addr(i)) == Some(i) && p.contains(p.addr(i))));
        assert_eq!(p.number(u32::from_be_bytes([192, 0, 2, 4])), None);
    }
}
