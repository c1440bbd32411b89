//! IPv6 forwarding by the Linux kernel: the baseline for IPv6 (RFC 5180).

use super::{Software, linux_forwarding};
use crate::step::{Action, Step};

/// Forwarding without connection tracking or rules.
pub const SOFTWARE: Software =
    Software { name: "linux-ipv6-forwarding", ipv6: true, steps: |_| vec![forward()], ..linux_forwarding::SOFTWARE };

fn forward() -> Step {
    let forward = Step::dut("forward IPv6 packets", Action::sysctl("net/ipv6/conf/all/forwarding", 1));
    forward.undone_by(Action::sysctl("net/ipv6/conf/all/forwarding", 0))
}
