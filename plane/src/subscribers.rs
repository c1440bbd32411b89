//! Customers that are one subscriber for quotas and port blocks: all behind a softwire of an AFTR
//! (RFC 6333, section 8.3; RFC 6888, section 2), all in a prefix of a NAT64 or NAT66.

use crate::hash::Hasher;
use crate::table::{Index, Slab};
use arena::{ArenaError, Array, AtomicArray};
use std::sync::Arc;
use wire::Prefix4;

/// Subscribers numbered above zero.
pub(crate) struct Subscribers {
    ends: Slab<u128>,
    index: Index,
    hasher: Hasher,
    customers: Array<u32>,
    /// Subscriber of each customer, for the NAT.
    of: Arc<AtomicArray>,
    numbers: Prefix4,
}

impl Subscribers {
    /// Room for as many subscribers as customers.
    pub(crate) fn new(capacity: u64, numbers: Prefix4, seed: u64) -> Result<Subscribers, ArenaError> {
        let what = "the subscribers that are counted";
        Ok(Subscribers {
            ends: Slab::new(what, capacity, 0)?,
            index: Index::new(what, capacity)?,
            hasher: Hasher::new(seed ^ 0x7375_6273),
            customers: Array::filled(what, capacity as usize, 0)?,
            of: Arc::new(AtomicArray::zeroed(what, numbers.count() as usize)?),
            numbers,
        })
    }

    fn hash(&self, end: u128) -> u64 {
        self.hasher.pair((end >> 64) as u64, end as u64)
    }

    pub(crate) fn bytes_for(capacity: u64) -> u64 {
        // The prefix of the numbers has up to twice as many addresses.
        capacity * (16 + 4 + 4 + 2 * 8) + Index::bytes_for(capacity)
    }

    pub(crate) fn of(&self) -> Arc<AtomicArray> {
        Arc::clone(&self.of)
    }

    /// `end` is the softwire, or begins the prefix.
    #[cold]
    pub(crate) fn add(&mut self, number: u32, end: u128) {
        let hash = self.hash(end);
        let e = self.index.find(hash, |e| self.ends[e] == end).or_else(|| {
            let e = self.ends.take(end)?;
            self.index.insert(hash, e);
            self.customers[e as usize] = 0;
            Some(e)
        });
        // No more subscribers than customers.
        let Some(e) = e else { return };
        self.customers[e as usize] += 1;
        self.of.store(self.place(number), u64::from(e) + 1);
    }

    /// The subscriber's number; `None` without numbered customers.
    pub(crate) fn known(&self, end: u128) -> Option<u32> {
        self.index.find(self.hash(end), |e| self.ends[e] == end).map(|e| e + 1)
    }

    pub(crate) fn end(&mut self, number: u32) {
        let place = self.place(number);
        let Some(e) = self.of.load(place).checked_sub(1).map(|e| e as u32) else { return };
        self.of.store(place, 0);
        self.customers[e as usize] -= 1;
        if self.customers[e as usize] == 0 {
            self.index.remove(self.hash(self.ends[e]), e);
            self.ends.give_back(e);
        }
    }

    /// Entries become valid when their number is assigned again.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.index.clear();
    }

    fn place(&self, number: u32) -> usize {
        (number & !self.numbers.mask()) as usize
    }
}

pub(crate) fn prefix(addr: u128, len: u8) -> u128 {
    addr & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}
