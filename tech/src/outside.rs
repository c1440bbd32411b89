//! Outside addresses and ports of a device or of a technology, for rules about flows.

use key::At;
use wire::{AddrRange, PortRange, PortSet};

/// Outside addresses and ports of a device, for rules about flows.
#[derive(Clone, Debug)]
pub struct Outside {
    /// The key of the addresses.
    pub key: &'static str,
    /// Each range, and the path of the words that give it, from the technology's table: `.pool[0]`.
    pub pool: Vec<(String, AddrRange)>,
    /// Ports of each address.
    pub ports: Ports,
    /// Whether the tester's inside addresses are on the wire, too, and must therefore differ from the pool.
    pub beside_inside: bool,
}

impl Outside {
    /// The same with full paths of keys, which are in this table.
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
    /// A range, in which a source port can be kept; the path of its key.
    Range(PortRange, String),
    /// Those of one customer among others; with the place that determines them.
    Set(PortSet, At),
}

/// Addresses and ports of a pool that all customers share.
#[derive(Clone, Copy, Debug)]
pub struct PortPool {
    /// Addresses.
    pub addresses: u64,
    /// Ports of each.
    pub ports: u64,
    /// IPv6 addresses.
    pub is_ipv6: bool,
}
