//! The dictionary of customers: an IPv6 address, or a softwire and the IPv4 address inside, ↔ a
//! number that plays the customer's IPv4 address in a NAT44 (NAT64, AFTR). Numbers never leave the
//! machine.
//!
//! Numbers lie in a prefix free of the gateway's own and outside addresses ([`numbers`]). A remote
//! host may have such an address: the side on which a packet arrives tells them apart.
//!
//! A full dictionary refuses new customers. It frees a number when its customer has had no session
//! and sent nothing for two epochs ([`crate::nat44::Nat44::epochs_without_session`]).

use crate::hash::Hasher;
use crate::subscribers::Subscribers;
use crate::table::{Guess, Index, NONE, Slab};
use arena::{ArenaError, Array};
use std::cell::Cell;
use std::net::Ipv4Addr;
use wire::{AddrRange, Prefix4};

/// What distinguishes customers.
pub trait Key: Copy + Eq + Send + 'static {
    /// A key that no customer has.
    const NONE: Self;
    /// 64 well-mixed bits.
    fn hash(&self, hasher: &Hasher) -> u64;
}

/// An IPv6 address other than the unspecified one.
impl Key for u128 {
    const NONE: u128 = 0;
    #[inline(always)]
    fn hash(&self, hasher: &Hasher) -> u64 {
        hasher.pair((self >> 64) as u64, *self as u64)
    }
}

/// A softwire's far end and an IPv4 address inside (RFC 6333, section 6.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwireHost {
    end: [u8; 16],
    inner: u32,
}

impl SoftwireHost {
    /// The customer behind `end` with the address `inner`.
    #[inline(always)]
    pub fn new(end: u128, inner: u32) -> SoftwireHost {
        SoftwireHost { end: end.to_ne_bytes(), inner }
    }
    /// Far end.
    #[inline(always)]
    pub fn end(&self) -> u128 {
        u128::from_ne_bytes(self.end)
    }
    /// IPv4 address inside.
    #[inline(always)]
    pub fn inner(&self) -> u32 {
        self.inner
    }
}

impl Key for SoftwireHost {
    const NONE: SoftwireHost = SoftwireHost { end: [0; 16], inner: 0 };
    #[inline(always)]
    fn hash(&self, hasher: &Hasher) -> u64 {
        let end = self.end();
        // Neighbours share the upper bits.
        hasher.pair((end >> 64) as u64 ^ (self.inner as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15), end as u64)
    }
}

/// The largest prefix of numbers is a /4.
pub const MOST: u64 = (1 << 28) - 1;
/// Packets from the prefetch of a bucket to that of its entry.
const BEHIND: u32 = 8;
/// Prefetched keys of a batch.
const KEPT: usize = 32;

#[derive(Clone, Copy)]
struct Lookup<K> {
    key: K,
    hash: u64,
    entry: u32,
}

/// Entries that one step checks.
const STEP: u32 = 32;
const STEP_IDLE: u32 = 512;

/// One worker's customers.
pub struct Customers<K: Key> {
    slab: Slab<K>,
    index: Index,
    hasher: Hasher,
    /// Epoch of each entry's last use.
    used: Array<u8>,
    epoch: u8,
    /// Past the last one until the next epoch begins.
    sweep: u32,
    base: u32,
    /// Entries of the permanent customers, in order.
    permanent: Vec<(u32, K)>,
    /// Prefetched keys, as a ring.
    recent: [Cell<Lookup<K>>; KEPT],
    /// Keys put, prefetched and taken so far.
    put: Cell<u32>,
    near: Cell<u32>,
    taken: Cell<u32>,
}

