//! The fast path: UDP and TCP packets without anything unusual, a batch at a time, so that what the strategy reads of
//! its tables for 32 packets comes side by side. Whatever is unusual goes, packet by packet and in order, to the slow
//! path, which knows all the reasons; the fast path knows none.

use super::config::{ClassRule, Config, Hairpinning};
use super::rewrite::{pair4, pair6};
use super::slow::{MAC_MASK, is_martian6, is_ordinary};
use super::to6::{SHORTEST, finish};
use super::{Translate, roles};
use crate::ends::{Addressing, Point4};
use crate::event::Event;
use crate::function::{BATCH, Packet, Spare, Verdict};
use crate::ip6::{be128, put128};
use wire::checksum::Sum;
use wire::header::{self, PROTO_UDP, TCP, be16, be32, word};

/// Headers before the transport header.
const L4_V4: usize = header::ETH + header::IPV4;
const L4_V6: usize = header::ETH + header::IPV6;
/// What the two differ by.
const GROWTH: usize = header::IPV6 - header::IPV4;

/// What the fast path needs of the configuration, ready to use.
pub(super) struct Plan {
    /// Largest IPv4 packets that may go on whole: with DF, and without.
    most_df: usize,
    most: usize,
    /// Largest payload of an IPv6 packet that goes on whole.
    most_payload: usize,
    /// What is taken off the time to live, and the least that it may be.
    hop: u8,
    least: u8,
    class: Octet,
    tos: Octet,
    own4: u32,
    own6: u128,
    simple: bool,
    intrinsic: bool,
}

/// A rule for an octet as two masks.
struct Octet {
    keep: u8,
    set: u8,
}

impl Octet {
    fn new(rule: ClassRule) -> Octet {
        match rule {
            ClassRule::Copy => Octet { keep: 0xff, set: 0 },
            ClassRule::Fixed(set) => Octet { keep: 0, set },
        }
    }
    #[inline(always)]
    fn apply(&self, c: u8) -> u8 {
        c & self.keep | self.set
    }
}

impl Plan {
    pub(super) fn new(c: &Config) -> Plan {
        let (v4, v6) = (usize::from(c.v4.mtu), usize::from(c.v6.mtu));
        Plan {
            most_df: v6 - GROWTH,
            most: v6.min(c.lowest_ipv6_mtu.into()) - GROWTH,
            most_payload: v4 - header::IPV4,
            hop: c.hop.into(),
            least: if c.hop { 2 } else { 0 },
            class: Octet::new(c.traffic_class),
            tos: Octet::new(c.tos),
            own4: c.v4.address.into(),
            own6: c.v6.address.to_bits(),
            simple: c.hairpinning == Hairpinning::Simple,
            intrinsic: c.hairpinning == Hairpinning::Intrinsic,
        }
    }
}

impl<A: Addressing> Translate<A> {
    /// Work on a batch that came in over IPv4 (`SIX` false) or IPv6.
    #[inline]
    pub(super) fn batch<const SIX: bool, P: Packet, S: Spare<P>>(
        &mut self,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut S,
    ) {
        debug_assert!(batch.len() <= BATCH);
        for p in batch.iter() {
            if let Some(first) = p.bytes().first() {
                arena::prefetch(first);
            }
        }
        let mut plain = 0u64;
        for (i, p) in batch.iter().enumerate() {
            let is = if SIX { self.parse6(p.bytes()) } else { self.parse4(p.bytes()) };
            plain |= u64::from(is) << i;
        }
        let (from, mut done) = (if SIX { self.config.ipv6 } else { self.config.ipv6.other() }, 0);
        for (p, v) in batch.iter_mut().zip(verdicts.iter_mut()) {
            let fast = plain & 1 == 1 && if SIX { self.fast4(p) } else { self.fast6(p) };
            plain >>= 1;
            done += u64::from(fast);
            *v = if fast { Verdict::Forward(from.other()) } else { self.slow(from, p, spare) };
        }
        self.count.add_many(if SIX { Event::ToIpv4 } else { Event::ToIpv6 }, done);
    }

