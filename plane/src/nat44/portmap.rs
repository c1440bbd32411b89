//! Outside ports taken under endpoint-independent mapping: a bit for each port of each address and
//! protocol, with a delay before reuse (RFC 6888, REQ-8), and the blocks of port block allocation.

use super::config::Config;
use super::pool::{CHUNK, Pool, PortClasses, Ports};
use super::room::{PROTOCOLS, Room};
use super::session::{addr, port, protocol};
use arena::{ArenaError, Array};

/// Taken, freed in even epochs, freed in odd ones.
const LAYERS: usize = 3;

#[derive(Clone, Copy)]
struct Slot {
    generation: u32,
    epoch: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub inside: u16,
    /// Whether the same port is tried first.
    pub same: bool,
    /// Whether the parity is the customer's.
    pub parity: bool,
    /// Whether the port may be of the other class.
    pub any: bool,
    /// Randomness.
    pub hash: u64,
}

pub(super) struct PortMap {
    /// [address][protocol][layer][chunk]
    words: Array<u64>,
    slots: Array<Slot>,
    /// Reserved places in order.
    reserved: Vec<(u32, u32)>,
    room: Room,
    chunks: u32,
    ports: PortClasses,
    generation: u32,
    rest: u32,
    /// The last tick and its epoch.
    clock: (u32, u32),
    /// Addresses and protocols that have come into another epoch, each of which costs 8 kB of memory.
    pub turns: u32,
}

impl PortMap {
    /// `rest` is how many ticks a freed port rests.
    pub(super) fn new(config: &Config, ports: PortClasses, rest: u32) -> Result<PortMap, ArenaError> {
        let chunks = ports.all.chunks();
        let addresses = config.addresses_with_ports() as u32;
        let slots = addresses as usize * PROTOCOLS;
        let reserved = reserved(config, &ports.all);
        let room = Room::new(addresses, |address, protocol| {
            let slot = address * PROTOCOLS as u32 + protocol as u32;
            let upto = |slot: u32| reserved.partition_point(|r| r.0 < slot);
            upto(slot + 1) - upto(slot) < ports.all.count() as usize
        });
        Ok(PortMap {
            words: Array::filled("the outside ports", slots * LAYERS * chunks as usize, 0)?,
            slots: Array::filled("the outside ports", slots, Slot { generation: 0, epoch: 0 })?,
            reserved,
            room,
            chunks,
            ports,
            generation: 1,
            rest,
            clock: (0, 0),
            turns: 0,
        })
    }

    pub(super) fn bytes_for(config: &Config) -> u64 {
        config.addresses_with_ports() * PROTOCOLS as u64 * (LAYERS as u64 * 1024 * 8 + 8)
    }

    /// Takes over the ports in use, or resting, of the addresses that keep a number.
    pub(super) fn inherit(&mut self, former: &PortMap, number: impl Fn(u32) -> Option<u32>) {
        (self.generation, self.room) = (former.generation, Room::new(self.room.len(), |_, _| true));
        let (size, per_address) = (LAYERS * self.chunks as usize, PROTOCOLS as u32);
        let of = |slot: u32| Some(number(slot / per_address)? * per_address + slot % per_address);
        for (old, new) in (0..former.slots.len() as u32).filter_map(|old| Some((old as usize, of(old)? as usize))) {
            self.slots[new] = former.slots[old];
            self.words[new * size..][..size].copy_from_slice(&former.words[old * size..][..size]);
            if former.slots[old].generation == former.generation {
                for (_, place) in former.reserved.iter().filter(|(slot, _)| *slot as usize == old) {
                    let at = self.word(new, 0, place / CHUNK);
                    self.words[at] &= !(1 << (place % CHUNK));
                }
                self.reserve(new);
            }
        }
    }

