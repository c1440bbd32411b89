//! Devices and hosts on the real kernel, as root; `unprivileged.rs` has the tests without root.

#[path = "../common/mod.rs"]
mod common;
mod devices;
mod external;
mod held;
#[path = "../lab/mod.rs"]
mod lab;
mod ssh;
mod started;
