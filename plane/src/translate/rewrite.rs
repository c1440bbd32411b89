//! Writing headers and repairing checksums (RFC 1624).

use crate::ip6::{next, put128};
use wire::checksum::{Sum, update};
use wire::header::{self, ICMP, ICMPV6, PROTO_UDP, TCP, put16, put32};

/// Protocol number of DCCP, whose checksum covers the pseudo header as that of UDP does (RFC 4340,
/// section 9).
pub(crate) const DCCP: u8 = 33;
/// Protocol number of UDP-Lite (RFC 3828).
pub(crate) const UDP_LITE: u8 = 136;

#[inline(always)]
pub(super) fn sum6(a: u128) -> Sum {
    let a = a.to_be();
    Sum::default().word(a as u64).word((a >> 64) as u64)
}

#[inline(always)]
pub(super) fn pair6(src: u128, dst: u128) -> Sum {
    let (s, d) = (sum6(src), sum6(dst));
    Sum(s.0 + d.0)
}

#[inline(always)]
pub(super) fn pair4(src: u32, dst: u32) -> Sum {
    Sum::default().be32(src).be32(dst)
}

pub(super) fn icmp6_pseudo(src: u128, dst: u128, len: usize) -> Sum {
    pair6(src, dst).be32(len as u32).be16(ICMPV6.into())
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Write6 {
    pub src: u128,
    pub dst: u128,
    pub class: u8,
    pub hop_limit: u8,
    /// Protocol without the fragment header.
    pub protocol: u8,
    /// Offset behind all headers.
    pub payload: usize,
    pub part: Option<Cut>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Offset in octets.
    pub offset: usize,
    pub more: bool,
    pub id: u32,
}

impl Write6 {
    pub(super) fn len(&self) -> usize {
        header::IPV6 + if self.part.is_some() { 8 } else { 0 }
    }

    /// Writes at the start of `b`.
    pub(super) fn write(&self, b: &mut [u8]) {
        put32(b, 0, 6 << 28 | u32::from(self.class) << 20);
        put16(b, 4, (self.len() - header::IPV6 + self.payload) as u16);
        b[7] = self.hop_limit;
        put128(b, 8, self.src);
        put128(b, 24, self.dst);
        match self.part {
            None => b[6] = self.protocol,
            Some(cut) => {
                b[6] = next::FRAGMENT;
                (b[40], b[41]) = (self.protocol, 0);
                put16(b, 42, cut.offset as u16 | u16::from(cut.more));
                put32(b, 44, cut.id);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Write4 {
    pub src: u32,
    pub dst: u32,
    pub tos: u8,
    pub ttl: u8,
    pub protocol: u8,
    /// Offset behind the header.
    pub payload: usize,
    pub id: u16,
    /// Fragment as in the header.
    pub fragment: u16,
}

pub(super) const DF: u16 = 0x4000;
pub(super) const MF: u16 = 0x2000;

impl Write4 {
    /// Writes at the start of `b`, with its checksum.
    pub(super) fn write(&self, b: &mut [u8]) {
        (b[0], b[1]) = (0x45, self.tos);
        put16(b, 2, (header::IPV4 + self.payload) as u16);
        put16(b, 4, self.id);
        put16(b, 6, self.fragment);
        (b[8], b[9]) = (self.ttl, self.protocol);
        b[10..12].fill(0);
        put32(b, 12, self.src);
        put32(b, 16, self.dst);
        let sum = Sum::default().bytes(&b[..header::IPV4]).checksum();
        b[10..12].copy_from_slice(&sum);
    }
}

/// Checksum's offset, for pseudo headers with addresses.
fn checksum_at(protocol: u8) -> Option<usize> {
    match protocol {
        PROTO_UDP | UDP_LITE | DCCP => Some(6),
        TCP => Some(16),
        _ => None,
    }
}

/// Updates the checksum after the addresses summed in `old` became those in `new`. A checksum
/// beyond the end of `b`, and a UDP checksum of zero, stay.
pub(super) fn transport(b: &mut [u8], protocol: u8, old: Sum, new: Sum) {
    let Some(at) = checksum_at(protocol).filter(|at| b.len() >= at + 2) else { return };
    if protocol == PROTO_UDP && b[at] | b[at + 1] == 0 {
        return;
    }
    let mut sum = update([b[at], b[at + 1]], old, new);
    if protocol == PROTO_UDP && sum == [0, 0] {
        sum = [0xff, 0xff];
    }
    b[at..at + 2].copy_from_slice(&sum);
}

/// Updates the checksum between IPv6 packets, where ICMP has a pseudo header.
pub(super) fn transport6(b: &mut [u8], protocol: u8, old: Sum, new: Sum) {
    if protocol != ICMPV6 {
        transport(b, protocol, old, new);
    } else if b.len() >= 4 {
        let sum = update([b[2], b[3]], old, new);
        b[2..4].copy_from_slice(&sum);
    }
}

/// Computes the checksum of a whole datagram.
pub(super) fn fill_udp(b: &mut [u8], src: u128, dst: u128) {
    let len = b.len() as u32;
    let mut sum = pair6(src, dst).be32(len).be16(PROTO_UDP.into()).bytes(b).checksum();
    if sum == [0, 0] {
        sum = [0xff, 0xff];
    }
    b[6..8].copy_from_slice(&sum);
}

/// `pseudo` is the pseudo header that the checksum gains or loses. The checksum is updated, not
/// recomputed, so that damage stays visible.
pub(super) fn echo(b: &mut [u8], kind: u8, pseudo: Sum, to_ipv6: bool) {
    let old = Sum::default().be16(u16::from_be_bytes([b[0], b[1]]));
    b[0] = kind;
    let new = Sum::default().be16(u16::from_be_bytes([b[0], b[1]]));
    let (old, new) = if to_ipv6 { (old, new.plus(pseudo)) } else { (old.plus(pseudo), new) };
    if b.len() >= 4 {
        let sum = update([b[2], b[3]], old, new);
        b[2..4].copy_from_slice(&sum);
    }
}

pub(super) fn protocol_to6(protocol: u8) -> u8 {
    if protocol == ICMP { ICMPV6 } else { protocol }
}

pub(super) fn protocol_to4(protocol: u8) -> u8 {
    if protocol == ICMPV6 { ICMP } else { protocol }
}
