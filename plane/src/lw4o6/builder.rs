//! Sorts softwires, checks them against each other, and lays them out as a binding table.

use super::table::{AddressBlock, BindingTable, DENSE, Forbidden, STARTS, Softwire};
use crate::ip4::is_ordinary;
use crate::tunnel::points::is_unicast6;
use arena::{ArenaError, Array};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{PortSet, PortSetError};

/// A dense block has up to four places for each softwire, and a place is a 32-bit number.
const MOST: usize = 1 << 29;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum BindingTableError {
    /// A word of a line is invalid.
    #[error("{file}, line {line}, column {column}: `{word}` as {what}: {why}; nothing was loaded")]
    Word {
        /// File.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Start of the word, from 1.
        column: usize,
        /// The word.
        word: String,
        /// What is expected.
        what: &'static str,
        /// Why it is invalid.
        why: String,
    },
    /// A line is invalid.
    #[error("{file}, line {line}: {why}; nothing was loaded")]
    Line {
        /// File.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Two softwires have the same ports of an address.
    #[error(
        "{file}, line {line}: PSID {psid} of {ipv4} is already assigned in line {before}; nothing was loaded; remove one of them"
    )]
    Duplicate {
        /// File.
        file: String,
        /// The later line.
        line: u64,
        /// The earlier one.
        before: u64,
        /// The address.
        ipv4: Ipv4Addr,
        /// The PSID.
        psid: u16,
    },
    /// Softwires of one address have port sets of different length or offset.
    #[error(
        "{file}, line {line}: the port set of {ipv4} has length {len} and offset {offset}, and that in line {before} has length {before_len} and \
         offset {before_offset}; nothing was loaded; softwires of one address must have port sets of the same length and offset"
    )]
    Mixed {
        /// File.
        file: String,
        /// The later line.
        line: u64,
        /// The earlier one.
        before: u64,
        /// The address.
        ipv4: Ipv4Addr,
        /// PSID length of the later line.
        len: u8,
        /// PSID offset.
        offset: u8,
        /// PSID length of the earlier line.
        before_len: u8,
        /// PSID offset.
        before_offset: u8,
    },
    /// Reading failed.
    #[error("reading {file} after line {line}: {source}; nothing was loaded")]
    Read {
        /// File.
        file: String,
        /// The last line that was read.
        line: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not enough memory.
    #[error("making the binding table: {0}")]
    Memory(#[from] ArenaError),
}

/// What is wrong with a single softwire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoftwireFault {
    /// No lwB4 can have the address.
    #[error("no lwB4 can have this address (a unicast one outside ::/64 and fe80::/10 is needed)")]
    B4Address,
    /// No host can have the IPv4 address.
    #[error("no host can have this address")]
    Ipv4Address,
    /// No lwAFTR can have the address.
    #[error("no lwAFTR can have this address (a unicast one outside ::/64 and fe80::/10 is needed)")]
    LwAftrAddress,
    /// The port set is invalid.
    #[error(transparent)]
    Ports(#[from] PortSetError),
    /// Too many lwAFTR addresses.
    #[error("more than 65,536 lwAFTR addresses in one table")]
    TooManyLwAftrs,
    /// Too many softwires.
    #[error("more than 2^29 softwires in one table")]
    TooManySoftwires,
}

#[derive(Clone, Copy)]
struct SoftwireLine {
    b4: u128,
    ipv4: u32,
    line: u32,
    psid: u16,
    own: u16,
    offset: u8,
    len: u8,
}

fn why_forbidden(forbidden: &Forbidden, r: &SoftwireLine) -> Option<String> {
    if forbidden.has6(r.b4) {
        let b4 = Ipv6Addr::from_bits(r.b4);
        return Some(format!("{b4} as the lwB4's IPv6 address: this is an address of the lwAFTR itself"));
    }
    let addr = Ipv4Addr::from_bits(r.ipv4);
    forbidden.has4(r.ipv4).then(|| format!("{addr} as the IPv4 address: this is the gateway's own"))
}

/// A table under construction.
pub struct BindingTableBuilder {
    name: String,
    rows: Vec<SoftwireLine>,
    own: Vec<u128>,
    gateway: Vec<IpAddr>,
}

impl BindingTableBuilder {
    /// Errors name the table by `name`; `own` is the lwAFTR's address of softwires that name none.
    pub fn new(name: &str, own: Ipv6Addr) -> BindingTableBuilder {
        BindingTableBuilder { name: name.to_owned(), rows: Vec::new(), own: vec![own.to_bits()], gateway: Vec::new() }
    }

    /// Continues with the gateway's addresses, which no softwire may have.
    #[must_use]
    pub fn with_gateway_addresses(self, gateway: &[IpAddr]) -> BindingTableBuilder {
        BindingTableBuilder { gateway: gateway.to_vec(), ..self }
    }

    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    /// A builder with the softwires of a table.
    pub fn from_table(name: &str, table: &BindingTable) -> BindingTableBuilder {
        let rows = Vec::with_capacity(table.len() as usize);
        let mut b =
            BindingTableBuilder { name: name.to_owned(), rows, own: table.own.clone(), gateway: table.gateway.clone() };
        for (i, s) in table.iter().enumerate() {
            let own = s.own.map_or(0, |o| b.own.iter().position(|x| *x == o.to_bits()).unwrap_or(0));
            b.rows.push(SoftwireLine {
                b4: s.b4.to_bits(),
                ipv4: s.ipv4.to_bits(),
                line: i as u32 + 1,
                psid: s.ports.psid,
                own: own as u16,
                offset: s.ports.offset,
                len: s.ports.len,
            });
        }
        b
    }

    /// Adds a softwire. Errors give its number, from 1, as a line.
    ///
    /// # Errors
    /// An invalid softwire; the builder is unchanged then.
    pub fn add(&mut self, s: &Softwire) -> Result<(), SoftwireFault> {
        let line = self.rows.len() as u32 + 1;
        self.add_line(s, line)
    }

    pub(super) fn add_line(&mut self, s: &Softwire, line: u32) -> Result<(), SoftwireFault> {
        if !is_unicast6(s.b4.to_bits()) {
            return Err(SoftwireFault::B4Address);
        }
        if !is_ordinary(s.ipv4.to_bits()) {
            return Err(SoftwireFault::Ipv4Address);
        }
        let PortSet { offset, len, psid } = PortSet::new(s.ports.offset, s.ports.len, s.ports.psid)?;
        if self.rows.len() >= MOST {
            return Err(SoftwireFault::TooManySoftwires);
        }
        let own = match s.own {
            None => 0,
            Some(own) => self.own_number(own.to_bits())?,
        };
        self.rows.push(SoftwireLine { b4: s.b4.to_bits(), ipv4: s.ipv4.to_bits(), line, psid, own, offset, len });
        Ok(())
    }

    fn own_number(&mut self, own: u128) -> Result<u16, SoftwireFault> {
        if !is_unicast6(own) {
            return Err(SoftwireFault::LwAftrAddress);
        }
        // Mostly, the last address.
        let last = self.rows.last().map_or(0, |r| usize::from(r.own));
        let known = if self.own[last] == own { Some(last) } else { self.own.iter().position(|o| *o == own) };
        let k = known.unwrap_or_else(|| {
            self.own.push(own);
            self.own.len() - 1
        });
        u16::try_from(k).map_err(|_| {
            self.own.pop();
            SoftwireFault::TooManyLwAftrs
        })
    }

    /// Makes the table.
    ///
    /// # Errors
    /// Softwires that overlap or have an address of the gateway, or too little memory.
    pub fn build(mut self) -> Result<BindingTable, BindingTableError> {
        let forbidden = self.forbidden();
        if let Some((r, why)) = self.rows.iter().find_map(|r| why_forbidden(&forbidden, r).map(|why| (r, why))) {
            return Err(BindingTableError::Line { file: self.name, line: r.line.into(), why });
        }
        self.rows.sort_unstable_by_key(|r| (u64::from(r.ipv4) << 16 | u64::from(r.psid), r.line));
        let mut neighbours = self.rows.iter().zip(self.rows.iter().skip(1));
        if let Some((a, b)) = neighbours.find(|(a, b)| a.ipv4 == b.ipv4 && clash(a, b)) {
            return Err(self.conflict(a, b));
        }
        let (blocks, psids, places) = layout(&self.rows);
        let mut b4 = Array::filled("the binding table", places, 0u128)?;
        let several = self.own.len() > 1;
        let mut lwaftr_by_place =
            several.then(|| Array::filled("the lwAFTR addresses of softwires", places, 0u16)).transpose()?;
        let mut rest = self.rows.as_slice();
        for s in &blocks {
            let n = rest.partition_point(|r| r.ipv4 <= s.last);
            let (rows, after) = rest.split_at(n);
            rest = after;
            for (k, r) in rows.iter().enumerate() {
                let at = if s.psid_start == DENSE { (r.ipv4 - s.first) << s.len | u32::from(r.psid) } else { k as u32 };
                let place = (s.base + at) as usize;
                b4[place] = r.b4;
                if let Some(o) = &mut lwaftr_by_place {
                    o[place] = r.own;
                }
            }
        }
        let mut nonempty_halves = [0u64; 1024];
        let starts = vec![0u32; STARTS].into_boxed_slice();
        let mut starts: Box<[u32; STARTS]> = starts.try_into().expect("as long as it was made");
        for s in &blocks {
            let upper = (s.first >> 16) as usize;
            nonempty_halves[upper >> 6] |= 1 << (upper & 63);
            starts[upper + 1] += 1;
        }
        for i in 1..STARTS {
            starts[i] += starts[i - 1];
        }
        let softwires = self.rows.len() as u64;
        Ok(BindingTable {
            b4,
            blocks,
            starts,
            nonempty_halves,
            psids,
            own: self.own,
            forbidden,
            gateway: self.gateway,
            lwaftr_by_place,
            softwires,
        })
    }

    fn forbidden(&self) -> Forbidden {
        let v6 = self.gateway.iter().filter_map(|a| if let IpAddr::V6(a) = a { Some(a.to_bits()) } else { None });
        let v4 = self.gateway.iter().filter_map(|a| if let IpAddr::V4(a) = a { Some(a.to_bits()) } else { None });
        Forbidden::new(self.own.iter().copied().chain(v6), v4)
    }

    fn conflict(&self, a: &SoftwireLine, b: &SoftwireLine) -> BindingTableError {
        let (before, later) = if a.line < b.line { (a, b) } else { (b, a) };
        let (file, line, ipv4) = (self.name.clone(), u64::from(later.line), Ipv4Addr::from_bits(later.ipv4));
        if (a.offset, a.len) == (b.offset, b.len) {
            return BindingTableError::Duplicate { file, line, before: before.line.into(), ipv4, psid: later.psid };
        }
        BindingTableError::Mixed {
            file,
            line,
            before: before.line.into(),
            ipv4,
            len: later.len,
            offset: later.offset,
            before_len: before.len,
            before_offset: before.offset,
        }
    }
}

fn clash(a: &SoftwireLine, b: &SoftwireLine) -> bool {
    a.psid == b.psid || (a.offset, a.len) != (b.offset, b.len)
}

fn layout(rows: &[SoftwireLine]) -> (Vec<AddressBlock>, Vec<u16>, usize) {
    let mut blocks: Vec<AddressBlock> = Vec::new();
    let (mut psids, mut places) = (Vec::new(), 0u32);
    for of_address in rows.chunk_by(|a, b| a.ipv4 == b.ipv4) {
        let r = &of_address[0];
        let sets = 1u32 << r.len;
        let n = of_address.len() as u32;
        let dense = n * 4 >= sets;
        if dense
            && let Some(s) = blocks.last_mut()
            && s.psid_start == DENSE
            && (s.offset, s.len) == (r.offset, r.len)
            && s.last + 1 == r.ipv4
            && s.last >> 16 == r.ipv4 >> 16
        {
            s.last += 1;
            places += sets;
            continue;
        }
        let lowest_port = if r.offset == 0 { 0 } else { 1u16 << (16 - r.offset) };
        let (psid_start, psid_count) = if dense { (DENSE, 0) } else { (psids.len() as u32, n) };
        blocks.push(AddressBlock {
            first: r.ipv4,
            last: r.ipv4,
            base: places,
            psid_start,
            psid_count,
            lowest_port,
            offset: r.offset,
            len: r.len,
        });
        if dense {
            places += sets;
        } else {
            psids.extend(of_address.iter().map(|r| r.psid));
            places += n;
        }
    }
    blocks.shrink_to_fit();
    (blocks, psids, places as usize)
}
