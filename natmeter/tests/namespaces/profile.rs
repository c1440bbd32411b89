//! `profile = true` shows where the NAT44 of this kernel spends its time, in the record and as a flame graph in the report.

use super::beds::{Bed, of_lab};
use super::guests::{self, LEFT, RIGHT, SLOW, bed_of};
use super::program::{natmeter, only_run, stderr};
use super::said;
use dut::guest::{Cache, Hypervisor};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Output;

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
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let run = only_run(&folder.path().join("runs")).unwrap();
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
    let (lab, bed) = Bed::over_ssh();
    bed.file("", "", &of_lab(&lab, "software = \"nftables\"\ninterfaces = [\"d-left\", \"d-right\"]\n"));
    box_is_profiled(bed.folder.path(), &of_a_box(), &[], |args| bed.natmeter(args));
    assert_eq!(said(&bed.device, "pgrep", &["-f", "[p]erf record.*max-size"]), "", "perf has ended");
}

/// The kernel of a guest that was built with perf.
#[test]
#[ignore = "needs root and a guest"]
fn a_qemu_guest_is_profiled_by_its_own_perf() {
    let guest = Cache::of_this_user().and_then(|cache| cache.latest(Hypervisor::Qemu)).unwrap();
    if guest.version("linux-perf").is_none() {
        not_run("profiles of guests: the guest has no perf (`natmeter guest build qemu --perf`)");
        return;
    }
    let folder = bed_of([LEFT, RIGHT], "[dut]\non = \"guest:qemu\"\nguest-memory = 512\nsoftware = \"nftables\"\n");
    // Without KVM, the guest forwards some thousand frames a second.
    let slow = [("\"10k\"", "\"500\""), ("\"20k\"", "\"500\""), ("= 2000", "= 500")];
    let text = slow.into_iter().fold(of_a_box(), |text, (old, new)| text.replace(old, new));
    box_is_profiled(folder.path(), &text, &SLOW, |args| guests::natmeter(folder.path(), args));
}

fn of_a_box() -> String {
    let nat44 = "[dut.external]\n[technology.nat44]\npool = \"198.19.0.1\"\n\
        mapping = \"address-and-port-dependent\"\nudp-timeout = \"10000 s\"\n";
    SCENARIO.replace("[dut.nftables]\n[link.tap]\n", nat44)
}

/// Measures the box of a bed with `natmeter`, and checks that the stacks of its profile contain the kernel's NAT.
fn box_is_profiled(folder: &Path, scenario: &str, more: &[&str], natmeter: impl Fn(&[&str]) -> Output) {
    std::fs::write(folder.join("p.toml"), scenario).unwrap();
    let args = ["run", "p.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"];
    let output = natmeter(&[&args[..], more].concat());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let run = only_run(&folder.join("runs")).unwrap();
    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let mut results = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let profiled = results.find(|r| r["measurement"]["metric"] == "lock_wait").unwrap();
    let stacks = profiled["observed"]["profile"]["stacks"].as_object().unwrap();
    assert!(stacks.keys().any(|stack| stack.contains(";nf_hook_slow;")), "{stacks:?}");
}

/// A box in a namespace has the kernel of the tester: it is profiled as a kernel device is.
#[test]
#[ignore = "needs root"]
fn a_box_in_a_namespace_is_profiled() {
    if !has_perf() {
        return;
    }
    let folder = bed_of([LEFT, RIGHT], "[dut]\non = \"namespace\"\nsoftware = \"nftables\"\n");
    box_is_profiled(folder.path(), &of_a_box(), &[], |args| guests::natmeter(folder.path(), args));
}
