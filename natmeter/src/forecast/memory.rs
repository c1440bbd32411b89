//! Predicted memory, and points whose tables do not fit into the memory of this machine.

use super::in_order;
use crate::rig::{embedded, ports};
use method::Count;
use method::simulated::Largest;
use record::plan::Plan;
use scenario::quantity::show_bytes;
use scenario::{Dut, Link, Plays, Point, Scenario};

/// A warning if the run needs more than `memory` octets.
pub fn beyond(scenario: &Scenario, plan: &Plan, memory: u64) -> Option<String> {
    let needed = in_order(scenario, plan.order).needed;
    let mut points: Vec<(&Point, u64)> = needed.iter().map(|(point, [tester, dut])| (point, tester + dut)).collect();
    points.retain(|(_, needed)| *needed > memory);
    let (point, most) = points.iter().max_by_key(|(_, needed)| *needed)?;
    let others = match points.len() - 1 {
        0 => String::new(),
        1 => ", and 1 other point more than that, too".to_owned(),
        n => format!(", and {n} other points more than that, too"),
    };
    let have = show_bytes(memory);
    Some(format!(
        "{}, {} connections: tester and device need about {}, and may have {have} on this machine{others}; leave such points out with \
         `exclude` in [sweep], use fewer connections, or a machine with more memory",
        point.dut_name,
        point.connections,
        show_bytes(*most)
    ))
}

/// Memory with this largest trial: the Responder's store (8 B a connection), the bitmaps of sequence
/// numbers that tell a duplicate (a bit a frame) or the times of queries (4 B each), time stamps
/// (16 B a frame), and the frame pools.
pub(super) fn of_tester(scenario: &Scenario, point: &Point, largest: Largest) -> u64 {
    let scenario = &*point.of(scenario);
    if scenario.is_simulated(point.dut) {
        return 0;
    }
    let subscribers = u64::from(scenario.traffic.flows.subscribers);
    // IPv6 addresses.
    let rows = if subscribers > 1 { 16 * subscribers } else { 0 };
    // TCP connections have a stage each, of 8 B.
    let each = if scenario.sends(procedure::Sends::Segments) { 16 } else { 8 };
    let frames = largest.frames.max(point.connections).div_ceil(8);
    let queries = if scenario.sends_queries() { 4 * largest.frames } else { 0 };
    each * point.connections + frames + queries + 16 * largest.stamps + rows + pools(scenario, point)
}

/// Memory of this machine.
pub(super) fn of_device(scenario: &Scenario, point: &Point) -> u64 {
    let scenario = &*point.of(scenario);
    let dut = &scenario.duts[point.dut];
    of_tables(scenario, dut, point.connections) + of_programs(scenario, dut)
}

/// One pool for each worker of this process, and the rings by which workers return frames to each other's pools.
fn pools(scenario: &Scenario, point: &Point) -> u64 {
    let slot = match scenario.link {
        Link::Veth { .. } | Link::Ports => 2048,
        // Headroom, and whole cache lines.
        Link::InProcess { .. } | Link::Tap => 64 + (scenario.traffic.frame_size as u64).next_multiple_of(64),
    };
    let (pools, frames) = match scenario.link {
        Link::InProcess { depth } => {
            let frames = embedded::pool_frames(depth, point.cores as usize);
            (u64::from(scenario.tester.workers + point.cores), frames as u64)
        }
        Link::Veth { .. } | Link::Tap => (1, ports::FRAMES_HERE as u64),
        Link::Ports => (scenario.tester.workers.into(), ports::FRAMES as u64),
    };
    pools * frames * slot + 8 * pools * (pools - 1) * frames
}

/// A session of the embedded gateway takes 64 B in total. An entry of the kernel takes 385 B, and a
/// bucket 8 B, as measured; the default is one bucket for each entry.
fn of_tables(scenario: &Scenario, dut: &Dut, connections: Count) -> u64 {
    match (dut.technology(), dut.table_sizes()) {
        (Some((plays, technology)), _) if dut.has_workers() => {
            let each = if technology.overhead() > 0 { 96 } else { 64 };
            let loaded = if plays == Plays::Ce { 0 } else { technology.table_octets() };
            each * dut.table_size().unwrap_or(0) + loaded
        }
        (_, Some(sizes)) if dut.is_stateful() && dut.is_kernel_of_tester(scenario) => {
            385 * connections + 8 * sizes.buckets.unwrap_or(connections)
        }
        // The memory of other boxes is not this machine's.
        _ => 0,
    }
}

/// A name of the zone takes about 200 bytes, in the server and in the cache of a DNS64 server.
fn of_programs(scenario: &Scenario, dut: &Dut) -> u64 {
    let names = u64::from(scenario.procedures.get::<procedure::dns::Dns>().names);
    match scenario.sends_queries() {
        _ if !dut.gets_frames() => 500 * names,
        true if !dut.is_in_process() => 250 * names,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Options, parse};

    /// The gateway reserves the table of the largest point at every point.
    #[test]
    fn a_point_that_needs_more_than_there_is_is_named() {
        let text = "name = \"x\"\n[dut.embedded]\n[sweep]\nconnections = [\"100k\", \"100M\"]\n";
        let scenario = parse("x.toml", text, &Options::default(), tech::ALL).unwrap().scenario;
        let plan = crate::forecast::plan(&scenario);
        assert_eq!(beyond(&scenario, &plan, 1 << 40), None);
        let said = beyond(&scenario, &plan, 1 << 30).unwrap();
        assert!(
            said.contains("100000000 connections") && said.contains("1.0 GiB") && said.contains("1 other point"),
            "{said}"
        );
    }

    const KERNEL: &str = include_str!("../../../scenarios/kernel-nat44.toml");

    fn plan_of(text: &str) -> Plan {
        crate::forecast::plan(&parse("test.toml", text, &Options::default(), tech::ALL).unwrap().scenario)
    }

    /// Each worker has a pool, and rings on which the others return frames.
    #[test]
    fn every_worker_of_the_tester_takes_memory() {
        let quickstart = include_str!("../../../scenarios/quickstart.toml");
        let text = quickstart.replace("[link.in-process]", "[link.in-process]\ndepth = 512");
        let memory = |n: u64| plan_of(&format!("{text}\n[tester]\nworkers = {n}\n")).tester_memory;
        let pool = 4096 * 128;
        let [one, two, four] = [1, 2, 4].map(memory);
        // More frames are offered, too.
        assert!(two > one + pool && four - two > 2 * (two - one), "{one} {two} {four}");
    }

    #[test]
    fn memory_is_that_of_the_largest_point() {
        let plan = plan_of(KERNEL);
        // 385 B a connection and 8 B a bucket, one bucket a connection.
        assert_eq!(plan.dut_memory, 200_000 * (385 + 8));
        assert!(plan.tester_memory > 8 * 200_000);
    }
}
