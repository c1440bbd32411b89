//! DNS through real programs: Knot DNS is the authoritative server; Unbound is the DNS64 server, or the kernel translates.

use super::guests;
use super::program::NATMETER;
use method::trial::Answers;
use record::folder::Outcome;
use record::store::Dir;
use std::path::Path;
use std::process::Command;

fn run(text: &str, set: &[&str]) -> (Vec<Outcome>, String) {
    run_over(None, text, set)
}

fn run_over(bed: Option<&Path>, text: &str, set: &[&str]) -> (Vec<Outcome>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (file, runs) = (folder.path().join("dns.toml"), folder.path().join("runs"));
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(NATMETER);
    command.arg("run").arg(&file).args(["--beside", "--skip-self-test"]).arg("--runs").arg(&runs);
    if let Some(bed) = bed {
        command.arg("--bed").arg(bed);
    }
    for set in set {
        command.args(["--set", set]);
    }
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let run = std::fs::read_dir(&runs).ok().and_then(|mut runs| runs.next()).unwrap_or_else(|| panic!("{printed}"));
    (outcomes(&run.unwrap().path()), printed)
}

fn outcomes(run: &Path) -> Vec<Outcome> {
    Dir::open(run).unwrap().lines("results.jsonl").unwrap().values
}

fn is_resolved(outcomes: &[Outcome], printed: &str) -> Answers {
    let [outcome] = outcomes else { panic!("{printed}") };
    assert!(outcome.result.rate.0 > 0, "{printed}");
    let answers = outcome.result.observed.answers.unwrap_or_else(|| panic!("{printed}"));
    assert_eq!((answers.wrong(), answers.foreign), (0, 0), "{answers:?}");
    answers
}

const SHORT: [&str; 4] =
    ["measure.repetitions=1", "measure.duration=200 ms", "measure.settle=10 ms", "measure.error=50 %"];

/// A rate that any resolver does: every answer has the synthesised address of its own name.
#[test]
#[ignore = "needs root, knot and unbound: run by ./check as root"]
fn unbound_synthesises_every_record() {
    let text = include_str!("../../../scenarios/dns64.toml");
    let set = [&SHORT[..], &["measure.max-rate=300", "measure.dns.names=5000", "measure.dns.cached=20 %"]].concat();
    let (outcomes, printed) = run(text, &set);
    let answers = is_resolved(&outcomes, &printed);
    assert!(answers.valid > 0 && printed.contains("DNS64 resolution performance"), "{printed}");
}

/// The gateway is a process of its own between client and server.
#[test]
#[ignore = "needs root and knot: run by ./check as root"]
fn queries_pass_the_embedded_gateway() {
    let set = [&SHORT[..], &["measure.max-rate=1000", "measure.dns.names=5000"]].concat();
    for device in [
        "[dut.embedded]\nmapping = \"address-and-port-dependent\"",
        "[dut.embedded]\n[technology.ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"",
    ] {
        let text = format!(
            "name = \"dns\"\n{device}\n[sweep]\nconnections = 100\n[measure]\nmetrics = \"dns_queries_resolved\"\n"
        );
        let (outcomes, printed) = run(&text, &set);
        is_resolved(&outcomes, &printed);
    }
}

/// Client and server are at the ports of a bed; natmeter sets up the box between them.
#[test]
#[ignore = "needs root and knot: run by ./check as root"]
fn queries_pass_a_box_between_the_ports_of_a_bed() {
    let folder = guests::bed_of([guests::LEFT, guests::RIGHT], "[dut]\non = \"namespace\"\nsoftware = \"nftables\"\n");
    let text = "name = \"dns\"\n[dut.external]\n[technology.nat44]\npool = \"198.19.0.1\"\n[sweep]\nconnections = 100\n\
                [measure]\nmetrics = \"dns_queries_resolved\"\n";
    let set = [&SHORT[..], &["measure.max-rate=1000", "measure.dns.names=5000"]].concat();
    let (outcomes, printed) = run_over(Some(&folder.path().join("bed.toml")), text, &set);
    is_resolved(&outcomes, &printed);
}

#[test]
#[ignore = "needs root and knot: run by ./check as root"]
fn queries_pass_the_kernel_with_and_without_nat44() {
    let text = include_str!("../../../scenarios/dns-load.toml");
    let set = [&SHORT[..], &["measure.max-rate=1000", "measure.dns.names=5000", "sweep.connections=100"]].concat();
    let (outcomes, printed) = run(text, &set);
    let names: Vec<&str> = outcomes.iter().map(|o| o.measurement.point.dut_name.as_str()).collect();
    assert_eq!(names, ["linux-forwarding", "nftables"], "{printed}");
    assert!(outcomes.iter().all(|o| o.result.rate.0 > 0), "{printed}");
}
