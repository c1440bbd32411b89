//! What limits the throughput of each point, in one finding: the idle times of its cores and its profile, taken together.

use super::Report;
use super::facts::device_at;
use super::number;
use super::result::PointResult;
use crate::plan::Measurement;
use document::Finding;
use method::ResultKind;
use method::search::Bottleneck;
use method::search::bottleneck::{CoreLoads, Limit, LockWait, Symptoms};
use method::trial::{CpuIdle, Profile};
use procedure::cpu_idle::{CPU_IDLE, name_of};
use procedure::metric::Gives;
use procedure::profiling::LOCK_WAIT;
use scenario::bed::BoxKeys;

/// The idle times of a point: of its last repetition that has any.
fn idle_of(result: &PointResult) -> &[CpuIdle] {
    let last = result.repetitions.iter().rev().find(|r| !r.observed.cpu.is_empty());
    last.map_or(&[], |r| &r.observed.cpu)
}

/// The profile of a point: of its last repetition that has one.
fn profile_of(result: &PointResult) -> Option<&Profile> {
    result.repetitions.iter().rev().find_map(|r| r.observed.profile.as_ref())
}

/// What limits the throughput at each point with idle times or a profile.
pub(super) fn findings(report: &Report) -> Vec<Finding> {
    let has_symptoms = |r: &&PointResult| [CPU_IDLE.key, LOCK_WAIT.key].contains(&r.metric.as_str());
    let points = document::grouped_by(report.results.iter().filter(has_symptoms), |r| r.point());
    let finding = |(_, at_point): (_, Vec<&PointResult>)| {
        let point = at_point[0];
        let found = format!("{}.", in_words(&at(report, point)?));
        Some(Finding { subject: "Bottleneck", of: device_at(point), found })
    };
    points.into_iter().filter_map(finding).collect()
}

/// What limits the throughput at the point of a result; none if too little was seen.
fn at(report: &Report, point: &PointResult) -> Option<Bottleneck> {
    let of_metric = |key| report.results.iter().find(move |r| r.metric == key && r.is_beside(point));
    let (idle, profiled) = (of_metric(CPU_IDLE.key), of_metric(LOCK_WAIT.key));
    let measured = || [idle, profiled].into_iter().flatten();
    // A repetition whose trials were all invalid has no bottleneck.
    if !measured().any(|result| result.repetitions.iter().any(|r| r.evidence.bottleneck.is_some())) {
        return None;
    }
    let limits = measured().map(|result| limit(report, result));
    let limit = limits.into_iter().find(|limit| *limit != Limit::Unknown).unwrap_or(Limit::Unknown);
    let profile = profiled.and_then(profile_of);
    let mut loads: Vec<CoreLoads> = idle.map_or(&[][..], idle_of).iter().map(CoreLoads::of_samples).collect();
    let (whose, boxes) = box_of_profile(report, point);
    let profile = profile.zip(whose);
    if loads.is_empty() {
        loads.extend(profile.and_then(|(profile, of)| Some(CoreLoads { of, ..CoreLoads::of_profile(profile)? })));
    }
    let locks = profile.and_then(|(profile, of)| Some(LockWait { of, ..LockWait::of_profile(profile)? }));
    Symptoms { limit, boxes, loads, locks }.bottleneck()
}

/// Number of the box that a profile shows, and the number of boxes. A profile of a kernel that forwards packets of several boxes
/// shows none of them.
fn box_of_profile(report: &Report, point: &PointResult) -> (Option<u32>, u32) {
    let scenario = &report.header.scenario;
    let Some(bed) = scenario.duts.get(point.dut).and_then(|dut| scenario.bed_of(dut)) else { return (Some(0), 1) };
    let here = |(at, (_, keys)): (u32, &(_, BoxKeys))| keys.has_kernel_of_tester().then_some(at);
    let mut of_this_kernel = (0..).zip(&bed.boxes).filter_map(here);
    let first = of_this_kernel.next();
    (first.filter(|_| of_this_kernel.next().is_none()), bed.boxes.len() as u32)
}

/// What limits the throughput at which a result was measured, as its trials were told.
fn limit(report: &Report, result: &PointResult) -> Limit {
    let header = &report.header;
    let is_same = |m: &&Measurement| m.metric == result.metric && result.is_at(&m.point);
    let Some(m) = header.plan.measurements.iter().find(is_same) else { return Limit::Unknown };
    let throughputs = report.results.iter().filter(|other| other.gives(Gives::Throughput) && other.is_beside(result));
    let kinds: Vec<ResultKind> =
        throughputs.flat_map(|of| &of.repetitions).map(|repetition| repetition.bound).collect();
    let calibration = report.calibration.clone().unwrap_or_default();
    crate::search::limit(m, &header.scenario, &calibration, &kinds)
}

fn in_words(bottleneck: &Bottleneck) -> String {
    const ALL_IDLE: &str = "every core has idle time";
    const LOSES: &str = "and yet frames are lost at a higher rate";
    match bottleneck {
        Bottleneck::Device { of, boxes } => {
            format!("{} limits the throughput: all of its cores are busy", name_of(*of, *boxes))
        }
        Bottleneck::HotCore { of, boxes, core } => format!(
            "one hot core limits the throughput: {core} of {} is busy while others have idle time",
            name_of(*of, *boxes)
        ),
        Bottleneck::Locks { of, boxes, waits } => format!(
            "lock contention limits the throughput: {} waits for locks in {} of its working time",
            name_of(*of, *boxes),
            number::percent(f64::from(*waits) / 1e4)
        ),
        Bottleneck::Memory => format!(
            "neither CPU time nor locks limit the throughput: {ALL_IDLE}, little of the working time waits for locks, {LOSES}; a full queue or memory contention is possible"
        ),
        Bottleneck::Contention => {
            format!("CPU time does not limit the throughput: {ALL_IDLE}, {LOSES}; locks, memory or a full queue may")
        }
        Bottleneck::Tester => "the tester limits the throughput: it could offer no higher rate".to_owned(),
        Bottleneck::Unknown => format!("{ALL_IDLE} at this rate, at which no limit was found"),
    }
}
