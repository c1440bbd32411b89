//! How a NAT keeps state: mapping, filtering, time-outs, quotas and port blocks.

use crate::fragments::{Errors, Fragments};
use key::kind::{Choice, choice, maybe, number, one_of, or_word, seconds_from, yes_or_no};
use key::{Fault, computed, or};
use method::Nanos;
use plane::nat44::config::{Blocks, Config, Filtering, Mapping, Pooling, Quota, default_session_quota};

/// RFC 4787, section 4.1.
pub(crate) const MAPPINGS: &[Choice<Mapping>] = &[
    ("endpoint-independent", Mapping::EndpointIndependent, "one outside port for each inside address and port"),
    ("address-and-port-dependent", Mapping::AddressAndPortDependent, "a mapping for each four-tuple, as Linux does it"),
];

const FILTERS: &[Choice<Filtering>] = &[
    ("endpoint-independent", Filtering::EndpointIndependent, ""),
    ("address-dependent", Filtering::AddressDependent, ""),
    ("address-and-port-dependent", Filtering::AddressAndPortDependent, ""),
];

const POOLINGS: &[Choice<bool>] = &[("paired", false, ""), ("arbitrary", true, "")];

key::table! {
    /// How a NAT keeps state, and its limits.
    pub struct State {
        /// Mapping behaviour (RFC 4787, section 4.1).
        mapping: Mapping = "mapping", choice(MAPPINGS), or("endpoint-independent");
        /// Filtering behaviour: which remote hosts may answer (RFC 4787, section 5).
        filtering: Option<Filtering> = "filtering", maybe(choice(FILTERS)), computed("as `mapping`");
        /// Sessions at most, in all workers together.
        table: Option<u64> = "table", maybe(number(1..=1 << 32)),
            computed("1,048,576 in `[gateway]`; in a scenario the largest number of connections, with room for uneven shares of several workers");
        /// Lifetime of an idle UDP session (RFC 4787, REQ-5). In a scenario no session may end by itself (RFC 9693, section 4.4).
        udp_timeout: Option<Nanos> = "udp-timeout", maybe(seconds_from(120)), computed("`\"300 s\"`; in a scenario `\"10000 s\"`");
        /// Customers reach each other by outside addresses (RFC 4787, REQ-9).
        hairpinning: bool = "hairpinning", yes_or_no(), or("true");
        /// Lifetime of an idle established TCP session (RFC 5382, REQ-5).
        tcp_timeout: Option<Nanos> = "tcp-timeout", maybe(seconds_from(7440)), computed("`\"7440 s\"`");
        /// Lifetime of a TCP session that is being opened or closed (RFC 5382, REQ-5).
        tcp_transitory_timeout: Option<Nanos> = "tcp-transitory-timeout", maybe(seconds_from(240)), computed("`\"240 s\"`");
        /// Lifetime of an idle ICMP query session (RFC 5508, REQ-2).
        icmp_timeout: Option<Nanos> = "icmp-timeout", maybe(seconds_from(60)), computed("`\"60 s\"`");
        /// Sessions of a subscriber at most (RFC 6888, REQ-4).
        session_quota: Option<Option<u32>> = "session-quota", maybe(or_word("none", number(1..=u32::MAX.into()))),
            computed("a quarter of `table` in `[gateway]`; in a scenario no limit");
        /// Outside ports of a subscriber at most. Needs endpoint-independent mapping.
        port_quota: Option<u32> = "port-quota", maybe(number(1..=u32::MAX.into())), computed("no limit");
        /// Ports come in blocks of this size, each of one subscriber (RFC 6888, REQ-14). Needs endpoint-independent mapping.
        port_block: Option<u16> = "port-block", maybe(one_of(&[64, 128, 256, 512, 1024, 2048, 4096])), computed("single ports");
        /// Blocks of a subscriber at most.
        port_blocks: Option<u16> = "port-blocks", maybe(number(1..=8)), computed("1");
        /// Whether a customer has one outside address for all its sessions (RFC 4787, REQ-2).
        arbitrary_pooling: bool = "pooling", choice(POOLINGS), or("paired");
    } with {
        /// Fragments.
        fragments: Fragments;
        /// ICMP errors.
        errors: Errors;
    }
}

/// RFC 4787, REQ-5.
const UDP_TIMEOUT: Nanos = Nanos::from_secs(300);

/// Longer than any trial (RFC 9693, section 4.4).
pub const TEST_TIMEOUT: Nanos = Nanos::from_secs(10_000);

