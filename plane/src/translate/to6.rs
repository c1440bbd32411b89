//! IPv4 to IPv6 (RFC 7915, section 4).

use super::config::{Hairpinning, ZeroChecksum};
use super::icmp;
use super::rewrite::{self, Cut, Write6};
use super::shared::with_ports;
use super::{Translate, roles};
use crate::event::Event;
use crate::fragment::{Ports, Whose};
use crate::function::{LEAST_FRAME, Packet, Side, Spare, Verdict, fresh};
use crate::ip4::Head4;
use crate::strategy::{Addressing, Point4};
use wire::header::{self, ICMP, PROTO_UDP, TCP, be16, put16};

impl<A: Addressing> Translate<A> {
    /// Translates, for all but ICMP errors; a fragment may wait for its ports.
    pub(super) fn to6<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        h: &Head4,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        self.forget_older(h);
        let b = p.bytes();
        check(b, h)?;
        if let Some(key) = self.wants_assembly(b, h) {
            return self.put_together(key, p, h, spare);
        }
        let shown = ports(b, h);
        let points = [Point4 { addr: h.src, port: shown[0] }, Point4 { addr: h.dst, port: shown[1] }];
        let Some(key) = self.to_be_tracked(h) else {
            return self.between(p, h, points, spare).map(Verdict::Forward);
        };
        let ports = match self.whose(key, b, h, shown)? {
            Whose::Not(verdict) => return Ok(verdict),
            Whose::Known(ports) => ports,
        };
        let result = self.between(p, h, with_ports(points, ports), spare);
        if h.offset == 0 {
            self.let_go(&key, spare);
        }
        result.map(Verdict::Forward)
    }

    /// Returns the side that the packet leaves on.
    fn between<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        h: &Head4,
        [from, to]: [Point4; 2],
        spare: &mut dyn Spare<P>,
    ) -> Result<Side, Event> {
        let b = p.bytes();
        if h.offset == 0 && h.protocol == PROTO_UDP && be16(b, h.l4 + 6) == 0 {
            match self.config.headers.zero_udp_checksum {
                ZeroChecksum::Compute if !h.more => {}
                ZeroChecksum::Forward => {}
                ZeroChecksum::Compute | ZeroChecksum::Drop => return Err(Event::UdpChecksumZero),
            }
        }
        let (src, dst) = self.pair_to6(from, to)?;
        let payload = h.end - h.l4;
        let mut write = Write6 {
            src,
            dst,
            class: self.config.headers.traffic_class.apply(h.tos),
            hop_limit: h.ttl.saturating_sub(u8::from(self.config.hop)),
            protocol: rewrite::protocol_to6(h.protocol),
            payload,
            part: h.is_fragment().then_some(Cut { offset: h.offset, more: h.more, id: h.id.into() }),
        };
        let most = usize::from(self.config.v6.mtu);
        if h.df && write.len() + payload > most {
            return Err(Event::TooBig);
        }
        let fill = self.config.headers.zero_udp_checksum == ZeroChecksum::Compute;
        transport(&mut p.bytes_mut()[h.l4..h.end], h, &write, fill);
        let whole = write.len() + payload;
        let limit = usize::from(self.config.headers.lowest_ipv6_mtu).min(most);
        let cut = !h.df && whole > limit;
        if cut && write.part.is_none() {
            write.part = Some(Cut { offset: 0, more: false, id: h.id.into() });
        }
        if cut {
            self.rest(p.bytes(), h, &mut write, limit, spare)?;
        }
        self.put6(p, h.l4, &write)?;
        self.count_to6();
        Ok(self.config.ipv6)
    }

    /// The first's header is left in `write`. The caller counts the packet once.
    fn rest<P: Packet>(
        &mut self,
        b: &[u8],
        h: &Head4,
        write: &mut Write6,
        limit: usize,
        spare: &mut dyn Spare<P>,
    ) -> Result<(), Event> {
        let headers = header::IPV6 + 8;
        let piece = (limit - headers) & !7;
        let whole = write.part.ok_or(Event::BadLength)?;
        let payload = write.payload;
        let mut at = piece;
        while at < payload {
            let n = piece.min(payload - at);
            let last = at + n == payload;
            let part = Cut { offset: whole.offset + at, more: !last || whole.more, id: whole.id };
            let mut q = fresh(spare, header::ETH + headers + n).ok_or(Event::NoMemory)?;
            let o = q.bytes_mut();
            self.ethernet6(o);
            Write6 { payload: n, part: Some(part), ..*write }.write(&mut o[header::ETH..]);
            o[header::ETH + headers..header::ETH + headers + n].copy_from_slice(&b[h.l4 + at..h.l4 + at + n]);
            spare.emit(self.config.ipv6, q);
            at += n;
        }
        if payload > piece {
            write.payload = piece;
            write.part = Some(Cut { more: true, ..whole });
            self.count.add(Event::Fragmented);
        }
        Ok(())
    }

    /// Writes headers before the payload at `l4`; ends the frame with the packet.
    pub(super) fn put6<P: Packet>(&mut self, p: &mut P, l4: usize, write: &Write6) -> Result<(), Event> {
        let headers = header::ETH + write.len();
        move_front(p, l4, headers)?;
        let b = p.bytes_mut();
        self.ethernet6(b);
        write.write(&mut b[header::ETH..]);
        finish(p, headers + write.payload)
    }

    pub(super) fn ethernet6(&self, b: &mut [u8]) {
        b[..12].copy_from_slice(&self.v6.leaving);
        put16(b, 12, header::TYPE_IPV6);
    }

    pub(super) fn pair_to6(&mut self, src: Point4, dst: Point4) -> Result<(u128, u128), Event> {
        let (src_end, dst_end) = roles(self.config.ipv6.other());
        let six = self.addressing.to_ipv6(dst_end, dst).map_err(|e| unmapped(e, Event::DestinationUnmapped))?;
        if self.config.hairpinning == Hairpinning::Simple
            && let Some(hidden) = self.addressing.hidden(src.addr)
        {
            return Ok((hidden, six));
        }
        let own = self.addressing.to_ipv6(src_end, src).map_err(|e| unmapped(e, Event::SourceUnmapped))?;
        Ok((own, six))
    }
}

