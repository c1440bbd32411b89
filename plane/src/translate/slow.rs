//! The slow path: each packet by itself, with all checks in a router's order, so that each drop has one reason.

use super::{Translate, reply};
use crate::event::Event;
use crate::function::{Packet, Side, Spare, Verdict};
use crate::icmp_type;
use crate::ip4::{Head4, Route, is_ordinary};
use crate::ip6::{Head6, is_extension, is_link_local, is_martian};
use crate::original_id;
use crate::strategy::Addressing;
use wire::header::{self, ICMP, ICMPV6, be16};

impl<A: Addressing> Translate<A> {
    pub(super) fn slow<P: Packet>(&mut self, from: Side, p: &mut P, spare: &mut dyn Spare<P>) -> Verdict {
        let over_ipv6 = from == self.config.ipv6;
        let result = match self.link(over_ipv6, p.bytes()) {
            Ok(true) if over_ipv6 => {
                self.over_ipv6(p, spare).map(|to| to.map_or(Verdict::Local, |to| self.over_or_back::<P>(to, p, spare)))
            }
            Ok(true) => self.over_ipv4::<P, P>(p, spare),
            Ok(false) => Ok(Verdict::Local),
            Err(why) => Err(why),
        };
        match result {
            Ok(Verdict::Local) => {
                self.count.add(Event::Local);
                Verdict::Local
            }
            Ok(verdict) => verdict,
            Err(why) => {
                if over_ipv6 {
                    self.refuse6(p.bytes(), why, spare);
                } else {
                    self.refuse4(p, why, spare);
                }
                self.count.add(why);
                Verdict::Drop
            }
        }
    }

    /// Whether the frame is to us, with the IP version of that side.
    fn link(&self, over_ipv6: bool, b: &[u8]) -> Result<bool, Event> {
        if b.len() < header::ETH {
            return Err(Event::Short);
        }
        let (own, kind) = if over_ipv6 { (self.v6.own, header::TYPE_IPV6) } else { (self.v4.own, header::TYPE_IPV4) };
        let group = b[0] & 1 == 1;
        if !group && !own.receives(b) {
            return Err(Event::OtherMac);
        }
        if be16(b, 12) != kind {
            return Ok(false);
        }
        // Neighbour discovery to us.
        if group && !over_ipv6 {
            return Err(Event::LinkMulticast);
        }
        if group && !Head6::of_frame_in_any_order(b)?.is_discovery(b) {
            return Err(Event::LinkMulticast);
        }
        Ok(true)
    }

    pub(super) fn over_ipv4<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        let b = p.bytes();
        let h = Head4::whole(b, header::ETH)?;
        let route = h.route(b)?;
        let error = is_error4(&h, b);
        // Any source of an ICMP error is translated, for troubleshooting (RFC 7915, section 4.1).
        if !is_ordinary(h.src) && !error {
            return Err(Event::MartianSource);
        }
        // Forged, unless the packet was just hairpinned, or is from a NAT with the same address.
        if h.src == u32::from(self.config.v4.address) && !self.turning && !self.addressing.is_gateway(h.src) {
            return Err(Event::MartianSource);
        }
        if h.dst >> 28 == 0xe {
            return Err(Event::Multicast);
        }
        if !is_ordinary(h.dst) {
            return Err(Event::MartianDestination);
        }
        if h.dst == u32::from(self.config.v4.address) {
            return Ok(Verdict::Local);
        }
        if h.ttl <= u8::from(self.config.hop) {
            return Err(Event::HopLimit);
        }
        if route == Route::Fixed {
            return Err(Event::SourceRoute);
        }
        if !passes(h.protocol, ICMPV6) {
            return Err(Event::Protocol);
        }
        if error {
            return self.error_to6(p, &h).map(Verdict::Forward);
        }
        self.to6(p, &h, spare)
    }

    /// Returns the side that the packet leaves on, or `None` for the machine itself.
    fn over_ipv6<P: Packet>(&mut self, p: &mut P, spare: &mut dyn Spare<P>) -> Result<Option<Side>, Event> {
        let b = p.bytes();
        let h = Head6::of_frame_in_any_order(b)?;
        let own = self.config.v6.address.to_bits();
        if is_link_local(h.dst) || h.is_discovery(b) {
            return Ok(None);
        }
        if h.src == own {
            return Err(Event::MartianSource);
        }
        if h.dst == own {
            return Ok(None);
        }
        if is_martian(h.src) {
            return Err(Event::MartianSource);
        }
        if h.dst >> 120 == 0xff {
            return Err(Event::Multicast);
        }
        if is_martian(h.dst) {
            return Err(Event::MartianDestination);
        }
        if h.hop_limit <= u8::from(self.config.hop) {
            return Err(Event::HopLimit);
        }
        if h.source_route.is_some() {
            return Err(Event::SourceRoute);
        }
        // Behind a fragment header no other extension header can be skipped (RFC 7915, section 5.1.1).
        if h.part.is_some_and(|part| is_extension(b[part.at])) {
            return Err(Event::BadExtension);
        }
        if !passes(h.protocol, ICMP) {
            return Err(Event::Protocol);
        }
        if h.protocol == ICMPV6 && !h.is_fragment() && h.l4 < h.end && icmp_type::is_error6(b[h.l4]) {
            return self.error_to4(p, &h).map(Some);
        }
        self.to4(p, &h, spare).map(Some)
    }

    pub(super) fn refuse4<F: Packet, P: Packet>(&mut self, p: &mut F, why: Event, spare: &mut dyn Spare<P>) {
        if let Some(error) = reply::due4(why, &self.config, p.bytes()) {
            original_id::restore(self.config.v4.mac, p.bytes_mut());
            self.reply4(p.bytes(), error, spare);
        }
    }

    fn refuse6<P: Packet>(&mut self, b: &[u8], why: Event, spare: &mut dyn Spare<P>) {
        if let Some(error) = reply::due6(why, &self.config, self.addressing.is_silent(), b) {
            self.reply6(b, error, spare);
        }
    }
}

/// Whether a protocol passes: not the other version's ICMP, no extension header, no IGMP, which
/// ends at the link (RFC 7915, section 4.2).
pub(super) fn passes(protocol: u8, other_icmp: u8) -> bool {
    const IGMP: u8 = 2;
    protocol != other_icmp && protocol != IGMP && !matches!(protocol, 0 | 43 | 44 | 60)
}

fn is_error4(h: &Head4, b: &[u8]) -> bool {
    h.protocol == ICMP && !h.is_fragment() && h.l4 < h.end && icmp_type::is_error4(b[h.l4])
}
