//! Test beds with real ports: the test is a user who cabled two interfaces to a box of their own. The tester's ends are in one
//! namespace, the box in another; the box is a kernel that the test configures by hand, or `natmeter gateway`.

use super::lab::Lab;
use super::program::{self, NATMETER};
use super::{address, config, run, said};
use port::Netns;
use port::netns::Sight;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A tester, a box, and two links between them.
pub(super) struct Bed {
    pub(super) tester: Netns,
    pub(super) device: Netns,
    pub(super) folder: tempfile::TempDir,
}

/// A tester that the test killed leaves locks and settings behind, and any tester the source ports that the box may still hold.
impl Drop for Bed {
    fn drop(&mut self) {
        let mut read = self.device.command("cat", Sight::NetworkAndSysfs);
        let macs = read.args(["/sys/class/net/d-left/address", "/sys/class/net/d-right/address"]).output();
        for mac in String::from_utf8_lossy(&macs.map(|output| output.stdout).unwrap_or_default()).lines() {
            let _ = std::fs::remove_file(format!("/run/natmeter/ports-{}.json", mac.replace(':', "-")));
        }
        let _ = self.tester.command(NATMETER, Sight::Network).arg("clean").output();
    }
}

pub(super) const LEFT: &str = "t-left";
pub(super) const RIGHT: &str = "t-right";

const NAT44: [&str; 2] = ["--set", "sweep.connections=2000"];

impl Bed {
    /// Returns a host with sshd, and a bed with this host as its box, reached over ssh by the keys of [`of_lab`].
    pub(super) fn over_ssh() -> (Lab, Bed) {
        let lab = Lab::new();
        let [tester, device] = lab.namespaces();
        (lab, Bed::between(tester, device))
    }

    /// Links with addresses on both ends, and nothing else.
    pub(super) fn new() -> Bed {
        Bed::between(Netns::new().unwrap(), Netns::new().unwrap())
    }

    /// The same between these namespaces.
    pub(super) fn between(tester: Netns, device: Netns) -> Bed {
        let bed = Bed { tester, device, folder: tempfile::tempdir().unwrap() };
        bed.cable();
        bed
    }

    pub(super) fn cable(&self) {
        for (name, far, net) in [(LEFT, "d-left", 18), (RIGHT, "d-right", 19)] {
            two_queues(&self.tester, name, &self.device, far);
            address(&self.tester, name, &format!("198.{net}.0.2/24"));
            address(&self.device, far, &format!("198.{net}.0.1/24"));
        }
    }

    pub(super) fn forwarding() -> Bed {
        let bed = Bed::new();
        bed.forward();
        bed
    }

    pub(super) fn forward(&self) {
        run(&self.device, "sysctl -qw net.ipv4.ip_forward=1");
    }

    /// A kernel with a stateful NAT44 that the user configured.
    pub(super) fn nat44() -> Bed {
        let bed = Bed::forwarding();
        bed.translate();
        bed
    }

    fn translate(&self) {
        let bed = self;
        run(&bed.device, "nft add table ip user");
        run(&bed.device, "nft add chain ip user post {type nat hook postrouting priority srcnat;}");
        run(&bed.device, "nft add rule ip user post oifname d-right meta l4proto udp snat to 198.19.0.1:1024-65535");
        for key in ["udp_timeout", "udp_timeout_stream"] {
            run(&bed.device, &format!("sysctl -qw net.netfilter.nf_conntrack_{key}=1000"));
        }
    }

    /// Writes the bed file: keys of the bed, of both ports, and of the box.
    pub(super) fn file(&self, of_bed: &str, of_ports: &str, of_box: &str) -> PathBuf {
        self.file_with(["198.18.0.1", "198.19.0.1"], of_bed, of_ports, of_box)
    }

