//! ICMP errors of others, with the quoted packet translated (RFC 7915, sections 4.2, 4.3, 5.2 and
//! 5.3) and extensions kept (RFC 4884). Quoted headers change length, so errors are built in a
//! separate buffer; verified checksums are recomputed. Errors about packets that this translator
//! would have dropped are dropped.

use super::icmp::{self, Mtus};
use super::rewrite::{self, Cut, Write4, Write6};
use super::slow::passes;
use super::to6::finish;
use super::{Hairpinning, Translate, roles, to4};
use crate::event::Event;
use crate::function::{LEAST_FRAME, Packet, Side};
use crate::icmp_error::{Error, HOST_UNREACHABLE};
use crate::icmp_type::v6;
use crate::ip4::{Head4, Route, is_ordinary};
use crate::ip6::{Head6, is_extension};
use crate::strategy::{Addressing, Point4};
use wire::checksum::Sum;
use wire::header::{self, ICMP, ICMPV6, PROTO_UDP, TCP, be16, be32};

/// Largest error packet (RFC 4443, section 2.4).
const LARGEST6: usize = 1280;
/// Shortest quote with extensions behind it (RFC 4884, section 3).
const SHORTEST_EXTENDED: usize = 128;

impl<A: Addressing> Translate<A> {
    /// Returns the side that it leaves on.
    pub(super) fn error_to6<P: Packet>(&mut self, p: &mut P, h: &Head4) -> Result<Side, Event> {
        let b = &p.bytes()[..h.end];
        let error = message(b, h.l4, Sum::default())?;
        let stated = if icmp::extends4(error.kind) { usize::from(b[h.l4 + 5]) * 4 } else { 0 };
        let (quote_end, extension) = split(b, h.l4 + 8, stated);
        let q = Head4::read(&b[..quote_end], h.l4 + 8)?;
        let fixed = q.route(b)? == Route::Fixed;
        if fixed || !passes(q.protocol, ICMPV6) || !is_ordinary(q.src) || !is_ordinary(q.dst) {
            return Err(Event::IcmpUntranslatable);
        }
        let new = icmp::to6(error, q.total() as u32, self.mtus())?;
        // "No state for a new flow" has another code (RFC 6146, sections 3.5.1.1 and 3.5.2.3).
        let ours = error == HOST_UNREACHABLE && self.addressing.is_gateway(h.src);
        let new = if ours { icmp::ADDRESS_UNREACHABLE } else { new };
        let (quoted_src, quoted_dst) = quoted_ports(b, q.protocol, q.l4, quote_end.min(q.end), q.offset);
        let (inner_src, inner_dst) =
            self.quoted_to6(Point4 { addr: q.src, port: quoted_src }, Point4 { addr: q.dst, port: quoted_dst })?;
        // The ports in the quote identify the outer end points.
        let outer_src = self.source_to6(Point4 { addr: h.src, port: quoted_dst }, &q)?;
        let (_, dst_end) = roles(self.config.ipv6.other());
        let dst = self
            .addressing
            .to_ipv6(dst_end, Point4 { addr: h.dst, port: quoted_src })
            .map_err(|e| super::to6::unmapped(e, Event::DestinationUnmapped))?;
        let inner = Write6 {
            src: inner_src,
            dst: inner_dst,
            class: self.config.headers.traffic_class.apply(q.tos),
            hop_limit: q.ttl,
            protocol: rewrite::protocol_to6(q.protocol),
            payload: q.end - q.l4,
            part: q.is_fragment().then_some(Cut { offset: q.offset, more: q.more, id: q.id.into() }),
        };
        let payload = &b[q.l4..quote_end.min(q.end)];
        let headers = header::ETH + header::IPV6 + 8;
        let most = header::ETH + LARGEST6;
        let o = &mut self.scratch;
        o.clear();
        o.resize(headers + inner.len(), 0);
        inner.write(&mut o[headers..]);
        o.extend_from_slice(payload);
        let at = headers + inner.len();
        quoted_transport6(&mut o[at..], q.protocol, q.offset, rewrite::pair4(q.src, q.dst), &inner)?;
        let length = extend(o, headers, most, if icmp::extends6(new.kind) { extension } else { &[] }, 8);
        let write = Write6 {
            src: outer_src,
            dst,
            class: self.config.headers.traffic_class.apply(h.tos),
            hop_limit: h.ttl.saturating_sub(u8::from(self.config.hop)),
            protocol: ICMPV6,
            payload: o.len() - header::ETH - header::IPV6,
            part: None,
        };
        write.write(&mut o[header::ETH..]);
        let rest = if icmp::extends6(new.kind) { (length as u32) << 24 } else { new.rest };
        put(&mut o[header::ETH + header::IPV6..], Error { rest, ..new });
        let pseudo = rewrite::icmp6_pseudo(outer_src, dst, write.payload);
        seal(&mut o[header::ETH + header::IPV6..], pseudo);
        self.ethernet6_scratch();
        replace(p, &self.scratch)?;
        self.count_to6();
        Ok(self.config.ipv6)
    }

