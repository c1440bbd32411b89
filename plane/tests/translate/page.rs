//! The pages and the code must name the same events.

/// Counters that a translator of its own never touches: they belong to tunnels, port sets, state and fragment stores.
const OTHERS: [&str; 15] = [
    "handed-over",
    "reassembled",
    "fragment-held",
    "spoofed-source",
    "outside-port-set",
    "unknown-softwire",
    "not-a-tunnel-packet",
    "table-full",
    "fragment-store-full",
    "fragment-overlap",
    "fragment-late",
    "ecn-not-capable",
    "hairpin-off",
    "icmp-filtered",
    "icmp-relayed",
];

#[test]
fn the_page_names_every_event() {
    let page = include_str!("../../../docs/technologies/siit.md");
    for name in plane::event::NAMES.iter().filter(|n| !OTHERS.contains(n)) {
        assert!(crate::common::page::names(page).contains(name), "docs/technologies/siit.md does not mention `{name}`");
    }
}
