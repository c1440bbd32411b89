//! The page about lightweight 4over6 and the code must name the same counters.

use plane::event::NAMES;

/// Events of translation and of dictionaries, which no tunnel end has.
const ELSEWHERE: &[&str] = &["udp-checksum-zero", "well-known-prefix-private", "table-full"];

#[test]
fn the_page_names_every_counter() {
    let page = include_str!("../../../../docs/technologies/lw4o6.md");
    for name in NAMES.iter().filter(|n| !ELSEWHERE.contains(n)) {
        assert!(testbed::page::names(page).contains(name), "docs/technologies/lw4o6.md does not mention `{name}`");
    }
}
