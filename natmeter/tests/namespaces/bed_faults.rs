//! What can be wrong with a test bed: each fault is named with a way out, by `natmeter bed check` and where a run could do harm by the
//! run, too.

use super::beds::{Bed, LEFT, RIGHT, folder_of, quick, scenario};
use super::program::NATMETER;
use super::{config, run, said};
use port::netns::Sight;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Gives each link of the box the address of the other.
fn exchange(bed: &Bed) {
    for (name, old, new) in [("d-left", 18, 19), ("d-right", 19, 18)] {
        run(&bed.device, &format!("ip addr del 198.{old}.0.1/24 dev {name}"));
        run(&bed.device, &format!("ip addr add 198.{new}.0.1/24 dev {name}"));
    }
}

macro_rules! faults {
    ($($name:ident($bed:ident) $make:expr, $break:block, $says:literal;)*) => {$(
        #[test]
        #[ignore = "needs root"]
        fn $name() {
            let $bed = $make;
            $bed.file("silence = \"10 ms\"", "", "");
            $break
            let said = $bed.failing();
            assert!(said.contains($says), "{said}");
        }
    )*};
}

faults! {
    an_interface_that_is_missing(bed) Bed::nat44(), { run(&bed.tester, "ip link set t-left down name other"); },
        "t-left does not exist; this machine has";
    an_interface_that_is_down(bed) Bed::nat44(), { run(&bed.tester, "ip link set t-left down"); },
        "ip link set t-left up";
    a_cable_without_carrier(bed) Bed::nat44(), { run(&bed.device, "ip link set d-left down"); },
        "or its cable has no carrier";
    a_default_route_through_a_port(bed) Bed::nat44(), { run(&bed.tester, "ip route add default via 198.18.0.1"); },
        "i-know = [\"default-route\"]";
    a_silent_neighbour(bed) Bed::nat44(), { run(&bed.device, "ip addr del 198.18.0.1/24 dev d-left"); },
        "198.18.0.1";
    // Linux answers on each link for the addresses of all.
    exchanged_cables(bed) Bed::nat44(), { exchange(&bed); }, "left and right are swapped: swap the cables";
    exchanged_cables_of_a_strict_box(bed) Bed::nat44(), {
        run(&bed.device, "sysctl -qw net.ipv4.conf.all.arp_ignore=1");
        exchange(&bed);
    }, "answers on the other one: left and right are swapped";
    a_box_that_does_not_translate(bed) Bed::forwarding(), {}, "does not translate";
    a_box_that_does_not_forward(bed) Bed::nat44(), { run(&bed.device, "sysctl -qw net.ipv4.ip_forward=0"); },
        "see that the box forwards";
    a_box_that_prohibits(bed) Bed::nat44(), { run(&bed.device, "ip route add prohibit 198.19.0.2/32"); },
        "ICMP 3/13 (communication administratively prohibited) from 198.18.0.1";
    a_box_that_forwards_to_the_right_only(bed) Bed::nat44(), {
        run(&bed.device, "nft add table ip block");
        run(&bed.device, "nft add chain ip block forward { type filter hook forward priority 0; }");
        run(&bed.device, "nft add rule ip block forward iifname d-right drop");
    }, "frames right to left were right";
}

#[test]
#[ignore = "needs root"]
fn a_clear_without_a_count_is_doubted() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", "clear = \"true\"");
    let lines = bed.check(&[]);
    let doubt = |(name, grade, words): &&(String, String, String)| {
        name == "hooks of dut"
            && grade == "doubt"
            && words.contains("nothing shows that `clear` empties the table: set `count`")
    };
    assert!(lines.iter().any(|line| doubt(&line)), "{lines:?}");
    bed.nat44_ends();
    let facts = std::fs::read_to_string(folder_of(&bed).unwrap().join("facts.json")).unwrap();
    assert!(facts.contains("Nothing shows that the hook `clear` empties the table of the box"), "{facts}");
}

/// The far end of the right port accepts frames of 1,418 octets.
#[test]
#[ignore = "needs root"]
fn frames_above_the_mtu_of_a_far_end_are_named() {
    let bed = Bed::forwarding();
    run(&bed.device, "ip link set d-right mtu 1400");
    bed.file("silence = \"10 ms\"", "", "");
    let text = "name = \"mtu\"\n[dut.external]\n[traffic]\nframe-size = 1518\n[measure]\nmetrics = \"throughput\"\n";
    std::fs::write(bed.folder.path().join("mtu.toml"), text).unwrap();
    let output = bed.natmeter(&["run", "mtu.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no frame of 1518 octets could be sent: see the MTU"), "{said}");
}

