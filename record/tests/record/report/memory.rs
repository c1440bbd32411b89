//! Memories of several numbers of connections give the memory of a further one.

use super::fixture::{Run, Truth};
use super::{fixture, report};
use method::ResultKind;
use procedure::tear_down::MEMORY_CONNTRACK_ENTRIES;
use procedure::tear_down::MEMORY_PER_CONNTRACK_ENTRY;
use procedure::throughput::THROUGHPUT;
use scenario::Point;

/// Returns the row with this name in the section of a run whose devices take `bytes` of memory.
fn row(mut run: Run, bytes: impl Fn(&Point) -> i64, name: &str) -> String {
    let is_memory = |metric: &str| metric == THROUGHPUT.key;
    let of_memory = || MEMORY_PER_CONNTRACK_ENTRY.key.to_owned();
    for m in run.header.plan.measurements.iter_mut().filter(|m| is_memory(&m.metric)) {
        m.metric = of_memory();
    }
    for outcome in run.outcomes.iter_mut().filter(|o| is_memory(&o.measurement.metric)) {
        outcome.measurement.metric = of_memory();
        let bytes = bytes(&outcome.measurement.point);
        outcome.result.parts.insert(MEMORY_CONNTRACK_ENTRIES.to_owned(), bytes);
        outcome.result.kind = ResultKind::Observed;
    }
    let html = report(&run).render("html").unwrap();
    let (_, section) = html.split_once("Memory of a connection by regression").expect("the section is there");
    section.split_once(&format!(">{name}<")).unwrap().1.split("</tr>").next().unwrap().to_owned()
}

/// A device that takes 60,000 bytes for any number of connections, and 400 for each.
#[test]
fn the_slope_over_the_connections_is_the_memory_of_a_further_one() {
    let row = |name: &str| row(fixture::quickstart(), |at| 60_000 + 400 * at.connections.cast_signed(), name);
    assert!(row("slope, bytes per connection").contains(">400<"), "{}", row("slope, bytes per connection"));
    assert!(row("R²").contains(">1.0000<"), "{}", row("R²"));
}

/// Devices with equal names are still different devices.
#[test]
fn each_device_has_its_own_slope_whatever_its_name() {
    let mut scenario = fixture::quickstart_scenario();
    scenario.duts.push(scenario.duts[0].clone());
    let run = Run::new(scenario).measure(|_| Truth { capacity: 500_000, tester: 40_000_000, noise: 0 });
    let bytes = |at: &Point| (400 * (1 + at.dut as u64) * at.connections).cast_signed();
    let slopes = row(run, bytes, "slope, bytes per connection");
    assert!(slopes.contains(">400<") && slopes.contains(">800<"), "{slopes}");
}