impl<K: Key> Customers<K> {
    /// Room for `capacity` customers. The first number is never given out.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(capacity: u64, numbers: Prefix4, seed: u64) -> Result<Customers<K>, ArenaError> {
        Customers::with_permanent(capacity, numbers, seed, Vec::new())
    }

    /// As [`Customers::new`], with permanent customers, which have the first numbers in this order.
    ///
    /// # Errors
    /// Too little memory.
    pub fn with_permanent(
        capacity: u64,
        numbers: Prefix4,
        seed: u64,
        permanent: Vec<K>,
    ) -> Result<Customers<K>, ArenaError> {
        let n = capacity.clamp(1, MOST).min(numbers.count() - 1);
        let mut new = Customers {
            slab: Slab::new("the customers", n, K::NONE)?,
            index: Index::new("the customers", n)?,
            hasher: Hasher::new(seed ^ 0x6375_7374),
            used: Array::filled("the customers", n as usize, 0)?,
            epoch: 0,
            sweep: 0,
            base: (u32::from(numbers.addr) & numbers.mask()) + 1,
            permanent: Vec::new(),
            recent: std::array::from_fn(|_| Cell::new(Lookup { key: K::NONE, hash: 0, entry: NONE })),
            put: Cell::new(0),
            near: Cell::new(0),
            taken: Cell::new(0),
        };
        new.keep(permanent.into_iter());
        Ok(new)
    }

    /// Whether there is room for these customers.
    pub(crate) fn has_room_for(&self, keys: impl Iterator<Item = K>) -> bool {
        keys.filter(|key| self.known(*key).is_none()).count() as u64
            <= u64::from(self.slab.capacity() - self.slab.len())
    }

    /// Makes these customers the permanent ones, with the numbers that they have; former ones stay
    /// until they are idle. Returns those that are new, with their numbers; `None` without room.
    pub(crate) fn keep(&mut self, keys: impl Iterator<Item = K>) -> Option<Vec<(u32, K)>> {
        let (mut permanent, mut new) = (Vec::new(), Vec::new());
        for key in keys {
            let known = self.known(key);
            let number = known.or_else(|| Some(self.base + self.add(key.hash(&self.hasher), key)?))?;
            permanent.push((number - self.base, key));
            if known.is_none() {
                new.push((number, key));
            }
        }
        permanent.sort_unstable_by_key(|(e, _)| *e);
        for (e, _) in std::mem::replace(&mut self.permanent, permanent) {
            self.touch(e);
        }
        Some(new)
    }

    /// Permanent customers, with their numbers.
    pub fn permanent(&self) -> impl Iterator<Item = (u32, K)> {
        self.permanent.iter().map(|(e, key)| (self.base + e, *key))
    }

    /// Counts the customers by subscriber; `end` tells a customer's.
    pub(crate) fn counted(&self, numbers: Prefix4, end: impl Fn(K) -> u128) -> Result<Subscribers, ArenaError> {
        let mut all = Subscribers::new(self.used.len() as u64, numbers, self.hasher.one(0))?;
        let known = (0..self.slab.touched()).map(|e| (self.base + e, self.slab[e]));
        known.filter(|(_, key)| *key != K::NONE).for_each(|(number, key)| all.add(number, end(key)));
        Ok(all)
    }

    /// Memory for `capacity` customers, the NAT's census included.
    pub fn bytes_for(capacity: u64) -> u64 {
        capacity * (size_of::<K>() as u64 + 4 + 1 + 1) + Index::bytes_for(capacity)
    }

    /// Known customers.
    pub fn count(&self) -> u32 {
        self.slab.len()
    }

    /// Number of a customer, new if it was not known; `None` when the dictionary is full.
    #[inline]
    pub fn number(&mut self, key: K) -> Option<u32> {
        self.number_if(key, || true)
    }

    /// As [`Customers::number`], but assigns a number only if `may` allows it.
    #[inline]
    pub fn number_if(&mut self, key: K, may: impl FnOnce() -> bool) -> Option<u32> {
        let asked = self.asked(key);
        let e = match asked {
            Some(a) if a.entry != NONE && self.slab[a.entry] == key => a.entry,
            _ => {
                let hash = asked.map_or_else(|| key.hash(&self.hasher), |a| a.hash);
                match self.index.find(hash, |e| self.slab[e] == key) {
                    Some(e) => e,
                    None if may() => self.add(hash, key)?,
                    None => return None,
                }
            }
        };
        self.touch(e);
        Some(self.base + e)
    }

    #[cold]
    fn add(&mut self, hash: u64, key: K) -> Option<u32> {
        debug_assert!(key != K::NONE, "this key stands for no customer");
        let e = self.slab.take(key)?;
        self.index.insert(hash, e);
        Some(e)
    }

    /// Number of a known customer.
    pub fn known(&self, key: K) -> Option<u32> {
        self.index.find(key.hash(&self.hasher), |e| self.slab[e] == key).map(|e| self.base + e)
    }

    /// Customer with a number.
    #[inline]
    pub fn customer(&self, number: u32) -> Option<K> {
        let e = number.wrapping_sub(self.base);
        if e >= self.slab.touched() {
            return None;
        }
        let key = self.slab[e];
        (key != K::NONE).then_some(key)
    }

    /// Prefetches what [`Self::number`] will read: the bucket of this key, and the entry of an
    /// earlier one. Call it for all packets of a batch before the first look-up.
    #[inline(always)]
    pub fn prefetch_key(&self, key: K) {
        let hash = key.hash(&self.hasher);
        self.index.prefetch(hash);
        let put = self.put.get();
        self.recent[put as usize % KEPT].set(Lookup { key, hash, entry: NONE });
        self.put.set(put.wrapping_add(1));
        if put.wrapping_sub(self.near.get()) >= BEHIND {
            self.bring_entry();
        }
        if put.wrapping_sub(self.taken.get()) >= KEPT as u32 {
            self.taken.set(put.wrapping_sub(KEPT as u32 - 1));
        }
    }

    #[inline(always)]
    fn bring_entry(&self) {
        let near = self.near.get();
        if near == self.put.get() {
            return;
        }
        let slot = &self.recent[near as usize % KEPT];
        let asked = slot.get();
        if let Guess::Entry(e) = self.index.guess(asked.hash) {
            self.slab.prefetch(e);
            slot.set(Lookup { entry: e, ..asked });
        }
        self.near.set(near.wrapping_add(1));
    }

    /// Skips keys that were never looked up.
    #[inline(always)]
    fn asked(&self, key: K) -> Option<Lookup<K>> {
        self.bring_entry();
        let (mut taken, put) = (self.taken.get(), self.put.get());
        while taken != put {
            let asked = self.recent[taken as usize % KEPT].get();
            taken = taken.wrapping_add(1);
            if asked.key == key {
                self.taken.set(taken);
                return Some(asked);
            }
        }
        None
    }

    /// The first of three steps, before [`Self::guess`] and [`Self::entry`].
    #[inline(always)]
    pub(crate) fn ask(&self, key: K) -> u64 {
        let hash = key.hash(&self.hasher);
        self.index.prefetch(hash);
        hash
    }

    /// Probable, prefetched entry; [`NONE`] without one.
    #[inline(always)]
    pub(crate) fn guess(&self, hash: u64) -> u32 {
        match self.index.guess(hash) {
            Guess::Entry(e) => {
                self.slab.prefetch(e);
                e
            }
            Guess::Absent | Guess::Further => NONE,
        }
    }

    /// The entry, from the results of [`Self::ask`] and [`Self::guess`].
    #[inline(always)]
    pub(crate) fn entry(&self, key: K, hash: u64, guess: u32) -> Option<u32> {
        if guess != NONE && self.slab[guess] == key {
            return Some(guess);
        }
        self.index.find(hash, |e| self.slab[e] == key)
    }

    #[inline(always)]
    pub(crate) fn number_of(&self, entry: u32) -> u32 {
        self.base + entry
    }

    #[inline(always)]
    pub(crate) fn touch(&mut self, entry: u32) {
        let used = &mut self.used[entry as usize];
        if *used != self.epoch {
            *used = self.epoch;
        }
    }

    /// Prefetches what [`Self::customer`] will read.
    #[inline(always)]
    pub fn prefetch_number(&self, number: u32) {
        let e = number.wrapping_sub(self.base);
        if e < self.slab.touched() {
            self.slab.prefetch(e);
        }
    }

    /// Frees numbers of customers without state, a few entries a call. `idle` tells for how many
    /// epochs a number has had no session.
    #[inline]
    pub fn tidy(&mut self, epoch: u8, when_idle: bool, idle: impl Fn(u32) -> u8) {
        self.tidy_and_tell(epoch, when_idle, idle, |_| {});
    }

    /// As [`Customers::tidy`], with a call for each freed number.
    #[inline]
    pub fn tidy_and_tell(
        &mut self,
        epoch: u8,
        when_idle: bool,
        idle: impl Fn(u32) -> u8,
        mut given_back: impl FnMut(u32),
    ) {
        if epoch != self.epoch {
            self.epoch = epoch;
            self.sweep = 0;
        }
        let end = self.slab.touched().min(self.sweep.saturating_add(if when_idle { STEP_IDLE } else { STEP }));
        for e in self.sweep..end {
            let unused = epoch.wrapping_sub(self.used[e as usize]);
            let is_permanent = || self.permanent.binary_search_by_key(&e, |(e, _)| *e).is_ok();
            if unused >= 2 && self.slab[e] != K::NONE && !is_permanent() && idle(self.base + e) >= 2 {
                self.index.remove(self.slab[e].hash(&self.hasher), e);
                self.slab.give_back(e);
                given_back(self.base + e);
            }
        }
        self.sweep = self.sweep.max(end);
    }

    /// Forgets all but permanent customers, which keep their numbers.
    pub fn clear(&mut self) {
        self.slab.clear();
        self.index.clear();
        let (mut between, mut next) = (Vec::new(), 0);
        for (e, key) in &self.permanent {
            between.extend((next..*e).filter_map(|_| self.slab.take(K::NONE)));
            self.slab.take(*key);
            self.index.insert(key.hash(&self.hasher), *e);
            next = e + 1;
        }
        between.into_iter().rev().for_each(|e| self.slab.give_back(e));
        self.taken.set(self.put.get());
        self.near.set(self.put.get());
    }
}

