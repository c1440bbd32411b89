//! The three layouts of a test frame: IPv4/UDP, IPv6/UDP, IPv4/UDP in IPv6.

use crate::header;
use crate::tag;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// IPv6 address as in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(16))]
pub struct Octets16(pub [u8; 16]);

impl Octets16 {
    /// Sum for checksums, 34 bits.
    #[inline(always)]
    pub(crate) fn sum(&self) -> u64 {
        let parts: [u64; 4] =
            std::array::from_fn(|k| u32::from_ne_bytes(std::array::from_fn(|b| self.0[4 * k + b])).into());
        parts.iter().sum()
    }
}

impl From<u128> for Octets16 {
    fn from(address: u128) -> Octets16 {
        Octets16(address.to_be_bytes())
    }
}

/// Rows in memory of the caller's choice, such as huge pages.
#[derive(Clone)]
pub struct Rows(Arc<dyn Deref<Target = [Octets16]> + Send + Sync>);

impl Rows {
    /// The rows in this memory.
    pub fn new(memory: impl Deref<Target = [Octets16]> + Send + Sync + 'static) -> Rows {
        Rows(Arc::new(memory))
    }
}

impl Deref for Rows {
    type Target = [Octets16];
    #[inline(always)]
    fn deref(&self) -> &[Octets16] {
        &self.0
    }
}

impl FromIterator<Octets16> for Rows {
    fn from_iter<I: IntoIterator<Item = Octets16>>(rows: I) -> Rows {
        Rows::new(Vec::from_iter(rows))
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Rows) -> bool {
        **self == **other
    }
}

impl Eq for Rows {}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.len())
    }
}

impl Octets16 {
    /// The lowest 32 bits replace zeros.
    #[inline(always)]
    pub(crate) fn with_low(mut self, low: u32) -> Octets16 {
        self.0[12..].copy_from_slice(&low.to_be_bytes());
        self
    }
}

/// Half of a first-level data cache of 48 KiB; frames need the rest.
const LARGE: usize = 1536;

/// Source of an IPv6 address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address6 {
    /// An address that is the same in all frames.
    Constant(Octets16),
    /// An address for each subscriber.
    BySubscriber(Rows),
    /// An address for each remote address, of which this is the first.
    ByRemote(u32, Rows),
    /// Outside address whose lowest 32 bits, zeros here, phase 1 teaches.
    ByOuter(Octets16),
}

impl Address6 {
    /// An address that is the same in all frames.
    pub fn constant(address: u128) -> Address6 {
        Address6::Constant(address.into())
    }

    /// An outside address in this prefix of 96 bits or more.
    pub fn by_outer(prefix: u128) -> Address6 {
        Address6::ByOuter((prefix >> 32 << 32).into())
    }

    /// Whether phase 1 teaches the address.
    pub(crate) fn is_outer(&self) -> bool {
        matches!(self, Address6::ByOuter(_))
    }

    /// Whether the addresses are too large for the first-level cache.
    pub(crate) fn is_large(&self) -> bool {
        match self {
            Address6::Constant(_) | Address6::ByOuter(_) => false,
            Address6::BySubscriber(rows) | Address6::ByRemote(_, rows) => rows.len() >= LARGE,
        }
    }

    /// Row of a flow.
    #[inline(always)]
    pub fn row(&self, subscriber: u32, remote: u32, outer: u32) -> Octets16 {
        match self {
            Address6::Constant(row) => *row,
            Address6::BySubscriber(rows) => rows[subscriber as usize],
            Address6::ByRemote(first, rows) => rows[remote.wrapping_sub(*first) as usize],
            Address6::ByOuter(row) => row.with_low(outer),
        }
    }
}

/// Addresses of an IPv6 header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends6 {
    /// Source.
    pub src: Address6,
    /// Destination.
    pub dst: Address6,
}

impl Ends6 {
    /// Whether prefetching rows is worth its cost.
    pub fn is_large(&self) -> bool {
        self.src.is_large() || self.dst.is_large()
    }

    /// The addresses for frames in the opposite direction.
    pub fn reversed(&self) -> Ends6 {
        Ends6 { src: self.dst.clone(), dst: self.src.clone() }
    }
}

/// Headers between Ethernet and UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// IPv4.
    Ipv4,
    /// Native or translated.
    Ipv6(Ends6),
    /// IPv4 in IPv6 (RFC 2473).
    Tunnel(Ends6),
}

impl Layout {
    /// Length in octets, beyond IPv4 alone (METHODOLOGY.md, frame sizes).
    pub const fn overhead(&self) -> usize {
        self.head() - IPV4
    }

    /// Offset of the tag.
    pub const fn tag_at(&self) -> usize {
        self.head() - tag::LEN
    }

    /// Smallest frame, in octets with FCS.
    pub const fn smallest(&self) -> usize {
        self.head() + header::FCS
    }

