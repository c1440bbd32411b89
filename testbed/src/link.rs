//! The two links of a gateway, and the Ethernet addresses of the frames on them.

use plane::Side;

/// Ethernet addresses of a link: the gateway's own, and the next hop's.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The gateway's address.
    pub own: [u8; 6],
    /// The next hop's address.
    pub hop: [u8; 6],
}

impl Link {
    /// Checks the Ethernet addresses of a frame that leaves over this link.
    #[track_caller]
    pub fn judge(&self, frame: &[u8]) {
        assert_eq!((&frame[..6], &frame[6..12]), (&self.hop[..], &self.own[..]), "Ethernet addresses");
    }

    /// Returns a frame as it arrives over this link.
    pub fn arriving(&self, frame: &[u8]) -> Vec<u8> {
        [&self.own, &self.hop, &frame[12..]].concat()
    }
}

/// The customers' link.
pub const CUSTOMER: Link = Link { own: CUSTOMER_MAC, hop: CUSTOMER_HOP };
/// The Internet's link.
pub const INTERNET: Link = Link { own: INTERNET_MAC, hop: INTERNET_HOP };
/// The gateway's Ethernet address on the customers' link.
pub const CUSTOMER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The next hop's Ethernet address on the customers' link.
pub const CUSTOMER_HOP: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// The gateway's Ethernet address on the Internet's link.
pub const INTERNET_MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];
/// The next hop's Ethernet address on the Internet's link.
pub const INTERNET_HOP: [u8; 6] = [2, 0, 0, 0, 1, 2];

/// Both links, the customers' first.
pub(crate) const LINKS: [Link; 2] = [CUSTOMER, INTERNET];

/// Returns a frame as it arrives at one side of a gateway between [`CUSTOMER`] and [`INTERNET`].
pub fn arriving(side: Side, frame: &[u8]) -> Vec<u8> {
    LINKS[usize::from(side == Side::Internet)].arriving(frame)
}