/// The box is a `natmeter gateway` with a fault, started by natmeter. Its check and a short run name the fault.
#[test]
#[ignore = "needs root"]
fn a_gateway_with_a_fault_of_the_gallery() {
    let bed = Bed::new();
    let start = |fault: &str| {
        let gateway = config(
            "pe",
            ("left", "198.18.0.1", "02:00:c6:12:00:02"),
            ("right", "198.19.0.1", "02:00:c6:13:00:02"),
            &format!(
                "[gateway.known-truth]\nfault = \"{fault}\"\n[technology.nat44]\ninside = \"198.18.0.0/24\"\n\
                 pool = \"198.19.0.1\"\nmapping = \"address-and-port-dependent\"\n"
            ),
        );
        let socket = bed.folder.path().join("fault.sock");
        std::fs::write(bed.folder.path().join("g.toml"), gateway.replace("SOCKET", socket.to_str().unwrap())).unwrap();
        let clear = format!("{NATMETER} gateway clear --socket {}", socket.display());
        bed.file(
            "silence = \"10 ms\"",
            "",
            &format!(
                "on = \"namespace\"\nstart = \"{NATMETER} gateway --quiet --config g.toml\"\nclear = \"{clear}\"\n"
            ),
        );
    };
    // With the words of the report, if they are others than those of the check.
    for (name, says) in [
        ("udp-checksum-zero", ""),
        ("identification-constant", ""),
        ("ttl-kept", ""),
        ("tos-changed", ""),
        ("mapping-shared", ""),
        ("duplicated", ""),
        ("reordered", "Frames arrived out of order"),
        ("trailer", ""),
        ("fragmented", ""),
        ("icmp-error", ""),
        ("vlan-tag", ""),
        ("returned", "left port: 1000 that came back to the port that sent them"),
    ] {
        let prints = gateway::KnownFault::named(name).unwrap().prints;
        start(name);
        let check = bed.check(&[]);
        assert!(check.iter().any(|(.., words)| words.contains(prints)), "{name}: {check:?}");
        bed.nat44_ends();
        let run = folder_of(&bed).unwrap();
        let report = bed.natmeter(&["report", run.to_str().unwrap()]);
        let report = String::from_utf8_lossy(&report.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(report.contains(if says.is_empty() { prints } else { says }), "{name}: {report}");
        std::fs::remove_dir_all(run).unwrap();
    }
}

/// Starts natmeter in the tester's namespace, with a `/run` of the bed's own: other runs on this machine do not count.
fn begun(bed: &Bed, args: &[&str]) -> Child {
    let own = bed.folder.path().join("run");
    std::fs::create_dir_all(&own).unwrap();
    let mut command = bed.tester.command("unshare", Sight::Network);
    command.args(["--mount", "sh", "-c", "mount --bind \"$0\" /run && exec \"$@\""]).arg(own);
    command.arg(NATMETER).args(args).current_dir(bed.folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The ports of a bed belong to one process at a time; a kill releases them.
#[test]
#[ignore = "needs root"]
fn ports_in_use_by_another_process() {
    let bed = Bed::nat44();
    let check = ["bed", "check", "bed.toml"];
    bed.file("silence = \"10 min\"", "", "clear = \"true\"");
    // The nice value of this session, if the kernel groups tasks by session (sched(7)).
    let priority = || std::fs::read_to_string("/proc/self/autogroup").ok().filter(|group| !group.is_empty());
    let before = priority();
    let mut first = begun(&bed, &[&check[..], &["--beside"]].concat());
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("right port")), "the first one listens");
    assert!(priority().is_none_or(|now| now.trim_end().ends_with("nice -20")), "{:?}", priority());
    let words = format!("is in use by process {} (", first.id());
    let scenario = scenario("kernel-nat44.toml");
    for command in [&check[..], &["bed", "t0", "bed.toml"], &["run", &scenario, "--bed", "bed.toml"]] {
        let output = begun(&bed, &[command, &["--beside"]].concat()).wait_with_output().unwrap();
        let says = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{says}");
        assert!(says.contains("the interface t-") && says.contains(&words) && says.contains("--wait"), "{says}");
    }
    assert!(!bed.folder.path().join("runs").exists(), "nothing was begun");
    bed.file("silence = \"10 ms\"", "", "clear = \"true\"");
    // The first one has the machine, too: it is waited for on account of that, and the interfaces go with it.
    let mut waiting = begun(&bed, &[&check[..], &["--wait"]].concat());
    let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines().map_while(Result::ok);
    let words = format!("waiting for process {} (", first.id());
    assert!(lines.any(|line| line.starts_with(&words)), "it waits");
    first.kill().unwrap();
    first.wait().unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(priority(), before, "the check has restored the session's priority");
}

/// With `--wait`, a process waits for the interfaces also if the machine is free.
#[test]
#[ignore = "needs root"]
fn ports_in_use_are_waited_for() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", "");
    let dir = dut::RunDir::at(bed.folder.path().join("run/natmeter"));
    std::fs::create_dir(bed.folder.path().join("run")).unwrap();
    let locks = bed.tester.run_in(|| dut::port_lock::take(&dir, &[RIGHT])).unwrap().unwrap();
    let mut waiting = begun(&bed, &["bed", "check", "bed.toml", "--wait"]);
    let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines().map_while(Result::ok);
    let words = format!("waiting for process {} (", std::process::id());
    let said = lines.next().unwrap();
    assert!(said.starts_with(&words) && said.contains("which uses the interface t-right"), "{said}");
    drop(locks);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn mac(bed: &Bed, name: &str) -> String {
    said(&bed.tester, "cat", &[&format!("/sys/class/net/{name}/address")]).trim().to_owned()
}

#[test]
#[ignore = "needs root"]
fn an_ethernet_address_of_the_tester() {
    let bed = Bed::nat44();
    for (name, side) in [(LEFT, "left"), (RIGHT, "right")] {
        bed.file("silence = \"10 ms\"", &format!("mac = \"{}\"", mac(&bed, name)), "");
        let said = bed.failing();
        assert!(said.contains(&format!("the address of the tester's own {side} port, not of the box")), "{said}");
    }
    // The box answers with the address of a port of the tester.
    bed.file("silence = \"10 ms\"", "", "");
    run(&bed.device, &format!("ip link set d-left address {}", mac(&bed, RIGHT)));
    let said = bed.failing();
    assert!(said.contains("198.18.0.1 answers on the left with") && said.contains("own right port"), "{said}");
}

#[test]
#[ignore = "needs root"]
fn zero_copy_that_cannot_be_had() {
    let bed = Bed::nat44();
    for io in ["af-xdp", "af-xdp-native"] {
        bed.file("silence = \"10 ms\"", &format!("io = \"{io}\"\nzero-copy = \"required\"\nqueues = 2"), "");
        let said = bed.failing();
        assert!(said.contains("zero-copy is required on t-left, and cannot be had (driver veth)"), "{said}");
        assert!(said.contains("write zero-copy = \"if-possible\""), "{said}");
    }
}

/// Connects both ends of the box with a bridge beside it.
fn bridged(bed: &Bed) {
    run(&bed.device, "ip link add loop type bridge");
    for name in ["d-left", "d-right"] {
        run(&bed.device, &format!("ip link set {name} master loop"));
    }
    run(&bed.device, "sysctl -qw net.ipv6.conf.loop.disable_ipv6=1");
    run(&bed.device, "ip link set loop up");
}

#[test]
#[ignore = "needs root"]
fn a_bridge_between_the_ports() {
    let bed = Bed::nat44();
    // Ethernet addresses are given, because a bridge takes the addresses of the box from its ends.
    bed.file("silence = \"10 ms\"", "mac = \"02:00:00:00:00:77\"", "clear = \"true\"");
    bridged(&bed);
    let words = "both ports are in one Ethernet";
    let said = bed.failing();
    assert!(
        said.contains(words) && said.contains("Remove the bridge") && said.contains("i-know = [\"bridge\"]"),
        "{said}"
    );
    let (code, says) = bed.nat44_ends();
    assert!(code == Some(2) && says.contains(words), "{says}");
    bed.file("silence = \"10 ms\"\ni-know = \"bridge\"", "mac = \"02:00:00:00:00:77\"", "");
    let lines = bed.check(&[]);
    assert!(lines.iter().any(|(name, grade, _)| name == "loops" && grade == "doubt"), "{lines:?}");
}

/// Two cables between two switches: what a port sends comes back to it.
#[test]
#[ignore = "needs root"]
fn a_loop_between_switches() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", "");
    // The kernel of the box sends what comes in on the left back to it.
    run(&bed.device, "nft add table netdev loop");
    run(&bed.device, "nft add chain netdev loop in { type filter hook ingress device d-left priority 0 ; }");
    run(&bed.device, "nft add rule netdev loop in ether type 0x88b5 fwd to d-left");
    let said = bed.failing();
    assert!(said.contains("sent on the left came back to it (1 times): there is a loop"), "{said}");
}

