//! What steps configure on a box.

use super::cores::shared_out;
use dut::software::conntrack;
use dut::{Configuration, software};
use scenario::bed::software::TechnologyPart;
use scenario::bed::{self, Bed, BoxKeys};
use scenario::{Point, Scenario};
use std::time::Duration;

// `scenario` refuses what `dut` would refuse, without a dependency on it.
const _: () = assert!(
    scenario::SLACK == conntrack::SLACK
        && scenario::MOST_ENTRIES == conntrack::MOST_ENTRIES
        && scenario::MOST_BUCKETS == conntrack::MOST_BUCKETS
);

/// What steps configure on a box; `None` if a script or the user configures it.
pub fn of(scenario: &Scenario, bed: &Bed, (role, keys): (&str, &BoxKeys), point: &Point) -> Option<Configuration> {
    let dut = &scenario.duts[point.dut];
    let has_steps = keys.on == bed::On::Namespace && dut.asked(role).part == TechnologyPart::Whole;
    let known = software::named(keys.software.filter(|_| has_steps)?.name).ok()?;
    let pool = match dut.nat().map(|nat| (nat.outside.pool, nat.outside.ports)) {
        None => software::Pool::default(),
        Some((pool, tech::Ports::Range(ports, _))) if pool.len() == 1 => {
            let (first_port, last_port) = (ports.first, ports.last);
            software::Pool { first: pool[0].1.first, last: pool[0].1.last(), first_port, last_port }
        }
        Some(_) => return None,
    };
    let sizes = dut.table_sizes().unwrap_or_default();
    // A search for the capacity fills a table that is too small for all connections.
    let connections = match sizes.entries.filter(|_| scenario.fills_tables()) {
        Some(table) => point.connections.min(table.saturating_sub(conntrack::SLACK)),
        None => point.connections,
    };
    let config = software::SoftwareConfig {
        connections,
        table_size: sizes.entries,
        hash_size: sizes.buckets,
        udp_timeout: Duration::from(dut.timeout_of_box()).as_secs(),
        tcp: scenario.sends(procedure::Sends::Segments),
        pool,
    };
    let [_, cores] = if keys.is_steered(role, &scenario.sweep.cores) {
        shared_out(bed.lanes() as usize, scenario.sweep.cores.of_box(role, point.cores) as usize)
    } else {
        Default::default()
    };
    Some(Configuration { software: known, config, cores })
}
