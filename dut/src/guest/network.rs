//! Addresses and routes of a guest or a namespace, with one next hop on each side.

use crate::interface::quiet6;
use crate::links;
use crate::step::{Action, Step, Target, words};
use std::net::IpAddr;
use wire::Mac;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Address with the length of its prefix.
    pub own: (IpAddr, u8),
    pub next: IpAddr,
    pub networks: Vec<String>,
    /// Further networks behind it, of which each has a route of its own (RFC 2544, section 12).
    pub further: Vec<String>,
    /// Next hop: the tester or a box.
    pub of: &'static str,
    pub next_mac: [u8; 6],
}

/// Steps for IPv6 without unsolicited frames.
pub fn with_ipv6() -> Vec<Step> {
    let allow = |which: &str| {
        let name = format!("net/ipv6/conf/{which}/disable_ipv6");
        Step::dut("IPv6 for the software of the box", Action::sysctl(&name, 0)).where_present()
    };
    quiet6(Target::Dut).into_iter().chain(["all", "default"].map(allow)).collect()
}

/// Steps for both sides, left and right, and for those of native IPv6 beside them (RFC 8219, section 5.3), if any.
pub fn steps(sides: &[Side; 2], native: Option<&[Side; 2]>) -> Vec<Step> {
    let of_native = native.map(|native| [of_sides(native), vec![forward()]].concat());
    [of_sides(sides), of_native.unwrap_or_default()].concat()
}

fn forward() -> Step {
    Step::dut("forward IPv6 packets", Action::sysctl("net/ipv6/conf/all/forwarding", 1))
}

/// The default route is on the right, or on the side with this version of IP.
fn of_sides(sides: &[Side; 2]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (side, name) in sides.iter().zip(links::ENDS) {
        let (address, length) = side.own;
        let (next, of) = (side.next.to_string(), side.of);
        let no_detection = if address.is_ipv6() { "nodad" } else { "" };
        steps.push(Step::dut(
            format!("the {name} address of the DUT"),
            words(&["ip addr replace", &format!("{address}/{length}"), "dev", name, no_detection]),
        ));
        steps.push(Step::dut(
            format!("a permanent neighbour entry for {of} on the {name}, so that the DUT does not ask for it"),
            words(&["ip neigh replace", &next, "lladdr", &Mac(side.next_mac).to_string(), "nud permanent dev", name]),
        ));
        for network in &side.networks {
            let why = format!("a route to the addresses of the tester on the {name}, through one next hop");
            steps.push(Step::dut(why, words(&["ip route replace", network, "via", &next, "dev", name])));
        }
        if !side.further.is_empty() {
            let why = format!("a route to each of {} further networks on the {name}", side.further.len());
            let line = |network: &String| format!("route replace {network} via {next} dev {name}\n");
            let lines: String = side.further.iter().map(line).collect();
            steps.push(Step::dut(why, Action::reading("ip -batch -", lines)));
        }
    }
    for is_ipv6 in [false, true] {
        let mut of_version = sides.iter().zip(links::ENDS).rev().filter(|(side, _)| side.next.is_ipv6() == is_ipv6);
        if let Some((side, name)) = of_version.next() {
            let (version, next) = (if is_ipv6 { "IPv6" } else { "IPv4" }, side.next.to_string());
            let action: Action = words(&["ip route replace default via", &next, "dev", name]);
            steps.push(Step::dut(format!("every other {version} packet leaves on the {name}"), action));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::tests::listing;

    #[test]
    fn addresses_and_routes_of_both_sides() {
        let side = |at: usize, own: &str, length, next: &str, networks: &[&str]| Side {
            own: (own.parse().unwrap(), length),
            next: next.parse().unwrap(),
            networks: networks.iter().map(|&n| n.to_owned()).collect(),
            further: Vec::new(),
            of: "the tester",
            next_mac: links::tester_macs()[at],
        };
        let left = side(0, "198.18.0.1", 24, "198.18.0.2", &["198.18.0.4/30"]);
        let left = Side { further: [1, 2].map(|i| format!("198.18.{i}.0/24")).into(), ..left };
        let right = side(1, "198.19.0.1", 24, "198.19.0.2", &[]);
        let six = side(0, "2001:2:0:1800::2", 64, "2001:2:0:1800::1", &[]);
        insta::assert_snapshot!("nat44", listing(&steps(&[left, right.clone()], None)));
        insta::assert_snapshot!("nat64", listing(&steps(&[six.clone(), right.clone()], None)));
        let six_on_the_right = side(1, "2001:2:0:1900::2", 64, "2001:2:0:1900::1", &[]);
        let beside = steps(&[right.clone(), right], Some(&[six, six_on_the_right]));
        assert!(listing(&beside).contains("net/ipv6/conf/all/forwarding"));
    }
}
