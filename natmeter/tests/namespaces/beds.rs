//! Test beds with real ports: the test is a user who cabled two interfaces to a box of their own. The tester's ends are in one
//! namespace, the box in another; the box is a kernel that the test configures by hand, or `natmeter gateway`.

use super::lab::Lab;
use super::{Running, address, cable, config, run};
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

/// Names of the ends.
pub(super) const LEFT: &str = "t-left";
pub(super) const RIGHT: &str = "t-right";

impl Bed {
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

    /// Cables the box in.
    pub(super) fn cable(&self) {
        for (name, far, net) in [(LEFT, "d-left", 18), (RIGHT, "d-right", 19)] {
            two_queues(&self.tester, name, &self.device, far);
            address(&self.tester, name, &format!("198.{net}.0.2/24"));
            address(&self.device, far, &format!("198.{net}.0.1/24"));
        }
    }

    /// A kernel that forwards.
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
    fn file_with(&self, gateways: [&str; 2], of_bed: &str, of_ports: &str, of_box: &str) -> PathBuf {
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

    /// Runs natmeter in the tester's namespace.
    pub(super) fn natmeter(&self, args: &[&str]) -> Output {
        let mut command = self.tester.command(env!("CARGO_BIN_EXE_natmeter"), Sight::NetworkAndSysfs);
        command.args(args).current_dir(self.folder.path()).output().unwrap()
    }

    /// The lines of `bed check`: grade and words by name.
    pub(super) fn check(&self, more: &[&str]) -> Vec<(String, String, String)> {
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

    /// The words of the check that fails.
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
    let natmeter = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_natmeter"));
        command.args(args).current_dir(folder.path()).output().unwrap()
    };
    reported(folder.path(), &args, natmeter)
}

/// Arguments of a run over the bed with trials of a few milliseconds.
pub(super) fn quick<'a>(scenario: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", scenario, "--bed", "bed.toml", "--beside", "--quiet"];
    let own = [
        "measure.repetitions=1",
        "measure.duration=50 ms",
        "measure.error=20 %",
        "measure.max-rate=20k",
        "measure.start-delay=5 ms",
        "measure.settle=0 s",
        "measure.drain=200 ms",
        "measure.phase1-drain=200 ms",
    ];
    args.extend(own.into_iter().flat_map(|set| ["--set", set]));
    args.extend(more);
    args
}

/// Waits until something holds.
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
        let report = bed.run(&scenarios().join("kernel-nat44.toml"), &["--set", "sweep.connections=2000"]);
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
    let lab = Lab::new();
    let [tester, device] = lab.namespaces();
    let bed = Bed::between(tester, device);
    bed.forward();
    let config = lab.config();
    let keys = "prepare = \"'./my hooks/set-nat44' {connections} {udp-timeout}\"\nclear = \"conntrack -F\"\n\
        count = \"cat /proc/sys/net/netfilter/nf_conntrack_count\"\nrestore = \"nft delete table ip user\"\n";
    bed.file("", "", &format!("on = \"ssh:dut\"\nssh-config = \"{}\"\n{keys}", config.display()));
    std::fs::create_dir(bed.folder.path().join("my hooks")).unwrap();
    let hook = bed.folder.path().join("my hooks/set-nat44");
    let script = "#!/bin/sh\nset -e\ntest \"$1\" = 2000\nnft add table ip user\n\
        nft 'add chain ip user post { type nat hook postrouting priority srcnat; }'\n\
        nft 'add rule ip user post oifname d-right meta l4proto udp snat to 198.19.0.1:1024-65535'\n\
        sysctl -qw net.netfilter.nf_conntrack_udp_timeout=$2 net.netfilter.nf_conntrack_udp_timeout_stream=$2\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let report = bed.run(&scenarios().join("kernel-nat44.toml"), &["--set", "sweep.connections=2000"]);
    has_rates(&report, 2);
    let ruleset = bed.device.command("nft", Sight::Network).args(["list", "tables"]).output().unwrap();
    assert_eq!(String::from_utf8(ruleset.stdout).unwrap(), "", "the hook `restore` was run");
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
    let natmeter = env!("CARGO_BIN_EXE_natmeter");
    let start = format!("{natmeter} gateway --quiet --config g.toml");
    let clear = format!("{natmeter} gateway clear --socket {}", socket.display());
    let scenario = scenarios().join("kernel-nat44.toml");
    for io in ["", "io = \"tap\""] {
        bed.file("", io, &format!("on = \"namespace\"\nstart = \"{start}\"\nclear = \"{clear}\"\n"));
        let report = bed.run(&scenario, &["--set", "sweep.connections=2000"]);
        has_rates(&report, 2);
        assert!(std::os::unix::net::UnixStream::connect(&socket).is_err(), "the program was ended");
    }
    bed.file("", "", "on = \"namespace\"\nstart = \"echo this cannot work; exit 3\"\nclear = \"true\"\n");
    let output = bed.natmeter(&[
        "run",
        scenarios().join("kernel-nat44.toml").to_str().unwrap(),
        "--bed",
        "bed.toml",
        "--beside",
    ]);
    let says = String::from_utf8_lossy(&output.stderr);
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

