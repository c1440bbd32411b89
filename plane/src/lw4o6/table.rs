//! The binding table: immutable, 16 octets a softwire, one cache line a look-up in both directions.
//!
//! Successive addresses with port sets of the same length and offset make an *address block*, in which address and PSID give
//! the place of a softwire. An address with less than a quarter of its port sets assigned is a block that lists its
//! PSIDs, so that memory is proportional to the number of softwires.

use crate::event::Event;
use crate::strategy::{Point4, Softwires, Wrap};
use arena::Array;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::PortSet;

/// A lwB4 with its IPv4 address and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softwire {
    /// IPv6 address of the lwB4.
    pub b4: Ipv6Addr,
    /// IPv4 address, shared or not.
    pub ipv4: Ipv4Addr,
    /// Ports; [`PortSet::ALL`] for an unshared address.
    pub ports: PortSet,
    /// The softwire's own lwAFTR address; `None`: the table's.
    pub own: Option<Ipv6Addr>,
}

/// Ascending. A tunnel to oneself is a loop (RFC 2473, section 4.1.2), and packets to the gateway's
/// IPv4 address enter no tunnel.
#[derive(Clone, Debug, Default)]
pub(super) struct Forbidden {
    v6: Vec<u128>,
    v4: Vec<u32>,
}

impl Forbidden {
    pub(super) fn new(v6: impl Iterator<Item = u128>, v4: impl Iterator<Item = u32>) -> Forbidden {
        let (mut v6, mut v4): (Vec<u128>, Vec<u32>) = (v6.collect(), v4.collect());
        v6.sort_unstable();
        v6.dedup();
        v4.sort_unstable();
        Forbidden { v6, v4 }
    }

    pub(super) fn has6(&self, addr: u128) -> bool {
        self.v6.binary_search(&addr).is_ok()
    }

    pub(super) fn has4(&self, addr: u32) -> bool {
        self.v4.binary_search(&addr).is_ok()
    }
}

pub(super) const STARTS: usize = (1 << 16) + 1;
const NOWHERE: u32 = u32::MAX;
pub(super) const DENSE: u32 = u32::MAX;

/// Successive addresses with the same upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressBlock {
    pub first: u32,
    pub last: u32,
    pub base: u32,
    /// Start of the list of PSIDs, or [`DENSE`].
    pub psid_start: u32,
    pub psid_count: u32,
    /// Ports below this belong to no port set.
    pub lowest_port: u16,
    pub offset: u8,
    pub len: u8,
}

impl AddressBlock {
    fn ports(&self, psid: u16) -> PortSet {
        PortSet { offset: self.offset, len: self.len, psid }
    }
}

/// The first block that does not end before the address.
#[inline(never)]
fn block_among(blocks: &[AddressBlock], addr: u32) -> Option<&AddressBlock> {
    blocks.get(blocks.partition_point(|s| s.last < addr))
}

/// All softwires of a lwAFTR.
pub struct BindingTable {
    /// lwB4s by place; 0 for none.
    pub(super) b4: Array<u128>,
    pub(super) blocks: Vec<AddressBlock>,
    /// First blocks of each upper half of addresses, and one past the last.
    pub(super) starts: Box<[u32; STARTS]>,
    /// A bit for each upper half with blocks: fits the first-level cache.
    pub(super) nonempty_halves: [u64; 1024],
    /// PSIDs in ascending order.
    pub(super) psids: Vec<u16>,
    pub(super) own: Vec<u128>,
    pub(super) forbidden: Forbidden,
    pub(super) gateway: Vec<IpAddr>,
    /// Own lwAFTR addresses by place, if there are several.
    pub(super) lwaftr_by_place: Option<Array<u16>>,
    pub(super) softwires: u64,
}

impl BindingTable {
    /// Number of softwires.
    pub fn len(&self) -> u64 {
        self.softwires
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.softwires == 0
    }

    /// Octets of memory.
    pub fn bytes(&self) -> u64 {
        let lists = self.blocks.len() * size_of::<AddressBlock>() + self.starts.len() * 4 + self.psids.len() * 2;
        (self.b4.bytes() + self.lwaftr_by_place.as_ref().map_or(0, Array::bytes) + lists + 8192) as u64
    }

