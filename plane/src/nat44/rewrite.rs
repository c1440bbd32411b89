//! Changing addresses and ports in a packet, with its checksums (RFC 1624).

use super::session::{addr, port};
use crate::translate::{DCCP, UDP_LITE};
use wire::checksum::{Sum, update};
use wire::header::{ICMP, PROTO_UDP, TCP};

pub(super) const L3: usize = 14;

/// Protocols with sessions.
pub(super) fn has_sessions(protocol: u8) -> bool {
    matches!(protocol, PROTO_UDP | TCP | ICMP)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Destination,
}

#[inline(always)]
fn get16(b: &[u8], at: usize) -> u64 {
    u16::from_ne_bytes([b[at], b[at + 1]]) as u64
}

#[inline(always)]
fn get32(b: &[u8], at: usize) -> u64 {
    u32::from_ne_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]) as u64
}

#[inline(always)]
fn fix(b: &mut [u8], at: usize, old: Sum, new: Sum) {
    let field = update([b[at], b[at + 1]], old, new);
    b[at..at + 2].copy_from_slice(&field);
}

/// Only for UDP and TCP without IP options, as checked by the caller.
///
/// Sums new words plus complements of old ones (RFC 1624, equation 3), so that each checksum is folded once.
#[inline(always)]
pub(super) fn hop<const N: usize>(h: &mut [u8; N], macs: &[u8; 12], end: End, to: u64, udp: bool) {
    let (a, p) = if end == End::Source { (26, 34) } else { (30, 36) };
    let not16 = |w: u64| w ^ 0xffff;
    let (old_addr, old_port, old_ttl) = (get32(h, a), get16(h, p), get16(h, 22));
    let (new_addr, new_port) = (addr(to).to_be(), port(to).to_be());
    h[..12].copy_from_slice(macs);
    // In registers: reading back what was just written with another width would stall.
    let new_ttl = u16::from_ne_bytes([h[22].wrapping_sub(1), h[23]]);
    let moved = new_addr as u64 + (old_addr ^ 0xffff_ffff);
    let ip = Sum(not16(get16(h, 24)) + moved + new_ttl as u64 + not16(old_ttl)).checksum();
    h[22..24].copy_from_slice(&new_ttl.to_ne_bytes());
    h[24..26].copy_from_slice(&ip);
    h[a..a + 4].copy_from_slice(&new_addr.to_ne_bytes());
    h[p..p + 2].copy_from_slice(&new_port.to_ne_bytes());
    let at = if udp { 40 } else { 50 };
    let field = get16(h, at);
    let mut sum = Sum(not16(field) + moved + new_port as u64 + not16(old_port)).checksum();
    if udp {
        // No checksum stays none; a sum of zero is sent as all ones (RFC 768).
        if field == 0 {
            return;
        }
        if sum == [0, 0] {
            sum = [0xff, 0xff];
        }
    }
    h[at..at + 2].copy_from_slice(&sum);
}

/// Zero means none and stays; a sum of zero is sent as all ones (RFC 768).
#[inline(always)]
fn fix_udp(b: &mut [u8], at: usize, old: Sum, new: Sum) {
    if b[at] | b[at + 1] != 0 {
        fix(b, at, old, new);
        if b[at] | b[at + 1] == 0 {
            b[at..at + 2].fill(0xff);
        }
    }
}

pub(super) fn leave(b: &mut [u8], macs: &[u8; 12]) {
    b[..12].copy_from_slice(macs);
    let old = get16(b, L3 + 8);
    b[L3 + 8] = b[L3 + 8].saturating_sub(1);
    let new = get16(b, L3 + 8);
    fix(b, L3 + 10, Sum(old), Sum(new));
}

/// Changes an address at `l3`; returns the sums of old and new address.
pub(super) fn address(b: &mut [u8], l3: usize, end: End, new: u32) -> (Sum, Sum) {
    let at = l3 + if end == End::Source { 12 } else { 16 };
    let (old, new) = (Sum(get32(b, at)), Sum::default().be32(new));
    b[at..at + 4].copy_from_slice(&(new.0 as u32).to_ne_bytes());
    fix(b, l3 + 10, old, new);
    (old, new)
}

/// Address and port (or identifier, or no port) of a packet with headers at `l3` and `l4`. A checksum beyond
/// the buffer, as in quotes, is not changed. Eight bytes of transport header must be present.
pub(super) fn endpoint(b: &mut [u8], l3: usize, l4: usize, end: End, to: u64) {
    let protocol = b[l3 + 9];
    let (old_addr, new_addr) = address(b, l3, end, addr(to));
    if !has_sessions(protocol) {
        let first = get16(b, l3 + 6) & u64::from(0x1fff_u16.to_be()) == 0;
        if first && matches!(protocol, DCCP | UDP_LITE) && b.len() >= l4 + 8 {
            fix(b, l4 + 6, old_addr, new_addr);
        }
        return;
    }
    let at = l4 + if protocol == ICMP { 4 } else { 2 * usize::from(end == End::Destination) };
    let (old_port, new_port) = (Sum(get16(b, at)), Sum::default().be16(port(to)));
    b[at..at + 2].copy_from_slice(&(new_port.0 as u16).to_ne_bytes());
    let (old, new) = (old_addr.plus(old_port), new_addr.plus(new_port));
    match protocol {
        PROTO_UDP => fix_udp(b, l4 + 6, old, new),
        TCP if b.len() >= l4 + 18 => fix(b, l4 + 16, old, new),
        // ICMP has no pseudo header (RFC 792).
        ICMP => fix(b, l4 + 2, old_port, new_port),
        _ => {}
    }
}