    /// Whether an IPv4 frame is one for the fast path; what its addresses lead to is brought closer.
    #[inline(always)]
    fn parse4(&self, b: &[u8]) -> bool {
        let Some(h) = b.first_chunk::<{ L4_V4 + 8 }>() else { return false };
        let total = be16(h, 16) as usize;
        let (src, dst) = (be32(h, 26), be32(h, 30));
        let df = h[20] & 0x40 != 0;
        let right = word(h, 0) & MAC_MASK == self.macs.v4
            && h[12] == 0x08
            && h[13] == 0
            && h[14] == 0x45
            && h[20] & 0xbf == 0
            && h[21] == 0
            && h[22] >= self.plan.least
            && total + header::ETH <= b.len()
            && total <= if df { self.plan.most_df } else { self.plan.most }
            && transport::<L4_V4>(h, h[23], total.wrapping_sub(header::IPV4))
            && Sum::default()
                .word(word(h, 14))
                .word(word(h, 26))
                .half(u32::from_ne_bytes([h[22], h[23], h[24], h[25]]))
                .is_valid()
            && is_ordinary(src)
            && is_ordinary(dst)
            && dst != self.plan.own4
            && !self.plan.simple;
        if right {
            let (src_end, dst_end) = roles(self.config.ipv6.other());
            self.addressing.prefetch_ipv4(src_end, Point4 { addr: src, port: Some(be16(h, 34)) });
            self.addressing.prefetch_ipv4(dst_end, Point4 { addr: dst, port: Some(be16(h, 36)) });
        }
        right
    }

    /// Translate an IPv4 frame that [`Self::parse4`] has passed; false, with nothing changed, when that needs the slow path.
    #[inline(always)]
    fn fast6<P: Packet>(&mut self, p: &mut P) -> bool {
        let b = p.bytes();
        let Some(h) = b.first_chunk::<{ L4_V4 + 8 }>() else { return false };
        let (tos, total, ttl, protocol) = (h[15], be16(h, 16), h[22], h[23]);
        let (src4, dst4) = (be32(h, 26), be32(h, 30));
        let (src_end, dst_end) = roles(self.config.ipv6.other());
        let Ok(dst) = self.addressing.to_ipv6(dst_end, Point4 { addr: dst4, port: Some(be16(h, 36)) }) else {
            return false;
        };
        let Ok(src) = self.addressing.to_ipv6(src_end, Point4 { addr: src4, port: Some(be16(h, 34)) }) else {
            return false;
        };
        let len = b.len();
        let at = if protocol == PROTO_UDP { 6 } else { 16 };
        let field = u16::from_ne_bytes([b[L4_V4 + at], b[L4_V4 + at + 1]]);
        if !p.grow_front(GROWTH) {
            return false;
        }
        let payload = u64::from(total) - header::IPV4 as u64;
        let end = L4_V6 + payload as usize;
        if len + GROWTH != end && !p.set_len(end) {
            return false;
        }
        let class = u64::from(self.plan.class.apply(tos));
        let first = 6 << 60 | class << 52 | payload << 16 | u64::from(protocol) << 8 | u64::from(ttl - self.plan.hop);
        let sum = moved(field, protocol, pair4(src4, dst4), pair6(src, dst));
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<{ L4_V6 + 8 }>() else { return false };
        h[..12].copy_from_slice(&self.macs.to_v6);
        h[12..14].copy_from_slice(&header::TYPE_IPV6.to_be_bytes());
        h[14..22].copy_from_slice(&first.to_be_bytes());
        put128(h, 22, src);
        put128(h, 38, dst);
        b[L4_V6 + at..L4_V6 + at + 2].copy_from_slice(&sum);
        true
    }

    /// Whether an IPv6 frame is one for the fast path; what its addresses lead to is brought closer.
    #[inline(always)]
    fn parse6(&self, b: &[u8]) -> bool {
        let Some(h) = b.first_chunk::<{ L4_V6 + 8 }>() else { return false };
        let payload = be16(h, 18) as usize;
        let (src, dst) = (be128(h, 22), be128(h, 38));
        let right = word(h, 0) & MAC_MASK == self.macs.v6
            && h[12] == 0x86
            && h[13] == 0xdd
            && h[14] >> 4 == 6
            && h[21] >= self.plan.least
            && payload + L4_V6 <= b.len()
            && payload <= self.plan.most_payload
            && transport::<L4_V6>(h, h[20], payload)
            && dst != self.plan.own6
            && !is_martian6(src)
            && !is_martian6(dst);
        if right {
            let (src_end, dst_end) = roles(self.config.ipv6);
            self.addressing.prefetch_ipv6(src_end, src);
            self.addressing.prefetch_ipv6(dst_end, dst);
        }
        right
    }

