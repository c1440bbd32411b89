//! Impairment and captures through a whole rig: the judge finds the impairment, and captures are files in the run folder. Losses
//! of the host do not matter: the tests check bounds that only impairment explains.

use method::{Direction, Fault, Load, PhaseKind, Rate, TrialOutcome, TrialSpec, Trials};
use natmeter::rig::{Rig, RunContext};
use record::folder::Header;
use record::plan::Plan;
use record::store::Dir;
use scenario::{Options, Scenario, conformance, parse};
use std::fs;
use std::path::Path;

const FRAMES: u64 = 4000;

fn scenario(kind: &str, beside: &str) -> Scenario {
    // A stateless device has no establishment rate.
    let metrics = if kind == KERNEL { "metrics = [\"throughput\"]" } else { "" };
    let text = format!(
        r#"
name = "wires"
{kind}
{beside}
[traffic]
source-ports = "1024-11023"
destination-ports = "1-10"
[measure]
{metrics}
duration = "50 ms"
start-delay = "1 ms"
drain = "50 ms"
settle = "0 s"
phase1-drain = "50 ms"
"#
    );
    parse("wires.toml", &text, &Options::default(), tech::ALL)
        .unwrap_or_else(|c| panic!("{}", c.render(false)))
        .scenario
}

const EMBEDDED: &str = r#"
[sweep]
connections = ["4000"]
[dut.embedded]
mapping = "address-and-port-dependent"
[link.in-process]
depth = 32
"#;

const KERNEL: &str = "
[dut.linux-forwarding]
[link.tap]
";

const DAMAGE: &str = r#"
[link.impair]
loss = "50 %"
duplicate = "20 %"
corrupt = "20 %"
delay = "1 ms"
seed = 7
"#;

/// Runs one trial, with captures below `folder`; also returns the facts and doubts of the rig.
fn trial(scenario: &Scenario, folder: &Path) -> (TrialOutcome, Vec<String>) {
    let point = Plan::new(scenario).measurements[0].point.clone();
    let mut rig = Rig::build(scenario, &point, &RunContext::new()).unwrap();
    let stateful = point.connections > 0;
    let spec = TrialSpec {
        kind: if stateful { PhaseKind::Establish } else { PhaseKind::Stateless },
        direction: Direction::Forward,
        connections: point.connections,
        ..TrialSpec::stateless(Rate(20_000), Load::Frames(FRAMES))
    };
    let folder = Dir::open(folder).unwrap();
    let mut once = || {
        rig.captures.belong_to(&folder, "device/n=4000", 17).unwrap();
        rig.run(&spec).unwrap()
    };
    // A sender that the host deschedules gives up; such a trial is invalid and repeated.
    let mut outcome = once();
    for _ in 0..20 {
        if outcome.forward.sent == FRAMES {
            break;
        }
        outcome = once();
    }
    let doubts = rig.doubts.clone();
    assert_eq!(rig.teardown(), Vec::<String>::new());
    (outcome, doubts)
}

/// Half of all frames are lost; of the others, a fifth are duplicates and a fifth are corrupt. The bounds hold for any chance
/// and for losses of the host.
fn damage_is_found(kind: &str) {
    let scenario = scenario(kind, DAMAGE);
    let dir = tempfile::tempdir().unwrap();
    let (outcome, doubts) = trial(&scenario, dir.path());
    let seen = &outcome.forward;
    // On a busy host the sender may give up before the last frame.
    assert!(seen.sent > 500, "{} sent", seen.sent);
    assert!(seen.received > 0 && seen.received < seen.sent / 2, "{} correct", seen.received);
    for fault in [Fault::Duplicate, Fault::BadChecksum] {
        let count = seen.faults.get(fault);
        assert!(count > 0 && count < seen.sent / 4, "{count} {fault:?}");
    }
    assert!(doubts[0].starts_with("IMPAIRED ON PURPOSE"), "{doubts:?}");
    assert!(conformance(&scenario).sentences().iter().any(|d| d.contains("500000 in a million lost")));
    assert!(!dir.path().join("captures").exists(), "no capture was requested");
}

/// Both ports have a file of the trial, no longer than asked for, and the left one begins with what was sent.
fn captures_are_files(kind: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, doubts) = trial(&scenario(kind, "[link.capture]\nframes = 20\n"), dir.path());
    assert!(outcome.forward.sent > 500, "{} sent", outcome.forward.sent);
    assert!(doubts[0].contains("captured"), "{doubts:?}");
    let mut names: Vec<String> = fs::read_dir(dir.path().join("captures"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["device.n=4000.trial-17.left.pcap", "device.n=4000.trial-17.right.pcap"]);
    for name in names {
        let file = fs::read(dir.path().join("captures").join(&name)).unwrap();
        // Header, then 16 octets and a frame of 60 for each.
        assert_eq!(file.len(), 24 + 20 * (16 + 60), "{name}");
        assert_eq!(file[..4], 0xa1b2_3c4d_u32.to_le_bytes());
        assert_eq!(file[24 + 16 + 12..24 + 16 + 15], [0x08, 0x00, 0x45], "{name}: IPv4 over Ethernet");
    }
}

#[test]
fn damage_to_the_embedded_gateway_is_found() {
    damage_is_found(EMBEDDED);
}

#[test]
fn captures_of_the_embedded_gateway_are_files() {
    captures_are_files(EMBEDDED);
}

/// One test at a time, because a machine has one test bed.
#[test]
#[ignore = "takes root"]
fn damage_to_this_kernel_is_found_and_its_captures_are_files() {
    damage_is_found(KERNEL);
    captures_are_files(KERNEL);
}

#[test]
fn what_is_not_asked_for_is_not_in_the_header() {
    let scenario = scenario(EMBEDDED, "");
    let plan = Plan::new(&scenario);
    let header = Header::new(String::new(), scenario, Options::default(), plan);
    let text = serde_json::to_string(&header).unwrap();
    assert!(!text.contains("impair") && !text.contains("capture"));
}

#[test]
fn what_cannot_be_impaired_is_refused() {
    let wrong =
        |text: &str| parse("x.toml", &format!("name = \"x\"\n{text}"), &Options::default(), tech::ALL).unwrap_err();
    let simulated = "[dut.simulated]\n[sweep]\nconnections = [\"100k\"]\n[link.capture]\n";
    assert!(wrong(simulated).render(false).contains("the simulated device has no frames"));
    let nothing = format!("{EMBEDDED}[link.impair]\nseed = 3\n");
    assert!(wrong(&nothing).render(false).contains("nothing is impaired"));
    let late = format!("{EMBEDDED}[link.impair]\ndelay = \"1 s\"\n[measure]\ndrain = \"1 s\"\n");
    assert!(wrong(&late).render(false).contains("every frame would arrive after its trial"));
    let unknown = format!("{EMBEDDED}[link.impair]\nlos = \"1 %\"\n");
    assert!(wrong(&unknown).render(false).contains("did you mean `loss`?"));
}