/// natmeter configures the software of a box over ssh, and restores it.
#[test]
#[ignore = "needs root"]
fn the_software_of_a_box_is_configured_over_ssh() {
    let lab = Lab::new();
    let [tester, device] = lab.namespaces();
    let bed = Bed::between(tester, device);
    let config = lab.config();
    let keys = "software = \"nftables\"\ninterfaces = [\"d-left\", \"d-right\"]\n";
    bed.file("", "", &format!("on = \"ssh:dut\"\nssh-config = \"{}\"\n{keys}", config.display()));
    let state = || {
        let all = "nft list ruleset; sysctl net.ipv4.ip_forward net.netfilter.nf_conntrack_udp_timeout";
        let output = bed.device.command("sh", Sight::Network).args(["-c", all]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = state();
    let report = bed.run(&scenarios().join("kernel-nat44.toml"), &["--set", "sweep.connections=2000"]);
    has_rates(&report, 2);
    assert_eq!(state(), before);
}

/// A connection that is lost ends the run; `natmeter resume` continues it, and restores the box.
#[test]
#[ignore = "needs root"]
fn a_lost_ssh_connection_ends_the_run_which_is_resumed() {
    let lab = Lab::new();
    let [tester, device] = lab.namespaces();
    let bed = Bed::between(tester, device);
    bed.forward();
    bed.translate();
    // The second time that the table is emptied, sshd ends the connection.
    let script = "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\nn=$(cat FOLDER/trials || echo 0)\nn=$((n + 1))\necho $n >FOLDER/trials\n\
        test $n -ne 2 || kill -9 $(ps -o ppid= -p $PPID) $PPID\nconntrack -F\n";
    let folder = bed.folder.path().display().to_string();
    let hook = bed.folder.path().join("clear");
    std::fs::write(&hook, script.replace("FOLDER", &folder)).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (config, restored) = (lab.config(), bed.folder.path().join("restored"));
    let keys = format!("clear = \"./clear\"\nprepare = \"true\"\nrestore = \"touch {}\"\n", restored.display());
    bed.file("", "", &format!("on = \"ssh:dut\"\nssh-config = \"{}\"\n{keys}", config.display()));
    let scenario = scenarios().join("kernel-nat44.toml");
    let output = bed.natmeter(&quick(scenario.to_str().unwrap(), &["--set", "sweep.connections=2000"]));
    let says = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{says}");
    assert!(says.contains("connection") && says.contains("natmeter resume"), "{says}");
    let output = bed.natmeter(&["resume", folder_of(&bed).unwrap().to_str().unwrap(), "--beside", "--quiet"]);
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| [0, 3, 6].contains(&code)), "{says}");
    assert!(restored.exists(), "the box was restored");
}

