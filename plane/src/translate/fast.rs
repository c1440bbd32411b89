//! The fast path: ordinary UDP and TCP packets, a batch at a time, so that the table reads of 32
//! packets overlap. All others take the slow path, which alone knows drop reasons.

use super::config::{ClassRule, Config, Hairpinning};
use super::to6::finish;
use super::{Translate, roles};
use crate::event::Event;
use crate::function::{BATCH, LEAST_FRAME, Packet, Spare, Verdict};
use crate::ip4::is_ordinary;
use crate::ip6::{be128, is_common, put128};
use crate::strategy::{Addressing, Point4};
use wire::checksum::Sum;
use wire::header::{self, PROTO_UDP, TCP, be16, be32, word};

const L4_V4: usize = header::ETH + header::IPV4;
const L4_V6: usize = header::ETH + header::IPV6;
const GROWTH: usize = header::IPV6 - header::IPV4;

pub(super) struct Plan {
    /// Largest IPv4 packets forwarded whole, with DF and without.
    most_df: usize,
    most: usize,
    /// Largest payload of an IPv6 packet forwarded whole.
    most_payload: usize,
    /// Decrement of the time to live, and its minimum before that.
    hop: u8,
    least: u8,
    class: Octet,
    tos: Octet,
    own4: u32,
    own6: u128,
    simple: bool,
    intrinsic: bool,
}

/// An octet as two masks.
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
            most: v6.min(c.headers.lowest_ipv6_mtu.into()) - GROWTH,
            most_payload: v4 - header::IPV4,
            hop: c.hop.into(),
            least: 1 + u8::from(c.hop),
            class: Octet::new(c.headers.traffic_class),
            tos: Octet::new(c.headers.tos),
            own4: c.v4.address.into(),
            own6: c.v6.address.to_bits(),
            simple: c.hairpinning == Hairpinning::Simple,
            intrinsic: c.hairpinning == Hairpinning::Intrinsic,
        }
    }
}

impl<A: Addressing> Translate<A> {
    /// Translates a batch over IPv4 (`SIX` false) or IPv6.
    #[inline]
    pub(super) fn batch<const SIX: bool, P: Packet>(
        &mut self,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut dyn Spare<P>,
    ) {
        debug_assert!(batch.len() <= BATCH);
        for p in batch.iter() {
            if let Some(first) = p.bytes().first() {
                arena::prefetch_to_write(first);
                if !SIX {
                    // Where the longer header will begin.
                    arena::prefetch_beside(first, -GROWTH.cast_signed());
                }
            }
        }
        // The compiler removes this loop if the strategy prefetches nothing.
        for p in batch.iter() {
            if SIX {
                self.peek6(p.bytes());
            } else {
                self.peek4(p.bytes());
            }
        }
        let (from, mut done) = (if SIX { self.config.ipv6 } else { self.config.ipv6.other() }, 0);
        for (p, v) in batch.iter_mut().zip(verdicts.iter_mut()) {
            let fast = if SIX { self.fast_to_ipv4(p) } else { self.fast_to_ipv6(p) };
            done += u64::from(fast);
            *v = if fast { Verdict::Forward(from.other()) } else { self.slow(from, p, spare) };
        }
        self.count.add_many(if SIX { Event::ToIpv4 } else { Event::ToIpv6 }, done);
    }

    #[inline(always)]
    fn peek4(&self, b: &[u8]) {
        if let Some(h) = b.first_chunk::<{ L4_V4 + 8 }>() {
            let (src_end, dst_end) = roles(self.config.ipv6.other());
            self.addressing.prefetch_ipv4(src_end, Point4 { addr: be32(h, 26), port: Some(be16(h, 34)) });
            self.addressing.prefetch_ipv4(dst_end, Point4 { addr: be32(h, 30), port: Some(be16(h, 36)) });
        }
    }

    #[inline(always)]
    fn peek6(&self, b: &[u8]) {
        if let Some(h) = b.first_chunk::<L4_V6>() {
            let (src_end, dst_end) = roles(self.config.ipv6);
            self.addressing.prefetch_ipv6(src_end, be128(h, 22));
            self.addressing.prefetch_ipv6(dst_end, be128(h, 38));
        }
    }

