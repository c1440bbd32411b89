//! IPv6 to IPv4 (RFC 7915, section 5).

use super::icmp;
use super::rewrite::{self, DF, MF, Write4};
use super::to6::{finish, lengths, move_front, unmapped};
use super::{Translate, ZeroChecksum, roles};
use crate::event::Event;
use crate::function::{Packet, Side, Spare, fresh};
use crate::ip4::is_ordinary;
use crate::ip6::{Head6, put128};
use crate::strategy::Addressing;
use wire::header::{self, ICMPV6, PROTO_UDP, TCP, be16, put16};

/// A larger packet must not be fragmented (RFC 7915, section 5.1).
const MAY_BE_CUT: usize = 1260;

impl<A: Addressing> Translate<A> {
    /// Translates, for all but ICMPv6 errors; returns the side that the packet leaves on.
    pub(super) fn to4<P: Packet>(&mut self, p: &mut P, h: &Head6, spare: &mut dyn Spare<P>) -> Result<Side, Event> {
        let b = p.bytes();
        check(b, h, self.config.headers.zero_udp_checksum)?;
        let (src_port, dst_port) = ports(b, h);
        let (src, dst) = self.pair_to4((h.src, src_port), (h.dst, dst_port))?;
        // A customer that shares an address needs a checkable port (RFC 7597, section 8.1; RFC 7599, section 8.3).
        if !matches!(h.protocol, PROTO_UDP | TCP | ICMPV6) && self.addressing.is_shared(roles(self.config.ipv6).0, src)
        {
            return Err(Event::Protocol);
        }
        if self.config.hairpinning == super::Hairpinning::Intrinsic
            && let Some(turned) = self.addressing.turned(h.dst, src, dst)
        {
            return self.turn(p, h, turned);
        }
        let back = self.comes_back(dst);
        let payload = h.end - h.l4;
        let write = Write4 {
            src,
            dst,
            tos: self.config.headers.tos.apply(h.class),
            // Hairpinned packets lose their hop on the way back.
            ttl: h.hop_limit.saturating_sub(u8::from(self.config.hop && !back)),
            protocol: rewrite::protocol_to4(h.protocol),
            payload,
            id: h.part.map_or_else(|| self.next_identification(), |part| part.id as u16),
            fragment: fragment(h, payload),
        };
        let total = header::IPV4 + payload;
        // Hairpinned packets never take the IPv4 link.
        let most = if back { usize::from(u16::MAX) } else { self.config.v4.mtu.into() };
        if total > most && write.fragment & DF != 0 {
            return Err(Event::TooBig);
        }
        transport(&mut p.bytes_mut()[h.l4..h.end], h, &write);
        if total > most {
            return self.cut4(p, h, &write, spare);
        }
        self.put4(p, h.l4, &write)?;
        if !back {
            self.count.add(Event::ToIpv4);
        }
        Ok(self.config.ipv6.other())
    }

    /// Translates to the IPv4 address of an IPv6 host (RFC 7757, section 4.2): only the addresses
    /// change.
    fn turn<P: Packet>(&mut self, p: &mut P, h: &Head6, to: (u128, u128)) -> Result<Side, Event> {
        let b = p.bytes_mut();
        let (old, new) = (rewrite::pair6(h.src, h.dst), rewrite::pair6(to.0, to.1));
        if h.part.is_none_or(|p| p.offset == 0) {
            rewrite::transport6(&mut b[h.l4..h.end], h.protocol, old, new);
        }
        self.turn_header(b, h.l3, to);
        finish(p, h.end)?;
        Ok(self.config.ipv6)
    }

    /// Translates the header, and counts the packet.
    pub(super) fn turn_header(&mut self, b: &mut [u8], l3: usize, to: (u128, u128)) {
        self.ethernet6(b);
        b[l3 + 7] -= u8::from(self.config.hop);
        put128(b, l3 + 8, to.0);
        put128(b, l3 + 24, to.1);
        self.count.add(Event::Hairpinned);
    }

    /// Fragments the packet (RFC 791, section 3.2).
    fn cut4<P: Packet>(
        &mut self,
        p: &mut P,
        h: &Head6,
        write: &Write4,
        spare: &mut dyn Spare<P>,
    ) -> Result<Side, Event> {
        let piece = (usize::from(self.config.v4.mtu) - header::IPV4) & !7;
        let to = self.config.ipv6.other();
        let mut at = piece;
        while at < write.payload {
            let n = piece.min(write.payload - at);
            let more = if at + n == write.payload { write.fragment & MF } else { MF };
            let fragment = ((write.fragment & 0x1fff) + (at / 8) as u16) | more;
            let end = header::ETH + header::IPV4 + n;
            let mut q = fresh(spare, end).ok_or(Event::NoMemory)?;
            let o = q.bytes_mut();
            self.ethernet4(o);
            Write4 { payload: n, fragment, ..*write }.write(&mut o[header::ETH..]);
            o[header::ETH + header::IPV4..end].copy_from_slice(&p.bytes()[h.l4 + at..h.l4 + at + n]);
            spare.emit(to, q);
            at += n;
        }
        let first = Write4 { payload: piece, fragment: write.fragment | MF, ..*write };
        self.put4(p, h.l4, &first)?;
        self.count.add(Event::Fragmented);
        self.count.add(Event::ToIpv4);
        Ok(to)
    }

