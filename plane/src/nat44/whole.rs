//! Protocols whose ports a NAT does not translate (GRE, ESP, SCTP, …), of hosts with a whole outside
//! address, as in a Basic NAT (RFC 3022): translates only addresses, also in fragments, without sessions.

use super::Nat44;
use super::counters::Event;
use super::rewrite::{End, endpoint as change};
use super::session::{addr, endpoint};
use crate::function::{Packet, Side, Verdict};
use crate::ip4::Head4;
use wire::header::TCP;

impl Nat44 {
    pub(super) fn pass_whole<P: Packet>(&mut self, from: Side, p: &mut P, head: &Head4) -> Result<Verdict, Event> {
        let hairpin = from == Side::Customer && self.pool.contains(head.dst);
        if hairpin && !self.config.hairpinning {
            return Err(Event::Hairpin);
        }
        let to = if hairpin { Side::Customer } else { from.other() };
        let source = match from {
            Side::Customer => self.whole_outside(head.src, head.dst).ok_or(Event::Protocol)?,
            Side::Internet => head.src,
        };
        let destination = match to {
            Side::Customer => self.whole_inside(head.dst, source).ok_or(Event::Protocol)?,
            Side::Internet => head.dst,
        };
        self.fits(head, to)?;
        let b = &mut p.bytes_mut()[..head.end];
        for (end, address) in [(End::Source, source), (End::Destination, destination)] {
            change(b, head.l3, head.l4, end, endpoint(address, 0, head.protocol));
        }
        let event = match (from, to) {
            (Side::Internet, _) => Event::Out2In,
            (_, Side::Internet) => Event::In2Out,
            _ => Event::Hairpinned,
        };
        Ok(self.depart(p, to, event))
    }

    /// The outside address of a host that sends to `remote`, if it has a whole one.
    pub(super) fn whole_outside(&mut self, inside: u32, remote: u32) -> Option<u32> {
        let outside = self.statics.as_ref()?.whole_outside(inside & !self.config.aliases)?;
        if self.aliases != 0
            && !self.pool.contains(remote)
            && let Some(statics) = &mut self.statics
        {
            statics.used_by(inside.into(), endpoint(outside, 1, TCP), self.aliases);
        }
        Some(outside)
    }

    /// The host whose whole outside address this is, for packets from `remote`.
    pub(super) fn whole_inside(&self, outside: u32, remote: u32) -> Option<u32> {
        let inside = self.statics.as_ref()?.whole_inside(outside)?;
        Some(addr(self.carried(inside.into(), remote.into())))
    }
}
