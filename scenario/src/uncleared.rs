//! Boxes of a test bed without the hook `clear`, whose table keeps its connections between trials: before a phase 1,
//! either the connections of earlier ones have timed out, or the new ones have source ports that are not in the table.

use crate::words::WithoutClear;
use crate::{Device, Dut, Scenario};
use method::{Count, Nanos};
use tech::{Flows, Plays};
use wire::PortRange;

/// Number of parts of the source ports in a scenario without port ranges.
pub(crate) const PARTS: Count = 16;

impl dyn Device + '_ {
    /// How long the box keeps an idle connection, according to the scenario.
    pub fn timeout_of_box(&self) -> Nanos {
        let own = match self.technology() {
            Some((_, technology)) => technology.state().and_then(|state| state.udp_timeout),
            None => self.nat_state().map(|state| state.udp_timeout),
        };
        own.unwrap_or(tech::TEST_TIMEOUT)
    }

    /// Whether the box with this role may keep connections. In each technology, one of the two edges is stateless.
    fn has_state_in(&self, role: &str) -> bool {
        let Some((_, technology)) = self.technology() else { return true };
        match role {
            "ce" | "ce-nat44" => technology.is_stateful(Plays::Ce),
            "ce-nat46" => false,
            "pe" => technology.is_stateful(Plays::Pe),
            _ => true,
        }
    }
}

impl Scenario {
    /// How long a box without the hook `clear` keeps idle connections, with a margin for the removal of those that have
    /// timed out: 1.1 times its time-out, plus 1 s. `None` for a device whose table is cleared, and for one without
    /// state.
    pub fn keeps(&self, dut: &Dut) -> Option<Nanos> {
        let bed = self.bed_of(dut).filter(|_| dut.is_stateful())?;
        let clears = bed.boxes.iter().all(|(role, keys)| keys.clears(dut.asked(role)) || !dut.has_state_in(role));
        let timeout = dut.timeout_of_box().0;
        (!clears).then(|| Nanos(timeout + timeout / 10 + Nanos::SECOND.0))
    }

    /// Whether each phase 1 on this device has fresh source ports.
    pub fn has_fresh_ports(&self, dut: &Dut) -> bool {
        self.measure.without_clear == WithoutClear::FreshPorts && self.keeps(dut).is_some()
    }

    /// How many of these parts of the source ports fit into the table of a box, according to the scenario.
    pub fn parts_in_table(&self, dut: &Dut, connections: Count) -> usize {
        let entries = dut.table_sizes().and_then(|sizes| sizes.entries);
        entries.map_or(usize::MAX, |entries| (entries / connections.max(1)).try_into().unwrap_or(usize::MAX))
    }

    /// Parts of the source ports of these flows, for a plan.
    pub(crate) fn parts_of(&self, dut: &Dut, flows: &Flows, connections: Count) -> usize {
        let of_a_port = flows.hosts().saturating_mul(flows.of_a_host()) / u64::from(flows.source_ports.count());
        parts(flows.source_ports, of_a_port, connections).min(self.parts_in_table(dut, connections))
    }

    /// Mean wait before each phase 1 at a point; `trial` is the time of a trial without it. 0 for a device whose table
    /// is cleared. With fresh ports, there is one trial for each other part since the last trial on the same ports.
    pub fn mean_wait(&self, dut: &Dut, connections: Count, trial: Nanos) -> Nanos {
        let Some(keeps) = self.keeps(dut).filter(|_| connections > 0) else { return Nanos(0) };
        if !self.has_fresh_ports(dut) {
            return keeps;
        }
        let parts = self.parts_of(dut, &self.traffic.flows, connections) as u64;
        Nanos((keeps.0 / parts.saturating_sub(1).max(1)).saturating_sub(trial.0))
    }
}

/// Parts of a range of source ports, each with the fewest ports for `connections` connections.
fn parts(ports: PortRange, of_a_port: u64, connections: Count) -> usize {
    (u64::from(ports.count()) / connections.max(1).div_ceil(of_a_port.max(1))) as usize
}
