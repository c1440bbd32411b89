//! The store: datagrams of which fragments have come, what became of the first, and the fragments that wait for it. Apart from
//! what is done with fragments, because its bounds are its own.

use crate::function::{Side, Verdict};
use crate::hash::Hasher;
use crate::ip4::Head4;
use crate::nat44::config::FragmentLimits;
use crate::nat44::cover::{Cover, Fit};
use crate::table::{Index, Slab};
use arena::ArenaError;
use std::collections::VecDeque;

/// What became of a datagram's first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has not come yet.
    Unknown,
    /// Translated to these addresses, and this verdict.
    Translated { src: u32, dst: u32, verdict: Verdict },
    /// Another worker's, given to it.
    Elsewhere(u16),
    /// Dropped.
    Dropped,
    /// Its fragments overlapped: none goes on, whatever still comes.
    GivenUp,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram {
    addresses: u64,
    /// Identification, protocol, side.
    rest: u64,
    pub(super) fate: Fate,
    due: u64,
    /// Which of all datagrams it is; 0 when the entry is free.
    serial: u64,
    /// What its fragments leave with, where that was drawn here.
    pub(super) identification: Option<u16>,
    pub(super) cover: Cover,
}

const NO_DATAGRAM: Datagram = Datagram {
    addresses: 0,
    rest: 0,
    fate: Fate::Unknown,
    due: 0,
    serial: 0,
    identification: None,
    cover: Cover::NOTHING,
};

impl Datagram {
    /// The identification that its fragments came in with.
    pub(super) fn sent_with(&self) -> u16 {
        self.rest as u16
    }

    /// Whether none of its fragments has been sent on.
    fn is_idle(&self) -> bool {
        matches!(self.fate, Fate::Unknown | Fate::Dropped | Fate::GivenUp)
    }
}

/// A fragment that waits for the first of its datagram.
pub(super) struct Waiting {
    datagram: u32,
    bytes: Vec<u8>,
}

/// The store.
pub struct Fragments {
    pub(super) slab: Slab<Datagram>,
    index: Index,
    hasher: Hasher,
    /// Datagrams in the order in which they end, with the serial number that shows whether the entry is still theirs.
    pub(super) order: VecDeque<(u32, u64)>,
    /// The same of those of which nothing has been sent on, when they were last looked at.
    idle: VecDeque<(u32, u64)>,
    /// How many datagrams there have been.
    serial: u64,
    waiting: VecDeque<Waiting>,
    /// Buffers of fragments that no longer wait.
    pub(super) spare: Vec<Vec<u8>>,
    most_waiting: usize,
    lifetime: u64,
    /// Fragments that waited and went because there was no more room.
    pub(super) displaced: u64,
}

