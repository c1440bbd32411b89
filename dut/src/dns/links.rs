//! The links of a bed for DNS: addresses, permanent neighbours and routes of client, device and server.

use super::QueryPath;
use crate::DutError;
use crate::interface::{quiet, quiet6};
use crate::links;
use crate::side::{LEFT, RIGHT, Side};
use crate::step::words;
use crate::step::{Action, Step, Target};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::AddrRange;
use wire::Mac;

/// The client of a DNS64 server.
pub(super) const CLIENT6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
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

    /// The permanent neighbour saves queries from waiting for address resolution.
    fn addressed(&self, own: &str, length: u8, neighbour: &str) -> [Step; 2] {
        let nodad = if own.contains(':') { "nodad" } else { "" };
        let (own, mac) = (format!("{own}/{length}"), Mac(self.peer).to_string());
        [
            self.step(format!("the address of {}", self.name), &["ip addr add", &own, "dev", self.name, nodad]),
            self.step(
                "a permanent neighbour entry, so that no query waits for it",
                &["ip neigh replace", neighbour, "lladdr", &mac, "nud permanent dev", self.name],
            ),
        ]
    }
}

fn addresses<T: ToString>([outer, dut]: &[End; 2], ends: [T; 2], length: u8) -> Vec<Step> {
    let [own, other] = ends.map(|address| address.to_string());
    [outer.addressed(&own, length, &other), dut.addressed(&other, length, &own)].concat()
}

pub(super) fn steps(between: &QueryPath) -> Result<Vec<Step>, DutError> {
    let mut steps = quiet_everywhere(between);
    let sides = [(LEFT, Target::Tester), (RIGHT, Target::Server)];
    let used = match between {
        QueryPath::Nothing => &sides[..1],
        QueryPath::Ports(_) => &sides[..0],
        QueryPath::Dns64 { .. } | QueryPath::Program(_) => &sides[..],
    };
    let ends: Vec<[End; 2]> = used.iter().map(|(side, target)| End::pair(side, *target)).collect();
    for [outer, dut] in &ends {
        let what = format!("a cable to the {} of the DUT", dut.name);
        let ends = [outer, dut].map(|end| (end.target, links::End::Interface(end.name), end.mac));
        steps.extend(links::link(&what, ends, 1)?);
    }
    match between {
        QueryPath::Ports(_) => {}
        // Client and server are in one network.
        QueryPath::Nothing => steps.extend(addresses(&ends[0], [LEFT.tester, RIGHT.tester].map(Ipv4Addr::from), 15)),
        QueryPath::Dns64 { .. } => {
            steps.extend(addresses(&ends[0], [CLIENT6, DUT6], 64));
            steps.extend(addresses(&ends[1], [RIGHT.tester, RIGHT.dut].map(Ipv4Addr::from), 24));
        }
        QueryPath::Program(program) => {
            for (side, [outer, _]) in [LEFT, RIGHT].iter().zip(&ends) {
                let [own, other] = [side.tester, side.dut].map(|address| Ipv4Addr::from(address).to_string());
                steps.extend(outer.addressed(&own, 24, &other));
            }
            steps.extend(routes(&ends[0][0], &ends[1][0], &program.pool));
        }
    }
    Ok(steps)
}

/// Stops unsolicited packets; only a DNS64 server has IPv6.
fn quiet_everywhere(between: &QueryPath) -> Vec<Step> {
    let quieted = |target| {
        let has_ipv6 = matches!(between, QueryPath::Dns64 { .. }) && target != Target::Server;
        let on = Step { target, ..Step::dut("switch the loopback interface on", Action::words("ip link set lo up")) };
        (if has_ipv6 { quiet6(target) } else { quiet(target) }).into_iter().chain([on])
    };
    let targets = [Target::Tester, Target::Dut, Target::Server];
    let used = if matches!(between, QueryPath::Nothing) { 2 } else { 3 };
    targets.into_iter().take(used).flat_map(quieted).collect()
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
