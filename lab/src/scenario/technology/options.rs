//! What most scenarios leave as it is: timeouts, quotas and port blocks of a NAT, options of a translator, limits of both. Apart from the
//! parameters that make a technology what it is, because several technologies have these in common.

use super::tunnel::{Parts, TunnelOptions};
use method::Nanos;
use plane::affinity::SUBSCRIBER_PREFIX;
use plane::aftr;
use plane::nat44::config::{Blocks, Config as NatConfig, Pooling, Quota};
use plane::translate::{ClassRule, Config as TranslateConfig, Hairpinning, ZeroChecksum};
use plane::tunnel::Config as TunnelConfig;
use plane::{nat64, nat66};
use serde::{Deserialize, Serialize};

/// Limits of a NAT; what is absent is as the RFCs have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Limits {
    /// TCP connections that are established (RFC 5382, REQ-5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_timeout: Option<Nanos>,
    /// TCP connections that are being opened or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_transitory_timeout: Option<Nanos>,
    /// ICMP queries (RFC 5508, REQ-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_timeout: Option<Nanos>,
    /// Sessions of a subscriber at most (RFC 6888, REQ-4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_quota: Option<u32>,
    /// Outside ports of a subscriber at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_quota: Option<u32>,
    /// Ports of a block, where ports come in blocks (RFC 6888, REQ-14), and blocks of a subscriber at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_blocks: Option<(u16, u16)>,
    /// Length of the prefix whose addresses are one subscriber, where customers have IPv6 addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscriber_prefix: Option<u8>,
    /// A customer may have several outside addresses (RFC 4787, REQ-2).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub arbitrary_pooling: bool,
}

impl Limits {
    /// Whether nothing is said.
    pub fn is_usual(&self) -> bool {
        *self == Limits::default()
    }

    /// Whether subscribers are counted.
    pub fn count_subscribers(&self) -> bool {
        self.session_quota.is_some() || self.port_quota.is_some() || self.port_blocks.is_some()
    }

    /// Length of the prefix that a subscriber with IPv6 addresses has.
    pub fn subscriber_prefix(&self) -> u8 {
        self.subscriber_prefix.unwrap_or(SUBSCRIBER_PREFIX)
    }

    /// Write them into a NAT's configuration.
    pub fn set(&self, c: &mut NatConfig) {
        let times = [
            (&mut c.timeouts.tcp_established, self.tcp_timeout),
            (&mut c.timeouts.tcp_transitory, self.tcp_transitory_timeout),
            (&mut c.timeouts.icmp, self.icmp_timeout),
        ];
        for (time, said) in times {
            *time = said.map_or(*time, Into::into);
        }
        c.quota = Quota { sessions: self.session_quota, ports: self.port_quota };
        c.blocks = self.port_blocks.map(|(size, per_subscriber)| Blocks { size, per_subscriber });
        if self.arbitrary_pooling {
            c.pooling = Pooling::Arbitrary;
        }
    }
}

/// Options of a translator (RFC 7915) or tunnel, and limits; what is absent is as the RFCs have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// UDP over IPv4 without checksum is dropped, and gets none (section 4.5).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop_zero_udp_checksum: bool,
    /// Type of service of all IPv4 packets; copied when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos: Option<u8>,
    /// Traffic class of all IPv6 packets; copied when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<u8>,
    /// What packets that may be fragmented are cut to (section 4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest_ipv6_mtu: Option<u16>,
    /// Packets between explicitly mapped hosts of SIIT (RFC 7757, section 4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hairpinning: Option<Hairpinning>,
    /// The tunnels.
    #[serde(skip_serializing_if = "TunnelOptions::is_usual")]
    pub tunnel: TunnelOptions,
    /// Fragments, whose first alone shows the port.
    #[serde(skip_serializing_if = "Parts::is_usual")]
    pub fragments: Parts,
    /// Fragments that a NAT holds until the first of their datagram comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragments_held: Option<u16>,
    /// Datagrams that are put together.
    #[serde(skip_serializing_if = "Parts::is_usual")]
    pub reassembly: Parts,
    /// ICMP errors that each worker sends itself in a second, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_errors: Option<u32>,
}

