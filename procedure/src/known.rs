//! Known truth: a simulated device whose value a procedure must find, on a simulated clock, without
//! host noise. The self-test runs all of them.

use method::simulated::{ControlTruth, SimulatedDut, Truth};
use method::{Direction, Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError};

/// What a procedure must measure.
pub struct Known {
    /// Key of the metric.
    pub metric: &'static str,
    /// The simulated device in words.
    pub device: &'static str,
    /// Injected value; none where the tester limits every rate.
    pub truth: Option<i64>,
    /// Unit of the value.
    pub unit: &'static str,
    /// How far below and above the truth a value is right.
    pub error: (i64, i64),
    /// Measures a new device.
    pub measure: fn() -> Result<SearchResult, TrialError>,
}

impl Known {
    /// The value of the device; none if the result bounds it from one side only.
    pub fn value(&self, result: &SearchResult) -> Option<i64> {
        let is_known = matches!(result.kind, ResultKind::Exact | ResultKind::Observed);
        is_known.then(|| result.parts.get(self.metric).copied().unwrap_or(result.rate.0.cast_signed()))
    }
}

pub(crate) const CAPACITY: Rate = Rate(600_000);
pub(crate) const FRAMES: &str = "frames/s";
pub(crate) const CONNECTIONS: &str = "connections/s";
pub(crate) const EXACT: (i64, i64) = (0, 0);
/// Error of a search: one part of the rate in so many.
const PRECISION: i64 = 1_000;

/// Tolerance of a search: how far it may end below and above a truth.
pub(crate) const fn of_search(truth: i64) -> (i64, i64) {
    (truth / PRECISION + 1, 0)
}

pub(crate) fn simulated() -> Truth {
    Truth::new(CAPACITY, Rate(300_000))
}

pub(crate) fn device(truth: Truth) -> SimulatedDut {
    SimulatedDut::new(truth, 1)
}

/// A device that tells of itself, or can be acted on.
pub(crate) fn controlled(control: ControlTruth) -> SimulatedDut {
    device(Truth { control, ..simulated() })
}

pub(crate) fn settings() -> SearchSettings {
    let precision = Precision::Relative(Ratio::from_ppm(1_000_000 / PRECISION as u64));
    SearchSettings { hi: Rate(1_000_000), precision, duration: Nanos::SECOND, ..SearchSettings::default() }
}

pub(crate) fn forward() -> SearchSettings {
    SearchSettings { direction: Direction::Forward, ..settings() }
}

/// Connections of a phase 2, or held beside new ones.
pub(crate) const HELD: method::search::Phase2 =
    method::search::Phase2 { connections: 30_000, phase1_rate: Rate(10_000) };
