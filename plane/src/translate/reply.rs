//! Errors about dropped packets (RFC 7915, sections 4.4 and 5.4; RFC 1812, 4.3; RFC 4443, section 2.4).

use super::Translate;
use super::config::Config;
use super::icmp::{self, Mtus};
use crate::event::Event;
use crate::function::{Packet, Spare, fresh};
use crate::icmp_error::{Error, HEADERS4, HEADERS6, QUOTE4, QUOTE6};
use crate::icmp_type::{v4, v6};
use crate::ip4::{Head4, is_ordinary};
use crate::ip6::{Head6, is_martian, next};
use crate::strategy::Addressing;
use wire::header::{self, ICMP, ICMPV6};

/// Communication administratively prohibited.
const PROHIBITED: Error = Error::new(v6::UNREACHABLE, 1);

/// Error due by RFC 7915; code 13 for untranslatable packets.
pub(super) fn due4(why: Event, config: &Config, frame: &[u8]) -> Option<Error> {
    match why {
        Event::HopLimit => Some(Error::new(v4::TIME_EXCEEDED, 0)),
        Event::SourceRoute => Some(Error::new(v4::UNREACHABLE, 5)),
        Event::TooBig => {
            let fragment = Head4::whole(frame, header::ETH).is_ok_and(|h| h.is_fragment());
            let mtu = u32::from(config.v6.mtu) - if fragment { 28 } else { 20 };
            Some(Error { kind: v4::UNREACHABLE, code: 4, rest: mtu.min(65_535) })
        }
        Event::SourceUnmapped
        | Event::DestinationUnmapped
        | Event::WellKnownPrefixPrivate
        | Event::OutsidePortSet
        | Event::UdpChecksumZero => Some(Error::new(v4::UNREACHABLE, 13)),
        Event::TableFull => Some(Error::new(v4::UNREACHABLE, 1)),
        _ => None,
    }
}

/// Source policy (RFC 7599, sections 8.2 and 8.3) for a source of another subscriber; none for a
/// destination outside the port set (section 8.2), and, where addresses are `silent`, for packets
/// without counterpart.
pub(super) fn due6(why: Event, config: &Config, silent: bool, frame: &[u8]) -> Option<Error> {
    match why {
        Event::HopLimit => Some(Error::new(v6::TIME_EXCEEDED, 0)),
        Event::SourceRoute => {
            let h = Head6::of_frame_in_any_order(frame).ok()?;
            let segments_left = h.source_route? - h.l3 + 3;
            Some(Error { kind: v6::PARAMETER, code: 0, rest: segments_left as u32 })
        }
        Event::TooBig => {
            let mtus = Mtus { v4: config.v4.mtu.into(), v6: config.v6.mtu.into() };
            Some(Error { kind: v6::TOO_BIG, code: 0, rest: icmp::mtu_to6(mtus.v4, mtus) })
        }
        Event::SourceUnmapped | Event::DestinationUnmapped | Event::WellKnownPrefixPrivate if !silent => {
            Some(PROHIBITED)
        }
        // The sender must not wait in vain (RFC 7915, section 5.4); none about unreadable headers.
        Event::BadExtension | Event::UdpChecksumZero => Some(PROHIBITED),
        Event::Spoofed => Some(Error::new(v6::UNREACHABLE, 5)),
        Event::TableFull => Some(icmp::ADDRESS_UNREACHABLE),
        _ => None,
    }
}

impl<A: Addressing> Translate<A> {
    /// Replies with an error; none about ICMP errors, later fragments and senders that are no
    /// single host (RFC 1812, 4.3.2.7).
    pub(super) fn reply4<P: Packet>(&mut self, frame: &[u8], error: Error, spare: &mut dyn Spare<P>) {
        let Ok(h) = Head4::whole(frame, header::ETH) else { return };
        let about = h.protocol == ICMP && frame.get(h.l4).is_none_or(|t| icmp::echo_to6(*t).is_none());
        if about || h.offset > 0 || !is_ordinary(h.src) || !self.may_reply() {
            return;
        }
        let quote = &frame[h.l3..h.end.min(h.l3 + QUOTE4)];
        let len = header::ETH + HEADERS4 + quote.len();
        let Some(mut q) = fresh(spare, len) else { return self.count.add(Event::NoMemory) };
        let id = self.next_identification();
        let b = q.bytes_mut();
        self.ethernet4(b);
        error.write4(&mut b[header::ETH..len], self.config.v4.address.into(), h.src, id, quote);
        self.count.add(Event::IcmpSent);
        spare.emit(self.config.ipv6.other(), q);
    }

    /// Replies with an error; none about ICMPv6 errors and redirects, or to a source that is no
    /// single host (RFC 4443, section 2.4 e).
    pub(super) fn reply6<P: Packet>(&mut self, frame: &[u8], error: Error, spare: &mut dyn Spare<P>) {
        let Ok(h) = Head6::of_frame_in_any_order(frame) else { return };
        // Only the first fragment has the type; a second Fragment Header may be that of a later one.
        let later = h.part.is_some_and(|p| p.offset > 0 || frame[p.at] == next::FRAGMENT);
        let about = h.protocol == ICMPV6 && (later || frame.get(h.l4).is_none_or(|t| icmp::echo_to4(*t).is_none()));
        if about || is_martian(h.src) || !self.may_reply() {
            return;
        }
        let quote = &frame[h.l3..h.end.min(h.l3 + QUOTE6)];
        let len = header::ETH + HEADERS6 + quote.len();
        let Some(mut q) = fresh(spare, len) else { return self.count.add(Event::NoMemory) };
        let b = q.bytes_mut();
        self.ethernet6(b);
        error.write6(&mut b[header::ETH..len], self.config.v6.address.to_bits(), h.src, quote);
        self.count.add(Event::IcmpSent);
        spare.emit(self.config.ipv6, q);
    }

    fn may_reply(&mut self) -> bool {
        let may = self.limiter.allow(self.now, self.config.icmp_errors_per_second);
        if !may {
            self.count.add(Event::IcmpSuppressed);
        }
        may
    }
}
