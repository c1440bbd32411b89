//! The list of metrics, each with name, unit and definition. Reports, `natmeter list` and the comparison with published
//! tables use this list, so that a new metric is one entry here. Published values have the same keys.

mod device;
mod dns;
mod overload;
mod tcp;
mod timing;

pub use device::{
    CONN_TEAR_DOWN_RATE, CPU_IDLE, FAILOVER, LOCK_WAIT, MEMORY_CONNTRACK_ENTRIES, MEMORY_PER_CONNTRACK_ENTRY, RESET,
    is_total_of_buckets, is_total_of_connections,
};
pub use dns::{DNS_QUERIES_RESOLVED, DNS64_RESOLUTION_RATE, is_of_queries};
pub use overload::{OVERLOAD_ALL, OVERLOAD_DEGRADATION, OVERLOAD_FEW, OVERLOAD_SCALABILITY};
pub use tcp::{MAX_TCP_CONN_RATE, TCP_ENTRIES, TCP_THROUGHPUT, TCP_TRANSITORY_TIME};
pub use timing::{BACK_TO_BACK_FRAMES, IPDV, LATENCY, PDV, SYSTEM_RECOVERY_TIME};

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Frames per second. natmeter measures and stores them per direction; published tables print the total of both
    /// directions.
    FramesPerSecond,
    /// Connections per second.
    ConnectionsPerSecond,
    /// DNS queries per second.
    QueriesPerSecond,
    /// Connections.
    Connections,
    /// A plain ratio.
    Ratio,
    /// Per cent.
    Percent,
    /// Parts per million.
    PartsPerMillion,
    /// Frames.
    Frames,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// No value of its own: its values are those of its parts.
    Parts,
}

impl Unit {
    /// Returns the unit as printed after a value per direction, or after a value without direction.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::FramesPerSecond => "frames/s per direction",
            Unit::ConnectionsPerSecond => "connections/s",
            Unit::QueriesPerSecond => "queries/s",
            Unit::Connections => "connections",
            Unit::Ratio | Unit::Parts => "",
            Unit::Percent => "%",
            Unit::PartsPerMillion => "ppm",
            Unit::Frames => "frames",
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
        }
    }
    /// Whether the total of both directions is twice the stored value.
    pub fn per_direction(self) -> bool {
        self == Unit::FramesPerSecond
    }
}

/// How a metric is obtained. RFC 9693, section 5, recommends series over connections and cores and defines no metric for
/// them: the ratios are those of published measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Measured by a repeated procedure.
    Measured {
        /// Minimum number of repetitions; a result with fewer is printed as "not conforming".
        repetitions: u32,
    },
    /// A further value from the trials of another metric.
    Part {
        /// The metric that is measured.
        of: &'static str,
    },
    /// Computed from medians of measured metrics.
    Derived,
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name in files, equal to that of published values.
    pub key: &'static str,
    /// Title in reports.
    pub title: &'static str,
    /// Unit of the stored value.
    pub unit: Unit,
    /// The defining document and section.
    pub reference: &'static str,
    /// Its origin.
    pub origin: Origin,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// Definition in one sentence.
    pub definition: &'static str,
}

/// All metrics.
pub const METRICS: &[Metric] = &[
    THROUGHPUT,
    IPV4_FORWARDING_THROUGHPUT,
    MAX_CONN_EST_RATE,
    MAX_CONN_EST_RATE_VALIDATED,
    CONN_TABLE_CAPACITY,
    FRAME_LOSS_RATE,
    CHURN_RATE,
    CHURN_OCCUPANCY,
    CHURN_ENTRIES,
    MAX_TCP_CONN_RATE,
    TCP_ENTRIES,
    TCP_TRANSITORY_TIME,
    TCP_THROUGHPUT,
    LATENCY,
    timing::PARTS[0],
    timing::PARTS[1],
    timing::PARTS[2],
    timing::PARTS[3],
    timing::PARTS[4],
    timing::PARTS[5],
    PDV,
    timing::PARTS[6],
    timing::PARTS[7],
    timing::PARTS[8],
    timing::PARTS[9],
    IPDV,
    timing::PARTS[10],
    timing::PARTS[11],
    timing::PARTS[12],
    timing::PARTS[13],
    timing::PARTS[14],
    timing::PARTS[15],
    BACK_TO_BACK_FRAMES,
    timing::PARTS[16],
    timing::PARTS[17],
    SYSTEM_RECOVERY_TIME,
    timing::PARTS[18],
    timing::PARTS[19],
    CONN_TEAR_DOWN_RATE,
    device::PARTS[0],
    device::PARTS[1],
    device::PARTS[2],
    MEMORY_PER_CONNTRACK_ENTRY,
    device::PARTS[3],
    device::PARTS[4],
    device::PARTS[5],
    CPU_IDLE,
    device::PARTS[6],
    device::PARTS[7],
    device::PARTS[8],
    LOCK_WAIT,
    RESET,
    device::PARTS[9],
    device::PARTS[10],
    device::PARTS[11],
    device::PARTS[12],
    device::PARTS[13],
    device::PARTS[14],
    FAILOVER,
    device::PARTS[15],
    device::PARTS[16],
    device::PARTS[17],
    device::PARTS[18],
    OVERLOAD_SCALABILITY,
    OVERLOAD_FEW,
    OVERLOAD_ALL,
    OVERLOAD_DEGRADATION,
    DNS64_RESOLUTION_RATE,
    DNS_QUERIES_RESOLVED,
    THROUGHPUT_RATIO_NAT_TO_FORWARDING,
    REL_SCALE_UP,
    RATIO_TO_PREVIOUS,
    SCALING_OVER_CONNECTIONS,
];

