//! Fragments: each is translated by itself once the ports of its datagram are known; those before the first wait.

use super::Nat66;
use super::event::Event;
use super::packet::{Way, shown};
use crate::fragment::{Buffer, Piece};
use crate::function::{Packet, Side, Spare, Verdict, decide_copy};
use crate::steer::by_hash;

/// A fragmented datagram (RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Datagram {
    ends: (u128, u128),
    id: u32,
    protocol: u8,
    outbound: bool,
}

impl Nat66 {
    /// With several workers, a hash selects one that collects a datagram's fragments from the
    /// Internet, and hands them over to the worker that owns their port.
    pub(super) fn fragment<F: Packet, P: Packet>(
        &mut self,
        p: &mut F,
        way: &Way,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        let (b, h) = (p.bytes(), &way.head);
        let Some(part) = h.part else { return Err(Event::BadExtension) };
        if self.workers > 1 && way.from == Side::Internet && !way.marked {
            let worker = by_hash(b[22..54].iter().copied().chain(part.id.to_be_bytes()), self.workers.into()) as u16;
            if worker != self.worker {
                return Ok(self.hand_over(worker));
            }
        }
        let outbound = way.from == Side::Customer && !way.second;
        let key = Datagram { ends: (h.src, h.dst), id: part.id, protocol: h.protocol, outbound };
        let ports = if part.offset == 0 { shown(b, way)? } else { [None; 2] };
        let piece = Piece { offset: part.offset, len: h.end - h.l4, more: part.more };
        let ports = self.tracker.ports(self.now, key, piece, ports, b);
        let lost = self.tracker.take_lost();
        self.count.add_many(Event::FragmentFull, lost);
        let Some(ports) = ports? else {
            self.count.add(Event::FragmentHeld);
            return Ok(Verdict::Held);
        };
        let result = self.translate(p, &Way { ports: ports.map(Option::unwrap_or_default), ..*way });
        if part.offset == 0 {
            self.let_go(way.from, &key, spare);
        }
        result
    }

    fn let_go<P: Packet>(&mut self, from: Side, key: &Datagram, spare: &mut dyn Spare<P>) {
        for kept in self.tracker.take_kept(key) {
            let mut copy = Buffer::copy(&kept.bytes);
            if !decide_copy(from, &mut copy, spare, |p, behind| self.one(from, p, behind)) {
                self.count.add(Event::NoMemory);
            }
        }
    }
}