/// The smallest ordinary prefix (RFC 1122, section 3.2.1.3) for `capacity` customers that holds
/// none of these addresses, in 10.0.0.0/8 if possible. `None` when none is free, or `capacity` is
/// above [`MOST`].
pub fn numbers(capacity: u64, pool: &[AddrRange], own: &[Ipv4Addr]) -> Option<Prefix4> {
    if capacity > MOST {
        return None;
    }
    // The first number is never given out.
    let bits = (64 - capacity.leading_zeros()).max(8);
    let size = 1u64 << bits;
    let taken = |first: u64| {
        let last = first + size - 1;
        pool.iter().any(|r| {
            let low = u64::from(u32::from(r.first));
            low <= last && low + u64::from(r.count) > first
        }) || own.iter().any(|&a| (first..=last).contains(&u32::from(a).into()))
    };
    let ordinary =
        |first: u64| first >> 24 != 0 && first + size <= 224 << 24 && !(first..first + size).contains(&(127 << 24));
    let ten = 10u64 << 24;
    let first = [ten & !(size - 1)].into_iter().chain((0..(1 << 32) / size).map(|i| i * size));
    let first = first.filter(|&f| ordinary(f)).find(|&f| !taken(f))?;
    Some(Prefix4 { addr: Ipv4Addr::from(first as u32), len: (32 - bits) as u8 })
}

