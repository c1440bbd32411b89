//! A subscriber's sessions, ports and port blocks, for quotas (RFC 6888, REQ-4, 5) and port block
//! allocation (REQ-14).

use super::config::{Blocks, Config, Quota};
use super::pool::PortClasses;
use super::portmap::BlockMap;
use crate::hash::Hasher;
use crate::table::{Index, Slab};
use arena::ArenaError;

pub(super) const BLOCKS: usize = 8;
const NO_BLOCK: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Subscriber {
    addr: u32,
    sessions: u32,
    ports: u32,
    /// Outside address of the blocks.
    address: u32,
    /// Blocks, and how many ports of each are in use.
    blocks: [u16; BLOCKS],
    used: [u16; BLOCKS],
}

const EMPTY: Subscriber =
    Subscriber { addr: 0, sessions: 0, ports: 0, address: 0, blocks: [NO_BLOCK; BLOCKS], used: [0; BLOCKS] };

pub(super) struct NewBlock {
    pub chunks: (u32, u32),
    /// In the order of the draw.
    pub place: u32,
}

pub(super) struct Subscribers {
    slab: Slab<Subscriber>,
    index: Index,
    hasher: Hasher,
    most_sessions: u32,
    most_ports: u32,
    blocks: Option<(BlockMap, usize)>,
    ports: PortClasses,
}

impl Subscribers {
    /// `None` without quotas and blocks.
    pub(super) fn new(
        config: &Config,
        workers: usize,
        ports: PortClasses,
        hasher: Hasher,
    ) -> Result<Option<Subscribers>, ArenaError> {
        let Quota { sessions, ports: quota_ports } = config.quota;
        if sessions.is_none() && quota_ports.is_none() && config.blocks.is_none() {
            return Ok(None);
        }
        let n = config.subscribers();
        // A numbered customer's packets arrive at one worker.
        let apart = if config.numbered.is_some() { 1 } else { workers as u32 };
        let share = |q: Option<u32>| q.map_or(u32::MAX, |q| q.div_ceil(apart));
        let blocks = match config.blocks {
            Some(Blocks { size, per_subscriber }) => {
                Some((BlockMap::new(config, &ports.all, size)?, usize::from(per_subscriber).min(BLOCKS)))
            }
            None => None,
        };
        Ok(Some(Subscribers {
            slab: Slab::new("the subscribers", n, EMPTY)?,
            index: Index::new("the subscribers", n)?,
            hasher,
            most_sessions: share(sessions),
            most_ports: share(quota_ports),
            blocks,
            ports,
        }))
    }

    pub(super) fn bytes_for(config: &Config) -> u64 {
        if config.quota == Quota::default() && config.blocks.is_none() {
            return 0;
        }
        let n = config.subscribers();
        n * (size_of::<Subscriber>() as u64 + 4) + Index::bytes_for(n)
    }

    fn find(&self, addr: u32) -> Option<u32> {
        self.index.find(self.hasher.one(addr as u64), |e| self.slab[e].addr == addr)
    }

    /// Finds or makes an entry; `None` when the table is full.
    fn entry(&mut self, addr: u32) -> Option<u32> {
        if let Some(e) = self.find(addr) {
            return Some(e);
        }
        let e = self.slab.take(Subscriber { addr, ..EMPTY })?;
        self.index.insert(self.hasher.one(addr as u64), e);
        Some(e)
    }

    pub(super) fn may_open(&self, addr: u32) -> bool {
        self.find(addr).map_or(self.most_sessions > 0 && self.slab.len() < self.slab.capacity(), |e| {
            self.slab[e].sessions < self.most_sessions
        })
    }

    pub(super) fn may_map(&self, addr: u32) -> bool {
        self.find(addr).map_or(self.most_ports > 0, |e| self.slab[e].ports < self.most_ports)
    }

    pub(super) fn add_session(&mut self, addr: u32) {
        if let Some(e) = self.entry(addr) {
            self.slab[e].sessions += 1;
        }
    }

    pub(super) fn end_session(&mut self, addr: u32) {
        if let Some(e) = self.find(addr) {
            self.slab[e].sessions = self.slab[e].sessions.saturating_sub(1);
            self.forget_if_empty(e);
        }
    }

    pub(super) fn has_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    /// The chunks of the subscriber's `i`-th block.
    pub(super) fn block(&self, addr: u32, i: usize) -> Option<(u32, u32)> {
        let e = self.find(addr)?;
        let block = *self.slab[e].blocks.get(i)?;
        let (map, _) = self.blocks.as_ref()?;
        (block != NO_BLOCK).then(|| map.chunks(block))
    }

