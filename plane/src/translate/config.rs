//! The configuration of a translator, and the checks that make it safe to run.

use crate::fragment::PartLimits;
use crate::function::{Side, unchanged};
use crate::side::{Side4, Side6};
use serde::{Deserialize, Serialize};
use wire::AddrRange;

/// The octet with DSCP and ECN (RFC 7915, sections 4.1 and 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassRule {
    /// Copies the octet as received.
    #[default]
    Copy,
    /// Always sets this octet.
    Fixed(u8),
}

impl ClassRule {
    /// Octet of the translated packet.
    #[inline(always)]
    pub fn apply(self, class: u8) -> u8 {
        match self {
            ClassRule::Copy => class,
            ClassRule::Fixed(c) => c,
        }
    }
}

/// IPv4 UDP packets without checksum, which IPv6 requires (RFC 7915, section 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZeroChecksum {
    /// Dropped.
    Drop,
    /// Computes the checksum; for fragments see [`Config::unsummed`].
    #[default]
    Compute,
    /// Forwarded without checksum, as are UDP packets without one from IPv6, which RFC 6935 permits for tunnels.
    Forward,
}

/// Packets between explicitly mapped IPv6 hosts (RFC 7757, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hairpinning {
    /// No hairpinning.
    Off,
    /// A router hairpins; translation to IPv6 then shows the source behind the prefix.
    Simple,
    /// The translator hairpins, also between customers of mapping rules (MAP-T), whose packets
    /// otherwise return from the next router.
    #[default]
    Intrinsic,
}

/// What becomes of headers (RFC 7915).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderRules {
    /// Fragment size of IPv6 packets (section 4.1).
    pub lowest_ipv6_mtu: u16,
    /// Traffic class of IPv6 packets.
    pub traffic_class: ClassRule,
    /// Type of service of IPv4 packets.
    pub tos: ClassRule,
    /// UDP over IPv4 without checksum.
    pub zero_udp_checksum: ZeroChecksum,
}

impl Default for HeaderRules {
    fn default() -> HeaderRules {
        let (class, zero_udp_checksum) = (ClassRule::default(), ZeroChecksum::default());
        HeaderRules { lowest_ipv6_mtu: 1280, traffic_class: class, tos: class, zero_udp_checksum }
    }
}

/// A translator between IPv4 and IPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The Internet's for a CE, the customers' for a PE.
    pub ipv6: Side,
    /// The IPv4 link.
    pub v4: Side4,
    /// The IPv6 link.
    pub v6: Side6,
    /// Whether it decrements the time to live; not if a chained function does.
    pub hop: bool,
    /// What becomes of headers.
    pub headers: HeaderRules,
    /// Hairpinning between explicitly mapped hosts.
    pub hairpinning: Hairpinning,
    /// Sources for ICMP errors from hosts without IPv4 address (RFC 6791); the own address when empty.
    pub icmp_sources: Vec<AddrRange>,
    /// Limits for IPv4 fragments of ends that share their address, which wait for the port.
    pub fragments: PartLimits,
    /// Limits for fragments of UDP datagrams without checksum that are reassembled to get one (RFC
    /// 6146, section 3.4), the first fragment being delivered first. `None`: they are dropped (RFC
    /// 7915, section 4.5).
    pub unsummed: Option<PartLimits>,
    /// Most ICMP errors per second; 0 for none (RFC 7915, sections 4.4 and 5.4).
    pub icmp_errors_per_second: u32,
    /// Seed for identifications of IPv4 packets.
    pub seed: u64,
}

impl Config {
    /// A configuration with the RFCs' defaults.
    pub fn new(ipv6: Side, v4: Side4, v6: Side6) -> Config {
        Config {
            ipv6,
            v4,
            v6,
            hop: true,
            headers: HeaderRules::default(),
            hairpinning: Hairpinning::default(),
            icmp_sources: Vec::new(),
            fragments: PartLimits::FRAGMENTS,
            unsummed: None,
            icmp_errors_per_second: 1000,
            seed: 0,
        }
    }

    /// Whether a running translator can be given `new` without losing waiting fragments, the seed aside.
    ///
    /// # Errors
    /// What differs.
    pub fn can_become(&self, new: &Config) -> Result<(), String> {
        let fixed = [
            ("the side with IPv6", self.ipv6 != new.ipv6),
            ("fragments", self.fragments != new.fragments),
            ("fragments of UDP without checksum", self.unsummed != new.unsummed),
        ];
        unchanged(&fixed, "the translator runs")
    }

    /// Checks everything that would make the translator misbehave.
    ///
    /// # Errors
    /// The first mistake, with what to write instead.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let bad = |what: &'static str, why: &str| Err(ConfigError { what, why: why.to_owned() });
        if self.v6.mtu < 1280 {
            return bad("mtu of the IPv6 side", "at least 1280, the smallest of any IPv6 link (RFC 8200, section 5)");
        }
        if self.v4.mtu < 68 {
            return bad("mtu of the IPv4 side", "at least 68, the smallest of any IPv4 link (RFC 791)");
        }
        if self.headers.lowest_ipv6_mtu < 1280 {
            return bad("lowest-ipv6-mtu", "at least 1280 (RFC 7915, section 4.1)");
        }
        let whole = |r: &AddrRange| r.count > 0 && u32::from(r.first).checked_add(r.count - 1).is_some();
        if !self.icmp_sources.iter().all(whole) {
            return bad("icmp-sources", "ranges of at least one address that end at 255.255.255.255");
        }
        let least = u32::from(self.v4.mtu) + 1500;
        if ![Some(self.fragments), self.unsummed].iter().flatten().all(|l| l.suffice(least)) {
            return bad(
                "fragments",
                "a lifetime, and room for at least one datagram and 1500 octets more than the IPv4 MTU",
            );
        }
        Ok(())
    }
}

/// A mistake in a [`Config`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct ConfigError {
    /// The setting.
    pub what: &'static str,
    /// What is wrong and what to write instead.
    pub why: String,
}
