//! Metrics: name, unit and definition of a value, and what other measurements take from it. Here
//! are those that reports compute; others are in the file of their procedure.

method::worded! {
    /// The unit of a value.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Unit: symbol {
        /// Frames per second and direction; published tables print the total of both directions.
        FramesPerSecond = "frames/s per direction",
        /// Connections per second.
        ConnectionsPerSecond = "connections/s",
        /// DNS queries per second.
        QueriesPerSecond = "queries/s",
        /// Connections.
        Connections = "connections",
        /// A plain ratio.
        Ratio = "",
        /// Per cent.
        Percent = "%",
        /// Parts per million.
        PartsPerMillion = "ppm",
        /// Frames.
        Frames = "frames",
        /// Nanoseconds.
        Nanoseconds = "ns",
        /// Bytes.
        Bytes = "bytes",
        /// No unit of its own: the values are those of its parts.
        Parts = "",
    }
}

impl Unit {
    /// Whether both directions together have twice the stored value.
    pub fn per_direction(self) -> bool {
        self == Unit::FramesPerSecond
    }
}

/// How a metric is obtained. RFC 9693, section 5, recommends series over connections and cores
/// without metrics: the ratios are those of published measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Measured by a repeated procedure.
    Measured {
        /// Least repetitions; a result with fewer is "not conforming".
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

/// A property that other measurements, sentences and sizings take from a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gives {
    /// Rate forwarded without loss.
    Throughput,
    /// Rate of set-up: phase 1 runs at a share of it.
    SetUpRate,
    /// Connections that the table holds.
    TableSize,
    /// Memory of one connection.
    MemoryOfConnection,
}

/// The kind of a metric's trials, for the requirements of RFCs. Requirements on a kind also apply to all kinds before
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrialKind {
    /// Data frames at a rate that is searched (RFC 2544, section 26.1).
    Searched,
    /// Data frames at a series of loads (RFC 2544, section 26.3).
    AtLoads,
    /// Data frames, for which RFCs ask for several frame sizes.
    AtSizes,
    /// Data frames, for which RFCs ask for no series of frame sizes.
    Data,
    /// First frames of connections (RFC 9693).
    Phase1,
    /// Trials that no RFC defines.
    Own,
}

/// What a value is a total of: it compares only at the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TotalOf {
    /// All connections of a point.
    Connections,
    /// All buckets of a hash table.
    Buckets,
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each says something else")]
pub struct Metric {
    /// Name in files and of published values.
    pub key: &'static str,
    /// Title in reports.
    pub title: &'static str,
    /// Unit of the stored value.
    pub unit: Unit,
    /// The defining document and section.
    pub reference: &'static str,
    /// Origin of the metric.
    pub origin: Origin,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// Definition in one sentence.
    pub definition: &'static str,
    /// What other measurements take from the metric.
    pub gives: Option<Gives>,
    /// Kind of the trials.
    pub trials: TrialKind,
    /// Whether RFCs report the average (RFC 2544, sections 26.2, 26.4 and 26.5; RFC 6201, section 1.4; RFC 9004,
    /// section 6.4).
    pub averaged: bool,
    /// Whether trials validate connections.
    pub validated: bool,
    /// Metric whose baseline, of a device without the function under test, it is.
    pub baseline_of: Option<&'static str>,
    /// What the metric is a total of.
    pub total_of: Option<TotalOf>,
    /// Whether lost frames count by kind, translated or native.
    pub by_kind: bool,
    /// Whether a part is exact where the whole is a bound.
    pub observed: bool,
    /// Why a value without an upper end is a lower bound, if not by the highest rate of a search.
    pub bounded_by: Option<&'static str>,
}

/// Least repetitions in published results of RFC 9693 metrics.
pub const TEN: Origin = Origin::Measured { repetitions: 10 };

impl Metric {
    /// Ten repetitions; a higher value is better.
    pub const USUAL: Metric = Metric {
        key: "",
        title: "",
        unit: Unit::Parts,
        reference: "",
        origin: TEN,
        higher_is_better: true,
        definition: "",
        gives: None,
        trials: TrialKind::Own,
        averaged: false,
        validated: false,
        baseline_of: None,
        total_of: None,
        by_kind: false,
        observed: false,
        bounded_by: None,
    };