impl Options {
    /// Whether nothing is said.
    pub fn is_usual(&self) -> bool {
        *self == Options::default()
    }

    /// Write them into a translator's configuration.
    pub fn set(&self, c: &mut TranslateConfig) {
        c.zero_udp_checksum = self.zero_udp_checksum();
        c.tos = class(self.tos);
        c.traffic_class = class(self.traffic_class);
        c.lowest_ipv6_mtu = self.lowest_ipv6_mtu.unwrap_or(c.lowest_ipv6_mtu);
        c.hairpinning = self.hairpinning.unwrap_or(c.hairpinning);
        self.fragments.set(&mut c.fragments);
        c.icmp_errors_per_second = self.icmp_errors.unwrap_or(c.icmp_errors_per_second);
    }

    /// The same for the translator of a NAT64.
    pub fn set_nat64(&self, c: &mut nat64::Config) {
        c.zero_udp_checksum = self.zero_udp_checksum();
        c.tos = class(self.tos);
        c.traffic_class = class(self.traffic_class);
        c.lowest_ipv6_mtu = self.lowest_ipv6_mtu.unwrap_or(c.lowest_ipv6_mtu);
        self.reassembly.set(&mut c.reassembly);
        self.set_nat(&mut c.nat);
    }

    /// The limits of a NAT.
    pub fn set_nat(&self, c: &mut NatConfig) {
        c.fragments.datagrams = self.fragments.datagrams.unwrap_or(c.fragments.datagrams);
        c.fragments.lifetime = self.fragments.lifetime.map_or(c.fragments.lifetime, Into::into);
        c.fragments.held = self.fragments_held.unwrap_or(c.fragments.held);
        c.icmp_errors_per_second = self.icmp_errors.unwrap_or(c.icmp_errors_per_second);
    }

    /// Those of a NAT66.
    pub fn set_nat66(&self, c: &mut nat66::Config) {
        self.fragments.set(&mut c.fragments);
        self.set_nat(&mut c.nat);
    }

    /// Write them into the configuration of a tunnel end.
    pub fn set_tunnel(&self, c: &mut TunnelConfig) {
        self.tunnel.set(c);
        self.fragments.set(&mut c.fragments);
        self.reassembly.set(&mut c.reassembly);
        c.icmp_errors_per_second = self.icmp_errors.unwrap_or(c.icmp_errors_per_second);
    }

    /// The same for an AFTR and its NAT.
    pub fn set_aftr(&self, c: &mut aftr::Config) {
        self.tunnel.set_aftr(c);
        self.reassembly.set(&mut c.reassembly);
        self.set_nat(&mut c.nat);
    }

    fn zero_udp_checksum(&self) -> ZeroChecksum {
        if self.drop_zero_udp_checksum { ZeroChecksum::Drop } else { ZeroChecksum::Compute }
    }
}

