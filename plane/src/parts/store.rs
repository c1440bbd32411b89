//! What all stores of parts share: a bounded map whose entries live for a fixed time, and a packet in memory of its own,
//! as large as a datagram may be.

use crate::function::Packet;
use std::collections::{BTreeMap, VecDeque};

/// Entries that each live for the same time. When all places are taken the oldest goes: a complete datagram takes
/// milliseconds, so that a flood of incomplete ones displaces itself.
pub struct Store<K, V> {
    map: BTreeMap<K, (u64, V)>,
    /// Entries in the order in which they end: time, number, key. Removed ones stay until their turn.
    order: VecDeque<(u64, u64, K)>,
    number: u64,
    most: usize,
    lifetime: u64,
}

impl<K: Ord + Copy, V> Store<K, V> {
    /// Room for `most` entries that live for `lifetime` nanoseconds.
    pub fn new(most: u32, lifetime: u64) -> Store<K, V> {
        let most = most as usize;
        Store { map: BTreeMap::new(), order: VecDeque::with_capacity(2 * most), number: 0, most, lifetime }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The entry of a key.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key).map(|e| &mut e.1)
    }

    /// Put an entry in under a key that has none; gives the one that had to go for it.
    pub fn insert(&mut self, now: u64, key: K, value: V) -> Option<V> {
        let gone = if self.map.len() >= self.most { self.oldest() } else { None };
        // Places of removed entries are cleaned up when there are as many as there may be entries.
        if self.order.len() >= 2 * self.most {
            self.order.retain(|(_, n, k)| self.map.get(k).is_some_and(|e| e.0 == *n));
        }
        self.number += 1;
        self.order.push_back((now + self.lifetime, self.number, key));
        self.map.insert(key, (self.number, value));
        gone
    }

    /// Take an entry out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.map.remove(key).map(|e| e.1)
    }

    /// Take the oldest entry out.
    pub fn oldest(&mut self) -> Option<V> {
        while let Some((_, number, key)) = self.order.pop_front() {
            if self.map.get(&key).is_some_and(|e| e.0 == number) {
                return self.remove(&key);
            }
        }
        None
    }

    /// Take out an entry whose time is over, one a call.
    pub fn expired(&mut self, now: u64) -> Option<V> {
        while self.order.front().is_some_and(|o| o.0 <= now) {
            let (_, number, key) = self.order.pop_front()?;
            if self.map.get(&key).is_some_and(|e| e.0 == number) {
                return self.remove(&key);
            }
        }
        None
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.map.clear();
        self.order.clear();
    }
}

/// Octets in front of a packet in memory of its own, for headers.
const HEADROOM: usize = 128;

/// A packet in memory of its own.
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// Empty, with room for `len` octets.
    pub fn with_room(len: usize) -> Buffer {
        let mut bytes = Vec::with_capacity(HEADROOM + len);
        bytes.resize(HEADROOM, 0);
        Buffer { bytes, start: HEADROOM }
    }

    /// A copy of a frame.
    pub fn copy(frame: &[u8]) -> Buffer {
        let mut b = Buffer::with_room(frame.len());
        b.append(frame);
        b
    }

    /// Go on with these octets.
    pub fn append(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
    }
}

impl Packet for Buffer {
    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
    fn grow_front(&mut self, n: usize) -> bool {
        let ok = n <= self.start;
        if ok {
            self.start -= n;
        }
        ok
    }
    fn shrink_front(&mut self, n: usize) -> bool {
        let ok = n <= self.bytes.len() - self.start;
        if ok {
            self.start += n;
        }
        ok
    }
    fn set_len(&mut self, len: usize) -> bool {
        self.bytes.resize(self.start + len, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_when_there_is_no_room() {
        let mut s = Store::new(3, 100);
        for k in 0..3u8 {
            assert_eq!(s.insert(k.into(), k, k), None);
        }
        s.remove(&0);
        assert_eq!(s.insert(3, 0, 30), None);
        assert_eq!((s.insert(4, 4, 4), s.insert(5, 5, 5), s.insert(6, 6, 6)), (Some(1), Some(2), Some(30)));
    }

    #[test]
    fn entries_end_in_time_and_once() {
        let mut s = Store::new(8, 100);
        s.insert(0, 1, 'a');
        s.insert(5, 2, 'b');
        s.remove(&1);
        s.insert(50, 1, 'c');
        assert_eq!((s.expired(104), s.expired(105), s.expired(105)), (None, Some('b'), None));
        assert_eq!((s.expired(149), s.expired(150), s.is_empty()), (None, Some('c'), true));
    }

    #[test]
    fn places_of_removed_entries_do_not_pile_up() {
        let mut s = Store::new(4, 1000);
        for k in 0..1000u32 {
            s.insert(0, k, ());
            s.remove(&k);
            assert!(s.order.len() <= 8);
        }
    }
}
