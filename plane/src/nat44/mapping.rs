//! Mappings of endpoint-independent mapping (inside ↔ outside end point, above its sessions), and
//! permissions (remote addresses it has sent to). Both live as long as their sessions. NAT64's
//! binding information base is the same.

use super::config::{Config, Filtering};
use super::pool::PortClasses;
use super::portmap::PortMap;
use super::session::{ALONE, addr, port, protocol};
use crate::hash::Hasher;
use crate::table::{Guess, Index, SessionTable, Slab, bytes_for};
use arena::ArenaError;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MappingEntry {
    /// Inside end point with protocol, without alias bits, or with them and marked as [`ALONE`].
    key: u64,
    /// Outside address and port, with protocol.
    pub outside: u64,
    /// Number of sessions; the mapping ends with the last one.
    pub sessions: u32,
    addr: u32,
}

impl MappingEntry {
    /// Inside end point, with the alias that last opened a session: packets from unknown senders go there.
    pub(super) fn inside(&self) -> u64 {
        self.key & !ALONE & !u64::from(u32::MAX) | u64::from(self.addr)
    }
}

/// A remote address, for address-dependent filtering.
#[derive(Clone, Copy, Debug, Default)]
struct Permit {
    mapping: u32,
    remote: u32,
    sessions: u32,
}

struct Permits {
    slab: Slab<Permit>,
    index: Index,
}

pub(super) struct Mappings {
    table: SessionTable<MappingEntry>,
    pub ports: PortMap,
    permits: Option<Permits>,
    hasher: Hasher,
}

impl Mappings {
    /// `rest` as in [`PortMap::new`].
    pub(super) fn new(
        config: &Config,
        workers: usize,
        ports: PortClasses,
        rest: u32,
        hasher: Hasher,
    ) -> Result<Mappings, ArenaError> {
        let permits = if config.permits() {
            let n = config.sessions_per_worker(workers);
            let slab = Slab::new("the table of permitted addresses", n, Permit::default())?;
            Some(Permits { slab, index: Index::new("the table of permitted addresses", n)? })
        } else {
            None
        };
        let n = config.mappings_per_worker(workers);
        Ok(Mappings {
            table: SessionTable::new("the mapping table", n, MappingEntry::default())?,
            ports: PortMap::new(config, ports, rest)?,
            permits,
            hasher,
        })
    }

    pub(super) fn bytes_for(config: &Config, workers: usize) -> u64 {
        let sessions = config.sessions_per_worker(workers);
        let permits = match config.filtering {
            Filtering::AddressDependent => sessions * (size_of::<Permit>() as u64 + 4) + Index::bytes_for(sessions),
            _ => 0,
        };
        bytes_for::<MappingEntry>(config.mappings_per_worker(workers))
            + permits
            + PortMap::bytes_for(config) / workers as u64
    }

    pub(super) fn len(&self) -> u32 {
        self.table.slab.len()
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &MappingEntry> {
        (0..self.table.slab.touched()).map(|m| &self.table.slab[m]).filter(|m| m.sessions > 0)
    }

    pub(super) fn get(&self, m: u32) -> &MappingEntry {
        &self.table.slab[m]
    }

    /// Prefetches for [`Self::by_inside`].
    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, inside: u64) {
        self.table.inner.prefetch(self.hasher.one(inside));
    }

    /// Prefetches for [`Self::by_inside`], or the next free entry.
    #[inline(always)]
    pub(super) fn prefetch_entry(&self, inside: u64) {
        match self.table.inner.guess(self.hasher.one(inside)) {
            Guess::Entry(m) => self.table.slab.prefetch(m),
            Guess::Absent | Guess::Further => self.table.slab.prefetch_next(0),
        }
    }

    /// A probable outside end point, only for prefetching.
    #[inline(always)]
    pub(super) fn guess(&self, inside: u64) -> Option<u64> {
        match self.table.inner.guess(self.hasher.one(inside)) {
            Guess::Entry(m) => Some(self.table.slab[m].outside),
            Guess::Absent | Guess::Further => None,
        }
    }

    /// Returns the index of the mapping with this `key` (see [`MappingEntry`]).
    #[inline]
    pub(super) fn by_inside(&self, key: u64) -> Option<u32> {
        self.table.inner.find(self.hasher.one(key), |m| self.table.slab[m].key == key)
    }

    #[inline]
    pub(super) fn by_outside(&self, outside: u64) -> Option<u32> {
        self.table.outer.find(self.hasher.one(outside), |m| self.table.slab[m].outside == outside)
    }

    pub(super) fn used_by(&mut self, m: u32, inside: u64) {
        self.table.slab[m].addr = addr(inside);
    }

    pub(super) fn has_room(&self) -> bool {
        self.len() < self.table.slab.capacity()
    }

    /// The caller has taken the port and checked for room.
    pub(super) fn make(&mut self, key: u64, inside: u64, outside: u64) -> Option<u32> {
        let (i, o) = (self.hasher.one(key), self.hasher.one(outside));
        self.table.insert(i, o, MappingEntry { key, outside, sessions: 0, addr: addr(inside) })
    }

    pub(super) fn add_session(&mut self, m: u32, remote: u32) {
        self.table.slab[m].sessions += 1;
        let hash = self.permit_hash(m, remote);
        if let Some(p) = &mut self.permits {
            match p.index.find(hash, |e| p.slab[e].mapping == m && p.slab[e].remote == remote) {
                Some(e) => p.slab[e].sessions += 1,
                // Each permission has at least one session.
                None => {
                    if let Some(e) = p.slab.take(Permit { mapping: m, remote, sessions: 1 }) {
                        p.index.insert(hash, e);
                    }
                }
            }
        }
    }

    /// Returns the mapping if it ended too; its port then rests.
    pub(super) fn end_session(&mut self, m: u32, remote: u32, address: u32, tick: u32) -> Option<MappingEntry> {
        let hash = self.permit_hash(m, remote);
        if let Some(p) = &mut self.permits
            && let Some(e) = p.index.find(hash, |e| p.slab[e].mapping == m && p.slab[e].remote == remote)
        {
            p.slab[e].sessions -= 1;
            if p.slab[e].sessions == 0 {
                p.index.remove(hash, e);
                p.slab.give_back(e);
            }
        }
        let mapped = &mut self.table.slab[m];
        mapped.sessions -= 1;
        let mapped = *mapped;
        (mapped.sessions == 0).then(|| {
            self.unmake(m, address, tick);
            mapped
        })
    }

    pub(super) fn unmake(&mut self, m: u32, address: u32, tick: u32) {
        let mapped = self.table.slab[m];
        let (i, o) = (self.hasher.one(mapped.key), self.hasher.one(mapped.outside));
        self.table.remove(i, o, m);
        self.ports.release(address, protocol(mapped.outside), port(mapped.outside), tick);
    }

    /// Whether address-dependent filtering admits `remote`.
    pub(super) fn permits(&self, m: u32, remote: u32) -> bool {
        self.permits.as_ref().is_some_and(|p| {
            p.index
                .find(self.permit_hash(m, remote), |e| p.slab[e].mapping == m && p.slab[e].remote == remote)
                .is_some()
        })
    }

    fn permit_hash(&self, m: u32, remote: u32) -> u64 {
        self.hasher.pair(m as u64, remote as u64)
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.ports.clear();
        if let Some(p) = &mut self.permits {
            p.slab.clear();
            p.index.clear();
        }
    }
}
