//! The fast path: ordinary UDP and TCP packets, a batch at a time in two stages, so that the cache
//! misses of 32 look-ups overlap. All others take the slow path, which alone knows drop reasons.

use super::{L3, OVERHEAD, Tunnel, address};
use crate::event::Event;
use crate::function::{BATCH, LEAST_FRAME, Packet, Spare, Verdict};
use crate::ip4::is_ordinary;
use crate::ip6::{be128, is_common, next};
use crate::strategy::{Point4, Softwires};
use wire::checksum::Sum;
use wire::header::{self, PROTO_UDP, TCP, be16, be32, word};

/// Lengths up to UDP's end, outside and inside a tunnel.
const PLAIN: usize = L3 + header::IPV4 + header::UDP;
const WRAPPED: usize = PLAIN + OVERHEAD;

/// Results of the first stage, for each packet, as columns.
struct Work {
    ends: [u64; BATCH],
    ports: [u32; BATCH],
    /// Places from the strategy's first step.
    place: [u32; BATCH],
    /// A bit for each packet of the fast path.
    plain: u32,
}

impl Work {
    #[inline(always)]
    fn new() -> Work {
        Work { ends: [0; BATCH], ports: [0; BATCH], place: [0; BATCH], plain: 0 }
    }
}

#[inline(always)]
fn points(ends: u64, ports: u32) -> [Point4; 2] {
    let src = Point4 { addr: (ends >> 32) as u32, port: Some((ports >> 16) as u16) };
    [src, Point4 { addr: ends as u32, port: Some(ports as u16) }]
}

impl<S: Softwires> Tunnel<S> {
    #[inline]
    pub(super) fn batch_in<P: Packet>(&mut self, batch: &mut [P], v: &mut [Verdict], spare: &mut dyn Spare<P>) {
        // With room for one more header in front.
        bring_closer(batch, PLAIN.cast_signed() - 1);
        bring_closer(batch, -OVERHEAD.cast_signed());
        let n = batch.len().min(v.len()).min(BATCH);
        let mut w = Work::new();
        for (i, p) in batch[..n].iter().enumerate() {
            if let Some((ends, ports)) = self.plain4(p.bytes()) {
                let (customer, _) = self.ends_in(points(ends, ports));
                (w.ends[i], w.ports[i], w.place[i]) = (ends, ports, self.softwires.seek_wrap(customer));
                w.plain |= 1 << i;
            }
        }
        let mut done = 0;
        for (i, (p, v)) in batch[..n].iter_mut().zip(v).enumerate() {
            if w.plain >> i & 1 == 1 {
                let (customer, remote) = self.ends_in(points(w.ends[i], w.ports[i]));
                if let Ok(wrap) = self.softwires.wrap_at(w.place[i], customer, remote)
                    && p.grow_front(OVERHEAD)
                {
                    self.enter(p, wrap.src, wrap.dst, customer.addr, wrap.customer);
                    *v = Verdict::Forward(self.config.ipv6);
                    done += 1;
                    continue;
                }
            }
            *v = self.slow_in(p, spare);
        }
        self.count.add_many(Event::ToIpv6, done);
    }

    #[inline]
    pub(super) fn batch_out<P: Packet>(&mut self, batch: &mut [P], v: &mut [Verdict], spare: &mut dyn Spare<P>) {
        bring_closer(batch, WRAPPED.cast_signed() - 1);
        let n = batch.len().min(v.len()).min(BATCH);
        let mut w = Work::new();
        for (i, p) in batch[..n].iter().enumerate() {
            if let Some((ends, ports, src)) = self.plain6(p.bytes()) {
                let (customer, _) = self.ends_out(points(ends, ports));
                (w.ends[i], w.ports[i], w.place[i]) = (ends, ports, self.softwires.seek_unwrap(src, customer));
                w.plain |= 1 << i;
            }
        }
        let mut done = 0;
        for (i, (p, v)) in batch[..n].iter_mut().zip(v).enumerate() {
            if w.plain >> i & 1 == 1
                && let Some(h) = p.bytes().first_chunk::<WRAPPED>()
            {
                let (customer, remote) = self.ends_out(points(w.ends[i], w.ports[i]));
                let (src, dst) = (be128(h, L3 + 8), be128(h, L3 + 24));
                if let Ok(address) = self.softwires.unwrap_at(w.place[i], src, dst, customer, remote)
                    && p.shrink_front(OVERHEAD)
                {
                    self.leave(p, customer.addr, address);
                    *v = Verdict::Forward(self.config.ipv6.other());
                    done += 1;
                    continue;
                }
            }
            *v = self.slow_out(p, spare);
        }
        self.count.add_many(Event::ToIpv4, done);
    }

