//! A mapping rule (RFC 7597, section 5; RFC 7599 has the same): IPv4 address and port ↔ a customer's IPv6 address.

use crate::event::Event;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{AddrRange, PortSet, PortSetError, Prefix4, Prefix6};

/// Default PSID offset (RFC 7597, section 5.1).
pub const DEFAULT_OFFSET: u8 = 6;

/// A whole address and a whole port (RFC 7597, section 5.2).
const MOST_EA: u8 = 48;

/// An explicit PSID (RFC 7597, section 5.2: EA bits without PSID).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Psid {
    /// k in bits, at least 1.
    pub len: u8,
    /// Value of the PSID.
    pub value: u16,
}

/// A rule as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Rule IPv6 prefix of length n.
    pub ipv6: Prefix6,
    /// Rule IPv4 prefix of length r.
    pub ipv4: Prefix4,
    /// Length o of the embedded address bits.
    pub ea_bits: u8,
    /// a; without meaning where addresses are not shared.
    pub offset: u8,
    /// PSID of a rule whose EA bits hold none.
    pub psid: Option<Psid>,
}

impl Rule {
    /// A rule with the default offset and without an explicit PSID.
    pub fn new(ipv6: Prefix6, ipv4: Prefix4, ea_bits: u8) -> Rule {
        Rule { ipv6, ipv4, ea_bits, offset: DEFAULT_OFFSET, psid: None }
    }

    /// p bits of the IPv4 address, q of the PSID.
    fn split(&self) -> (u8, u8) {
        let suffix = self.ea_bits.min(32 - self.ipv4.len);
        (suffix, self.ea_bits - suffix)
    }

    /// Checks all lengths, and makes the rule ready for packets.
    ///
    /// # Errors
    /// The first mistake.
    pub fn prepare(&self) -> Result<Mapping, RuleError> {
        let (n, r, o) = (self.ipv6.len, self.ipv4.len, self.ea_bits);
        if n == 0 || n > 64 {
            return Err(RuleError::Ipv6Length(n));
        }
        if r > 32 {
            return Err(RuleError::Ipv4Length(r));
        }
        if self.ipv6.first() != self.ipv6.addr.to_bits() {
            return Err(RuleError::Ipv6Bits(self.ipv6));
        }
        if u32::from(self.ipv4.addr) & !self.ipv4.mask() != 0 {
            return Err(RuleError::Ipv4Bits(self.ipv4));
        }
        if o > MOST_EA || o > 48 - r {
            return Err(RuleError::EaBits { ea: o, most: 48 - r });
        }
        if n + o > 64 {
            return Err(RuleError::TooLong { prefix: n, ea: o });
        }
        let (_, embedded) = self.split();
        let ports = match self.psid {
            Some(_) if r + o != 32 => return Err(RuleError::PsidTwice { ipv4: r, ea: o }),
            Some(Psid { len: 0, .. }) => return Err(RuleError::PsidLength),
            Some(Psid { len, value }) => PortSet::new(self.offset, len, value)?,
            None if embedded == 0 => PortSet::ALL,
            None => PortSet::new(self.offset, embedded, 0)?,
        };
        Ok(Mapping::new(self, ports))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} offset={}", self.ipv6, self.ipv4, self.ea_bits, self.offset)?;
        match self.psid {
            Some(p) => write!(f, " psid={}/{}", p.value, p.len),
            None => Ok(()),
        }
    }
}

