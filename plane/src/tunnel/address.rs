//! Changing the customer's address of the inner packet, with its checksums (RFC 1624), where
//! customers' addresses overlap.

use crate::event::Event;
use crate::ip4::Head4;
use wire::checksum::{Sum, update};
use wire::header::{self, PROTO_UDP, TCP, half};

/// Source, or else destination, of an unfragmented UDP or TCP packet without IP options at `l3`,
/// whose transport header is complete.
#[inline]
pub(super) fn replace_plain(b: &mut [u8], l3: usize, destination: bool, new: u32) {
    let (old, new) = header_address(b, l3, destination, new);
    let l4 = l3 + header::IPV4;
    transport(b, l4, b[l3 + 9], old, new);
}

/// Source, or else destination, wherever it occurs: in an ICMP error also in the quoted packet, at
/// the other end. The quote's customer may be another one, such as a host behind the sending
/// router: `quoted` returns its new address. Fails for an ICMP error with a wrong checksum, an
/// unreadable quote, or no known customer.
pub(super) fn replace(
    b: &mut [u8],
    head: &Head4,
    destination: bool,
    new: u32,
    quoted: impl FnOnce(u32) -> Result<u32, Event>,
) -> Result<(), Event> {
    let before = if destination { head.dst } else { head.src };
    let b = &mut b[..head.end];
    if head.is_icmp_error(b) {
        if head.more || !Sum::default().bytes(&b[head.l4..]).is_valid() {
            return Err(Event::IcmpChecksum);
        }
        let quote = Head4::sealed(b, head.l4 + 8)?;
        let about = if destination { quote.src } else { quote.dst };
        let becomes = if about == before { new } else { quoted(about)? };
        if becomes != about {
            let (old, new) = header_address(b, quote.l3, !destination, becomes);
            let end = quote.end.min(b.len());
            if quote.offset == 0 {
                transport(&mut b[..end], quote.l4, quote.protocol, old, new);
            }
        }
        b[head.l4 + 2..head.l4 + 4].fill(0);
        let sum = Sum::default().bytes(&b[head.l4..]).checksum();
        b[head.l4 + 2..head.l4 + 4].copy_from_slice(&sum);
    }
    if before == new {
        return Ok(());
    }
    // A checksum in the second fragment cannot change with the first: such a packet is an attack (RFC 1858).
    if head.more && head.offset == 0 && head.protocol == TCP && head.end < head.l4 + 18 {
        return Err(Event::Short);
    }
    let (old, new) = header_address(b, head.l3, destination, new);
    if head.offset == 0 {
        transport(b, head.l4, head.protocol, old, new);
    }
    Ok(())
}

/// Returns the sums of old and new address.
#[inline(always)]
fn header_address(b: &mut [u8], l3: usize, destination: bool, new: u32) -> (Sum, Sum) {
    let at = l3 + if destination { 16 } else { 12 };
    let (old, new) = (Sum(half(b, at).into()), Sum::default().be32(new));
    b[at..at + 4].copy_from_slice(&(new.0 as u32).to_ne_bytes());
    fix(b, l3 + 10, old, new);
    (old, new)
}

/// ICMP has no pseudo header (RFC 792).
#[inline(always)]
fn transport(b: &mut [u8], l4: usize, protocol: u8, old: Sum, new: Sum) {
    match protocol {
        // No checksum stays none; a sum of zero is sent as all ones (RFC 768).
        PROTO_UDP if b.len() >= l4 + 8 && b[l4 + 6] | b[l4 + 7] != 0 => {
            fix(b, l4 + 6, old, new);
            if b[l4 + 6] | b[l4 + 7] == 0 {
                b[l4 + 6..l4 + 8].fill(0xff);
            }
        }
        TCP if b.len() >= l4 + 18 => fix(b, l4 + 16, old, new),
        _ => {}
    }
}

#[inline(always)]
fn fix(b: &mut [u8], at: usize, old: Sum, new: Sum) {
    let field = update([b[at], b[at + 1]], old, new);
    b[at..at + 2].copy_from_slice(&field);
}