    /// Returns the side that it leaves on.
    pub(super) fn error_to4<P: Packet>(&mut self, p: &mut P, h: &Head6) -> Result<Side, Event> {
        let b = &p.bytes()[..h.end];
        let error = message(b, h.l4, rewrite::icmp6_pseudo(h.src, h.dst, h.end - h.l4))?;
        let stated = if icmp::extends6(error.kind) { usize::from(b[h.l4 + 4]) * 8 } else { 0 };
        let (quote_end, extension) = split(b, h.l4 + 8, stated);
        let q = Head6::read(&b[..quote_end], h.l4 + 8)?;
        let behind_fragment = q.part.is_some_and(|part| is_extension(b[part.at]));
        if q.source_route.is_some() || behind_fragment || !passes(q.protocol, ICMP) {
            return Err(Event::IcmpUntranslatable);
        }
        let new = icmp::to4(error, q.part.is_some(), self.mtus())?;
        let quote_end = quote_end.min(q.end);
        let offset = q.part.map_or(0, |p| p.offset);
        let (quoted_src, quoted_dst) = quoted_ports(b, q.protocol, q.l4, quote_end, offset);
        // The quoted packet's source is at the end that gets the error.
        let (src_end, dst_end) = roles(self.config.ipv6);
        let a = &mut self.addressing;
        let inner_src = a.known_ipv4(dst_end, q.src, quoted_src).map_err(|_| Event::IcmpUntranslatable)?;
        let inner_dst = a.known_ipv4(src_end, q.dst, quoted_dst).map_err(|_| Event::IcmpUntranslatable)?;
        if !is_ordinary(inner_src) || !is_ordinary(inner_dst) {
            return Err(Event::IcmpUntranslatable);
        }
        if self.config.hairpinning == Hairpinning::Intrinsic
            && let Some((peer, back)) = self.addressing.turned(q.src, inner_dst, inner_src)
        {
            return self.turn_error(p, h, &q, quote_end, (peer, back));
        }
        let dst = self
            .addressing
            .to_ipv4(dst_end, h.dst, quoted_src)
            .map_err(|e| super::to6::unmapped(e, Event::DestinationUnmapped))?;
        if !is_ordinary(dst) {
            return Err(Event::MartianDestination);
        }
        let src = self.source_to4(h.src, quoted_dst)?;
        // Only about their own packets (RFC 7599, sections 8.3 and 9).
        if self.addressing.owns(src_end, h.src) && h.src >> 64 != q.dst >> 64 {
            return Err(Event::Spoofed);
        }
        let back = self.comes_back(dst);
        let inner = Write4 {
            src: inner_src,
            dst: inner_dst,
            tos: self.config.headers.tos.apply(q.class),
            ttl: q.hop_limit,
            protocol: rewrite::protocol_to4(q.protocol),
            payload: q.end.saturating_sub(q.l4).min(usize::from(u16::MAX) - header::IPV4),
            id: q.part.map_or(0, |part| part.id as u16),
            fragment: to4::fragment(&q, q.end.saturating_sub(q.l4)),
        };
        let b = &p.bytes()[..h.end];
        let headers = header::ETH + header::IPV4 + 8;
        let o = &mut self.scratch;
        o.clear();
        o.resize(headers + header::IPV4, 0);
        inner.write(&mut o[headers..]);
        o.extend_from_slice(&b[q.l4..quote_end.max(q.l4)]);
        quoted_transport4(&mut o[headers + header::IPV4..], &q, &inner)?;
        let extension = if icmp::extends4(new.kind) { extension } else { &[] };
        let most = header::ETH + if back { LARGEST6 } else { self.config.v4.mtu.into() };
        let length = extend(o, headers, most, extension, 4);
        let payload = o.len() - header::ETH - header::IPV4;
        let write = Write4 {
            src,
            dst,
            tos: self.config.headers.tos.apply(h.class),
            ttl: h.hop_limit.saturating_sub(u8::from(self.config.hop && !back)),
            protocol: ICMP,
            payload,
            id: 0,
            fragment: 0,
        };
        let id = h.part.map_or_else(|| self.next_identification(), |part| part.id as u16);
        let o = &mut self.scratch;
        Write4 { id, fragment: to4::fragment(h, payload), ..write }.write(&mut o[header::ETH..]);
        let rest = if icmp::extends4(new.kind) { new.rest | (length as u32) << 16 } else { new.rest };
        put(&mut o[header::ETH + header::IPV4..], Error { rest, ..new });
        seal(&mut o[header::ETH + header::IPV4..], Sum::default());
        o[..12].copy_from_slice(&self.v4.leaving);
        header::put16(o, 12, header::TYPE_IPV4);
        replace(p, &self.scratch)?;
        if !back {
            self.count.add(Event::ToIpv4);
        }
        Ok(self.config.ipv6.other())
    }

