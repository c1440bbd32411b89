//! The configuration of a NAT44, with the checks that make it safe to run.

pub use super::config_error::ConfigError;
use super::pool::{PortClasses, below};
pub use super::quota::{Quota, default_session_quota, share_of_a_worker};
use super::static_mapping;
pub use super::static_mapping::{InsideAddress, Protocol, StaticMapping};
use crate::function::{SESSIONS, unchanged};
pub use crate::side::Side4 as SideConfig;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::time::Duration;

use wire::{AddrRange, PortRange, PortSet, Prefix4};

/// Packets of an inside address and port that share an outside port (RFC 4787, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Uses one mapping for all remote endpoints (RFC 4787, REQ-1).
    #[default]
    EndpointIndependent,
    /// Uses one mapping for a remote address and port, as in Linux: an outside port serves many
    /// remote end points.
    AddressAndPortDependent,
}

/// Packets from outside that may pass through a mapping (RFC 4787, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filtering {
    /// Admits packets from any remote endpoint.
    #[default]
    EndpointIndependent,
    /// Admits remote addresses to which the inside endpoint has sent.
    AddressDependent,
    /// Admits remote addresses and ports to which the inside endpoint has sent.
    AddressAndPortDependent,
}

/// Assignment of outside addresses (RFC 4787, REQ-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// One outside address for each inside address.
    #[default]
    Paired,
    /// Any outside address for any mapping.
    Arbitrary,
}

/// Timeouts for state without traffic that refreshes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Time-out of UDP, at least two minutes (RFC 4787, REQ-5).
    pub udp: Duration,
    /// UDP lifetimes by destination port, all below 1024 (RFC 4787, REQ-5a).
    pub udp_by_port: Vec<(u16, Duration)>,
    /// Established; at least 2 h 4 min (RFC 5382, REQ-5).
    pub tcp_established: Duration,
    /// Being opened or closed; at least 4 min (RFC 5382, REQ-5).
    pub tcp_transitory: Duration,
    /// Time-out of ICMP queries, at least 60 s (RFC 5508, REQ-2).
    pub icmp: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            udp: Duration::from_secs(300),
            udp_by_port: Vec::new(),
            tcp_established: Duration::from_secs(2 * 3600 + 4 * 60),
            tcp_transitory: Duration::from_secs(240),
            icmp: Duration::from_secs(60),
        }
    }
}

/// Port block allocation (RFC 6888, REQ-14). A block has successive ports of its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Ports of a block: 64, 128, 256, … 4096.
    pub size: u16,
    /// Blocks of a subscriber, 1 to 8.
    pub per_subscriber: u16,
}

/// Traffic forwarded without translation (RFC 6888, REQ-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exempt {
    /// Remote addresses.
    pub remote: Prefix4,
    /// Remote ports; all ports and all protocols if absent.
    pub ports: Option<PortRange>,
}

/// Bounds of the fragment store (RFC 4787, REQ-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentLimits {
    /// Datagrams known at once.
    pub datagrams: u16,
    /// Waiting for the first fragment of their datagram.
    pub held: u16,
    /// How long a datagram is remembered.
    pub lifetime: Duration,
}

impl Default for FragmentLimits {
    fn default() -> FragmentLimits {
        FragmentLimits { datagrams: 1024, held: 128, lifetime: Duration::from_secs(15) }
    }
}