pub(crate) fn share(customers: u64, workers: usize) -> u64 {
    match workers {
        0 | 1 => customers.max(1),
        n => customers.div_ceil(n as u64) * 17 / 16 + 1024,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(capacity: u64) -> Customers<u128> {
        Customers::new(capacity, numbers(capacity, &[], &[]).unwrap(), 1).unwrap()
    }

    #[test]
    fn customers_and_numbers_are_each_others_inverse() {
        let mut c = some(10_000);
        let key = |i: u32| (0x2001_0002u128 << 96) | u128::from(i) << 16 | 2;
        let given: Vec<u32> = (0..10_000).map(|i| c.number(key(i)).unwrap()).collect();
        for (i, n) in given.iter().enumerate() {
            assert_eq!((c.customer(*n), c.known(key(i as u32))), (Some(key(i as u32)), Some(*n)));
            assert_eq!(c.number(key(i as u32)), Some(*n));
        }
        assert_eq!((c.number(1), c.count()), (None, 10_000), "full: refused, and no customer is removed");
        assert_eq!(c.customer(given[0] - 1), None);
        c.clear();
        assert_eq!((c.count(), c.customer(given[5]), c.known(key(5))), (0, None, None));
    }

    #[test]
    fn softwires_with_the_same_address_inside_are_different_customers() {
        let mut c = Customers::<SoftwireHost>::new(10, numbers(10, &[], &[]).unwrap(), 1).unwrap();
        let numbers = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(e, i)| c.number(SoftwireHost::new(e, i)).unwrap());
        let unlike: std::collections::HashSet<_> = numbers.iter().collect();
        assert_eq!(unlike.len(), 4);
        assert_eq!(c.customer(numbers[2]).map(|s| (s.end(), s.inner())), Some((2, 1)));
    }

    #[test]
    fn a_number_is_given_back_after_two_epochs_without_packet_and_session() {
        let mut c = some(4);
        let n = [5u128, 6, 7].map(|k| c.number(k).unwrap());
        c.tidy(1, false, |_| 9);
        assert_eq!(c.count(), 3, "too early");
        c.tidy(2, false, |_| 1);
        assert_eq!(c.count(), 3, "there was a session an epoch ago");
        c.number(6);
        c.tidy(3, false, |number| if number == n[2] { 0 } else { 2 });
        assert_eq!([5u128, 6, 7].map(|k| c.known(k).is_some()), [false, true, true], "5 alone was idle in every way");
        assert_eq!((c.customer(n[0]), c.number(8)), (None, Some(n[0])), "the number is free for another");
    }

    #[test]
    fn permanent_customers_have_the_first_numbers_for_good() {
        let mut c = Customers::with_permanent(4, numbers(4, &[], &[]).unwrap(), 1, vec![70u128, 60]).unwrap();
        let first = c.known(70).unwrap();
        assert_eq!(c.permanent().collect::<Vec<_>>(), [(first, 70), (first + 1, 60)]);
        c.number(5);
        for epoch in 1..20 {
            c.tidy(epoch, true, |_| 9);
        }
        assert_eq!((c.known(5), c.known(60), c.count()), (None, Some(first + 1), 2));
        c.number(5);
        c.clear();
        assert_eq!((c.known(5), c.known(60), c.customer(first), c.count()), (None, Some(first + 1), Some(70), 2));
    }

    #[test]
    fn each_epoch_is_swept_once_in_small_steps() {
        let mut c = some(1000);
        for k in 1..=1000u128 {
            c.number(k).unwrap();
        }
        for step in 1..40 {
            c.tidy(2, false, |_| 2);
            assert_eq!(c.count(), 1000u32.saturating_sub(step * STEP));
        }
    }

    #[test]
    fn prefetching_changes_nothing() {
        let (mut c, mut plain) = (some(100), some(100));
        for round in 0..50u128 {
            // Some keys are prefetched and never looked up, some looked up twice or without a prefetch, and some
            // customers are removed between the two.
            let batch: Vec<u128> = (0..32).map(|i| 1 + (i * 7 + round * 3) % 60).collect();
            for k in &batch {
                c.prefetch_key(*k);
            }
            if round % 7 == 0 {
                c.tidy(round as u8, true, |_| 9);
                plain.tidy(round as u8, true, |_| 9);
            }
            for (i, k) in batch.iter().enumerate().filter(|(i, _)| !(i + round as usize).is_multiple_of(5)) {
                let k = if i % 11 == 3 { k + 60 } else { *k };
                let n = c.number(k).unwrap();
                assert_eq!((Some(n), c.customer(n)), (plain.number(k), Some(k)));
                c.prefetch_number(n);
            }
            if round == 30 {
                c.clear();
                plain.clear();
            }
        }
        assert_eq!(c.count(), plain.count());
    }

    #[test]
    fn numbers_lie_where_nothing_else_is() {
        let range = |a: [u8; 4], count| AddrRange { first: a.into(), count };
        assert_eq!(numbers(1 << 20, &[], &[]).unwrap().to_string(), "10.0.0.0/11");
        assert_eq!(numbers((1 << 20) - 1, &[], &[]).unwrap().to_string(), "10.0.0.0/12");
        assert_eq!(numbers(1000, &[], &["10.0.3.255".parse().unwrap()]).unwrap().to_string(), "1.0.0.0/22");
        assert_eq!(
            numbers(1000, &[range([10, 0, 0, 0], 1), range([1, 0, 0, 0], 5)], &[]).unwrap().to_string(),
            "1.0.4.0/22"
        );
        // The /4 with 10.0.0.0 also contains 0.0.0.0, and the one with 127.0.0.0 is not ordinary, either.
        assert_eq!(numbers(MOST, &[], &[]).unwrap().to_string(), "16.0.0.0/4");
        assert_eq!(numbers(MOST + 1, &[], &[]), None);
    }

    #[test]
    fn at_most_32_bytes_a_customer_of_nat64() {
        for n in [64_000u64, 1 << 20, 16 << 20] {
            assert!(Customers::<u128>::bytes_for(n) <= 32 * n);
            assert!(Customers::<SoftwireHost>::bytes_for(n) <= 36 * n);
        }
    }
}
