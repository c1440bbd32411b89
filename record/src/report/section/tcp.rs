//! TCP connections: the segments behind the rate, and what the device's table held after the last of them.

use super::Section;
use crate::report::result::{PointResult, Repetition};
use crate::report::table::{Table, row};
use crate::report::{Report, facts, number};
use method::trial::{Emptying, TcpCounts};
use procedure::metric::{MAX_TCP_CONN_RATE, TCP_THROUGHPUT};

/// The trial behind the rate of a point, in its first repetition that has one.
struct Connections {
    name: String,
    counts: TcpCounts,
}

/// The section of all points with TCP connections.
pub(super) fn section(report: &Report) -> Option<Section> {
    let all: Vec<Connections> = report.results.iter().filter_map(connections).collect();
    if all.is_empty() {
        return None;
    }
    Some(Section {
        title: "TCP connections".to_owned(),
        about: "Segments of the trial at the rate found, without those of phase 1, in the first repetition. A connection counts \
                if its last segment arrived. Reading the table of the device takes time, so that a time to forget closed \
                connections is too long by one interval at most."
            .to_owned(),
        tables: vec![table(&all)],
        figures: Vec::new(),
    })
}

fn connections(result: &PointResult) -> Option<Connections> {
    if ![MAX_TCP_CONN_RATE.key, TCP_THROUGHPUT.key].contains(&result.metric.as_str()) {
        return None;
    }
    let of = |repetition: &Repetition| repetition.observed.tcp.clone();
    let counts = result.repetitions.iter().find_map(of)?;
    Some(Connections { name: facts::place(result), counts })
}

fn table(all: &[Connections]) -> Table {
    let cells = |of: fn(&TcpCounts) -> u64| all.iter().map(move |c| Some(number::grouped(of(&c.counts))));
    let emptying =
        |of: fn(&Emptying) -> Option<String>| all.iter().map(move |c| c.counts.emptying.as_ref().and_then(of));
    let mut parameters = vec![
        row("segments of the Initiator", cells(|counts| counts.from_initiator)),
        row("segments of the Responder", cells(|counts| counts.from_responder)),
        row("right segments received", cells(|counts| counts.received)),
        row("handshakes completed", cells(|counts| counts.established)),
    ];
    if all.iter().any(|c| c.counts.emptying.is_some()) {
        parameters.extend([
            row("entries at the end", emptying(|e| Some(number::grouped(e.at_end)))),
            row("entries at the last reading", emptying(|e| Some(number::grouped(e.at_last)))),
            row("closed connections forgotten after", emptying(|e| e.emptied.map(|time| number::duration(time.0)))),
            row("time between two readings", emptying(|e| Some(number::duration(e.interval.0)))),
        ]);
    }
    Table {
        title: "TCP segments".to_owned(),
        axis: "TCP connections",
        columns: all.iter().map(|c| c.name.clone()).collect(),
        parameters,
        groups: Vec::new(),
        notes: Vec::new(),
        same: Vec::new(),
    }
}
