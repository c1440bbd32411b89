//! The interface of a technology; other code of natmeter names none.

use crate::axis::Fit;
use crate::gateway::{Answers, GatewayBuild, Job};
use crate::outside::{Outside, PortPool};
use crate::parts::{Names, Plays};
use crate::row::{CustomerRow, RuleRow};
use crate::state::{State, TEST_TIMEOUT};
use crate::table::Open;
use crate::tester::{Flows, Setting};
use crate::translator::LowestMtu;
use key::{Chapter, Fault, Section};
use plane::Steering;
use plane::affinity;
use plane::nat44::Nat44;
use plane::nat64::Nat64;
use plane::nat66::Nat66;
use plane::tunnel::{OneTunnel, Tunnel};
use std::fmt;
use std::path::Path;
use wire::{AddrRange, PortSet, Prefix4, Prefix6, View};

/// An entry of the list of technologies.
pub struct ListEntry {
    /// Names of the parts, the first that of the table.
    pub names: Names,
    /// Description with RFCs.
    pub about: &'static str,
    /// Largest number of octets by which frames are longer than on an IPv4 link (RFC 8219, section 4.1).
    pub overhead: usize,
    /// Parts that keep connections.
    pub with_state: &'static [Plays],
    /// Chapters of keys at this path.
    pub chapters: fn(path: &str) -> Vec<Chapter>,
    /// Reads the technology; faults go to the section.
    pub read: fn(&mut Section<'_>) -> Option<Box<dyn Technology>>,
}

impl ListEntry {
    /// Name as in the technology's table.
    pub fn name(&self) -> &'static str {
        self.names.name(Plays::Dual)
    }
}

/// Copies a technology of unknown type.
pub trait CloneTechnology {
    /// A copy of the technology.
    fn boxed(&self) -> Box<dyn Technology>;
}

impl<T: Technology + Clone + 'static> CloneTechnology for T {
    fn boxed(&self) -> Box<dyn Technology> {
        Box::new(self.clone())
    }
}

/// A technology with its parameters.
pub trait Technology: CloneTechnology + fmt::Debug + Send + Sync {
    /// Entry in the list.
    fn entry(&self) -> &'static ListEntry;

    /// Functions of a gateway, one for each worker.
    ///
    /// # Errors
    /// Invalid parameters, an unusable file, or too little memory.
    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String>;

    /// Frames and expectations of both sides.
    ///
    /// # Errors
    /// Parameters that contradict the flows, an unusable file, or too little memory.
    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String>;

    /// IP versions on the left and on the right.
    fn versions(&self, plays: Plays) -> (u8, u8) {
        match plays {
            Plays::Dual => (4, 4),
            Plays::Ce => (4, 6),
            Plays::Pe => (6, 4),
        }
    }

    /// The state of its NAT, at either edge.
    fn state(&self) -> Option<&State> {
        None
    }

    /// The mutable state.
    fn state_mut(&mut self) -> Option<&mut State> {
        None
    }

    /// Customers' own IPv4 addresses, to be changed.
    fn inside_mut(&mut self) -> Option<&mut Vec<Prefix4>> {
        None
    }

    /// Fragment size of packets from IPv4 to IPv6, if set.
    fn lowest(&self) -> Option<&LowestMtu> {
        None
    }

    /// The mutable size.
    fn lowest_mut(&mut self) -> Option<&mut LowestMtu> {
        None
    }

    /// Outside addresses of this part, in IPv4.
    fn outside(&self, _plays: Plays) -> Option<Outside> {
        None
    }

    /// Ports that all customers share.
    fn port_pool(&self) -> Option<PortPool> {
        None
    }

    /// IPv6 networks of the tester's hosts, left and right, if they have no IPv4 addresses.
    fn networks(&self) -> Option<[Prefix6; 2]> {
        None
    }

    /// Rows of customers, if a device needs them: the edge's own, or those of the tester.
    ///
    /// # Errors
    /// Parameters that contradict the flows, or an unusable file.
    fn customers(&self, _plays: Plays, _flows: &Flows, _open: Open<'_>) -> Result<Vec<CustomerRow>, String> {
        Ok(Vec::new())
    }

    /// Mapping rules of an edge.
    fn mapping_rules(&self, _edge: Plays) -> Vec<RuleRow> {
        Vec::new()
    }

    /// Addresses for which a gateway answers besides its links' (left, right).
    fn answers(&self, _plays: Plays) -> [Answers; 2] {
        Default::default()
    }