/// Names the end, which the strategy does not know.
pub(super) fn unmapped(e: Event, which: Event) -> Event {
    if matches!(e, Event::SourceUnmapped | Event::DestinationUnmapped) { which } else { e }
}

/// Checks the transport header as far as a translator needs it.
fn check(b: &[u8], h: &Head4) -> Result<(), Event> {
    if h.protocol == ICMP {
        // ICMPv6's pseudo header has the length of the whole message, so fragments are not
        // translated (RFC 7915, section 1.2).
        let echo = h.l4 + 8 <= h.end && icmp::echo_to6(b[h.l4]).is_some();
        return if echo && !h.is_fragment() { Ok(()) } else { Err(Event::IcmpUntranslatable) };
    }
    // RFC 791, section 3.2; RFC 8200, section 4.5.
    if h.more && !(h.end - h.l4).is_multiple_of(8) {
        return Err(Event::BadLength);
    }
    lengths(b, h.protocol, h.l4, h.end, h.offset, h.more)
}

/// Largest payload of an IPv4 packet (RFC 791, section 3.1).
const MOST_PAYLOAD: usize = u16::MAX as usize - header::IPV4;

/// A first fragment has enough of the header, no datagram exceeds its packet, and no fragment ends
/// behind the largest IPv4 packet.
pub(super) fn lengths(b: &[u8], protocol: u8, l4: usize, end: usize, offset: usize, more: bool) -> Result<(), Event> {
    if offset + (end - l4) > MOST_PAYLOAD {
        return Err(Event::BadLength);
    }
    if offset > 0 {
        return Ok(());
    }
    let need = match protocol {
        TCP if more => 18,
        TCP => 20,
        PROTO_UDP => header::UDP,
        _ => 0,
    };
    if end - l4 < need {
        return Err(Event::BadLength);
    }
    if protocol == PROTO_UDP {
        let len = usize::from(be16(b, l4 + 4));
        if len < header::UDP || (!more && len > end - l4) {
            return Err(Event::BadLength);
        }
    }
    Ok(())
}

/// Ports, or an echo message's identifier for both.
fn ports(b: &[u8], h: &Head4) -> Ports {
    if h.offset > 0 {
        return [None; 2];
    }
    match h.protocol {
        PROTO_UDP | TCP => [Some(be16(b, h.l4)), Some(be16(b, h.l4 + 2))],
        ICMP => [Some(be16(b, h.l4 + 4)); 2],
        _ => [None; 2],
    }
}

/// `b` is the payload of the IPv4 packet; `fill` gives UDP a checksum.
fn transport(b: &mut [u8], h: &Head4, write: &Write6, fill: bool) {
    if h.offset > 0 {
        return;
    }
    if h.protocol == ICMP {
        if let Some(kind) = icmp::echo_to6(b[0]) {
            let pseudo = rewrite::icmp6_pseudo(write.src, write.dst, b.len());
            rewrite::echo(b, kind, pseudo, true);
        }
    } else if fill && h.protocol == PROTO_UDP && be16(b, 6) == 0 {
        let len = usize::from(be16(b, 4));
        rewrite::fill_udp(&mut b[..len], write.src, write.dst);
    } else {
        rewrite::transport(b, h.protocol, rewrite::pair4(h.src, h.dst), rewrite::pair6(write.src, write.dst));
    }
}

pub(super) fn move_front<P: Packet>(p: &mut P, have: usize, want: usize) -> Result<(), Event> {
    let done = if want > have { p.grow_front(want - have) } else { p.shrink_front(have - want) };
    if done { Ok(()) } else { Err(Event::NoMemory) }
}

/// Ends the frame at `end`, or at the minimum length, filled with zeros.
pub(super) fn finish<P: Packet>(p: &mut P, end: usize) -> Result<(), Event> {
    let len = end.max(LEAST_FRAME);
    if p.bytes().len() != len && !p.set_len(len) {
        return Err(Event::NoMemory);
    }
    if end < len {
        p.bytes_mut()[end..].fill(0);
    }
    Ok(())
}
