//! TCP connections: the segments behind the rate, and what the device's table held after the last of them.

use crate::report::result::{PointResult, Repetition};
use crate::report::{Report, facts, number};
use document::{Cell, Quantity, Section, Table, row};
use method::trial::{Emptying, TcpCounts};
use procedure::tcp::{MAX_TCP_CONN_RATE, TCP_THROUGHPUT};

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
        ..Section::default()
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
    let count = |label: &str, of: fn(&TcpCounts) -> u64| row(label, all.iter().map(|c| Quantity::count(of(&c.counts))));
    let emptying =
        |label: &str, of: fn(&Emptying) -> Cell| row(label, all.iter().map(|c| c.counts.emptying.as_ref().map(of)));
    let mut rows = vec![
        count("segments of the Initiator", |counts| counts.from_initiator),
        count("segments of the Responder", |counts| counts.from_responder),
        count("right segments received", |counts| counts.received),
        count("handshakes completed", |counts| counts.established),
    ];
    if all.iter().any(|c| c.counts.emptying.is_some()) {
        rows.extend([
            emptying("entries at the end", |e| Quantity::count(e.at_end).into()),
            emptying("entries at the last reading", |e| Quantity::count(e.at_last).into()),
            emptying("closed connections forgotten after", |e| e.emptied.map(|time| number::duration(time.0)).into()),
            emptying("time between two readings", |e| number::duration(e.interval.0).into()),
        ]);
    }
    Table::new("TCP segments", "TCP connections", all.iter().map(|c| c.name.as_str())).rows(rows)
}
