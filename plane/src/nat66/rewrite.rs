//! Changing one end of an IPv6 packet in place, with its checksum (RFC 1624).

use crate::ip6::{Head6, put128};
use wire::checksum::{Sum, update};
use wire::header::{ICMPV6, PROTO_UDP, TCP, put16, word};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Destination,
}

/// Changes an address at `l3`; returns the sums of old and new address.
pub(super) fn address(b: &mut [u8], l3: usize, end: End, new: u128) -> (Sum, Sum) {
    let at = l3 + if end == End::Source { 8 } else { 24 };
    let old = Sum::default().bytes(&b[at..at + 16]);
    put128(b, at, new);
    (old, Sum::default().bytes(&b[at..at + 16]))
}

/// Address and port (or identifier) of the packet at the end of `b`; of a later fragment the
/// address only. A checksum beyond `b`, as in quotes, is not changed.
pub(super) fn endpoint(b: &mut [u8], h: &Head6, end: End, to: u128, port: u16) {
    let (old, new) = address(b, h.l3, end, to);
    if h.part.is_some_and(|part| part.offset > 0) {
        return;
    }
    let (field, at) = match h.protocol {
        PROTO_UDP => (h.l4 + 6, h.l4 + 2 * usize::from(end == End::Destination)),
        TCP => (h.l4 + 16, h.l4 + 2 * usize::from(end == End::Destination)),
        ICMPV6 => (h.l4 + 2, h.l4 + 4),
        _ => return,
    };
    let old = old.be16(u16::from_be_bytes([b[at], b[at + 1]]));
    put16(b, at, port);
    if b.len() < field + 2 || (h.protocol == PROTO_UDP && b[field] | b[field + 1] == 0) {
        // Tunnel end points may permit UDP without checksum (RFC 8200, section 8.1; RFC 6936), others drop it.
        return;
    }
    let mut sum = update([b[field], b[field + 1]], old, new.be16(port));
    if h.protocol == PROTO_UDP && sum == [0, 0] {
        sum = [0xff, 0xff];
    }
    b[field..field + 2].copy_from_slice(&sum);
}

pub(super) fn leave(b: &mut [u8], macs: &[u8; 12]) {
    b[..12].copy_from_slice(macs);
    b[21] = b[21].saturating_sub(1);
}

/// Only for whole packets without extension headers of at least `N` octets, with port or identifier
/// at `P` and checksum at `C`. Sums new words plus complements of old ones (RFC 1624, equation 3).
#[inline(always)]
pub(super) fn hop<const N: usize, const P: usize, const C: usize>(
    h: &mut [u8; N],
    macs: &[u8; 12],
    end: End,
    new: u128,
    port: u16,
    udp: bool,
) {
    let a = if end == End::Source { 22 } else { 38 };
    let half = |h: &[u8; N], at: usize| u64::from(u16::from_ne_bytes([h[at], h[at + 1]]));
    let (octets, old, field) = (new.to_be_bytes(), half(h, P), half(h, C));
    let moved = Sum((field ^ 0xffff) + (old ^ 0xffff))
        .word(!word(h, a))
        .word(!word(h, a + 8))
        .word(word(&octets, 0))
        .word(word(&octets, 8))
        .be16(port);
    h[..12].copy_from_slice(macs);
    h[21] -= 1;
    h[a..a + 16].copy_from_slice(&octets);
    put16(h, P, port);
    let mut sum = moved.checksum();
    if udp {
        // No checksum stays none; a sum of zero is sent as all ones.
        if field == 0 {
            return;
        }
        if sum == [0, 0] {
            sum = [0xff, 0xff];
        }
    }
    h[C..C + 2].copy_from_slice(&sum);
}

/// The old checksum was verified, so this hides no damage.
pub(super) fn seal(b: &mut [u8], h: &Head6) {
    b[h.l4 + 2..h.l4 + 4].fill(0);
    let len = (h.end - h.l4) as u32;
    let pseudo = Sum::default().bytes(&b[h.l3 + 8..h.l3 + 40]).be32(len).be16(ICMPV6.into());
    let sum = pseudo.plus(Sum::default().bytes(&b[h.l4..h.end])).checksum();
    b[h.l4 + 2..h.l4 + 4].copy_from_slice(&sum);
}