/// The bed of a laboratory whose box is reached over a port.
#[test]
#[ignore = "needs root"]
fn ssh_over_a_port() {
    let bed = Bed::nat44();
    let config = bed.folder.path().join("ssh_config");
    std::fs::write(
        &config,
        "Host dut\n HostName 203.0.113.9\nHost gate\n HostName 198.19.0.1\nHost far\n ProxyJump gate\n",
    )
    .unwrap();
    run(&bed.tester, "ip route add 203.0.113.0/24 via 198.18.0.1");
    for (host, words) in [("dut", "(dut, 203.0.113.9) through t-left"), ("far", "(far, 198.19.0.1) through t-right")] {
        bed.file(
            "silence = \"10 ms\"",
            "",
            &format!("on = \"ssh:{host}\"\nssh-config = \"ssh_config\"\nclear = \"true\""),
        );
        let said = bed.failing();
        assert!(said.contains(words) && said.contains("through another interface"), "{said}");
        let (code, says) = bed.nat44_ends();
        assert!(code == Some(2) && says.contains(words), "{says}");
    }
}

/// The default route leads through an interface above a port, as a VLAN of it is.
#[test]
#[ignore = "needs root"]
fn a_default_route_through_an_interface_above_a_port() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", "");
    run(&bed.tester, "ip link add link t-right name office type macvlan");
    run(&bed.tester, "ip addr add 10.7.0.2/24 dev office");
    run(&bed.tester, "ip link set office up");
    run(&bed.tester, "ip route add default via 10.7.0.1");
    let said = bed.failing();
    assert!(said.contains("leads through t-right or office above it"), "{said}");
    assert!(said.contains("i-know = [\"default-route\"]"), "{said}");
}

