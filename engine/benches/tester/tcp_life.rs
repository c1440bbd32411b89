//! TCP connections that open, exchange data and close at full speed: the trial of a bench and of an example.

use engine::tcp::{Course, TcpPhase};
use method::{Nanos, Rate};
use wire::tcp::Close;

/// Connections of a run; all are different.
pub(crate) const CONNECTIONS: u64 = 20_000;

/// The trial with so many exchanges of each connection.
pub(crate) fn life(exchanges: u16, close: Close) -> TcpPhase {
    TcpPhase {
        course: Course::Life { exchanges, close },
        rate: Rate(1_000_000_000),
        count: CONNECTIONS,
        first: 0,
        different: CONNECTIONS,
        hold: false,
        drain: Nanos::from_millis(1),
    }
}
