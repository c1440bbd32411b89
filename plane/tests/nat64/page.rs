//! The page about NAT64 and the code must name the same counters.

use plane::Function;

#[test]
fn the_page_names_every_counter() {
    let page = include_str!("../../../docs/technologies/nat64.md");
    let g = crate::set_up::nat64(&crate::set_up::config());
    for (name, _) in g.workers[0].counters() {
        let (half, bare) = name.split_once('.').unwrap_or(("", name));
        // NAT44's own page has the counters of its half.
        let page = if half == "nat44" { include_str!("../../../docs/technologies/nat44.md") } else { page };
        assert!(page.contains(bare), "docs/technologies/nat64.md does not mention `{bare}`");
    }
}
