//! The page about NAT44 and the code must name the same counters.

use plane::nat44::counters::NAMES;

#[test]
fn the_page_names_every_counter() {
    let page = include_str!("../../../../docs/technologies/nat44.md");
    for name in NAMES {
        assert!(testbed::page::names(page).contains(name), "docs/technologies/nat44.md does not mention `{name}`");
    }
}
