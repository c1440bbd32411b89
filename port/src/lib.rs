//! Sends and receives frames with timestamps: burst interface, frame pools, back-ends, middleware, and host functions
//! for measuring threads (clock, CPU pinning, CPU time, namespaces).
//!
//! Does not parse frames: an XDP program's selection and a link's steering are data. One of two crates that may use
//! `unsafe`; each block says why it is sound.

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

/// Maximum number of frames per call: amortises the call, stays in L1.
pub const BATCH: usize = 32;

/// Frames between a port and its user, made once with capacity [`BATCH`] and reused, so that a trial allocates no
/// memory.
pub type Burst = Vec<Frame>;

/// An empty burst.
pub fn burst() -> Burst {
    Vec::with_capacity(BATCH)
}

/// Outcome of [`Port::transmit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the other side's queue accepted.
    pub accepted: usize,
    /// Frames that the other side's ingress queue refused: sent, lost, and not to be sent again.
    pub refused: usize,
}

/// Counters of a port since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that [`Port::receive`] returned.
    pub received: u64,
    /// Frames that [`Port::transmit`] handed over.
    pub accepted: u64,
    /// Frames refused by the other side's ingress queue.
    pub refused: u64,
    /// Frames that the tester's side dropped: socket buffer, ring or pool full, or lost by its network card; not the
    /// DUT's loss. Of several ports on an interface, the first counts the card's losses.
    pub own_drops: u64,
    /// Whether the link was down since the counters were last read.
    pub link_lost: bool,
}

/// Properties of a port, for records and for the validity of trials.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PortFacts {
    /// Name of the back-end, as in [`backend::KNOWN`].
    pub backend: String,
    /// Name of the interface or link.
    pub name: String,
    /// Mode in words ("native XDP, copy", "inline", …); empty if the back-end has only one.
    pub mode: String,
    /// Depth of the DUT's ingress queue behind this port, in frames, if known.
    pub dut_queue: usize,
    /// Depth of each of this port's receive queues, in frames.
    pub own_queue: usize,
    /// Number of these queues, if the port has several.
    #[serde(default)]
    pub own_queues: usize,
    /// Whether the DUT does its work inside the transmit call.
    pub inline: bool,
    /// Whether the kernel stamps received frames; else the port does when it takes them.
    #[serde(default)]
    pub stamped_by_kernel: bool,
}

/// One end of a link: a pair of queues of one thread.
///
/// Both calls return at once. `transmit` consumes accepted **and** refused frames, which it frees to `pool`. Frames
/// left in `burst`, in order, met back-pressure on the tester's side and may be offered again; they are then late.
pub trait Port: Send {
    /// Appends up to [`BATCH`] received, stamped frames to `into`. Returns how many.
    ///
    /// # Errors
    /// When the port fails; an empty queue is `Ok(0)`.
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError>;

    /// Sends the frames of `burst`, in order.
    ///
    /// # Errors
    /// When the port fails; not for refusal or back-pressure.
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError>;

    /// The counters since the port was opened.
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
