//! Keys of a tunnel end (RFC 2473), and of a stateless border.

use crate::fragments::{Errors, FragmentOctets, Fragments, Reassembly};
use key::kind::{Choice, Simple, ValueKind, choice, number, or_word, own, yes_or_no};
use key::{Value, Wrong, computed, or};
use plane::tunnel::config::{Config, Ecn, FlowLabel, InboundIcmp, Outer, Oversize, TrafficClass};
use serde_json::json;

const ECNS: &[Choice<Ecn>] = &[
    ("normal", Ecn::Normal, "RFC 6040"),
    ("compatibility", Ecn::Compatibility, "the outer header says that the path has no ECN"),
];

const OVERSIZES: &[Choice<Oversize>] = &[
    ("outer", Oversize::Outer, "fragment the tunnel packet, unless the IPv4 packet must not be fragmented"),
    ("inner", Oversize::Inner, "fragment the IPv4 packet"),
    ("outer-always", Oversize::OuterAlways, "fragment the tunnel packet always"),
];

const INBOUND: &[Choice<InboundIcmp>] =
    &[("all", InboundIcmp::All, ""), ("errors", InboundIcmp::Errors, ""), ("nothing", InboundIcmp::Nothing, "")];

key::table! {
    /// An end of a tunnel (RFC 2473).
    pub struct TunnelEnd {
        /// Hop limit of the tunnel packet (RFC 2473, section 6.3).
        hop_limit: u8 = "tunnel-hop-limit", number(1..=255), or("64");
        /// DSCP of the tunnel packet (RFC 2983).
        dscp: Option<u8> = "tunnel-dscp", or_word("copy", number(0..=63)), computed("`\"copy\"`");
        /// ECN field of the tunnel packet.
        ecn: Ecn = "tunnel-ecn", choice(ECNS), or("normal");
        /// Flow label of the tunnel packet.
        flow_label: FlowLabel = "tunnel-flow-label", flow_label(), or("0");
        /// Packets that are larger than the tunnel's MTU (RFC 2473, section 7.2).
        oversize: Oversize = "tunnel-oversize", choice(OVERSIZES), or("outer");
    }
}

key::table! {
    /// The border of a domain without state.
    pub struct Border {
        /// ICMPv6 errors go to customers whose packets have a source that is not theirs (RFC 7596, section 5.2; RFC 7597, section 8.1).
        answer_spoofed: bool = "answer-spoofed", yes_or_no(), or("true");
        /// ICMP errors go to senders of packets to addresses and ports without a customer (RFC 7596, section 5.2).
        answer_unknown: bool = "answer-unknown", yes_or_no(), or("true");
        /// ICMP from the Internet that reaches customers (RFC 7596, section 8).
        inbound_icmp: InboundIcmp = "inbound-icmp", choice(INBOUND), or("all");
    } with {
        /// Fragments that wait for their first one.
        octets: FragmentOctets;
    }
}

/// Kind of a flow label, or the word for a computed one (RFC 6438).
const fn flow_label() -> Simple<FlowLabel> {
    fn parse(value: &Value) -> Result<FlowLabel, Wrong> {
        if matches!(value, Value::Text(word) if word == "hash") {
            return Ok(FlowLabel::Hash);
        }
        let label = number::<u32>(0..=(1 << 20) - 1).parse(value);
        let instead = "write \"hash\", or a number of 20 bits, up to 1048575";
        label.map(FlowLabel::Fixed).map_err(|wrong| Wrong::new(wrong.what, instead))
    }
    own(
        parse,
        "`\"hash\"` (of the flow, RFC 6438), or 0 to 1,048,575",
        || json!({ "anyOf": [{ "const": "hash" }, { "type": "integer", "minimum": 0, "maximum": 1_048_575 }] }),
    )
}

impl TunnelEnd {
    pub(crate) fn outer(&self) -> Outer {
        let TunnelEnd { hop_limit, dscp, ecn, flow_label, oversize } = *self;
        let traffic_class = dscp.map_or(TrafficClass::Copy, TrafficClass::Fixed);
        Outer { hop_limit, traffic_class, ecn, flow_label, oversize }
    }

    pub(crate) fn set(&self, fragments: &Fragments, reassembly: &Reassembly, errors: &Errors, c: &mut Config) {
        c.outer = self.outer();
        fragments.set(&FragmentOctets { fragment_octets: None }, &mut c.fragments);
        reassembly.set(&mut c.reassembly);
        c.icmp_errors_per_second = errors.icmp_errors_per_second.unwrap_or(c.icmp_errors_per_second);
    }
}

impl Border {
    pub(crate) fn set(&self, c: &mut Config) {
        c.answer_spoofed = self.answer_spoofed;
        c.answer_unknown = self.answer_unknown;
        c.inbound_icmp = self.inbound_icmp;
        c.fragments.octets = self.octets.fragment_octets.unwrap_or(c.fragments.octets);
    }
}
