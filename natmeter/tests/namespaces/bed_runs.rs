//! What runs over a test bed: scenarios of other devices, boxes without hooks and with cores, ports in this process's own namespace,
//! and the time that a run takes.

use super::beds::{Bed, LEFT, RIGHT, folder_of, has_rates, quick, scenarios, two_queues, until};
use super::program::NATMETER;
use super::{run, said};
use method::Nanos;
use natmeter::forecast;
use port::Netns;
use port::netns::Sight;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs root"]
fn scenarios_of_other_devices_run_over_a_bed() {
    let bed = Bed::nat44();
    // This box has the same cores at each value.
    bed.file("", "", &format!("{}\ncores = \"true {{cores}}\"", bed.kernel_hooks()));
    for (name, results) in
        [("quickstart.toml", 2), ("kernel-nat44-xdp.toml", 2), ("gateway-cores.toml", 4), ("kernel-cores.toml", 4)]
    {
        has_rates(&bed.run(&scenarios().join(name), &["--set", "sweep.connections=2000"]), results);
    }
}

/// Without hooks natmeter waits until the connections of an earlier trial have timed out, and the report says so.
#[test]
#[ignore = "needs root"]
fn a_stateful_box_without_hooks_is_waited_for() {
    let bed = Bed::nat44();
    bed.file("", "", "");
    let text = "name = \"waits\"\n[dut.external]\n[technology.nat44]\nmapping = \"address-and-port-dependent\"\n\
        udp-timeout = \"120 s\"\n[sweep]\nconnections = 500\n[measure]\nmetrics = \"max_conn_est_rate\"\n";
    std::fs::write(bed.folder.path().join("waits.toml"), text).unwrap();
    // What started this test may ignore the signal.
    let mut command = bed.tester.command("env", Sight::NetworkAndSysfs);
    command.args(["--default-signal=INT", NATMETER]);
    command.current_dir(bed.folder.path()).args(quick("waits.toml", &[])).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let said = |file: &str| {
        let text = folder_of(&bed).and_then(|run| std::fs::read_to_string(run.join(file)).ok());
        text.unwrap_or_default()
    };
    until(|| said("facts.json").contains("natmeter waits 133 s before each phase 1"));
    std::thread::sleep(Duration::from_secs(2));
    assert!(said("facts.json").contains("only the tester counted them"), "{}", said("facts.json"));
    assert_eq!(said("trials.jsonl"), "", "it waits before the first phase 1, too");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A box without `clear` keeps connections for 1,000 s. Each phase 1 has source ports of its own, so that nothing waits, every
/// connection is new, and the box holds those of all phases 1 of both runs.
#[test]
#[ignore = "needs root"]
fn a_stateful_box_without_hooks_gets_fresh_ports() {
    const N: usize = 200;
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", "");
    let text = format!(
        "name = \"fresh\"\n[dut.external]\n[technology.nat44]\nmapping = \"address-and-port-dependent\"\nudp-timeout = \"1000 s\"\n\
         [traffic]\nsource-ports = \"1024-60000\"\n[sweep]\nconnections = {N}\n[measure]\nmetrics = \"max_conn_est_rate\"\n\
         without-clear = \"fresh-ports\"\n"
    );
    let file = bed.folder.path().join("fresh.toml");
    std::fs::write(&file, text).unwrap();
    let begun = Instant::now();
    let reports = [0, 1].map(|_| bed.run(&file, &[]));
    assert!(begun.elapsed() < Duration::from_secs(1000), "nothing timed out");
    let trials: u64 = reports.iter().map(|report| report["results"][0]["trials"].as_u64().unwrap()).sum();
    for report in &reports {
        has_rates(report, 1);
        assert!(report.to_string().contains("each phase 1 has one of 294 parts of the source ports, 200 ports each"));
    }
    let listed = said(&bed.device, "conntrack", &["-L", "-p", "udp"]);
    let source = |line: &str| line.split_once("sport=").map(|(_, rest)| rest.split(' ').next().unwrap().to_owned());
    let ports: BTreeSet<String> = listed.lines().filter_map(source).collect();
    let entries = listed.lines().filter(|line| line.contains("sport=")).count();
    assert_eq!(ports.len(), entries, "no source port has two connections");
    assert!(trials >= 2 && entries > N && entries <= trials as usize * N, "{entries} entries of {trials} trials");
}

/// A box that loses frames after the last trial of a point: a second at half the last rate shows it. Its hook `count` is called twice
/// by each trial of phase 2, and once more only by that second, which keeps the table: then the hook makes the box lose frames.
#[test]
#[ignore = "needs root"]
fn a_box_that_changes_after_its_trials_is_doubted() {
    const HOOK: &str = "#!/bin/sh\ncase $1 in\nclear) echo 0 >counts; INSIDE conntrack -F ;;\n\
        count) n=$(($(cat counts) + 1)); echo $n >counts\ntest $n -lt $2 || \
        INSIDE nft add rule ip user pass limit rate over 10/second burst 5 packets drop\n\
        INSIDE cat /proc/sys/net/netfilter/nf_conntrack_count ;;\nesac\n";
    let bed = Bed::nat44();
    bed.filter(&[]);
    bed.script("hook", &HOOK.replace("INSIDE", &bed.inside("")));
    let doubts = |changes_at: u32| {
        bed.file(
            "silence = \"10 ms\"",
            "",
            &format!("clear = \"./hook clear\"\ncount = \"./hook count {changes_at}\""),
        );
        let report = bed.run(&scenarios().join("kernel-nat44.toml"), &["--set", "sweep.connections=500"]);
        has_rates(&report, 2);
        report.to_string().matches("half of its last rate: it may have changed during the trials").count()
    };
    assert_eq!(doubts(100), 0);
    assert!(doubts(3) > 0);
}

/// The ports are in the namespace of this process, as those of a user are. They are as before after a run, and after a kill.
#[test]
#[ignore = "needs root"]
fn a_port_of_this_namespace_is_as_before() {
    let device = Netns::new().unwrap();
    let bed = Bed::between(Netns::current().unwrap(), device);
    bed.forward();
    bed.file("", "", "");
    let state = || {
        let all = "ip -d address show dev t-left; ip route show dev t-left; ip neigh show dev t-left nud permanent; \
            tc qdisc show dev t-left; tc filter show dev t-left ingress; ethtool -k t-left";
        said(&bed.tester, "sh", &["-c", all])
    };
    let before = state();
    assert!(before.contains("198.18.0.2/24"), "{before}");
    let scenario = scenarios().join("kernel-forwarding.toml");
    let ipv4 = bed.folder.path().join("forwarding.toml");
    let text = std::fs::read_to_string(scenario).unwrap().replace("[dut.linux-ipv6-forwarding]", "");
    std::fs::write(&ipv4, text).unwrap();
    has_rates(&bed.run(&ipv4, &[]), 1);
    assert_eq!(state(), before);
    let mut command = bed.tester.command(NATMETER, Sight::NetworkAndSysfs);
    command.current_dir(bed.folder.path()).args(quick("forwarding.toml", &["--set", "measure.duration=10 s"]));
    let mut child = command.spawn().unwrap();
    until(|| sockets(&bed) > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    until(|| sockets(&bed) == 0);
    assert_eq!(state(), before);
    for name in [LEFT, RIGHT] {
        run(&bed.tester, &format!("ip link del {name}"));
    }
}

/// Packet sockets on the left port.
fn sockets(bed: &Bed) -> usize {
    let opened = bed.tester.run_in(|| std::fs::read_to_string("/proc/thread-self/net/packet").unwrap()).unwrap();
    let shown = said(&bed.tester, "ip", &["-o", "link", "show", LEFT]);
    let index = shown.split(':').next();
    opened.lines().filter(|line| line.split_ascii_whitespace().nth(4) == index).count()
}

/// The plan of a bed against a box of a known rate. With an absolute error the number of trials does not depend on the rate, and the
/// trials take as long as predicted, within 20 %. Otherwise their time lies in the range that the plan prints. Invalid trials do
/// not count.
#[test]
#[ignore = "needs root"]
fn a_run_takes_the_time_of_its_plan() {
    let bed = Bed::forwarding();
    bed.filter(&["limit rate over 4000/second burst 100 packets drop"]);
    let bed_file = bed.file("silence = \"10 ms\"", "", "");
    for (error, is_known) in [("200 fps", true), ("1 %", false)] {
        let text = format!(
            "name = \"timed\"\n[dut.external]\n[measure]\nmetrics = \"throughput\"\nrepetitions = 1\nduration = \"1 s\"\n\
             start-delay = \"100 ms\"\ndrain = \"200 ms\"\nsettle = \"100 ms\"\nerror = \"{error}\"\nmax-rate = \"10k\"\n"
        );
        let file = bed.folder.path().join("timed.toml");
        std::fs::write(&file, text).unwrap();
        let (_, bed_text) = scenario::bed::read(&bed_file).unwrap();
        let options = scenario::Options { bed: Some(bed_text), ..scenario::Options::default() };
        let scenario = scenario::read(&file, &options, tech::ALL).unwrap().scenario;
        let plan = forecast::plan(&scenario);
        let [fast, slow] = forecast::of_boxes(&scenario, &plan).unwrap().map(Nanos::as_secs_f64);
        let predicted = plan.predicted().as_secs_f64();
        let output =
            bed.natmeter(&["run", "timed.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"]);
        assert!(output.status.code().is_some_and(|code| [0, 3, 6].contains(&code)), "{output:?}");
        let run = folder_of(&bed).unwrap();
        let valid = seconds_of_valid_trials(&run);
        println!("{error}: predicted {predicted:.1} s, {fast:.1} s to {slow:.1} s; valid trials took {valid:.1} s");
        let is_right = if is_known { (valid / predicted - 1.0).abs() <= 0.2 } else { (fast..=slow).contains(&valid) };
        assert!(is_right, "{error}: {valid} s, predicted {predicted} s, {fast} s to {slow} s");
        std::fs::remove_dir_all(run).unwrap();
    }
}

/// The time of the valid trials of a run, with what is before and after them.
fn seconds_of_valid_trials(run: &Path) -> f64 {
    let trials = std::fs::read_to_string(run.join("trials.jsonl")).unwrap();
    let trials = trials.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let valid = trials.filter(|trial| !trial["verdict"]["invalid"].is_object());
    valid.map(|trial| trial["outcome"]["wall"].as_f64().unwrap() / 1e9).sum()
}

fn null_devices(report: &serde_json::Value) -> usize {
    let results = report["results"].as_array().unwrap();
    results.iter().map(|result| result["null"].as_array().map_or(0, Vec::len)).sum()
}

/// T0 is measured once, cabled left to right; checks, runs and reports then use it.
#[test]
#[ignore = "needs root"]
fn t0_is_kept_and_is_the_null_device_of_runs() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", &bed.kernel_hooks());
    let before = bed.run_nat44();
    assert_eq!(null_devices(&before), 0);
    for name in [LEFT, RIGHT] {
        run(&bed.tester, &format!("ip link del {name}"));
    }
    two_queues(&bed.tester, LEFT, &bed.tester, RIGHT);
    let output = bed.natmeter(&["bed", "t0", "bed.toml", "--beside"]);
    let says = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && says.contains("Cable the box in again"), "{output:?}");
    run(&bed.tester, &format!("ip link del {LEFT}"));
    bed.cable();
    let kept: Vec<scenario::bed::T0> = scenario::bed::read_t0(&bed.folder.path().join("bed.toml")).unwrap();
    let [t0] = &kept[..] else { panic!("{kept:?}") };
    assert!(t0.frames > 0 && t0.sent >= t0.frames / 2 && t0.ports[0].starts_with("t-left, af-packet"), "{t0:?}");
    let lines = bed.check(&[]);
    let line = lines.iter().find(|(name, ..)| name == "T0").unwrap_or_else(|| panic!("{lines:?}"));
    assert!(line.1 == "ok" && line.2.contains(&t0.date), "{line:?}");
    let after = bed.run_nat44();
    assert!(null_devices(&after) > 0, "{after}");
    // T0 of other ports does not count.
    bed.file("silence = \"10 ms\"", "queues = 2", &bed.kernel_hooks());
    let lines = bed.check(&[]);
    assert!(lines.iter().any(|(name, grade, _)| name == "T0" && grade == "not run"), "{lines:?}");
}

