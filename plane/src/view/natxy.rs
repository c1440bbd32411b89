//! Set-ups of a NAT with an IPv6 Internet: Right learns the lowest 32 bits of outside addresses.

use super::ends::{by_remote, distinct};
use super::{BedAddresses, TranslatedEnds, ViewError, stateful};
use crate::ip6::Pool6;
use wire::{AddrRange, Address6, Ends6, Layout, OuterRange, PortRange, View};

/// Outside addresses and ports.
#[derive(Clone, Copy, Debug)]
pub struct Outside6 {
    /// Addresses.
    pub pool: Pool6,
    /// Ports.
    pub ports: PortRange,
}

impl Outside6 {
    fn range(self) -> OuterRange {
        let first = self.pool.prefix().first() as u32;
        OuterRange { addrs: AddrRange { first: first.into(), count: self.pool.count() }, ports: self.ports }
    }

    fn layout(self, dst: Address6) -> Layout {
        Layout::Ipv6(Ends6 { src: Address6::by_outer(self.pool.prefix().first()), dst })
    }
}

/// NAT46 (RFC 9693): IPv4 customers, and the IPv6 host of each remote address.
///
/// # Errors
/// Addresses and flow space do not match.
pub fn nat46(bed: &BedAddresses, remotes: &[u128], outside: Outside6) -> Result<View, ViewError> {
    let right = outside.layout(by_remote(bed, remotes)?);
    Ok(stateful(bed, [Layout::Ipv4, right], outside.range().into()))
}

/// NAT66 (RFC 9693).
///
/// # Errors
/// As [`nat46`], or customers share an address.
pub fn nat66(bed: &BedAddresses, ends: &TranslatedEnds<'_>, outside: Outside6) -> Result<View, ViewError> {
    distinct(ends.subscribers)?;
    let right = outside.layout(by_remote(bed, ends.remotes)?);
    Ok(stateful(bed, [ends.layout(bed)?, right], outside.range().into()))
}