    /// An error about a hairpinned packet takes the same way back (RFC 7757, section 4.2): `peer`
    /// is the address by which the sender `back` knew the other host.
    fn turn_error<P: Packet>(
        &mut self,
        p: &mut P,
        h: &Head6,
        q: &Head6,
        quote_end: usize,
        (peer, back): (u128, u128),
    ) -> Result<Side, Event> {
        // Routers appear by their IPv4 representation (RFC 7757, appendix B.1, figure 9).
        let src = if h.src == q.dst {
            peer
        } else {
            let addr = self.source_to4(h.src, None)?;
            self.source_back(Point4 { addr, port: None })?
        };
        let b = p.bytes_mut();
        let (old, new) = (rewrite::pair6(q.src, q.dst), rewrite::pair6(back, peer));
        if q.part.is_none_or(|p| p.offset == 0) && quote_end > q.l4 {
            rewrite::transport6(&mut b[q.l4..quote_end], q.protocol, old, new);
        }
        if b[h.l4] == v6::TOO_BIG {
            let mtu = be32(b, h.l4 + 4).max(icmp::LEAST_MTU6);
            header::put32(b, h.l4 + 4, mtu);
        }
        crate::ip6::put128(b, q.l3 + 8, back);
        crate::ip6::put128(b, q.l3 + 24, peer);
        self.turn_header(b, h.l3, (src, back));
        seal(&mut b[h.l4..h.end], rewrite::icmp6_pseudo(src, back, h.end - h.l4));
        finish(p, h.end)?;
        Ok(self.config.ipv6)
    }

    fn quoted_to6(&self, src: Point4, dst: Point4) -> Result<(u128, u128), Event> {
        let (src_end, dst_end) = roles(self.config.ipv6.other());
        let a = &self.addressing;
        let inner_src = a.to_ipv6(dst_end, src).map_err(|_| Event::IcmpUntranslatable)?;
        if self.config.hairpinning == Hairpinning::Simple
            && let Some(hidden) = a.hidden(dst.addr)
        {
            return Ok((inner_src, hidden));
        }
        Ok((inner_src, a.to_ipv6(src_end, dst).map_err(|_| Event::IcmpUntranslatable)?))
    }

    /// The translator's address if the sender has none.
    fn source_to6(&self, src: Point4, q: &Head4) -> Result<u128, Event> {
        if self.config.hairpinning == Hairpinning::Simple
            && src.addr == q.dst
            && let Some(hidden) = self.addressing.hidden(q.dst)
        {
            return Ok(hidden);
        }
        self.source_back(src)
    }

    fn source_back(&self, src: Point4) -> Result<u128, Event> {
        let (src_end, _) = roles(self.config.ipv6.other());
        match self.addressing.to_ipv6(src_end, src) {
            Err(Event::SourceUnmapped | Event::DestinationUnmapped | Event::WellKnownPrefixPrivate) => {
                Ok(self.config.v6.address.to_bits())
            }
            other => other,
        }
    }

    /// One of the pool for each router without IPv4 address, always the same while the pool does
    /// not change (RFC 6791).
    fn source_to4(&mut self, src: u128, port: Option<u16>) -> Result<u32, Event> {
        let (src_end, _) = roles(self.config.ipv6);
        match self.addressing.known_ipv4(src_end, src, port) {
            Ok(a) if is_ordinary(a) => Ok(a),
            // A loop (RFC 6146, section 3.5).
            Ok(_) | Err(Event::MartianSource) => Err(Event::MartianSource),
            Err(Event::Spoofed) if self.addressing.owns(src_end, src) => Err(Event::Spoofed),
            Err(_) => Ok(self.stand_in(src)),
        }
    }

    fn stand_in(&self, src: u128) -> u32 {
        let pool = &self.config.icmp_sources;
        let count: u64 = pool.iter().map(|r| u64::from(r.count)).sum();
        let own = u32::from(self.config.v4.address);
        let mut n = match count {
            0 => return own,
            _ => self.hasher.pair((src >> 64) as u64, src as u64) % count,
        };
        for r in pool {
            if n < u64::from(r.count) {
                return u32::from(r.first) + n as u32;
            }
            n -= u64::from(r.count);
        }
        own
    }

    fn mtus(&self) -> Mtus {
        Mtus { v4: self.config.v4.mtu.into(), v6: self.config.v6.mtu.into() }
    }

