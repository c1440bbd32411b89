//! IPv4 forwarding by the Linux kernel: the baseline for NAT44.

use super::{Software, forward};

/// Software that forwards without connection tracking or rules.
pub const SOFTWARE: Software =
    Software { name: "linux-forwarding", tools: &[], stateful: false, ipv6: false, steps: |_| vec![forward()] };
