//! Procedures that look at the device or act on it, with their own parameters.

use super::{Search, given, is_upper_end_the_testers};
use crate::folder::{Calibration, Outcome};
use crate::plan::Measurement;
use method::search::bottleneck::Limit;
use method::search::{Phase2, Progress, SearchResult};
use method::trial::{Action, Disruption};
use method::{Nanos, Rate, ResultKind, TrialError, Trials};
use procedure::churn::Limits;
use procedure::cpu_idle::{self, Sampling};
use procedure::disruption::{self, Outage};
use procedure::metric::is_throughput;
use procedure::profiling::{self, Profiling};
use procedure::tear_down::{self, Emptying};
use scenario::{Dut, Point, Scenario};

/// Such a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceJob {
    TearDown(Emptying),
    Memory,
    CpuIdle { duration: Nanos, interval: Nanos, boxes: u32 },
    Profile { duration: Nanos, frequency: u32 },
    Outage { action: Action, duration: Nanos, off: Nanos, churn: Option<Churned> },
}

/// New connections beside those that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Churned {
    arrivals: Rate,
    held: u64,
    limits: Limits,
}

impl DeviceJob {
    /// Returns the job of a procedure; none of another one.
    pub(super) fn new(procedure: &str, m: &Measurement, scenario: &Scenario) -> Option<DeviceJob> {
        let of = &scenario.procedures;
        Some(match procedure {
            key if key == tear_down::PROCEDURE.key => DeviceJob::TearDown(of.tear_down.emptying()),
            key if key == tear_down::MEMORY.key => DeviceJob::Memory,
            key if key == cpu_idle::PROCEDURE.key => {
                let boxes = scenario.duts.get(m.point.dut).map_or(1, |dut| boxes(dut, scenario));
                DeviceJob::CpuIdle { duration: of.cpu_idle.duration, interval: of.cpu_idle.interval, boxes }
            }
            key if key == profiling::PROCEDURE.key => {
                DeviceJob::Profile { duration: of.profiling.duration, frequency: of.profiling.frequency }
            }
            key if key == disruption::RESET.key => {
                let action = Action { what: Disruption::Reset, at: of.reset.at };
                DeviceJob::Outage { action, duration: of.reset.duration, off: of.reset.off, churn: None }
            }
            key if key == disruption::FAILOVER.key => {
                let action = Action { what: Disruption::Failover, at: of.failover.at };
                let churn = churned(m, scenario);
                DeviceJob::Outage { action, duration: of.failover.duration, off: Nanos(0), churn }
            }
            _ => return None,
        })
    }
}

/// The boxes between the ports, each of which is sampled in a trial of its own.
fn boxes(dut: &Dut, scenario: &Scenario) -> u32 {
    scenario.bed_of(dut).map_or(1, |bed| bed.boxes.len() as u32)
}

fn churned(m: &Measurement, scenario: &Scenario) -> Option<Churned> {
    let rate = scenario.procedures.failover.churn?;
    let (held, limits) = scenario.churn(scenario.duts.get(m.point.dut)?, m.point.connections);
    Some(Churned { arrivals: Rate(rate.frames_per_second(scenario.widest_frame())), held, limits })
}

/// The kinds of the throughputs of a point.
pub(super) fn throughputs(point: &Point, known: &[Outcome]) -> Vec<ResultKind> {
    let is_of_point = |o: &&Outcome| o.measurement.point == *point && is_throughput(&o.measurement.metric);
    known.iter().filter(is_of_point).map(|o| o.result.kind).collect()
}

/// What limits the throughput at which the trials of a measurement run, by the kinds of the throughputs of its point: nothing is
/// known of a rate that the scenario gives.
pub(crate) fn limit(m: &Measurement, scenario: &Scenario, calibration: &Calibration, kinds: &[ResultKind]) -> Limit {
    if given(m, scenario).is_some() {
        return Limit::Unknown;
    }
    let ceiling = || {
        calibration.at(&m.point.of(scenario), m.point.connections, &m.point.axes).and_then(|c| c.of_trials(&m.metric))
    };
    if kinds.contains(&ResultKind::Exact) {
        Limit::Device
    } else if kinds.contains(&ResultKind::TesterLimit)
        || kinds.contains(&ResultKind::AtUpperLimit) && is_upper_end_the_testers(scenario.max_rate(), ceiling())
    {
        Limit::Tester
    } else {
        Limit::Unknown
    }
}

impl Search<'_> {
    /// Runs such a procedure.
    pub(super) fn run_device(
        &self,
        job: DeviceJob,
        trials: &mut impl Trials,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<SearchResult, TrialError> {
        let settings = &self.settings;
        match job {
            DeviceJob::TearDown(emptying) => tear_down::measure(trials, settings, self.connections()?, emptying, watch),
            DeviceJob::Memory => tear_down::memory(trials, settings, self.connections()?, watch),
            DeviceJob::CpuIdle { duration, interval, boxes } => {
                let sampling = Sampling { rate: self.throughput()?, limit: self.limit, duration, interval, boxes };
                cpu_idle::measure(trials, settings, self.phase2()?, sampling, watch)
            }
            DeviceJob::Profile { duration, frequency } => {
                let profiling = Profiling { rate: self.throughput()?, limit: self.limit, duration, frequency };
                profiling::measure(trials, settings, self.phase2()?, profiling, watch)
            }
            DeviceJob::Outage { action, duration, off, churn } => {
                let of_churn = churn.map(|churn| (churn.arrivals, churn.limits));
                let outage = Outage { action, rate: self.throughput()?, duration, off, churn: of_churn };
                let held = |phase2: Phase2| churn.map_or(phase2, |c| Phase2 { connections: c.held, ..phase2 });
                disruption::measure(trials, settings, self.phase2()?.map(held), outage, watch)
            }
        }
    }

    /// The connections that fill a table.
    fn connections(&self) -> Result<Phase2, TrialError> {
        let none = || TrialError::Refused("without connections there is nothing to remove".to_owned());
        self.phase2()?.ok_or_else(none)
    }
}
