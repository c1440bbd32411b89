//! Phases of TCP connections: the Initiator opens them on schedule, then each side answers by the script, without a TCP
//! stack. Nothing is retransmitted: a connection that loses a segment does not complete.

mod end;
mod lane;
mod opener;
mod run;
mod stages;
mod trial;

pub use run::{TcpOutcome, most_exchanges};
pub use stages::Stages;

use method::{Count, Nanos, Rate};
use wire::tcp::{Close, Exchanges, Script, Segment};

/// What the connections of a phase do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Each is opened, used and closed at once.
    Life {
        /// Segments with data from each side.
        exchanges: u16,
        /// How it ends.
        close: Close,
    },
    /// Open connections take turns with a request of one segment and its answer; none waits for an answer.
    Exchange,
}

/// Specification of one phase of TCP connections.
#[derive(Clone, Copy, Debug)]
pub struct TcpPhase {
    /// What they do.
    pub course: Course,
    /// Connections, or exchanges, that begin each second.
    pub rate: Rate,
    /// How many begin.
    pub count: Count,
    /// The first index of the connections.
    pub first: u32,
    /// How many different ones there are.
    pub different: Count,
    /// Whether later phases have exchanges on these connections.
    pub hold: bool,
    /// How long segments may still arrive after the last connection or exchange has begun.
    pub drain: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum Steps<'a> {
    Script(Script, &'a [Segment]),
    Exchanges(Exchanges),
}
