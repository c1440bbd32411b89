//! The fast path: ordinary UDP and TCP packets, a batch at a time in stages, so that the cache
//! misses of 32 packets overlap. All others take the slow path, which alone knows drop reasons.

use super::core::Point;
use super::counters::Event;
use super::rewrite::{End, hop};
use super::session::{HAIRPIN, UNANSWERED, addr, endpoint, port};
use super::{Nat44, Workers, tcp};
use crate::function::{BATCH, Input, Packet, Side, Spare, Verdict};
use crate::ip4::is_ordinary;
use crate::original_id;
use crate::table::{Guess, Index, NONE};
use wire::checksum::Sum;
use wire::header::{self, be16, be32, word};

/// Sessions of a table of about 640 MB: beyond what a second-level TLB of 1,536 entries covers
/// beside frames, two indexes and a hypervisor's tables.
const FAR: u32 = 12 << 20;

/// Results of stages, for each packet, as columns.
pub(crate) struct Work {
    own: [u64; BATCH],
    remote: [u64; BATCH],
    hash: [u64; BATCH],
    /// Probable entries, or [`NONE`].
    entry: [u32; BATCH],
    plain: [bool; BATCH],
}

impl Work {
    #[inline(always)]
    pub(crate) fn new() -> Work {
        Work { own: [0; BATCH], remote: [0; BATCH], hash: [0; BATCH], entry: [NONE; BATCH], plain: [false; BATCH] }
    }

    #[inline(always)]
    pub(crate) fn is_plain(&self, i: usize) -> bool {
        self.plain[i]
    }
}

