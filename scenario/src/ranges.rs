//! Port ranges that the scenario does not give follow from the number of connections N: connections
//! are all combinations of the ranges (RFC 9693, section 4.4). The range of source ports is large
//! and, if possible, the same for every N; that of destination ports varies (section 5.1).

use crate::nat::{Nat, usable};
use crate::quantity::show_grouped;
use crate::uncleared::PARTS;
use crate::{Dut, Scenario};
use method::Count;
use tech::{Flows, Ports};
use wire::PortRange;

/// Port ranges that follow from the number of connections; none at a point of the matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DerivedRanges {
    pub(crate) source: bool,
    pub(crate) destination: bool,
    /// The largest number that divides all numbers of connections.
    pub(crate) divisor: Count,
}

impl DerivedRanges {
    pub(crate) fn any(self) -> bool {
        self.source || self.destination
    }
}

/// The first source port: Linux translates ports below 1024 to ports below 1024.
const FIRST_SOURCE: u16 = 1024;
/// Most combinations of an inside address and a source port. At least a quarter are used, if
/// possible: 10,000 to 40,000 ("a few times 10,000", RFC 9693, section 5.1).
const MOST_SOURCES: u64 = 40_000;
const LEAST_SHARE: u64 = 4;

/// Source ports for which devices have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    first: u16,
    /// Source ports of an inside address.
    each: u64,
    /// Combinations of inside addresses and source ports.
    all: u64,
}

impl Room {
    fn of(duts: &[Dut]) -> Room {
        let nats: Vec<Nat> = duts.iter().filter_map(|dut| dut.nat()).collect();
        let ranges = || {
            nats.iter().filter(|nat| nat.state.is_some()).filter_map(|nat| match &nat.outside.ports {
                Ports::Range(range, _) => Some((*range, nat.addresses())),
                Ports::Set(..) => None,
            })
        };
        let first = ranges().map(|(range, _)| range.first).max().unwrap_or(FIRST_SOURCE).max(FIRST_SOURCE);
        let last = ranges().map(|(range, _)| range.last).min().unwrap_or(u16::MAX);
        let mut room = Room { first, each: u64::from(last.saturating_sub(first)) + 1, all: MOST_SOURCES };
        for (range, addresses) in ranges() {
            room.all = room.all.min(u64::from(range.count()) * addresses.max(1));
        }
        for nat in nats.iter().filter(|nat| nat.addresses() > 0) {
            match (&nat.outside.ports, &nat.state) {
                // An edge searches long for a free port once half of the set is in use.
                (Ports::Set(set, _), Some(_)) => room.all = room.all.min(nat.addresses() * usable(*set) / 2),
                (Ports::Set(set, _), None) => room.each = room.each.min(set.count().into()),
                (Ports::Range(..), _) => {}
            }
        }
        room
    }

    /// Most source ports of each of `hosts` inside addresses.
    fn most(self, hosts: u64) -> u64 {
        (self.all / hosts.max(1)).min(self.each).max(1)
    }

    /// Source ports of each of `hosts` inside addresses for `n` connections: a divisor of what `n`
    /// leaves for the ports, of all numbers of connections if there is one; else as many as there
    /// is room for.
    fn source_ports(self, n: Count, divisor: Count, hosts: u64, remote: u64) -> u64 {
        let (most, others) = (self.most(hosts), hosts.saturating_mul(remote));
        let for_ports = |n: Count| n.is_multiple_of(others).then_some(n / others);
        let Some(own) = for_ports(n) else { return most.min(n.div_ceil(others)) };
        let largest = |of: u64| (1..=most.min(of)).rev().find(|&ports| of.is_multiple_of(ports));
        let enough = |ports: &u64| *ports >= most.div_ceil(LEAST_SHARE);
        // So few connections need no large range: one destination port suffices.
        let for_own = || largest(own).filter(|ports| enough(ports) || *ports == own);
        for_ports(divisor).and_then(largest).filter(enough).or_else(for_own).unwrap_or(most)
    }
}