impl State {
    /// Lifetime of an idle session.
    pub fn udp_timeout(&self) -> Nanos {
        self.udp_timeout.unwrap_or(UDP_TIMEOUT)
    }

    /// Largest number of sessions; 0 until settled.
    pub fn sessions(&self) -> u64 {
        self.table.unwrap_or(0)
    }

    /// Number of addresses: as many as sessions, up to a million.
    pub(crate) fn addresses(&self) -> u64 {
        self.sessions().clamp(1, 1 << 20)
    }

    /// Largest number of sessions of a subscriber, if limited.
    pub fn session_quota(&self) -> Option<u32> {
        self.session_quota.flatten()
    }

    /// A gateway's default, so that no host fills the table.
    pub fn limit_subscribers(&mut self, workers: usize, one_worker: bool) {
        let limit = || Some(default_session_quota(self.table.unwrap_or(0), workers, one_worker));
        self.session_quota = Some(self.session_quota.unwrap_or_else(limit));
    }

    /// Whether subscribers are counted.
    pub fn counts_subscribers(&self) -> bool {
        self.session_quota().is_some() || self.port_quota.is_some() || self.port_block.is_some()
    }

    /// Ports of a subscriber, if ports come in blocks.
    pub fn block_ports(&self) -> Option<u64> {
        self.port_block.map(|size| u64::from(size) * u64::from(self.port_blocks.unwrap_or(1)))
    }

    pub(crate) fn set(&self, c: &mut Config) {
        c.mapping = self.mapping;
        // Only the whole four-tuple identifies a customer.
        c.filtering = self.filtering.unwrap_or(match self.mapping {
            Mapping::EndpointIndependent => Filtering::EndpointIndependent,
            Mapping::AddressAndPortDependent => Filtering::AddressAndPortDependent,
        });
        c.sessions = self.sessions().max(1);
        c.sketch = self.sessions() == 0;
        c.hairpinning = self.hairpinning;
        c.timeouts.udp = self.udp_timeout().into();
        let times = [
            (&mut c.timeouts.tcp_established, self.tcp_timeout),
            (&mut c.timeouts.tcp_transitory, self.tcp_transitory_timeout),
            (&mut c.timeouts.icmp, self.icmp_timeout),
        ];
        for (time, given) in times {
            *time = given.map_or(*time, Into::into);
        }
        c.quota = Quota { sessions: self.session_quota(), ports: self.port_quota };
        c.blocks = self.port_block.map(|size| Blocks { size, per_subscriber: self.port_blocks.unwrap_or(1) });
        if self.arbitrary_pooling {
            c.pooling = Pooling::Arbitrary;
        }
        self.fragments.set_nat(c);
        c.icmp_errors_per_second = self.errors.icmp_errors_per_second.unwrap_or(c.icmp_errors_per_second);
    }

    pub(crate) fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.port_blocks.is_some() && self.port_block.is_none() {
            let fault =
                Fault::new("`port-blocks` is the number of a subscriber's blocks, but ports do not come in blocks");
            let fault = fault.at(".port-blocks", "blocks of no size").needs(".port-block");
            faults.push(fault.instead("write port-block = 256, or leave it out"));
        }
        for (key, given) in [("port-quota", self.port_quota.is_some()), ("port-block", self.port_block.is_some())] {
            if given && self.mapping == Mapping::AddressAndPortDependent {
                faults.push(
                    Fault::new(format!("`{key}` needs ports that belong to one subscriber"))
                        .at(format!(".{key}"), "cannot be counted")
                        .at(".mapping", "ports serve several subscribers at once")
                        .instead("use mapping = \"endpoint-independent\", or session-quota"),
                );
            }
        }
        if self.port_block.is_some() && self.arbitrary_pooling {
            faults.push(
                Fault::new("port blocks need one outside address a subscriber")
                    .at(".port-block", "blocks")
                    .at(".pooling", "any outside address for any mapping")
                    .instead("use pooling = \"paired\", or no port-block"),
            );
        }
        faults
    }

    /// The fault of a prefix without quota or port blocks.
    pub(crate) fn uncounted(&self, prefix: Option<u8>) -> Option<Fault> {
        (prefix.is_some() && !self.counts_subscribers()).then(|| {
            Fault::new("`subscriber-prefix` defines a subscriber, but no quota counts subscribers")
                .at(".subscriber-prefix", "no effect")
                .needs(".session-quota")
                .needs(".port-quota")
                .needs(".port-block")
                .instead("add a session-quota, a port-quota or a port-block, or leave it out")
        })
    }
}