    /// The outside address of the subscriber's blocks.
    pub(super) fn address(&self, addr: u32) -> Option<u32> {
        let s = &self.slab[self.find(addr)?];
        s.blocks.iter().any(|&b| b != NO_BLOCK).then_some(s.address)
    }

    pub(super) fn may_take_block(&self, addr: u32) -> bool {
        let most = self.blocks.as_ref().map_or(0, |(_, most)| *most);
        self.find(addr).is_none_or(|e| self.slab[e].blocks[..most].contains(&NO_BLOCK))
    }

    /// A new block of this outside address, whose place in the order is `from` or later; `None` at
    /// the subscriber's maximum or when no block is free.
    pub(super) fn new_block(&mut self, addr: u32, address: u32, hash: u64, from: u32) -> Option<NewBlock> {
        let e = self.entry(addr)?;
        let (map, most) = self.blocks.as_mut()?;
        let i = self.slab[e].blocks[..*most].iter().position(|&b| b == NO_BLOCK)?;
        let Some((block, place)) = map.take(address, hash, from) else {
            self.forget_if_empty(e);
            return None;
        };
        let s = &mut self.slab[e];
        (s.address, s.blocks[i], s.used[i]) = (address, block, 0);
        Some(NewBlock { chunks: map.chunks(block), place })
    }

    pub(super) fn add_port(&mut self, addr: u32, port: u16) {
        let Some(e) = self.entry(addr) else { return };
        self.slab[e].ports += 1;
        if let Some(i) = self.block_index(e, port) {
            self.slab[e].used[i] += 1;
        }
    }

    /// Counts a port in use, and keeps the block that has it, if it has no owner.
    pub(super) fn keep_port(&mut self, addr: u32, address: u32, port: u16) {
        let place = self.ports.all.place(port);
        if let (Some(e), Some(place)) = (self.entry(addr), place)
            && let Some((map, most)) = &mut self.blocks
        {
            let s = &mut self.slab[e];
            let block = map.block_of(place);
            let free = s.blocks[..*most].iter().position(|&b| b == NO_BLOCK);
            let elsewhere = s.address != address && s.blocks.iter().any(|&b| b != NO_BLOCK);
            if let Some(i) = free.filter(|_| !elsewhere && map.claim(address, block)) {
                (s.address, s.blocks[i], s.used[i]) = (address, block, 0);
            }
        }
        self.add_port(addr, port);
    }

    /// Frees a port; true when that freed a block.
    pub(super) fn end_port(&mut self, addr: u32, address: u32, port: u16) -> bool {
        let Some(e) = self.find(addr) else { return false };
        self.slab[e].ports = self.slab[e].ports.saturating_sub(1);
        let mut released = false;
        if let Some(i) = self.block_index(e, port) {
            self.slab[e].used[i] -= 1;
            if self.slab[e].used[i] == 0
                && let Some((map, _)) = &mut self.blocks
            {
                map.release(address, self.slab[e].blocks[i]);
                self.slab[e].blocks[i] = NO_BLOCK;
                released = true;
            }
        }
        self.forget_if_empty(e);
        released
    }

    /// Releases unused blocks.
    pub(super) fn release_unused(&mut self, addr: u32, address: u32) {
        let Some(e) = self.find(addr) else { return };
        for i in 0..BLOCKS {
            let s = &mut self.slab[e];
            if s.blocks[i] != NO_BLOCK
                && s.used[i] == 0
                && let Some((map, _)) = &mut self.blocks
            {
                map.release(address, s.blocks[i]);
                s.blocks[i] = NO_BLOCK;
            }
        }
        self.forget_if_empty(e);
    }

    fn block_index(&self, e: u32, port: u16) -> Option<usize> {
        let (map, _) = self.blocks.as_ref()?;
        let block = map.block_of(self.ports.all.place(port)?);
        self.slab[e].blocks.iter().position(|&b| b == block)
    }

    fn forget_if_empty(&mut self, e: u32) {
        let s = self.slab[e];
        if s.sessions == 0 && s.ports == 0 && s.blocks.iter().all(|&b| b == NO_BLOCK) {
            self.index.remove(self.hasher.one(s.addr as u64), e);
            self.slab.give_back(e);
        }
    }

    pub(super) fn clear(&mut self) {
        self.slab.clear();
        self.index.clear();
        if let Some((map, _)) = &mut self.blocks {
            map.clear();
        }
    }
}
