//! The interface of every plane function: a batch of packets in, a verdict for each out. Written once
//! here so that gateway, file mode and fuzz targets run any technology the same way.

use crate::inner_link::Nested;
pub use crate::side::Side;
pub use arena::Packet;
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::time::Duration;
/// Maximum number of packets of one batch.
pub use wire::BATCH;

/// What is to become of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send it out on this side.
    Forward(Side),
    /// Drop it; the function has counted the reason.
    Drop,
    /// This worker cannot decide: put it into that worker's inbox, with the side that it came in on. The function may
    /// have written into it, so the other worker must get the same bytes.
    HandOver(u16),
    /// It is for the machine itself (ARP, ND, management): the caller keeps it, the function nothing of it.
    Local,
    /// It is a fragment, and not dropped: the function keeps a copy until its datagram is known or complete, or has sent the
    /// datagram that it completes. The caller frees the packet.
    Held,
}

/// Where a function gets and leaves packets that are not in the batch: fragments, ICMP errors.
pub trait Spare<P> {
    /// A fresh packet of `len` bytes, contents undefined; `None` when there is no memory left.
    fn fresh(&mut self, len: usize) -> Option<P>;
    /// Send a packet out on a side, after the packets of the batch.
    fn emit(&mut self, to: Side, packet: P);
    /// Put a packet into another worker's inbox as if it had come in on `from`: fragments that had to wait until their
    /// worker was known. Never called with one worker.
    fn hand_over(&mut self, to: u16, from: Side, packet: P);
}

/// Provides no packets and sends none: for callers that only read verdicts (benchmarks).
pub struct NoSpare;

impl<P> Spare<P> for NoSpare {
    fn fresh(&mut self, _: usize) -> Option<P> {
        None
    }
    fn emit(&mut self, _: Side, _: P) {}
    fn hand_over(&mut self, _: u16, _: Side, _: P) {}
}

/// Shortest Ethernet frame without FCS.
pub(crate) const LEAST_FRAME: usize = 60;

/// A fresh packet for a frame of `len` octets: zeros, and at least as many as a frame must have.
pub(crate) fn fresh<P: Packet>(spare: &mut dyn Spare<P>, len: usize) -> Option<P> {
    let want = len.max(LEAST_FRAME);
    let mut p = spare.fresh(want).filter(|p| p.bytes().len() == want)?;
    p.bytes_mut().fill(0);
    Some(p)
}

/// Keeps what a function emits about a packet until the packet itself has been sent, so that fragments keep their order
/// (RFC 7915, section 4). Not for frames of the batch: these are sent before all emitted packets anyway.
pub(crate) struct Behind<'a, P> {
    spare: &'a mut dyn Spare<P>,
    emitted: Vec<(Side, P)>,
}

impl<'a, P: Packet> Behind<'a, P> {
    pub(crate) fn new(spare: &'a mut dyn Spare<P>) -> Behind<'a, P> {
        Behind { spare, emitted: Vec::new() }
    }

    /// Executes the verdict on the packet, which came in on `from`, then sends the packets that were kept.
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

    /// The same with a copy of the packet. False when there is no memory for it.
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

impl<P> Spare<P> for Behind<'_, P> {
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

/// Decides about a packet from `from` that is not in a frame of the caller, and sends a copy of it, if its verdict says
/// so. False when there is no memory for the copy.
#[must_use]
pub(crate) fn decide_copy<F: Packet, P: Packet>(
    from: Side,
    p: &mut F,
    spare: &mut dyn Spare<P>,
    decide: impl FnOnce(&mut F, &mut Behind<P>) -> Verdict,
) -> bool {
    let mut behind = Behind::new(spare);
    let verdict = decide(p, &mut behind);
    behind.send_copy(verdict, from, p.bytes())
}

/// Named drop reasons and other counters, in a fixed order: name and value.
pub type Drops = Vec<(&'static str, u64)>;

/// A plane function: one worker's share of a technology.
pub trait Function: Send {
    /// Work on a batch of at most [`BATCH`] packets that came in on `from` at time `now` (nanoseconds of any monotonic
    /// clock), and write a verdict for each: `verdicts[i]` belongs to `batch[i]`. An empty batch is allowed, and needed
    /// from time to time when no packets arrive: packets that are due later (ICMP errors about held packets) are
    /// emitted through `spare`, which [`Function::idle`] does not have.
    fn process<P: Packet>(
        &mut self,
        now: u64,
        from: Side,
        batch: &mut [P],
        verdicts: &mut [Verdict],
        spare: &mut dyn Spare<P>,
    );

    /// A little background work (timers) when there is nothing to do or every few batches.
    fn idle(&mut self, now: u64);

    /// Forget all state, in constant time.
    fn clear(&mut self);

    /// Entries of state: (sessions, mappings). `None` for stateless functions.
    fn entries(&self) -> Option<(u64, u64)>;

    /// Counters, drop reasons included.
    fn counters(&self) -> Drops;

    /// How many places of the state table may hold an entry now: those that a complete listing must read.
    fn places(&self) -> u64 {
        0
    }

    /// The entries in these of its [places](Function::places), in no order; stateless functions have none. A caller
    /// that lists a large table reads a part of it at a time, so that packets do not wait.
    fn sessions(&self, _now: u64, _places: Range<u64>) -> Vec<Entry> {
        Vec::new()
    }

    /// Checks whether [`Function::adopt`] would succeed.
    ///
    /// # Errors
    /// What differs and cannot be changed while there is state.
    fn can_adopt(&self, new: &Self) -> Result<(), String>
    where
        Self: Sized;

    /// Take over the configuration of `new` without losing state, counters or packets that wait: this changes the
    /// configuration of a running function. `new` may have been made with the smallest of tables and another seed.
    /// Required: replacing the function would lose its counters. Afterwards `new` holds what is no longer needed, to be
    /// dropped where that delays no packets: it may be gigabytes of rules.
    ///
    /// # Errors
    /// As [`Function::can_adopt`]; nothing is changed then.
    fn adopt(&mut self, new: &mut Self) -> Result<(), String>
    where
        Self: Sized;

    /// Become a part of a [`crate::Chain`]: the marks of all inner links in it follow from the outermost one's.
    /// Functions that hold others pass it on; those without an inner link have nothing to do.
    fn nest(&mut self, nested: Nested);
}

/// An entry of a state table, for people and monitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which of several functions in a row keeps it, by the names of the halves; empty where there is only one
    /// function.
    pub part: &'static str,
    /// The far end of the customer's tunnel, where that is a part of the customer's identity.
    pub softwire: Option<Ipv6Addr>,
    /// Protocol number.
    pub protocol: u8,
    /// The customer's end point; the port of ICMP is the identifier.
    pub inside: SocketAddr,
    /// The outside end point.
    pub outside: SocketAddr,
    /// The remote end point.
    pub remote: SocketAddr,
    /// Time since the last packet that counted.
    pub idle: Duration,
}

/// Returns an error for the first setting that differs; none of these can change while `runs`.
pub(crate) fn unchanged(settings: &[(&str, bool)], runs: &str) -> Result<(), String> {
    let differs = settings.iter().find(|(_, differs)| *differs);
    differs.map_or(Ok(()), |(what, _)| Err(format!("{what}: cannot be changed while {runs}; restart the gateway")))
}

/// What a function with sessions cannot be given while it runs.
pub(crate) const SESSIONS: &str = "there are sessions";