/// Returns the metric with this key.
pub fn by_key(key: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.key == key)
}

impl Metric {
    /// Whether a scenario can request it.
    pub fn is_measured(&self) -> bool {
        matches!(self.origin, Origin::Measured { .. })
    }
}

/// Whether the metric with this key is a maximum connection establishment rate.
pub fn is_establishment(key: &str) -> bool {
    [MAX_CONN_EST_RATE.key, MAX_CONN_EST_RATE_VALIDATED.key].contains(&key)
}

/// Whether the metric with this key is a throughput.
pub fn is_throughput(key: &str) -> bool {
    [THROUGHPUT.key, IPV4_FORWARDING_THROUGHPUT.key].contains(&key)
}

/// Minimum number of repetitions in published results of RFC 9693 metrics.
const TEN: Origin = Origin::Measured { repetitions: 10 };

/// Throughput of the DUT; in phase 2 if it is stateful.
pub const THROUGHPUT: Metric = Metric {
    key: "throughput",
    title: "Throughput",
    unit: Unit::FramesPerSecond,
    reference: "RFC 2544 section 26.1; RFC 9693 section 4.7",
    origin: TEN,
    higher_is_better: true,
    definition: "The highest rate per direction at which the number of right frames received equals the number sent.",
};

/// The same device without the function under test.
pub const IPV4_FORWARDING_THROUGHPUT: Metric = Metric {
    key: "ipv4_forwarding_throughput",
    title: "IPv4 forwarding throughput (baseline)",
    unit: Unit::FramesPerSecond,
    reference: "RFC 2544 section 26.1",
    origin: TEN,
    higher_is_better: true,
    definition: "The throughput of the same device with the same ports and frames when it only forwards IPv4.",
};

/// From phase 1 only.
pub const MAX_CONN_EST_RATE: Metric = Metric {
    key: "max_conn_est_rate",
    title: "Maximum connection establishment rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 9693 section 4.5",
    origin: TEN,
    higher_is_better: true,
    definition: "The highest rate at which the first frame of each of N new connections passes, starting from an empty \
                 connection tracking table.",
};

/// From phase 1 and validation.
pub const MAX_CONN_EST_RATE_VALIDATED: Metric = Metric {
    key: "max_conn_est_rate_validated",
    title: "Maximum connection establishment rate, validated",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 9693 section 4.6",
    origin: TEN,
    higher_is_better: true,
    definition: "The highest rate at which N new connections are set up and one frame on each of them, sent back at \
                 alpha times that rate, arrives too.",
};

/// The size of the connection tracking table, as observed from outside.
pub const CONN_TABLE_CAPACITY: Metric = Metric {
    key: "conn_table_capacity",
    title: "Connection tracking table capacity",
    unit: Unit::Connections,
    reference: "RFC 9693 section 4.9",
    origin: TEN,
    higher_is_better: true,
    definition: "The most connections that can be set up and validated at a rate that does not break down against that \
                 of fewer connections.",
};

/// The loss at each offered load.
pub const FRAME_LOSS_RATE: Metric = Metric {
    key: "frame_loss_rate",
    title: "Frame loss rate at the highest load",
    unit: Unit::PartsPerMillion,
    reference: "RFC 2544 section 26.3",
    origin: TEN,
    higher_is_better: false,
    definition: "The share of the frames sent that are not received right, at each of a series of falling loads; the \
                 value is that at the highest load.",
};

