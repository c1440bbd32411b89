//! Tunnel packets that come in parts, put together before they are decapsulated (RFC 6333, section 5.3; RFC 8200, section
//! 4.5). Overlapping parts end their datagram, those not yet received included (RFC 5722).

use super::config::PartLimits;
use super::error::{self, Refusal};
use super::{L3, ecn};
use crate::event::Event;
use crate::ip6::{Head6, Part};
use crate::parts::Waiting;
use crate::parts::store::{Buffer, Store};
use wire::header::{IPV6, put16};

/// Addresses and identification.
type Key = (u128, u128, u32);

/// Parts of a datagram that are kept; path MTUs of 1280 octets and more make 52 of the largest.
const MOST_PARTS: usize = 128;
/// What a kept part takes beside its octets.
const EXTRA: usize = 64;
/// In place of an ECN field: congestion was met, and another part cannot tell.
const ECN_LOST: u8 = 0xff;
/// Largest datagram.
const LARGEST: usize = 65_535;

struct Datagram {
    /// In the order of their offsets.
    parts: Vec<(usize, Vec<u8>)>,
    octets: usize,
    /// Where it ends, once the last part has come.
    end: Option<usize>,
    /// Headers of the first part up to the fragment header, that included.
    headers: Vec<u8>,
    ecn: u8,
    /// Parts overlapped: everything of it is dropped.
    dead: bool,
}

impl Datagram {
    fn size(&self) -> usize {
        self.octets + self.headers.len() + EXTRA * self.parts.len()
    }
}

/// What became of a part.
pub enum Outcome {
    /// It is kept.
    Held,
    /// It was the last one missing: the packet, without fragment header.
    Whole(Buffer),
}

/// A datagram that was given up.
pub struct Late {
    /// Parts dropped.
    pub parts: u64,
    /// The first part from the IPv6 header on, if it had come (RFC 8200, section 4.5).
    pub first: Option<Vec<u8>>,
}

/// The store.
pub struct Reassembly {
    store: Store<Key, Datagram>,
    most: usize,
    octets: usize,
    displaced: u64,
    overlapped: u64,
}

impl Reassembly {
    /// An empty one.
    pub fn new(limits: &PartLimits) -> Reassembly {
        let store = Store::new(limits.datagrams, limits.lifetime.as_nanos() as u64);
        Reassembly { store, most: limits.octets as usize, octets: 0, displaced: 0, overlapped: 0 }
    }

    /// What waits.
    pub fn waiting(&self) -> Waiting {
        Waiting { datagrams: self.store.len(), octets: self.octets }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// Take a part of a datagram in.
    ///
    /// # Errors
    /// The reason to drop it.
    pub fn add(&mut self, now: u64, b: &[u8], h: &Head6, part: &Part) -> Result<Outcome, Refusal> {
        let payload = &b[part.at + 8..h.end];
        let (from, to) = (part.offset, part.offset + payload.len());
        if part.more && !payload.len().is_multiple_of(8) {
            return Err(error::outer(Event::BadLength, error::parameter_problem(4)));
        }
        if to > LARGEST {
            return Err(error::outer(Event::BadLength, error::parameter_problem(part.at + 2 - L3)));
        }
        if payload.is_empty() {
            return Err(Event::BadLength.into());
        }
        let key = (h.src, h.dst, part.id);
        self.room(now, key, payload.len() + part.at + EXTRA)?;
        let Some(d) = self.store.get(&key) else { return Err(Event::FragmentFull.into()) };
        if d.dead {
            return Err(Event::FragmentOverlap.into());
        }
        let place = d.parts.partition_point(|(at, _)| *at < from);
        if d.parts.get(place).is_some_and(|(at, p)| *at == from && p == payload) {
            // The network doubled it; RFC 8200, section 4.5, lets us keep the other one.
            return Err(Event::FragmentOverlap.into());
        }
        let before = place.checked_sub(1).map_or(0, |i| d.parts[i].0 + d.parts[i].1.len());
        let after = d.parts.get(place).map_or(usize::MAX, |(at, _)| *at);
        let last = d.parts.last().map_or(0, |(at, p)| at + p.len());
        let end = if part.more { d.end } else { Some(to) };
        let beyond = end.is_some_and(|e| to.max(last) > e) || d.end.is_some_and(|e| !part.more && e != to);
        let before_size = d.size();
        if before > from || to > after || beyond {
            let parts = d.parts.len() as u64;
            *d = Datagram { dead: true, ..empty(0) };
            self.octets -= before_size;
            self.overlapped += parts;
            return Err(Event::FragmentOverlap.into());
        }
        if d.parts.len() >= MOST_PARTS {
            return Err(Event::FragmentFull.into());
        }
        d.ecn = match (d.parts.is_empty(), d.ecn) {
            (true, _) => h.class & 3,
            (_, ECN_LOST) => ECN_LOST,
            (_, field) => ecn::join(field, h.class).unwrap_or(ECN_LOST),
        };
        d.end = end;
        d.parts.insert(place, (from, payload.to_vec()));
        d.octets += payload.len();
        if from == 0 {
            d.headers = b[..part.at + 8].to_vec();
        }
        self.octets += d.size() - before_size;
        if d.end != Some(d.octets) {
            return Ok(Outcome::Held);
        }
        let whole = self.store.remove(&key);
        self.octets -= whole.as_ref().map_or(0, Datagram::size);
        whole.and_then(|d| join(&d)).map(Outcome::Whole).ok_or(Event::EcnLost.into())
    }

    /// Make room for a part of a datagram, and an entry for the datagram.
    fn room(&mut self, now: u64, key: Key, need: usize) -> Result<(), Refusal> {
        if self.store.get(&key).is_none() {
            let gone = self.store.insert(now, key, empty(0));
            self.forget(gone);
        }
        while self.octets + need > self.most {
            let Some(gone) = self.store.oldest() else { return Err(Event::FragmentFull.into()) };
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
        let d = self.store.expired(now)?;
        self.octets -= d.size();
        let first = d.parts.first().filter(|p| p.0 == 0).map(|p| [&d.headers[L3..], &p.1].concat());
        Some(Late { parts: d.parts.len() as u64, first })
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.store.clear();
        self.octets = 0;
    }
}

fn empty(ecn: u8) -> Datagram {
    Datagram { parts: Vec::new(), octets: 0, end: None, headers: Vec::new(), ecn, dead: false }
}

/// The packet of all its parts: the headers of the first, without those that only the way here needed. `None` when
/// congestion was met that it cannot tell.
fn join(d: &Datagram) -> Option<Buffer> {
    let mut p = Buffer::with_room(L3 + IPV6 + d.octets);
    let mut head = [0; L3 + IPV6];
    head.copy_from_slice(d.headers.get(..L3 + IPV6)?);
    if d.ecn == ECN_LOST {
        return None;
    }
    head[L3 + 1] = head[L3 + 1] & !0x30 | d.ecn << 4;
    head[L3 + 6] = d.headers[d.headers.len() - 8];
    put16(&mut head, L3 + 4, d.octets as u16);
    p.append(&head);
    d.parts.iter().for_each(|(_, part)| p.append(part));
    Some(p)
}