impl Fragments {
    /// An empty store.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(limits: &FragmentLimits, hasher: Hasher) -> Result<Fragments, ArenaError> {
        let n = u64::from(limits.datagrams);
        Ok(Fragments {
            slab: Slab::new("the fragment store", n, NO_DATAGRAM)?,
            index: Index::new("the fragment store", n)?,
            hasher,
            order: VecDeque::with_capacity(usize::from(limits.datagrams) * 2),
            idle: VecDeque::with_capacity(usize::from(limits.datagrams) * 2),
            serial: 0,
            waiting: VecDeque::with_capacity(limits.held.into()),
            spare: Vec::with_capacity(limits.held.into()),
            most_waiting: limits.held.into(),
            lifetime: limits.lifetime.as_nanos() as u64,
            displaced: 0,
        })
    }

    fn key(from: Side, head: &Head4) -> (u64, u64) {
        let addresses = head.src as u64 | (head.dst as u64) << 32;
        let side = u64::from(from == Side::Internet);
        (addresses, head.id as u64 | (head.protocol as u64) << 16 | side << 24)
    }

    /// The entry of a datagram, made if need be.
    pub(super) fn entry(&mut self, now: u64, from: Side, head: &Head4) -> Option<u32> {
        let (a, r) = Fragments::key(from, head);
        let hash = self.hasher.pair(a, r);
        let found = self.index.find(hash, |e| self.slab[e].addresses == a && self.slab[e].rest == r);
        if found.is_some() {
            return found;
        }
        if self.slab.len() >= self.slab.capacity() {
            self.displace();
        }
        // Every entry has at most one place in each queue, and every place of an ended entry is one that could be cleaned up.
        if self.order.len() >= self.order.capacity() {
            self.order.retain(|&(e, serial)| self.slab[e].serial == serial);
        }
        if self.idle.len() >= self.idle.capacity() {
            self.idle.retain(|&(e, serial)| self.slab[e].serial == serial && self.slab[e].is_idle());
        }
        let due = now + self.lifetime;
        let serial = self.serial + 1;
        let e = self.slab.take(Datagram { addresses: a, rest: r, due, serial, ..NO_DATAGRAM })?;
        self.serial = serial;
        self.index.insert(hash, e);
        self.order.push_back((e, serial));
        self.idle.push_back((e, serial));
        Some(e)
    }

    /// End the datagram that has been known longest: one of which nothing has been sent on, if there is any. So whoever sends
    /// fragments that lead to nothing displaces his own, and a datagram that comes in order always finds a place (RFC 4787,
    /// REQ-14a).
    #[cold]
    fn displace(&mut self) {
        let (slab, idle, order) = (&self.slab, &mut self.idle, &mut self.order);
        // What is no longer idle has its place in the other queue.
        let nothing_sent =
            std::iter::from_fn(|| idle.pop_front()).find(|&(e, serial)| slab[e].serial == serial && slab[e].is_idle());
        let longest = || std::iter::from_fn(|| order.pop_front()).find(|&(e, serial)| slab[e].serial == serial);
        if let Some((e, _)) = nothing_sent.or_else(longest) {
            self.displaced += self.give_up(e);
            self.remove(e);
        }
    }

    /// Count a fragment: how it fits those that came before.
    pub(super) fn count(&mut self, e: u32, head: &Head4) -> Fit {
        let first = head.offset as u32;
        let end = first + (head.end - head.l4) as u32;
        self.slab[e].cover.add(first, end, !head.more)
    }

    /// Give a datagram up: what waits goes, and what still comes will. Gives how many fragments went.
    pub(super) fn give_up(&mut self, e: u32) -> u64 {
        self.slab[e].fate = Fate::GivenUp;
        let mut lost = 0;
        while let Some(bytes) = self.next_waiting(e) {
            self.spare.push(bytes);
            lost += 1;
        }
        lost
    }

    pub(super) fn remove(&mut self, e: u32) {
        let d = self.slab[e];
        self.index.remove(self.hasher.pair(d.addresses, d.rest), e);
        self.slab.give_back(e);
    }

    /// Keep a copy of a fragment until its first comes, in the place of the one that has waited longest if need be; false where
    /// none may wait.
    pub(super) fn wait(&mut self, datagram: u32, bytes: &[u8]) -> bool {
        if self.most_waiting == 0 {
            return false;
        }
        if self.waiting.len() >= self.most_waiting
            && let Some(w) = self.waiting.pop_front()
        {
            self.spare.push(w.bytes);
            self.displaced += 1;
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(bytes);
        self.waiting.push_back(Waiting { datagram, bytes: kept });
        true
    }

    /// Take out the fragment of this datagram that has waited longest.
    pub(super) fn next_waiting(&mut self, datagram: u32) -> Option<Vec<u8>> {
        let i = self.waiting.iter().position(|w| w.datagram == datagram)?;
        self.waiting.remove(i).map(|w| w.bytes)
    }

    /// End the datagrams whose time is over; gives how many waiting fragments went with them.
    pub(super) fn expire(&mut self, now: u64) -> u64 {
        let mut lost = 0;
        while let Some(&(e, serial)) = self.order.front() {
            let theirs = self.slab[e].serial == serial;
            if theirs && self.slab[e].due > now {
                break;
            }
            self.order.pop_front();
            if theirs {
                lost += self.give_up(e);
                self.remove(e);
            }
        }
        lost
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.slab.clear();
        self.index.clear();
        self.order.clear();
        self.idle.clear();
        while let Some(w) = self.waiting.pop_front() {
            self.spare.push(w.bytes);
        }
    }
}
