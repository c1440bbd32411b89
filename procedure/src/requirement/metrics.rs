//! Metrics with equal requirements: a list, or all with a property.

use super::Metrics::{These, Which};
use crate::Metric;
use crate::back_to_back::BACK_TO_BACK_FRAMES;
use crate::delay::{IPDV, LATENCY, PDV};
use crate::disruption::RESET;
use crate::dns::DNS64_RESOLUTION_RATE;
use crate::frame_loss::FRAME_LOSS_RATE;
use crate::metric::{Gives, TEN, TrialKind};
use crate::overload::OVERLOAD_SCALABILITY;
use crate::recovery::SYSTEM_RECOVERY_TIME;
use crate::tear_down::CONN_TEAR_DOWN_RATE;

/// The metrics to which a requirement applies.
#[derive(Clone, Copy, Debug)]
pub enum Metrics {
    /// Only these metrics.
    These(&'static [Metric]),
    /// Every metric with a property.
    Which(fn(&Metric) -> bool),
}

impl Metrics {
    /// Returns whether a metric is one of these.
    pub fn has(self, metric: &Metric) -> bool {
        match self {
            These(metrics) => metrics.contains(metric),
            Which(has_property) => has_property(metric),
        }
    }

    /// Returns those metrics that ship with natmeter.
    pub fn all(self) -> impl Iterator<Item = &'static Metric> {
        crate::ALL.iter().flat_map(|procedure| procedure.measured()).filter(move |metric| self.has(metric))
    }
}

/// Every metric, including those of procedures that do not ship.
pub(super) const EVERY: Metrics = Which(Metric::is_measured);
/// No metric: natmeter measures nothing to which the requirement applies.
pub(super) const NONE: Metrics = These(&[]);

pub(super) const LOSS: Metrics = These(&[FRAME_LOSS_RATE]);
pub(super) const DELAY: Metrics = These(&[LATENCY]);
pub(super) const PDVS: Metrics = These(&[PDV]);
pub(super) const IPDVS: Metrics = These(&[IPDV]);
pub(super) const VARIATIONS: Metrics = These(&[PDV, IPDV]);
pub(super) const DELAYS: Metrics = These(&[LATENCY, PDV, IPDV]);
pub(super) const BURSTS: Metrics = These(&[BACK_TO_BACK_FRAMES]);
pub(super) const RECOVERY: Metrics = These(&[SYSTEM_RECOVERY_TIME]);
pub(super) const RESETS: Metrics = These(&[RESET]);
pub(super) const OVERLOAD: Metrics = These(&[OVERLOAD_SCALABILITY]);
pub(super) const DNS64: Metrics = These(&[DNS64_RESOLUTION_RATE]);
pub(super) const TEAR_DOWN: Metrics = These(&[CONN_TEAR_DOWN_RATE]);

pub(super) const ESTABLISHMENT: Metrics = Which(|metric| metric.gives == Some(Gives::SetUpRate));
pub(super) const CAPACITY: Metrics = Which(|metric| metric.gives == Some(Gives::TableSize));
pub(super) const VALIDATED: Metrics = Which(|metric| metric.validated);
pub(super) const SEARCHED: Metrics = Which(|metric| metric.trials == TrialKind::Searched);
/// Throughputs and the loss at given loads.
pub(super) const AT_LOADS: Metrics = Which(|metric| metric.trials <= TrialKind::AtLoads);
/// Whatever is measured at several frame sizes.
pub(super) const AT_SIZES: Metrics = Which(|metric| metric.trials <= TrialKind::AtSizes);
/// The metrics of RFC 2544, with those that later RFCs define for the same trials: in phase 2 or stateless.
pub(super) const OF_DATA: Metrics = Which(|metric| metric.trials <= TrialKind::Data);
pub(super) const OF_PHASE1: Metrics = Which(|metric| metric.trials == TrialKind::Phase1);
/// Whatever has trials as of RFC 2544, section 23.
pub(super) const TRIALS: Metrics = Which(|metric| metric.trials <= TrialKind::Phase1);
/// Metrics of phase 2 whose trials leave the table to the scenario. The others update it.
pub(super) const OF_TABLE: Metrics =
    Which(|metric| metric.trials <= TrialKind::AtSizes && metric.baseline_of.is_none());
/// Metrics of either phase.
pub(super) const OF_CONNECTIONS: Metrics =
    Which(|metric| metric.trials <= TrialKind::Phase1 && metric.baseline_of.is_none());
/// The metrics that are measured ten times.
pub(super) const TEN_TIMES: Metrics = Which(|metric| metric.origin == TEN);
