//! The store: for each datagram the ports of its first fragment, and copies of fragments that wait
//! for it (RFC 6269, section 11; RFC 7596, section 8; RFC 7597, section 8.3.2; RFC 4787, REQ-14).

use super::coverage::{Coverage, Fit};
use super::{Key, PartLimits, Piece, Ports, WaitingDatagrams};
use crate::event::{Counters, Event};
use crate::function::Verdict;
use std::collections::BTreeMap;

/// The largest datagram has 52 at a path MTU of 1280 octets.
const MOST_KEPT: usize = 128;
/// Overhead of a kept fragment, in octets.
const EXTRA: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Datagrams in store.
    pub datagrams: usize,
    /// Octets include overhead.
    pub fragments: usize,
    pub octets: usize,
    /// Lifetime in nanoseconds.
    pub lifetime: u64,
}

impl From<&PartLimits> for Bounds {
    fn from(l: &PartLimits) -> Bounds {
        Bounds {
            datagrams: l.datagrams as usize,
            fragments: usize::MAX,
            octets: l.octets as usize,
            lifetime: l.lifetime.as_nanos() as u64,
        }
    }
}

pub(crate) struct StoredFragment {
    pub offset: usize,
    pub bytes: Vec<u8>,
}

struct PartialDatagram<V> {
    number: u64,
    due: u64,
    coverage: Coverage,
    value: V,
    kept: Vec<StoredFragment>,
}

pub(crate) enum Whose {
    Known(Ports),
    /// The fragment waits, or another worker has its ports.
    Not(Verdict),
}

/// The store, with a value for each datagram.
pub(crate) struct Tracker<K = Key, V = Option<Ports>> {
    bounds: Bounds,
    datagrams: BTreeMap<K, PartialDatagram<V>>,
    /// Keys by number; `idle` are those of which no fragment has been sent on.
    order: BTreeMap<u64, K>,
    idle: BTreeMap<u64, K>,
    number: u64,
    fragments: usize,
    octets: usize,
    /// Lost fragments since the last call of [`Self::take_lost`].
    lost: u64,
}

impl<K: Ord + Copy, V: Default> Tracker<K, V> {
    pub(crate) fn new(bounds: impl Into<Bounds>) -> Tracker<K, V> {
        Tracker {
            bounds: bounds.into(),
            datagrams: BTreeMap::new(),
            order: BTreeMap::new(),
            idle: BTreeMap::new(),
            number: 0,
            fragments: 0,
            octets: 0,
            lost: 0,
        }
    }