/// A NAT44.
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own in a scenario")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Customers' side.
    pub customer: SideConfig,
    /// Internet's side.
    pub internet: SideConfig,
    /// Customers' addresses.
    pub inside: Vec<Prefix4>,
    /// Outside addresses, contiguous or not (RFC 6888, REQ-3).
    pub pool: Vec<AddrRange>,
    /// Ports of each address.
    pub ports: PortRange,
    /// Port set by which these addresses are shared (NAT44 of a CE: RFC 7596, RFC 7597, RFC 7599):
    /// only its ports in `ports` are assigned.
    pub port_set: PortSet,
    /// Mapping behaviour.
    pub mapping: Mapping,
    /// Filtering behaviour.
    pub filtering: Filtering,
    /// Pooling behaviour.
    pub pooling: Pooling,
    /// Sessions of all workers.
    pub sessions: u64,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Whether inbound UDP and ICMP packets keep a session alive (RFC 4787, REQ-6a). Off by
    /// default: any host outside could keep state alive.
    pub inbound_refresh: bool,
    /// Whether customers reach each other by outside addresses (RFC 4787, REQ-9).
    pub hairpinning: bool,
    /// Whether the inside port is tried first.
    pub preserve_port: bool,
    /// Whether odd ports stay odd and even ones even (RFC 4787, REQ-4) if possible.
    pub preserve_parity: bool,
    /// Quota of a subscriber.
    pub quota: Quota,
    /// Port blocks, with endpoint-independent mapping only.
    pub blocks: Option<Blocks>,
    /// Port reuse delay under endpoint-independent mapping (RFC 6888, REQ-8).
    pub port_reuse_delay: Duration,
    /// Permanent, and open to any remote endpoint; their outside ports are assigned to no other endpoint.
    pub statics: Vec<StaticMapping>,
    /// Destinations without translation.
    pub untranslated: Vec<Exempt>,
    /// Bounds of the fragment store.
    pub fragments: FragmentLimits,
    /// Maximum number of ICMP errors in a second; 0 for none (RFC 5508, REQ-9; RFC 1812, 4.3.2.8).
    pub icmp_errors_per_second: u32,
    /// For the Internet's half of a technology with IPv6 customers: inside addresses in this prefix
    /// are numbers of a dictionary (`customers`), each of one worker. Packets from inside are not
    /// handed over by address, and the NAT tracks which numbers have sessions.
    pub numbered: Option<Prefix4>,
    /// Bits of a customer's number that name the prefix the customer sent to (a NAT64 with several
    /// `pref64`). Only sessions differ by them; customer, mapping, subscriber and static mapping do
    /// not.
    pub aliases: u32,
    /// An alias for global remote addresses only (the well-known prefix, RFC 6052, section 3.1),
    /// and the one for unknown senders with others.
    pub global_only: Option<[u32; 2]>,
    /// Numbers for remote end points without IPv4 address (NAT66), tracked as `numbered`.
    pub numbered_remotes: Option<Prefix4>,
    /// RFC 6146 where it differs from RFC 5382 and RFC 5508: ICMP queries may come in through a
    /// mapping, and TCP segments restart the timer only as section 3.5.2 says.
    pub rfc6146: bool,
    /// Only reconfigures a running NAT: a NAT made from it has no memory for ports, and opens no session.
    pub sketch: bool,
}

impl Config {
    /// A configuration with the RFCs' defaults.
    pub fn new(customer: SideConfig, internet: SideConfig, inside: Vec<Prefix4>, pool: Vec<AddrRange>) -> Config {
        Config {
            customer,
            internet,
            inside,
            pool,
            ports: PortRange { first: 1024, last: 65535 },
            port_set: PortSet::ALL,
            mapping: Mapping::default(),
            filtering: Filtering::default(),
            pooling: Pooling::default(),
            sessions: 1 << 20,
            timeouts: Timeouts::default(),
            inbound_refresh: false,
            hairpinning: true,
            preserve_port: true,
            preserve_parity: true,
            quota: Quota::default(),
            blocks: None,
            port_reuse_delay: Duration::from_secs(120),
            statics: Vec::new(),
            untranslated: Vec::new(),
            fragments: FragmentLimits::default(),
            icmp_errors_per_second: 1000,
            numbered: None,
            aliases: 0,
            global_only: None,
            numbered_remotes: None,
            rfc6146: false,
            sketch: false,
        }
    }

    /// Address-and-port-dependent mapping and filtering.
    pub fn per_connection(mut self) -> Config {
        self.mapping = Mapping::AddressAndPortDependent;
        self.filtering = Filtering::AddressAndPortDependent;
        self
    }

    /// A worker's share, and with several workers 1/16 more because hashing is uneven.
    pub fn sessions_per_worker(&self, workers: usize) -> u64 {
        share_of_a_worker(self.sessions, workers)
    }

    /// Largest number of mappings, limited by ports and sessions.
    pub(crate) fn mappings_per_worker(&self, workers: usize) -> u64 {
        let ports = self.pool_size() * u64::from(self.usable_ports()) * 3;
        self.sessions_per_worker(workers).min(ports.div_ceil(workers.max(1) as u64) + 192)
    }

    pub(crate) fn counts_subscribers(&self) -> bool {
        self.quota != Quota::default() || self.blocks.is_some()
    }

    pub(crate) fn subscribers(&self) -> u64 {
        self.inside.iter().map(Prefix4::count).sum::<u64>().min(self.sessions).max(1)
    }

    /// Ports of each address that are in the range and in the port set.
    pub fn usable_ports(&self) -> u32 {
        let upto = |limit: u32| below(self.port_set, limit);
        upto(u32::from(self.ports.last) + 1).saturating_sub(upto(self.ports.first.into()))
    }

    pub(super) fn port_classes(&self, worker: usize, workers: usize) -> PortClasses {
        PortClasses::new(self.ports, self.port_set, worker, workers)
    }

    pub(crate) fn addresses_with_ports(&self) -> u64 {
        if self.sketch { 0 } else { self.pool_size() }
    }