    /// All softwires, by address and PSID.
    pub fn iter(&self) -> impl Iterator<Item = Softwire> + '_ {
        self.blocks.iter().flat_map(move |s| self.of_block(s))
    }

    fn of_block<'a>(&'a self, s: &'a AddressBlock) -> impl Iterator<Item = Softwire> + 'a {
        let sets = if s.psid_start == DENSE { 1u32 << s.len } else { s.psid_count };
        let addresses = s.last - s.first + 1;
        (0..addresses).flat_map(move |a| (0..sets).map(move |k| (a, k))).filter_map(move |(a, k)| {
            let place = (s.base + a * sets + k) as usize;
            let psid = if s.psid_start == DENSE { k as u16 } else { self.psids[(s.psid_start + k) as usize] };
            (self.b4[place] != 0).then(|| Softwire {
                b4: Ipv6Addr::from_bits(self.b4[place]),
                ipv4: Ipv4Addr::from_bits(s.first + a),
                ports: s.ports(psid),
                own: Some(Ipv6Addr::from_bits(self.own_at(place))),
            })
        })
    }

    #[inline(always)]
    fn block(&self, addr: u32) -> Option<&AddressBlock> {
        let upper = (addr >> 16) as usize;
        if self.nonempty_halves[upper >> 6] >> (upper & 63) & 1 == 0 {
            return None;
        }
        let (from, to) = (self.starts[upper] as usize, self.starts[upper + 1] as usize);
        let s = match &self.blocks[from..to] {
            [one] => one,
            several => block_among(several, addr)?,
        };
        (addr >= s.first && addr <= s.last).then_some(s)
    }

    #[inline(always)]
    fn place(&self, point: Point4) -> Result<usize, Event> {
        let s = self.block(point.addr).ok_or(Event::DestinationUnmapped)?;
        let psid = match point.port {
            Some(port) if port >= s.lowest_port => {
                let below = 16 - u32::from(s.offset) - u32::from(s.len);
                u32::from(port) >> below & ((1 << s.len) - 1)
            }
            None if s.offset == 0 && s.len == 0 => 0,
            _ => return Err(Event::OutsidePortSet),
        };
        if s.psid_start == DENSE {
            Ok((s.base + ((point.addr - s.first) << s.len) + psid) as usize)
        } else {
            self.listed_place(s, psid as u16)
        }
    }

    #[cold]
    #[inline(never)]
    fn listed_place(&self, s: &AddressBlock, psid: u16) -> Result<usize, Event> {
        let list = &self.psids[s.psid_start as usize..][..s.psid_count as usize];
        let k = list.binary_search(&psid).map_err(|_| Event::UnknownSoftwire)?;
        Ok(s.base as usize + k)
    }

    #[inline(always)]
    fn own_at(&self, place: usize) -> u128 {
        let k = self.lwaftr_by_place.as_ref().map_or(0, |o| usize::from(o[place]));
        self.own[k]
    }

    #[inline(always)]
    fn seek(&self, point: Point4) -> u32 {
        let Ok(place) = self.place(point) else { return NOWHERE };
        self.b4.prefetch(place);
        if let Some(o) = &self.lwaftr_by_place {
            o.prefetch(place);
        }
        place as u32
    }
}

impl Softwires for &BindingTable {
    #[inline(always)]
    fn wrap(&self, customer: Point4, _remote: Point4) -> Result<Wrap, Event> {
        let place = self.place(customer)?;
        match self.b4[place] {
            0 => Err(Event::UnknownSoftwire),
            dst => Ok(Wrap { src: self.own_at(place), dst, customer: customer.addr }),
        }
    }

    #[inline(always)]
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, _remote: Point4) -> Result<u32, Event> {
        let place = self.place(customer).map_err(|why| match why {
            Event::DestinationUnmapped => Event::SourceUnmapped,
            other => other,
        })?;
        let b4 = self.b4[place];
        if b4 == src && self.own_at(place) == dst {
            return Ok(customer.addr);
        }
        Err(if b4 == 0 || b4 == src { Event::UnknownSoftwire } else { Event::Spoofed })
    }

    #[inline(always)]
    fn serves(&self, addr: u32) -> bool {
        self.block(addr).is_some()
    }

    fn is_own(&self, addr: u128) -> bool {
        self.forbidden.has6(addr)
    }

    #[inline(always)]
    fn seek_wrap(&self, customer: Point4) -> u32 {
        self.seek(customer)
    }

    #[inline(always)]
    fn wrap_at(&self, place: u32, customer: Point4, _remote: Point4) -> Result<Wrap, Event> {
        match self.b4.get(place as usize) {
            None | Some(0) => Err(Event::UnknownSoftwire),
            Some(&dst) => Ok(Wrap { src: self.own_at(place as usize), dst, customer: customer.addr }),
        }
    }

    #[inline(always)]
    fn seek_unwrap(&self, _src: u128, customer: Point4) -> u32 {
        self.seek(customer)
    }

    #[inline(always)]
    fn unwrap_at(&mut self, place: u32, src: u128, dst: u128, customer: Point4, _remote: Point4) -> Result<u32, Event> {
        let right = self.b4.get(place as usize) == Some(&src) && self.own_at(place as usize) == dst;
        if right { Ok(customer.addr) } else { Err(Event::Spoofed) }
    }
}
