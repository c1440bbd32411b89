//! Unsolicited inbound SYNs, held for six seconds before they are answered (RFC 5382, REQ-4): the customer
//! may be about to open the same connection from inside. A bounded queue, because anybody can send SYNs.

use super::Nat44;
use super::reply::PORT_UNREACHABLE;
use crate::function::{Packet, Side, Spare};
use std::collections::VecDeque;

/// Most SYNs held.
const MOST: usize = 256;
/// How long, in nanoseconds.
const HOLD: u64 = 6_000_000_000;
/// Octets kept: a header with all options and what an ICMP error must quote.
const KEPT: usize = 68;

struct Held {
    outside: u64,
    remote: u64,
    due: u64,
    packet: [u8; KEPT],
    len: usize,
}

/// SYNs that wait for their answer, oldest first.
pub struct HeldSyns(VecDeque<Held>);

impl HeldSyns {
    /// None yet; room is taken now.
    pub fn new() -> HeldSyns {
        HeldSyns(VecDeque::with_capacity(MOST))
    }

    /// Hold a SYN; `packet` is its IPv4 packet. Without room it is not held, and so never answered.
    pub fn hold(&mut self, now: u64, outside: u64, remote: u64, packet: &[u8]) {
        if self.0.len() >= MOST || self.0.iter().any(|h| h.outside == outside && h.remote == remote) {
            return;
        }
        let len = packet.len().min(KEPT);
        let mut kept = [0; KEPT];
        kept[..len].copy_from_slice(&packet[..len]);
        self.0.push_back(Held { outside, remote, due: now + HOLD, packet: kept, len });
    }

    /// The customer opened this connection: the held SYN, if there is one, is silently dropped.
    pub fn forget(&mut self, outside: u64, remote: u64) -> bool {
        let before = self.0.len();
        if before > 0 {
            self.0.retain(|h| h.outside != outside || h.remote != remote);
        }
        self.0.len() < before
    }

    /// Forget all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Nat44 {
    /// Answer the SYNs whose time has come.
    #[inline]
    pub(super) fn answer_held<P: Packet, S: Spare<P>>(&mut self, spare: &mut S) {
        while self.held.0.front().is_some_and(|h| h.due <= self.now) {
            let Some(h) = self.held.0.pop_front() else { return };
            self.reply(Side::Internet, &h.packet[..h.len], PORT_UNREACHABLE, spare);
        }
    }
}