/// The largest number that divides all these; 0 without any.
pub(crate) fn divisor(all: &[Count]) -> Count {
    all.iter().copied().fold(0, gcd)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The first `count` ports from `first` on; fewer if there are no more.
fn range(first: u16, count: u64) -> PortRange {
    let last = u64::from(first) + count.max(1) - 1;
    PortRange { first, last: u16::try_from(last).unwrap_or(u16::MAX) }
}

impl Scenario {
    /// Sets the port ranges that the scenario does not give for this number of connections; for 0
    /// (a device that keeps none) for the largest number, so that a baseline has the ports of the
    /// device beside it.
    pub(crate) fn fill_ranges(&self, connections: Count, flows: &mut Flows) {
        let connections = if connections == 0 { self.most_connections() } else { connections };
        if connections == 0 {
            return;
        }
        let DerivedRanges { source, destination, divisor } = self.following;
        // A phase 1 with ports of its own has a part of the flows.
        let parts = if self.duts.iter().any(|dut| self.has_fresh_ports(dut)) { PARTS } else { 1 };
        let [connections, divisor] = [connections, divisor].map(|n| n.saturating_mul(parts));
        let (hosts, remote) = (flows.hosts(), u64::from(flows.remote.count));
        let others = |ports: PortRange| hosts.saturating_mul(remote).saturating_mul(ports.count().into());
        if source {
            let room = Room::of(&self.duts);
            let ports = if destination {
                room.source_ports(connections, divisor, hosts, remote)
            } else {
                connections.div_ceil(others(flows.destination_ports)).min(room.each)
            };
            flows.source_ports = range(room.first, ports);
        }
        if destination {
            flows.destination_ports = range(1, connections.div_ceil(others(flows.source_ports)));
        }
    }

    /// Flows of every device at every point with these connections; none where a value is impossible anyway.
    pub(crate) fn flows_with(&self, connections: Count) -> Option<Vec<Flows>> {
        self.hosts()?;
        let each = self.duts.iter().enumerate().flat_map(|(at, dut)| {
            self.combinations(dut).into_iter().map(move |values| self.flows_at(at, connections, &values))
        });
        Some(each.collect())
    }

    /// Flows at every point; those of the scenario itself where a value is impossible anyway.
    pub(crate) fn all_flows(&self) -> Vec<Flows> {
        let connections = if self.sweep.connections.is_empty() { &[0][..] } else { &self.sweep.connections };
        let all: Option<Vec<Vec<Flows>>> = connections.iter().map(|&n| self.flows_with(n)).collect();
        let all: Vec<Flows> = all.into_iter().flatten().flatten().collect();
        if all.is_empty() { vec![self.traffic.flows.clone()] } else { all }
    }

    /// Flows with the most combinations of inside address and source port.
    pub(crate) fn most_sources(&self) -> Flows {
        let sources = |flows: &Flows| flows.hosts() * u64::from(flows.source_ports.count());
        let all = self.all_flows();
        all.iter().max_by_key(|flows| sources(flows)).unwrap_or(&self.traffic.flows).clone()
    }

    /// Numbers of connections below the flows of their ranges, each with the flows, once.
    pub fn subsets(&self) -> Vec<(Count, u128)> {
        let mut found = Vec::new();
        for &n in self.sweep.connections.iter().filter(|&&n| n > 0) {
            for (at, dut) in self.duts.iter().enumerate().filter(|(_, dut)| dut.is_stateful()) {
                for values in self.combinations(dut) {
                    let subset = (n, self.flows_at(at, n, &values).count());
                    if u128::from(n) < subset.1 && !found.contains(&subset) {
                        found.push(subset);
                    }
                }
            }
        }
        found
    }

    /// `250,000 of 4,000,000` for each number of connections below the flows; `None` without one.
    pub(crate) fn subsets_in_words(&self) -> Option<String> {
        const SHOWN: usize = 4;
        let subsets = self.subsets();
        let all = |flows: u128| show_grouped(u64::try_from(flows).unwrap_or(u64::MAX));
        let each = subsets.iter().take(SHOWN).map(|&(n, flows)| format!("{} of {}", show_grouped(n), all(flows)));
        let more = if subsets.len() > SHOWN { " and more" } else { "" };
        (!subsets.is_empty()).then(|| each.collect::<Vec<_>>().join(" and ") + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, RecordedDefaults, conformance, parse, parse_recorded};

    /// A scenario of a gateway, with more keys of its tables.
    fn scenario(has_fixed_ranges: bool, gateway: &str, traffic: &str, connections: &str) -> Scenario {
        let text = format!("name = \"x\"\n{gateway}\n[traffic]\n{traffic}\n[sweep]\nconnections = [{connections}]\n");
        let defaults = RecordedDefaults { has_fixed_ranges, inside_is_port: false };
        let loaded = parse_recorded(defaults, "x.toml", &text, &Options::default(), tech::ALL);
        loaded.unwrap_or_else(|complaints| panic!("{}", complaints.render(false))).scenario
    }

    /// Source and destination ports of a scenario's first device with each number of connections.
    fn sizes(scenario: &Scenario) -> Vec<(u32, u32)> {
        let size = |flows: Flows| (flows.source_ports.count(), flows.destination_ports.count());
        let all = scenario.sweep.connections.iter().flat_map(|&n| {
            let combinations = scenario.combinations(&scenario.duts[0]);
            combinations.into_iter().map(move |values| size(scenario.flows_at(0, n, &values)))
        });
        all.collect()
    }

    const NAT44: &str = "[dut.embedded]\nmapping = \"address-and-port-dependent\"";

    fn of(gateway: &str, traffic: &str, connections: &str) -> Scenario {
        scenario(false, gateway, traffic, connections)
    }

    #[test]
    fn connections_are_the_product_of_the_ranges() {
        for (connections, wanted) in [
            ("\"1M\"", vec![(40_000, 25)]),
            // The source ports are the same for all.
            ("\"250k\", \"500k\", \"1M\"", vec![(31_250, 8), (31_250, 16), (31_250, 32)]),
            // There are none that divide all.
            ("\"1M\", 1049600", vec![(40_000, 25), (32_800, 32)]),
            // RFC 9693, Table 1.
            (
                "\"0.4M\", \"4M\", \"40M\", \"400M\"",
                vec![(40_000, 10), (40_000, 100), (40_000, 1_000), (40_000, 10_000)],
            ),
            ("5000", vec![(5_000, 1)]),
        ] {
            let scenario = of(NAT44, "", connections);
            assert_eq!(sizes(&scenario), wanted);
            assert_eq!(scenario.subsets(), []);
        }
    }

    #[test]
    fn without_a_divisor_connections_are_a_subset_and_a_departure() {
        let scenario = of(NAT44, "", "1000003");
        assert_eq!(sizes(&scenario), [(40_000, 26)]);
        assert_eq!(scenario.subsets(), [(1_000_003, 1_040_000)]);
        let words = "1,000,003 of 1,040,000 (RFC 9693, section 4.1)";
        assert!(conformance(&scenario).sentences().iter().any(|departure| departure.ends_with(words)));
    }

    #[test]
    fn ranges_that_are_given_win() {
        let one = of(NAT44, "source-ports = \"1024-5023\"", "\"1M\"");
        assert_eq!(sizes(&one), [(4_000, 250)]);
        let other = of(NAT44, "destination-ports = \"1-50\"", "\"1M\"");
        assert_eq!(sizes(&other), [(20_000, 50)]);
        let both = of(NAT44, "source-ports = \"1024-41023\"\ndestination-ports = \"1-100\"", "\"1M\"");
        assert_eq!((sizes(&both), both.subsets()), (vec![(40_000, 100)], vec![(1_000_000, 4_000_000)]));
    }

    #[test]
    fn inside_addresses_share_the_source_ports() {
        let scenario = of(NAT44, "inside = \"198.18.0.2 - 198.18.0.101\"", "\"1M\"");
        assert_eq!(sizes(&scenario), [(400, 25)]);
        let swept = "name = \"x\"\n[dut.embedded]\n[traffic]\ninside = \"198.18.0.2 - 198.18.3.233\"\n\
                     [sweep]\nconnections = \"400k\"\ninside-addresses = [1, 10, 1000]\n";
        let swept = parse("x.toml", swept, &Options::default(), tech::ALL).unwrap().scenario;
        assert_eq!(sizes(&swept), [(40_000, 10), (4_000, 10), (40, 10)]);
    }

    /// A CE has half of its port set: of 8,192 ports, 4,096.
    #[test]
    fn a_port_set_permits_fewer_source_ports() {
        let map = "[dut.embedded]\n[technology.map-t]\ndmr = \"2001:2:0:1000::/96\"\nipv6-prefix = \"2001:db8:1::/53\"\n\
                   ipv4-prefix = \"203.0.113.0/24\"\nea-bits = 11\npsid-offset = 0\nce = 3\n\
                   mapping = \"address-and-port-dependent\"";
        assert_eq!(sizes(&of(map, "", "\"250k\", \"1M\"")), [(3_125, 80), (3_125, 320)]);
        assert_eq!(sizes(&of(map, "", "\"1M\"")), [(4_000, 250)]);
    }

    #[test]
    fn older_folders_keep_their_ranges() {
        let scenario = scenario(true, NAT44, "", "\"250k\", \"1M\"");
        assert_eq!(sizes(&scenario), [(40_000, 100), (40_000, 100)]);
        assert!(!scenario.following.any());
    }

    /// A baseline has the ports of the device beside it.
    #[test]
    fn a_device_without_connections_has_the_ranges_of_most() {
        let kernel = "[dut.linux-forwarding]\n[dut.nftables]";
        let scenario = of(kernel, "", "\"50k\", \"200k\"");
        let flows = scenario.flows_at(0, 0, &crate::axis::AxisValues::new());
        assert_eq!((flows.source_ports.count(), flows.destination_ports.count()), (25_000, 8));
    }
}
