//! Fragments of IPv4 packets to or from a shared address (RFC 6269, section 11; RFC 7596, section 8; RFC 7597, section
//! 8.3.2): only the first shows the port that says whose it is. This remembers the ports of each datagram, in whatever order its fragments come: later
//! ones that come before the first are kept until it does.

use super::store::Store;
use super::{PartLimits, Waiting};
use crate::event::Event;
use crate::function::Verdict;
use crate::steer::by_hash;

/// What the fragments of a datagram have in common, and the tunnel that they came out of (0 from the IPv4 side): nobody can
/// say anything about another one's fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    tunnel: u128,
    addresses: (u32, u32),
    id: u16,
    protocol: u8,
}

impl Key {
    /// The key of a fragment.
    pub fn new(tunnel: u128, addresses: (u32, u32), id: u16, protocol: u8) -> Key {
        Key { tunnel, addresses, id, protocol }
    }

    /// The worker of `workers` where the fragments of a datagram meet: by a hash of addresses and identification.
    pub fn worker(&self, workers: u16) -> u16 {
        let (src, dst) = self.addresses;
        let common = src.to_be_bytes().into_iter().chain(dst.to_be_bytes()).chain(self.id.to_be_bytes());
        by_hash(common, workers.into()) as u16
    }
}

/// A fragment's place in its datagram.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where it begins, in octets.
    pub offset: usize,
    /// Octets of payload.
    pub len: usize,
    /// Whether there are fragments behind it.
    pub more: bool,
}

/// Ports of source and destination.
pub type Ports = [Option<u16>; 2];

/// What is known of a fragment's datagram.
pub enum Whose {
    /// The ports of its first fragment.
    Known(Ports),
    /// The first has not come, or another worker knows: the packet ends here with this verdict.
    Not(Verdict),
}

#[derive(Default)]
struct Datagram {
    ports: Option<Ports>,
    /// Payload octets let through, and in all (0 while the last fragment has not come).
    seen: usize,
    total: usize,
    waiting: Vec<Vec<u8>>,
}

/// The store, by whatever the fragments of a datagram have in common.
pub struct Tracker<K = Key> {
    store: Store<K, Datagram>,
    most: usize,
    /// Octets that wait.
    octets: usize,
    /// Fragments that lost their place since last asked.
    lost: u64,
}

/// What a kept fragment takes beside its octets.
const EXTRA: usize = 64;

fn size(waiting: &[Vec<u8>]) -> usize {
    waiting.iter().map(|w| w.len() + EXTRA).sum()
}

impl<K: Ord + Copy> Tracker<K> {
    /// An empty one.
    pub fn new(limits: &PartLimits) -> Tracker<K> {
        let store = Store::new(limits.datagrams, limits.lifetime.as_nanos() as u64);
        Tracker { store, most: limits.octets as usize, octets: 0, lost: 0 }
    }

    /// What waits.
    pub fn waiting(&self) -> Waiting {
        Waiting { datagrams: self.store.len(), octets: self.octets }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// The ports of the datagram that a fragment belongs to; `None` when its first has not come: then it waits, as a copy of
    /// `frame`.
    ///
    /// # Errors
    /// When it does not fit its datagram, or is larger than everything that may wait.
    pub fn ports(
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
        if self.store.get(&key).is_none() {
            let gone = self.store.insert(now, key, Datagram::default());
            self.forget(gone);
        }
        let Some(d) = self.store.get(&key) else { return Err(Event::FragmentFull) };
        if offset == 0 {
            d.ports = Some(shown);
        }
        let Some(ports) = d.ports else { return self.wait(key, frame).map(|()| None) };
        d.seen += len;
        if !more {
            d.total = offset + len;
        }
        if d.total > 0 && d.seen >= d.total && d.waiting.is_empty() {
            self.store.remove(&key);
        }
        Ok(Some(ports))
    }

    /// Keep a copy of a fragment; the oldest datagrams make room.
    fn wait(&mut self, key: K, frame: &[u8]) -> Result<(), Event> {
        let need = frame.len() + EXTRA;
        while self.octets + need > self.most {
            let Some(gone) = self.store.oldest() else { return Err(Event::FragmentFull) };
            self.forget(Some(gone));
        }
        // The oldest may have been this one.
        let Some(d) = self.store.get(&key) else { return Err(Event::FragmentFull) };
        d.waiting.push(frame.to_vec());
        self.octets += need;
        Ok(())
    }

    fn forget(&mut self, gone: Option<Datagram>) {
        if let Some(d) = gone {
            self.octets -= size(&d.waiting);
            self.lost += d.waiting.len() as u64;
        }
    }

    /// Take out the fragments of a datagram that have waited for its first, in the order in which they came.
    pub fn take_waiting(&mut self, key: &K) -> Vec<Vec<u8>> {
        let waiting = self.store.get(key).map(|d| std::mem::take(&mut d.waiting)).unwrap_or_default();
        self.octets -= size(&waiting);
        waiting
    }

    /// How many fragments lost their place since last asked.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// End the datagrams whose time is over; gives how many fragments waited in vain.
    pub fn expire(&mut self, now: u64) -> u64 {
        let mut late = 0;
        while let Some(d) = self.store.expired(now) {
            self.octets -= size(&d.waiting);
            late += d.waiting.len() as u64;
        }
        late
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.store.clear();
        self.octets = 0;
    }
}
