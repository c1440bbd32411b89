//! The outside addresses and ports of devices and technologies, for rules about flows.

use key::At;
use wire::{AddrRange, PortRange, PortSet};

/// Outside addresses and ports of a device, for rules about flows.
#[derive(Clone, Debug)]
pub struct Outside {
    /// The key of the addresses.
    pub key: &'static str,
    /// Each address range, and the path of its value below the technology's table, such as `.pool[0]`.
    pub pool: Vec<(String, AddrRange)>,
    /// Ports of each address.
    pub ports: Ports,
    /// Whether the tester's inside addresses are on the wire, too, and must therefore differ from the pool.
    pub beside_inside: bool,
}

impl Outside {
    /// Returns the same with full paths of keys: `table` is the path of the table that contains them.
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
    /// A range, in which the NAT can preserve a source port, with the path of its key.
    Range(PortRange, String),
    /// The port set of one customer, with the place that determines it.
    Set(PortSet, At),
}

/// Addresses and ports of a pool that all customers share.
#[derive(Clone, Copy, Debug)]
pub struct PortPool {
    /// Number of addresses.
    pub addresses: u64,
    /// Number of ports of each address.
    pub ports: u64,
    /// Whether the addresses are IPv6 addresses.
    pub is_ipv6: bool,
}