fn class(said: Option<u8>) -> ClassRule {
    said.map_or(ClassRule::Copy, ClassRule::Fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::{Side, Side4, Side6};
    use std::time::Duration;

    const V4: Side4 = Side4 {
        mac: wire::Mac([2; 6]),
        next_hop: wire::Mac([3; 6]),
        address: std::net::Ipv4Addr::LOCALHOST,
        mtu: 1500,
    };
    const V6: Side6 = Side6 {
        mac: wire::Mac([2; 6]),
        next_hop: wire::Mac([3; 6]),
        address: std::net::Ipv6Addr::LOCALHOST,
        mtu: 1500,
    };

    #[test]
    fn nothing_said_is_as_the_rfcs_have_it() {
        let usual = NatConfig::new(V4, V4, Vec::new(), Vec::new());
        let mut nat = usual.clone();
        Limits::default().set(&mut nat);
        assert_eq!(nat, usual);
        let usual = TranslateConfig::new(Side::Customer, V4, V6);
        let mut translator = usual.clone();
        Options::default().set(&mut translator);
        assert_eq!(translator, usual);
        let usual = TunnelConfig::new(Side::Customer, V4, V6);
        let mut tunnel = usual.clone();
        Options::default().set_tunnel(&mut tunnel);
        assert_eq!(tunnel, usual);
        let usual = aftr::Config::new(V6, V4, Vec::new());
        let mut aftr = usual.clone();
        Options::default().set_aftr(&mut aftr);
        assert_eq!(aftr, usual);
    }

    #[test]
    fn what_is_said_arrives() {
        let mut nat = NatConfig::new(V4, V4, Vec::new(), Vec::new());
        let limits = Limits {
            icmp_timeout: Some(Nanos::from_secs(61)),
            session_quota: Some(7),
            port_blocks: Some((128, 2)),
            arbitrary_pooling: true,
            ..Limits::default()
        };
        limits.set(&mut nat);
        assert_eq!(nat.timeouts.icmp, Duration::from_secs(61));
        assert_eq!(nat.timeouts.tcp_transitory, Duration::from_secs(240));
        assert_eq!((nat.quota, nat.pooling), (Quota { sessions: Some(7), ports: None }, Pooling::Arbitrary));
        assert_eq!(nat.blocks, Some(Blocks { size: 128, per_subscriber: 2 }));
        let mut translator = TranslateConfig::new(Side::Customer, V4, V6);
        let options = Options { drop_zero_udp_checksum: true, tos: Some(8), ..Options::default() };
        options.set(&mut translator);
        assert_eq!((translator.zero_udp_checksum, translator.tos), (ZeroChecksum::Drop, ClassRule::Fixed(8)));
        assert_eq!((translator.traffic_class, translator.lowest_ipv6_mtu), (ClassRule::Copy, 1280));
    }

    #[test]
    fn limits_arrive_at_every_part() {
        let parts = Parts { datagrams: Some(7), octets: Some(200_000), lifetime: Some(Nanos::from_secs(3)) };
        let options = Options {
            fragments: parts,
            fragments_held: Some(9),
            reassembly: Parts { lifetime: None, ..parts },
            icmp_errors: Some(0),
            ..Options::default()
        };
        let (three, minute) = (Duration::from_secs(3), Duration::from_secs(60));
        let as_parts = |p: &plane::fragment::PartLimits| (p.datagrams, p.octets, p.lifetime);
        let mut tunnel = TunnelConfig::new(Side::Customer, V4, V6);
        options.set_tunnel(&mut tunnel);
        assert_eq!(as_parts(&tunnel.fragments), (7, 200_000, three));
        assert_eq!((as_parts(&tunnel.reassembly), tunnel.icmp_errors_per_second), ((7, 200_000, minute), 0));
        let mut translator = TranslateConfig::new(Side::Customer, V4, V6);
        options.set(&mut translator);
        assert_eq!((as_parts(&translator.fragments), translator.icmp_errors_per_second), ((7, 200_000, three), 0));
        let pref64 = wire::Prefix6 { addr: "2001:2::".parse().unwrap(), len: 96 };
        let mut nat64 = nat64::Config::new(V6, V4, pref64, Vec::new());
        options.set_nat64(&mut nat64);
        let held =
            |c: &NatConfig| (c.fragments.datagrams, c.fragments.held, c.fragments.lifetime, c.icmp_errors_per_second);
        assert_eq!((as_parts(&nat64.reassembly), held(&nat64.nat)), ((7, 200_000, minute), (7, 9, three, 0)));
        let mut aftr = aftr::Config::new(V6, V4, Vec::new());
        options.set_aftr(&mut aftr);
        assert_eq!((as_parts(&aftr.reassembly), held(&aftr.nat)), ((7, 200_000, minute), (7, 9, three, 0)));
    }
}
