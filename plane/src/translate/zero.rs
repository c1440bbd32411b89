//! Fragments of UDP datagrams without checksum. IPv6's checksum covers all fragments, so the
//! datagram is reassembled, then translated (RFC 6146, section 3.4).

use super::{Translate, ZeroChecksum};
use crate::event::Event;
use crate::fragment::{Buffer, Datagram, Fragment, Key, Reassembly};
use crate::function::{Packet, Spare, Verdict};
use crate::ip4::Head4;
use crate::strategy::Addressing;
use wire::checksum::Sum;
use wire::header::{self, PROTO_UDP, be16, put16};

pub(super) type ZeroSumReassembly = Reassembly<Key>;

/// Largest packet.
const LARGEST: usize = 65_535;

impl<A: Addressing> Translate<A> {
    /// When another datagram's first fragment arrives with the same addresses and identification:
    /// together they could become complete, with a valid checksum (RFC 4963, section 3). No
    /// fragment waits here before the first.
    #[inline]
    pub(super) fn forget_older(&mut self, h: &Head4) {
        if h.offset == 0
            && h.more
            && h.protocol == PROTO_UDP
            && let Some(unsummed) = self.unsummed.as_mut().filter(|u| !u.is_empty())
        {
            let parts = unsummed.give_up(&h.key(0));
            self.count.add_many(Event::FragmentLate, parts);
        }
    }

    /// Whether the datagram is to be reassembled. Only the first fragment shows that, so the
    /// function in front must deliver it first, as NAT44 does.
    pub(super) fn wants_assembly(&mut self, b: &[u8], h: &Head4) -> Option<Key> {
        let unsummed = self.unsummed.as_mut()?;
        if h.protocol != PROTO_UDP || !h.is_fragment() {
            return None;
        }
        let key = h.key(0);
        let wanted = if h.offset == 0 {
            self.config.headers.zero_udp_checksum == ZeroChecksum::Compute && be16(b, h.l4 + 6) == 0
        } else {
            unsummed.knows(&key)
        };
        wanted.then_some(key)
    }

    /// The last one missing becomes the datagram, or its translation's first fragment.
    pub(super) fn put_together<F: Packet, P: Packet>(
        &mut self,
        key: Key,
        p: &mut F,
        h: &Head4,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        let Some(mut whole) = self.keep(key, p.bytes(), h)? else {
            self.count.add(Event::FragmentHeld);
            return Ok(Verdict::Held);
        };
        self.count.add(Event::Reassembled);
        let verdict = self.over_ipv4::<Buffer, P>(&mut whole, spare).inspect_err(|why| {
            // About the datagram.
            self.refuse4(&mut whole, *why, spare);
        })?;
        let len = whole.bytes().len();
        if !p.set_len(len) {
            return Err(Event::NoMemory);
        }
        p.bytes_mut().copy_from_slice(whole.bytes());
        Ok(verdict)
    }

    fn keep(&mut self, key: Key, b: &[u8], h: &Head4) -> Result<Option<Buffer>, Event> {
        let (headers, payload) = (&b[..h.l4], &b[h.l4..h.end]);
        if payload.is_empty() || (h.more && !payload.len().is_multiple_of(8)) {
            return Err(Event::BadLength);
        }
        let Some(unsummed) = &mut self.unsummed else { return Err(Event::FragmentFull) };
        let fragment = Fragment { offset: h.offset, more: h.more, headers, payload, ecn: h.tos };
        unsummed.add(self.now, key, &fragment, &mut self.count)?.map(|d| join(&d)).transpose()
    }

    /// No error is sent (RFC 6146, section 3.4).
    pub(super) fn expire_unsummed(&mut self) {
        let Some(unsummed) = self.unsummed.as_mut().filter(|u| !u.is_empty()) else { return };
        while let Some(late) = unsummed.expire(self.now) {
            self.count.add_many(Event::FragmentLate, late.fragments);
        }
    }
}

/// Joins the fragments; the packet may be fragmented again.
fn join(d: &Datagram) -> Result<Buffer, Event> {
    let total = d.headers().len() - header::ETH + d.octets();
    if total > LARGEST {
        return Err(Event::BadLength);
    }
    let mut headers = d.headers().to_vec();
    let h = &mut headers[header::ETH..];
    h[1] = h[1] & !3 | d.ecn().ok_or(Event::EcnLost)?;
    put16(h, 2, total as u16);
    h[6..8].fill(0);
    h[10..12].fill(0);
    let sum = Sum::default().bytes(h).checksum();
    h[10..12].copy_from_slice(&sum);
    Ok(d.behind(&headers))
}
