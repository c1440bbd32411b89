//! Keys of a translator (RFC 7915) and of its prefixes (RFC 6052).

use key::kind::{Choice, choice, maybe, number, or_word, yes_or_no};
use key::{Fault, computed, or};
use plane::translate::prefix::{WELL_KNOWN, is_global};
use plane::translate::{ClassRule, HeaderRules, Pref64, ZeroChecksum};
use wire::{AddrRange, Prefix6};

const CHECKSUMS: &[Choice<ZeroChecksum>] = &[
    ("compute", ZeroChecksum::Compute, "fragments are reassembled for it"),
    ("drop", ZeroChecksum::Drop, ""),
    ("forward", ZeroChecksum::Forward, "without checksum, also from IPv6"),
];

key::table! {
    /// A translator between IP versions (RFC 7915).
    pub struct Translator {
        /// What happens to IPv4 UDP packets without checksum (RFC 7915, section 4.5).
        zero_udp_checksum: ZeroChecksum = "zero-udp-checksum", choice(CHECKSUMS), or("compute");
        /// Type of service of IPv4 packets (RFC 7915, section 5.1).
        tos: Option<u8> = "tos", or_word("copy", number(0..=255)), computed("`\"copy\"`");
        /// Traffic class of IPv6 packets (RFC 7915, section 4.1).
        traffic_class: Option<u8> = "traffic-class", or_word("copy", number(0..=255)), computed("`\"copy\"`");
    } with {
        /// Fragments.
        lowest: LowestMtu;
    }
}

key::table! {
    /// Packets from IPv4 to IPv6.
    pub struct LowestMtu {
        /// IPv4 packets that may be fragmented leave in fragments of at most so many octets (RFC 7915, section 4.1).
        lowest_ipv6_mtu: Option<u16> = "lowest-ipv6-mtu", maybe(number(1280..=65_535)), computed("1280; in a scenario what the test frames need");
    }
}

key::table! {
    /// Addresses behind the well-known prefix.
    pub struct Private {
        /// Whether IPv4 addresses that are not global may stand behind 64:ff9b::/96 (RFC 6052, section 3.1).
        private_behind_well_known: bool = "private-behind-well-known", yes_or_no(), or("false");
    }
}

impl Translator {
    pub(crate) fn set(&self, headers: &mut HeaderRules) {
        let lowest_ipv6_mtu = self.lowest.lowest_ipv6_mtu.unwrap_or(headers.lowest_ipv6_mtu);
        let (traffic_class, tos) = (class(self.traffic_class), class(self.tos));
        *headers = HeaderRules { lowest_ipv6_mtu, traffic_class, tos, zero_udp_checksum: self.zero_udp_checksum };
    }
}

fn class(given: Option<u8>) -> ClassRule {
    given.map_or(ClassRule::Copy, ClassRule::Fixed)
}

/// A prefix that can embed no IPv4 address (RFC 6052, section 2.2).
pub(crate) fn embeds_nothing(key: &str, prefix: Prefix6) -> Option<Fault> {
    let why = Pref64::new(prefix, true).err()?;
    let instead = match key {
        "clat" => {
            "write one /64 of the customer's, which the CLAT has for itself alone (RFC 6877, section 6.3), or a /96 in it; \
             a shorter prefix of several /64s must be a /56, /48, /40 or /32"
        }
        _ => "write a /96, for example \"2001:2:0:1000::/96\", or a prefix of 32, 40, 48, 56 or 64 bits",
    };
    let fault = Fault::new(format!(
        "no IPv4 address can be embedded in the prefix of `{}`",
        key.split('[').next().unwrap_or(key)
    ));
    Some(fault.at(format!(".{key}"), why.to_string()).instead(instead))
}

/// Ranges of [traffic] behind the well-known prefix, which represents only global addresses (RFC
/// 6052, section 3.1).
pub(crate) fn behind_well_known(
    name: &str,
    (key, prefix): (&str, Prefix6),
    private: bool,
    ranges: &[(&str, AddrRange)],
) -> Option<Fault> {
    if private || prefix != (Prefix6 { addr: WELL_KNOWN.into(), len: 96 }) {
        return None;
    }
    let local = |range: AddrRange| [range.first, range.last()].iter().any(|&a| !is_global(a.into()));
    let (end, _) = ranges.iter().find(|(_, range)| local(*range))?;
    Some(
        Fault::new(format!("`{name}` drops packets with these addresses"))
            .at(
                format!(".{key}"),
                format!("the well-known prefix, behind which `{end}` may not stand (RFC 6052, section 3.1)"),
            )
            .at(format!("traffic.{end}"), "not global: private, or for tests")
            .instead(format!(
                "use a prefix of your own, for example {key} = \"2001:2:0:1000::/96\", or allow them: \
                 private-behind-well-known = true"
            )),
    )
}