impl Nat44 {
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
        let mut w = Work::new();
        for (i, p) in batch.iter().enumerate() {
            if let Some((own, remote)) = self.parse::<OUT>(p.bytes()) {
                self.ask::<OUT>(&mut w, i, own, remote);
            }
        }
        self.look::<OUT>(&mut w, n);
        for (i, (p, v)) in batch.iter_mut().zip(verdicts.iter_mut()).enumerate() {
            *v = self.one::<OUT, P>(p, &w, i, spare);
        }
    }

    /// Whether the table is too large for the TLB. A prefetch then retires only after its page
    /// walk, and walks overlap only with few other instructions between them: prefetches need loops
    /// of their own.
    #[inline(always)]
    fn is_far(&self) -> bool {
        self.sessions.slab.capacity() > FAR
    }

    #[inline(always)]
    fn index<const OUT: bool>(&self) -> &Index {
        if OUT { &self.sessions.inner } else { &self.sessions.outer }
    }

    /// Asks for a session, and prefetches where it is looked up.
    #[inline(always)]
    pub(crate) fn ask<const OUT: bool>(&self, w: &mut Work, i: usize, own: u64, remote: u64) {
        let hash = self.hash(own, remote);
        (w.own[i], w.remote[i], w.hash[i], w.plain[i]) = (own, remote, hash, true);
        if !self.is_far() {
            self.index::<OUT>().prefetch(hash);
        }
    }

    /// Prefetches sessions, or the memory that opening them will touch.
    #[inline(always)]
    pub(crate) fn look<const OUT: bool>(&mut self, w: &mut Work, n: usize) {
        let (far, index) = (self.is_far(), self.index::<OUT>());
        if far {
            w.hash[..n].iter().for_each(|h| index.prefetch(*h));
        }
        let (mut unknown, mut further) = (0, 0u32);
        for i in (0..n).filter(|&i| w.plain[i]) {
            match index.guess(w.hash[i]) {
                Guess::Entry(e) => {
                    w.entry[i] = e;
                    if !far {
                        self.sessions.slab.prefetch(e);
                    }
                }
                Guess::Absent => unknown += 1,
                Guess::Further => further |= 1 << i,
            }
        }
        if far {
            w.entry[..n].iter().for_each(|e| self.sessions.slab.prefetch(*e));
        }
        while further != 0 {
            let i = further.trailing_zeros() as usize;
            further &= further - 1;
            match index.guess_further(w.hash[i]) {
                Guess::Entry(e) => {
                    w.entry[i] = e;
                    self.sessions.slab.prefetch(e);
                }
                Guess::Absent | Guess::Further => unknown += 1,
            }
        }
        if OUT && unknown > 0 {
            self.prepare_new(w, n);
        }
    }

    /// The session with the end point at the other side; `None` for the slow path.
    #[inline(always)]
    pub(crate) fn ordinary<const OUT: bool>(&self, w: &Work, i: usize) -> Option<(u32, Point)> {
        let (own, remote, guess) = (w.own[i], w.remote[i], w.entry[i]);
        let slab = &self.sessions.slab;
        let is = |e: u32| if OUT { slab[e].is_inner(own, remote) } else { slab[e].is_outer(own, remote) };
        let e = if guess != NONE && is(guess) { guess } else { self.index::<OUT>().find(w.hash[i], is)? };
        let s = &slab[e];
        let plain = !self.lifetimes.expired(s, self.tick) && s.flags() & slow_flags::<OUT>() == 0;
        plain.then(|| (e, Point::of(if OUT { s.outside } else { s.inside })))
    }

    /// The probable entry, only for prefetching.
    #[inline(always)]
    pub(crate) fn guessed<const OUT: bool>(&self, w: &Work, i: usize) -> u32 {
        let e = w.entry[i];
        if e == NONE {
            return 0;
        }
        let s = &self.sessions.slab[e];
        addr(if OUT { s.outside } else { s.inside })
    }

    #[inline(always)]
    pub(crate) fn passes<const OUT: bool>(&mut self, e: u32, tcp: bool, flags: u8) {
        if OUT || tcp || self.config.inbound_refresh {
            self.refresh(e, tcp, flags, OUT);
        }
    }

    /// Guesses what new sessions touch.
    fn prepare_new(&mut self, w: &Work, n: usize) {
        let new = || (0..n).filter(|&i| w.plain[i] && w.entry[i] == NONE);
        if let Some(m) = &self.mappings {
            new().for_each(|i| m.prefetch_bucket(w.own[i] & !self.aliases));
            new().for_each(|i| m.prefetch_entry(w.own[i] & !self.aliases));
        }
        let mut hashes = [0; BATCH];
        for i in new() {
            let known = self.mappings.as_ref().and_then(|m| m.guess(w.own[i] & !self.aliases));
            let outside = known.or_else(|| self.probable_outside(w.own[i], w.remote[i]));
            hashes[i] = outside.map_or(0, |o| self.hash(o, w.remote[i]));
        }
        for (k, i) in new().enumerate() {
            self.sessions.slab.prefetch_next(k as u32);
            self.sessions.outer.prefetch(hashes[i]);
        }
    }

    /// The end point has the protocol.
    #[inline(always)]
    fn parse<const OUT: bool>(&self, b: &[u8]) -> Option<(u64, u64)> {
        let h = b.first_chunk::<42>()?;
        let mac = self.links[usize::from(!OUT)].own;
        let total = be16(h, 16) as usize;
        let protocol = h[23];
        let l4 = if protocol == header::PROTO_UDP {
            let len = be16(h, 38) as usize;
            if len < header::UDP || len + header::IPV4 > total {
                return None;
            }
            header::UDP
        } else if protocol == header::TCP {
            20
        } else {
            return None;
        };
        let right = mac.receives(h)
            && h[12] == 0x08
            && h[13] == 0
            && h[14] == 0x45
            && h[20] & 0xbf == 0
            && h[21] == 0
            && h[22] > 1
            && total >= header::IPV4 + l4
            && total + header::ETH <= b.len()
            && total <= if OUT { self.mtu.internet } else { self.mtu.customer }
            && Sum::default()
                .word(word(h, 14))
                .word(word(h, 26))
                .half(u32::from_ne_bytes([h[22], h[23], h[24], h[25]]))
                .is_valid();
        if !right {
            return None;
        }
        let src = endpoint(be32(h, 26), be16(h, 34), 0);
        let dst = endpoint(be32(h, 30), be16(h, 36), 0);
        let (own, remote) = if OUT { (src, dst) } else { (dst, src) };
        Some((own | (protocol as u64) << 48, remote))
    }

    #[inline(always)]
    fn one<const OUT: bool, P: Packet>(&mut self, p: &mut P, w: &Work, i: usize, spare: &mut dyn Spare<P>) -> Verdict {
        if w.plain[i] {
            let (own, remote, e) = (w.own[i], w.remote[i], w.entry[i]);
            if e != NONE {
                let s = &self.sessions.slab[e];
                let hit = if OUT { s.is_inner(own, remote) } else { s.is_outer(own, remote) };
                if hit && !self.lifetimes.expired(s, self.tick) && s.flags() & slow_flags::<OUT>() == 0 {
                    return self.forward::<OUT>(p.bytes_mut(), e);
                }
            }
            if let Some(v) = self.not_at_first::<OUT>(p.bytes_mut(), own, remote, w.hash[i]) {
                return v;
            }
        }
        let from = if OUT { Side::Customer } else { Side::Internet };
        self.slow(from, p, spare)
    }

    fn not_at_first<const OUT: bool>(&mut self, b: &mut [u8], own: u64, remote: u64, hash: u64) -> Option<Verdict> {
        let found = if OUT { self.find_inner(hash, own, remote) } else { self.find_outer(hash, own, remote) };
        if let Some(e) = found {
            let plain = self.sessions.slab[e].flags() & slow_flags::<OUT>() == 0;
            return plain.then(|| self.forward::<OUT>(b, e));
        }
        // A held SYN must be removed by the slow path.
        let simple = OUT
            && b[23] == header::PROTO_UDP
            && self.owner_inside(own).is_none()
            && self.config.untranslated.is_empty()
            && port(own) != 0
            && self.is_inside(addr(own))
            && !self.is_side(addr(own))
            && is_ordinary(addr(remote))
            && !self.is_own(addr(remote));
        if !simple {
            return None;
        }
        let e = self.open_out(own, remote, 0).ok()?;
        Some(self.forward::<true>(b, e))
    }

    /// Forwards a packet that [`Self::parse`] has checked.
    #[inline(always)]
    fn forward<const OUT: bool>(&mut self, b: &mut [u8], e: u32) -> Verdict {
        if OUT && self.shared && b[20] & 0x40 == 0 {
            return self.forward_identified(b, e);
        }
        self.forward_as_it_is::<OUT>(b, e)
    }

    /// Separate, so that it costs other packets nothing.
    #[inline(never)]
    fn forward_identified(&mut self, b: &mut [u8], e: u32) -> Verdict {
        let old = original_id::identify(b, self.identifications.draw());
        let v = self.forward_as_it_is::<true>(b, e);
        if self.behind_is_a_half {
            original_id::keep(b, old);
        }
        v
    }

    #[inline(always)]
    fn forward_as_it_is<const OUT: bool>(&mut self, b: &mut [u8], e: u32) -> Verdict {
        let tick = self.tick;
        let refresh = OUT || self.config.inbound_refresh;
        let s = &mut self.sessions.slab[e];
        let (end, to, macs) = if OUT {
            (End::Source, s.outside, &self.links[1].leaving)
        } else {
            (End::Destination, s.inside, &self.links[0].leaving)
        };
        if b[23] == header::PROTO_UDP {
            if refresh && s.seen != tick {
                s.seen = tick;
            }
            if let Some(h) = b.first_chunk_mut::<42>() {
                hop(h, macs, end, to, true);
            }
        } else if let Some(h) = b.first_chunk_mut::<54>() {
            let (old, new) = (s.flags(), tcp::step(s.flags(), h[47], OUT, self.config.rfc6146));
            if s.seen != tick && (!self.config.rfc6146 || tcp::restarts(old, new, h[47])) {
                s.seen = tick;
            }
            if new != old {
                s.set_flags(new);
            }
            hop(h, macs, end, to, false);
        }
        self.count.add(if OUT { Event::In2Out } else { Event::Out2In });
        Verdict::Forward(if OUT { Side::Internet } else { Side::Customer })
    }
}

/// Hairpins and, from inside, a customer's first answer.
const fn slow_flags<const OUT: bool>() -> u8 {
    if OUT { HAIRPIN | UNANSWERED } else { HAIRPIN }
}

impl Workers {
    pub(super) fn is_alone(self) -> bool {
        self.count == 1
    }
}
