//! The fast path: UDP and TCP packets without anything unusual, a batch at a time in two stages, so that the cache misses
//! of 32 look-ups run side by side. Whatever is unusual goes, packet by packet and in order, to the slow path, which
//! knows all the reasons; the fast path knows none.

use super::head4::is_ordinary;
use super::{L3, OVERHEAD, Tunnel, address};
use crate::ends::{Point4, Softwires};
use crate::event::Event;
use crate::function::{BATCH, Packet, Spare, Verdict};
use crate::ip6::{be128, next};
use wire::checksum::Sum;
use wire::header::{self, PROTO_UDP, TCP, be16, be32, half, word};

/// The first six of eight bytes, as they lie in memory.
pub const MAC_MASK: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);
/// Headers of a plain frame up to the UDP header's end, outside and inside a tunnel.
const PLAIN: usize = L3 + header::IPV4 + header::UDP;
const WRAPPED: usize = PLAIN + OVERHEAD;
/// Smallest frame, without FCS.
pub const LEAST_FRAME: usize = 60;

/// What the first stage found out about each packet, as columns.
struct Work {
    customer: [Point4; BATCH],
    remote: [Point4; BATCH],
    /// A bit for each packet of the fast path.
    plain: u32,
}

impl Work {
    #[inline(always)]
    fn new() -> Work {
        let nobody = Point4 { addr: 0, port: None };
        Work { customer: [nobody; BATCH], remote: [nobody; BATCH], plain: 0 }
    }
}

impl<S: Softwires> Tunnel<S> {
    /// A batch from the IPv4 side, into tunnels.
    #[inline]
    pub(super) fn batch_in<P: Packet, Q: Spare<P>>(&mut self, batch: &mut [P], v: &mut [Verdict], spare: &mut Q) {
        bring_closer(batch);
        let n = batch.len().min(v.len()).min(BATCH);
        let mut w = Work::new();
        for (i, p) in batch[..n].iter().enumerate() {
            if let Some(points) = self.plain4(p.bytes()) {
                let (customer, remote) = self.ends_in(points);
                self.softwires.prefetch_wrap(customer);
                (w.customer[i], w.remote[i]) = (customer, remote);
                w.plain |= 1 << i;
            }
        }
        for (i, (p, v)) in batch[..n].iter_mut().zip(v).enumerate() {
            *v = if w.plain >> i & 1 == 1
                && let Ok(wrap) = self.softwires.wrap(w.customer[i], w.remote[i])
                && p.grow_front(OVERHEAD)
            {
                self.enter(p, wrap.src, wrap.dst, w.customer[i].addr, wrap.customer)
            } else {
                self.slow_in(p, spare)
            };
        }
    }

    /// A batch from the IPv6 side, out of tunnels.
    #[inline]
    pub(super) fn batch_out<P: Packet, Q: Spare<P>>(&mut self, batch: &mut [P], v: &mut [Verdict], spare: &mut Q) {
        bring_closer(batch);
        let n = batch.len().min(v.len()).min(BATCH);
        let mut w = Work::new();
        for (i, p) in batch[..n].iter().enumerate() {
            if let Some(points) = self.plain6(p.bytes()) {
                let (customer, remote) = self.ends_out(points);
                self.softwires.prefetch_unwrap(be128(p.bytes(), L3 + 8), customer);
                (w.customer[i], w.remote[i]) = (customer, remote);
                w.plain |= 1 << i;
            }
        }
        for (i, (p, v)) in batch[..n].iter_mut().zip(v).enumerate() {
            let b = p.bytes();
            *v = if w.plain >> i & 1 == 1
                && let (src, dst) = (be128(b, L3 + 8), be128(b, L3 + 24))
                && let Ok(customer) = self.softwires.unwrap(src, dst, w.customer[i], w.remote[i])
                && p.shrink_front(OVERHEAD)
            {
                self.leave(p, w.customer[i].addr, customer)
            } else {
                self.slow_out(p, spare)
            };
        }
    }

    /// Source and destination of a packet that may enter a tunnel without further questions.
    #[inline(always)]
    fn plain4(&self, b: &[u8]) -> Option<[Point4; 2]> {
        let h = b.first_chunk::<PLAIN>()?;
        let total = be16(h, L3 + 2) as usize;
        let own = u32::from(self.config.v4.address);
        let points = plain_inner(h, L3, total)?;
        let right = (word(h, 0) & MAC_MASK == self.v4.own)
            & (h[12] == 0x08)
            & (h[13] == 0)
            & (h[L3 + 8] > self.last_hop)
            & (total + L3 <= b.len())
            & (total <= self.room)
            & (points[1].addr != own);
        right.then_some(points)
    }

    /// Source and destination inside a tunnel packet that may leave it without further questions.
    #[inline(always)]
    fn plain6(&self, b: &[u8]) -> Option<[Point4; 2]> {
        let h = b.first_chunk::<WRAPPED>()?;
        let l3 = L3 + OVERHEAD;
        let (payload, total) = (be16(h, L3 + 4) as usize, be16(h, l3 + 2) as usize);
        let points = plain_inner(h, l3, total)?;
        let (outer, inner) = (h[L3 + 1] >> 4 & 3, h[l3 + 1] & 3);
        let src = word(h, L3 + 8);
        let right = (word(h, 0) & MAC_MASK == self.v6.own)
            & (h[12] == 0x86)
            & (h[13] == 0xdd)
            & (h[L3] >> 4 == 6)
            & (h[L3 + 6] == next::IPV4)
            & (h[L3 + 8] != 0xff)
            & (src != 0)
            & (h[l3 + 8] > self.last_hop)
            & (total <= payload)
            & (payload + l3 <= b.len())
            & (total <= self.mtu4)
            // Outside nothing, or nothing else than inside, is said about congestion (RFC 6040, figure 4).
            & ((outer & 1 == 0) | (outer == inner))
            & (points[1].addr != u32::from(self.config.inner_address))
            & (points[1].addr != u32::from(self.config.v4.address));
        (right && !self.softwires.serves(points[1].addr)).then_some(points)
    }

