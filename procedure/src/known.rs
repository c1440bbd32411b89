//! Known truth: a simulated device whose value a procedure must find, on a simulated clock, without
//! host noise. The self-test runs all of them.

use crate::metric::by_key;
use crate::{Context, Keys};
use method::search::Phase2;
use method::search::bottleneck::Limit;
use method::simulated::{ControlTruth, SimulatedDut, Truth};
use method::{Direction, Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError};
use std::fmt::Debug;

/// What a procedure must measure.
pub struct KnownValue {
    /// Key of the metric.
    pub metric: &'static str,
    /// The simulated device in words.
    pub device: &'static str,
    /// Injected value; none where the tester limits every rate.
    pub truth: Option<i64>,
    /// How far below and above the truth a value is right.
    pub error: (i64, i64),
    /// Function that returns the device and the conditions of the measurement.
    pub point: fn() -> KnownPoint,
}

/// A simulated device, and the conditions under which it is measured.
pub struct KnownPoint {
    pub(crate) device: Truth,
    pub(crate) keys: Keys,
    pub(crate) settings: SearchSettings,
    pub(crate) phase2: Option<Phase2>,
    pub(crate) throughput: Rate,
    pub(crate) limit: Limit,
}

impl KnownPoint {
    /// Returns the default conditions with the keys of a procedure.
    pub(crate) fn new<T: Debug + Send + Sync + 'static>(keys: T, device: Truth) -> KnownPoint {
        let (keys, settings) = (Keys::of_table(keys), settings());
        KnownPoint { device, keys, settings, phase2: None, throughput: CAPACITY, limit: Limit::Unknown }
    }
}

impl KnownValue {
    /// Measures a new device.
    ///
    /// # Errors
    /// Those of the procedure.
    pub fn measure(&self) -> Result<SearchResult, TrialError> {
        let KnownPoint { device, keys, settings, phase2, throughput, limit } = (self.point)();
        let metric = by_key(self.metric).and_then(|part| by_key(part.whole())).expect("a metric of a procedure");
        let context = Context { throughput: Some(throughput), limit, ..Context::new(metric, &keys, &settings) };
        phase2.into_iter().fold(context, Context::with).measure(&mut SimulatedDut::new(device, 1))
    }

    /// Unit of the value, of one direction.
    pub fn unit(&self) -> &'static str {
        by_key(self.metric).map_or("", |metric| metric.unit.symbol()).trim_end_matches(" per direction")
    }

    /// The value of the device; none if the result bounds it from one side only.
    pub fn value(&self, result: &SearchResult) -> Option<i64> {
        let is_known = matches!(result.kind, ResultKind::Exact | ResultKind::Observed);
        is_known.then(|| result.parts.get(self.metric).copied().unwrap_or(result.rate.0.cast_signed()))
    }
}

pub(crate) const CAPACITY: Rate = Rate(600_000);
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

/// A device that tells of itself, or can be acted on.
pub(crate) fn controlled(control: ControlTruth) -> Truth {
    Truth { control, ..simulated() }
}

fn settings() -> SearchSettings {
    let precision = Precision::Relative(Ratio::from_ppm(1_000_000 / PRECISION as u64));
    SearchSettings { hi: Rate(1_000_000), precision, duration: Nanos::SECOND, ..SearchSettings::default() }
}

pub(crate) fn forward() -> SearchSettings {
    SearchSettings { direction: Direction::Forward, ..settings() }
}

/// Connections of a phase 2, or held beside new ones.
pub(crate) const HELD: Phase2 = Phase2 { connections: 30_000, phase1_rate: Rate(10_000) };
