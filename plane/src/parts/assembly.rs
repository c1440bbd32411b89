//! Datagrams put together from parts that come in any order, whatever IP version brings them (RFC 791, section 3.2; RFC
//! 8200, section 4.5). Overlapping parts end their datagram, those not yet received included (RFC 5722; RFC 3128, section 3).
//! Apart from the functions that need it, because tunnels and NAT64 differ only in the headers in front.

use super::store::{Buffer, Store};
use super::{PartLimits, Waiting};
use crate::event::Event;

/// Parts of a datagram that are kept; path MTUs of 1280 octets and more make 52 of the largest.
const MOST_PARTS: usize = 128;
/// What a kept part takes beside its octets.
const EXTRA: usize = 64;
/// In place of an ECN field: congestion was met, and another part cannot tell.
const ECN_LOST: u8 = 0xff;
/// Congestion experienced.
const CE: u8 = 3;

/// A part as it comes.
pub struct Fragment<'a> {
    /// Where it begins, in octets.
    pub offset: usize,
    /// Whether there are parts behind it.
    pub more: bool,
    /// Headers in front, which are kept of the first part.
    pub headers: &'a [u8],
    /// What it carries of the datagram.
    pub payload: &'a [u8],
    /// Its ECN field; other bits are not looked at.
    pub ecn: u8,
}

/// A datagram, complete or not.
pub struct Datagram {
    /// In the order of their offsets.
    parts: Vec<(usize, Vec<u8>)>,
    octets: usize,
    /// Where it ends, once the last part has come.
    end: Option<usize>,
    headers: Vec<u8>,
    ecn: u8,
    /// Parts overlapped: everything of it is dropped.
    dead: bool,
}

impl Datagram {
    fn empty() -> Datagram {
        Datagram { parts: Vec::new(), octets: 0, end: None, headers: Vec::new(), ecn: 0, dead: false }
    }

    fn size(&self) -> usize {
        self.octets + self.headers.len() + EXTRA * self.parts.len()
    }

    /// Headers of the first part.
    pub fn headers(&self) -> &[u8] {
        &self.headers
    }

    /// Octets behind them.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// The ECN field that all parts make. `None` when congestion was met that it cannot tell (RFC 3168, section 5.3).
    pub fn ecn(&self) -> Option<u8> {
        (self.ecn != ECN_LOST).then_some(self.ecn)
    }

    /// The datagram behind these headers.
    pub fn behind(&self, headers: &[u8]) -> Buffer {
        let mut p = Buffer::with_room(headers.len() + self.octets);
        p.append(headers);
        self.parts.iter().for_each(|(_, part)| p.append(part));
        p
    }
}

/// A datagram that was given up.
pub struct Late {
    /// Parts dropped.
    pub parts: u64,
    /// Headers and payload of the first part, if it had come.
    pub first: Option<(Vec<u8>, Vec<u8>)>,
}

/// The store.
pub struct Assembly<K> {
    store: Store<K, Datagram>,
    most: usize,
    octets: usize,
    displaced: u64,
    overlapped: u64,
}

impl<K: Ord + Copy> Assembly<K> {
    /// An empty one.
    pub fn new(limits: &PartLimits) -> Assembly<K> {
        let store = Store::new(limits.datagrams, limits.lifetime.as_nanos() as u64);
        Assembly { store, most: limits.octets as usize, octets: 0, displaced: 0, overlapped: 0 }
    }

