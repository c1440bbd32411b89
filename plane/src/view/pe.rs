//! Single DUT set-ups of a provider edge: the tester plays all CEs on the left and sends IPv4 on the right.

use super::ends::{by_subscriber, distinct};
use super::{BedAddresses, OutsideRanges, Subscriber6, TranslatedEnds, Tunnelled, ViewError, stateful, stateless};
use wire::{Ends6, Layout, View};

/// PLAT of 464XLAT, or any stateful NAT64 (RFC 6146): frames from subscribers' CLAT addresses to pref64 addresses.
///
/// # Errors
/// Addresses and flow space do not match, or subscribers share an address.
pub fn plat(
    bed: &BedAddresses,
    ends: &TranslatedEnds<'_>,
    outside: impl Into<OutsideRanges>,
) -> Result<View, ViewError> {
    distinct(ends.subscribers)?;
    Ok(stateful(bed, [ends.layout(bed)?, Layout::Ipv4], outside.into()))
}

/// AFTR of DS-Lite (RFC 6333): tunnels from B4s, whose customers' addresses may overlap.
///
/// # Errors
/// As [`plat`].
pub fn aftr(bed: &BedAddresses, ends: &Tunnelled<'_>, outside: impl Into<OutsideRanges>) -> Result<View, ViewError> {
    distinct(ends.subscribers)?;
    Ok(stateful(bed, [ends.layout(bed)?, Layout::Ipv4], outside.into()))
}

/// lwAFTR of lw4o6 (RFC 7596). Stateless: no phase 1, and Right sends to subscribers' addresses and ports directly.
///
/// # Errors
/// Addresses and flow space do not match, or address and port do not identify a subscriber.
pub fn lwaftr(bed: &BedAddresses, ends: &Tunnelled<'_>) -> Result<View, ViewError> {
    by_address(bed, ends.layout(bed)?)
}

/// As [`lwaftr`], for several lwAFTR addresses: with both ends of each softwire.
///
/// # Errors
/// As [`lwaftr`].
pub fn lwaftr_of(bed: &BedAddresses, subscribers: &[Subscriber6], own: &[Subscriber6]) -> Result<View, ViewError> {
    let ends = Ends6 { src: by_subscriber(bed, subscribers)?, dst: by_subscriber(bed, own)? };
    by_address(bed, Layout::Tunnel(ends))
}

/// BR of MAP-E (RFC 7597): as [`lwaftr`].
///
/// # Errors
/// As [`lwaftr`].
pub fn map_e_br(bed: &BedAddresses, ends: &Tunnelled<'_>) -> Result<View, ViewError> {
    by_address(bed, ends.layout(bed)?)
}

/// BR of MAP-T (RFC 7599): frames from CEs' MAP addresses to addresses in the DMR's prefix. No state.
///
/// # Errors
/// As [`lwaftr`].
pub fn map_t_br(bed: &BedAddresses, ends: &TranslatedEnds<'_>) -> Result<View, ViewError> {
    by_address(bed, ends.layout(bed)?)
}

/// SIIT gateway (RFC 7915): an IPv6 address for each IPv4 address of either side.
///
/// # Errors
/// As [`lwaftr`].
pub fn siit(bed: &BedAddresses, ends: &TranslatedEnds<'_>) -> Result<View, ViewError> {
    by_address(bed, ends.layout(bed)?)
}

/// A view with softwires by IPv4 address and port.
fn by_address(bed: &BedAddresses, left: Layout) -> Result<View, ViewError> {
    if bed.flows.is_overlapping() {
        return Err(ViewError::Overlapping);
    }
    Ok(stateless(bed, [left, Layout::Ipv4]))
}
