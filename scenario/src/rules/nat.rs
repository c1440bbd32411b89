//! What the rules know of a device's NAT, whatever the device is.

use super::technology_path;
use crate::{Dut, KernelNat44};
use method::{Count, Nanos};
use tech::{Mapping, Outside, Ports};

/// A NAT, or what shares addresses by ports without state, as rules see it.
pub(crate) struct Nat {
    /// Its outside addresses and ports, with whole paths.
    pub(crate) outside: Outside,
    /// How it keeps state; none where it has none.
    pub(crate) state: Option<NatState>,
}

/// How a NAT keeps state.
pub(crate) struct NatState {
    table_path: String,
    pub(super) mapping: Mapping,
    /// Sessions that its table holds; none where it is made as large as needed.
    pub(super) sessions: Option<Count>,
    pub(crate) udp_timeout: Nanos,
}

impl NatState {
    /// Time after which it forgets a connection without frames.
    pub(crate) fn udp_timeout(&self) -> Nanos {
        self.udp_timeout
    }

    /// The path of one of its keys.
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.table_path)
    }
}

impl Nat {
    /// That of a device, if it has outside addresses or state.
    pub(crate) fn of(dut: &Dut) -> Option<Nat> {
        match dut {
            Dut::Gateway { plays, technology, .. } | Dut::External { plays, technology: Some(technology), .. } => {
                let table_path = technology_path(technology.as_ref());
                let outside = technology.outside(*plays)?.below(&table_path);
                let state = technology.state().filter(|_| technology.is_stateful(*plays)).map(|state| NatState {
                    table_path,
                    mapping: state.mapping,
                    sessions: state.table,
                    udp_timeout: state.udp_timeout.unwrap_or(tech::TEST_TIMEOUT),
                });
                Some(Nat { outside, state })
            }
            Dut::Kernel { software, nat44: Some(nat44) } => Some(Nat::of_kernel(software, nat44)),
            Dut::Kernel { .. } | Dut::Resolver | Dut::External { .. } | Dut::Simulated { .. } => None,
        }
    }

    fn of_kernel(software: &str, nat44: &KernelNat44) -> Nat {
        let table_path = format!("dut.{software}");
        let outside = Outside {
            key: "pool",
            pool: vec![(format!("{table_path}.pool"), nat44.pool)],
            ports: Ports::Range(nat44.pool_ports, format!("{table_path}.pool-ports")),
            beside_inside: true,
        };
        let state = NatState {
            table_path,
            mapping: Mapping::AddressAndPortDependent,
            sessions: nat44.table,
            udp_timeout: nat44.udp_timeout,
        };
        Nat { outside, state: Some(state) }
    }

    pub(crate) fn addresses(&self) -> u64 {
        self.outside.pool.iter().map(|(_, range)| u64::from(range.count)).sum()
    }
}

/// Outside ports of an address of a device's pool.
pub(super) fn outside_ports(dut: &Dut) -> Option<u64> {
    match dut {
        Dut::Gateway { technology, .. } | Dut::External { technology: Some(technology), .. } => {
            technology.port_pool().map(|pool| pool.ports)
        }
        Dut::Kernel { nat44, .. } => nat44.as_ref().map(|nat44| nat44.pool_ports.count().into()),
        Dut::Resolver | Dut::External { .. } | Dut::Simulated { .. } => None,
    }
}
