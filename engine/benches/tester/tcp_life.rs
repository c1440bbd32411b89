//! TCP connections that open, exchange data and close at full speed.

use engine::tcp::{Course, TcpPhase};
use method::{Nanos, Rate};
use wire::tcp::Close;

pub(crate) const CONNECTIONS: u64 = 20_000;

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
