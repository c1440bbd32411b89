//! Client and server at the ports of a test bed: each has a macvlan interface with the Ethernet address of its port.

use crate::DutError;
use crate::changes::Changes;
use crate::host::Namespace;
use crate::lock::RunDir;
use crate::step::{Action, NETNS_OF_DUT, Sink, Step};
use port::netns::Netns;
use std::net::{IpAddr, Ipv4Addr};
use wire::{Mac, VlanId};

/// Address for a box of which only the Ethernet address is known (RFC 3927).
const ON_LINK: Ipv4Addr = Ipv4Addr::new(169, 254, 255, 1);

#[derive(Clone, Debug)]
pub struct Port {
    pub namespace: Netns,
    pub interface: String,
    pub vlan: Option<VlanId>,
    /// Own addresses with the lengths of their prefixes.
    pub own: Vec<(IpAddr, u8)>,
    /// Address of client or server.
    pub address: Ipv4Addr,
    /// Box whose Ethernet address must be resolved.
    pub gateway: Option<Ipv4Addr>,
    /// Ethernet address of the box, if known.
    pub neighbour: Option<[u8; 6]>,
}

const NAME: &str = "port";
const OUTER: &str = "outer";
const TAGGED: &str = "tagged";

impl Port {
    /// The interface vanishes with the namespace of client or server. Fails if the port does not
    /// exist, or another program has a macvlan interface on it.
    pub(super) fn attach(&self, to: &Netns, dir: &RunDir, sink: &Sink) -> Result<(), DutError> {
        let host = Namespace::between(self.namespace.clone(), to.clone());
        Changes::logged(host, dir, sink).carry_out(&self.steps())
    }

    /// The port's namespace is [`crate::step::Target::Tester`], that of client or server is the DUT's.
    fn steps(&self) -> Vec<Step> {
        let Port { interface, vlan, own, address, gateway, neighbour, .. } = self;
        let dut = |why: &str, line: String| Step::dut(why.to_owned(), Action::words(&line));
        let mut steps = vec![
            Step::tester("an interface with the Ethernet address of the port".to_owned(), on_port(interface)),
            dut("the interface on", format!("ip link set dev {NAME} up")),
        ];
        let name = if vlan.is_some() { TAGGED } else { NAME };
        let mut below = NAME;
        let outer = vlan.and_then(|vlan| vlan.outer).map(|id| (OUTER, "proto 802.1ad id", id));
        for (tagged, of, id) in outer.into_iter().chain(vlan.map(|vlan| (TAGGED, "id", vlan.id))) {
            steps.push(dut("its VLAN", format!("ip link add link {below} name {tagged} type vlan {of} {id}")));
            steps.push(dut("the VLAN on", format!("ip link set dev {tagged} up")));
            below = tagged;
        }
        for (own, length) in own.iter().filter(|(own, _)| own.is_ipv4()) {
            steps.push(dut("an address of the port", format!("ip addr add {own}/{length} dev {name}")));
        }
        if !own.iter().any(|(own, _)| *own == IpAddr::V4(*address)) {
            steps.push(dut("the address in the queries", format!("ip addr add {address}/32 dev {name}")));
        }
        let through = gateway.unwrap_or(ON_LINK);
        if let Some(mac) = neighbour {
            let line = format!("ip neigh replace {through} lladdr {} nud permanent dev {name}", Mac(*mac));
            steps.push(dut("the box, as a permanent neighbour", line));
        }
        let line = format!("ip route replace default via {through} dev {name} onlink src {address}");
        steps.push(dut("everything goes through the box", line));
        steps
    }
}

fn on_port(interface: &str) -> Action {
    let words = ["link", "add", "link", interface, "name", NAME, "netns", NETNS_OF_DUT];
    let kind = ["type", "macvlan", "mode", "passthru"];
    let args = words.into_iter().chain(kind).map(str::to_owned).collect();
    Action::Command { program: "ip".to_owned(), args, stdin: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::tests::listing;

    #[test]
    fn a_port_with_a_vlan_and_a_known_box() {
        let port = Port {
            namespace: Netns::current().unwrap(),
            interface: "eth1".to_owned(),
            vlan: Some(VlanId { outer: Some(7), id: 100 }),
            own: vec![("192.0.2.2".parse().unwrap(), 24), ("2001:db8::2".parse().unwrap(), 64)],
            address: Ipv4Addr::new(198, 18, 0, 2),
            gateway: Some(Ipv4Addr::new(192, 0, 2, 1)),
            neighbour: Some([2, 0, 0, 0, 0, 1]),
        };
        insta::assert_snapshot!(listing(&port.steps()));
        let only = Port { vlan: None, own: Vec::new(), gateway: None, ..port };
        insta::assert_snapshot!(listing(&only.steps()));
    }
}