    pub(crate) fn waiting(&self) -> WaitingDatagrams {
        WaitingDatagrams { datagrams: self.datagrams.len(), octets: self.octets }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    pub(crate) fn knows(&self, key: &K) -> bool {
        self.datagrams.contains_key(key)
    }

    pub(crate) fn get(&mut self, key: &K) -> Option<&mut V> {
        self.datagrams.get_mut(key).map(|d| &mut d.value)
    }

    /// A full store removes another datagram.
    pub(crate) fn open(&mut self, now: u64, key: K) {
        if self.knows(&key) {
            return;
        }
        if self.datagrams.len() >= self.bounds.datagrams {
            // Fragments of incomplete datagrams displace each other (RFC 4787, REQ-14a).
            let gone = self.idle.first_key_value().or(self.order.first_key_value()).map(|(_, k)| *k);
            self.lost += gone.map_or(0, |k| self.forget(&k));
        }
        self.number += 1;
        let (number, due) = (self.number, now + self.bounds.lifetime);
        let entry = PartialDatagram { number, due, coverage: Coverage::NOTHING, value: V::default(), kept: Vec::new() };
        self.datagrams.insert(key, entry);
        self.order.insert(number, key);
        self.idle.insert(number, key);
    }

    pub(crate) fn cover(&mut self, key: &K, piece: Piece) -> Fit {
        self.datagrams.get_mut(key).map_or(Fit::Scattered, |d| d.coverage.add(piece))
    }

    /// Datagrams sent in part are displaced last.
    pub(crate) fn set_sent(&mut self, key: &K, sent: bool) {
        let Some(d) = self.datagrams.get(key) else { return };
        if sent {
            self.idle.remove(&d.number);
        } else {
            self.idle.insert(d.number, *key);
        }
    }

    /// Displaces older datagrams; false where the octets may not wait.
    #[must_use]
    pub(crate) fn keep(&mut self, key: &K, offset: usize, bytes: Vec<u8>) -> bool {
        let need = bytes.len() + EXTRA;
        if self.bounds.fragments == 0 || need > self.bounds.octets {
            return false;
        }
        while self.fragments >= self.bounds.fragments || self.octets + need > self.bounds.octets {
            let Some((_, gone)) = self.idle.first_key_value() else { return false };
            let gone = *gone;
            self.lost += self.forget(&gone);
        }
        // The oldest may have been this one.
        let Some(d) = self.datagrams.get_mut(key).filter(|d| d.kept.len() < MOST_KEPT) else { return false };
        d.kept.push(StoredFragment { offset, bytes });
        self.fragments += 1;
        self.octets += need;
        true
    }

    pub(crate) fn kept(&self, key: &K) -> &[StoredFragment] {
        self.datagrams.get(key).map_or(&[], |d| &d.kept)
    }

    pub(crate) fn take_kept(&mut self, key: &K) -> Vec<StoredFragment> {
        let kept = self.datagrams.get_mut(key).map(|d| std::mem::take(&mut d.kept)).unwrap_or_default();
        self.fragments -= kept.len();
        self.octets -= kept.iter().map(|k| k.bytes.len() + EXTRA).sum::<usize>();
        kept
    }

    /// Forgets a datagram; returns how many fragments waited.
    pub(crate) fn forget(&mut self, key: &K) -> u64 {
        let waited = self.take_kept(key).len() as u64;
        if let Some(d) = self.datagrams.remove(key) {
            self.order.remove(&d.number);
            self.idle.remove(&d.number);
        }
        waited
    }

    pub(crate) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    pub(crate) fn expired(&self, now: u64) -> Option<K> {
        let (_, key) = self.order.first_key_value()?;
        self.datagrams.get(key).filter(|d| d.due <= now).map(|_| *key)
    }

    /// Drops expired datagrams; returns how many fragments waited.
    pub(crate) fn expire(&mut self, now: u64) -> u64 {
        let mut late = 0;
        while let Some(key) = self.expired(now) {
            late += self.forget(&key);
        }
        late
    }

    pub(crate) fn clear(&mut self) {
        *self = Tracker { number: self.number, lost: self.lost, ..Tracker::new(self.bounds) };
    }
}

impl<K: Ord + Copy> Tracker<K> {
    /// The ports of a fragment's datagram; `None` when the first fragment has not arrived: then a
    /// copy of `frame` waits. Refuses impossible and too large fragments.
    pub(crate) fn ports(
        &mut self,
        now: u64,
        key: K,
        piece: Piece,
        shown: Ports,
        frame: &[u8],
    ) -> Result<Option<Ports>, Event> {
        let Piece { offset, len, more } = piece;
        if (more && !len.is_multiple_of(8)) || len == 0 || offset + len > 65_535 {
            return Err(Event::FragmentOverlap);
        }
        self.open(now, key);
        if offset == 0 {
            self.set_sent(&key, true);
        }
        let Some(d) = self.datagrams.get_mut(&key) else { return Err(Event::FragmentFull) };
        if offset == 0 {
            d.value = Some(shown);
        }
        let Some(ports) = d.value else {
            return if self.keep(&key, offset, frame.to_vec()) { Ok(None) } else { Err(Event::FragmentFull) };
        };
        let mut fit = d.coverage.add(piece);
        if offset == 0 && !matches!(fit, Fit::New | Fit::Complete) {
            // The sender reused the identification (RFC 4963), or it is a duplicate: all other
            // fragments may still arrive.
            d.coverage = Coverage::NOTHING;
            fit = d.coverage.add(piece);
        }
        if fit == Fit::Complete && d.kept.is_empty() {
            self.forget(&key);
        }
        Ok(Some(ports))
    }

