//! Unsolicited inbound SYNs, held for six seconds before they are answered (RFC 5382, REQ-4). Their senders have no
//! number.

use super::Nat66;
use super::event::Event;
use super::reply::PORT_UNREACHABLE;
use crate::function::{Packet, Side, Spare};
use crate::icmp_error::QUOTE6;
use crate::ip6::Head6;
use crate::nat44::core::{Asks, Point};
use crate::nat44::pending_syn::PendingSyns;
use crate::nat44::tcp;
use wire::header::{self, TCP};

/// Outside end point by number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Conversation {
    pub own: Point,
    pub remote: (u128, u16),
}

/// SYNs, kept as far as the answer quotes frames (RFC 4443, section 2.4 c).
pub(super) type PendingSyns6 = PendingSyns<Conversation, { header::ETH + QUOTE6 }>;

impl Nat66 {
    /// A SYN waits: the customer may still open the connection.
    pub(super) fn refused(&mut self, why: Event, frame: &[u8], asks: &Asks, sender: u128) -> Event {
        let unasked = matches!(why, Event::NoSession | Event::Filtered);
        if !unasked || asks.protocol != TCP || !tcp::opens(asks.flags) || asks.hairpin {
            return why;
        }
        let between = Conversation { own: asks.own, remote: (sender, asks.remote.port) };
        self.pending_syns.hold(self.now, between, frame);
        Event::SynHeld
    }

    #[inline]
    pub(super) fn answer_pending_syns<P: Packet>(&mut self, spare: &mut dyn Spare<P>) {
        while !self.pending_syns.is_empty() {
            let Some((frame, len)) = self.pending_syns.take_due(self.now) else { return };
            if let Ok(head) = Head6::read(&frame[..len], header::ETH) {
                self.reply(Side::Internet, &frame[..len], &head, PORT_UNREACHABLE, spare);
            }
        }
    }
}
