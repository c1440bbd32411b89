//! ICMPv6: checksums, and valid Neighbor Solicitations and Advertisements (RFC 4861, sections 7.1.1 and 7.1.2).

use plane::ip6::{Head6, be128};
use wire::checksum::Sum;
use wire::header::{self as h, Mac};

pub(crate) const SOLICITATION: u8 = 135;
pub(crate) const ADVERTISEMENT: u8 = 136;
/// The flag S in the fifth octet of an advertisement (RFC 4861, section 4.4).
pub(crate) const SOLICITED: u8 = 0x40;
/// Type of the option with the sender's link-layer address (RFC 4861, section 4.6.1). `TARGET_ADDRESS` is that of the
/// target.
const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;
/// Octets of a message without options.
const LENGTH: usize = 24;
/// The prefix of solicited-node multicast addresses, 104 bits long (RFC 4291, section 2.7.1).
const SOLICITED_NODES: u128 = 0xff02_0000_0000_0000_0000_0001_ff00_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub is_advertisement: bool,
    pub source: u128,
    pub target: u128,
    /// The source link-layer address of a solicitation, or the target link-layer address of an advertisement, if the
    /// option is present.
    pub link_address: Option<Mac>,
}

impl Discovery {
    pub(crate) fn of_frame(b: &[u8]) -> Option<Discovery> {
        let head = Head6::of_frame(b).ok()?;
        let at = head.l4;
        let is_whole = head.protocol == h::ICMPV6 && at == h::ETH + h::IPV6 && head.end >= at + LENGTH;
        if !is_whole || !matches!(b[at], SOLICITATION | ADVERTISEMENT) {
            return None;
        }
        let is_advertisement = b[at] == ADVERTISEMENT;
        let (target, flags) = (be128(b, at + 8), b[at + 4]);
        let option = if is_advertisement { TARGET_ADDRESS } else { SOURCE_ADDRESS };
        let link_address = link_address(&b[at + LENGTH..head.end], option)?;
        let suits_its_addresses = if is_advertisement {
            !is_group(head.dst) || flags & SOLICITED == 0
        } else {
            head.src != 0 || head.dst & !0xff_ffff == SOLICITED_NODES && link_address.is_none()
        };
        let is_valid = head.hop_limit == 255
            && b[at + 1] == 0
            && !is_group(head.src)
            && !is_group(target)
            && suits_its_addresses
            && sum6(&b[..head.end]).is_valid();
        is_valid.then_some(Discovery { is_advertisement, source: head.src, target, link_address })
    }
}

fn is_group(address: u128) -> bool {
    address >> 120 == 0xff
}

/// Returns the address in an option of this kind, if it is present; `None` if an option is empty or truncated.
#[allow(clippy::option_option, reason = "no such option, and options that make the message invalid, are two things")]
fn link_address(mut options: &[u8], kind: u8) -> Option<Option<Mac>> {
    let mut found = None;
    while let [this, units, ..] = *options {
        let len = 8 * usize::from(units);
        if len == 0 || len > options.len() {
            return None;
        }
        if this == kind && units == 1 {
            found = options[2..8].try_into().ok().map(Mac);
        }
        options = &options[len..];
    }
    options.is_empty().then_some(found)
}

/// Sum of the ICMPv6 message at the end of the slice, with its pseudo header.
pub(crate) fn sum6(b: &[u8]) -> Sum {
    let l4 = h::ETH + h::IPV6;
    Sum::default().bytes(&b[22..]).be16(u16::from(h::ICMPV6)).be32((b.len() - l4) as u32)
}

pub(crate) fn seal6(b: &mut [u8]) {
    let at = h::ETH + h::IPV6 + 2;
    b[at..at + 2].fill(0);
    let sum = sum6(b).checksum();
    b[at..at + 2].copy_from_slice(&sum);
}
