//! IPv4 forwarding by the Linux kernel: the baseline for NAT44.

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
