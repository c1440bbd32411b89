//! Devices and hosts on the real kernel: namespaces, a real sshd, processes that are killed. Needs root; `unprivileged.rs` has the
//! tests without root.

#[path = "../common/mod.rs"]
mod common;
mod devices;
mod external;
mod held;
#[path = "../lab/mod.rs"]
mod lab;
mod ssh;
mod started;
