//! The NAT of any kind of device: its outside addresses and ports, and its state. Also the keys of the kernel's NAT44.

use crate::Dut;
use key::kind::{addresses, duration, maybe, number, ports};
use key::{computed, or};
use method::{Count, Nanos};
use tech::{MOST_BUCKETS, MOST_ENTRIES, Mapping, Outside, Ports, Technology};
use wire::{AddrRange, PortRange, PortSet};

key::table! {
    /// Stateful NAT44 of this kernel, in a namespace that is made for the run. Linux maps by four-tuple: there is no `mapping`.
    pub struct KernelNat44 {
        /// Outside addresses, one range; none of `inside` or `remote`.
        pool: AddrRange = "pool", addresses(), or("198.19.0.1");
        /// Outside ports of each address; the source ports must lie in them.
        pool_ports: PortRange = "pool-ports", ports(), or("1024-65535");
        /// Entries of the connection tracking table (`nf_conntrack_max`); restored after the run. At least the connections, and
        /// 2,048 for packets in flight. Changing it needs root.
        table: Option<Count> = "table", maybe(number(1..=MOST_ENTRIES)), computed("the current value if it suffices, else the connections and 2,048");
        /// Buckets of its hash table (`nf_conntrack_buckets`); restored after the run. The kernel takes a multiple of 512.
        /// Changing it needs root.
        hash_size: Option<Count> = "hash-size", maybe(number(1..=MOST_BUCKETS)), computed("one for each entry, and no fewer than there are");
        /// `nf_conntrack_udp_timeout` and `nf_conntrack_udp_timeout_stream`, in whole seconds (RFC 9693, section 4.4).
        udp_timeout: Nanos = "udp-timeout", duration(Nanos(0)..=Nanos::from_secs(365 * 86_400)), or("10000 s");
    }
}

/// A NAT with outside IPv4 addresses, or a stateless function that shares addresses by ports, as rules and port ranges see
/// it.
pub(crate) struct Nat {
    /// Its outside addresses and ports, with full paths of keys.
    pub(crate) outside: Outside,
    /// Its state; `None` if it is stateless.
    pub(crate) state: Option<NatState>,
}

/// The state of a NAT.
pub(crate) struct NatState {
    table_path: String,
    pub(crate) mapping: Mapping,
    /// Number of sessions that its table can hold; `None` if natmeter makes the table as large as needed.
    pub(crate) sessions: Option<Count>,
    /// Time after which it forgets a connection without frames.
    pub(crate) udp_timeout: Nanos,
}

impl NatState {
    /// Returns the state of a device; `None` if it has none, or natmeter does not know it.
    pub(crate) fn of(dut: &Dut) -> Option<NatState> {
        match dut {
            Dut::Gateway { plays, technology, .. } | Dut::External { plays, technology: Some(technology), .. } => {
                let state = technology.state().filter(|_| technology.is_stateful(*plays))?;
                Some(NatState {
                    table_path: technology_path(technology.as_ref()),
                    mapping: state.mapping,
                    sessions: state.table,
                    udp_timeout: state.udp_timeout.unwrap_or(tech::TEST_TIMEOUT),
                })
            }
            Dut::Kernel { software, nat44: Some(nat44) } => Some(NatState {
                table_path: format!("dut.{software}"),
                mapping: Mapping::AddressAndPortDependent,
                sessions: nat44.table,
                udp_timeout: nat44.udp_timeout,
            }),
            Dut::Kernel { .. } | Dut::Resolver | Dut::External { .. } | Dut::Simulated { .. } => None,
        }
    }

    /// Returns the path of one of its keys.
    pub(crate) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.table_path)
    }
}

impl Nat {
    /// Returns the NAT of a device with outside IPv4 addresses.
    pub(crate) fn of(dut: &Dut) -> Option<Nat> {
        let outside = match dut {
            Dut::Gateway { plays, technology, .. } | Dut::External { plays, technology: Some(technology), .. } => {
                technology.outside(*plays)?.below(&technology_path(technology.as_ref()))
            }
            Dut::Kernel { software, nat44: Some(nat44) } => Outside {
                key: "pool",
                pool: vec![(format!("dut.{software}.pool"), nat44.pool)],
                ports: Ports::Range(nat44.pool_ports, format!("dut.{software}.pool-ports")),
                beside_inside: true,
            },
            Dut::Kernel { .. } | Dut::Resolver | Dut::External { .. } | Dut::Simulated { .. } => return None,
        };
        Some(Nat { outside, state: NatState::of(dut) })
    }

    pub(crate) fn addresses(&self) -> u64 {
        self.outside.pool.iter().map(|(_, range)| u64::from(range.count)).sum()
    }
}

impl Dut {
    /// Returns the time after which the device forgets a connection without frames; `None` if it has no state, or natmeter
    /// does not know the time.
    pub fn udp_timeout(&self) -> Option<Nanos> {
        Some(NatState::of(self)?.udp_timeout)
    }
}

/// Returns the number of outside ports of each address in a device's pool.
pub(crate) fn outside_ports(dut: &Dut) -> Option<u64> {
    match dut {
        Dut::Gateway { technology, .. } | Dut::External { technology: Some(technology), .. } => {
            technology.port_pool().map(|pool| pool.ports)
        }
        Dut::Kernel { nat44, .. } => nat44.as_ref().map(|nat44| nat44.pool_ports.count().into()),
        Dut::Resolver | Dut::External { .. } | Dut::Simulated { .. } => None,
    }
}

/// Returns the number of ports of a set that a customer edge assigns: never port 0, and no port below 1024 of an
/// address that is not shared.
pub(crate) fn usable(set: PortSet) -> u64 {
    if set == PortSet::ALL { 65_536 - 1024 } else { u64::from(set.count()) - u64::from(set.contains(0)) }
}

/// Returns the path of a technology's table.
pub(crate) fn technology_path(technology: &dyn Technology) -> String {
    format!("technology.{}", technology.name())
}