/// Why a rule, or a customer's prefix under it, is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The IPv6 prefix length is 0, or leaves no room for the interface identifier.
    #[error("a rule's IPv6 prefix of length {0}: 1 to 64, where the interface identifier begins")]
    Ipv6Length(u8),
    /// No such IPv4 prefix.
    #[error("an IPv4 prefix of length {0}: at most 32")]
    Ipv4Length(u8),
    /// Bits behind the prefix.
    #[error("{0} has bits set behind its length: write zeros there")]
    Ipv6Bits(Prefix6),
    /// Bits behind the prefix.
    #[error("{0} has bits set behind its length: write zeros there")]
    Ipv4Bits(Prefix4),
    /// Address and port have fewer bits than the EA bits.
    #[error("{ea} EA bits: at most {most}, the rest of the IPv4 address and 16 bits of port")]
    EaBits {
        /// EA bits as written.
        ea: u8,
        /// Largest number of EA bits.
        most: u8,
    },
    /// The customer's prefix reaches into the interface identifier.
    #[error("an IPv6 prefix of length {prefix} and {ea} EA bits make a customer's prefix longer than 64")]
    TooLong {
        /// Length of the rule's prefix.
        prefix: u8,
        /// EA bits.
        ea: u8,
    },
    /// An explicit PSID, although the address is incomplete or the EA bits hold a PSID.
    #[error(
        "a PSID of its own needs a whole IPv4 address and no PSID in the EA bits: IPv4 prefix length and EA bits must \
         be 32 together, not {ipv4} and {ea}"
    )]
    PsidTwice {
        /// Length of the IPv4 prefix.
        ipv4: u8,
        /// EA bits.
        ea: u8,
    },
    /// A PSID without bits.
    #[error("a PSID has at least one bit: leave it out where the address is not shared")]
    PsidLength,
    /// Offset, length and value of the PSID do not fit.
    #[error(transparent)]
    Ports(#[from] PortSetError),
}

/// A rule ready for packets, in 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Upper half of the IPv6 prefix.
    base: u64,
    /// First address of the IPv4 prefix, and its host bits.
    ipv4: u32,
    host: u32,
    /// Lower ports belong to no port set.
    reserved: u32,
    /// Explicit PSID, else [`DERIVED`].
    fixed: u32,
    psid_shift: u8,
    psid_mask: u16,
    /// Bits of the PSID among the EA bits.
    embedded: u8,
    /// Bits within a customer's own IPv4 prefix.
    own: u8,
    /// Bits behind the EA bits in the upper half.
    ea_shift: u8,
    ea_bits: u8,
    offset: u8,
    psid_len: u8,
}

const DERIVED: u32 = u32::MAX;

/// A customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomerId {
    /// Upper half of the customer's IPv6 addresses.
    pub upper: u64,
    /// PSID, 0 where the address is not shared.
    pub psid: u16,
}

impl CustomerId {
    /// IPv6 address for one of its IPv4 addresses (RFC 7597, section 6).
    #[inline(always)]
    pub fn address(self, ipv4: u32) -> u128 {
        let lower = (ipv4 as u64) << 16 | self.psid as u64;
        (self.upper as u128) << 64 | lower as u128
    }
}

/// A customer by its prefix and the rule. Its NAT44 translates to [`Customer::pool`] and, as `port_set`, `ports`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Customer {
    /// IPv6 prefix of the customer.
    pub prefix: Prefix6,
    /// Address (length 32) or prefix.
    pub ipv4: Prefix4,
    /// Ports of the customer.
    pub ports: PortSet,
    /// End point of its tunnel (RFC 7597, section 6).
    pub address: Ipv6Addr,
}

impl Customer {
    pub(super) fn id(&self) -> CustomerId {
        CustomerId { upper: (self.address.to_bits() >> 64) as u64, psid: self.ports.psid }
    }

    /// IPv4 addresses of the customer.
    pub fn pool(&self) -> AddrRange {
        AddrRange { first: self.ipv4.addr, count: self.ipv4.count().min(u32::MAX.into()) as u32 }
    }
}

