//! Errors about dropped packets (RFC 4443, section 2.4 and 3).

use super::Nat66;
use super::event::Event;
use crate::function::{Packet, Side, Spare, fresh};
use crate::icmp_error::{Error, HEADERS6, QUOTE6};
use crate::icmp_type::v6;
use crate::ip6::{Head6, is_martian};
use wire::header::{self, ICMPV6, put16};

/// Destination unreachable, by code: prohibited, address unreachable, port unreachable, source failed ingress policy.
const PROHIBITED: Error = Error::new(1, 1);
const ADDRESS_UNREACHABLE: Error = Error::new(1, 3);
pub(super) const PORT_UNREACHABLE: Error = Error::new(1, 4);
const SOURCE_POLICY: Error = Error::new(1, 5);
const TIME_EXCEEDED: Error = Error::new(3, 0);

impl Nat66 {
    pub(super) fn refuse<P: Packet>(&mut self, from: Side, b: &[u8], why: Event, spare: &mut dyn Spare<P>) {
        if let Some(error) = self.due(from, b, why)
            && let Ok(head) = Head6::of_frame(b)
        {
            self.reply(from, b, &head, error, spare);
        }
    }

    fn due(&self, from: Side, b: &[u8], why: Event) -> Option<Error> {
        match why {
            Event::HopLimit => Some(TIME_EXCEEDED),
            Event::TooBig => {
                let back = Head6::of_frame(b).is_ok_and(|h| self.config.pool.number(h.dst).is_some());
                let egress = if from == Side::Customer && !back { Side::Internet } else { Side::Customer };
                Some(Error { kind: 2, code: 0, rest: self.side(egress).mtu.into() })
            }
            // Others learn nothing about free resources and supported protocols.
            _ if from == Side::Internet => None,
            Event::SourceRoute => {
                let h = Head6::of_frame(b).ok()?;
                let segments_left = h.source_route? - h.l3 + 3;
                Some(Error { kind: 4, code: 0, rest: segments_left as u32 })
            }
            Event::Protocol => Some(PROHIBITED),
            Event::NotInside => Some(SOURCE_POLICY),
            Event::TableFull | Event::RemotesFull | Event::MappingFull | Event::NoPort | Event::Quota => {
                Some(ADDRESS_UNREACHABLE)
            }
            _ => None,
        }
    }

    /// `frame` may be truncated. None about ICMPv6 errors, redirects and hairpins, or to a source
    /// that is no single host (RFC 4443, section 2.4 e).
    pub(super) fn reply<P: Packet>(
        &mut self,
        side: Side,
        frame: &[u8],
        h: &Head6,
        error: Error,
        spare: &mut dyn Spare<P>,
    ) {
        let later = h.part.is_some_and(|part| part.offset > 0);
        let query = |kind: &u8| matches!(*kind, v6::ECHO | v6::ECHO_REPLY);
        let about_error = h.protocol == ICMPV6 && (later || !frame.get(h.l4).is_some_and(query));
        if about_error || is_martian(h.src) || self.config.pool.number(h.src).is_some() {
            return;
        }
        if !self.limiter.allow(self.now, self.config.nat.icmp_errors_per_second) {
            return self.count.add(Event::IcmpSuppressed);
        }
        let quote = &frame[h.l3..h.end.min(h.l3 + QUOTE6).min(frame.len())];
        let len = header::ETH + HEADERS6 + quote.len();
        let Some(mut p) = fresh(spare, len) else { return self.count.add(Event::NoMemory) };
        let b = p.bytes_mut();
        b[..12].copy_from_slice(&self.link_of(side).leaving);
        put16(b, 12, header::TYPE_IPV6);
        error.write6(&mut b[header::ETH..len], self.side(side).address.to_bits(), h.src, quote);
        self.count.add(Event::IcmpSent);
        spare.emit(side, p);
    }
}
