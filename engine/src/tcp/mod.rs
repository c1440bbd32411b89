//! Phases of TCP connections: the Initiator opens them on schedule, and from then on each side answers what it receives, by the
//! script of the connection. No TCP stack: one word of state a connection, half of it for each side; nothing is retransmitted, and
//! a connection of which a segment is lost does not complete. Exchanges on open connections do not wait for each other. Phases of UDP frames do not pass through this folder.

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
    /// Each is opened, used and closed, as soon as the segments come.
    Life {
        /// Segments with data from each side.
        exchanges: u16,
        /// How it ends.
        close: Close,
    },
    /// Each was opened by the last phase that held connections. They take turns: a request of one segment, and its answer. No
    /// request waits for an answer.
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
    /// The connections: their first index, and how many there are.
    pub first: u32,
    /// How many different ones there are.
    pub different: Count,
    /// Whether later phases have exchanges on these connections.
    pub hold: bool,
    /// How long segments may still arrive after the last connection or exchange has begun.
    pub drain: Nanos,
}

/// The segments of a course.
#[derive(Clone, Copy, Debug)]
enum Steps<'a> {
    /// In turn: those of this script, in a table.
    Script(Script, &'a [Segment]),
    /// Requests on schedule, and their answers.
    Exchanges(Exchanges),
}
