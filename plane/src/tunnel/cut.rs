//! Writing the outer header, and cutting what is too large: the tunnel packet as IPv6 (RFC 8200, section 4.5) or the packet
//! inside as IPv4 (RFC 791, section 3.2). The packet itself becomes the first piece; the others are emitted behind it.

use super::{L3, OVERHEAD, Tunnel};
use crate::ends::Softwires;
use crate::event::Event;
use crate::function::{LEAST_FRAME, Packet, Spare};
use crate::ip6::{next, put128};
use wire::checksum::Sum;
use wire::header::{IPV6, be16, put16, put32};

/// Length of an IPv6 fragment header.
const FRAGMENT: usize = 8;

impl<S: Softwires> Tunnel<S> {
    /// Version, traffic class and flow label for the IPv4 packet at `l3`.
    pub(super) fn first_word_for(&self, b: &[u8], l3: usize, ports: bool) -> u32 {
        let first = self.plan.first_word | u32::from(b[l3 + 1] & self.plan.copied) << 20;
        if self.plan.hash_flows { first | self.flow_label(b, l3, ports) } else { first }
    }

    /// Write Ethernet and outer header for an IPv4 packet of `total` octets behind them.
    pub(super) fn outer_header(&self, b: &mut [u8], first: u32, total: u16, src: u128, dst: u128) {
        b[..L3].copy_from_slice(&self.plan.v6.leaving);
        put32(b, L3, first);
        put16(b, L3 + 4, total);
        b[L3 + 6] = next::IPV4;
        b[L3 + 7] = self.config.hop_limit;
        put128(b, L3 + 8, src);
        put128(b, L3 + 24, dst);
    }

    /// Cut a tunnel packet into pieces that fit the link.
    pub(super) fn cut6<F: Packet, P: Packet, Q: Spare<P>>(&mut self, p: &mut F, spare: &mut Q) -> Result<(), Event> {
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

    /// Cut the IPv4 packet of a frame into pieces of at most `mtu` octets. With `outer` (first word, source, destination) each
    /// piece is encapsulated.
    pub(super) fn cut4<F: Packet, P: Packet, Q: Spare<P>>(
        &mut self,
        p: &mut F,
        mtu: usize,
        outer: Option<(u32, u128, u128)>,
        spare: &mut Q,
    ) -> Result<(), Event> {
        let b = p.bytes();
        let (total, ihl) = (usize::from(be16(b, L3 + 2)), usize::from(b[L3] & 15) * 4);
        let piece = (mtu - ihl) & !7;
        let (payload, fragment) = (total - ihl, be16(b, L3 + 6));
        let (front, to) = if outer.is_some() { (OVERHEAD, self.config.ipv6) } else { (0, self.ipv4()) };
        let l3 = L3 + front;
        let mut at = piece;
        while at < payload {
            let n = piece.min(payload - at);
            let len = l3 + ihl + n;
            let want = len.max(LEAST_FRAME);
            let mut q = spare.fresh(want).filter(|q| q.bytes().len() == want).ok_or(Event::NoMemory)?;
            let (b, o) = (p.bytes(), q.bytes_mut());
            o[len..].fill(0);
            o[l3..l3 + ihl].copy_from_slice(&b[L3..L3 + ihl]);
            keep_copied_options(&mut o[l3 + 20..l3 + ihl]);
            o[l3 + ihl..len].copy_from_slice(&b[L3 + ihl + at..L3 + ihl + at + n]);
            let more = if at + n < payload { 0x2000 } else { fragment & 0x2000 };
            finish4(&mut o[l3..], ihl, n, ((fragment & 0x1fff) + (at / 8) as u16) | more);
            match outer {
                Some((first, src, dst)) => self.outer_header(o, first, (ihl + n) as u16, src, dst),
                None => o[..L3].copy_from_slice(&self.plan.v4.leaving),
            }
            spare.emit(to, q);
            at += n;
        }
        finish4(&mut p.bytes_mut()[L3..], ihl, piece, (fragment & 0x1fff) | 0x2000);
        if !p.set_len(L3 + ihl + piece) {
            return Err(Event::NoMemory);
        }
        if let Some((first, src, dst)) = outer {
            if !p.grow_front(OVERHEAD) {
                return Err(Event::NoMemory);
            }
            self.outer_header(p.bytes_mut(), first, (ihl + piece) as u16, src, dst);
        }
        self.count.add(Event::Fragmented);
        Ok(())
    }
}

/// Payload length, next header and fragment header of one IPv6 piece.
fn finish6(b: &mut [u8], offset_and_more: u16, id: u32) {
    let at = L3 + IPV6;
    put16(b, L3 + 4, (b.len() - at) as u16);
    b[at] = std::mem::replace(&mut b[L3 + 6], next::FRAGMENT);
    b[at + 1] = 0;
    put16(b, at + 2, offset_and_more);
    put32(b, at + 4, id);
}

/// Length, fragment field and header checksum of one IPv4 piece.
fn finish4(b: &mut [u8], ihl: usize, payload: usize, fragment: u16) {
    put16(b, 2, (ihl + payload) as u16);
    put16(b, 6, fragment);
    b[10..12].fill(0);
    let sum = Sum::default().bytes(&b[..ihl]).checksum();
    b[10..12].copy_from_slice(&sum);
}

/// Turn options without the "copied" bit into no-operations: they belong into the first piece only (RFC 791, 3.1).
fn keep_copied_options(o: &mut [u8]) {
    let mut at = 0;
    while at < o.len() {
        let len = match o[at] {
            0 => return,
            1 => 1,
            _ => usize::from(*o.get(at + 1).unwrap_or(&1)).clamp(1, o.len() - at),
        };
        if o[at] & 0x80 == 0 {
            o[at..at + len].fill(1);
        }
        at += len;
    }
}
