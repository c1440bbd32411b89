//! Sends and receives frames with timestamps: burst interface, frame pools, back-ends, middleware, and the host
//! functions that a measuring thread needs (clock, CPU pinning, CPU time, namespaces).
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

/// Frames that are passed between a port and its user. A burst is made once, with capacity [`BATCH`], and reused, so
/// that no memory is allocated while a trial runs.
pub type Burst = Vec<Frame>;

/// Makes an empty burst with room for [`BATCH`] frames.
pub fn burst() -> Burst {
    Vec::with_capacity(BATCH)
}

/// Outcome of [`Port::transmit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the other side's queue accepted.
    pub accepted: usize,
    /// Frames that the other side's ingress queue refused. They were sent and are lost; they must not be sent again.
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
    /// Frames that the tester's side dropped: socket buffer, ring or pool full, no room in a link's ring, or lost by
    /// the network card on the way to the tester. They are the tester's loss, not the DUT's. If several ports share an
    /// interface, the first counts the card's losses.
    pub own_drops: u64,
    /// Whether the link was down at some time since the counters were last read.
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
    /// Depth of the DUT's ingress queue behind this port, in frames, as far as natmeter can find it out.
    pub dut_queue: usize,
    /// Depth of each of this port's receive queues, in frames.
    pub own_queue: usize,
    /// Number of these queues, if the port has several.
    #[serde(default)]
    pub own_queues: usize,
    /// Whether the DUT does its work inside the transmit call.
    pub inline: bool,
    /// Whether the kernel stamps received frames. Otherwise the port stamps them when it takes them from its queue.
    #[serde(default)]
    pub stamped_by_kernel: bool,
}

/// One end of a link: a pair of queues that one thread owns.
///
/// Both calls return at once. `transmit` consumes the frames that it accepts **and** those that are refused, which it
/// frees to `pool`. Frames that it leaves in `burst`, in order, met back-pressure on the tester's own side. The caller
/// may offer them again; they are then late.
pub trait Port: Send {
    /// Appends up to [`BATCH`] received frames, each with its receive stamp, to `into`. Returns how many.
    ///
    /// # Errors
    /// When the port itself fails; an empty queue is `Ok(0)`.
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError>;

    /// Sends the frames of `burst`, in order.
    ///
    /// # Errors
    /// When the port itself fails; a refusal or back-pressure is not an error.
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
