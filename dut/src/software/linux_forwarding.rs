//! IPv4 forwarding by the Linux kernel without translation: the baseline for every NAT44 of the same kernel.

use super::{Software, forward};

/// Forwarding without connection tracking or rules.
pub const SOFTWARE: Software = Software {
    name: "linux-forwarding",
    about: "IPv4 forwarding by the Linux kernel, no translation: the baseline",
    tools: &[],
    stateful: false,
    ipv6: false,
    steps: |_| vec![forward()],
};