/// A bed whose left port is an IFB: it has no speed, and accepts no frame that natmeter sends.
fn with_ifb() -> Bed {
    let bed = Bed::forwarding();
    run(&bed.tester, &format!("ip link del {LEFT}"));
    run(&bed.tester, &format!("ip link add {LEFT} type ifb"));
    run(&bed.tester, &format!("ip link set {LEFT} up"));
    bed.file("silence = \"10 ms\"", "mac = \"02:00:00:00:00:77\"", "");
    bed
}

#[test]
#[ignore = "needs root"]
fn a_link_of_unknown_speed() {
    let lines = with_ifb().check(&[]);
    let line = lines.iter().find(|(name, ..)| name == "left link").unwrap_or_else(|| panic!("{lines:?}"));
    assert!(line.1 == "doubt" && line.2.contains("speed unknown") && line.2.contains("line-rate"), "{line:?}");
}

/// An interface whose counter of frames lost in the host rises with each frame that natmeter sends: an IFB accepts only what `tc`
/// redirects, and counts all else as `rx_dropped`. Every trial is invalid, so that the loss is never the box's. Counters of a
/// driver (`ethtool -S`) take a card.
#[test]
#[ignore = "needs root"]
fn a_card_that_loses_frames_invalidates_every_trial() {
    let bed = with_ifb();
    let text =
        "name = \"card\"\n[dut.external]\n[traffic]\ndirection = \"forward\"\n[measure]\nmetrics = \"throughput\"\n";
    std::fs::write(bed.folder.path().join("card.toml"), text).unwrap();
    let output =
        bed.natmeter(&quick("card.toml", &["--set", "measure.min-rate=10k", "--set", "measure.time-limit=5 s"]));
    let says = String::from_utf8_lossy(&output.stderr);
    let folder = folder_of(&bed).unwrap_or_else(|| panic!("{says}"));
    let trials = std::fs::read_to_string(folder.join("trials.jsonl")).unwrap();
    assert!(!trials.is_empty(), "{says}");
    let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for trial in &trials {
        // Of a trial that the host disturbed, too, the verdict names the host.
        assert!(trial["verdict"]["invalid"].is_object(), "{}", trial["verdict"]);
        let (sent, host) = (trial["outcome"]["forward"]["sent"].as_u64(), &trial["outcome"]["host"]);
        assert!(sent > Some(0) && host["tester_drops"].as_u64() == sent, "{sent:?}: {host}");
    }
    assert!(trials.iter().any(|trial| trial["verdict"].to_string().contains("tester-drops")), "{trials:?}");
}
