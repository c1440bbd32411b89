//! Ports that wrap ports: each sees all frames of the port inside, does one thing, and is a port again. One file each.

pub mod capture;
pub mod impair;
pub mod vlan;

pub use capture::Capture;
pub use impair::{Impair, Impairment};
pub use vlan::Vlan;
