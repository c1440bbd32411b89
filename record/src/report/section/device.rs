//! What procedures found that look at the device or act on it: the times behind the tear-down rate, the idle time of every core
//! with what limits the throughput, and what resets and failovers did to connections.

use super::Section;
use crate::report::figure::{Figure, cpu_idle as idle_times};
use crate::report::result::PointResult;
use crate::report::table::{Row, Table, row};
use crate::report::{Report, bottleneck, facts, number};
use method::trial::{Acted, CpuIdle, Emptied};
use procedure::metric::{CONN_TEAR_DOWN_RATE, CPU_IDLE, FAILOVER, RESET};

/// The results of these metrics that have repetitions.
fn of<'a>(report: &'a Report, metrics: &[&str]) -> Vec<&'a PointResult> {
    let wanted = |r: &&PointResult| metrics.contains(&r.metric.as_str()) && !r.repetitions.is_empty();
    report.results.iter().filter(wanted).collect()
}

/// A table with a column for each result.
fn table(title: &str, axis: &'static str, results: &[&PointResult], parameters: Vec<Row>) -> Table {
    Table {
        title: title.to_owned(),
        axis,
        columns: results.iter().map(|result| facts::place(result)).collect(),
        parameters,
        groups: Vec::new(),
        notes: Vec::new(),
        same: Vec::new(),
    }
}

/// The section of all points with a tear-down rate.
pub(super) fn tear_down(report: &Report) -> Option<Section> {
    let results = of(report, &[CONN_TEAR_DOWN_RATE.key]);
    if results.is_empty() {
        return None;
    }
    let last = |of: fn(&Emptied) -> String| {
        let emptied = |r: &&PointResult| r.repetitions.iter().rev().find_map(|r| r.observed.emptied.as_ref()).map(of);
        results.iter().map(emptied).collect::<Vec<_>>()
    };
    let rows = vec![
        row("table is emptied by", last(|emptied| emptied.how.clone())),
        row("times are of the clock of the", last(|emptied| emptied.clock.clone())),
        row("entries, last repetition", last(|emptied| emptied.entries.map_or("–".to_owned(), number::grouped))),
        row("times of the empty table, all repetitions", results.iter().map(|r| empty_times(r))),
        row("below resolution", results.iter().map(|r| Some(below_resolution(r)))),
    ];
    Some(Section {
        title: CONN_TEAR_DOWN_RATE.title.to_owned(),
        about: "The net time is that to empty the full table without that to empty an empty one of the same size. It is resolved if it \
                is at least five times the spread of the latter; otherwise the rate is a lower bound. Rates are comparable only \
                between equal commands."
            .to_owned(),
        tables: vec![table("Times to empty the table", "tear-down", &results, rows)],
        figures: Vec::new(),
    })
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
    let about = "Idle time of each core in a trial at the throughput, whose frames give no result, because sampling takes CPU time.";
    Some(Section {
        title: "CPU idle time".to_owned(),
        about: format!("{about} {}", bottleneck::sentences(report).join(" ")).trim_end().to_owned(),
        tables: Vec::new(),
        figures: results.iter().enumerate().flat_map(|(at, result)| figures(at, result)).collect(),
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
    let rows = vec![
        row("the command took", results.iter().map(|r| spread(r, |acted| Some(acted.took.0), number::duration))),
        row("connections before", results.iter().map(|r| connections(r, |c| c.all))),
        row("same outside address and port afterwards", results.iter().map(|r| connections(r, |c| c.same))),
        row("another outside address or port", results.iter().map(|r| connections(r, |c| c.moved))),
        row("no frame passes", results.iter().map(|r| connections(r, |c| c.all - c.same - c.moved))),
    ];
    Some(Section {
        title: "Resets and failovers".to_owned(),
        about: "After the trial, one frame Left to Right on each connection shows what became of it. Frames Left to Right may have \
                opened a connection again before, which then counts by the port that it got."
            .to_owned(),
        tables: vec![table("Connections", "disruption", &results, rows)],
        figures: Vec::new(),
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