    /// What waits.
    pub fn waiting(&self) -> Waiting {
        Waiting { datagrams: self.store.len(), octets: self.octets }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// Whether parts of this datagram came before.
    pub fn knows(&mut self, key: &K) -> bool {
        self.store.get(key).is_some()
    }

    /// Forget what came of this datagram; gives how many parts that were.
    pub fn give_up(&mut self, key: &K) -> u64 {
        let Some(d) = self.store.remove(key) else { return 0 };
        self.octets -= d.size();
        d.parts.len() as u64
    }

    /// Take a part of a datagram in; gives the datagram when it was the last one missing. That lengths are possible the
    /// caller has checked.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn add(&mut self, now: u64, key: K, f: &Fragment) -> Result<Option<Datagram>, Event> {
        let (from, to) = (f.offset, f.offset + f.payload.len());
        self.room(now, key, f.payload.len() + f.headers.len() + EXTRA)?;
        let Some(d) = self.store.get(&key) else { return Err(Event::FragmentFull) };
        if d.dead {
            return Err(Event::FragmentOverlap);
        }
        let place = d.parts.partition_point(|(at, _)| *at < from);
        if d.parts.get(place).is_some_and(|(at, p)| *at == from && p == f.payload) {
            // The network doubled it; RFC 8200, section 4.5, lets us keep the other one.
            return Err(Event::FragmentOverlap);
        }
        let before = place.checked_sub(1).map_or(0, |i| d.parts[i].0 + d.parts[i].1.len());
        let after = d.parts.get(place).map_or(usize::MAX, |(at, _)| *at);
        let last = d.parts.last().map_or(0, |(at, p)| at + p.len());
        let end = if f.more { d.end } else { Some(to) };
        let beyond = end.is_some_and(|e| to.max(last) > e) || d.end.is_some_and(|e| !f.more && e != to);
        let before_size = d.size();
        if before > from || to > after || beyond {
            let parts = d.parts.len() as u64;
            *d = Datagram { dead: true, ..Datagram::empty() };
            self.octets -= before_size;
            self.overlapped += parts;
            return Err(Event::FragmentOverlap);
        }
        if d.parts.len() >= MOST_PARTS {
            return Err(Event::FragmentFull);
        }
        d.ecn = match (d.parts.is_empty(), d.ecn) {
            (true, _) => f.ecn & 3,
            (_, ECN_LOST) => ECN_LOST,
            (_, field) => join(field, f.ecn).unwrap_or(ECN_LOST),
        };
        d.end = end;
        d.parts.insert(place, (from, f.payload.to_vec()));
        d.octets += f.payload.len();
        if from == 0 {
            d.headers = f.headers.to_vec();
        }
        self.octets += d.size() - before_size;
        if d.end != Some(d.octets) {
            return Ok(None);
        }
        let whole = self.store.remove(&key);
        self.octets -= whole.as_ref().map_or(0, Datagram::size);
        Ok(whole)
    }

    /// Make room for a part of a datagram, and an entry for the datagram.
    fn room(&mut self, now: u64, key: K, need: usize) -> Result<(), Event> {
        if self.store.get(&key).is_none() {
            let gone = self.store.insert(now, key, Datagram::empty());
            self.forget(gone);
        }
        while self.octets + need > self.most {
            let Some(gone) = self.store.oldest() else { return Err(Event::FragmentFull) };
            self.forget(Some(gone));
        }
        Ok(())
    }

    fn forget(&mut self, gone: Option<Datagram>) {
        if let Some(d) = gone {
            self.octets -= d.size();
            self.displaced += d.parts.len() as u64;
        }
    }

    /// How many parts lost their place, and how many went because another one overlapped, since last asked.
    pub fn take_lost(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.displaced), std::mem::take(&mut self.overlapped))
    }

    /// Give up a datagram whose time is over, one a call.
    pub fn expire(&mut self, now: u64) -> Option<Late> {
        let mut d = self.store.expired(now)?;
        self.octets -= d.size();
        let parts = d.parts.len() as u64;
        let first = d.parts.first().is_some_and(|p| p.0 == 0);
        Some(Late { parts, first: first.then(|| (d.headers, d.parts.swap_remove(0).1)) })
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.store.clear();
        self.octets = 0;
    }
}

/// The ECN field of a datagram put together from parts with these fields (RFC 3168, section 5.3): congestion that one part
/// met counts, unless another part says that it cannot be told.
fn join(a: u8, b: u8) -> Option<u8> {
    match (a & 3, b & 3) {
        (0, CE) | (CE, 0) => None,
        (CE, _) | (_, CE) => Some(CE),
        (a, b) => Some(a.min(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_as_rfc_3168_says() {
        assert_eq!((join(0, 3), join(3, 0)), (None, None));
        assert_eq!((join(2, 3), join(3, 1), join(3, 3)), (Some(3), Some(3), Some(3)));
        assert_eq!((join(2, 2), join(0, 0), join(0, 2)), (Some(2), Some(0), Some(0)));
    }
}
