//! Ranges of ports.

use serde::{Deserialize, Serialize};

/// An inclusive range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Last port, not below the first.
    pub last: u16,
}

impl PortRange {
    /// Number of ports.
    pub fn count(&self) -> u32 {
        self.last as u32 - self.first as u32 + 1
    }
    /// Whether the range contains `port`.
    pub fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl std::fmt::Display for PortRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}
