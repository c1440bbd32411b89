//! The original identification of a packet, which a NAT44 that draws another passes to the half
//! behind it, as ICMP errors must quote the packet as it was sent (RFC 792). The Ethernet source
//! holds it, unused on the inner link of a [`crate::Chain`].

use crate::inner_link::{CUSTOMER_HALF, INTERNET_HALF};
use crate::side::Side4;
use wire::Mac;
use wire::checksum::update16;
use wire::header::{ETH, IPV4, be16, put16};

/// No half has an address that begins with these.
const KEPT: [u8; 4] = [2, 0x6e, 0x6d, 1];

/// Whether a side leads to a half that sends ICMP errors.
pub(crate) fn leads_inside(side: &Side4) -> bool {
    (side.mac, side.next_hop) == (CUSTOMER_HALF, INTERNET_HALF)
}

#[inline(always)]
pub(crate) fn keep(b: &mut [u8], identification: u16) {
    b[6..10].copy_from_slice(&KEPT);
    put16(b, 10, identification);
}

/// Changes identification and header checksum; returns the old identification.
#[inline]
pub(crate) fn identify(b: &mut [u8], new: u16) -> u16 {
    let old = be16(b, ETH + 4);
    put16(b, ETH + 4, new);
    let sum = update16([b[ETH + 10], b[ETH + 11]], old, new);
    b[ETH + 10..ETH + 12].copy_from_slice(&sum);
    old
}

/// Restores the identification with the Ethernet source `own`, for a function that quotes the packet.
pub(crate) fn restore(own: Mac, b: &mut [u8]) {
    if own == INTERNET_HALF && b.len() >= ETH + IPV4 && b[6..10] == KEPT {
        identify(b, be16(b, 10));
    }
}
