//! Defaults that follow from the complete scenario: sizes of tables, timeouts, fragments.

use crate::{Dut, Scenario};
use method::Count;

/// Entries for what is in flight, beside the connections.
pub const SLACK: Count = 2048;

/// Sets the values that a technology's table leaves to the scenario.
pub(crate) fn settle(scenario: &mut Scenario) {
    if scenario.sweep.connections.is_empty() {
        scenario.sweep.connections = vec![0];
    }
    let most = SessionNeeds::of(scenario, scenario.most_connections());
    let packet = scenario.widest_packet();
    for dut in &mut scenario.duts {
        let sessions = most.sessions(dut);
        if let Some((_, technology)) = dut.technology_mut() {
            technology.settle(sessions);
            technology.outlast_tests();
            technology.pass_whole(packet);
        }
    }
}

impl Scenario {
    /// Sessions for so many connections in a device's table, at the point where they are shared out worst.
    pub(crate) fn sessions(&self, dut: &Dut, connections: Count) -> Count {
        SessionNeeds::of(self, connections).sessions(dut)
    }

    /// Most rings of a link: every worker of the gateway has one from each worker of the tester.
    pub(crate) fn most_rings(&self) -> u64 {
        self.most_workers().max(1) * u64::from(self.tester.workers)
    }
}

/// Needs of a table without a given size.
struct SessionNeeds {
    connections: Count,
    workers: u64,
    customers: u64,
    /// Source ports of a customer, at least.
    ports: u64,
}

impl SessionNeeds {
    fn of(scenario: &Scenario, connections: Count) -> SessionNeeds {
        let swept = scenario.host_axis().and_then(|axis| axis.values.iter().copied().min());
        let ports = scenario.all_flows().into_iter().map(|flows| u64::from(flows.source_ports.count()));
        SessionNeeds {
            connections,
            workers: scenario.most_workers(),
            customers: swept.unwrap_or_else(|| scenario.traffic.flows.hosts()).max(1),
            ports: ports.min().unwrap_or(1),
        }
    }

    fn sessions(&self, dut: &Dut) -> Count {
        match dut.technology() {
            Some((plays, technology)) => {
                let hosts = technology.wholes(plays, self.customers).unwrap_or(self.customers * self.ports);
                fullest(self.connections, hosts, self.workers)
            }
            // The kernel has one table for all cores.
            None => self.connections,
        }
    }
}

/// Total of all workers' equal parts for `needed` by so many hosts, each of one worker: hashing
/// gives the fullest worker more than its share, by four standard deviations at most, and all of it
/// if there is one host.
pub(crate) fn fullest(needed: u64, hosts: u64, workers: u64) -> u64 {
    let more = 1.0 + 4.0 * (workers.saturating_sub(1) as f64 / hosts as f64).sqrt();
    (needed as f64 * more.min(workers.max(1) as f64)).ceil() as u64
}