    /// Takes a port; with `within`, only from these chunks.
    pub(super) fn take(
        &mut self,
        address: u32,
        protocol: u8,
        wish: Wish,
        within: Option<(u32, u32)>,
        tick: u32,
    ) -> Option<u16> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.ready(address, protocol, tick);
        let all = self.ports.all;
        let inside = |chunk: u32| within.is_none_or(|(from, n)| (from..from + n).contains(&chunk));
        if wish.same
            && let Some(place) = all.place(wish.inside)
            && inside(place / CHUNK)
            && self.free_bits(slot, place / CHUNK) >> (place % CHUNK) & 1 == 1
        {
            return Some(self.mark(slot, place));
        }
        if let Some((from, n)) = within {
            return self.search(slot, &all, from, n, wish);
        }
        let class = if wish.any { all } else { *self.ports.class(wish.inside) };
        self.search(slot, &class, class.first_chunk(), class.chunks(), wish)
    }

    /// The next address that may have room, from this one on.
    pub(super) fn address_with_room(&mut self, protocol: u8, from: u32, tick: u32) -> Option<u32> {
        let epoch = self.epoch(tick);
        self.room.next(place_of(protocol), from, epoch)
    }

    pub(super) fn has_room(&mut self, address: u32, protocol: u8, tick: u32) -> bool {
        let epoch = self.epoch(tick);
        !self.slots.is_empty() && self.room.has(place_of(protocol), address, epoch)
    }

    pub(super) fn mark_full(&mut self, address: u32, protocol: u8) {
        self.room.mark_full(place_of(protocol), address);
    }

    /// A block of ports has no owner any more.
    pub(super) fn block_freed(&mut self, address: u32, tick: u32) {
        let epoch = self.epoch(tick);
        (0..PROTOCOLS).for_each(|protocol| self.room.freed(protocol, address, epoch, false));
    }

    /// Divides once a tick.
    #[inline]
    fn epoch(&mut self, tick: u32) -> u32 {
        if self.clock.0 != tick {
            self.clock = (tick, tick.checked_div(self.rest).unwrap_or(0));
        }
        self.clock.1
    }

    /// Searches the first of `n` chunks with a free place, from a random chunk on.
    fn search(&mut self, slot: usize, ports: &Ports, from: u32, n: u32, wish: Wish) -> Option<u16> {
        let parity = if wish.parity { ports.parity(wish.inside & 1 == 1) } else { u64::MAX };
        let start = crate::hash::range(wish.hash, n);
        for k in 0..n {
            let chunk = from + (start + k) % n;
            let free = self.free_bits(slot, chunk) & ports.chunk(chunk) & parity;
            if free != 0 {
                let turn = wish.hash as u32 & 63;
                let bit = (free.rotate_right(turn).trailing_zeros() + turn) & 63;
                return Some(self.mark(slot, chunk * CHUNK + bit));
            }
        }
        None
    }

    pub(super) fn release(&mut self, address: u32, protocol: u8, port: u16, tick: u32) {
        let Some(place) = self.ports.all.place(port) else { return };
        let slot = self.ready(address, protocol, tick);
        let bit = 1u64 << (place % CHUNK);
        let at = self.word(slot, 0, place / CHUNK);
        self.words[at] &= !bit;
        let epoch = self.epoch(tick);
        self.room.freed(place_of(protocol), address, epoch, self.rest > 0);
        if self.rest > 0 {
            let at = self.word(slot, freed_in(epoch), place / CHUNK);
            self.words[at] |= bit;
        }
    }

    /// Older generations are wiped at their next use.
    pub(super) fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.room.clear();
    }

    fn mark(&mut self, slot: usize, place: u32) -> u16 {
        let at = self.word(slot, 0, place / CHUNK);
        self.words[at] |= 1 << (place % CHUNK);
        self.ports.all.port(place)
    }

    fn free_bits(&self, slot: usize, chunk: u32) -> u64 {
        let taken: u64 = (0..LAYERS).fold(0, |w, layer| w | self.words[self.word(slot, layer, chunk)]);
        !taken
    }

    fn word(&self, slot: usize, layer: usize, chunk: u32) -> usize {
        (slot * LAYERS + layer) * self.chunks as usize + (chunk - self.ports.all.first_chunk()) as usize
    }

    /// Wiped if the map was cleared; resting ports move on with time.
    fn ready(&mut self, address: u32, protocol: u8, tick: u32) -> usize {
        let slot = slot_of(address, protocol) as usize;
        let epoch = self.epoch(tick);
        let s = self.slots[slot];
        if s.generation == self.generation && s.epoch == epoch {
            return slot;
        }
        let chunks = self.chunks as usize;
        let at = slot * LAYERS * chunks;
        let layers = &mut self.words[at..at + LAYERS * chunks];
        self.turns = self.turns.wrapping_add(1);
        if s.generation != self.generation {
            layers.fill(0);
            self.reserve(slot);
        } else if epoch.wrapping_sub(s.epoch) == 1 {
            layers[freed_in(epoch) * chunks..][..chunks].fill(0);
        } else {
            layers[chunks..].fill(0);
        }
        self.slots[slot] = Slot { generation: self.generation, epoch };
        slot
    }

    fn reserve(&mut self, slot: usize) {
        let from = self.reserved.partition_point(|r| (r.0 as usize) < slot);
        for i in from..self.reserved.len() {
            let (of, place) = self.reserved[i];
            if of as usize != slot {
                break;
            }
            self.mark(slot, place);
        }
    }
}