    /// Headers and tag; selects a layout's code.
    pub(crate) const fn head(&self) -> usize {
        match self {
            Layout::Ipv4 => IPV4,
            Layout::Ipv6(_) => IPV6,
            Layout::Tunnel(_) => TUNNEL,
        }
    }

    /// The addresses of the IPv6 header, if there is one.
    pub fn ends(&self) -> Option<&Ends6> {
        match self {
            Layout::Ipv4 => None,
            Layout::Ipv6(ends) | Layout::Tunnel(ends) => Some(ends),
        }
    }

    /// The layout for frames in the opposite direction.
    pub fn reversed(&self) -> Layout {
        match self {
            Layout::Ipv4 => Layout::Ipv4,
            Layout::Ipv6(ends) => Layout::Ipv6(ends.reversed()),
            Layout::Tunnel(ends) => Layout::Tunnel(ends.reversed()),
        }
    }
}

/// Length of all headers and the tag of the smallest frame.
pub(crate) const IPV4: usize = header::ETH + header::IPV4 + header::UDP + tag::LEN;
/// [`Layout::head`] of IPv6.
pub(crate) const IPV6: usize = header::ETH + header::IPV6 + header::UDP + tag::LEN;
/// [`Layout::head`] of IPv4 in IPv6.
pub(crate) const TUNNEL: usize = header::IPV6 + IPV4;

/// Calls a function generic over the head's length: compiled for each layout, selected once a batch.
macro_rules! by_head {
    ($head:expr, $owner:ident.$function:ident($($argument:expr),*)) => {
        match $head {
            $crate::layout::IPV4 => $owner.$function::<{ $crate::layout::IPV4 }>($($argument),*),
            $crate::layout::IPV6 => $owner.$function::<{ $crate::layout::IPV6 }>($($argument),*),
            _ => $owner.$function::<{ $crate::layout::TUNNEL }>($($argument),*),
        }
    };
}
pub(crate) use by_head;

/// Headers and tag have `HEAD` bytes.
pub(crate) struct At<const HEAD: usize>;

/// Addresses of the first IPv6 header.
pub(crate) const ENDS6: std::ops::Range<usize> = 22..54;

impl<const HEAD: usize> At<HEAD> {
    /// Whether there is an IPv6 header.
    pub(crate) const HAS6: bool = HEAD != IPV4;
    /// Whether there is an IPv4 header.
    pub(crate) const HAS4: bool = HEAD != IPV6;
    pub(crate) const TAG: usize = HEAD - tag::LEN;
    pub(crate) const UDP: usize = Self::TAG - header::UDP;
    /// Both addresses of the IPv4 header.
    pub(crate) const ENDS4: usize = Self::UDP - 8;
    pub(crate) const IP4: usize = Self::UDP - header::IPV4;
    /// Eight and four bytes of the first IP header, EtherType included, with all constant fields,
    /// and the hop limit's position in the four.
    pub(crate) const FIRST: (usize, usize, u32) =
        if Self::HAS6 { (12, 18, hop_byte(3)) } else { (12, 20, hop_byte(2)) };
    /// Header offsets and hop limit of the IPv4 header inside IPv6.
    pub(crate) const SECOND: (usize, usize, u32) = (Self::IP4, Self::IP4 + 6, hop_byte(2));
}

const fn hop_byte(n: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes[n] = 0xff;
    u32::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// METHODOLOGY.md, frame sizes: IPv6 frames never below 84 octets, tunnelled ones never below 104; the tag is the same 18 bytes.
    #[test]
    fn sizes_and_places_are_those_of_the_methodology() {
        let ends = Ends6 { src: Address6::constant(1), dst: Address6::constant(2) };
        let (v6, tunnel) = (Layout::Ipv6(ends.clone()), Layout::Tunnel(ends));
        assert_eq!([Layout::Ipv4.smallest(), v6.smallest(), tunnel.smallest()], [64, 84, 104]);
        assert_eq!([Layout::Ipv4.overhead(), v6.overhead(), tunnel.overhead()], [0, 20, 40]);
        assert_eq!([Layout::Ipv4.tag_at(), v6.tag_at(), tunnel.tag_at()], [42, 62, 82]);
    }

    #[test]
    fn a_row_is_found_by_subscriber_or_by_remote_address() {
        let rows: Rows = [7u128, 8].map(Octets16::from).into_iter().collect();
        assert_eq!(Address6::BySubscriber(rows.clone()).row(1, 0, 3), Octets16::from(8));
        assert_eq!(Address6::ByRemote(100, rows).row(9, 101, 3), Octets16::from(8));
        assert_eq!(Address6::constant(5).row(9, 9, 3), Octets16::from(5));
        assert_eq!(Address6::by_outer(7 << 96 | 5).row(9, 9, 3), Octets16::from(7 << 96 | 3));
    }
}
