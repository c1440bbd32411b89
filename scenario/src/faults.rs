//! The faults that a device of known truth can have, by technology. `gateway::FAULTS` says what each does; a test of the gallery
//! compares both lists.

use key::kind::{Shape, ValueKind, text, text_of};
use key::{At, Sections, Value, Wrong, did_you_mean};
use tech::{Plays, Technology};

/// Technologies, the part that the device plays if only one can have them, and names.
const FAULTS: &[(&[&str], Option<Plays>, &str)] = &[
    (
        &["nat44"],
        None,
        "untranslated first-frame-untranslated version-nibble tos-changed df-turned identification-constant ttl-kept \
         ttl-one ttl-differs destination-mac broadcast protocol total-length udp-length udp-checksum-unchanged \
         udp-checksum-zero udp-checksum-zero-for-ffff udp-checksum-carry ip-checksum udp-checksum-one-in-fifty \
         destination-port port-zero one-destination-port source-port-back destination-address source-address-back \
         port-80 outside-pool mapping-changes mapping-shared half-forgotten table-of-100 one-connection-lost \
         first-frame-lost drops-all ten-in-a-row-lost drops-right-to-left one-in-ten-lost policer-right-to-left \
         duplicated one-in-twenty-duplicated reordered late first-frame-late trailer mtu truncated truncated-to-60 \
         payload-bit fragmented icmp-error icmp-error-of-some-flows vlan-tag priority-tag returned",
    ),
    (
        &["nat64"],
        None,
        "nat64-udp-checksum-zero nat64-udp-checksum-unchanged nat64-traffic-class nat64-flow-label \
         nat64-hop-limit-kept nat64-payload-length nat64-df nat64-prefix nat64-atomic-fragment nat64-mtu",
    ),
    (
        &["ds-lite", "lw4o6", "map-e"],
        Some(Plays::Pe),
        "outer-source outer-destination outer-length outer-hop-limit outer-traffic-class inner-ttl-kept inner-df \
         inner-checksum inner-destination not-encapsulated",
    ),
    (&["lw4o6"], Some(Plays::Ce), "softwire-address softwire-port"),
    (&["map-e"], Some(Plays::Ce), "interface-identifier port-set"),
    (
        &["map-t"],
        Some(Plays::Ce),
        "map-t-source map-t-dmr map-t-port-set map-t-hop-limit-kept map-t-udp-checksum-unchanged",
    ),
];

pub fn fault_names() -> impl Iterator<Item = &'static str> {
    FAULTS.iter().flat_map(|(.., names)| names.split_whitespace())
}

/// Reads the name of a fault. Files of earlier versions call `reordered` by the name `overtaken`.
pub(crate) struct FaultName;

impl ValueKind for FaultName {
    type Out = String;

    fn parse(&self, value: &Value) -> Result<String, Wrong> {
        let name = text_of(value)?.replace("overtaken", "reordered");
        if fault_names().any(|known| known == name) {
            return Ok(name);
        }
        let meant = did_you_mean(&name, fault_names()).map(|meant| format!("did you mean \"{meant}\"? "));
        let instead = format!("{}docs/faults.md lists all faults", meant.unwrap_or_default());
        Err(Wrong::new(format!("no fault has the name `{name}`"), instead))
    }

    fn shape(&self) -> Shape {
        text().shape()
    }
}

/// Refuses the fault at this path if a device that plays this part of the technology cannot have it.
pub(crate) fn check_fault(
    sections: &mut Sections<'_>,
    path: &str,
    fault: Option<&str>,
    device: (Plays, &dyn Technology),
) {
    let (plays, technology) = (device.0, device.1.name());
    let Some(fault) = fault else { return };
    let Some((of, part, _)) = FAULTS.iter().find(|(.., names)| names.split_whitespace().any(|name| name == fault))
    else {
        return;
    };
    if of.contains(&technology) && part.is_none_or(|part| part == plays) {
        return;
    }
    let part = part
        .map_or_else(String::new, |part| format!(" with plays = \"{}\"", if part == Plays::Ce { "ce" } else { "pe" }));
    let refusal = sections.refuse(format!("this device cannot have the fault `{fault}`"));
    let refusal = refusal.at(At::key(path.to_owned()), format!("a fault of {}{part}", of.join(", ")));
    refusal.instead(format!("write [technology.{}]{part}, or another fault; docs/faults.md lists all faults", of[0]));
}
