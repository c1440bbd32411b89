//! The interface of plane functions: a batch of packets in, a verdict for each out.

use crate::inner_link::Nesting;
pub use crate::side::Side;
pub use arena::Packet;
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::time::Duration;
/// Packets of one batch.
pub use wire::BATCH;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send it out on this side.
    Forward(Side),
    /// Drop it; the function has counted the reason.
    Drop,
    /// Put it into that worker's inbox, with its side. The function may have written into it.
    HandOver(u16),
    /// The packet is for the machine itself (ARP, ND, management).
    Local,
    /// Copied, or part of a datagram already sent: the caller frees the packet.
    Held,
}

/// At most [`BATCH`] packets that came in together.
pub struct Input<'a, P> {
    /// Nanoseconds of any monotonic clock.
    pub now: u64,
    /// The side where they came in.
    pub from: Side,
    /// The packets.
    pub packets: &'a mut [P],
    /// The verdict on each, to be written.
    pub verdicts: &'a mut [Verdict],
}

impl<'a, P> Input<'a, P> {
    /// Packets with as many verdicts.
    #[inline]
    pub fn new(now: u64, from: Side, packets: &'a mut [P], verdicts: &'a mut [Verdict]) -> Input<'a, P> {
        Input { now, from, packets, verdicts }
    }

    /// The packets in these places.
    #[inline]
    pub fn part(&mut self, places: Range<usize>) -> Input<'_, P> {
        Input::new(self.now, self.from, &mut self.packets[places.clone()], &mut self.verdicts[places])
    }
}

/// Packets outside the batch: fragments, ICMP errors.
pub trait Spare<P> {
    /// A packet of `len` undefined bytes; `None` without memory.
    fn fresh(&mut self, len: usize) -> Option<P>;
    /// Sends a packet out on a side, after those of the batch.
    fn emit(&mut self, to: Side, packet: P);
    /// Puts a packet into another worker's inbox as if it had come in on `from`. Never called with one worker.
    fn hand_over(&mut self, to: u16, from: Side, packet: P);
}

/// A spare without packets, for benchmarks.
pub struct NoSpare;

impl<P> Spare<P> for NoSpare {
    fn fresh(&mut self, _: usize) -> Option<P> {
        None
    }
    fn emit(&mut self, _: Side, _: P) {}
    fn hand_over(&mut self, _: u16, _: Side, _: P) {}
}

/// Minimum frame length in octets, without FCS.
pub(crate) const LEAST_FRAME: usize = 60;

/// Zeroed, of at least the minimum length.
pub(crate) fn fresh<P: Packet>(spare: &mut dyn Spare<P>, len: usize) -> Option<P> {
    let want = len.max(LEAST_FRAME);
    let mut p = spare.fresh(want).filter(|p| p.bytes().len() == want)?;
    p.bytes_mut().fill(0);
    Some(p)
}

/// Keeps what a function emits about a packet until the packet has been sent, so that fragments
/// keep their order (RFC 7915, section 4). Not for frames of the batch, which precede emitted
/// packets.
pub(crate) struct Followers<'a, P> {
    spare: &'a mut dyn Spare<P>,
    emitted: Vec<(Side, P)>,
}

impl<'a, P: Packet> Followers<'a, P> {
    pub(crate) fn new(spare: &'a mut dyn Spare<P>) -> Followers<'a, P> {
        Followers { spare, emitted: Vec::new() }
    }

    /// Sends the packet, then the kept ones.
    pub(crate) fn send(self, verdict: Verdict, from: Side, packet: P) {
        match verdict {
            Verdict::Forward(to) => self.spare.emit(to, packet),
            Verdict::HandOver(worker) => self.spare.hand_over(worker, from, packet),
            Verdict::Drop | Verdict::Held | Verdict::Local => {}
        }
        self.send_rest();
    }

    fn send_rest(self) {
        self.emitted.into_iter().for_each(|(to, p)| self.spare.emit(to, p));
    }

    /// Sends a copy; false without memory.
    #[must_use]
    fn send_copy(mut self, verdict: Verdict, from: Side, frame: &[u8]) -> bool {
        if matches!(verdict, Verdict::Drop | Verdict::Held | Verdict::Local) {
            self.send_rest();
            return true;
        }
        let Some(mut p) = self.fresh(frame.len()).filter(|p| p.bytes().len() == frame.len()) else { return false };
        p.bytes_mut().copy_from_slice(frame);
        self.send(verdict, from, p);
        true
    }
}

impl<P> Spare<P> for Followers<'_, P> {
    fn fresh(&mut self, len: usize) -> Option<P> {
        self.spare.fresh(len)
    }
    fn emit(&mut self, to: Side, packet: P) {
        self.emitted.push((to, packet));
    }
    fn hand_over(&mut self, to: u16, from: Side, packet: P) {
        self.spare.hand_over(to, from, packet);
    }
}

