//! Outside addresses and ports of devices, for rules about flows.

use key::At;
use wire::{AddrRange, PortRange, PortSet};

/// Outside addresses and ports of a device.
#[derive(Clone, Debug)]
pub struct Outside {
    /// The key of the addresses.
    pub key: &'static str,
    /// Each range, and its path below the technology's table, such as `.pool[0]`.
    pub pool: Vec<(String, AddrRange)>,
    /// Ports of each address.
    pub ports: Ports,
    /// Whether inside addresses are on the wire, too, and must differ from the pool.
    pub beside_inside: bool,
}

impl Outside {
    /// Returns the same with full paths below `table`.
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

/// Outside ports of an address.
#[derive(Clone, Debug)]
pub enum Ports {
    /// A range in which a NAT can preserve ports, with its key.
    Range(PortRange, String),
    /// The port set of one customer, and what determines it.
    Set(PortSet, At),
}

/// A pool that all customers share.
#[derive(Clone, Copy, Debug)]
pub struct PortPool {
    /// Number of addresses.
    pub addresses: u64,
    /// Number of ports of each address.
    pub ports: u64,
    /// Whether they are IPv6 addresses.
    pub is_ipv6: bool,
}
