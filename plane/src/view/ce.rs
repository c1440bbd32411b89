//! Single DUT set-ups of a customer edge: the tester plays the customer's hosts on the left and the PE on the right.

use super::ends::by_remote;
use super::{BedAddresses, OutsideRanges, TranslatedEnds, ViewError, stateful, stateless};
use wire::{AddrRange, Address6, Ends6, Layout, OuterRange, PortRange, View};

/// The ends of the one tunnel of a CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelEnds {
    /// The CE's.
    pub ce: u128,
    /// Address of the AFTR, lwAFTR or BR.
    pub pe: u128,
}

impl TunnelEnds {
    fn layout(self) -> Layout {
        Layout::Tunnel(Ends6 { src: Address6::constant(self.ce), dst: Address6::constant(self.pe) })
    }
}

/// CLAT of 464XLAT (RFC 6877): stateless. Each inside address is a subscriber of the flow space,
/// with its row's IPv6 address.
///
/// # Errors
/// Addresses and flow space do not match.
pub fn clat(bed: &BedAddresses, ends: &TranslatedEnds<'_>) -> Result<View, ViewError> {
    if bed.flows.is_overlapping() {
        return Err(ViewError::Overlapping);
    }
    Ok(stateless(bed, [Layout::Ipv4, ends.layout(bed)?]))
}

/// B4 of DS-Lite (RFC 6333): stateless, one tunnel.
pub fn b4(bed: &BedAddresses, softwire: TunnelEnds) -> View {
    stateless(bed, [Layout::Ipv4, softwire.layout()])
}

/// lwB4 of lw4o6 (RFC 7596): NAT44 into a port set, then the tunnel. Right learns what is inside.
pub fn lwb4(bed: &BedAddresses, softwire: TunnelEnds, outside: impl Into<OutsideRanges>) -> View {
    stateful(bed, [Layout::Ipv4, softwire.layout()], outside.into())
}

/// CE of MAP-E (RFC 7597): as [`lwb4`].
pub fn map_e(bed: &BedAddresses, softwire: TunnelEnds, outside: impl Into<OutsideRanges>) -> View {
    stateful(bed, [Layout::Ipv4, softwire.layout()], outside.into())
}

/// CE of MAP-T (RFC 7599): NAT44 into a port set, then translation from the MAP address `ce` to
/// `remotes`, one for each remote address. Right learns the port, not the address.
///
/// # Errors
/// Addresses and flow space do not match.
pub fn map_t(
    bed: &BedAddresses,
    ce: u128,
    remotes: &[u128],
    outside: impl Into<OutsideRanges>,
) -> Result<View, ViewError> {
    let ends = Ends6 { src: Address6::constant(ce), dst: by_remote(bed, remotes)? };
    Ok(stateful(bed, [Layout::Ipv4, Layout::Ipv6(ends)], outside.into()))
}

/// As [`map_t`] for a CE with an IPv4 prefix, whose IPv6 address contains the chosen address of
/// `own` from bit 80 on (RFC 7599, section 6, figure 2). Right learns the last 32 bits: the lower
/// half of the IPv4 address, and the PSID, which must be zero. `ce` is the prefix's MAP address.
///
/// # Errors
/// As [`map_t`], or more than 65,536 addresses.
pub fn map_t_prefix(
    bed: &BedAddresses,
    ce: u128,
    remotes: &[u128],
    own: AddrRange,
    ports: PortRange,
) -> Result<View, ViewError> {
    if own.count > 1 << 16 {
        return Err(ViewError::Wide(own.count));
    }
    let ends = Ends6 { src: Address6::by_outer(ce), dst: by_remote(bed, remotes)? };
    let addrs = AddrRange { first: (ce as u32).into(), count: ((own.count - 1) << 16) + 1 };
    let outside = OutsideRanges { clear: 0xffff, ..OuterRange { addrs, ports }.into() };
    Ok(stateful(bed, [Layout::Ipv4, Layout::Ipv6(ends)], outside))
}