/// New connections while others are held.
pub const CHURN_RATE: Metric = Metric {
    key: "churn_rate",
    title: "Churn rate",
    unit: Unit::ConnectionsPerSecond,
    reference: "RFC 4787 section 4.3",
    origin: TEN,
    higher_is_better: true,
    definition: "The highest rate at which new connections arrive, have their frames and are abandoned, while no frame is lost, \
                 neither of these connections nor of those that are held and used all the time.",
};

/// The number of connections that the table must hold in the trials of the churn rate.
pub const CHURN_OCCUPANCY: Metric = Metric {
    key: "churn_occupancy",
    title: "Connections that have not timed out",
    unit: Unit::Connections,
    reference: CHURN_RATE.reference,
    origin: Origin::Part { of: CHURN_RATE.key },
    higher_is_better: true,
    definition: "The connections that are held, and the new ones of one time-out, or of the whole trial if that is shorter.",
};

/// The number of connections that the device reports.
pub const CHURN_ENTRIES: Metric = Metric {
    key: "churn_entries",
    title: "Entries of the DUT after the trial",
    unit: Unit::Connections,
    reference: CHURN_RATE.reference,
    origin: Origin::Part { of: CHURN_RATE.key },
    higher_is_better: true,
    definition: "The entries of the connection tracking table after the trial at the churn rate, if the DUT counts them.",
};

/// The cost of the function under test.
pub const THROUGHPUT_RATIO_NAT_TO_FORWARDING: Metric = Metric {
    key: "throughput_ratio_nat_to_forwarding",
    title: "Throughput against plain forwarding",
    unit: Unit::Percent,
    reference: "draft-lencse-v6ops-transition-scalability-05, Figure 2",
    origin: Origin::Derived,
    higher_is_better: true,
    definition: "The median throughput in per cent of the median throughput of plain forwarding of the same device.",
};

/// `S_CPU`: from one core to n.
pub const REL_SCALE_UP: Metric = Metric {
    key: "rel_scale_up",
    title: "Relative scale-up over cores, S_CPU",
    unit: Unit::Ratio,
    reference: "Lencse and Bazsó 2024, equation (1), divided by P(1) as in Table 4",
    origin: Origin::Derived,
    higher_is_better: true,
    definition: "The median performance on n cores divided by n times the median performance on one core.",
};

/// From column to column.
pub const RATIO_TO_PREVIOUS: Metric = Metric {
    key: "ratio_to_previous",
    title: "Ratio to the previous column",
    unit: Unit::Ratio,
    reference: "draft-lencse-v6ops-transition-scalability-05, Figure 12",
    origin: Origin::Derived,
    higher_is_better: true,
    definition: "The median performance divided by the median performance at the previous point of the axis.",
};

/// `S_C`: from few connections to many.
pub const SCALING_OVER_CONNECTIONS: Metric = Metric {
    key: "scaling_over_connections",
    title: "Relative performance over connections, S_C",
    unit: Unit::Ratio,
    reference: "Lencse and Bazsó 2024, equation (2)",
    origin: Origin::Derived,
    higher_is_better: true,
    definition: "The median performance with n connections divided by that with the smallest number of connections.",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PROCEDURES;

    #[test]
    fn keys_are_unique() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[i + 1..].iter().all(|other| other.key != metric.key), "{}", metric.key);
        }
    }

    #[test]
    fn phase_1_alone_counts_connections_and_nothing_else_does() {
        let counting: Vec<&str> = METRICS.iter().map(|metric| metric.key).filter(|key| is_establishment(key)).collect();
        assert_eq!(counting, [MAX_CONN_EST_RATE.key, MAX_CONN_EST_RATE_VALIDATED.key]);
        assert!(!is_establishment("another"));
    }

    #[test]
    fn a_part_belongs_to_a_measured_metric() {
        for metric in METRICS {
            let Origin::Part { of } = metric.origin else { continue };
            assert!(by_key(of).is_some_and(Metric::is_measured), "{}", metric.key);
        }
    }

    #[test]
    fn procedures_and_measured_metrics_belong_together() {
        let mut given: Vec<&str> = PROCEDURES.iter().flat_map(|p| p.metrics).copied().collect();
        let mut measured: Vec<&str> =
            METRICS.iter().filter(|metric| metric.is_measured()).map(|metric| metric.key).collect();
        given.sort_unstable();
        measured.sort_unstable();
        assert_eq!(given, measured);
    }
}
