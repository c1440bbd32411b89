//! Phases of TCP connections: the Initiator opens them on schedule, then each side answers by the
//! script, without a TCP stack. Nothing is retransmitted: a connection that loses a segment does
//! not complete.

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

/// What connections do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Opened, used and closed at once.
    Life {
        /// Exchanges from each side.
        exchanges: u16,
        /// How it ends.
        close: Close,
    },
    /// Open connections take turns with a request of one segment and its answer.
    Exchange,
}

/// A phase of TCP connections.
#[derive(Clone, Copy, Debug)]
pub struct TcpPhase {
    /// What connections do.
    pub course: Course,
    /// Connections, or exchanges, per second.
    pub rate: Rate,
    /// Connections, or exchanges.
    pub count: Count,
    /// Index of the first connection.
    pub first: u32,
    /// Connections.
    pub different: Count,
    /// Whether later phases have exchanges on these connections.
    pub hold: bool,
    /// Time after the last connection or exchange has begun.
    pub drain: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum Steps<'a> {
    Script(Script, &'a [Segment]),
    Exchanges(Exchanges),
}
