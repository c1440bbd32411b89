//! The configuration of a tunnel end: typed settings with the defaults of the RFCs, and checks.

pub use crate::fragment::PartLimits;

use crate::Side;
use crate::function::unchanged;
use crate::side::{Side4, Side6};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Added by the outer header, in octets (RFC 6333, section 5.3).
pub const OVERHEAD: u16 = 40;

/// DSCP of the outer header (RFC 2473, section 6.4; RFC 6333, section 7.1). ECN follows RFC 6040.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficClass {
    /// Copied from the inner header.
    #[default]
    Copy,
    /// A fixed value, 0 to 63.
    Fixed(u8),
}

/// Congestion notification at the start of the tunnel (RFC 6040, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// ECN is copied to the outer field.
    #[default]
    Normal,
    /// The outer header is not ECN-capable, for ends without RFC 6040.
    Compatibility,
}

/// Flow label of the outer header (RFC 6438).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowLabel {
    /// A fixed label of 20 bits.
    Fixed(u32),
    /// A hash of the inner addresses, protocol and ports; never zero. All fragments of a datagram
    /// have the same label, without ports.
    Hash,
}

/// Packets that are too large for the tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oversize {
    /// DF set: dropped, ICMP fragmentation needed. DF clear: encapsulated, then fragmented as IPv6 (RFC 2473, section
    /// 7.2; RFC 6333, section 5.3).
    #[default]
    Outer,
    /// DF set: as above. DF clear: fragmented as IPv4, then encapsulated (RFC 7597, section 8.3.1).
    Inner,
    /// Any DF: encapsulated, then fragmented as IPv6. Hides the tunnel from path MTU discovery.
    OuterAlways,
}

/// ICMP messages from the Internet that reach customers (RFC 7596, section 8.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InboundIcmp {
    /// Relays all messages.
    #[default]
    All,
    /// Errors only.
    Errors,
    /// Relays no message.
    Nothing,
}

/// The outer header of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Hop limit (RFC 2473, section 6.3).
    pub hop_limit: u8,
    /// Traffic class.
    pub traffic_class: TrafficClass,
    /// ECN.
    pub ecn: Ecn,
    /// Flow label.
    pub flow_label: FlowLabel,
    /// Packets larger than the tunnel.
    pub oversize: Oversize,
}

impl Default for Outer {
    fn default() -> Outer {
        Outer {
            hop_limit: 64,
            traffic_class: TrafficClass::default(),
            ecn: Ecn::default(),
            flow_label: FlowLabel::Fixed(0),
            oversize: Oversize::default(),
        }
    }
}

/// A tunnel end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "switches that an operator sets one by one")]
pub struct Config {
    /// The Internet's for a CE, the customers' for a PE.
    pub ipv6: Side,
    /// The IPv4 side.
    pub v4: Side4,
    /// Side of the tunnels; its MTU less [`OVERHEAD`] is the tunnel's.
    pub v6: Side6,
    /// Address of this end inside the tunnel, and source of its ICMP errors there: 192.0.0.2 for a
    /// B4, 192.0.0.1 for an AFTR (RFC 6333, section 5.7).
    pub inner_address: Ipv4Addr,
    /// Whether this end decrements the TTL (RFC 2473, section 3.1); not if a chained function does.
    pub hop: bool,
    /// The outer header.
    pub outer: Outer,
    /// Whether packets between two customers are hairpinned (RFC 7596, section 6.2).
    pub hairpinning: bool,
    /// Whether a wrong source inside gets ICMPv6 type 1, code 5 (RFC 7596, section 6.2).
    pub answer_spoofed: bool,
    /// Whether an address without softwire gets ICMP type 3, code 1 (RFC 7596, section 6.2).
    pub answer_unknown: bool,
    /// ICMP from the IPv4 side.
    pub inbound_icmp: InboundIcmp,
    /// Limits for fragmented tunnel packets (RFC 8200, section 4.5).
    pub reassembly: PartLimits,
    /// Limits for fragments of IPv4 packets that wait for the port.
    pub fragments: PartLimits,
    /// ICMP errors per second of a worker; 0 for none.
    pub icmp_errors_per_second: u32,
}

/// A setting that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// IPv6 MTU.
    #[error("an IPv6 MTU of {0}: a link of at least 1280 octets is needed (RFC 8200, section 5)")]
    Mtu6(u16),
    /// IPv4 MTU.
    #[error("an IPv4 MTU of {0}: a link of at least 68 octets is needed (RFC 791, section 3.2)")]
    Mtu4(u16),
    /// Hop limit.
    #[error("a hop limit of 0 for the tunnel: packets would not get further than the next router; 64 is usual")]
    HopLimit,
    /// DSCP.
    #[error("a DSCP of {0} for the tunnel has more than six bits: use 0 to 63")]
    Dscp(u8),
    /// Flow label.
    #[error("a flow label of {0:#x} has more than 20 bits")]
    FlowLabel(u32),
    /// Limits.
    #[error("{0} needs room for at least one datagram of {1} octets and a lifetime above zero")]
    Parts(&'static str, u32),
}

impl Config {
    /// A configuration as the RFCs recommend.
    pub fn new(ipv6: Side, v4: Side4, v6: Side6) -> Config {
        Config {
            ipv6,
            v4,
            v6,
            inner_address: v4.address,
            hop: true,
            outer: Outer::default(),
            hairpinning: true,
            answer_spoofed: true,
            answer_unknown: true,
            inbound_icmp: InboundIcmp::All,
            reassembly: PartLimits::WHOLE,
            fragments: PartLimits::FRAGMENTS,
            icmp_errors_per_second: 1000,
        }
    }

    /// Whether a running tunnel end can be given `new` without losing waiting fragments.
    ///
    /// # Errors
    /// What differs.
    pub fn can_become(&self, new: &Config) -> Result<(), String> {
        let fixed = [
            ("the side with IPv6", self.ipv6 != new.ipv6),
            ("reassembly", self.reassembly != new.reassembly),
            ("fragments", self.fragments != new.fragments),
        ];
        unchanged(&fixed, "the tunnels run")
    }

    /// Checks all settings.
    ///
    /// # Errors
    /// The first one that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.v6.mtu < 1280 {
            return Err(ConfigError::Mtu6(self.v6.mtu));
        }
        if self.v4.mtu < 68 {
            return Err(ConfigError::Mtu4(self.v4.mtu));
        }
        if self.outer.hop_limit == 0 {
            return Err(ConfigError::HopLimit);
        }
        if let TrafficClass::Fixed(dscp @ 64..) = self.outer.traffic_class {
            return Err(ConfigError::Dscp(dscp));
        }
        if let FlowLabel::Fixed(label) = self.outer.flow_label
            && label >> 20 != 0
        {
            return Err(ConfigError::FlowLabel(label));
        }
        for (what, p) in [("reassembly", &self.reassembly), ("fragment tracking", &self.fragments)] {
            let least = u32::from(self.v6.mtu) + 1500;
            if !p.suffice(least) {
                return Err(ConfigError::Parts(what, least));
            }
        }
        Ok(())
    }
}