    /// The same with other addresses of the box, left and right.
    pub(super) fn file_with(&self, gateways: [&str; 2], of_bed: &str, of_ports: &str, of_box: &str) -> PathBuf {
        let silence = if of_bed.contains("silence") { "" } else { "silence = \"1 s\"\n" };
        let mut text = format!("[bed]\nname = \"two namespaces\"\n{silence}{of_bed}\n");
        for (side, name, net, gateway) in [("left", LEFT, 18, gateways[0]), ("right", RIGHT, 19, gateways[1])] {
            let _ = write!(
                text,
                "[bed.{side}]\ninterface = \"{name}\"\naddresses = [\"198.{net}.0.2/24\", \"2001:2:0:{net}00::1/64\"]\n\
                 gateway = \"{gateway}\"\n{of_ports}\n"
            );
        }
        let _ = writeln!(text, "{}{of_box}", if of_box.starts_with('[') { "" } else { "[dut]\n" });
        let path = self.folder.path().join("bed.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A hook that runs a command in the namespace of the box.
    pub(super) fn inside(&self, command: &str) -> String {
        format!("nsenter --net={} {command}", self.device.path().display())
    }

    /// Hooks that clear and count the table of a kernel.
    pub(super) fn kernel_hooks(&self) -> String {
        let clear = self.inside("conntrack -F");
        let count = self.inside("cat /proc/sys/net/netfilter/nf_conntrack_count");
        format!("clear = \"{clear}\"\ncount = \"{count}\"")
    }

    pub(super) fn script(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    pub(super) fn natmeter(&self, args: &[&str]) -> Output {
        let mut command = self.tester.command(NATMETER, Sight::NetworkAndSysfs);
        command.args(args).current_dir(self.folder.path()).output().unwrap()
    }

    pub(super) fn filter(&self, rules: &[&str]) {
        run(&self.device, "nft add table ip user");
        run(&self.device, "nft add chain ip user pass {type filter hook forward priority 0;}");
        for rule in rules {
            run(&self.device, &format!("nft add rule ip user pass {rule}"));
        }
    }

    /// The lines of the first `bed check` that other programs did not disturb: grade and words by name.
    pub(super) fn check(&self, more: &[&str]) -> Vec<(String, String, String)> {
        let is_disturbed = |lines: &[(String, String, String)]| {
            lines.iter().any(|(_, _, words)| words.contains("this machine is too busy for the check"))
        };
        let mut checks = (0..20).map(|_| self.check_once(more));
        checks.by_ref().find(|lines| !is_disturbed(lines)).unwrap_or_else(|| self.check_once(more))
    }

    fn check_once(&self, more: &[&str]) -> Vec<(String, String, String)> {
        let args = [&["--json", "bed", "check", "bed.toml", "--beside"], more].concat();
        let output = self.natmeter(&args);
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            (word("name"), word("grade"), word("words"))
        });
        let lines: Vec<_> = lines.collect();
        assert!(!lines.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        lines
    }

    pub(super) fn failing(&self) -> String {
        let lines = self.check(&[]);
        let failed = lines.iter().find(|(_, grade, _)| grade == "FAILED");
        failed.unwrap_or_else(|| panic!("nothing failed: {lines:?}")).2.clone()
    }

    /// Runs a scenario over the bed with trials of a few milliseconds, and returns its report.
    pub(super) fn run(&self, scenario: &Path, more: &[&str]) -> Value {
        let args = quick(scenario.to_str().unwrap(), more);
        reported(self.folder.path(), &args, |args| self.natmeter(args))
    }

    /// Runs the scenario of a kernel's NAT44 over the bed with 2,000 connections, and returns its report.
    pub(super) fn run_nat44(&self) -> Value {
        self.run(&scenarios().join("kernel-nat44.toml"), &NAT44)
    }

    /// Runs the scenario of [`Self::run_nat44`]; returns the exit code and the text on stderr.
    pub(super) fn nat44_ends(&self) -> (Option<i32>, String) {
        let output = self.natmeter(&quick(&scenario("kernel-nat44.toml"), &NAT44));
        (output.status.code(), program::stderr(&output))
    }

    fn resume(&self) {
        let run = folder_of(self).unwrap();
        let output = self.natmeter(&["resume", run.to_str().unwrap(), "--beside", "--quiet"]);
        assert!(matches!(output.status.code(), Some(0 | 3 | 6)), "{}", program::stderr(&output));
    }
}

/// Returns the keys of a box that is the host of a laboratory.
pub(super) fn of_lab(lab: &Lab, keys: &str) -> String {
    format!("on = \"ssh:dut\"\nssh-config = \"{}\"\n{keys}", lab.config().display())
}

/// Runs natmeter in a folder, and returns the report of the run.
pub(super) fn reported(folder: &Path, args: &[&str], natmeter: impl Fn(&[&str]) -> Output) -> Value {
    let output = natmeter(args);
    let says = String::from_utf8_lossy(&output.stderr);
    // Exit codes above 1 speak of doubts about the rate.
    assert!(output.status.code().is_some_and(|code| [0, 3, 6].contains(&code)), "{args:?}: {says}");
    let run = std::fs::read_dir(folder.join("runs")).unwrap().last().unwrap().unwrap().path();
    let report = natmeter(&["--json", "report", run.to_str().unwrap()]);
    let report = serde_json::from_slice(&report.stdout).unwrap();
    std::fs::remove_dir_all(run).unwrap();
    report
}

/// Runs a scenario of devices of this machine with trials of a few milliseconds, and returns its report.
pub(super) fn quick_run(text: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quick.toml"), text).unwrap();
    let args: Vec<&str> =
        quick("quick.toml", &[]).into_iter().filter(|arg| !["--bed", "bed.toml"].contains(arg)).collect();
    reported(folder.path(), &args, |args| program::natmeter(folder.path(), args))
}

/// Arguments of a run over the bed with trials of a few milliseconds.
pub(super) fn quick<'a>(scenario: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", scenario, "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"];
    let own = [
        "measure.repetitions=1",
        "measure.duration=50 ms",
        "measure.error=20 %",
        "measure.max-rate=20k",
        "measure.start-delay=5 ms",
        "measure.settle=0 s",
        "measure.drain=100 ms",
        "measure.phase1-drain=100 ms",
    ];
    args.extend(own.into_iter().flat_map(|set| ["--set", set]));
    args.extend(more);
    args
}

pub(super) fn until(holds: impl Fn() -> bool) {
    let end = std::time::Instant::now() + super::PATIENCE * 2;
    while !holds() {
        assert!(std::time::Instant::now() < end, "it never holds");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A veth pair with two queues at each end, without offloads that change frames.
pub(super) fn two_queues(a: &Netns, name_a: &str, b: &Netns, name_b: &str) {
    let queues = "numtxqueues 2 numrxqueues 2";
    run(
        a,
        &format!("ip link add {name_a} {queues} type veth peer name {name_b} {queues} netns {}", b.path().display()),
    );
    for (ns, name) in [(a, name_a), (b, name_b)] {
        // Without IPv6 the kernels send nothing by themselves.
        run(ns, &format!("sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1"));
        run(ns, &format!("ip link set {name} up"));
        run(ns, &format!("ethtool -K {name} tx off tso off gso off gro off"));
    }
}

pub(super) fn scenario(name: &str) -> String {
    scenarios().join(name).display().to_string()
}

pub(super) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

/// All rates of a report are above zero, and no frame was wrong.
pub(super) fn has_rates(report: &Value, expected: usize) {
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), expected, "{report}");
    for result in results {
        assert!(result["summary"]["median"].as_f64().is_some_and(|median| median > 0.0), "{result}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_bed_is_checked_line_by_line() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 s\"", "", &bed.kernel_hooks());
    let begun = std::time::Instant::now();
    let lines = bed.check(&[]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
    let bad: Vec<_> = lines.iter().filter(|(_, grade, _)| grade != "ok").collect();
    // Only a person can cable left to right.
    let [(name, grade, words)] = &bad[..] else { panic!("{bad:?}") };
    assert!(name == "T0" && grade == "not run" && words.contains("run `natmeter bed t0`"), "{bad:?}");
    let names: Vec<&str> = lines.iter().map(|(name, ..)| name.as_str()).collect();
    for name in [
        "left interface",
        "left link",
        "right port",
        "left silence",
        "right neighbour",
        "connections",
        "frames both ways",
        "send ceiling",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let hooks = lines.iter().find(|(name, ..)| name == "hooks of dut").unwrap();
    assert!(hooks.2.starts_with("clear, count; ") && hooks.2.contains("connections now"), "{hooks:?}");
}

/// A box of the user's own over each back-end: connections are set up, frames pass, and the report says where the box is.
#[test]
#[ignore = "needs root"]
fn a_nat44_of_the_user_is_measured() {
    let bed = Bed::nat44();
    for ports in ["", "queues = 2", "io = \"af-xdp-generic\"\nqueues = 2"] {
        bed.file("", ports, &bed.kernel_hooks());
        let report = bed.run_nat44();
        has_rates(&report, 2);
        assert_eq!(report["conformance"]["test_bed"], serde_json::json!(["ports"]), "{ports}");
        assert_eq!(report["facts"]["duts"]["external"]["test bed"], "two namespaces");
        let stamps = &report["facts"]["duts"]["external"]["left receive time stamps"];
        assert_eq!(stamps, if ports.contains("xdp") { "tester, from the queue" } else { "kernel" });
        let queues = ["right_queues", "left_queues"].map(|side| report["judged"][side].as_array().map(Vec::len));
        assert_eq!(queues, if ports.is_empty() { [None; 2] } else { [Some(2); 2] }, "{}", report["judged"]);
    }
}

/// The box is a host with sshd. A hook lies beside the bed file, in a folder with a space, and configures the box.
#[test]
#[ignore = "needs root"]
fn a_box_is_configured_over_ssh() {
    let (lab, bed) = Bed::over_ssh();
    bed.forward();
    let keys = "prepare = \"'./my hooks/set-nat44' {connections} {udp-timeout}\"\nclear = \"conntrack -F\"\n\
        count = \"cat /proc/sys/net/netfilter/nf_conntrack_count\"\nrestore = \"nft delete table ip user\"\n";
    bed.file("", "", &of_lab(&lab, keys));
    let script = "#!/bin/sh\nset -e\ntest \"$1\" = 2000\nnft add table ip user\n\
        nft 'add chain ip user post { type nat hook postrouting priority srcnat; }'\n\
        nft 'add rule ip user post oifname d-right meta l4proto udp snat to 198.19.0.1:1024-65535'\n\
        sysctl -qw net.netfilter.nf_conntrack_udp_timeout=$2 net.netfilter.nf_conntrack_udp_timeout_stream=$2\n";
    bed.script("my hooks/set-nat44", script);
    let report = bed.run_nat44();
    has_rates(&report, 2);
    assert_eq!(said(&bed.device, "nft", &["list", "tables"]), "", "the hook `restore` was run");
}

/// A developer's program in the foreground, on ends that natmeter makes: here `natmeter gateway`.
#[test]
#[ignore = "needs root"]
fn a_program_that_natmeter_starts_is_measured() {
    let bed = Bed::new();
    let gateway = config(
        "pe",
        ("left", "198.18.0.1", "02:00:c6:12:00:02"),
        ("right", "198.19.0.1", "02:00:c6:13:00:02"),
        "[technology.nat44]\ninside = \"198.18.0.0/24\"\npool = \"198.19.0.1\"\nmapping = \"address-and-port-dependent\"\n",
    );
    let socket = bed.folder.path().join("program.sock");
    std::fs::write(bed.folder.path().join("g.toml"), gateway.replace("SOCKET", socket.to_str().unwrap())).unwrap();
    let start = format!("{NATMETER} gateway --quiet --config g.toml");
    let clear = format!("{NATMETER} gateway clear --socket {}", socket.display());
    for io in ["", "io = \"tap\""] {
        bed.file("", io, &format!("on = \"namespace\"\nstart = \"{start}\"\nclear = \"{clear}\"\n"));
        let report = bed.run_nat44();
        has_rates(&report, 2);
        assert!(std::os::unix::net::UnixStream::connect(&socket).is_err(), "the program was ended");
    }
    bed.file("", "", "on = \"namespace\"\nstart = \"echo this cannot work; exit 3\"\nclear = \"true\"\n");
    let (_, says) = bed.nat44_ends();
    assert!(says.contains("ended with exit code 3") && says.contains("this cannot work"), "{says}");
}

/// Neighbour entries of the box end within seconds, and the tester answers in trials.
#[test]
#[ignore = "needs root"]
fn a_box_that_forgets_its_neighbours_loses_no_frame() {
    let bed = Bed::nat44();
    for name in ["d-left", "d-right"] {
        let neigh = format!("net.ipv4.neigh.{name}");
        run(&bed.device, &format!("sysctl -qw {neigh}.base_reachable_time_ms=200 {neigh}.delay_first_probe_time=1"));
        run(&bed.device, &format!("sysctl -qw {neigh}.gc_stale_time=1"));
    }
    bed.file("", "", &bed.kernel_hooks());
    let scenario = scenarios().join("kernel-nat44.toml");
    let report = bed.run(
        &scenario,
        &["--set", "sweep.connections=2000", "--set", "measure.duration=5 s", "--set", "measure.max-rate=500"],
    );
    has_rates(&report, 2);
    for result in report["results"].as_array().unwrap() {
        assert_eq!(result["summary"]["median"], 500.0, "every trial at the highest rate passed: {result}");
    }
}

#[test]
#[ignore = "needs root"]
fn the_software_of_a_box_is_configured_over_ssh() {
    let (lab, bed) = Bed::over_ssh();
    // The hook fails unless the addresses of the tester are permanent neighbours on both sides.
    let keys = "software = \"nftables\"\ninterfaces = [\"d-left\", \"d-right\"]\n\
        count = \"test $(ip neigh show nud permanent | grep -c 'dev d-.*lladdr') -ge 2 && \
        cat /proc/sys/net/netfilter/nf_conntrack_count\"\n";
    bed.file("", "", &of_lab(&lab, keys));
    let state = || {
        let all = "nft list ruleset; sysctl net.ipv4.ip_forward net.netfilter.nf_conntrack_udp_timeout; \
            ip neigh show nud permanent";
        said(&bed.device, "sh", &["-c", all])
    };
    let before = state();
    let report = bed.run_nat44();
    has_rates(&report, 2);
    assert_eq!(state(), before);
}

#[test]
#[ignore = "needs root"]
fn a_lost_ssh_connection_ends_the_run_which_is_resumed() {
    let (lab, bed) = Bed::over_ssh();
    bed.forward();
    bed.translate();
    // The second time that the table is emptied, sshd ends the connection.
    let script = "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\nn=$(cat FOLDER/trials || echo 0)\nn=$((n + 1))\necho $n >FOLDER/trials\n\
        test $n -ne 2 || kill -9 $(ps -o ppid= -p $PPID) $PPID\nconntrack -F\n";
    let folder = bed.folder.path().display().to_string();
    bed.script("clear", &script.replace("FOLDER", &folder));
    let restored = bed.folder.path().join("restored");
    let keys = format!("clear = \"./clear\"\nprepare = \"true\"\nrestore = \"touch {}\"\n", restored.display());
    bed.file("", "", &of_lab(&lab, &keys));
    let (code, says) = bed.nat44_ends();
    assert_eq!(code, Some(6), "{says}");
    assert!(says.contains("connection") && says.contains("natmeter resume"), "{says}");
    bed.resume();
    assert!(restored.exists(), "the box was restored");
}

/// A connection that stays lost leaves the box as it is: `natmeter clean` restores it when it can be reached again.
#[test]
#[ignore = "needs root"]
fn a_box_that_cannot_be_reached_is_restored_by_clean() {
    let (lab, bed) = Bed::over_ssh();
    bed.forward();
    bed.translate();
    let restored = bed.folder.path().join("restored");
    let keys = format!(
        "prepare = \"true\"\nclear = \"ip link set mgmt down; sleep 60\"\nrestore = \"touch {}\"\n",
        restored.display()
    );
    bed.file("", "", &of_lab(&lab, &keys));
    let (code, says) = bed.nat44_ends();
    assert_eq!(code, Some(6), "{says}");
    assert!(says.contains("natmeter clean") && !restored.exists(), "{says}");
    lab.link("up");
    let output = bed.natmeter(&["clean"]);
    let says = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && says.contains("restored by `touch"), "{says}");
    assert!(restored.exists(), "the hook was run on the box");
}

/// The run folder of a bed with one run.
pub(super) fn folder_of(bed: &Bed) -> Option<PathBuf> {
    let mut runs = std::fs::read_dir(bed.folder.path().join("runs")).ok()?;
    Some(runs.next()?.unwrap().path())
}

#[test]
#[ignore = "needs root"]
fn a_box_that_dies_ends_the_run_which_is_resumed() {
    let bed = Bed::nat44();
    // The second time that its table is emptied, the box stops forwarding.
    let script = format!(
        "#!/bin/sh\nn=$(cat trials 2>/dev/null || echo 0)\nn=$((n + 1))\necho $n >trials\ntest $n -ne 2 || {}\n{}\n",
        bed.inside("sysctl -qw net.ipv4.ip_forward=0"),
        bed.inside("conntrack -F")
    );
    bed.script("clear", &script);
    bed.file("", "", "clear = \"./clear\"");
    let (code, says) = bed.nat44_ends();
    let is_resumable = says.contains("does not answer") || says.contains("natmeter resume");
    assert!(code != Some(0) && is_resumable, "{says}");
    run(&bed.device, "sysctl -qw net.ipv4.ip_forward=1");
    bed.resume();
}

#[test]
#[ignore = "needs root"]
fn a_cable_that_is_pulled_invalidates_a_trial() {
    let bed = Bed::nat44();
    bed.file("", "", &bed.kernel_hooks());
    let scenario = scenarios().join("kernel-nat44.toml");
    let set = ["--set", "sweep.connections=2000", "--set", "measure.duration=3 s", "--set", "measure.max-rate=2k"];
    let args = quick(scenario.to_str().unwrap(), &set);
    let mut command = bed.tester.command(NATMETER, Sight::NetworkAndSysfs);
    let child = command.current_dir(bed.folder.path()).args(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
    // Phase 2 begins after the first result.
    until(|| {
        let results = folder_of(&bed).and_then(|run| std::fs::read_to_string(run.join("results.jsonl")).ok());
        results.is_some_and(|results| !results.is_empty())
    });
    std::thread::sleep(std::time::Duration::from_secs(2));
    run(&bed.device, "ip link set d-right down");
    run(&bed.device, "ip link set d-right up");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.code().is_some_and(|code| [0, 3, 6].contains(&code)), "{output:?}");
    let trials = std::fs::read_to_string(folder_of(&bed).unwrap().join("trials.jsonl")).unwrap();
    let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_lost = |trial: &Value| trial["verdict"]["invalid"].to_string().contains("link");
    let pulled = trials.iter().rposition(is_lost).unwrap_or_else(|| panic!("no invalid trial: {trials:?}"));
    let later = &trials[pulled + 1..];
    assert!(later.iter().any(|trial| !trial["verdict"]["invalid"].is_object()), "the run goes on: {later:?}");
}

#[test]
#[ignore = "needs root"]
fn a_box_without_hooks_is_measured() {
    let bed = Bed::forwarding();
    bed.file("", "", "");
    let scenario = bed.folder.path().join("forwarding.toml");
    std::fs::write(&scenario, "name = \"f\"\n[dut.external]\n[measure]\nmetrics = \"throughput\"\n").unwrap();
    let report = bed.run(&scenario, &[]);
    has_rates(&report, 1);
}

/// The interface of a port is as before, also after a kill.
#[test]
#[ignore = "needs root"]
fn a_port_is_as_before() {
    let bed = Bed::nat44();
    let state = || {
        let all =
            "ip -d address; ip route; ip neigh show nud permanent; tc qdisc show; nft list ruleset; ethtool -k t-left";
        said(&bed.tester, "sh", &["-c", all])
    };
    bed.file("", "", &bed.kernel_hooks());
    let before = state();
    bed.run_nat44();
    assert_eq!(state(), before);
    let mut command = bed.tester.command(NATMETER, Sight::NetworkAndSysfs);
    command.current_dir(bed.folder.path()).args(["run", &scenario("kernel-nat44.toml"), "--bed", "bed.toml"]);
    let mut child = command.args(["--beside", "--quiet"]).args(NAT44).spawn().unwrap();
    let opened = || {
        bed.tester.run_in(|| std::fs::read_to_string("/proc/thread-self/net/packet").unwrap()).unwrap().lines().count()
            > 1
    };
    until(opened);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(state(), before);
}
