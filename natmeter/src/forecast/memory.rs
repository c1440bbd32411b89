//! Points whose tables do not fit into the memory of this machine.

use super::{dns, dut_memory, tester_memory};
use record::plan::Plan;
use scenario::quantity::show_bytes;
use scenario::{Point, Scenario};

/// Says why a plan cannot be carried out on a machine with so much memory, in octets: which points need more.
pub fn beyond(scenario: &Scenario, plan: &Plan, memory: u64) -> Option<String> {
    let mut points: Vec<(&Point, u64)> = Vec::new();
    for m in &plan.measurements {
        if points.iter().all(|(known, _)| *known != &m.point) {
            let needed = of_point(scenario, &m.point);
            points.push((&m.point, needed));
        }
    }
    points.retain(|(_, needed)| *needed > memory);
    let (point, most) = points.iter().max_by_key(|(_, needed)| *needed)?;
    let others = match points.len() - 1 {
        0 => String::new(),
        1 => ", and 1 other point more than that, too".to_owned(),
        n => format!(", and {n} other points more than that, too"),
    };
    let have = show_bytes(memory);
    Some(format!(
        "{}, {} connections: tester and device need about {}, and this machine has {have}{others}; leave such points out with \
         `exclude` in [sweep], use fewer connections, or a machine with more memory",
        point.dut_name,
        point.connections,
        show_bytes(*most)
    ))
}

/// Octets of tester and device at a point, as far as they are of this machine.
fn of_point(scenario: &Scenario, point: &Point) -> u64 {
    let scenario = &*point.of(scenario);
    let dut = &scenario.duts[point.dut];
    tester_memory(scenario, point) + dut_memory(dut, point.connections) + dns::of_programs(scenario, dut)
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
}
