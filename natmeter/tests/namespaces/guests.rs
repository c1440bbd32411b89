//! Boxes in guests that natmeter boots. They need a guest of User-Mode Linux, which `natmeter guest build` builds;
//! `./check` does so before it runs these tests, and leaves them out where it cannot.

use super::beds::{has_rates, quick, reported, scenarios, until};
use port::Netns;
use port::netns::Sight;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with a bed whose box is a guest: its addresses with prefix lengths and those of the tester, left and right, and keys of the
/// box.
fn bed([left, right]: [(&str, &str); 2], of_box: &str) -> TempDir {
    let port = |side: &str, (gateway, tester): (&str, &str)| {
        format!("[bed.{side}]\ninterface = \"t-{side}\"\naddresses = [\"{tester}\"]\ngateway = \"{gateway}\"\n")
    };
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[bed]\nname = \"a guest\"\n{}{}[dut]\non = \"guest\"\n{of_box}\n",
        port("left", left),
        port("right", right)
    );
    fs::write(folder.path().join("bed.toml"), text).unwrap();
    folder
}

const LEFT: (&str, &str) = ("198.18.0.1", "198.18.0.2/24");
const RIGHT: (&str, &str) = ("198.19.0.1", "198.19.0.2/24");
const LEFT_IPV6: (&str, &str) = ("2001:2:0:1800::2", "2001:2:0:1800::1/64");

fn natmeter(folder: &Path, args: &[&str]) -> Output {
    // The interfaces of a bed must not meet those of another test.
    let mut command = Netns::new().unwrap().command(env!("CARGO_BIN_EXE_natmeter"), Sight::NetworkAndSysfs);
    command.args(args).current_dir(folder).output().unwrap()
}

/// Runs a scenario, and checks that it has rates and that each count of the guest is that of the connections.
fn is_measured_and_counted(folder: &Path, scenario: &str) {
    let args = [&quick(scenario, &["--set", "sweep.connections=500"])[..], &["--set", "measure.max-rate=5k"]].concat();
    let report = reported(folder, &args, |args| {
        let output = natmeter(folder, args);
        let commands =
            Command::new("sh").args(["-c", "cat runs/*/commands.jsonl"]).current_dir(folder).output().unwrap();
        let commands = String::from_utf8(commands.stdout).unwrap();
        let counts: Vec<&str> = commands.lines().filter(|line| line.contains("hook `count`")).collect();
        assert!(!counts.is_empty() && counts.iter().any(|line| line.contains("\"output\":\"500\"")), "{counts:?}");
        assert!(commands.contains("hook `clear`") && commands.contains("hook `restore`"));
        output
    });
    has_rates(&report, 2);
    let facts = &report["facts"]["duts"]["external"];
    assert_eq!(facts["host"], "guest:uml");
    assert!(facts["guest"].as_str().unwrap().starts_with("User-Mode Linux; processors: 1; memory: 256 MiB"), "{facts}");
}

#[test]
#[ignore = "needs root and a guest"]
fn the_kernel_nat44_of_a_guest_is_measured() {
    let folder = bed([LEFT, RIGHT], "software = \"nftables\"");
    is_measured_and_counted(folder.path(), scenarios().join("kernel-nat44.toml").to_str().unwrap());
}

#[test]
#[ignore = "needs root and a guest"]
fn jool_in_a_guest_is_measured() {
    let folder = bed([LEFT_IPV6, RIGHT], "software = \"jool\"");
    let text = "name = \"jool\"\n[dut.external]\n[technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\"\n\
        mapping = \"address-and-port-dependent\"\nudp-timeout = \"10000 s\"\n[sweep]\nconnections = 500\n\
        [measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\n";
    fs::write(folder.path().join("jool.toml"), text).unwrap();
    is_measured_and_counted(folder.path(), "jool.toml");
}

/// A hook that hangs is killed in the guest, and the error shows it; the guest goes on.
#[test]
#[ignore = "needs root and a guest"]
fn a_hook_that_hangs_in_a_guest_is_killed() {
    let folder = bed(
        [LEFT, RIGHT],
        "prepare = \"echo waits; sleep 1000\"\nclear = \"true\"\ntimeout = \"1 s\"\nrestore = \"echo back\"",
    );
    let output = natmeter(folder.path(), &quick(scenarios().join("kernel-nat44.toml").to_str().unwrap(), &[]));
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("(guest:uml): `echo waits; sleep 1000` ran longer than its time limit, 1 s"), "{says}");
    assert!(says.contains("    waits") && says.contains("restored by `echo back`"), "{says}");
}

/// A guest that ends is named with its last words, and the run can be resumed.
#[test]
#[ignore = "needs root and a guest"]
fn a_guest_that_dies_is_named() {
    let folder = bed([LEFT, RIGHT], "prepare = \"echo the end >/dev/console; poweroff -f\"\nclear = \"true\"");
    let output = natmeter(folder.path(), &quick(scenarios().join("kernel-nat44.toml").to_str().unwrap(), &[]));
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("the guest (uml) ended by itself; last lines of its console:"), "{says}");
    assert!(says.contains("    natmeter: the guest ended with exit code "), "{says}");
    assert_eq!(output.status.code(), Some(6), "{says}");
}

#[test]
#[ignore = "needs root and a guest"]
fn a_guest_that_is_not_built_is_named_with_the_command_that_builds_it() {
    let folder = bed([LEFT, RIGHT], "software = \"nftables\"");
    let mut command = Netns::new().unwrap().command(env!("CARGO_BIN_EXE_natmeter"), Sight::NetworkAndSysfs);
    let scenario = scenarios().join("kernel-nat44.toml");
    command
        .args(quick(scenario.to_str().unwrap(), &[]))
        .current_dir(folder.path())
        .env("NATMETER_GUESTS", folder.path());
    let says = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(says.contains("no guest of the kind uml is in "), "{says}");
    assert!(says.contains("build it with `natmeter guest build uml`"), "{says}");
}

/// The kernel ends a guest with natmeter, also after a kill.
#[test]
#[ignore = "needs root and a guest"]
fn a_killed_natmeter_leaves_no_guest() {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_natmeter"))
        .args(["guest", "shell", "uml"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.as_mut().unwrap().write_all(b"echo it runs\n").unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "it runs\n");
    let all = below(shell.id());
    assert!(all.len() >= 3, "{all:?}");
    shell.kill().unwrap();
    shell.wait().unwrap();
    until(|| all.iter().all(|pid| !Path::new(&format!("/proc/{pid}/fd/0")).exists()));
}

/// The processes that a process started, and those that they started.
fn below(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .flat_map(|pid| [vec![pid], below(pid)].concat())
        .collect()
}