    fn ethernet6_scratch(&mut self) {
        self.scratch[..12].copy_from_slice(&self.v6.leaving);
        header::put16(&mut self.scratch, 12, header::TYPE_IPV6);
    }
}

/// Reads an error at the end of `b`; verifies the checksum.
fn message(b: &[u8], l4: usize, pseudo: Sum) -> Result<Error, Event> {
    if b.len() < l4 + 8 {
        return Err(Event::Short);
    }
    if !Sum::default().bytes(&b[l4..]).plus(pseudo).is_valid() {
        return Err(Event::IcmpChecksum);
    }
    Ok(Error { kind: b[l4], code: b[l4 + 1], rest: be32(b, l4 + 4) })
}

/// Quote and extensions; an invalid stated length means none.
fn split(b: &[u8], at: usize, stated: usize) -> (usize, &[u8]) {
    if stated < SHORTEST_EXTENDED || at + stated > b.len() {
        return (b.len(), &[]);
    }
    (at + stated, &b[at + stated..])
}

fn quoted_ports(b: &[u8], protocol: u8, l4: usize, end: usize, offset: usize) -> (Option<u16>, Option<u16>) {
    let at = |n: usize| (end >= l4 + n + 2).then(|| be16(b, l4 + n));
    match protocol {
        _ if offset > 0 => (None, None),
        PROTO_UDP | TCP => (at(0), at(2)),
        ICMP | ICMPV6 => (at(4), at(4)),
        _ => (None, None),
    }
}

/// A quoted ICMP error would contain a third packet, which no host may send (RFC 7915, section 4.3).
fn quoted_transport6(b: &mut [u8], protocol: u8, offset: usize, old: Sum, inner: &Write6) -> Result<(), Event> {
    if offset > 0 || b.is_empty() {
        return Ok(());
    }
    if protocol == ICMP {
        let kind = icmp::echo_to6(b[0]).ok_or(Event::IcmpUntranslatable)?;
        if b.len() >= 2 {
            rewrite::echo(b, kind, rewrite::icmp6_pseudo(inner.src, inner.dst, inner.payload), true);
        }
    } else {
        rewrite::transport(b, protocol, old, rewrite::pair6(inner.src, inner.dst));
    }
    Ok(())
}

fn quoted_transport4(b: &mut [u8], q: &Head6, inner: &Write4) -> Result<(), Event> {
    if q.part.is_some_and(|p| p.offset > 0) || b.is_empty() {
        return Ok(());
    }
    if q.protocol == ICMPV6 {
        let kind = icmp::echo_to4(b[0]).ok_or(Event::IcmpUntranslatable)?;
        if b.len() >= 2 {
            rewrite::echo(b, kind, rewrite::icmp6_pseudo(q.src, q.dst, inner.payload), false);
        }
    } else {
        rewrite::transport(b, q.protocol, rewrite::pair6(q.src, q.dst), rewrite::pair4(inner.src, inner.dst));
    }
    Ok(())
}

/// Truncates or pads the quote at `at`, and appends the extensions; returns the length to be
/// stated, in words of `word` octets, 0 without extensions. The quote shrinks for extensions down
/// to its least length (RFC 4884, sections 3 and 4.2). Extensions that still do not fit are
/// omitted, as their checksum covers all.
fn extend(o: &mut Vec<u8>, at: usize, most: usize, extension: &[u8], word: usize) -> usize {
    let words = (o.len() - at).max(SHORTEST_EXTENDED).div_ceil(word);
    let room = most.saturating_sub(at + extension.len()) / word;
    let words = words.min(room).min(u8::MAX.into());
    if extension.is_empty() || words * word < SHORTEST_EXTENDED {
        o.truncate(most);
        return 0;
    }
    o.resize(at + words * word, 0);
    o.extend_from_slice(extension);
    words
}

fn put(message: &mut [u8], e: Error) {
    (message[0], message[1]) = (e.kind, e.code);
    header::put32(message, 4, e.rest);
}

/// Moves its end, or its front if there is no room.
fn replace<P: Packet>(p: &mut P, octets: &[u8]) -> Result<(), Event> {
    let len = octets.len().max(LEAST_FRAME);
    let have = p.bytes().len();
    if len != have && !p.set_len(len) && !(len > have && p.grow_front(len - have)) {
        return Err(Event::NoMemory);
    }
    p.bytes_mut()[..octets.len()].copy_from_slice(octets);
    finish(p, octets.len())
}

/// `pseudo` is the sum of the pseudo header, if any.
fn seal(message: &mut [u8], pseudo: Sum) {
    message[2..4].fill(0);
    let sum = Sum::default().bytes(message).plus(pseudo).checksum();
    message[2..4].copy_from_slice(&sum);
}
