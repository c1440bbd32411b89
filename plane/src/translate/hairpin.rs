//! Packets between customers at a MAP-T border relay. In hub-and-spoke mode a CE accepts only sources under the default
//! rule (RFC 7599, section 8.2), so the packet is translated to IPv4 and back without leaving over IPv4.

use super::{Hairpinning, Translate};
use crate::event::Event;
use crate::function::{Packet, Side, Spare, Verdict, decide_copy};
use crate::strategy::Addressing;
use wire::header::be32;

/// Offset of the IPv4 destination in a frame.
const DESTINATION: usize = 30;

impl<A: Addressing> Translate<A> {
    #[inline(always)]
    pub(super) fn comes_back(&self, dst: u32) -> bool {
        self.config.hairpinning == Hairpinning::Intrinsic
            && self.addressing.serves(dst)
            && dst != u32::from(self.config.v4.address)
    }

    /// Sends the packet out, or back over IPv6.
    pub(super) fn over_or_back<P: Packet>(&mut self, to: Side, p: &mut P, spare: &mut dyn Spare<P>) -> Verdict {
        if to == self.config.ipv6 || !self.comes_back(be32(p.bytes(), DESTINATION)) {
            return Verdict::Forward(to);
        }
        // As from the next router: another worker may continue with it.
        p.bytes_mut()[..6].copy_from_slice(&self.config.v4.mac.0);
        self.turning = true;
        let result = self.over_ipv4::<P, P>(p, spare);
        self.turning = false;
        match result {
            Ok(Verdict::HandOver(worker)) => {
                // As if it had come in over IPv4.
                if !decide_copy(self.config.ipv6.other(), p, spare, |_, _| Verdict::HandOver(worker)) {
                    self.count.add(Event::NoMemory);
                }
                Verdict::Drop
            }
            Ok(verdict) => verdict,
            // No error, as without a customer (RFC 7599, section 8.2).
            Err(why) => {
                self.count.add(why);
                Verdict::Drop
            }
        }
    }

    pub(super) fn count_to6(&mut self) {
        self.count.add(if self.turning { Event::Hairpinned } else { Event::ToIpv6 });
    }
}