/// Decides for a packet outside the caller's frames; false without memory.
#[must_use]
pub(crate) fn decide_copy<F: Packet, P: Packet>(
    from: Side,
    p: &mut F,
    spare: &mut dyn Spare<P>,
    decide: impl FnOnce(&mut F, &mut Followers<P>) -> Verdict,
) -> bool {
    let mut behind = Followers::new(spare);
    let verdict = decide(p, &mut behind);
    behind.send_copy(verdict, from, p.bytes())
}

/// Name and value, in a fixed order.
pub type Drops = Vec<(&'static str, u64)>;

/// One worker's share of a technology.
pub trait Function: Send {
    /// Works on packets. Without traffic, an empty input is needed from time to time: packets due
    /// later are emitted through `spare`.
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>);

    /// Background work (timers), when idle or every few batches.
    fn idle(&mut self, _now: u64) {}

    /// Background work, all that is due, however long it takes.
    fn catch_up(&mut self, now: u64) {
        self.idle(now);
    }

    /// Forgets all state, in constant time.
    fn clear(&mut self) {}

    /// Sessions and mappings; `None` for stateless functions.
    fn entries(&self) -> Option<(u64, u64)> {
        None
    }

    /// Counters with drop reasons.
    fn counters(&self) -> Drops;

    /// What a complete listing must read.
    fn places(&self) -> u64 {
        0
    }

    /// The entries in these [places](Function::places), unordered.
    fn sessions(&self, _now: u64, _places: Range<u64>) -> Vec<TableEntry> {
        Vec::new()
    }

    /// Checks whether [`Function::adopt`] would succeed.
    ///
    /// # Errors
    /// What differs and cannot be changed while there is state.
    fn can_adopt(&self, new: &Self) -> Result<(), String>
    where
        Self: Sized;

    /// Takes over the configuration of `new` without losing state, counters or waiting packets.
    /// `new` may have minimal tables and another seed. Afterwards it holds what is no longer
    /// needed.
    ///
    /// Required: replacing the function would reset its counters.
    ///
    /// # Errors
    /// As [`Function::can_adopt`]; nothing is changed then.
    fn adopt(&mut self, new: &mut Self) -> Result<(), String>
    where
        Self: Sized;

    /// Sessions that adopting `new` ends, at most so many.
    fn ending(&self, _new: &Self, _most: usize) -> Vec<TableEntry>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Shares with the first of several workers what all of them must know.
    fn agree_with(&mut self, _first: &Self)
    where
        Self: Sized,
    {
    }

    /// Becomes part of a [`crate::Chain`]. Functions that hold others pass it on.
    fn nest(&mut self, _nested: Nesting) {}
}

/// Lets workers share what all of them must know.
pub fn agree<F: Function>(workers: &mut [F]) {
    if let [first, others @ ..] = workers {
        for other in others {
            other.agree_with(first);
        }
    }
}

/// An entry of a state table, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// The half with the entry; empty for a single function.
    pub part: &'static str,
    /// Far end of the customer's tunnel, where it identifies the customer.
    pub softwire: Option<Ipv6Addr>,
    /// Protocol number.
    pub protocol: u8,
    /// Customer's end point; the port of ICMP is the identifier.
    pub inside: SocketAddr,
    /// The outside end point.
    pub outside: SocketAddr,
    /// The remote end point.
    pub remote: SocketAddr,
    /// Time since the last packet that counted.
    pub idle: Duration,
}

/// An error names the first setting that differs.
pub(crate) fn unchanged(settings: &[(&str, bool)], runs: &str) -> Result<(), String> {
    let differs = settings.iter().find(|(_, differs)| *differs);
    differs.map_or(Ok(()), |(what, _)| Err(format!("{what}: cannot be changed while {runs}; restart the gateway")))
}

/// Why settings of a function with sessions cannot change.
pub(crate) const SESSIONS: &str = "there are sessions";
