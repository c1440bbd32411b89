//! Forwarding by the Linux kernel, without connection tracking or rules: the baselines for NAT44 and for IPv6 (RFC 5180).

use super::Software;
use crate::step::{Action, Step};

pub const IPV4: Software =
    Software { name: "linux-forwarding", tools: &[], stateful: false, ipv6: false, steps: |_| vec![ipv4()] };

pub const IPV6: Software = Software {
    name: "linux-ipv6-forwarding",
    ipv6: true,
    steps: |_| vec![switched("forward IPv6 packets", "net/ipv6/conf/all/forwarding")],
    ..IPV4
};

pub(super) fn ipv4() -> Step {
    switched("forward IPv4 packets", "net/ipv4/ip_forward")
}

fn switched(why: &str, name: &str) -> Step {
    Step::dut(why, Action::sysctl(name, 1)).undone_by(Action::sysctl(name, 0))
}