/// A connection that stays lost leaves the box as it is: `natmeter clean` restores it when it can be reached again.
#[test]
#[ignore = "needs root"]
fn a_box_that_cannot_be_reached_is_restored_by_clean() {
    let lab = Lab::new();
    let [tester, device] = lab.namespaces();
    let bed = Bed::between(tester, device);
    bed.forward();
    bed.translate();
    let (config, restored) = (lab.config(), bed.folder.path().join("restored"));
    let keys = format!(
        "prepare = \"true\"\nclear = \"ip link set mgmt down; sleep 60\"\nrestore = \"touch {}\"\n",
        restored.display()
    );
    bed.file("", "", &format!("on = \"ssh:dut\"\nssh-config = \"{}\"\n{keys}", config.display()));
    let scenario = scenarios().join("kernel-nat44.toml");
    let output = bed.natmeter(&quick(scenario.to_str().unwrap(), &["--set", "sweep.connections=2000"]));
    let says = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{says}");
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

/// A box that stops forwarding in the middle of a run is dead; the run is resumed when it forwards again.
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
    let hook = bed.folder.path().join("clear");
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bed.file("", "", "clear = \"./clear\"");
    let scenario = scenarios().join("kernel-nat44.toml");
    let output = bed.natmeter(&quick(scenario.to_str().unwrap(), &["--set", "sweep.connections=2000"]));
    let says = String::from_utf8_lossy(&output.stderr);
    let is_resumable = says.contains("does not answer") || says.contains("natmeter resume");
    assert!(!output.status.success() && is_resumable, "{says}");
    run(&bed.device, "sysctl -qw net.ipv4.ip_forward=1");
    let output = bed.natmeter(&["resume", folder_of(&bed).unwrap().to_str().unwrap(), "--beside", "--quiet"]);
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| [0, 3, 6].contains(&code)), "{says}");
}