    /// Translates a packet; false, with nothing changed, for the slow path.
    #[inline(always)]
    fn fast_to_ipv6<P: Packet>(&mut self, p: &mut P) -> bool {
        let b = p.bytes();
        let Some(h) = b.first_chunk::<{ L4_V4 + 8 }>() else { return false };
        let (tos, total, ttl, protocol) = (h[15], be16(h, 16) as usize, h[22], h[23]);
        let (src4, dst4) = (be32(h, 26), be32(h, 30));
        let most = if h[20] & 0x40 != 0 { self.plan.most_df } else { self.plan.most };
        let right = self.v4.own.receives(h)
            && be32(h, 12) >> 8 == 0x8_0045
            && be16(h, 20) & 0xbfff == 0
            && ttl >= self.plan.least
            && total + header::ETH <= b.len()
            && total <= most
            && transport::<L4_V4>(h, protocol, total.wrapping_sub(header::IPV4))
            && Sum::default()
                .word(word(h, 14))
                .word(word(h, 26))
                .half(u32::from_ne_bytes([h[22], h[23], h[24], h[25]]))
                .is_valid()
            && is_ordinary(src4)
            && is_ordinary(dst4)
            && dst4 != self.plan.own4
            && src4 != self.plan.own4
            && !self.plan.simple;
        if !right {
            return false;
        }
        let Some(field) = checksum::<L4_V4>(b, protocol) else { return false };
        let (src_end, dst_end) = roles(self.config.ipv6.other());
        let Ok(dst) = self.addressing.to_ipv6(dst_end, Point4 { addr: dst4, port: Some(be16(h, 36)) }) else {
            return false;
        };
        let Ok(src) = self.addressing.to_ipv6(src_end, Point4 { addr: src4, port: Some(be16(h, 34)) }) else {
            return false;
        };
        let (len, payload) = (b.len(), (total - header::IPV4) as u64);
        if !p.grow_front(GROWTH) {
            return false;
        }
        if len - header::ETH != total {
            // Removes padding.
            p.set_len(total + header::ETH + GROWTH);
        }
        let class = u64::from(self.plan.class.apply(tos));
        let first = 6 << 60 | class << 52 | payload << 16 | u64::from(protocol) << 8 | u64::from(ttl - self.plan.hop);
        let sum = moved(field, protocol, pair4(src4, dst4), pair6(src, dst));
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<{ L4_V6 + 8 }>() else { return false };
        h[..12].copy_from_slice(&self.v6.leaving);
        h[12..14].copy_from_slice(&header::TYPE_IPV6.to_be_bytes());
        h[14..22].copy_from_slice(&first.to_be_bytes());
        put128(h, 22, src);
        put128(h, 38, dst);
        put_checksum::<L4_V6>(b, protocol, sum);
        true
    }