/// The layer of the ports that are freed in this epoch.
fn freed_in(epoch: u32) -> usize {
    1 + (epoch & 1) as usize
}

fn place_of(protocol: u8) -> usize {
    match protocol {
        wire::header::PROTO_UDP => 0,
        wire::header::TCP => 1,
        _ => 2,
    }
}

fn slot_of(address: u32, protocol: u8) -> u32 {
    address * PROTOCOLS as u32 + place_of(protocol) as u32
}

fn reserved(config: &Config, ports: &Ports) -> Vec<(u32, u32)> {
    let pool = Pool::new(config.pool.clone());
    let mut all = Vec::new();
    for m in &config.statics {
        let ([outside, _], more) = m.points();
        let Some(address) = pool.number(addr(outside)) else { continue };
        let slot = slot_of(address, protocol(outside));
        let range = port(outside)..=port(outside) + more as u16;
        all.extend(range.filter_map(|p| ports.place(p)).map(|place| (slot, place)));
    }
    all.sort_unstable();
    all
}

pub(super) struct BlockMap {
    owners: Array<u32>,
    generations: Array<u32>,
    per_address: u32,
    /// First chunk of the first block; chunks of a block.
    first: u32,
    chunks: u32,
    generation: u32,
}

impl BlockMap {
    pub(super) fn new(config: &Config, ports: &Ports, size: u16) -> Result<BlockMap, ArenaError> {
        let chunks = u32::from(size) / CHUNK;
        let addresses = config.addresses_with_ports() as usize;
        let per_address = if addresses == 0 { 0 } else { ports.chunks() / chunks };
        Ok(BlockMap {
            owners: Array::filled("the port blocks", addresses * per_address as usize, 0)?,
            generations: Array::filled("the port blocks", addresses, 0)?,
            per_address,
            first: ports.first_chunk(),
            chunks,
            generation: 1,
        })
    }

    /// Takes this block, unless it has an owner.
    pub(super) fn claim(&mut self, address: u32, block: u16) -> bool {
        self.ready(address);
        let owner = u32::from(block) < self.per_address;
        let owner = owner.then(|| &mut self.owners[(address * self.per_address + u32::from(block)) as usize]);
        owner.is_some_and(|owner| std::mem::replace(owner, 1) == 0)
    }

    fn ready(&mut self, address: u32) {
        if self.generations[address as usize] != self.generation {
            let base = (address * self.per_address) as usize;
            self.owners[base..base + self.per_address as usize].fill(0);
            self.generations[address as usize] = self.generation;
        }
    }

    /// Takes the first free block of a random order, from the `from`-th on; also its place in the order.
    pub(super) fn take(&mut self, address: u32, hash: u64, from: u32) -> Option<(u16, u32)> {
        let n = self.per_address;
        if n == 0 {
            return None;
        }
        self.ready(address);
        let base = (address * n) as usize;
        let owners = &mut self.owners[base..base + n as usize];
        let start = crate::hash::range(hash, n);
        let at = (from..n).find(|k| owners[((start + k) % n) as usize] == 0)?;
        let block = (start + at) % n;
        owners[block as usize] = 1;
        Some((block as u16, at))
    }

    pub(super) fn release(&mut self, address: u32, block: u16) {
        self.owners[(address * self.per_address + u32::from(block)) as usize] = 0;
    }

    pub(super) fn chunks(&self, block: u16) -> (u32, u32) {
        (self.first + u32::from(block) * self.chunks, self.chunks)
    }

    pub(super) fn block_of(&self, place: u32) -> u16 {
        ((place / CHUNK - self.first) / self.chunks) as u16
    }

    pub(super) fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }
}
