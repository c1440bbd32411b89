//! Sends and receives frames with timestamps: burst interface, frame pools, back-ends, middleware,
//! and host functions for measuring threads.
//!
//! Does not parse frames. One of two crates that may use `unsafe`; each block says why it is sound.

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

pub use arena::cgroup;
pub use backend::link;
pub use clock::{Clock, Ticks};
pub use error::PortError;
pub use frame::{Frame, Pool, PoolConfig};
pub use gaps::Gaps;
pub use interface::{LinkFacts, Statistics};
pub use mute::Mute;
pub use netns::Netns;

/// Frames per call: amortises the call, stays in L1.
pub const BATCH: usize = 32;

/// Frames between a port and its user, with capacity [`BATCH`], reused so that a trial allocates no memory.
pub type Burst = Vec<Frame>;

/// An empty burst with its capacity.
pub fn burst() -> Burst {
    Vec::with_capacity(BATCH)
}

/// Outcome of [`Port::transmit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Accepted by the other side's queue.
    pub accepted: usize,
    /// Refused by the other side's ingress queue: sent, lost, and not to be sent again.
    pub refused: usize,
}

/// Counters since the port was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames returned by [`Port::receive`].
    pub received: u64,
    /// Frames handed over by [`Port::transmit`].
    pub accepted: u64,
    /// Refused by the other side's ingress queue.
    pub refused: u64,
    /// Dropped on the tester's side: socket buffer, ring or pool full, or lost by its network card.
    /// Of several ports on an interface, the first counts the card's losses.
    pub own_drops: u64,
    /// Whether the link was down since the counters were last read.
    pub link_lost: bool,
}

/// A port, for records and for the validity of trials.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PortFacts {
    /// Backend as in [`backend::KNOWN`].
    pub backend: String,
    /// Interface or link.
    pub name: String,
    /// Mode in words ("native XDP, copy", "inline", …); empty if the back-end has only one.
    pub mode: String,
    /// Depth of the DUT's ingress queue, in frames, if known.
    pub dut_queue: usize,
    /// Depth of each receive queue, in frames.
    pub own_queue: usize,
    /// Receive queues.
    #[serde(default)]
    pub own_queues: usize,
    /// Whether the DUT does its work inside the transmit call.
    pub inline: bool,
    /// Else the port stamps frames when it takes them.
    #[serde(default)]
    pub stamped_by_kernel: bool,
}

/// One end of a link: a pair of queues of one thread.
///
/// Both calls return at once. `transmit` consumes accepted **and** refused frames, which it frees
/// to `pool`. Frames left in `burst`, in order, met back-pressure on the tester's side and may be
/// offered again; they are then late.
pub trait Port: Send {
    /// Appends up to [`BATCH`] stamped frames to `into`. Returns how many.
    ///
    /// # Errors
    /// The port fails; an empty queue is `Ok(0)`.
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError>;

    /// Sends the frames of `burst`, in order.
    ///
    /// # Errors
    /// The port fails; not for refusal or back-pressure.
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError>;

    /// Returns the counters since the port was opened.
    fn counters(&mut self) -> Counters;

    /// Back-end, name, mode and queue depths.
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
