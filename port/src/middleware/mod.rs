//! Ports that wrap another port.

pub mod capture;
pub mod impair;
pub mod vlan;

pub use capture::Capture;
pub use impair::{Impair, Impairment};
pub use vlan::Vlan;
