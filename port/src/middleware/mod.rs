//! Ports that wrap another port and process its frames, one file each.

pub mod capture;
pub mod impair;
pub mod vlan;

pub use capture::Capture;
pub use impair::{Impair, Impairment};
pub use vlan::Vlan;
