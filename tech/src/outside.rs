//! Outside addresses and ports of devices.

use key::At;
use wire::{AddrRange, PortRange, PortSet};

/// Outside addresses and ports of a device.
#[derive(Clone, Debug)]
pub struct Outside {
    /// Key of the addresses.
    pub key: &'static str,
    /// Pool with the path below the technology's table, such as `.pool[0]`.
    pub pool: Vec<(String, AddrRange)>,
    /// Ports of each address.
    pub ports: Ports,
    /// Whether inside addresses are on the wire, too, and must differ from the pool.
    pub beside_inside: bool,
}

impl Outside {
    /// Keys with full paths below `table`.
    #[must_use]
    pub fn below(self, table: &str) -> Outside {
        let whole = |path: String| format!("{table}{path}");
        let ports = match self.ports {
            Ports::Range(range, path) => Ports::Range(range, whole(path)),
            Ports::Set(set, from) => Ports::Set(set, from.in_table(table)),
        };
        Outside { pool: self.pool.into_iter().map(|(path, range)| (whole(path), range)).collect(), ports, ..self }
    }
}

/// Ports of an outside address.
#[derive(Clone, Debug)]
pub enum Ports {
    /// A NAT can preserve ports in it; with its key.
    Range(PortRange, String),
    /// One customer's, and what determines it.
    Set(PortSet, At),
}

/// A port pool that all customers share.
#[derive(Clone, Copy, Debug)]
pub struct PortPool {
    /// Number of addresses.
    pub addresses: u64,
    /// Ports of each address.
    pub ports: u64,
    /// Whether addresses are IPv6.
    pub is_ipv6: bool,
}
