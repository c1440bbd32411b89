//! Sorts softwires, checks them against each other, and lays them out as a binding table.

use super::table::{DENSE, Forbidden, STARTS, Segment, Softwire, SoftwireTable};
use crate::ip4::is_ordinary;
use crate::tunnel::points::is_unicast6;
use arena::{ArenaError, Array};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{PortSet, PortSetError};

/// A sparse table has up to four 32-bit places for each.
const MOST: usize = 1 << 29;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A word of a line.
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
    /// A line.
    #[error("{file}, line {line}: {why}; nothing was loaded")]
    Line {
        /// File.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Two softwires with the same ports of an address.
    #[error(
        "{file}, line {line}: PSID {psid} of {ipv4} is given out already in line {before}; nothing was loaded (take one of them out)"
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
    /// Port sets of different length or offset on one address.
    #[error(
        "{file}, line {line}: a port set of length {len} and offset {offset} overlaps those of {ipv4} in line {before}, \
         which have length {before_len} and offset {before_offset}; nothing was loaded (who shares an address must have the same)"
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
    #[error("reading {file} behind line {line}: {source}; nothing was loaded")]
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
pub enum Fault {
    /// The lwB4's address.
    #[error("no lwB4 can have this address (a unicast one outside ::/64 and fe80::/10 is needed)")]
    B4,
    /// The IPv4 address.
    #[error("no host can have this address")]
    Ipv4,
    /// The lwAFTR's address.
    #[error("no lwAFTR can have this address (a unicast one outside ::/64 and fe80::/10 is needed)")]
    Own,
    /// The ports.
    #[error(transparent)]
    Ports(#[from] PortSetError),
    /// Too many lwAFTR addresses.
    #[error("more than 65,536 lwAFTR addresses in one table")]
    ManyOwn,
    /// Too many softwires.
    #[error("more than 2^29 softwires in one table")]
    Many,
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

fn taken(forbidden: &Forbidden, r: &SoftwireLine) -> Option<String> {
    if forbidden.has6(r.b4) {
        let b4 = Ipv6Addr::from_bits(r.b4);
        return Some(format!("{b4} as the lwB4's IPv6 address: this is an address of the lwAFTR itself"));
    }
    let addr = Ipv4Addr::from_bits(r.ipv4);
    forbidden.has4(r.ipv4).then(|| format!("{addr} as the IPv4 address: this is the gateway's own"))
}

/// A table under construction.
pub struct Builder {
    name: String,
    rows: Vec<SoftwireLine>,
    own: Vec<u128>,
    gateway: Vec<IpAddr>,
}

impl Builder {
    /// Errors name the table by `name`; `own` is the lwAFTR's address of softwires that name none.
    pub fn new(name: &str, own: Ipv6Addr) -> Builder {
        Builder { name: name.to_owned(), rows: Vec::new(), own: vec![own.to_bits()], gateway: Vec::new() }
    }

    /// Continues with the gateway's addresses, which no softwire may have.
    #[must_use]
    pub fn at(self, gateway: &[IpAddr]) -> Builder {
        Builder { gateway: gateway.to_vec(), ..self }
    }

    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    /// A builder with the softwires of a table.
    pub fn of(name: &str, table: &SoftwireTable) -> Builder {
        let rows = Vec::with_capacity(table.len() as usize);
        let mut b = Builder { name: name.to_owned(), rows, own: table.own.clone(), gateway: table.gateway.clone() };
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
    pub fn add(&mut self, s: &Softwire) -> Result<(), Fault> {
        let line = self.rows.len() as u32 + 1;
        self.add_line(s, line)
    }

    pub(super) fn add_line(&mut self, s: &Softwire, line: u32) -> Result<(), Fault> {
        if !is_unicast6(s.b4.to_bits()) {
            return Err(Fault::B4);
        }
        if !is_ordinary(s.ipv4.to_bits()) {
            return Err(Fault::Ipv4);
        }
        let PortSet { offset, len, psid } = PortSet::new(s.ports.offset, s.ports.len, s.ports.psid)?;
        if self.rows.len() >= MOST {
            return Err(Fault::Many);
        }
        let own = match s.own {
            None => 0,
            Some(own) => self.own_number(own.to_bits())?,
        };
        self.rows.push(SoftwireLine { b4: s.b4.to_bits(), ipv4: s.ipv4.to_bits(), line, psid, own, offset, len });
        Ok(())
    }

    fn own_number(&mut self, own: u128) -> Result<u16, Fault> {
        if !is_unicast6(own) {
            return Err(Fault::Own);
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
            Fault::ManyOwn
        })
    }

    /// Removes a softwire; false if there is none.
    pub fn remove(&mut self, ipv4: Ipv4Addr, psid: u16) -> bool {
        let before = self.rows.len();
        self.rows.retain(|r| (r.ipv4, r.psid) != (ipv4.to_bits(), psid));
        self.rows.len() < before
    }

    /// Makes the table.
    ///
    /// # Errors
    /// Softwires that overlap or have an address of the gateway, or too little memory.
    pub fn build(mut self) -> Result<SoftwireTable, TableError> {
        let forbidden = self.forbidden();
        if let Some((r, why)) = self.rows.iter().find_map(|r| taken(&forbidden, r).map(|why| (r, why))) {
            return Err(TableError::Line { file: self.name, line: r.line.into(), why });
        }
        self.rows.sort_unstable_by_key(|r| (u64::from(r.ipv4) << 16 | u64::from(r.psid), r.line));
        let mut neighbours = self.rows.iter().zip(self.rows.iter().skip(1));
        if let Some((a, b)) = neighbours.find(|(a, b)| a.ipv4 == b.ipv4 && clash(a, b)) {
            return Err(self.conflict(a, b));
        }
        let (segments, psids, places) = layout(&self.rows);
        let mut b4 = Array::filled("the binding table", places, 0u128)?;
        let several = self.own.len() > 1;
        let mut own_of =
            several.then(|| Array::filled("the lwAFTR addresses of softwires", places, 0u16)).transpose()?;
        let mut rest = self.rows.as_slice();
        for s in &segments {
            let n = rest.partition_point(|r| r.ipv4 <= s.last);
            let (rows, behind) = rest.split_at(n);
            rest = behind;
            for (k, r) in rows.iter().enumerate() {
                let at = if s.list == DENSE { (r.ipv4 - s.first) << s.len | u32::from(r.psid) } else { k as u32 };
                let place = (s.base + at) as usize;
                b4[place] = r.b4;
                if let Some(o) = &mut own_of {
                    o[place] = r.own;
                }
            }
        }
        let mut inhabited = [0u64; 1024];
        let starts = vec![0u32; STARTS].into_boxed_slice();
        let mut starts: Box<[u32; STARTS]> = starts.try_into().expect("as long as it was made");
        for s in &segments {
            let upper = (s.first >> 16) as usize;
            inhabited[upper >> 6] |= 1 << (upper & 63);
            starts[upper + 1] += 1;
        }
        for i in 1..STARTS {
            starts[i] += starts[i - 1];
        }
        let softwires = self.rows.len() as u64;
        Ok(SoftwireTable {
            b4,
            segments,
            starts,
            inhabited,
            psids,
            own: self.own,
            forbidden,
            gateway: self.gateway,
            own_of,
            softwires,
        })
    }

    fn forbidden(&self) -> Forbidden {
        let v6 = self.gateway.iter().filter_map(|a| if let IpAddr::V6(a) = a { Some(a.to_bits()) } else { None });
        let v4 = self.gateway.iter().filter_map(|a| if let IpAddr::V4(a) = a { Some(a.to_bits()) } else { None });
        Forbidden::new(self.own.iter().copied().chain(v6), v4)
    }

    fn conflict(&self, a: &SoftwireLine, b: &SoftwireLine) -> TableError {
        let (before, later) = if a.line < b.line { (a, b) } else { (b, a) };
        let (file, line, ipv4) = (self.name.clone(), u64::from(later.line), Ipv4Addr::from_bits(later.ipv4));
        if (a.offset, a.len) == (b.offset, b.len) {
            return TableError::Duplicate { file, line, before: before.line.into(), ipv4, psid: later.psid };
        }
        TableError::Mixed {
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

fn layout(rows: &[SoftwireLine]) -> (Vec<Segment>, Vec<u16>, usize) {
    let mut segments: Vec<Segment> = Vec::new();
    let (mut psids, mut places) = (Vec::new(), 0u32);
    for of_address in rows.chunk_by(|a, b| a.ipv4 == b.ipv4) {
        let r = &of_address[0];
        let sets = 1u32 << r.len;
        let n = of_address.len() as u32;
        let dense = n * 4 >= sets;
        if dense
            && let Some(s) = segments.last_mut()
            && s.list == DENSE
            && (s.offset, s.len) == (r.offset, r.len)
            && s.last + 1 == r.ipv4
            && s.last >> 16 == r.ipv4 >> 16
        {
            s.last += 1;
            places += sets;
            continue;
        }
        let least = if r.offset == 0 { 0 } else { 1u16 << (16 - r.offset) };
        let (list, listed) = if dense { (DENSE, 0) } else { (psids.len() as u32, n) };
        segments.push(Segment {
            first: r.ipv4,
            last: r.ipv4,
            base: places,
            list,
            listed,
            least,
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
    segments.shrink_to_fit();
    (segments, psids, places as usize)
}