    /// Whether other gateways use the same outside addresses, with other ports.
    pub fn shares_addresses(&self) -> bool {
        self.port_set != PortSet::ALL
    }

    /// Number of outside addresses.
    pub fn pool_size(&self) -> u64 {
        self.pool.iter().map(|r| u64::from(r.count)).sum()
    }

    /// Whether there is a table of the remote addresses to which each mapping has sent.
    pub(crate) fn permits(&self) -> bool {
        self.filtering == Filtering::AddressDependent
    }

    /// Whether a running NAT can be given `new` without losing state, the size of the session table aside.
    ///
    /// # Errors
    /// What differs.
    pub fn can_become(&self, new: &Config) -> Result<(), String> {
        let fixed = [
            ("pref64", self.aliases != new.aliases),
            ("inside", self.inside != new.inside),
            ("pool-ports", self.ports != new.ports),
            ("port-set", self.port_set != new.port_set),
            ("numbered", (self.numbered, self.numbered_remotes) != (new.numbered, new.numbered_remotes)),
            ("mapping", self.mapping != new.mapping),
            // Existing mappings have no record of the remote addresses they sent to.
            ("filtering", new.permits() && !self.permits()),
            ("pooling", self.pooling != new.pooling),
            ("port-reuse-delay", self.port_reuse_delay != new.port_reuse_delay),
            ("fragments", self.fragments != new.fragments),
        ];
        unchanged(&fixed, SESSIONS)
    }

    /// Checks everything that would make the NAT misbehave.
    ///
    /// # Errors
    /// The first mistake, with what to write instead.
    pub fn validate(&self, workers: usize) -> Result<(), ConfigError> {
        let bad = |what: &'static str, why: &str| Err(ConfigError { what, why: why.to_owned() });
        if self.inside.is_empty() || self.inside.iter().any(|p| p.len > 32) {
            return bad("inside", "name at least one prefix of the customers, such as 10.0.0.0/8");
        }
        if self.pool.is_empty() || self.pool.iter().any(|r| !range_fits(*r)) {
            return bad("pool", "name at least one outside address; ranges end at 255.255.255.255");
        }
        if self.pool_size() > 65_536 {
            return bad("pool", "at most 65,536 outside addresses");
        }
        if self.pool.iter().enumerate().any(|(i, a)| self.pool[..i].iter().any(|b| overlap(*a, *b))) {
            return bad("pool", "two ranges overlap; name each outside address once");
        }
        let first_inside = |p: &Prefix4| u32::from(p.addr) & p.mask();
        if self.pool.iter().any(|r| {
            self.inside.iter().any(|p| p.contains(u32::from(r.first)) || r.contains(Ipv4Addr::from(first_inside(p))))
        }) {
            return bad("pool", "an outside address lies in an inside prefix; the two must be disjoint");
        }
        if self.ports.first == 0 || self.ports.first > self.ports.last {
            return bad("ports", "a range such as 1024-65535; port 0 is not a port");
        }
        if workers == 0 || workers > 256 {
            return bad("workers", "1 to 256");
        }
        if self.mapping == Mapping::AddressAndPortDependent && self.filtering != Filtering::AddressAndPortDependent {
            return bad(
                "filtering",
                "address-and-port-dependent mapping shares an outside port between customers, so a packet from a new \
                 remote endpoint belongs to no single customer: choose address-and-port-dependent filtering",
            );
        }
        if self.sessions == 0 || self.sessions_per_worker(workers) >= crate::table::MOST {
            return bad("sessions", "1 to 4,000,000,000 a worker");
        }
        self.validate_port_set(workers)?;
        self.validate_times()?;
        self.validate_blocks(workers)?;
        static_mapping::check(&self.statics, &self.pool, self.port_set, |a| self.not_a_customer(a))?;
        if self.customer.mtu < 68 || self.internet.mtu < 68 {
            return bad("mtu", "at least 68, the smallest of any IPv4 link (RFC 791)");
        }
        if self.fragments.datagrams == 0 || self.fragments.lifetime > Duration::from_secs(600) {
            return bad("fragments", "at least one datagram, at most ten minutes");
        }
        Ok(())
    }

    fn not_a_customer(&self, a: Ipv4Addr) -> Option<String> {
        if [self.customer.address, self.internet.address].contains(&a) {
            return Some(format!("{a} is the gateway's own address"));
        }
        let inside = self.inside.iter().any(|p| p.contains(a.into()));
        (!inside).then(|| format!("{a} lies in no prefix of the customers; add one to `inside`"))
    }

