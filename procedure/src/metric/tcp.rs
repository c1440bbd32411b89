//! Metrics of TCP connections, and their parts.

use super::{Metric, Origin, TEN, Unit};

/// New TCP connections while others are held.
pub const MAX_TCP_CONN_RATE: Metric = Metric {
    key: "max_tcp_conn_rate",
    title: "Maximum TCP connection rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 3511 section 5.3; RFC 9411 section 7.2",
    origin: TEN,
    higher_is_better: true,
    definition: "The highest rate at which new TCP connections are opened, have their data and are closed, and each of them \
                 completes, while N others are held open.",
};

/// Requests and answers on TCP connections that are held.
pub const TCP_THROUGHPUT: Metric = Metric {
    key: "tcp_throughput",
    title: "Throughput of TCP segments",
    unit: Unit::FramesPerSecond,
    reference: "RFC 2544 section 26.1; RFC 9693 section 4.7",
    origin: TEN,
    higher_is_better: true,
    definition: "The highest rate per direction of segments with data on N established TCP connections at which each request \
                 and its answer arrive.",
};

/// The number of connections that the device reports.
pub const TCP_ENTRIES: Metric = Metric {
    key: "tcp_entries",
    title: "Entries of the DUT after the trial",
    unit: Unit::Connections,
    reference: MAX_TCP_CONN_RATE.reference,
    origin: Origin::Part { of: MAX_TCP_CONN_RATE.key },
    higher_is_better: true,
    definition: "The entries of the connection tracking table after the trial at the maximum TCP connection rate, if the DUT \
                 counts them.",
};

/// How long closed connections stay in the table.
pub const TCP_TRANSITORY_TIME: Metric = Metric {
    key: "tcp_transitory_time",
    title: "Time to forget closed TCP connections",
    unit: Unit::Nanoseconds,
    reference: "RFC 5382 section 5",
    origin: Origin::Part { of: MAX_TCP_CONN_RATE.key },
    higher_is_better: false,
    definition: "The time from the end of a trial to the first reading of the DUT's table that shows no more entries than before \
                 the trial.",
};
