//! The links of a bed for DNS: addresses, permanent neighbours and routes of client, device and server.

use super::QueryPath;
use crate::interface::{quiet, quiet6};
use crate::side::{LEFT, RIGHT, Side};
use crate::step::words;
use crate::step::{Action, NETNS_OF_DUT, Step, Target};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::AddrRange;
use wire::Mac;

/// The client of a DNS64 server.
pub(super) const CLIENT6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
/// IPv6 address of the DNS64 server.
pub(super) const DUT6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);

struct End {
    target: Target,
    name: &'static str,
    mac: [u8; 6],
    peer: [u8; 6],
}

impl End {
    /// The device's last.
    fn pair(side: &Side, target: Target) -> [End; 2] {
        let (own, dut) = (side.tester_mac(), side.dut_mac());
        [
            End { target, name: side.tester_name, mac: own, peer: dut },
            End { target: Target::Dut, name: side.name, mac: dut, peer: own },
        ]
    }

    fn step(&self, why: impl Into<String>, line: &[&str]) -> Step {
        Step { target: self.target, ..Step::dut(why, words(line)) }
    }

    fn prepared(&self) -> Vec<Step> {
        vec![
            self.step(
                "a known Ethernet address",
                &["ip link set dev", self.name, "address", &Mac(self.mac).to_string()],
            ),
            self.step(
                "no offloads: every packet is sent alone and with its checksum",
                &["ethtool -K", self.name, "rx off tx off sg off tso off gso off gro off"],
            ),
            self.step("the interface on", &["ip link set dev", self.name, "txqueuelen 20000 up"]),
        ]
    }

    /// The permanent neighbour saves queries from waiting for address resolution.
    fn addressed(&self, own: &str, neighbour: &str) -> Vec<Step> {
        let nodad = if own.contains(':') { "nodad" } else { "" };
        let add = ["ip addr add", own, "dev", self.name, nodad];
        let add = &add[..if nodad.is_empty() { 4 } else { 5 }];
        let mac = Mac(self.peer).to_string();
        vec![
            self.step(format!("the address of {}", self.name), add),
            self.step(
                "a permanent neighbour entry, so that no query waits for it",
                &["ip neigh replace", neighbour, "lladdr", &mac, "nud permanent dev", self.name],
            ),
        ]
    }
}

/// Steps in order.
pub(super) fn steps(between: &QueryPath) -> Vec<Step> {
    let mut steps = quiet_everywhere(between);
    let sides = [(LEFT, Target::Tester), (RIGHT, Target::Server)];
    let used = match between {
        QueryPath::Nothing => &sides[..1],
        QueryPath::Ports(_) => &sides[..0],
        QueryPath::Dns64 { .. } | QueryPath::Program(_) => &sides[..],
    };
    let ends: Vec<[End; 2]> = used.iter().map(|(side, target)| End::pair(side, *target)).collect();
    for [outer, dut] in &ends {
        steps.push(cable(outer, dut));
        steps.extend(outer.prepared().into_iter().chain(dut.prepared()));
    }
    match between {
        QueryPath::Ports(_) => {}
        QueryPath::Nothing => steps.extend(addresses_of_cable(&ends[0])),
        QueryPath::Dns64 { .. } => {
            let [[client, dut], right] = [&ends[0], &ends[1]];
            let [own, other] = [CLIENT6, DUT6].map(|address| address.to_string());
            steps.extend(client.addressed(&format!("{own}/64"), &other));
            steps.extend(dut.addressed(&format!("{other}/64"), &own));
            steps.extend(addresses(&RIGHT, right));
        }
        QueryPath::Program(program) => {
            for (side, [outer, _]) in [LEFT, RIGHT].iter().zip(&ends) {
                let [own, other] = [side.tester, side.dut].map(|address| Ipv4Addr::from(address).to_string());
                steps.extend(outer.addressed(&format!("{own}/24"), &other));
            }
            steps.extend(routes(&ends[0][0], &ends[1][0], &program.pool));
        }
    }
    steps
}

/// Stops unsolicited packets; only a DNS64 server has IPv6.
fn quiet_everywhere(between: &QueryPath) -> Vec<Step> {
    let targets = [Target::Tester, Target::Dut, Target::Server];
    let mut steps: Vec<Step> = match between {
        QueryPath::Dns64 { .. } => {
            targets[..2].iter().flat_map(|&target| quiet6(target)).chain(quiet(Target::Server)).collect()
        }
        QueryPath::Nothing => targets[..2].iter().flat_map(|&target| quiet(target)).collect(),
        QueryPath::Program(_) | QueryPath::Ports(_) => targets.iter().flat_map(|&target| quiet(target)).collect(),
    };
    let on =
        |target| Step { target, ..Step::dut("switch the loopback interface on", Action::words("ip link set lo up")) };
    steps.extend(targets.map(on));
    steps
}

fn cable(outer: &End, dut: &End) -> Step {
    let mut action = words(&["ip link add", outer.name, "type veth peer name", dut.name, "netns"]);
    if let Action::Command { args, .. } = &mut action {
        args.push(NETNS_OF_DUT.to_owned());
    }
    Step { target: outer.target, ..Step::dut(format!("a cable to the {} of the DUT", dut.name), action) }
}

fn addresses(side: &Side, [outer, dut]: &[End; 2]) -> Vec<Step> {
    let [own, other] = [side.tester, side.dut].map(|address| Ipv4Addr::from(address).to_string());
    let mut steps = outer.addressed(&format!("{own}/24"), &other);
    steps.extend(dut.addressed(&format!("{other}/24"), &own));
    steps
}

/// One network of client and server, without a device.
fn addresses_of_cable([client, server]: &[End; 2]) -> Vec<Step> {
    let [own, other] = [LEFT.tester, RIGHT.tester].map(|address| Ipv4Addr::from(address).to_string());
    let mut steps = client.addressed(&format!("{own}/15"), &other);
    steps.extend(server.addressed(&format!("{other}/15"), &own));
    steps
}

fn routes(client: &End, server: &End, pool: &[AddrRange]) -> Vec<Step> {
    let [left, right] = [LEFT.dut, RIGHT.dut].map(|address| Ipv4Addr::from(address).to_string());
    let mut steps = vec![
        client.step("everything goes through the DUT", &["ip route replace default via", &left]),
        server.step("everything goes through the DUT", &["ip route replace default via", &right]),
    ];
    for prefix in pool.iter().flat_map(|range| range.prefixes_without(RIGHT.dut.into())) {
        steps.push(server.step(
            "the outside addresses are behind the DUT",
            &["ip route replace", &prefix.to_string(), "via", &right],
        ));
    }
    steps
}
