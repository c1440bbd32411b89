//! The fast path: whole UDP, TCP and echo packets without extension headers of established
//! sessions, a batch at a time in stages, so that the cache misses of 32 packets overlap. All
//! others take the slow path, which alone knows drop reasons.

use super::Nat66;
use super::config::{Config, POOL};
use super::event::Event;
use super::rewrite::{End, hop};
use crate::function::{BATCH, Input, Packet, Side, Spare, Verdict};
use crate::icmp_type::v6 as icmp;
use crate::ip6::{be128, is_common};
use crate::nat44::core::Point;
use crate::nat44::fast::Work;
use crate::table::NONE;
use wire::header::{self, ICMP, ICMPV6, PROTO_UDP, TCP, be16, be32};

/// Offset of the transport header.
const L4: usize = header::ETH + header::IPV6;
const LEAST: usize = L4 + 8;

pub(super) struct Plan {
    own: [u128; 2],
    pool: u128,
    pool_mask: u128,
    to_customer: usize,
    to_internet: usize,
}

impl Plan {
    pub(super) fn new(c: &Config) -> Plan {
        Plan {
            own: [c.customer.address.to_bits(), c.internet.address.to_bits()],
            pool: c.pool.prefix().first(),
            pool_mask: c.pool.prefix().mask(),
            to_customer: c.customer.mtu.into(),
            to_internet: c.internet.mtu.into(),
        }
    }

    #[inline(always)]
    fn in_pool(&self, a: u128) -> bool {
        (a ^ self.pool) & self.pool_mask == 0
    }

    /// Ordinary, and not the gateway's own.
    #[inline(always)]
    fn is_others(&self, a: u128) -> bool {
        is_common(a) && a != self.own[0] && a != self.own[1]
    }
}

/// One dictionary's answers.
struct Names {
    hash: [u64; BATCH],
    /// A guess at first; [`NONE`] without one.
    entry: [u32; BATCH],
}

impl Names {
    #[inline(always)]
    fn new() -> Names {
        Names { hash: [0; BATCH], entry: [NONE; BATCH] }
    }
}

