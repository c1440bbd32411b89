//! What procedures found that look at the device or act on it: the times behind the tear-down rate, the idle time of every core
//! with what limits the throughput, and what resets and failovers did to connections.

use super::{line, of, places};
use crate::report::figure::cpu_idle as idle_times;
use crate::report::result::PointResult;
use crate::report::{Report, bottleneck, facts, number};
use document::{Figure, Quantity, Section, Table};
use method::trial::{Acted, CpuIdle, Emptied};
use procedure::cpu_idle::CPU_IDLE;
use procedure::disruption::{FAILOVER, RESET};
use procedure::tear_down::CONN_TEAR_DOWN_RATE;

/// The section of all points with a tear-down rate.
pub(super) fn tear_down(report: &Report) -> Option<Section> {
    let results = of(report, &[CONN_TEAR_DOWN_RATE.key]);
    if results.is_empty() {
        return None;
    }
    let rows = [
        line("table is emptied by", &results, |r| last(r).map(|emptied| emptied.how.clone())),
        line("times are of the clock of the", &results, |r| last(r).map(|emptied| emptied.clock.clone())),
        line("entries, last repetition", &results, |r| last(r)?.entries.map(Quantity::count)),
        line("times of the empty table, all repetitions", &results, empty_times),
        line("below resolution", &results, below_resolution),
    ];
    Some(Section {
        title: CONN_TEAR_DOWN_RATE.title.to_owned(),
        about: "The net time is that to empty the full table without that to empty an empty one of the same size. It is resolved if it \
                is at least five times the spread of the latter; otherwise the rate is a lower bound. Rates are comparable only \
                between equal commands."
            .to_owned(),
        tables: vec![Table::new("Times to empty the table", "tear-down", places(&results)).rows(rows)],
        ..Section::default()
    })
}

/// How the table was emptied in the last repetition.
fn last(result: &PointResult) -> Option<&Emptied> {
    result.repetitions.iter().rev().find_map(|r| r.observed.emptied.as_ref())
}

fn empty_times(result: &PointResult) -> Option<String> {
    let all = result.repetitions.iter().filter_map(|r| r.observed.emptied.as_ref()).flat_map(|emptied| &emptied.empty);
    let (least, most) = (all.clone().min()?, all.max()?);
    Some(format!("{} to {}", number::duration(least.0), number::duration(most.0)))
}

fn below_resolution(result: &PointResult) -> String {
    let below = result.repetitions.iter().filter(|r| r.evidence.below_resolution.is_some()).count();
    if below == 0 { "no".to_owned() } else { format!("in {below} of {} repetitions", result.repetitions.len()) }
}

/// The section of all points with CPU idle times.
pub(super) fn cpu_idle(report: &Report) -> Option<Section> {
    let results = of(report, &[CPU_IDLE.key]);
    if results.is_empty() {
        return None;
    }
    Some(Section {
        title: "CPU idle time".to_owned(),
        about: "Idle time of each core in a trial at the throughput, whose frames give no result, because sampling takes CPU time."
            .to_owned(),
        findings: bottleneck::findings(report),
        figures: results.iter().enumerate().flat_map(|(at, result)| figures(at, result)).collect(),
        ..Section::default()
    })
}

/// One figure for each box, of the last repetition: no average over repetitions or cores.
fn figures(at: usize, result: &PointResult) -> Vec<Figure> {
    let boxes = bottleneck::idle_of(result);
    let name = |cpu: &CpuIdle| {
        let place = facts::device_at(result);
        if boxes.len() > 1 { format!("{place}, {}", bottleneck::name_of(cpu.of, boxes.len() as u32)) } else { place }
    };
    boxes.iter().map(|cpu| idle_times(&format!("cpu-idle-{at}-{}", cpu.of), &name(cpu), cpu)).collect()
}

/// The section of all points with a reset or a failover.
pub(super) fn disruptions(report: &Report) -> Option<Section> {
    let results = of(report, &[RESET.key, FAILOVER.key]);
    if results.is_empty() {
        return None;
    }
    let rows = [
        line("the command took", &results, |r| spread(r, |acted| Some(acted.took.0), number::duration)),
        line("connections before", &results, |r| connections(r, |c| c.all)),
        line("same outside address and port afterwards", &results, |r| connections(r, |c| c.same)),
        line("another outside address or port", &results, |r| connections(r, |c| c.moved)),
        line("no frame passes", &results, |r| connections(r, |c| c.all - c.same - c.moved)),
    ];
    Some(Section {
        title: "Resets and failovers".to_owned(),
        about: "After the trial, one frame Left to Right on each connection shows what became of it. Frames Left to Right may have \
                opened a connection again before, which then counts by the port that it got."
            .to_owned(),
        tables: vec![Table::new("Connections", "disruption", places(&results)).rows(rows)],
        ..Section::default()
    })
}

fn connections(result: &PointResult, count: fn(method::trial::Survivors) -> u64) -> Option<String> {
    spread(result, |acted| acted.connections.map(count), number::grouped)
}

/// The smallest and the largest of a figure over the repetitions.
fn spread(result: &PointResult, of: impl Fn(&Acted) -> Option<u64>, show: impl Fn(u64) -> String) -> Option<String> {
    let all = result.repetitions.iter().filter_map(|r| of(r.observed.action.as_ref()?));
    let all: Vec<u64> = all.collect();
    let (least, most) = (*all.iter().min()?, *all.iter().max()?);
    Some(if least == most { show(least) } else { format!("{} to {}", show(least), show(most)) })
}
