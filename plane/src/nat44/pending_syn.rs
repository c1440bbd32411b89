//! Unsolicited inbound SYNs, held for six seconds before they are answered (RFC 5382, REQ-4): the
//! customer may be about to open the same connection.

use super::Nat44;
use super::reply::PORT_UNREACHABLE;
use crate::function::{Packet, Side, Spare, Verdict};
use crate::ip4::Head4;
use std::collections::VecDeque;

const MOST: usize = 256;
/// How long a SYN is held, in nanoseconds.
const HOLD: u64 = 6_000_000_000;
/// What an ICMP error must quote of an IPv4 packet.
const KEPT: usize = 68;

struct PendingSyn<K, const KEPT: usize> {
    between: K,
    due: u64,
    packet: [u8; KEPT],
    len: usize,
}

/// Held SYNs, oldest first, identified by their two end points.
pub(crate) struct PendingSyns<K, const KEPT: usize>(VecDeque<PendingSyn<K, KEPT>>);

/// SYNs by outside and remote end point.
pub(crate) type PendingSyns4 = PendingSyns<(u64, u64), KEPT>;

impl<K: PartialEq, const KEPT: usize> PendingSyns<K, KEPT> {
    pub(crate) fn new() -> PendingSyns<K, KEPT> {
        PendingSyns(VecDeque::with_capacity(MOST))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Holds a SYN; a full queue never answers.
    pub(crate) fn hold(&mut self, now: u64, between: K, packet: &[u8]) {
        if self.0.len() >= MOST || self.0.iter().any(|h| h.between == between) {
            return;
        }
        let len = packet.len().min(KEPT);
        let mut kept = [0; KEPT];
        kept[..len].copy_from_slice(&packet[..len]);
        self.0.push_back(PendingSyn { between, due: now + HOLD, packet: kept, len });
    }

    /// Forgets the SYN, since the customer opened this connection.
    pub(crate) fn forget(&mut self, between: &K) -> bool {
        let before = self.0.len();
        if before > 0 {
            self.0.retain(|h| h.between != *between);
        }
        self.0.len() < before
    }

    /// Octets kept, and their number.
    pub(crate) fn take_due(&mut self, now: u64) -> Option<([u8; KEPT], usize)> {
        self.0.front().filter(|h| h.due <= now)?;
        self.0.pop_front().map(|h| (h.packet, h.len))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Nat44 {
    #[inline]
    pub(super) fn answer_pending_syns<P: Packet>(&mut self, spare: &mut dyn Spare<P>) {
        while let Some((packet, len)) = self.pending_syns.take_due(self.now) {
            match Head4::sealed(&packet[..len], 0) {
                // Only hairpinned packets have a source in the pool.
                Ok(head) if self.pool.contains(head.src) && self.config.hairpinning => {
                    self.answer_hairpinned(&packet[..len], &head, spare);
                }
                _ => self.reply(Side::Internet, &packet[..len], PORT_UNREACHABLE, spare),
            }
        }
    }

    /// Answers with an error from the outside address that the sender sent to.
    fn answer_hairpinned<P: Packet>(&mut self, packet: &[u8], head: &Head4, spare: &mut dyn Spare<P>) {
        let Some(mut p) = self.error_frame(Side::Customer, head.dst, packet, PORT_UNREACHABLE, spare) else { return };
        let answer = Head4::of_frame(p.bytes()).and_then(|answer| self.error_in(&mut p, &answer, true));
        match answer {
            Ok(Verdict::Forward(to)) => spare.emit(to, p),
            Ok(Verdict::HandOver(worker)) => spare.hand_over(worker, Side::Customer, p),
            Ok(Verdict::Drop | Verdict::Held | Verdict::Local) => {}
            Err(why) => self.count.add(why),
        }
    }
}