impl Mapping {
    fn new(rule: &Rule, ports: PortSet) -> Mapping {
        let (suffix, embedded) = rule.split();
        let own = 32 - rule.ipv4.len - suffix;
        let low = 16 - ports.offset - ports.len;
        Mapping {
            base: (rule.ipv6.first() >> 64) as u64,
            ipv4: u32::from(rule.ipv4.addr),
            host: !rule.ipv4.mask(),
            reserved: if ports.offset > 0 { 1 << (16 - ports.offset) } else { 0 },
            fixed: rule.psid.map_or(DERIVED, |p| p.value.into()),
            psid_shift: low.min(15),
            psid_mask: ((1u32 << ports.len) - 1) as u16,
            embedded,
            own,
            ea_shift: 64 - rule.ipv6.len - rule.ea_bits,
            ea_bits: rule.ea_bits,
            offset: ports.offset,
            psid_len: ports.len,
        }
    }

    /// Largest number of customers.
    pub fn customers(&self) -> u64 {
        1 << self.ea_bits
    }

    /// Whether customers share addresses.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.psid_len > 0
    }

    /// Whether the rule has an explicit PSID.
    #[inline(always)]
    pub fn is_explicit(&self) -> bool {
        self.fixed != DERIVED
    }

    /// The explicit PSID, with offset and length.
    pub fn psid(&self) -> Option<PortSet> {
        let psid = u16::try_from(self.fixed).ok()?;
        Some(PortSet { offset: self.offset, len: self.psid_len, psid })
    }

    /// Whether the IPv4 prefix has an address.
    #[inline(always)]
    pub fn contains(&self, addr: u32) -> bool {
        (addr ^ self.ipv4) & !self.host == 0
    }

    #[inline(always)]
    fn psid_of(&self, port: Option<u16>) -> Result<u16, Event> {
        if !self.is_shared() {
            return Ok(0);
        }
        let port = port.ok_or(Event::OutsidePortSet)?;
        let psid = port >> self.psid_shift & self.psid_mask;
        if (port as u32) < self.reserved || self.is_explicit() && psid as u32 != self.fixed {
            return Err(Event::OutsidePortSet);
        }
        Ok(psid)
    }

    /// The customer that has this address of the rule's prefix, and this port.
    ///
    /// # Errors
    /// [`Event::OutsidePortSet`] for a port of no customer, or a missing port.
    #[inline(always)]
    pub fn customer_id(&self, addr: u32, port: Option<u16>) -> Result<CustomerId, Event> {
        let psid = self.psid_of(port)?;
        let suffix = ((addr & self.host) as u64) >> self.own;
        let tail = psid as u64 & ((1 << self.embedded) - 1);
        let ea = suffix << self.embedded | tail;
        Ok(CustomerId { upper: self.base | ea << self.ea_shift, psid })
    }

    /// The address itself, or the first of its prefix (RFC 7597, section 6).
    #[inline(always)]
    pub fn padded(&self, addr: u32) -> u32 {
        (addr as u64 >> self.own << self.own) as u32
    }

    /// A customer in the order of IPv6 prefixes, `i` < [`Self::customers`].
    pub fn nth(&self, i: u64) -> Customer {
        self.customer_at(self.base | i << self.ea_shift)
    }

    /// The customer by the upper half of an IPv6 address.
    pub fn customer_at(&self, upper: u64) -> Customer {
        let ea = upper >> self.ea_shift & ((1 << self.ea_bits) - 1);
        let tail = ea & ((1 << self.embedded) - 1);
        let suffix = (ea >> self.embedded << self.own) as u32;
        let ipv4 = self.ipv4 | suffix;
        let psid = if self.is_explicit() { self.fixed as u16 } else { tail as u16 };
        let id = CustomerId { upper: upper >> self.ea_shift << self.ea_shift, psid };
        Customer {
            prefix: Prefix6 { addr: Ipv6Addr::from_bits((id.upper as u128) << 64), len: 64 - self.ea_shift },
            ipv4: Prefix4 { addr: Ipv4Addr::from(ipv4), len: 32 - self.own },
            ports: PortSet { offset: self.offset, len: self.psid_len, psid },
            address: Ipv6Addr::from_bits(id.address(ipv4)),
        }
    }
}
