//! The gallery of faults: natmeter names each, and its page is made of the list.

use natmeter::rig::RunContext;

#[test]
fn each_fault_is_named_and_nothing_else_is_accused() {
    all_named();
}

/// Causes may become "too busy", but none is wrong.
#[test]
#[ignore = "takes minutes"]
fn slow_beside_busy_programs_no_cause_is_wrong() {
    let busy = || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut busy = [busy(), busy(), busy()];
    let tested = std::panic::catch_unwind(all_named);
    for program in &mut busy {
        program.kill().unwrap();
        program.wait().unwrap();
    }
    tested.unwrap();
}

fn all_named() {
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

/// Shipped scenarios with gateways of this process: no fault, and no doubt about one.
#[test]
fn healthy_devices_are_not_accused() {
    let files = [
        "464xlat",
        "aftr",
        "ds-lite",
        "ipv6-forwarding",
        "lw4o6",
        "lwaftr",
        "map-e",
        "map-e-br",
        "map-t",
        "map-t-br",
        "nat46",
        "nat66",
        "plat",
        "quickstart",
    ];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    for name in files {
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let keep = |line: &&str| !line.starts_with("connections =");
        let small: Vec<&str> = text.lines().filter(keep).collect();
        let sweep = if small.len() < text.lines().count() { "[sweep]\nconnections = 4000" } else { "[sweep]" };
        let small = small.join("\n").replacen("[sweep]", sweep, 1);
        let said = |_| natmeter::selftest::said(&small, &RunContext::new()).unwrap();
        // Other programs may disturb some of the trials.
        let words = (0..5).map(said).find(|words| !words.contains("too busy")).expect("a machine with some time");
        assert!(words.ends_with("all translated as the scenario says") && !words.contains("(and"), "{name}: {words}");
    }
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
