//! IPv6 on the test bed (RFC 5180, section 5): each side has a network 2001:2:0:GROUP::/64, in which the DUT is host
//! ::1 and the tester host ::2.

use crate::side::Side;
use crate::step::{Action, Step, words};
use std::net::Ipv6Addr;
use wire::Mac;

fn host(side: &Side, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, side.group6, 0, 0, 0, host)
}

pub(crate) fn tester(side: &Side) -> Ipv6Addr {
    host(side, 2)
}

/// Network number `i` of a side, as a route has it.
pub(crate) fn network(side: &Side, i: u32) -> String {
    let group = side.group6 + i as u16;
    format!("{}/64 via {}", Ipv6Addr::new(0x2001, 2, 0, group, 0, 0, 0, 0), tester(side))
}

pub(crate) fn quiet() -> Vec<Step> {
    let mut steps = Vec::new();
    for which in ["all", "default"] {
        let mut set = |why: &str, leaf: &str, value| {
            let name = format!("net/ipv6/conf/{which}/{leaf}");
            steps.push(Step::dut(why, Action::sysctl(&name, value)).where_present());
        };
        set("no duplicate address detection", "accept_dad", 0);
        set("no router solicitation", "accept_ra", 0);
        set("no link-local address, whose groups would be reported", "addr_gen_mode", 1);
    }
    steps
}

pub(crate) fn addresses(side: &Side) -> Vec<Step> {
    let name = side.name;
    let [dut, tester, network] = [1, 2, 0].map(|last| host(side, last).to_string());
    let mac = Mac(side.tester_mac()).to_string();
    vec![
        // 126 bits hold both addresses and no other host of the tester, so that one next hop serves all of them.
        Step::dut(
            format!("the {name} address of the DUT"),
            words(&["ip addr add", &format!("{dut}/126"), "dev", name, "nodad"]),
        ),
        Step::dut(
            format!(
                "a permanent neighbour entry for the tester on the {name}, so that the DUT sends no Neighbor Solicitation"
            ),
            words(&["ip neigh replace", &tester, "lladdr", &mac, "nud permanent dev", name]),
        ),
        Step::dut(
            format!("a route to the addresses of the tester on the {name}, through one next hop"),
            words(&["ip route replace", &format!("{network}/64"), "via", &tester, "dev", name]),
        ),
    ]
}
