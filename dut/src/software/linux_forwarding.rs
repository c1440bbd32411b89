//! Plain IPv4 forwarding by the Linux kernel: the baseline that every NAT44 of the same kernel is compared with.

use super::{Software, forward};

/// No table, no rule.
pub const SOFTWARE: Software = Software {
    name: "linux-forwarding",
    about: "IPv4 forwarding by the Linux kernel, no translation: the baseline",
    tools: &[],
    stateful: false,
    steps: |_| vec![forward()],
};
