//! What a NAT44 tells the half behind it about a packet: the identification that its sender gave it, where the NAT has drawn another
//! one. An ICMP error of that half quotes the packet as its sender knows it (RFC 792). It stands in the Ethernet source, which
//! is not needed on the inner link of a [`crate::Chain`], so it goes with the packet wherever that goes, also to another worker.

use crate::inner_link::{CUSTOMER_HALF, INTERNET_HALF};
use crate::side::Side4;
use wire::Mac;
use wire::checksum::update16;
use wire::header::{ETH, IPV4, be16, put16};

/// What stands in front of an identification in the Ethernet source. No half has such an address.
const KEPT: [u8; 4] = [2, 0x6e, 0x6d, 1];

/// Whether a side of a NAT44 is the inner link to a half that speaks for itself.
pub(crate) fn leads_inside(side: &Side4) -> bool {
    (side.mac, side.next_hop) == (CUSTOMER_HALF, INTERNET_HALF)
}

/// Say in a frame for the inner link which identification its packet had.
#[inline(always)]
pub(crate) fn keep(b: &mut [u8], identification: u16) {
    b[6..10].copy_from_slice(&KEPT);
    put16(b, 10, identification);
}

/// Change the identification of a frame's IPv4 packet, and its header checksum; gives the one that it had.
#[inline]
pub(crate) fn identify(b: &mut [u8], new: u16) -> u16 {
    let old = be16(b, ETH + 4);
    put16(b, ETH + 4, new);
    let sum = update16([b[ETH + 10], b[ETH + 11]], old, new);
    b[ETH + 10..ETH + 12].copy_from_slice(&sum);
    old
}

/// Give the packet of a frame that ends at `own` the identification back that its sender gave it, if it came from a NAT44 that
/// said so: for the function that quotes it.
pub(crate) fn restore(own: Mac, b: &mut [u8]) {
    if own == INTERNET_HALF && b.len() >= ETH + IPV4 && b[6..10] == KEPT {
        identify(b, be16(b, 10));
    }
}
