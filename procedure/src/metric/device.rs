//! Metrics that observe the device or act on it: tear-down, memory, CPU idle time, reset and failover; and their parts.
//! Parts that also occur in published tables have the same keys.

use super::timing::part;
use super::{Metric, Origin, Unit};

/// The rate at which a device removes connections.
pub const CONN_TEAR_DOWN_RATE: Metric = Metric {
    key: "conn_tear_down_rate",
    title: "Connection tear-down rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 9693 section 4.8",
    origin: Origin::Measured { repetitions: 10 },
    higher_is_better: true,
    definition: "The connections of a table, divided by the time to empty it beyond that to empty an empty table of the \
                 same size.",
};

/// The memory of one connection.
pub const MEMORY_PER_CONNTRACK_ENTRY: Metric = Metric {
    key: "memory_per_conntrack_entry",
    title: "Memory of a connection",
    unit: Unit::Bytes,
    reference: "Lencse and Shima 2023, Table V",
    origin: Origin::Measured { repetitions: 10 },
    higher_is_better: false,
    definition: "The memory in use with all connections beyond that after their removal, divided by their number.",
};

/// Key of the part that is the memory of all connections.
pub const MEMORY_CONNTRACK_ENTRIES: &str = "memory_conntrack_entries";

/// Whether a value of the metric with this key is a total of all connections, which compares with another one only at the same number
/// of connections.
pub fn is_total_of_connections(key: &str) -> bool {
    [MEMORY_CONNTRACK_ENTRIES, "filled_table_deletion_time", "net_deletion_time"].contains(&key)
}

/// Whether a value of the metric with this key is a total of all buckets of a hash table, which compares with another one only at the
/// same size of the table.
pub fn is_total_of_buckets(key: &str) -> bool {
    ["memory_hash_table", "empty_table_deletion_time"].contains(&key)
}

/// The idle time of the busiest core.
pub const CPU_IDLE: Metric = Metric {
    key: "cpu_idle",
    title: "CPU idle time of the busiest core",
    unit: Unit::PartsPerMillion,
    reference: "METHODOLOGY.md, CPU idle time",
    origin: Origin::Measured { repetitions: 1 },
    higher_is_better: true,
    definition: "The median of the idle shares of the device's busiest core, sampled in a trial at the throughput.",
};

/// The time that waits for locks.
pub const LOCK_WAIT: Metric = Metric {
    key: "lock_wait",
    title: "Time that waits for locks",
    unit: Unit::PartsPerMillion,
    reference: "METHODOLOGY.md, profile",
    origin: Origin::Measured { repetitions: 1 },
    higher_is_better: false,
    definition: "The share of the device's working time that waits for locks, of samples in a trial at the throughput.",
};

/// How long a reset interrupts forwarding.
pub const RESET: Metric = Metric {
    key: "reset",
    title: "Reset time",
    unit: Unit::Nanoseconds,
    reference: "RFC 6201 section 4",
    origin: Origin::Measured { repetitions: 10 },
    higher_is_better: false,
    definition: "The frames that are lost because of a reset, divided by their rate; of the slower direction.",
};

/// How long a failover interrupts forwarding.
pub const FAILOVER: Metric = Metric {
    key: "failover",
    title: "Dark time of a failover",
    unit: Unit::Nanoseconds,
    reference: "METHODOLOGY.md, failover",
    origin: Origin::Measured { repetitions: 10 },
    higher_is_better: false,
    definition: "The longest time without a right frame around the switch-over; of the slower direction.",
};

const BY_LOSS: &str = "The frames lost divided by their rate (RFC 6201, frame loss method).";
const BY_GAP: &str = "The longest time between two frames received, by their due times (RFC 6201, time stamp method).";
const DARK: &str = "The longest time between two frames received, by their due times.";
const SURVIVED: &str =
    "Connections that carry frames Left to Right afterwards, from the outside address and port of before.";
const MOVED: &str = "Connections that carry frames Left to Right afterwards, from another outside address or port.";

/// The parts of all of them.
pub(super) const PARTS: [Metric; 19] = {
    use Unit::{Bytes, Nanoseconds, PartsPerMillion};
    const TEAR_DOWN: &Metric = &CONN_TEAR_DOWN_RATE;
    const MEMORY: &Metric = &MEMORY_PER_CONNTRACK_ENTRY;
    [
        part(
            "filled_table_deletion_time",
            "Time to empty the full table",
            TEAR_DOWN,
            Nanoseconds,
            "The median of the times to empty the table with all connections.",
        ),
        part(
            "empty_table_deletion_time",
            "Time to empty the empty table",
            TEAR_DOWN,
            Nanoseconds,
            "The median of the times to empty the empty table of the same size.",
        ),
        part(
            "net_deletion_time",
            "Net time to empty the full table",
            TEAR_DOWN,
            Nanoseconds,
            "The difference of both.",
        ),
        part(
            MEMORY_CONNTRACK_ENTRIES,
            "Memory of all connections",
            MEMORY,
            Bytes,
            "The memory in use with all connections beyond that after their removal.",
        ),
        part("memory_hash_table", "Memory of the hash table", MEMORY, Bytes, "The memory of all buckets."),
        part(
            "memory_per_hash_bucket",
            "Memory of a bucket",
            MEMORY,
            Bytes,
            "The memory of a bucket of the hash table.",
        ),
        part(
            "cpu_idle_left",
            "CPU idle time of the busiest core, left device",
            &CPU_IDLE,
            PartsPerMillion,
            "Of two devices, that of the left one.",
        ),
        part(
            "cpu_idle_right",
            "CPU idle time of the busiest core, right device",
            &CPU_IDLE,
            PartsPerMillion,
            "Of two devices, that of the right one.",
        ),
        part(
            "cpu_idle_mean",
            "CPU idle time, mean of all cores",
            &CPU_IDLE,
            PartsPerMillion,
            "The mean of the medians of all cores.",
        ),
        part("reset_forward", "Reset time, left to right", &RESET, Nanoseconds, BY_LOSS),
        part("reset_reverse", "Reset time, right to left", &RESET, Nanoseconds, BY_LOSS),
        part("reset_gap_forward", "Longest gap, left to right", &RESET, Nanoseconds, BY_GAP),
        part("reset_gap_reverse", "Longest gap, right to left", &RESET, Nanoseconds, BY_GAP),
        part("reset_survived", "Connections that survive the reset", &RESET, PartsPerMillion, SURVIVED),
        part("reset_moved", "Connections on another port after the reset", &RESET, PartsPerMillion, MOVED),
        part("failover_forward", "Dark time, left to right", &FAILOVER, Nanoseconds, DARK),
        part("failover_reverse", "Dark time, right to left", &FAILOVER, Nanoseconds, DARK),
        part("failover_survived", "Connections that survive the failover", &FAILOVER, PartsPerMillion, SURVIVED),
        part("failover_moved", "Connections on another port after the failover", &FAILOVER, PartsPerMillion, MOVED),
    ]
};