impl Nat66 {
    /// Processes packets from the customers (`OUT`) or the Internet.
    #[inline]
    pub(super) fn batch<const OUT: bool, P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { packets: batch, verdicts, .. } = input;
        for p in batch.iter() {
            if let Some(first) = p.bytes().first() {
                arena::prefetch_to_write(first);
            }
        }
        let n = batch.len().min(verdicts.len()).min(BATCH);
        let (batch, verdicts) = (&mut batch[..n], &mut verdicts[..n]);
        let (mut customers, mut remotes, mut w) = (Names::new(), Names::new(), Work::new());
        let mut plain = 0u32;
        for (i, p) in batch.iter().enumerate() {
            let b = p.bytes();
            if self.is_plain::<OUT>(b) {
                plain |= 1 << i;
                if OUT {
                    customers.hash[i] = self.customers.ask(be128(b, 22));
                }
                remotes.hash[i] = self.remotes.ask(be128(b, if OUT { 38 } else { 22 }));
            }
        }
        for i in bits(plain) {
            if OUT {
                customers.entry[i] = self.customers.guess(customers.hash[i]);
            }
            remotes.entry[i] = self.remotes.guess(remotes.hash[i]);
        }
        for i in bits(plain) {
            self.ask::<OUT>(batch[i].bytes(), i, &mut customers, &mut remotes, &mut w);
        }
        self.nat.look::<OUT>(&mut w, n);
        if !OUT {
            for i in bits(plain).filter(|&i| w.is_plain(i)) {
                self.customers.prefetch_number(self.nat.guessed::<false>(&w, i));
            }
        }
        let (from, mut done) = (if OUT { Side::Customer } else { Side::Internet }, 0);
        for (i, (p, v)) in batch.iter_mut().zip(verdicts.iter_mut()).enumerate() {
            let fast = w.is_plain(i) && self.forward::<OUT>(p.bytes_mut(), i, &w);
            done += u64::from(fast);
            *v = if fast {
                if OUT {
                    self.customers.touch(customers.entry[i]);
                    self.remotes.touch(remotes.entry[i]);
                }
                Verdict::Forward(from.other())
            } else {
                self.one::<P, P>(from, p, spare)
            };
        }
        self.count.add_many(if OUT { Event::In2Out } else { Event::Out2In }, done);
    }

    #[inline(always)]
    fn is_plain<const OUT: bool>(&self, b: &[u8]) -> bool {
        let Some(h) = b.first_chunk::<LEAST>() else { return false };
        let (payload, protocol) = (be16(h, 18) as usize, h[20]);
        let whole = match protocol {
            PROTO_UDP => (header::UDP..=payload).contains(&be16(h, L4 + 4).into()),
            TCP => payload >= 20,
            ICMPV6 => payload >= 8 && h[L4] == if OUT { icmp::ECHO } else { icmp::ECHO_REPLY },
            _ => false,
        };
        let (plan, link) = (&self.plan, &self.links[usize::from(!OUT)]);
        let (src, dst) = (be128(h, 22), be128(h, 38));
        whole
            && link.own.receives(h)
            && be32(h, 12) >> 12 == 0x8_6dd6
            && h[21] > 1
            && payload + L4 <= b.len()
            && payload + header::IPV6 <= if OUT { plan.to_internet } else { plan.to_customer }
            && plan.is_others(src)
            && plan.is_others(dst)
            && !plan.in_pool(src)
            && plan.in_pool(dst) != OUT
            && !self.is_marked(h)
            && (!OUT || self.config.inside.is_empty() || self.config.inside.iter().any(|p| p.contains(src)))
    }

    /// Asks for the session between the numbers of both ends. A customer with a number belongs to
    /// this worker, and so does the outside port of a session.
    #[inline(always)]
    fn ask<const OUT: bool>(&self, b: &[u8], i: usize, customers: &mut Names, remotes: &mut Names, w: &mut Work) {
        let (src, dst) = (be128(b, 22), be128(b, 38));
        let key = if OUT { dst } else { src };
        let Some(e) = self.remotes.entry(key, remotes.hash[i], remotes.entry[i]) else { return };
        remotes.entry[i] = e;
        let remote = self.remotes.number_of(e);
        let own = if OUT {
            let Some(e) = self.customers.entry(src, customers.hash[i], customers.entry[i]) else { return };
            customers.entry[i] = e;
            self.customers.number_of(e)
        } else {
            u32::from(POOL) | (dst & !self.plan.pool_mask) as u32
        };
        let (protocol, ports) = match b[20] {
            ICMPV6 => (ICMP, [be16(b, L4 + 4); 2]),
            protocol => (protocol, [be16(b, L4), be16(b, L4 + 2)]),
        };
        let [near, far] = if OUT { ports } else { [ports[1], ports[0]] };
        let own = Point { addr: own, port: near }.own(protocol);
        self.nat.ask::<OUT>(w, i, own, Point { addr: remote, port: far }.remote(protocol));
    }

    /// Forwards a packet; false, with nothing changed, for the slow path.
    #[inline(always)]
    fn forward<const OUT: bool>(&mut self, b: &mut [u8], i: usize, w: &Work) -> bool {
        let Some((e, point)) = self.nat.ordinary::<OUT>(w, i) else { return false };
        let new = if OUT {
            self.config.pool.nth(point.addr.wrapping_sub(POOL.into()))
        } else {
            self.customers.customer(point.addr)
        };
        let Some(new) = new else { return false };
        let (end, to) = if OUT { (End::Source, Side::Internet) } else { (End::Destination, Side::Customer) };
        let (protocol, macs) = (b[20], &self.links[usize::from(to == Side::Internet)].leaving);
        if protocol == TCP {
            let Some(h) = b.first_chunk_mut::<{ L4 + 20 }>() else { return false };
            let flags = h[L4 + 13];
            if OUT {
                hop::<_, L4, { L4 + 16 }>(h, macs, end, new, point.port, false);
            } else {
                hop::<_, { L4 + 2 }, { L4 + 16 }>(h, macs, end, new, point.port, false);
            }
            self.nat.passes::<OUT>(e, true, flags);
            return true;
        }
        let Some(h) = b.first_chunk_mut::<LEAST>() else { return false };
        match protocol {
            PROTO_UDP if OUT => hop::<_, L4, { L4 + 6 }>(h, macs, end, new, point.port, true),
            PROTO_UDP => hop::<_, { L4 + 2 }, { L4 + 6 }>(h, macs, end, new, point.port, true),
            _ => hop::<_, { L4 + 4 }, { L4 + 2 }>(h, macs, end, new, point.port, false),
        }
        self.nat.passes::<OUT>(e, false, 0);
        true
    }
}

#[inline(always)]
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros();
        (set != 0).then(|| {
            set &= set - 1;
            bit as usize % BATCH
        })
    })
}

#[cfg(test)]
mod tests;
