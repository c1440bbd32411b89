//! Settings of the NAT44 that targets choose, alone or behind a half with IPv6. Apart from those targets, which add their own.

use arbitrary::Arbitrary;
use plane::nat44::config::{Blocks, Config, Filtering};
use wire::PortRange;

/// The choices from which the configuration of a NAT44 is made.
#[derive(Arbitrary, Debug)]
pub struct Settings {
    /// Whether each connection has its own mapping (address- and port-dependent).
    pub per_connection: bool,
    /// Which of the three filtering behaviours, modulo 3.
    pub filtering: u8,
    /// Most sessions, less one.
    pub sessions: u8,
    /// Whether there are so few outside ports that they run out.
    pub few_ports: bool,
    /// Whether customers reach each other by outside addresses.
    pub hairpinning: bool,
    /// Most sessions and most ports of a subscriber.
    pub quota: Option<[u8; 2]>,
    /// Most fragments that wait for their first.
    pub held: u8,
    /// Most ICMP errors in a tenth of a second.
    pub errors: u8,
}

impl Settings {
    /// Choose them; with blocks of ports, where a mapping is not one connection's.
    pub fn apply(&self, nat: &mut Config, blocks: bool) {
        nat.sessions = 1 + u64::from(self.sessions);
        // Small tables are made fast, and full sooner: ports for all sessions there are with a fraction of all.
        nat.ports = PortRange { first: 1024, last: if self.few_ports { 1100 } else { 5119 } };
        nat.filtering =
            [Filtering::EndpointIndependent, Filtering::AddressDependent, Filtering::AddressAndPortDependent]
                [usize::from(self.filtering % 3)];
        nat.hairpinning = self.hairpinning;
        nat.quota.sessions = self.quota.map(|q| q[0].into());
        if self.per_connection {
            *nat = nat.clone().per_connection();
        } else {
            nat.quota.ports = self.quota.map(|q| q[1].into());
            nat.blocks = blocks.then_some(Blocks { size: 64, per_subscriber: 2 });
        }
        nat.fragments.held = self.held.into();
        nat.fragments.datagrams = 64;
        nat.icmp_errors_per_second = u32::from(self.errors) * 10;
    }
}

/// Most entries of a worker's tables with 255 asked for: hashing does not share out evenly.
pub const MOST: u64 = 256 + 1024 + 64;