    /// Translate an IPv6 frame that [`Self::parse6`] has passed; false, with nothing changed, when that needs the slow path.
    #[inline(always)]
    fn fast4<P: Packet>(&mut self, p: &mut P) -> bool {
        let b = p.bytes();
        let Some(h) = b.first_chunk::<{ L4_V6 + 8 }>() else { return false };
        let class = (be16(h, 14) >> 4) as u8;
        let (payload, protocol, hop_limit) = (be16(h, 18), h[20], h[21]);
        let (src6, dst6) = (be128(h, 22), be128(h, 38));
        let (src_port, dst_port) = (be16(h, L4_V6), be16(h, L4_V6 + 2));
        let (src_end, dst_end) = roles(self.config.ipv6);
        let Ok(dst) = self.addressing.to_ipv4(dst_end, dst6, Some(dst_port)) else { return false };
        if !is_ordinary(dst) {
            return false;
        }
        let Ok(src) = self.addressing.to_ipv4(src_end, src6, Some(src_port)) else { return false };
        let turns = self.plan.intrinsic && self.addressing.turned(dst6, src, dst).is_some();
        if !is_ordinary(src) || turns {
            return false;
        }
        let at = if protocol == PROTO_UDP { 6 } else { 16 };
        let field = u16::from_ne_bytes([b[L4_V6 + at], b[L4_V6 + at + 1]]);
        let (len, end) = (b.len(), L4_V4 + usize::from(payload));
        if !p.shrink_front(GROWTH) {
            return false;
        }
        let total = u64::from(payload) + header::IPV4 as u64;
        let df = u64::from(total > 1260) << 14;
        let id = u64::from(self.next_identification());
        let tos = u64::from(self.plan.tos.apply(class));
        let first = (0x45 << 56 | tos << 48 | total << 32 | id << 16 | df).to_be();
        let hops = u16::from_ne_bytes([hop_limit - self.plan.hop, protocol]);
        let pair = pair4(src, dst);
        let sum = Sum(pair.0 + u64::from(hops)).word(first).checksum();
        let transport = moved(field, protocol, pair6(src6, dst6), pair);
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<L4_V4>() else { return false };
        h[..12].copy_from_slice(&self.macs.to_v4);
        h[12..14].copy_from_slice(&header::TYPE_IPV4.to_be_bytes());
        h[14..22].copy_from_slice(&first.to_ne_bytes());
        let rest = u64::from(hops) | u64::from(u16::from_ne_bytes(sum)) << 16;
        h[22..26].copy_from_slice(&(rest as u32).to_ne_bytes());
        h[26..34].copy_from_slice(&(u64::from(src) << 32 | u64::from(dst)).to_be_bytes());
        b[L4_V4 + at..L4_V4 + at + 2].copy_from_slice(&transport);
        len - GROWTH == end.max(SHORTEST) && end >= SHORTEST || finish(p, end).is_ok()
    }
}

/// Whether a transport header, `L4` octets into the frame, is one for the fast path: UDP with a checksum, or TCP, not longer
/// than the payload.
#[inline(always)]
fn transport<const L4: usize>(h: &[u8], protocol: u8, payload: usize) -> bool {
    if protocol == PROTO_UDP {
        let len = be16(h, L4 + 4) as usize;
        len >= header::UDP && len <= payload && h[L4 + 6] | h[L4 + 7] != 0 && payload <= usize::from(u16::MAX)
    } else {
        protocol == TCP && (20..=usize::from(u16::MAX)).contains(&payload)
    }
}

/// A checksum field after the addresses summed in `old` became those in `new`; for UDP, zero is written as all ones.
#[inline(always)]
fn moved(field: u16, protocol: u8, old: Sum, new: Sum) -> [u8; 2] {
    let sum = u16::from_ne_bytes(Sum(u64::from(!field) + u64::from(!old.fold()) + new.0).checksum());
    if sum == 0 && protocol == PROTO_UDP { [0xff, 0xff] } else { sum.to_ne_bytes() }
}