    /// A mismatch costs only a handover.
    fn steering(&self, plays: Plays, _workers: usize, _open: Open<'_>) -> [Steering; 2] {
        let is_stateful = self.entry().with_state.contains(&plays);
        usual_steering(self.versions(plays), is_stateful, self.counts_by_prefix())
    }

    /// Prefix length of a subscriber, if subscribers are counted.
    fn counts_by_prefix(&self) -> Option<u8> {
        None
    }

    /// Subscribers, for quotas and port blocks.
    fn subscribers(&self, _plays: Plays, customers: u64) -> u64 {
        self.counts_by_prefix().map_or(customers, |len| (customers >> (128 - len).min(63)).max(1))
    }

    /// Groups of so many customers with all sessions at one worker, unless inside address and port select it.
    fn wholes(&self, _plays: Plays, _customers: u64) -> Option<u64> {
        None
    }

    /// Whether this part has an axis, and up to which value.
    fn fit(&self, _axis: &str, _plays: Plays, _flows: &Flows) -> Fit {
        Fit::Lacks
    }

    /// Sets an axis that it does not [lack](Technology::fit).
    fn set(&mut self, axis: &str, value: u64, flows: &mut Flows) {
        match axis {
            "subscribers" => flows.subscribers = value as u32,
            "inside-addresses" => flows.inside.count = value as u32,
            "outside-addresses" => self.keep_outside(value),
            _ => {}
        }
    }

    /// Keeps the first `count` outside addresses.
    fn keep_outside(&mut self, _count: u64) {}

    /// Keys that contradict each other.
    fn faults(&self) -> Vec<Fault> {
        self.state().map(State::faults).unwrap_or_default()
    }

    /// Flows that this part would drop or the tester cannot play; `most` is the largest number of
    /// inside addresses or subscribers.
    fn faults_in_test(&self, _plays: Plays, _flows: &Flows, _most: u64) -> Vec<Fault> {
        Vec::new()
    }

    /// Summary rows of a scenario that sweeps these axes.
    fn summary(&self, _plays: Plays, _swept: &[&str]) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The file, with its key.
    fn file(&self) -> Option<(&'static str, &Path)> {
        None
    }

    /// Loads its file and discards it.
    ///
    /// # Errors
    /// Why it cannot be used with these flows.
    fn check_file(&self, _plays: Plays, _flows: &Flows, _open: Open<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Octets of a table that is loaded and not learned.
    fn table_octets(&self) -> u64 {
        0
    }
}

/// Methods that return its entry, and the fields with these paths.
macro_rules! shared {
    ($( $part:ident: $first:ident $(. $field:ident)* ),+) => {
        fn entry(&self) -> &'static crate::ListEntry {
            &ENTRY
        }
        crate::technology::shared!(@ $( [$part $first $($field)*] )+);
    };
    (@ $( [$part:ident $($field:ident)+] )+) => {
        $( crate::technology::shared!(@$part $($field)+); )+
    };
    (@state $($field:ident)+) => {
        fn state(&self) -> Option<&crate::State> {
            Some(&self$(.$field)+)
        }
        fn state_mut(&mut self) -> Option<&mut crate::State> {
            Some(&mut self$(.$field)+)
        }
    };
    (@lowest $($field:ident)+) => {
        fn lowest(&self) -> Option<&crate::LowestMtu> {
            Some(&self$(.$field)+)
        }
        fn lowest_mut(&mut self) -> Option<&mut crate::LowestMtu> {
            Some(&mut self$(.$field)+)
        }
    };
    (@inside $($field:ident)+) => {
        fn inside_mut(&mut self) -> Option<&mut Vec<wire::Prefix4>> {
            Some(&mut self$(.$field)+)
        }
    };
    (@pool $($field:ident)+) => {
        fn port_pool(&self) -> Option<crate::PortPool> {
            Some(self$(.$field)+.port_pool())
        }
        fn keep_outside(&mut self, count: u64) {
            self$(.$field)+.keep(count);
        }
    };
    (@subscriber $($field:ident)+) => {
        fn counts_by_prefix(&self) -> Option<u8> {
            self$(.$field)+.counted(self.state()?)
        }
        fn wholes(&self, _: crate::Plays, customers: u64) -> Option<u64> {
            Some(self$(.$field)+.wholes(self.state()?, customers))
        }
    };
    (@map $field:ident) => {
        fn outside(&self, plays: crate::Plays) -> Option<crate::Outside> {
            self.$field.outside(plays)
        }
        fn mapping_rules(&self, edge: crate::Plays) -> Vec<crate::RuleRow> {
            self.$field.mapping_rules(edge)
        }
        fn fit(&self, axis: &str, plays: crate::Plays, _: &crate::Flows) -> crate::Fit {
            self.$field.fit(axis, plays)
        }
        fn set(&mut self, axis: &str, value: u64, flows: &mut crate::Flows) {
            self.$field.set(axis, value, flows);
        }
        fn table_octets(&self) -> u64 {
            self.$field.octets()
        }
    };
}
pub(crate) use shared;

