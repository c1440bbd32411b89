//! Memories of several numbers of connections give the memory of a further one.

use super::{fixture, report};
use method::ResultKind;
use procedure::tear_down::MEMORY_CONNTRACK_ENTRIES;
use procedure::tear_down::MEMORY_PER_CONNTRACK_ENTRY;
use procedure::throughput::THROUGHPUT;

/// A device that takes 60,000 bytes for any number of connections, and 400 for each.
#[test]
fn the_slope_over_the_connections_is_the_memory_of_a_further_one() {
    let mut run = fixture::quickstart();
    let is_memory = |metric: &str| metric == THROUGHPUT.key;
    let of_memory = || MEMORY_PER_CONNTRACK_ENTRY.key.to_owned();
    for m in run.header.plan.measurements.iter_mut().filter(|m| is_memory(&m.metric)) {
        m.metric = of_memory();
    }
    for outcome in run.outcomes.iter_mut().filter(|o| is_memory(&o.measurement.metric)) {
        outcome.measurement.metric = of_memory();
        let bytes = 60_000 + 400 * outcome.measurement.point.connections.cast_signed();
        outcome.result.parts.insert(MEMORY_CONNTRACK_ENTRIES.to_owned(), bytes);
        outcome.result.kind = ResultKind::Observed;
    }
    let html = report(&run).render("html").unwrap();
    let (_, section) = html.split_once("Memory of a connection by regression").expect("the section is there");
    let row =
        |name: &str| section.split_once(&format!(">{name}<")).unwrap().1.split("</tr>").next().unwrap().to_owned();
    assert!(row("slope, bytes per connection").contains(">400<"), "{}", row("slope, bytes per connection"));
    assert!(row("R²").contains(">1.0000<"), "{}", row("R²"));
}
