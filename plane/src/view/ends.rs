//! The IPv6 ends of subscribers, remote hosts and tunnels.

use super::BedAddresses;
use arena::Array;
use std::collections::HashSet;
use wire::{Address6, Ends6, Layout, Octets16, Rows};

/// A subscriber's end of the IPv6 link: the address that its CE translates it to, or its end of the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscriber6 {
    /// Address.
    pub address: u128,
}

/// A link with translated packets.
#[derive(Clone, Copy, Debug)]
pub struct TranslatedEnds<'a> {
    /// One for each subscriber of the flow space.
    pub subscribers: &'a [Subscriber6],
    /// IPv6 address of each remote IPv4 address (pref64, DMR), or of the host in each network.
    pub remotes: &'a [u128],
}

/// A link with tunnels.
#[derive(Clone, Copy, Debug)]
pub struct Tunnelled<'a> {
    /// One for each subscriber of the flow space.
    pub subscribers: &'a [Subscriber6],
    /// Other end of all tunnels: AFTR, lwAFTR, BR.
    pub pe: u128,
}

/// Why a view cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The flow space needs another number.
    #[error("there are {have} IPv6 addresses for the {want} {what} of the flow space: give one for each")]
    Rows {
        /// Kind of addresses.
        what: &'static str,
        /// Addresses given.
        have: usize,
        /// Addresses needed.
        want: u32,
    },
    /// Two subscribers have the same address.
    #[error("subscriber {0} has the same IPv6 address as one before it: give each its own")]
    Shared(usize),
    /// A stateless device cannot find a packet's subscriber.
    #[error(
        "all subscribers have the same IPv4 address, but a device without state finds them by address and port: \
         give them addresses or port sets of their own"
    )]
    Overlapping,
    /// The tester learns at most 32 bits of an address.
    #[error(
        "a MAP-T CE with {0} IPv4 addresses: the tester tells up to 65,536 apart; give it a prefix of 16 bits or more"
    )]
    Wide(u32),
    /// No memory for the addresses.
    #[error(transparent)]
    Memory(#[from] arena::ArenaError),
}

impl TranslatedEnds<'_> {
    pub(super) fn layout(&self, bed: &BedAddresses) -> Result<Layout, ViewError> {
        Ok(Layout::Ipv6(Ends6 { src: by_subscriber(bed, self.subscribers)?, dst: by_remote(bed, self.remotes)? }))
    }
}

impl Tunnelled<'_> {
    pub(super) fn layout(&self, bed: &BedAddresses) -> Result<Layout, ViewError> {
        let src = by_subscriber(bed, self.subscribers)?;
        Ok(Layout::Tunnel(Ends6 { src, dst: Address6::constant(self.pe) }))
    }
}

pub(super) fn by_remote(bed: &BedAddresses, remotes: &[u128]) -> Result<Address6, ViewError> {
    let remote = bed.flows.remote();
    if bed.flows.has_networks() {
        let hosts: Vec<_> = remotes.iter().map(|&address| Subscriber6 { address }).collect();
        return by_subscriber(bed, &hosts);
    }
    counted("remote addresses", remotes.len(), remote.count)?;
    Ok(match remotes {
        [only] => Address6::constant(*only),
        _ => Address6::ByRemote(remote.first.into(), table(remotes.iter().copied())?),
    })
}

pub(super) fn by_subscriber(bed: &BedAddresses, subscribers: &[Subscriber6]) -> Result<Address6, ViewError> {
    counted("subscribers", subscribers.len(), bed.flows.subscribers())?;
    Ok(match subscribers {
        [only] => Address6::constant(only.address),
        _ => Address6::BySubscriber(table(subscribers.iter().map(|s| s.address))?),
    })
}

/// Rows in huge pages, which save a page walk each.
///
/// # Errors
/// Too little memory.
pub fn table(addresses: impl ExactSizeIterator<Item = u128>) -> Result<Rows, ViewError> {
    let mut rows = Array::filled("the subscribers' IPv6 addresses", addresses.len(), Octets16::default())?;
    rows.iter_mut().zip(addresses).for_each(|(row, address)| *row = address.into());
    Ok(Rows::new(rows))
}

fn counted(what: &'static str, have: usize, want: u32) -> Result<(), ViewError> {
    if have == want as usize { Ok(()) } else { Err(ViewError::Rows { what, have, want }) }
}

/// Devices keep state by IPv6 address.
pub(super) fn distinct(subscribers: &[Subscriber6]) -> Result<(), ViewError> {
    let mut seen = HashSet::with_capacity(subscribers.len());
    match subscribers.iter().position(|s| !seen.insert(s.address)) {
        Some(at) => Err(ViewError::Shared(at)),
        None => Ok(()),
    }
}