    /// Writes headers before the payload at `l4`; ends the frame with the packet.
    pub(super) fn put4<P: Packet>(&mut self, p: &mut P, l4: usize, write: &Write4) -> Result<(), Event> {
        let headers = header::ETH + header::IPV4;
        move_front(p, l4, headers)?;
        let b = p.bytes_mut();
        self.ethernet4(b);
        write.write(&mut b[header::ETH..]);
        finish(p, headers + write.payload)
    }

    pub(super) fn ethernet4(&self, b: &mut [u8]) {
        b[..12].copy_from_slice(&self.v4.leaving);
        put16(b, 12, header::TYPE_IPV4);
    }

    /// The destination first, as it opens no state.
    pub(super) fn pair_to4(&mut self, src: (u128, Option<u16>), dst: (u128, Option<u16>)) -> Result<(u32, u32), Event> {
        let (src_end, dst_end) = roles(self.config.ipv6);
        let four =
            self.addressing.to_ipv4(dst_end, dst.0, dst.1).map_err(|e| unmapped(e, Event::DestinationUnmapped))?;
        if !is_ordinary(four) {
            return Err(Event::MartianDestination);
        }
        let own = self.addressing.to_ipv4(src_end, src.0, src.1).map_err(|e| unmapped(e, Event::SourceUnmapped))?;
        if !is_ordinary(own) {
            return Err(Event::MartianSource);
        }
        Ok((own, four))
    }
}

/// The fragment header's, or DF above 1260 octets (RFC 7915, section 5.1).
pub(super) fn fragment(h: &Head6, payload: usize) -> u16 {
    match h.part {
        Some(part) => (part.offset / 8) as u16 | if part.more { MF } else { 0 },
        None if header::IPV4 + payload > MAY_BE_CUT => DF,
        None => 0,
    }
}

/// Checks the transport header as far as a translator needs it.
fn check(b: &[u8], h: &Head6, zero: ZeroChecksum) -> Result<(), Event> {
    if h.protocol == ICMPV6 {
        let echo = h.l4 + 8 <= h.end && icmp::echo_to4(b[h.l4]).is_some();
        return if echo && !h.is_fragment() { Ok(()) } else { Err(Event::IcmpUntranslatable) };
    }
    let (offset, more) = h.part.map_or((0, false), |p| (p.offset, p.more));
    if more && !(h.end - h.l4).is_multiple_of(8) {
        return Err(Event::BadLength);
    }
    lengths(b, h.protocol, h.l4, h.end, offset, more)?;
    // IPv6 receivers drop UDP without checksum (RFC 8200, section 8.1); IPv4 receivers would accept it.
    if h.protocol == PROTO_UDP && offset == 0 && be16(b, h.l4 + 6) == 0 && zero != ZeroChecksum::Forward {
        return Err(Event::UdpChecksumZero);
    }
    Ok(())
}

/// Ports, or an echo message's identifier for both.
fn ports(b: &[u8], h: &Head6) -> (Option<u16>, Option<u16>) {
    if h.part.is_some_and(|p| p.offset > 0) {
        return (None, None);
    }
    match h.protocol {
        PROTO_UDP | TCP => (Some(be16(b, h.l4)), Some(be16(b, h.l4 + 2))),
        ICMPV6 => (Some(be16(b, h.l4 + 4)), Some(be16(b, h.l4 + 4))),
        _ => (None, None),
    }
}

/// `b` is the payload of the IPv6 packet.
fn transport(b: &mut [u8], h: &Head6, write: &Write4) {
    if h.part.is_some_and(|p| p.offset > 0) {
        return;
    }
    if h.protocol == ICMPV6 {
        if let Some(kind) = icmp::echo_to4(b[0]) {
            let pseudo = rewrite::icmp6_pseudo(h.src, h.dst, b.len());
            rewrite::echo(b, kind, pseudo, false);
        }
    } else {
        rewrite::transport(b, h.protocol, rewrite::pair6(h.src, h.dst), rewrite::pair4(write.src, write.dst));
    }
}