    /// Translates a packet; false, with nothing changed, for the slow path.
    #[inline(always)]
    fn fast_to_ipv4<P: Packet>(&mut self, p: &mut P) -> bool {
        let b = p.bytes();
        let Some(h) = b.first_chunk::<{ L4_V6 + 8 }>() else { return false };
        let (version, payload) = (be32(h, 12), be16(h, 18) as usize);
        let (protocol, hop_limit) = (h[20], h[21]);
        let (src6, dst6) = (be128(h, 22), be128(h, 38));
        let right = self.v6.own.receives(h)
            && version >> 12 == 0x8_6dd6
            && hop_limit >= self.plan.least
            && payload + L4_V6 <= b.len()
            && payload <= self.plan.most_payload
            && transport::<L4_V6>(h, protocol, payload)
            && is_common(src6)
            && is_common(dst6)
            && differ(dst6, self.plan.own6)
            && differ(src6, self.plan.own6);
        if !right {
            return false;
        }
        let Some(field) = checksum::<L4_V6>(b, protocol) else { return false };
        let (src_port, dst_port) = (be16(h, L4_V6), be16(h, L4_V6 + 2));
        let (src_end, dst_end) = roles(self.config.ipv6);
        let Ok(dst) = self.addressing.to_ipv4(dst_end, dst6, Some(dst_port)) else { return false };
        if !is_ordinary(dst) {
            return false;
        }
        let Ok(src) = self.addressing.to_ipv4(src_end, src6, Some(src_port)) else { return false };
        let turns = self.plan.intrinsic && self.addressing.turned(dst6, src, dst).is_some();
        if !is_ordinary(src) || turns || self.comes_back(dst) {
            return false;
        }
        let (len, end) = (b.len(), L4_V4 + payload);
        if !p.shrink_front(GROWTH) {
            return false;
        }
        let class = (be16(&version.to_be_bytes(), 2) >> 4) as u8;
        let total = (payload + header::IPV4) as u64;
        let df = u64::from(total > 1260) << 14;
        let id = u64::from(self.next_identification());
        let tos = u64::from(self.plan.tos.apply(class));
        let first = 0x45 << 56 | tos << 48 | total << 32 | id << 16 | df;
        let hops = u64::from(hop_limit - self.plan.hop) << 8 | u64::from(protocol);
        let pair = pair4(src, dst);
        let sum = !Sum(pair + hops + (first >> 32) + (first & 0xffff_ffff)).fold();
        let field = moved(field, protocol, pair6(src6, dst6), pair);
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<{ L4_V4 + 8 }>() else { return false };
        h[..12].copy_from_slice(&self.v4.leaving);
        h[12..14].copy_from_slice(&header::TYPE_IPV4.to_be_bytes());
        h[14..22].copy_from_slice(&first.to_be_bytes());
        h[22..26].copy_from_slice(&((hops << 16) as u32 | u32::from(sum)).to_be_bytes());
        h[26..34].copy_from_slice(&(u64::from(src) << 32 | u64::from(dst)).to_be_bytes());
        put_checksum::<L4_V4>(b, protocol, field);
        len - GROWTH == end && end >= LEAST_FRAME || finish(p, end).is_ok()
    }
}

/// Whether addresses differ; usually one comparison decides.
#[inline(always)]
fn differ(a: u128, b: u128) -> bool {
    a as u64 != b as u64 || a >> 64 != b >> 64
}

/// UDP with a checksum, or TCP, not longer than the payload.
#[inline(always)]
fn transport<const L4: usize>(h: &[u8], protocol: u8, payload: usize) -> bool {
    if protocol == PROTO_UDP {
        let len = be16(h, L4 + 4) as usize;
        len >= header::UDP && len <= payload && be16(h, L4 + 6) != 0 && u16::try_from(payload).is_ok()
    } else {
        protocol == TCP && (20..=usize::from(u16::MAX)).contains(&payload)
    }
}

#[inline(always)]
fn checksum<const L4: usize>(b: &[u8], protocol: u8) -> Option<u16> {
    let at = if protocol == PROTO_UDP { L4 + 6 } else { L4 + 16 };
    (b.len() >= at + 2).then(|| be16(b, at))
}

#[inline(always)]
fn put_checksum<const L4: usize>(b: &mut [u8], protocol: u8, field: u16) {
    let at = if protocol == PROTO_UDP { L4 + 6 } else { L4 + 16 };
    if let Some(place) = b.get_mut(at..at + 2) {
        place.copy_from_slice(&field.to_be_bytes());
    }
}

/// A ones' complement sum is independent of byte order and word size.
#[inline(always)]
fn pair4(src: u32, dst: u32) -> u64 {
    u64::from(src) + u64::from(dst)
}

/// Carries are added at the other end.
#[inline(always)]
fn pair6(src: u128, dst: u128) -> u64 {
    let (sum, carry) = src.overflowing_add(dst);
    let (sum, more) = ((sum >> 64) as u64).overflowing_add(sum as u64);
    // Folded, so that carries cannot overflow.
    u64::from(Sum(sum).fold()) + u64::from(carry) + u64::from(more)
}

/// After the addresses summed in `old` became those in `new`; UDP's zero becomes all ones.
#[inline(always)]
fn moved(field: u16, protocol: u8, old: u64, new: u64) -> u16 {
    let sum = !Sum(u64::from(!field) + u64::from(!Sum(old).fold()) + new).fold();
    if sum == 0 && protocol == PROTO_UDP { 0xffff } else { sum }
}
