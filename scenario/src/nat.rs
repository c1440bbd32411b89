//! The NAT of any kind of device: its outside addresses and ports, and its state.

use method::{Count, Nanos};
use tech::{Mapping, Outside, Plays, Technology};
use wire::PortSet;

/// A NAT with outside IPv4 addresses, or a stateless function that shares addresses by ports.
pub struct Nat {
    /// Its outside addresses and ports, with full paths of keys.
    pub outside: Outside,
    /// State; `None` if the device is stateless.
    pub state: Option<NatState>,
}

pub struct NatState {
    pub table_path: String,
    /// Which frames share a mapping.
    pub mapping: Mapping,
    /// Sessions that its table can hold; `None` if natmeter makes the table as large as needed.
    pub sessions: Option<Count>,
    /// Time after which it forgets a connection without frames.
    pub udp_timeout: Nanos,
}

impl NatState {
    /// State of a part of a technology; `None` if it has none.
    pub(crate) fn of(plays: Plays, technology: &dyn Technology) -> Option<NatState> {
        let state = technology.state().filter(|_| technology.is_stateful(plays))?;
        Some(NatState {
            table_path: technology_path(technology),
            mapping: state.mapping,
            sessions: state.table,
            udp_timeout: state.udp_timeout.unwrap_or(tech::TEST_TIMEOUT),
        })
    }

    pub(crate) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.table_path)
    }
}

impl Nat {
    pub(crate) fn addresses(&self) -> u64 {
        self.outside.pool.iter().map(|(_, range)| u64::from(range.count)).sum()
    }
}

/// Ports of a set that a customer edge assigns: never port 0, and none below 1024 of an address that is not shared.
pub(crate) fn usable(set: PortSet) -> u64 {
    if set == PortSet::ALL { 65_536 - 1024 } else { u64::from(set.count()) - u64::from(set.contains(0)) }
}

pub(crate) fn technology_path(technology: &dyn Technology) -> String {
    format!("technology.{}", technology.name())
}
