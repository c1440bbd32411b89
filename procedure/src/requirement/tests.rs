//! The lists hold together, and the pages that are made of them are up to date.

use super::*;
use crate::churn::CHURN_RATE;
use crate::disruption::{FAILOVER, RESET};
use crate::tcp::{MAX_TCP_CONN_RATE, TCP_THROUGHPUT};
use crate::throughput::THROUGHPUT;
use std::path::Path;

#[test]
fn what_no_rfc_defines_has_no_requirements_of_one() {
    for metric in [CHURN_RATE, FAILOVER, MAX_TCP_CONN_RATE, TCP_THROUGHPUT] {
        assert!(!is_of_an_rfc(&metric), "{}", metric.key);
    }
    assert!(is_of_an_rfc(&THROUGHPUT) && is_of_an_rfc(&RESET));
}

/// A metric whose definition no run can meet must not be silent about it.
#[test]
fn a_must_of_a_metric_that_is_not_met_is_in_its_label() {
    for (document, row) in all() {
        let silent =
            matches!(row.check, Check::Named(_)) && row.level != Level::Should && row.of.all().next().is_some();
        assert!(!silent, "{}, section {}: {}", document.name, row.section, row.asks);
    }
}

#[test]
fn what_does_not_apply_has_no_metrics_and_what_is_checked_has() {
    for (document, row) in all() {
        let place = format!("{}, section {}: {}", document.name, row.section, row.asks);
        match row.check {
            Check::NotApplicable(_) => assert!(row.of.all().next().is_none(), "{place}"),
            Check::Met(_) | Check::If(_) => assert!(row.of.all().next().is_some(), "{place}"),
            Check::Named(_) => {}
        }
        let mut parts = crate::metrics(crate::ALL).filter(|metric| !metric.is_measured());
        assert!(!parts.any(|part| row.of.has(part)), "{place}: parts have no requirements");
    }
}

const GENERATED: &str = "<!-- From here on generated: WRITE_PAGES=1 cargo test -p natmeter-procedure -->\n";
const END: &str = "<!-- End of the generated part -->";

/// Compares the generated part of a page, or writes it.
fn is_up_to_date(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(GENERATED).unwrap_or_else(|| panic!("{name}: {GENERATED} is missing"));
    let (old, after) = rest.split_once(END).map_or((rest, None), |(old, after)| (old, Some(after)));
    if std::env::var_os("WRITE_PAGES").is_some() {
        let after = after.map(|after| format!("{END}{after}")).unwrap_or_default();
        std::fs::write(&path, format!("{before}{GENERATED}{generated}{after}")).unwrap();
    } else {
        assert!(old == generated, "{name}: WRITE_PAGES=1 cargo test -p natmeter-procedure writes it anew");
    }
}

/// The documents about network devices in general. The other page has those about NATs, IPv4aaS and searches.
const DEVICES: [&str; 6] = ["RFC 2544", "RFC 3511", "RFC 4814", "RFC 5180", "RFC 6201", "RFC 9004"];

#[test]
fn the_pages_of_requirements_are_made_of_the_lists() {
    let is_general = |document: &Document| DEVICES.contains(&document.name);
    is_up_to_date("docs/requirements/devices.md", &page(is_general));
    is_up_to_date("docs/requirements/transition.md", &page(|document| !is_general(document)));
    is_up_to_date("METHODOLOGY.md", &format!("\n{}\n", of_metrics()));
}
