//! Writing headers and repairing checksums (RFC 1624): the octets of a translation. One file, because slow path,
//! fragments and the quotes of ICMP errors must all write them in exactly the same way.

use crate::ip6::{next, put128};
use wire::checksum::{Sum, update};
use wire::header::{self, ICMP, ICMPV6, PROTO_UDP, TCP, put16, put32};

/// Protocol number of DCCP, whose checksum covers the pseudo header as that of UDP does (RFC 4340, section 9).
const DCCP: u8 = 33;
/// Protocol number of UDP-Lite (RFC 3828).
const UDP_LITE: u8 = 136;

/// Sum of an IPv6 address.
#[inline(always)]
pub(super) fn sum6(a: u128) -> Sum {
    let a = a.to_be();
    Sum::default().word(a as u64).word((a >> 64) as u64)
}

/// Sum of the addresses of an IPv6 packet.
#[inline(always)]
pub(super) fn pair6(src: u128, dst: u128) -> Sum {
    let (s, d) = (sum6(src), sum6(dst));
    Sum(s.0 + d.0)
}

/// Sum of the addresses of an IPv4 packet.
#[inline(always)]
pub(super) fn pair4(src: u32, dst: u32) -> Sum {
    Sum::default().be32(src).be32(dst)
}

/// Sum of the pseudo header of ICMPv6.
pub(super) fn icmp6_pseudo(src: u128, dst: u128, len: usize) -> Sum {
    pair6(src, dst).be32(len as u32).be16(ICMPV6.into())
}

/// Fields of an IPv6 header to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write6 {
    /// Source.
    pub src: u128,
    /// Destination.
    pub dst: u128,
    /// Traffic class.
    pub class: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Next header, the fragment header not counted.
    pub protocol: u8,
    /// Octets behind all headers.
    pub payload: usize,
    /// The fragment header, if there is to be one.
    pub part: Option<Cut>,
}

/// A fragment header to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Offset in octets.
    pub offset: usize,
    /// More fragments follow.
    pub more: bool,
    /// Identification.
    pub id: u32,
}

impl Write6 {
    /// Octets of the headers.
    pub(super) fn len(&self) -> usize {
        header::IPV6 + if self.part.is_some() { 8 } else { 0 }
    }

    /// Write the headers at the start of `b`.
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

/// Fields of an IPv4 header to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write4 {
    /// Source.
    pub src: u32,
    /// Destination.
    pub dst: u32,
    /// Type of service.
    pub tos: u8,
    /// Time to live.
    pub ttl: u8,
    /// Protocol.
    pub protocol: u8,
    /// Octets behind the header.
    pub payload: usize,
    /// Identification.
    pub id: u16,
    /// Flags and fragment offset as they stand in the header.
    pub fragment: u16,
}

/// The flags of an IPv4 header.
pub(super) const DF: u16 = 0x4000;
/// More fragments.
pub(super) const MF: u16 = 0x2000;

impl Write4 {
    /// Write the header, checksum included, at the start of `b`.
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

/// Offset of the checksum of a protocol whose pseudo header contains the addresses; `None` for all others.
fn checksum_at(protocol: u8) -> Option<usize> {
    match protocol {
        PROTO_UDP | UDP_LITE | DCCP => Some(6),
        TCP => Some(16),
        _ => None,
    }
}

/// Repair the checksum of the transport header that `b` begins with, after the addresses summed in `old` became those
/// in `new`. A checksum beyond the end of `b` is not repaired, nor is a UDP checksum of zero, which means none.
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

/// The same between two IPv6 packets, where ICMP has a pseudo header too.
pub(super) fn transport6(b: &mut [u8], protocol: u8, old: Sum, new: Sum) {
    if protocol != ICMPV6 {
        transport(b, protocol, old, new);
    } else if b.len() >= 4 {
        let sum = update([b[2], b[3]], old, new);
        b[2..4].copy_from_slice(&sum);
    }
}

/// Give a UDP datagram that has none a checksum; `b` is the whole datagram.
pub(super) fn fill_udp(b: &mut [u8], src: u128, dst: u128) {
    let len = b.len() as u32;
    let mut sum = pair6(src, dst).be32(len).be16(PROTO_UDP.into()).bytes(b).checksum();
    if sum == [0, 0] {
        sum = [0xff, 0xff];
    }
    b[6..8].copy_from_slice(&sum);
}

/// Convert an ICMP echo message to the other version. `pseudo` is the pseudo header that the checksum gains or loses.
/// The checksum is updated, not recomputed, so that damage stays visible.
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

/// The protocol number in the other IP version.
pub(super) fn protocol_to6(protocol: u8) -> u8 {
    if protocol == ICMP { ICMPV6 } else { protocol }
}

/// The protocol number in the other IP version.
pub(super) fn protocol_to4(protocol: u8) -> u8 {
    if protocol == ICMPV6 { ICMP } else { protocol }
}
