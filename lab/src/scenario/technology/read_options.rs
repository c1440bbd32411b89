//! Reading options of translators and tunnels, and limits. Apart from the technologies' own parameters, because many
//! have these in common. Each table has the keys of what it is made of; the others are unknown to it.

use super::options::Options;
use super::read::Reading;
use super::tunnel::{Parts, TunnelOptions};
use crate::scenario::section::{self, Wrong};
use crate::scenario::tree::Value;
use method::Nanos;
use plane::translate::Hairpinning;
use plane::tunnel::config::{Ecn, FlowLabel, InboundIcmp, Oversize, TrafficClass};

/// Least octets of packets in parts: the largest datagram, whatever the links carry, and as much again.
const LEAST_OCTETS: u64 = 128 << 10;

impl Reading<'_> {
    /// Options of a translator, and the limits that all have.
    pub(super) fn options(&mut self) -> Options {
        let section = &mut self.section;
        let checksums = [("compute", false), ("drop", true)];
        let mtu = section::count_in(1280..=65_535);
        let mut class = |key| section.get(key, section::copied_or(255)).value.flatten().map(|n| n as u8);
        let (tos, traffic_class) = (class("tos"), class("traffic-class"));
        Options {
            drop_zero_udp_checksum: section
                .get("zero-udp-checksum", section::choice(&checksums))
                .value
                .unwrap_or(false),
            tos,
            traffic_class,
            lowest_ipv6_mtu: section.get("lowest-ipv6-mtu", mtu).value.map(|n| n as u16),
            hairpinning: None,
            tunnel: TunnelOptions::default(),
            fragments: self.parts(["fragment-datagrams", "fragment-octets", "fragment-timeout"]),
            fragments_held: self.section.get("fragments-held", section::count_in(0..=65_535)).value.map(|n| n as u16),
            reassembly: self.parts(["reassembly-datagrams", "reassembly-octets", "reassembly-timeout"]),
            icmp_errors: self
                .section
                .get("icmp-errors-per-second", section::count_in(0..=1_000_000))
                .value
                .map(|n| n as u32),
        }
    }

    /// The same, with those of SIIT (RFC 7757, section 4).
    pub(super) fn siit_options(&mut self) -> Options {
        let modes = [("off", Hairpinning::Off), ("simple", Hairpinning::Simple), ("intrinsic", Hairpinning::Intrinsic)];
        let hairpinning = self.section.get("hairpinning", section::choice(&modes)).value;
        Options { hairpinning, ..self.options() }
    }

    /// The same, with those of tunnels.
    pub(super) fn tunnel_options(&mut self) -> Options {
        let ecns = [("normal", Ecn::Normal), ("compatibility", Ecn::Compatibility)];
        let oversizes =
            [("outer", Oversize::Outer), ("inner", Oversize::Inner), ("outer-always", Oversize::OuterAlways)];
        let icmps = [("all", InboundIcmp::All), ("errors", InboundIcmp::Errors), ("nothing", InboundIcmp::Nothing)];
        let (usual, section) = (TunnelOptions::default(), &mut self.section);
        let mut yes = |key, usual| section.get(key, section::yes_or_no).value.unwrap_or(usual);
        let (answer_spoofed, answer_unknown) =
            (yes("answer-spoofed", usual.answer_spoofed), yes("answer-unknown", usual.answer_unknown));
        let dscp = section.get("tunnel-dscp", section::copied_or(63)).value.flatten();
        let tunnel = TunnelOptions {
            hop_limit: section
                .get("tunnel-hop-limit", section::count_in(1..=255))
                .value
                .map_or(usual.hop_limit, |n| n as u8),
            dscp: dscp.map_or(usual.dscp, |n| TrafficClass::Fixed(n as u8)),
            ecn: section.get("tunnel-ecn", section::choice(&ecns)).value.unwrap_or(usual.ecn),
            flow_label: section.get("tunnel-flow-label", flow_label).value.unwrap_or(usual.flow_label),
            oversize: section.get("tunnel-oversize", section::choice(&oversizes)).value.unwrap_or(usual.oversize),
            answer_spoofed,
            answer_unknown,
            inbound_icmp: section.get("inbound-icmp", section::choice(&icmps)).value.unwrap_or(usual.inbound_icmp),
        };
        Options { tunnel, ..self.options() }
    }

    /// Limits of packets in parts: datagrams, octets, lifetime.
    fn parts(&mut self, [datagrams, octets, lifetime]: [&str; 3]) -> Parts {
        let section = &mut self.section;
        let times = Nanos::from_millis(1)..=Nanos::from_secs(600);
        Parts {
            datagrams: section.get(datagrams, section::count_in(1..=65_535)).value.map(|n| n as u16),
            octets: section.get(octets, section::count_in(LEAST_OCTETS..=1 << 30)).value.map(|n| n as u32),
            lifetime: section.get(lifetime, section::duration_in(times)).value,
        }
    }
}

/// A flow label, or that it follows from the flow (RFC 6438).
fn flow_label(value: &Value) -> Result<FlowLabel, Wrong> {
    match value {
        Value::Text(word) if word == "hash" => Ok(FlowLabel::Hash),
        _ => match section::count_in(0..=(1 << 20) - 1)(value) {
            Ok(n) => Ok(FlowLabel::Fixed(n as u32)),
            Err(wrong) => Err(wrong.or("write \"hash\", or a number of 20 bits, up to 1048575")),
        },
    }
}
