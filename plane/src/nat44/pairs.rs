//! The outside address of each customer that has mappings (RFC 4787, REQ-2), known to all workers.
//! If other customers have taken all cells of a customer, it keeps its first choice while that has room.

use super::config::{Config, Mapping, Pooling};
use crate::hash::Hasher;
use arena::{ArenaError, AtomicArray};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use wire::Prefix4;

/// Cells that a customer may use: a cache line.
const LINE: usize = 8;
const LEAST_CELLS: u64 = 1 << 13;
/// 32 MiB.
const MOST_CELLS: u64 = 1 << 22;
const GENERATIONS: u64 = 256;
/// Generations by which one worker may be ahead of another.
const AHEAD: u64 = 64;

/// Of a cell, from the highest bit: 22 bits of the customer, 8 of the generation, 16 of the
/// address's number, 18 of the number of mappings.
const MAPPINGS: u64 = (1 << 18) - 1;
const ADDRESS_SHIFT: u32 = 18;
const OWNER_SHIFT: u32 = 34;

pub(super) struct Pairs {
    cells: Arc<AtomicArray>,
    /// Whether several workers use the cells.
    pub shared: bool,
    salt: u32,
    generation: u64,
}

/// Where a mapping is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub address: u32,
    /// Whether the customer had no mapping.
    pub is_new: bool,
}

impl Pairs {
    /// `None` where customers have no choice, or each of their mappings has.
    pub(super) fn new(config: &Config, workers: usize, hasher: Hasher) -> Result<Option<Pairs>, ArenaError> {
        let Some(cells) = cells(config) else { return Ok(None) };
        let cells = Arc::new(AtomicArray::zeroed("the outside addresses of customers", cells as usize)?);
        let shared = workers > 1 && config.numbered.is_none();
        Ok(Some(Pairs { cells, shared, salt: hasher.one(3) as u32, generation: 0 }))
    }

    /// The memory of all workers.
    pub(super) fn bytes_for(config: &Config, workers: usize) -> u64 {
        let tables = if config.numbered.is_some() { workers as u64 } else { 1 };
        cells(config).map_or(0, |n| n * 8 * tables)
    }

    /// Uses the cells of another worker with the same configuration and seed.
    pub(super) fn share(&mut self, other: &Pairs) {
        self.cells = Arc::clone(&other.cells);
    }

    /// First cell, and the customer with the generation.
    #[inline]
    fn place(&self, customer: u32) -> (usize, u64) {
        let lines = self.cells.len() / LINE;
        let mixed = mix(customer ^ self.salt);
        let owner = u64::from(mixed >> lines.trailing_zeros());
        ((mixed as usize & (lines - 1)) * LINE, owner * GENERATIONS + self.generation)
    }

    #[inline]
    pub(super) fn prefetch(&self, customer: u32) {
        self.cells.prefetch(self.place(customer).0);
    }

    #[inline]
    fn set(&self, cell: &AtomicU64, is: u64, to: u64) -> Result<u64, u64> {
        if self.shared {
            return cell.compare_exchange(is, to, AcqRel, Acquire);
        }
        cell.store(to, Relaxed);
        Ok(is)
    }

    /// Counts a mapping at the customer's address; at the wanted one if the customer has none.
    #[inline]
    pub(super) fn join(&self, customer: u32, wanted: u32) -> Place {
        let (first, owner) = self.place(customer);
        let cells = &self.cells.words()[first..first + LINE];
        loop {
            let mut free = None;
            let mut known = None;
            for cell in cells {
                let is = cell.load(Acquire);
                if is & MAPPINGS != 0 && is >> OWNER_SHIFT == owner {
                    known = Some((cell, is));
                    break;
                }
                if is & MAPPINGS == 0 || self.is_old(is) {
                    free = free.or(Some((cell, is)));
                }
            }
            let is_new = known.is_none();
            let Some((cell, is)) = known.or(free) else { return Place { address: wanted, is_new: true } };
            let to = if is_new { owner << OWNER_SHIFT | u64::from(wanted) << ADDRESS_SHIFT | 1 } else { is + 1 };
            if self.set(cell, is, to).is_ok() {
                return Place { address: (to >> ADDRESS_SHIFT) as u32 & 0xffff, is_new };
            }
        }
    }

