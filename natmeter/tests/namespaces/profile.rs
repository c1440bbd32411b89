//! `profile = true` shows where the NAT44 of this kernel spends its time, in the record and as a flame graph in the report.

use super::beds::Bed;
use super::guests::{LEFT, RIGHT, SLOW, bed_of};
use super::lab::Lab;
use super::program::natmeter;
use dut::guest::{Cache, Kind};
use port::netns::Sight;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

const SCENARIO: &str = r#"
name = "profiled"
[dut.nftables]
[link.tap]
[sweep]
connections = 2000
[measure]
metrics = ["throughput"]
profile = true
phase1-rate = "10k"
max-rate = "40k"
repetitions = 2
duration = "50 ms"
error = "30 %"
start-delay = "5 ms"
drain = "100 ms"
settle = "0 s"
phase1-drain = "100 ms"
[measure.profiling]
rate = "20k"
duration = "2 s"
"#;

/// Whether perf is installed; if not, says that the test did not run, and tells `./check`.
fn has_perf() -> bool {
    let is_there = dut::tool::find(dut::tool::PERF.program).is_some();
    if !is_there {
        not_run("profiles of this kernel: perf is missing (package linux-perf)");
    }
    is_there
}

/// Says that a test did not run, and tells `./check`.
fn not_run(words: &str) {
    println!("NOT RUN: {words}");
    if let Some(file) = std::env::var_os("NOT_RUN") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "{words}").unwrap();
    }
}

#[test]
#[ignore = "needs root"]
fn a_nat44_of_this_kernel_is_profiled() {
    if !has_perf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.toml"), SCENARIO).unwrap();
    let output = natmeter(folder.path(), &["run", "p.toml", "--beside", "--quiet", "--skip-self-test"]);
    let code = output.status.code().unwrap();
    assert!([0, 3].contains(&code), "{}", String::from_utf8_lossy(&output.stderr));
    let run = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let results: Vec<Value> = results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |metric: &str| results.iter().filter(|r| r["measurement"]["metric"] == metric).collect::<Vec<_>>();
    let [profiled] = of("lock_wait")[..] else { panic!("one profile of the point: {results:?}") };
    assert_eq!(of("throughput").len(), 2);
    let profile = &profiled["observed"]["profile"];
    let stacks = profile["stacks"].as_object().unwrap();
    assert!(stacks.keys().all(|stack| stack.starts_with("core ")), "{stacks:?}");
    assert!(stacks.keys().any(|stack| stack.contains(";nf_hook_slow;")), "{stacks:?}");
    assert!(profile["parts"]["connection tracking"].as_u64().is_some_and(|samples| samples > 0), "{profile}");
    let report = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(report.contains("<svg class=\"flame\"") && report.contains("most time goes to "), "{report}");
    // The samples are part of the record: the same folder gives the same report.
    let again = natmeter(folder.path(), &["report", run.to_str().unwrap(), "--format", "html"]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), report);
}

/// The box is a host with sshd, whose perf samples its kernel.
#[test]
#[ignore = "needs root"]
fn a_box_over_ssh_is_profiled_by_its_own_perf() {
    if !has_perf() {
        return;
    }
    let lab = Lab::new();
    let [tester, device] = lab.namespaces();
    let bed = Bed::between(tester, device);
    let keys = "software = \"nftables\"\ninterfaces = [\"d-left\", \"d-right\"]\n";
    bed.file("", "", &format!("on = \"ssh:dut\"\nssh-config = \"{}\"\n{keys}", lab.config().display()));
    let text = SCENARIO.replace("[dut.nftables]\n[link.tap]\n", NAT44_OF_A_BOX);
    let folder = bed.folder.path();
    std::fs::write(folder.join("p.toml"), text).unwrap();
    let args = ["run", "p.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"];
    let output = bed.natmeter(&args);
    let code = output.status.code().unwrap();
    assert!([0, 3].contains(&code), "{}", String::from_utf8_lossy(&output.stderr));
    let stacks = stacks_of(folder);
    assert!(stacks.keys().any(|stack| stack.contains(";nf_hook_slow;")), "{stacks:?}");
    let left =
        bed.device.command("sh", Sight::Network).args(["-c", "pgrep -f '[p]erf record.*max-size'"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "perf has ended");
}

/// The kernel of a guest that was built with perf.
#[test]
#[ignore = "needs root and a guest"]
fn a_qemu_guest_is_profiled_by_its_own_perf() {
    let guest = Cache::of_this_user().and_then(|cache| cache.latest(Kind::Qemu)).unwrap();
    if guest.version("linux-perf").is_none() {
        not_run("profiles of guests: the guest has no perf (`natmeter guest build qemu --perf`)");
        return;
    }
    let folder = bed_of([LEFT, RIGHT], "[dut]\non = \"guest:qemu\"\nguest-memory = 512\nsoftware = \"nftables\"\n");
    // Without KVM, the guest forwards some thousand frames a second.
    let slow = [("\"10k\"", "\"500\""), ("\"20k\"", "\"500\""), ("= 2000", "= 500")];
    let text = SCENARIO.replace("[dut.nftables]\n[link.tap]\n", NAT44_OF_A_BOX);
    let text = slow.into_iter().fold(text, |text, (old, new)| text.replace(old, new));
    std::fs::write(folder.path().join("p.toml"), text).unwrap();
    let args = [&["run", "p.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"], &SLOW[..]].concat();
    let output = super::guests::natmeter(folder.path(), &args);
    let code = output.status.code().unwrap();
    assert!([0, 3].contains(&code), "{}", String::from_utf8_lossy(&output.stderr));
    let stacks = stacks_of(folder.path());
    assert!(stacks.keys().any(|stack| stack.contains(";nf_hook_slow;")), "{stacks:?}");
}

/// The stacks of the profile in the only run of a folder.
fn stacks_of(folder: &Path) -> serde_json::Map<String, Value> {
    let run = std::fs::read_dir(folder.join("runs")).unwrap().next().unwrap().unwrap().path();
    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let mut results = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let profiled = results.find(|r| r["measurement"]["metric"] == "lock_wait").unwrap();
    profiled["observed"]["profile"]["stacks"].as_object().unwrap().clone()
}

const NAT44_OF_A_BOX: &str = "[dut.external]\n[technology.nat44]\npool = \"198.19.0.1\"\n\
    mapping = \"address-and-port-dependent\"\nudp-timeout = \"10000 s\"\n";

/// A box in a namespace has the kernel of the tester: it is profiled as a kernel device is.
#[test]
#[ignore = "needs root"]
fn a_box_in_a_namespace_is_profiled() {
    if !has_perf() {
        return;
    }
    let folder = bed_of([LEFT, RIGHT], "[dut]\non = \"namespace\"\nsoftware = \"nftables\"\n");
    let text = SCENARIO.replace("[dut.nftables]\n[link.tap]\n", NAT44_OF_A_BOX);
    std::fs::write(folder.path().join("p.toml"), text).unwrap();
    let args = ["run", "p.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"];
    let output = super::guests::natmeter(folder.path(), &args);
    let code = output.status.code().unwrap();
    assert!([0, 3].contains(&code), "{}", String::from_utf8_lossy(&output.stderr));
    let stacks = stacks_of(folder.path());
    assert!(stacks.keys().any(|stack| stack.contains(";nf_hook_slow;")), "{stacks:?}");
}
