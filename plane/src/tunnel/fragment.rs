//! Writes the outer header and fragments packets that are too large, as IPv6 (RFC 8200, section
//! 4.5) or inside as IPv4 (RFC 791, section 3.2). The packet becomes the first fragment; the others
//! are emitted.

use super::{L3, OVERHEAD, Tunnel};
use crate::event::Event;
use crate::fragment_v4::Cut;
use crate::function::{LEAST_FRAME, Packet, Spare};
use crate::ip6::{next, put128};
use crate::strategy::Softwires;
use wire::header::{IPV6, put16, put32};

const FRAGMENT: usize = 8;

impl<S: Softwires> Tunnel<S> {
    /// Version, traffic class and flow label.
    pub(super) fn first_word_for(&self, b: &[u8], l3: usize, ports: bool) -> u32 {
        let first = self.plan.first_word | u32::from(b[l3 + 1] & self.plan.copied) << 20;
        if self.plan.hash_flows { first | self.flow_label(b, l3, ports) } else { first }
    }

    /// Writes the outer header for an IPv4 packet of `total` octets.
    pub(super) fn outer_header(&self, b: &mut [u8], first: u32, total: u16, src: u128, dst: u128) {
        b[..L3].copy_from_slice(&self.plan.v6.leaving);
        put32(b, L3, first);
        put16(b, L3 + 4, total);
        b[L3 + 6] = next::IPV4;
        b[L3 + 7] = self.config.outer.hop_limit;
        put128(b, L3 + 8, src);
        put128(b, L3 + 24, dst);
    }

    pub(super) fn cut6<F: Packet, P: Packet>(&mut self, p: &mut F, spare: &mut dyn Spare<P>) -> Result<(), Event> {
        let mtu = self.plan.mtu6;
        let at = L3 + IPV6;
        let piece = (mtu - IPV6 - FRAGMENT) & !7;
        let id = self.identification();
        let payload = p.bytes().len() - at;
        let mut done = piece;
        while done < payload {
            let n = piece.min(payload - done);
            let len = at + FRAGMENT + n;
            let mut q = spare.fresh(len).filter(|q| q.bytes().len() == len).ok_or(Event::NoMemory)?;
            let (b, o) = (p.bytes(), q.bytes_mut());
            o[..at].copy_from_slice(&b[..at]);
            o[at + FRAGMENT..].copy_from_slice(&b[at + done..at + done + n]);
            finish6(o, done as u16 | u16::from(done + n < payload), id);
            spare.emit(self.config.ipv6, q);
            done += n;
        }
        if !p.grow_front(FRAGMENT) || !p.set_len(at + FRAGMENT + piece) {
            return Err(Event::NoMemory);
        }
        let b = p.bytes_mut();
        b.copy_within(FRAGMENT..FRAGMENT + at, 0);
        finish6(b, 1, id);
        self.count.add(Event::Fragmented);
        Ok(())
    }

    /// Fragments an IPv4 packet; with `outer` (first word, source, destination) each fragment is encapsulated.
    pub(super) fn cut4<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        mtu: usize,
        outer: Option<(u32, u128, u128)>,
        spare: &mut dyn Spare<P>,
    ) -> Result<(), Event> {
        let cut = Cut::of(&p.bytes()[L3..], mtu).ok_or(Event::TooBig)?;
        let (front, to) = if outer.is_some() { (OVERHEAD, self.config.ipv6) } else { (0, self.ipv4()) };
        let l3 = L3 + front;
        for part in cut.rest() {
            let len = l3 + cut.len(&part);
            let want = len.max(LEAST_FRAME);
            let mut q = spare.fresh(want).filter(|q| q.bytes().len() == want).ok_or(Event::NoMemory)?;
            let (b, o) = (p.bytes(), q.bytes_mut());
            o[len..].fill(0);
            cut.write(&b[L3..], &part, &mut o[l3..]);
            match outer {
                Some((first, src, dst)) => self.outer_header(o, first, cut.len(&part) as u16, src, dst),
                None => o[..L3].copy_from_slice(&self.plan.v4.leaving),
            }
            spare.emit(to, q);
        }
        let whole = cut.first(&mut p.bytes_mut()[L3..]);
        if !p.set_len(L3 + whole) {
            return Err(Event::NoMemory);
        }
        if let Some((first, src, dst)) = outer {
            if !p.grow_front(OVERHEAD) {
                return Err(Event::NoMemory);
            }
            self.outer_header(p.bytes_mut(), first, whole as u16, src, dst);
        }
        self.count.add(Event::Fragmented);
        Ok(())
    }
}

fn finish6(b: &mut [u8], offset_and_more: u16, id: u32) {
    let at = L3 + IPV6;
    put16(b, L3 + 4, (b.len() - at) as u16);
    b[at] = std::mem::replace(&mut b[L3 + 6], next::FRAGMENT);
    b[at + 1] = 0;
    put16(b, at + 2, offset_and_more);
    put32(b, at + 4, id);
}