    /// A mapping has ended, or was not made.
    #[inline]
    pub(super) fn leave(&self, customer: u32, address: u32) {
        let (first, owner) = self.place(customer);
        let own = owner << (OWNER_SHIFT - ADDRESS_SHIFT) | u64::from(address);
        for cell in &self.cells.words()[first..first + LINE] {
            let mut is = cell.load(Acquire);
            while is >> ADDRESS_SHIFT == own && is & MAPPINGS != 0 {
                match self.set(cell, is, is - 1) {
                    Ok(_) => return,
                    Err(now) => is = now,
                }
            }
        }
    }

    /// Another worker that has already cleared is ahead.
    #[inline]
    fn is_old(&self, cell: u64) -> bool {
        (cell >> OWNER_SHIFT).wrapping_sub(self.generation) % GENERATIONS >= AHEAD
    }

    /// Cells of older generations are free, and emptied before they look new again.
    pub(super) fn clear(&mut self) {
        self.generation = (self.generation + 1) % GENERATIONS;
        if self.generation.is_multiple_of(AHEAD) {
            for cell in self.cells.words() {
                let is = cell.load(Acquire);
                if is & MAPPINGS != 0 && self.is_old(is) {
                    // Failing, another worker has renewed it.
                    let _ = self.set(cell, is, 0);
                }
            }
        }
    }
}

fn cells(config: &Config) -> Option<u64> {
    let paired = config.pooling == Pooling::Paired && config.mapping == Mapping::EndpointIndependent;
    let customers = config.inside.iter().map(Prefix4::count).sum::<u64>().min(config.sessions);
    // Further addresses may come.
    paired.then(|| (2 * customers).next_power_of_two().clamp(LEAST_CELLS, MOST_CELLS))
}

/// A bijection, so that line and owner determine the customer.
#[inline]
fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Pairs {
        let cells = Arc::new(AtomicArray::zeroed("test", LEAST_CELLS as usize).unwrap());
        Pairs { cells, shared: true, salt: 7, generation: 0 }
    }

    fn new(address: u32) -> Place {
        Place { address, is_new: true }
    }

    #[test]
    fn customers_do_not_disturb_each_other() {
        let p = some();
        // No line has more than eight of 2,000 customers.
        for customer in 0..2000u32 {
            assert_eq!(p.join(!customer, customer), new(customer));
        }
        for customer in (0..2000u32).rev() {
            let known = Place { address: customer, is_new: false };
            assert_eq!(p.join(!customer, 9), known);
            // Of two mappings, and none at another address.
            for address in [customer, !customer & 0xffff, customer] {
                p.leave(!customer, address);
            }
        }
        assert!((0..p.cells.len()).all(|i| p.cells.load(i) & MAPPINGS == 0));
    }

    #[test]
    fn a_full_line_leaves_others_their_choice() {
        let p = some();
        let line = |customer: &u32| p.place(*customer).0 == 0;
        let same: Vec<u32> = (0..1_000_000).filter(line).take(9).collect();
        for (i, customer) in same.iter().enumerate() {
            assert_eq!(p.join(*customer, i as u32), new(i as u32));
        }
        assert_eq!(p.join(same[8], 5), new(5), "not noted");
        p.leave(same[8], 5);
        assert_eq!(p.join(same[5], 0), Place { address: 5, is_new: false });
    }

    #[test]
    fn workers_agree_until_each_has_cleared() {
        let (mut a, mut b) = (some(), some());
        b.share(&a);
        a.join(4, 1);
        assert_eq!(b.join(4, 2), Place { address: 1, is_new: false });
        for n in 0..2 * GENERATIONS {
            a.join(1000 + n as u32, 1);
            a.clear();
            assert_eq!(a.join(4, 3), new(3));
            b.join(4, 2);
            assert_eq!(a.join(4, 5), Place { address: 3, is_new: false }, "b has not cleared yet");
            b.clear();
            assert_eq!(b.join(4, 2), Place { address: 3, is_new: false });
        }
        let used = (0..a.cells.len()).filter(|i| a.cells.load(*i) & MAPPINGS != 0).count();
        assert!(used < 100, "{used}: old cells do not look new again");
    }
}