    fn validate_times(&self) -> Result<(), ConfigError> {
        let t = &self.timeouts;
        let least = [
            (t.udp, 120, "timeouts.udp", "RFC 4787, REQ-5"),
            (t.tcp_established, 7440, "timeouts.tcp-established", "RFC 5382, REQ-5"),
            (t.tcp_transitory, 240, "timeouts.tcp-transitory", "RFC 5382, REQ-5"),
            (t.icmp, 60, "timeouts.icmp", "RFC 5508, REQ-2"),
        ];
        for (is, least, what, rule) in least {
            if is < Duration::from_secs(least) || is > LONGEST {
                let why = format!("at least {least} s ({rule}) and at most a year");
                return Err(ConfigError { what, why });
            }
        }
        if t.udp_by_port.iter().any(|&(port, time)| port >= 1024 || time.is_zero() || time > LONGEST) {
            let why = "only destination ports below 1024 may have a time of their own (RFC 4787, REQ-5a)".to_owned();
            return Err(ConfigError { what: "timeouts.udp-by-port", why });
        }
        if self.port_reuse_delay > LONGEST {
            return Err(ConfigError { what: "port-reuse-delay", why: "at most a year".to_owned() });
        }
        Ok(())
    }

    fn validate_port_set(&self, workers: usize) -> Result<(), ConfigError> {
        let PortSet { offset, len, psid } = self.port_set;
        let bad = |why: String| Err(ConfigError { what: "port-set", why });
        if let Err(why) = PortSet::new(offset, len, psid) {
            return bad(why.to_string());
        }
        if !self.shares_addresses() {
            return Ok(());
        }
        if self.usable_ports() == 0 {
            return bad(format!("none of its ports lies in {}: widen `ports`", self.ports));
        }
        let empty = |w: &usize| self.port_classes(*w, workers).all.is_empty();
        match (0..workers).find(empty) {
            Some(w) => bad(format!(
                "it is too small for {workers} workers, number {w} would have no port: run fewer workers (a set with an \
                 offset of a bits serves at most 2^a - 1)"
            )),
            None => Ok(()),
        }
    }

    fn validate_blocks(&self, workers: usize) -> Result<(), ConfigError> {
        if self.quota.ports.is_some() && self.mapping != Mapping::EndpointIndependent {
            let why = "only under endpoint-independent mapping does a port belong to one subscriber".to_owned();
            return Err(ConfigError { what: "quota.ports", why });
        }
        let Some(b) = self.blocks else { return Ok(()) };
        let bad = |why: &str| Err(ConfigError { what: "blocks", why: why.to_owned() });
        if self.mapping != Mapping::EndpointIndependent || self.pooling != Pooling::Paired {
            return bad("blocks need endpoint-independent mapping and paired pooling");
        }
        if !(64..=4096).contains(&b.size) || !b.size.is_power_of_two() || !(1..=8).contains(&b.per_subscriber) {
            return bad("a size of 64, 128, 256, 512, 1024, 2048 or 4096, and 1 to 8 blocks a subscriber");
        }
        if usize::from(b.size) * workers > 65_536 / 2 {
            return bad("the blocks are too large for so many workers: at most 32,768 / workers");
        }
        let chunks = u32::from(b.size) / super::pool::CHUNK;
        if self.shares_addresses() && (0..workers).any(|w| self.port_classes(w, workers).all.chunks() < chunks) {
            return bad("the port set is too small for blocks of this size");
        }
        Ok(())
    }
}

/// Ages must fit 32-bit ticks.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

fn range_fits(r: AddrRange) -> bool {
    r.count > 0 && u32::from(r.first).checked_add(r.count - 1).is_some()
}

fn overlap(a: AddrRange, b: AddrRange) -> bool {
    u32::from(a.first) <= u32::from(b.last()) && u32::from(b.first) <= u32::from(a.last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Mac;

    #[test]
    fn a_running_nat_cannot_begin_to_filter_by_what_it_has_not_noted() {
        let link =
            |a: u8| SideConfig { mac: Mac([2; 6]), next_hop: Mac([4; 6]), address: [10, 0, 0, a].into(), mtu: 1500 };
        let inside = Prefix4 { addr: [10, 0, 0, 0].into(), len: 8 };
        let pool = AddrRange::one([198, 51, 100, 1].into());
        let with = |filtering| Config { filtering, ..Config::new(link(1), link(2), vec![inside], vec![pool]) };
        let (noted, not) = (with(Filtering::AddressDependent), with(Filtering::EndpointIndependent));
        assert!(not.can_become(&noted).unwrap_err().starts_with("filtering: "));
        assert_eq!(noted.can_become(&not), Ok(()));
        assert_eq!(not.can_become(&with(Filtering::AddressAndPortDependent)), Ok(()));
    }
}