    /// A further value from its trials; a lower one is better.
    pub const fn part(&self, key: &'static str, title: &'static str, unit: Unit, definition: &'static str) -> Metric {
        let (origin, reference) = (Origin::Part { of: self.key }, self.reference);
        Metric { key, title, unit, reference, origin, higher_is_better: false, definition, ..Metric::USUAL }
    }

    /// Whether a scenario can request the metric.
    pub fn is_measured(&self) -> bool {
        matches!(self.origin, Origin::Measured { .. })
    }

    /// Key of the metric that is measured: its own, or that of the whole.
    pub fn whole(&self) -> &'static str {
        if let Origin::Part { of } = self.origin { of } else { self.key }
    }
}

/// Why the time of an interruption is a lower bound.
pub(crate) const STILL_LOST: &str = "frames were still lost at the end of the trial";

const fn ratio(
    key: &'static str,
    title: &'static str,
    unit: Unit,
    reference: &'static str,
    definition: &'static str,
) -> Metric {
    Metric { key, title, unit, reference, origin: Origin::Derived, definition, ..Metric::USUAL }
}

/// The cost of the function under test.
pub const THROUGHPUT_RATIO_NAT_TO_FORWARDING: Metric = ratio(
    "throughput_ratio_nat_to_forwarding",
    "Throughput against plain forwarding",
    Unit::Percent,
    "draft-lencse-v6ops-transition-scalability-05, Figure 2",
    "The median throughput in per cent of the median throughput of plain forwarding of the same device.",
);

/// `S_CPU`: from one core to n.
pub const REL_SCALE_UP: Metric = ratio(
    "rel_scale_up",
    "Relative scale-up over cores, S_CPU",
    Unit::Ratio,
    "Lencse and Bazsó 2024, equation (1), divided by P(1) as in Table 4",
    "The median performance on n cores divided by n times the median performance on one core.",
);

/// Ratio from column to column.
pub const RATIO_TO_PREVIOUS: Metric = ratio(
    "ratio_to_previous",
    "Ratio to the previous column",
    Unit::Ratio,
    "draft-lencse-v6ops-transition-scalability-05, Figure 12",
    "The median performance divided by the median performance at the previous point of the axis.",
);

/// `S_C`: from few connections to many.
pub const SCALING_OVER_CONNECTIONS: Metric = ratio(
    "scaling_over_connections",
    "Relative performance over connections, S_C",
    Unit::Ratio,
    "Lencse and Bazsó 2024, equation (2)",
    "The median performance with n connections divided by that with the smallest number of connections.",
);

/// Metrics that are computed from medians.
pub const DERIVED: &[Metric] =
    &[THROUGHPUT_RATIO_NAT_TO_FORWARDING, REL_SCALE_UP, RATIO_TO_PREVIOUS, SCALING_OVER_CONNECTIONS];

/// Returns the metric with this key, of all procedures.
pub fn by_key(key: &str) -> Option<&'static Metric> {
    let measured = crate::ALL.iter().flat_map(|procedure| procedure.metrics);
    measured.chain(DERIVED).find(|metric| metric.key == key)
}

/// Key of the first metric that gives this.
pub fn giving(what: Gives) -> &'static str {
    let all = crate::ALL.iter().flat_map(|procedure| procedure.metrics);
    all.into_iter().find(|metric| metric.gives == Some(what)).map_or("", |metric| metric.key)
}

/// Key of the baseline: the throughput of a device that only forwards.
pub fn forwarding() -> &'static str {
    let all = crate::ALL.iter().flat_map(|procedure| procedure.metrics);
    all.into_iter().find(|metric| metric.baseline_of.is_some()).map_or("", |metric| metric.key)
}

/// Whether the metric with this key gives this.
pub fn gives(key: &str, what: Gives) -> bool {
    by_key(key).is_some_and(|metric| metric.gives == Some(what))
}

/// What a value of the metric with this key is a total of.
pub fn total_of(key: &str) -> Option<TotalOf> {
    by_key(key)?.total_of
}