/// With several queues the check names their frames, and a queue that is starved. XDP in the generic path of a veth gives all frames to the first one.
#[test]
#[ignore = "needs root"]
fn the_spread_over_queues_is_checked() {
    let bed = Bed::nat44();
    for io in ["af-packet", "af-xdp-generic"] {
        bed.file("silence = \"10 ms\"", &format!("io = \"{io}\"\nqueues = 2"), &bed.kernel_hooks());
        let lines = bed.check(&[]);
        for side in ["left", "right"] {
            let name = format!("{side} queues");
            let (_, grade, words) = lines.iter().find(|line| line.0 == name).unwrap_or_else(|| panic!("{lines:?}"));
            let (head, _) = words.split_once(';').unwrap_or((words, ""));
            let of_queues = head.strip_prefix("frames received: ").unwrap().split(", ");
            let of_queues: Vec<u64> = of_queues.map(|n| n.parse().unwrap()).collect();
            assert_eq!((of_queues.len(), of_queues.iter().sum()), (2, 1_000_u64), "{io}: {words}");
            // Half of the share of one of two queues.
            let is_starved = of_queues.iter().any(|n| *n < 250);
            assert!(is_starved || io == "af-packet", "{words}");
            let (expected, says) = if is_starved { ("doubt", "has less than half of its share") } else { ("ok", "") };
            assert!(grade == expected && words.contains(says), "{io} {side}: {grade} {words}");
        }
    }
}

/// `bed init` finds the cabled interfaces and their sides; its file is checked without a change.
#[test]
#[ignore = "needs root"]
fn the_file_that_init_writes_is_a_bed() {
    let bed = Bed::nat44();
    let output = bed.natmeter(&["bed", "init"]);
    let says = String::from_utf8_lossy(&output.stdout);
    assert!(says.contains("left is t-left, right is t-right"), "{output:?}");
    let again = bed.natmeter(&["bed", "init"]);
    assert!(!again.status.success(), "a file that exists is not replaced");
    let output = bed.natmeter(&["bed", "check", "bed.toml", "--beside", "--set", "sweep.connections=100"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