impl dyn Technology + '_ {
    /// Names of the technology and its parts.
    pub fn names(&self) -> &'static Names {
        &self.entry().names
    }

    /// Name as in the technology's table.
    pub fn name(&self) -> &'static str {
        self.entry().name()
    }

    /// Largest number of octets by which frames are longer than on an IPv4 link.
    pub fn overhead(&self) -> usize {
        self.entry().overhead
    }

    /// Whether this part keeps connections.
    pub fn is_stateful(&self, plays: Plays) -> bool {
        self.entry().with_state.contains(&plays)
    }

    /// Sets the table's size, unless the file does.
    pub fn settle(&mut self, sessions: u64) {
        if let Some(state) = self.state_mut() {
            state.table.get_or_insert(sessions.max(1));
        }
    }

    /// Sets time-outs longer than any test, unless the file does.
    pub fn outlast_tests(&mut self) {
        if let Some(state) = self.state_mut() {
            state.udp_timeout.get_or_insert(TEST_TIMEOUT);
        }
    }

    /// Admits further addresses of customers.
    pub fn admit(&mut self, customers: AddrRange) {
        if let Some(inside) = self.inside_mut() {
            let has = |prefix: &Prefix4| [customers.first, customers.last()].iter().all(|&a| prefix.contains(a.into()));
            if !inside.iter().any(has) {
                inside.push(customers.covering());
            }
        }
    }

    /// Avoids fragments of IPv6 packets of `packet` octets, unless the file sets their size.
    pub fn pass_whole(&mut self, packet: usize) {
        if let Some(lowest) = self.lowest_mut().filter(|_| packet > 1280) {
            lowest.lowest_ipv6_mtu.get_or_insert(packet.min(u16::MAX.into()) as u16);
        }
    }
}

impl Clone for Box<dyn Technology> {
    fn clone(&self) -> Box<dyn Technology> {
        self.boxed()
    }
}

impl PartialEq for dyn Technology + '_ {
    fn eq(&self, other: &Self) -> bool {
        // Debug output of plain data is complete.
        format!("{self:?}") == format!("{other:?}")
    }
}

/// Steering for a customer edge with this port set, with octets of IP `headers` in front of the ports, on the right.
pub(crate) fn steering_of_edge(
    technology: &dyn Technology,
    plays: Plays,
    set: Option<PortSet>,
    headers: usize,
    workers: usize,
) -> [Steering; 2] {
    match (plays, set) {
        (Plays::Ce, Some(set)) => steer_by_port_set(headers, set, workers),
        (Plays::Dual, Some(set)) => steer_by_port_set(20, set, workers),
        _ => usual_steering(technology.versions(plays), technology.is_stateful(plays), None),
    }
}

fn steer_by_port_set(headers: usize, set: PortSet, workers: usize) -> [Steering; 2] {
    [Nat44::STEER_CUSTOMER, Nat44::steer_ports(14 + headers + 2, set, workers)]
}

fn usual_steering(versions: (u8, u8), is_stateful: bool, prefix: Option<u8>) -> [Steering; 2] {
    if !is_stateful {
        // One worker gets all fragments of a datagram: by both addresses on IPv4, by the ends of the tunnel on IPv6.
        let by = |version| if version == 4 { Tunnel::<OneTunnel>::STEER_IPV4 } else { Tunnel::<OneTunnel>::STEER_IPV6 };
        return [by(versions.0), by(versions.1)];
    }
    let customers = prefix.map_or(affinity::STEER_CUSTOMER, affinity::steering);
    match versions {
        (6, 6) => [customers, Nat66::STEER_INTERNET],
        (4, 4) => [Nat44::STEER_CUSTOMER, Nat44::STEER_INTERNET],
        (6, _) => [customers, Nat64::STEER_INTERNET],
        (_, _) => [Nat44::STEER_CUSTOMER, Nat64::STEER_CUSTOMER],
    }
}
