//! The pages about MAP and the code must name the same counters.

use plane::event::NAMES;
use testbed::page::names;

fn check(page: &str, text: &str, not_there: &[&str]) {
    for name in NAMES {
        let named = names(text).contains(name);
        assert!(named != not_there.contains(name), "{page}: `{name}` is {}", if named { "named" } else { "missing" });
    }
}

#[test]
fn the_page_of_map_t_names_every_counter_it_uses() {
    let text = include_str!("../../../../docs/technologies/map-t.md");
    check(
        "map-t.md",
        text,
        &[
            "reassembled",
            "unknown-softwire",
            "not-a-tunnel-packet",
            "table-full",
            "ecn-not-capable",
            "hairpin-off",
            "icmp-filtered",
            "icmp-relayed",
        ],
    );
}

#[test]
fn the_page_of_map_e_names_every_counter_it_uses() {
    let text = include_str!("../../../../docs/technologies/map-e.md");
    check("map-e.md", text, &["udp-checksum-zero", "source-unmapped", "well-known-prefix-private", "table-full"]);
}