    /// The packet may enter a tunnel without further checks.
    #[inline(always)]
    fn plain4(&self, b: &[u8]) -> Option<(u64, u32)> {
        let h = b.first_chunk::<PLAIN>()?;
        if !self.plan.v4.own.receives(h) || h[12] != 0x08 || h[13] != 0 {
            return None;
        }
        let ends = plain_inner(h, L3, self.plan.last_hop, self.plan.room.min(b.len() - L3))?;
        let own = u32::from(self.config.v4.address);
        (ends as u32 != own && (ends >> 32) as u32 != own).then(|| (ends, be32(h, L3 + header::IPV4)))
    }

    /// Inner words and the source of a tunnel packet, which may leave without further checks.
    #[inline(always)]
    fn plain6(&self, b: &[u8]) -> Option<(u64, u32, u128)> {
        let h = b.first_chunk::<WRAPPED>()?;
        let l3 = L3 + OVERHEAD;
        let payload = be16(h, L3 + 4) as usize;
        let start = [h[12], h[13], h[L3] & 0xf0, h[L3 + 6]];
        if !self.plan.v6.own.receives(h) || start != [0x86, 0xdd, 0x60, next::IPV4] || payload > b.len() - l3 {
            return None;
        }
        let ends = plain_inner(h, l3, self.plan.last_hop, payload.min(self.plan.mtu4))?;
        // The outer ECN field is Not-ECT or the inner one, so decapsulation changes nothing (RFC 6040, figure 4).
        let (outer, inner) = (h[L3 + 1] >> 4 & 3, h[l3 + 1] & 3);
        let src = be128(h, L3 + 8);
        let to = ends as u32;
        let right = (outer & 1 == 0 || outer == inner)
            && is_common(src)
            && to != u32::from(self.config.inner_address)
            && to != u32::from(self.config.v4.address)
            && !self.softwires.serves(to);
        right.then(|| (ends, be32(h, l3 + header::IPV4), src))
    }

    /// The frame has been grown at the front.
    #[inline(always)]
    fn enter<P: Packet>(&self, p: &mut P, src: u128, dst: u128, old: u32, new: u32) {
        let len = p.bytes().len();
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<WRAPPED>() else { return };
        let l3 = L3 + OVERHEAD;
        let total = be16(h, l3 + 2);
        let first = self.plan.first_word | u32::from(h[l3 + 1] & self.plan.copied) << 20;
        let first = if self.plan.hash_flows { first | self.flow_label(h, l3, true) } else { first };
        h[..L3].copy_from_slice(&self.plan.v6.leaving);
        let rest = u64::from(first) << 32 | u64::from(total) << 16 | u64::from(next::IPV4) << 8;
        h[L3..L3 + 8].copy_from_slice(&(rest | u64::from(self.config.outer.hop_limit)).to_be_bytes());
        h[L3 + 8..L3 + 24].copy_from_slice(&src.to_be_bytes());
        h[L3 + 24..L3 + 40].copy_from_slice(&dst.to_be_bytes());
        if old != new {
            address::replace_plain(b, l3, !self.plan.ce, new);
        }
        self.take_hop(b, l3);
        let end = l3 + usize::from(total);
        if len > end {
            p.set_len(end);
        }
    }