    /// The last stage of a packet into a tunnel, which has been grown at the front.
    #[inline(always)]
    fn enter<P: Packet>(&mut self, p: &mut P, src: u128, dst: u128, old: u32, new: u32) -> Verdict {
        let len = p.bytes().len();
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<WRAPPED>() else { return Verdict::Drop };
        let l3 = L3 + OVERHEAD;
        let total = be16(h, l3 + 2);
        let first = self.first_word | u32::from(h[l3 + 1] & self.copied) << 20;
        let first = if self.hash_flows { first | self.flow_label(h, l3, true) } else { first };
        h[..L3].copy_from_slice(&self.v6.leaving);
        let rest = u64::from(first) << 32 | u64::from(total) << 16 | u64::from(next::IPV4) << 8;
        h[L3..L3 + 8].copy_from_slice(&(rest | u64::from(self.config.hop_limit)).to_be_bytes());
        h[L3 + 8..L3 + 24].copy_from_slice(&src.to_be_bytes());
        h[L3 + 24..L3 + 40].copy_from_slice(&dst.to_be_bytes());
        if old != new {
            address::replace_plain(b, l3, !self.ce, new);
        }
        self.take_hop(b, l3);
        let end = l3 + usize::from(total);
        if len > end {
            p.set_len(end);
        }
        self.count.add(Event::ToIpv6);
        Verdict::Forward(self.config.ipv6)
    }

    /// The last stage of a packet out of a tunnel, whose outer header has been taken off.
    #[inline(always)]
    fn leave<P: Packet>(&mut self, p: &mut P, old: u32, new: u32) -> Verdict {
        let len = p.bytes().len();
        let b = p.bytes_mut();
        let Some(h) = b.first_chunk_mut::<PLAIN>() else { return Verdict::Drop };
        h[..L3].copy_from_slice(&self.v4.leaving);
        let end = L3 + be16(h, L3 + 2) as usize;
        if old != new {
            address::replace_plain(b, L3, self.ce, new);
        }
        self.take_hop(b, L3);
        if len > end || end < LEAST_FRAME {
            pad(p, end);
        }
        self.count.add(Event::ToIpv4);
        Verdict::Forward(self.config.ipv6.other())
    }

    /// Take one off the TTL of the header at `l3`, if this end does.
    #[inline(always)]
    pub(super) fn take_hop(&self, b: &mut [u8], l3: usize) {
        if self.last_hop > 0 {
            let old = half(b, l3 + 8);
            let [ttl, protocol, c0, c1] = old.to_ne_bytes();
            let pair = |t: u8| u64::from(u16::from_ne_bytes([t, protocol]));
            let field = u64::from(u16::from_ne_bytes([c0, c1]));
            let sum = Sum((field ^ 0xffff) + (pair(ttl) ^ 0xffff) + pair(ttl.wrapping_sub(1))).checksum();
            b[l3 + 8..l3 + 12].copy_from_slice(&[ttl.wrapping_sub(1), protocol, sum[0], sum[1]]);
        }
    }

    /// A flow label from the packet at `l3`: addresses and protocol, and ports where all packets of the flow have them. Never zero
    /// (RFC 6438, section 3).
    #[inline]
    pub(super) fn flow_label(&self, b: &[u8], l3: usize, ports: bool) -> u32 {
        let ports = if ports { be32(b, l3 + header::IPV4) } else { 0 };
        let hash = self.hasher.pair(word(b, l3 + 12), u64::from(ports) << 8 | u64::from(b[l3 + 9]));
        (hash >> 44) as u32 | 1
    }
}

/// Source and destination of the IPv4 packet at `l3`, of `total` octets, if it is UDP or TCP without anything unusual.
#[inline(always)]
fn plain_inner<const N: usize>(h: &[u8; N], l3: usize, total: usize) -> Option<[Point4; 2]> {
    let protocol = h[l3 + 9];
    let least = header::IPV4 + if protocol == TCP { 20 } else { header::UDP };
    let (src, dst) = (be32(h, l3 + 12), be32(h, l3 + 16));
    let right = ((protocol == PROTO_UDP) | (protocol == TCP))
        & (h[l3] == 0x45)
        & (h[l3 + 6] & 0xbf == 0)
        & (h[l3 + 7] == 0)
        & (total >= least)
        & is_ordinary(src)
        & is_ordinary(dst)
        & Sum::default().word(word(h, l3)).word(word(h, l3 + 12)).half(half(h, l3 + 8)).is_valid();
    right.then(|| {
        let at = l3 + header::IPV4;
        [Point4 { addr: src, port: Some(be16(h, at)) }, Point4 { addr: dst, port: Some(be16(h, at + 2)) }]
    })
}

#[inline(always)]
fn bring_closer<P: Packet>(batch: &[P]) {
    for p in batch {
        if let Some(first) = p.bytes().first() {
            arena::prefetch(first);
        }
    }
}

/// End a frame where its packet ends, but not before the least length of a frame: zeros stand behind.
pub fn pad<P: Packet>(p: &mut P, end: usize) {
    let len = end.max(LEAST_FRAME);
    if p.set_len(len) {
        p.bytes_mut()[end..len].fill(0);
    }
}
