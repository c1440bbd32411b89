//! Identifications of IPv4 packets that share an outside address: hosts choose theirs
//! independently, and reassembly may mix equal ones (RFC 6864, sections 4.3 and 5.2).

use crate::hash::Hasher;
use wire::PortSet;

/// Identifications in a seeded order, each once before the first repeats.
#[derive(Clone, Debug)]
pub(super) struct Identifications {
    set: PortSet,
    /// First number, and the distance to the next.
    first: u32,
    apart: u32,
    /// Count, present position, and the step to the next.
    count: u32,
    at: u32,
    step: u32,
}

impl Identifications {
    /// A worker's part; if a set has fewer numbers than workers, some share one.
    pub(super) fn new(set: PortSet, worker: usize, workers: usize, hasher: Hasher) -> Identifications {
        // Without a PSID no other gateway uses the rest.
        let set = if set.len == 0 { PortSet::ALL } else { set };
        let (all, worker, workers) = (set.count().max(1), worker as u32, workers as u32);
        let count = (all / workers).max(1);
        let hash = hasher.one(u64::from(worker) << 32 | 0x6964);
        let step = ((hash >> 32) as u32 % count..=count + 1).find(|s| gcd(*s, count) == 1).unwrap_or(1);
        Identifications { set, first: worker % all, apart: workers, count, at: hash as u32 % count, step: step % count }
    }

    #[inline]
    pub(super) fn draw(&mut self) -> u16 {
        self.at += self.step;
        if self.at >= self.count {
            self.at -= self.count;
        }
        self.set.nth(self.first + self.at * self.apart)
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn workers_share_a_set_out_and_come_by_each_once() {
        let rows = PortSet { offset: 6, len: 8, psid: 0x34 };
        for set in [PortSet::ALL, rows, PortSet { offset: 0, len: 3, psid: 3 }, PortSet { offset: 4, len: 12, psid: 7 }]
        {
            for workers in [1, 2, 3, 8] {
                let mut seen = HashSet::new();
                for w in 0..workers {
                    let mut ids = Identifications::new(set, w, workers, Hasher::new(7));
                    for _ in 0..set.count() / workers as u32 {
                        let id = ids.draw();
                        assert!(set.contains(id) && seen.insert(id), "{id} of {set:?}, {workers} workers");
                    }
                }
                assert!(seen.len() > set.count() as usize - workers);
            }
        }
        let few = PortSet { offset: 0, len: 16, psid: 9 };
        assert_eq!(Identifications::new(few, 3, 4, Hasher::new(7)).draw(), 9);
    }
}