/// A cable that is pulled in a trial makes the trial invalid, and the run goes on.
#[test]
#[ignore = "needs root"]
fn a_cable_that_is_pulled_invalidates_a_trial() {
    let bed = Bed::nat44();
    bed.file("", "", &bed.kernel_hooks());
    let scenario = scenarios().join("kernel-nat44.toml");
    let set = ["--set", "sweep.connections=2000", "--set", "measure.duration=3 s", "--set", "measure.max-rate=2k"];
    let args = quick(scenario.to_str().unwrap(), &set);
    let mut command = bed.tester.command(env!("CARGO_BIN_EXE_natmeter"), Sight::NetworkAndSysfs);
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

/// A stateless box needs no hooks.
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
        let output = bed.tester.command("sh", Sight::NetworkAndSysfs).args(["-c", all]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    bed.file("", "", &bed.kernel_hooks());
    let before = state();
    let scenario = scenarios().join("kernel-nat44.toml");
    bed.run(&scenario, &["--set", "sweep.connections=2000"]);
    assert_eq!(state(), before);
    let mut command = bed.tester.command(env!("CARGO_BIN_EXE_natmeter"), Sight::NetworkAndSysfs);
    command.current_dir(bed.folder.path()).args([
        "run",
        scenario.to_str().unwrap(),
        "--bed",
        "bed.toml",
        "--beside",
        "--quiet",
    ]);
    let mut child = command.args(["--set", "sweep.connections=2000"]).spawn().unwrap();
    let opened = || {
        bed.tester.run_in(|| std::fs::read_to_string("/proc/thread-self/net/packet").unwrap()).unwrap().lines().count()
            > 1
    };
    until(opened);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(state(), before);
}

/// The technology's table of a scenario.
fn technology(scenario: &str) -> String {
    let text = std::fs::read_to_string(scenarios().join(scenario)).unwrap();
    let from = text.find("[technology").unwrap();
    let upto = text[from..].find("\n[traffic").or_else(|| text[from..].find("\n[sweep")).unwrap();
    text[from..from + upto].to_owned()
}

/// Customer edge and provider edge are two boxes, each a `natmeter gateway`, with IPv6 between them.
fn two_boxes(scenario: &str) {
    has_rates(&between_two(scenario, &Bed::new(), &Netns::new().unwrap(), &[("ce", ""), ("pe", "")], "1"), 2);
}

/// The customer edge of MAP-T may be two boxes with hooks of their own.
#[test]
#[ignore = "needs root"]
fn three_boxes_with_map_t() {
    let bed = Bed::new();
    let prepared = |role: &str| bed.folder.path().join(format!("prepared-{role}"));
    let hook = |role: &str| format!("prepare = \"touch {}\"\n", prepared(role).display());
    let [nat44, nat46, pe] = ["ce-nat44", "ce-nat46", "pe"].map(hook);
    let boxes = [("ce-nat44", &*nat44), ("ce-nat46", &*nat46), ("pe", &*pe)];
    has_rates(&between_two("map-t.toml", &bed, &Netns::new().unwrap(), &boxes, "1"), 2);
    for (role, _) in boxes {
        assert!(prepared(role).exists(), "the hook of {role} was run");
    }
}

/// The same boxes are two hosts with sshd: each has its own hooks. The cores of one of them vary, and the report names it.
#[test]
#[ignore = "needs root"]
fn two_boxes_over_ssh() {
    let ce = Lab::new();
    let [tester, device] = ce.namespaces();
    let pe = Lab::beside(tester.clone(), 1);
    let [_, provider] = pe.namespaces();
    let ssh = |lab: &Lab, cores: &str| {
        format!("on = \"ssh:dut\"\nssh-config = \"{}\"\ncores = \"{cores}\"\n", lab.config().display())
    };
    let [of_ce, of_pe] = [ssh(&ce, "test {cores} = 32"), ssh(&pe, "test {cores} -le 2")];
    let boxes = [("ce", &*of_ce), ("pe", &*of_pe)];
    let cores = "{ pe = [1, 2], ce = 32 }";
    let report = between_two("map-t.toml", &Bed::between(tester, device), &provider, &boxes, cores);
    has_rates(&report, 4);
    let facts = &report["facts"]["duts"]["external"];
    assert_eq!((&facts["box whose cores vary"], &facts["ce cores"]), (&"pe".into(), &"32".into()));
}

/// Boxes with these names and keys; the last one is the provider edge, and all others are the customer edge.
fn between_two(scenario: &str, bed: &Bed, provider: &Netns, boxes: &[(&str, &str)], cores: &str) -> Value {
    // The box of the bed is the customer edge; its right end moves to the provider edge.
    run(&bed.device, &format!("ip link set d-right netns {}", provider.path().display()));
    cable(&bed.device, "access", provider, "access");
    for (ns, names) in [(&bed.device, ["d-left", "access"]), (provider, ["access", "d-right"])] {
        for name in names {
            run(ns, &format!("sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1"));
            run(ns, &format!("ip addr flush dev {name}"));
            run(ns, &format!("ip link set {name} up"));
            run(ns, &format!("ethtool -K {name} tx off tso off gso off gro off"));
        }
    }
    let technology = technology(scenario);
    let (at_ce, at_pe) = ("2001:2:0:100::1", "2001:2:0:100::2");
    let left = ("d-left", "198.18.0.1", "198.18.0.2");
    let right = ("d-right", "198.19.0.1", "198.19.0.2");
    let ce_file = config("ce", left, ("access", at_ce, at_pe), &technology);
    let pe_file = config("pe", ("access", at_pe, at_ce), right, &technology);
    let edges = Running::both_edges(bed.folder.path(), (&bed.device, &ce_file), (provider, &pe_file));
    let hook = |name: &str, edge: &Running, keys: &str| {
        let socket = edge.socket.display();
        let natmeter = env!("CARGO_BIN_EXE_natmeter");
        format!("[dut.{name}]\n{keys}clear = \"{natmeter} gateway clear --socket {socket}\"\n")
    };
    let hooks: Vec<String> =
        boxes.iter().map(|(name, keys)| hook(name, &edges[usize::from(*name == "pe")], keys)).collect();
    bed.file("", "", &hooks.concat());
    let cores = format!("sweep.cores={cores}");
    let report = bed.run(&scenarios().join(scenario), &["--set", "sweep.connections=2000", "--set", &cores]);
    edges.into_iter().for_each(Running::stop);
    report
}

/// An address of a box, and the next hop: the tester's address, or its Ethernet address where the gateway cannot ask for it, because
/// the tester is not there yet.
type End = (&'static str, &'static str);
const IPV4: [End; 2] = [("198.18.0.1", "198.18.0.2"), ("198.19.0.1", "198.19.0.2")];
const IPV6: [End; 2] = [("2001:2:0:1800::2", "02:00:00:00:18:01"), ("2001:2:0:1900::2", "02:00:00:00:19:01")];

/// The box is one `natmeter gateway`; the tester plays what is missing on its other sides.
fn one_box(scenario: &str, plays: &str, [left, right]: [End; 2]) {
    let bed = Bed::new();
    for name in ["d-left", "d-right"] {
        run(&bed.device, &format!("ip addr flush dev {name}"));
    }
    for (name, (_, next)) in [(LEFT, IPV6[0]), (RIGHT, IPV6[1])] {
        run(&bed.tester, &format!("ip link set {name} address {next}"));
    }
    let (own, next) = ([left.0, right.0], [left.1, right.1]);
    let file = config(plays, ("d-left", own[0], next[0]), ("d-right", own[1], next[1]), &technology(scenario));
    let mut edge = Running::start(&bed.device, bed.folder.path(), plays, &file);
    edge.wait();
    let clear =
        format!("clear = \"{} gateway clear --socket {}\"", env!("CARGO_BIN_EXE_natmeter"), edge.socket.display());
    bed.file_with(own, "", "", &clear);
    let text = std::fs::read_to_string(scenarios().join(scenario)).unwrap();
    // The NAT of 464XLAT and DS-Lite is in the provider edge.
    let is_stateless = plays == "ce" && ["464xlat.toml", "ds-lite.toml"].contains(&scenario);
    if is_stateless {
        let file = bed.folder.path().join("stateless.toml");
        let text = format!(
            "name = \"x\"\n[dut.embedded]\nplays = \"{plays}\"\n{}\n[measure]\nmetrics = \"throughput\"\n",
            technology(scenario)
        );
        std::fs::write(&file, text).unwrap();
        has_rates(&bed.run(&file, &[]), 1);
    } else {
        let plays = format!("dut.embedded.plays={plays}");
        let is_stateful = text.contains("\nconnections");
        let connections = ["--set", "sweep.connections=2000"].into_iter().filter(|_| is_stateful);
        let more: Vec<&str> = ["--set", &plays].into_iter().chain(connections).collect();
        has_rates(&bed.run(&scenarios().join(scenario), &more), 1 + usize::from(is_stateful));
    }
    edge.stop();
}

macro_rules! boxes {
    ($plays:literal $left:expr, $right:expr; $($name:ident $scenario:literal)*) => {$(
        #[test]
        #[ignore = "needs root"]
        fn $name() {
            one_box($scenario, $plays, [$left[0], $right[1]]);
        }
    )*};
}

boxes! { "pe" IPV6, IPV4;
    a_map_t_relay_of_several_rules_as_box "map-t-br-several-rules.toml"
    a_plat_as_box "plat.toml"
    an_aftr_as_box "aftr.toml"
    an_lwaftr_as_box "lwaftr.toml"
    a_map_e_relay_as_box "map-e-br.toml"
    a_map_t_relay_as_box "map-t-br.toml"
}

boxes! { "ce" IPV4, IPV6;
    a_clat_as_box "464xlat.toml"
    a_b4_as_box "ds-lite.toml"
    an_lwb4_as_box "lw4o6.toml"
    a_map_e_ce_as_box "map-e.toml"
    a_map_t_ce_as_box "map-t.toml"
}

boxes! { "pe" IPV4, IPV6; a_nat46_as_box "nat46.toml" }
boxes! { "pe" IPV6, IPV6; a_nat66_as_box "nat66.toml" }

macro_rules! dual_duts {
    ($($name:ident $scenario:literal)*) => {$(
        #[test]
        #[ignore = "needs root"]
        fn $name() {
            two_boxes($scenario);
        }
    )*};
}

dual_duts! {
    two_boxes_with_464xlat "464xlat.toml"
    two_boxes_with_ds_lite "ds-lite.toml"
    two_boxes_with_lw4o6 "lw4o6.toml"
    two_boxes_with_map_e "map-e.toml"
    two_boxes_with_map_t "map-t.toml"
}
