//! One phase of a trial.

use method::trial::Observed;
use method::{Count, Direction, HostNoise, Leg, Nanos, Order, Rate};
use wire::FramePurpose;

/// Specification of one phase.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Kind of the frames.
    pub kind: FramePurpose,
    /// Rate per direction; of different rates, the faster one.
    pub rate: Rate,
    /// Frames per active direction; of different rates, the faster one.
    pub frames: Count,
    /// The first ones in the view's order.
    pub connections: Count,
    /// Active directions.
    pub direction: Direction,
    /// Left to Right.
    pub forward_order: Order,
    /// Right to Left.
    pub reverse_order: Order,
    /// Outside addresses and ports.
    pub learn: bool,
    /// Right overwrites what it learned with every right frame.
    pub update: bool,
    /// Whether only connections that the last phase 1 lacks are sent; `frames` is then
    /// [`Stage::missing`](crate::stage::Stage::missing).
    pub only_missing: bool,
    /// Time after the last frame was sent.
    pub drain: Nanos,
}

impl Phase {
    /// A phase that sends to so many connections in turn, Left to Right.
    pub fn of(kind: FramePurpose, rate: Rate, connections: Count) -> Phase {
        Phase {
            kind,
            rate,
            frames: connections,
            connections,
            direction: Direction::Forward,
            forward_order: Order::RoundRobin,
            reverse_order: Order::RoundRobin,
            learn: false,
            update: false,
            only_missing: false,
            drain: Nanos(0),
        }
    }
}

/// Outcome of one phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseOutcome {
    /// Left to Right.
    pub forward: Leg,
    /// Right to Left.
    pub reverse: Leg,
    /// Connections learned.
    pub learned: Count,
    /// Host noise.
    pub host: HostNoise,
    /// Forward and reverse.
    pub hop_limit: [Option<u8>; 2],
    /// Cost over directions and lanes.
    pub cost: Cost,
    /// Other observations.
    pub observed: Observed,
}

/// Time of the tester's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Building frames.
    pub send: Nanos,
    /// Time of transmitting frames.
    pub transmit: Nanos,
    /// Receiving frames.
    pub receive: Nanos,
    /// Time of judging frames.
    pub judge: Nanos,
}
