//! Reassembly of IPv4 or IPv6 fragments in any order (RFC 791, section 3.2; RFC 8200, section 4.5).
//! A datagram with overlapping fragments is dropped (RFC 5722; RFC 3128, section 3).

use super::coverage::Fit;
use super::tracker::{StoredFragment, Tracker};
use super::{Buffer, PartLimits, Piece, WaitingDatagrams};
use crate::event::{Counters, Event};

const CE: u8 = 3;

pub(crate) struct Fragment<'a> {
    /// Offset in octets.
    pub offset: usize,
    pub more: bool,
    /// Headers of the fragment; those of the first are kept.
    pub headers: &'a [u8],
    pub payload: &'a [u8],
    /// ECN in the lowest bits.
    pub ecn: u8,
}

#[derive(Clone, Copy, Default)]
struct Progress {
    headers: usize,
    /// ECN fields of the fragments, a bit each.
    ecn: u8,
    dead: bool,
}

pub(crate) struct Datagram {
    /// Fragments by offset, the headers in front of the first.
    kept: Vec<StoredFragment>,
    seen: Progress,
}

impl Datagram {
    pub(crate) fn headers(&self) -> &[u8] {
        &self.kept[0].bytes[..self.seen.headers]
    }

    pub(crate) fn octets(&self) -> usize {
        self.kept.iter().map(|k| k.bytes.len()).sum::<usize>() - self.seen.headers
    }

    pub(crate) fn ecn(&self) -> Option<u8> {
        join_ecn(self.seen.ecn)
    }

    pub(crate) fn behind(&self, headers: &[u8]) -> Buffer {
        let mut p = Buffer::with_room(headers.len() + self.octets());
        p.append(headers);
        p.append(&self.kept[0].bytes[self.seen.headers..]);
        self.kept[1..].iter().for_each(|k| p.append(&k.bytes));
        p
    }
}

pub(crate) struct ExpiredDatagram {
    pub fragments: u64,
    /// First fragment with its headers.
    pub first: Option<Vec<u8>>,
}

pub(crate) struct Reassembly<K>(Tracker<K, Progress>);

impl<K: Ord + Copy> Reassembly<K> {
    pub(crate) fn new(limits: &PartLimits) -> Reassembly<K> {
        Reassembly(Tracker::new(limits))
    }

    pub(crate) fn waiting(&self) -> WaitingDatagrams {
        self.0.waiting()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn knows(&self, key: &K) -> bool {
        self.0.knows(key)
    }

    /// Returns the number of its fragments.
    pub(crate) fn give_up(&mut self, key: &K) -> u64 {
        self.0.forget(key)
    }

    /// Returns the datagram if it is complete, or the reason to drop the fragment.
    pub(crate) fn add(
        &mut self,
        now: u64,
        key: K,
        f: &Fragment,
        count: &mut Counters,
    ) -> Result<Option<Datagram>, Event> {
        let added = self.keep(now, key, f, count);
        count.add_many(Event::FragmentFull, self.0.take_lost());
        if added? != Fit::Complete {
            return Ok(None);
        }
        let seen = self.0.get(&key).copied().unwrap_or_default();
        let mut kept = self.0.take_kept(&key);
        self.0.forget(&key);
        kept.sort_by_key(|k| k.offset);
        Ok(Some(Datagram { kept, seen }))
    }

    fn keep(&mut self, now: u64, key: K, f: &Fragment, count: &mut Counters) -> Result<Fit, Event> {
        let store = &mut self.0;
        store.open(now, key);
        if store.get(&key).is_some_and(|seen| seen.dead) {
            return Err(Event::FragmentOverlap);
        }
        let fit = store.cover(&key, Piece { offset: f.offset, len: f.payload.len(), more: f.more });
        match fit {
            Fit::New | Fit::Complete => {}
            Fit::Scattered => return Err(Event::FragmentFull),
            // A duplicate may be dropped (RFC 8200, section 4.5).
            Fit::Again if has(store, &key, f) => return Err(Event::FragmentOverlap),
            Fit::Again | Fit::Overlap => {
                count.add_many(Event::FragmentOverlap, store.take_kept(&key).len() as u64);
                store.get(&key).into_iter().for_each(|seen| seen.dead = true);
                return Err(Event::FragmentOverlap);
            }
        }
        let headers = if f.offset == 0 { f.headers } else { &[] };
        if let Some(seen) = store.get(&key) {
            seen.headers += headers.len();
            seen.ecn |= 1 << (f.ecn & 3);
        }
        if store.keep(&key, f.offset, [headers, f.payload].concat()) {
            return Ok(fit);
        }
        // Without these octets the datagram never becomes complete.
        let lost = store.forget(&key);
        count.add_many(Event::FragmentFull, lost);
        Err(Event::FragmentFull)
    }

    pub(crate) fn expire(&mut self, now: u64) -> Option<ExpiredDatagram> {
        let key = self.0.expired(now)?;
        let kept = self.0.take_kept(&key);
        self.0.forget(&key);
        let fragments = kept.len() as u64;
        let first = kept.into_iter().find(|k| k.offset == 0).map(|k| k.bytes);
        Some(ExpiredDatagram { fragments, first })
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

fn has<K: Ord + Copy>(store: &mut Tracker<K, Progress>, key: &K, f: &Fragment) -> bool {
    let headers = if f.offset == 0 { store.get(key).map_or(0, |seen| seen.headers) } else { 0 };
    store.kept(key).iter().any(|k| k.offset == f.offset && k.bytes[headers..] == *f.payload)
}

/// CE if a fragment has it, `None` if another is then Not-ECT (RFC 3168, section 5.3).
fn join_ecn(seen: u8) -> Option<u8> {
    match (seen & 1 << CE != 0, seen & 1 != 0) {
        (true, true) => None,
        (true, false) => Some(CE),
        (false, _) => Some(seen.trailing_zeros() as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_fields_join_as_rfc_3168_says() {
        let join = |fields: &[u8]| join_ecn(fields.iter().fold(0, |seen, f| seen | 1 << f));
        assert_eq!((join(&[0, 3]), join(&[3, 0, 2])), (None, None));
        assert_eq!((join(&[2, 3]), join(&[3, 1, 2]), join(&[3])), (Some(3), Some(3), Some(3)));
        assert_eq!((join(&[2]), join(&[0, 0]), join(&[0, 2]), join(&[2, 1])), (Some(2), Some(0), Some(0), Some(1)));
    }
}
