//! The gallery of faults: natmeter names each, and its page is made of the list.

use natmeter::rig::RunContext;

#[test]
fn each_fault_is_named_and_nothing_else_is_accused() {
    let tested = natmeter::selftest::faults(&RunContext::new(), &mut ()).unwrap();
    let wrong: Vec<String> = tested
        .verdict
        .checks
        .iter()
        .filter(|check| !check.passed && !check.inconclusive)
        .map(|check| format!("{}: {}, not {}", check.name, check.measured, check.truth))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The part of the page before its generated part.
const GENERATED: &str = "<!-- From here on generated: WRITE_PAGES=1 cargo test -p natmeter --test runs faults -->\n\n";

#[test]
fn the_page_of_faults_is_made_of_the_gallery() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/faults.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (written, generated) = text.split_once(GENERATED).expect(GENERATED);
    let table = natmeter::selftest::page();
    if std::env::var_os("WRITE_PAGES").is_some() {
        std::fs::write(&path, format!("{written}{GENERATED}{table}")).unwrap();
    } else {
        assert!(
            generated == table,
            "WRITE_PAGES=1 cargo test -p natmeter --test runs faults writes docs/faults.md anew"
        );
    }
}