    /// Updates a packet whose outer header was removed.
    #[inline(always)]
    fn leave<P: Packet>(&self, p: &mut P, old: u32, new: u32) {
        let len = p.bytes().len();
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<PLAIN>() else { return };
        h[..L3].copy_from_slice(&self.plan.v4.leaving);
        let end = L3 + be16(h, L3 + 2) as usize;
        if old != new {
            address::replace_plain(b, L3, self.plan.ce, new);
        }
        self.take_hop(b, L3);
        if len > end || end < LEAST_FRAME {
            pad(p, end);
        }
    }

    /// Decrements the TTL, if this end does.
    #[inline(always)]
    pub(super) fn take_hop(&self, b: &mut [u8], l3: usize) {
        if self.plan.last_hop > 0 {
            // In a tunnel packet, a cache line ends between TTL and checksum.
            b[l3 + 8] = b[l3 + 8].wrapping_sub(1);
            // RFC 1624, equation 3: the old word's complement plus the new one is all ones less the hop.
            let sum = u32::from(u16::from_ne_bytes([b[l3 + 10], b[l3 + 11]]) ^ 0xffff) + LESS_HOP;
            let field = !((sum & 0xffff) + (sum >> 16)) as u16;
            b[l3 + 10..l3 + 12].copy_from_slice(&field.to_ne_bytes());
        }
    }

    /// A flow label by addresses, protocol, and ports if all packets of the flow have them. Never
    /// zero (RFC 6438, section 3).
    #[inline]
    pub(super) fn flow_label(&self, b: &[u8], l3: usize, ports: bool) -> u32 {
        let ports = if ports { be32(b, l3 + header::IPV4) } else { 0 };
        let hash = self.hasher.pair(word(b, l3 + 12), u64::from(ports) << 8 | u64::from(b[l3 + 9]));
        (hash >> 44) as u32 | 1
    }
}

/// Decrement in the word of TTL and protocol as in memory.
const LESS_HOP: u32 = 0xffff - u16::from_ne_bytes([1, 0]) as u32;
/// Version, header length, and no fragment, whatever DF.
const START_MASK: u64 = u64::from_ne_bytes([0xff, 0, 0, 0, 0, 0, 0xbf, 0xff]);
const START: u64 = u64::from_ne_bytes([0x45, 0, 0, 0, 0, 0, 0, 0]);

/// Words of an ordinary UDP or TCP packet at `l3` of at most `most` octets.
#[inline(always)]
fn plain_inner<const N: usize>(h: &[u8; N], l3: usize, last_hop: u8, most: usize) -> Option<u64> {
    let (start, addresses) = (word(h, l3), word(h, l3 + 12));
    let pair = |at: usize| u32::from(u16::from_ne_bytes([h[at], h[at + 1]]));
    let (ttl, protocol, total) = (h[l3 + 8], h[l3 + 9], be16(h, l3 + 2) as usize);
    let least = match protocol {
        PROTO_UDP => header::IPV4 + header::UDP,
        TCP => header::IPV4 + 20,
        _ => return None,
    };
    let ends = u64::from_be(addresses);
    let right = start & START_MASK == START
        && total >= least
        && total <= most
        && ttl > last_hop
        && Sum::default().word(start).word(addresses).half(pair(l3 + 8) + pair(l3 + 10)).is_valid()
        && is_ordinary((ends >> 32) as u32)
        && is_ordinary(ends as u32);
    right.then_some(ends)
}

/// Prefetches packets, and the line at an offset.
#[inline(always)]
fn bring_closer<P: Packet>(batch: &[P], offset: isize) {
    for p in batch {
        if let Some(first) = p.bytes().first() {
            arena::prefetch_to_write(first);
            arena::prefetch_beside(first, offset);
        }
    }
}

/// Pads a frame with zeros to the minimum length.
pub(super) fn pad<P: Packet>(p: &mut P, end: usize) {
    let len = end.max(LEAST_FRAME);
    if p.set_len(len) {
        p.bytes_mut()[end..len].fill(0);
    }
}
