//! What most scenarios leave as it is of tunnels, and of packets in parts: the settings of RFC 2473 and its like. Apart from the
//! options of translators, because a technology has the one or the other.

use method::Nanos;
use plane::aftr;
use plane::fragment::PartLimits;
use plane::tunnel::config::{Config, Ecn, FlowLabel, InboundIcmp, Oversize, TrafficClass};
use serde::{Deserialize, Serialize};

/// Options of a tunnel end, as [`Config`] has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct TunnelOptions {
    /// Hop limit of the outer header.
    pub hop_limit: u8,
    /// DSCP of the outer header.
    pub dscp: TrafficClass,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its flow label.
    pub flow_label: FlowLabel,
    /// Packets larger than the tunnel.
    pub oversize: Oversize,
    /// Customers with a wrong source are told so.
    pub answer_spoofed: bool,
    /// Senders to nobody are told so.
    pub answer_unknown: bool,
    /// ICMP from the Internet to customers.
    pub inbound_icmp: InboundIcmp,
}

impl Default for TunnelOptions {
    fn default() -> TunnelOptions {
        TunnelOptions {
            hop_limit: 64,
            dscp: TrafficClass::Copy,
            ecn: Ecn::Normal,
            flow_label: FlowLabel::Fixed(0),
            oversize: Oversize::Outer,
            answer_spoofed: true,
            answer_unknown: true,
            inbound_icmp: InboundIcmp::All,
        }
    }
}

impl TunnelOptions {
    /// Whether nothing is said.
    pub fn is_usual(&self) -> bool {
        *self == TunnelOptions::default()
    }

    /// Write them into the configuration of a tunnel end.
    pub fn set(&self, c: &mut Config) {
        c.hop_limit = self.hop_limit;
        c.traffic_class = self.dscp;
        c.ecn = self.ecn;
        c.flow_label = self.flow_label;
        c.oversize = self.oversize;
        c.answer_spoofed = self.answer_spoofed;
        c.answer_unknown = self.answer_unknown;
        c.inbound_icmp = self.inbound_icmp;
    }

    /// The same for an AFTR, which answers no strangers and has no policy for ICMP.
    pub fn set_aftr(&self, c: &mut aftr::Config) {
        c.hop_limit = self.hop_limit;
        c.traffic_class = self.dscp;
        c.ecn = self.ecn;
        c.flow_label = self.flow_label;
        c.oversize = self.oversize;
    }
}

/// Limits for packets in parts; what is absent is as [`PartLimits`] has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Parts {
    /// Datagrams known at a time, by each worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u16>,
    /// Octets of all parts kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octets: Option<u32>,
    /// How long the rest of a datagram may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Nanos>,
}

impl Parts {
    /// Whether nothing is said.
    pub fn is_usual(&self) -> bool {
        *self == Parts::default()
    }

    /// Write them.
    pub fn set(&self, limits: &mut PartLimits) {
        limits.datagrams = self.datagrams.map_or(limits.datagrams, Into::into);
        limits.octets = self.octets.unwrap_or(limits.octets);
        limits.lifetime = self.lifetime.map_or(limits.lifetime, Into::into);
    }
}