    /// Counts, and asks for [`Self::ports`].
    pub(crate) fn whose(
        &mut self,
        now: u64,
        key: K,
        piece: Piece,
        shown: Ports,
        frame: &[u8],
        count: &mut Counters,
    ) -> Result<Whose, Event> {
        let ports = self.ports(now, key, piece, shown, frame);
        count.add_many(Event::FragmentFull, self.take_lost());
        Ok(ports?.map_or_else(
            || {
                count.add(Event::FragmentHeld);
                Whose::Not(Verdict::Held)
            },
            Whose::Known,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracker(datagrams: usize, octets: usize) -> Tracker<u8> {
        Tracker::new(Bounds { datagrams, fragments: usize::MAX, octets, lifetime: 100 })
    }

    const PORTS: Ports = [Some(1), Some(2)];

    /// A fragment of 8 octets in a frame of 16.
    fn add(t: &mut Tracker<u8>, now: u64, key: u8, offset: usize, more: bool) -> Result<Option<Ports>, Event> {
        t.ports(now, key, Piece { offset, len: 8, more }, PORTS, &[key; 16])
    }

    #[test]
    fn the_oldest_of_which_nothing_was_sent_goes_when_there_is_no_room() {
        let mut t = tracker(3, 1000);
        assert_eq!(add(&mut t, 0, 0, 0, true), Ok(Some(PORTS)));
        for key in 1..=3 {
            assert_eq!(add(&mut t, key.into(), key, 8, true), Ok(None));
        }
        assert_eq!([0, 1, 2, 3].map(|k| t.knows(&k)), [true, false, true, true]);
        assert_eq!((t.take_lost(), t.waiting()), (1, WaitingDatagrams { datagrams: 3, octets: 2 * (16 + EXTRA) }));
    }

    #[test]
    fn octets_are_bounded() {
        let mut t = tracker(100, 3 * (16 + EXTRA));
        (0..10).for_each(|key| assert_eq!(add(&mut t, 0, key, 8, true), Ok(None)));
        assert_eq!((t.waiting().datagrams, t.take_lost()), (3, 7));
        let mut t = tracker(100, 16 + EXTRA - 1);
        assert_eq!(add(&mut t, 0, 0, 8, true), Err(Event::FragmentFull));
    }

    #[test]
    fn entries_end_in_time_and_once() {
        let mut t = tracker(8, 1000);
        add(&mut t, 0, 1, 8, true).unwrap();
        add(&mut t, 5, 2, 8, true).unwrap();
        t.forget(&1);
        add(&mut t, 50, 1, 8, true).unwrap();
        assert_eq!([104, 105, 105, 149, 150].map(|now| t.expire(now)), [0, 1, 0, 0, 1]);
        assert_eq!((t.is_empty(), t.waiting()), (true, WaitingDatagrams::default()));
    }

    /// However a datagram ends, its places in the order are removed, too: complete, forgotten, displaced, too late, or
    /// all cleared.
    #[test]
    fn places_of_removed_entries_do_not_pile_up() {
        type End = fn(&mut Tracker<u8>, u64, u8);
        let ends: [(&str, End); 5] = [
            ("complete", |t, now, key| {
                add(t, now, key, 0, true).unwrap();
                add(t, now, key, 8, false).unwrap();
            }),
            ("forgotten", |t, now, key| {
                add(t, now, key, 8, true).unwrap();
                t.forget(&key);
            }),
            ("displaced", |t, now, key| _ = add(t, now, key, if key % 2 == 0 { 0 } else { 8 }, true).unwrap()),
            ("too late", |t, now, key| {
                add(t, now, key, 8, true).unwrap();
                t.expire(now + 100);
            }),
            ("cleared", |t, now, key| {
                add(t, now, key, 0, true).unwrap();
                t.clear();
            }),
        ];
        for (name, end) in ends {
            let mut t = tracker(4, 1000);
            for i in 0..1000u16 {
                end(&mut t, 0, i as u8);
                // What was sent on is no longer idle; nothing is idle that is not known.
                assert_eq!(t.order.len(), t.datagrams.len(), "{name}");
                assert!(t.idle.len() <= t.order.len() && t.order.len() <= 4, "{name}");
                assert!(t.order.iter().all(|(number, key)| t.datagrams[key].number == *number), "{name}");
                assert!(t.idle.iter().all(|(number, key)| t.order.get(number) == Some(key)), "{name}");
            }
            assert_eq!(t.is_empty(), name != "displaced", "{name}");
        }
    }

    /// A datagram of 24 octets is known until all of them have arrived, whatever duplicates arrive.
    #[test]
    fn a_datagram_is_known_until_its_last_octet_has_come() {
        let piece = [(0, true), (8, true), (16, false)];
        for order in [&[0, 1, 2][..], &[2, 0, 1], &[0, 0, 2, 1], &[0, 2, 2, 1], &[0, 1, 1, 1, 2]] {
            let mut t = tracker(8, 1000);
            let (last, others) = order.split_last().unwrap();
            for &i in others {
                let _waits_or_goes = add(&mut t, 0, 7, piece[i].0, piece[i].1).unwrap();
                if i == 0 {
                    t.take_kept(&7).iter().for_each(|k| {
                        add(&mut t, 0, 7, k.offset, k.offset < 16).unwrap();
                    });
                }
                assert!(t.knows(&7), "{order:?}");
            }
            assert_eq!(add(&mut t, 0, 7, piece[*last].0, piece[*last].1), Ok(Some(PORTS)), "{order:?}");
            assert!(t.is_empty(), "{order:?}");
        }
    }

    /// RFC 4963: an older datagram of which a fragment was lost delays no fragment of the next one.
    #[test]
    fn an_identification_comes_again() {
        let mut t = tracker(8, 1000);
        for (offset, more) in [(0, true), (16, false), (0, true), (8, true), (16, false)] {
            assert_eq!(add(&mut t, 0, 7, offset, more), Ok(Some(PORTS)));
        }
        assert!(t.is_empty());
    }
}
