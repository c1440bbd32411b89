//! One phase of a trial: specification and outcome.

use method::trial::Observed;
use method::{Count, Direction, HostNoise, Leg, Nanos, Order, Rate};
use wire::Kind;

/// Specification of one phase.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The kind of its frames.
    pub kind: Kind,
    /// Intended load per direction; of different rates, the faster one.
    pub rate: Rate,
    /// Frames per active direction; of different rates, the faster one.
    pub frames: Count,
    /// Number of connections, the first ones in the view's order.
    pub connections: Count,
    /// Active directions.
    pub direction: Direction,
    /// Order of connections Left to Right.
    pub forward_order: Order,
    /// Order of connections Right to Left.
    pub reverse_order: Order,
    /// Whether Right learns outside addresses and ports.
    pub learn: bool,
    /// Whether Right overwrites what it learned with every right frame.
    pub update: bool,
    /// Whether to use only connections that the last phase 1 lacks; `frames` is then
    /// [`Stage::missing`](crate::stage::Stage::missing).
    pub only_missing: bool,
    /// How long frames may still arrive after the last was sent.
    pub drain: Nanos,
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
    /// Hop limits seen, forward and reverse.
    pub hop_limit: [Option<u8>; 2],
    /// The tester's time by task, over directions and lanes.
    pub cost: Cost,
    /// What it observed beside that.
    pub observed: Observed,
}

/// Time of the tester's threads by task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Building frames.
    pub send: Nanos,
    /// Transmitting them.
    pub transmit: Nanos,
    /// Receiving frames.
    pub receive: Nanos,
    /// Judging them.
    pub judge: Nanos,
}
