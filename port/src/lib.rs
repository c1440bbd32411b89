//! Packets in and out, with their timestamps: burst interface, frame pools, back-ends, middleware,
//! and the few things of the host that a measuring thread needs (clock, core, CPU time, namespaces).
//!
//! This crate does not parse frames: the selection of an XDP program and the steering of a link are data. This is one
//! of the two crates that may use `unsafe`; each block says why it is sound.

#![allow(
    clippy::cast_possible_wrap,
    reason = "the kernel's C types are signed where it counts and unsigned where it does not"
)]

pub mod backend;
mod bpf;
pub mod clock;
pub mod error;
pub mod frame;
mod gaps;
pub mod handover;
pub mod host;
pub mod interface;
pub mod middleware;
pub mod mute;
pub mod netns;
pub mod presence;
pub mod privileges;
pub mod processor;
mod sys;

pub use backend::link;
pub use clock::{Clock, Ticks};
pub use error::PortError;
pub use frame::{Frame, Pool, PoolConfig};
pub use gaps::Gaps;
pub use interface::{LinkFacts, Statistics};
pub use mute::Mute;
pub use netns::Netns;

/// Maximum number of frames per call: large enough to amortise a call, small enough to stay in L1.
pub const BATCH: usize = 32;

/// Frames on their way between a port and whoever works on them. Made once with capacity [`BATCH`]
/// and reused, so nothing is allocated while a trial runs.
pub type Burst = Vec<Frame>;

/// A burst without frames, with room for [`BATCH`].
pub fn burst() -> Burst {
    Vec::with_capacity(BATCH)
}

/// Outcome of [`Port::transmit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the other side's queue took.
    pub accepted: usize,
    /// Frames that the other side's ingress queue refused: sent and lost, never to be retried.
    pub refused: usize,
}

/// What a port has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that [`Port::receive`] returned.
    pub received: u64,
    /// Frames that [`Port::transmit`] handed over.
    pub accepted: u64,
    /// Frames refused by the other side's ingress queue.
    pub refused: u64,
    /// Frames that the tester's side dropped (socket buffer, ring or pool full), including those for which a link's
    /// ring had no room, and those that the network card lost on the way to the tester: the tester's loss, not the DUT's.
    /// Of several ports on one interface, the first counts the card's.
    pub own_drops: u64,
    /// The link was down at some time since the counters were last looked at.
    pub link_lost: bool,
}

/// What a port is, for records and for validity.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PortFacts {
    /// Name of the back-end, as in [`backend::KNOWN`].
    pub backend: String,
    /// Name of the interface or link.
    pub name: String,
    /// Mode in words ("native XDP, copy", "inline", …); empty if there is only one.
    pub mode: String,
    /// Frames that can wait in front of the DUT on this port (its ingress queue as far as we can know it).
    pub dut_queue: usize,
    /// Frames that can wait in front of us on this port, in each of its queues.
    pub own_queue: usize,
    /// How many such queues it has, where it has several.
    #[serde(default)]
    pub own_queues: usize,
    /// The DUT does its work inside our transmit call.
    pub inline: bool,
    /// Whether the kernel stamps received frames. Otherwise this port does, when it takes them from its queue.
    #[serde(default)]
    pub stamped_by_kernel: bool,
}

/// One side of a link: a queue pair that one thread owns.
///
/// Both calls return at once. `transmit` consumes what it accepts **and** what is refused (freed to
/// `pool`); what it leaves in `burst` could not be handed over yet because of back-pressure on our own
/// side, in order: the caller may offer it again, and is late.
pub trait Port: Send {
    /// Append up to [`BATCH`] received frames, each with its receive stamp, to `into`.
    ///
    /// # Errors
    /// When the port itself is broken; an empty queue is `Ok(0)`.
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError>;

    /// Hand over the frames of `burst`, in order.
    ///
    /// # Errors
    /// When the port itself is broken; a refusal or back-pressure is not an error.
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError>;

    /// Returns the counters since the port was opened.
    fn counters(&mut self) -> Counters;

    /// Returns back-end, name, mode and queue depths of this port.
    fn facts(&self) -> PortFacts;
}

impl Port for Box<dyn Port> {
    #[inline]
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        (**self).receive(pool, into)
    }
    #[inline]
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        (**self).transmit(pool, burst)
    }
    fn counters(&mut self) -> Counters {
        (**self).counters()
    }
    fn facts(&self) -> PortFacts {
        (**self).facts()
    }
}
