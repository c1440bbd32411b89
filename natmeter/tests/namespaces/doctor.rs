//! `natmeter doctor` finds what spoils results at the ports of a bed and in a box, changes it, and restores it.

use super::beds::{Bed, LEFT, of_lab};
use super::{run, said};
use serde_json::Value;

/// Settings of the left port that the test spoils.
const SPOILT: [&str; 3] = ["mtu", "generic-receive-offload", "accept_ra"];

fn spoil(bed: &Bed) {
    run(&bed.tester, &format!("ip link set {LEFT} mtu 1400"));
    run(&bed.tester, &format!("ethtool -K {LEFT} gro on"));
    run(&bed.tester, &format!("sysctl -qw net.ipv6.conf.{LEFT}.accept_ra=1"));
}

fn settings(bed: &Bed) -> Vec<String> {
    let features = said(&bed.tester, "ethtool", &["-k", LEFT]);
    let offload = features.lines().find(|line| line.starts_with(SPOILT[1])).unwrap().to_owned();
    let read = |path: String| said(&bed.tester, "cat", &[&path]).trim().to_owned();
    let mtu = read(format!("/sys/class/net/{LEFT}/mtu"));
    vec![mtu, offload, read(format!("/proc/sys/net/ipv6/conf/{LEFT}/accept_ra"))]
}

/// The verdict of each finding at the left port, or at a box, and the exit code.
fn findings(bed: &Bed, at: &str) -> (Vec<(String, String)>, Option<i32>) {
    let output = bed.natmeter(&["--json", "doctor", "--bed", "bed.toml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let documents = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of = |found: Value| (found["name"].as_str().unwrap().to_owned(), found["verdict"].as_str().unwrap().to_owned());
    let all: Vec<_> = documents.filter(|found| found["at"] == at).map(of).collect();
    assert!(!all.is_empty(), "{at}: {text} {}", String::from_utf8_lossy(&output.stderr));
    (all, output.status.code())
}

#[test]
#[ignore = "needs root"]
fn settings_of_ports_are_changed_and_undone() {
    let bed = Bed::new();
    bed.file("", "", "");
    spoil(&bed);
    let before = settings(&bed);
    assert_eq!(before, ["1400", "generic-receive-offload: on", "1"]);
    let left = format!("left port {LEFT}");
    let (found, code) = findings(&bed, &left);
    let verdict = |name: &str| found.iter().find(|(of, _)| of == name).unwrap().1.clone();
    let verdicts = ["MTU", "generic receive offload", "IPv6 autoconfiguration"].map(verdict);
    assert_eq!((verdicts.each_ref().map(String::as_str), code), (["bad", "bad", "look"], Some(1)));

    for undo in [&["doctor", "--undo"][..], &["clean"]] {
        let fixed = bed.natmeter(&["doctor", "--bed", "bed.toml", "--fix"]);
        assert!(fixed.status.success(), "{}", String::from_utf8_lossy(&fixed.stdout));
        assert_eq!(settings(&bed), ["1500", "generic-receive-offload: off", "0"]);
        let (found, _) = findings(&bed, &left);
        assert!(found.iter().all(|(_, verdict)| verdict == "ok"), "{found:?}");
        let undone = bed.natmeter(undo);
        let said = String::from_utf8(undone.stdout).unwrap();
        assert!(undone.status.success() && said.contains("mtu: restored from 1500 to 1400"), "{said}");
        assert_eq!(settings(&bed), before);
    }
    let again = bed.natmeter(&["doctor", "--undo"]);
    assert!(String::from_utf8(again.stdout).unwrap().starts_with("nothing to undo"));
}

/// The box is a host with sshd.
#[test]
#[ignore = "needs root"]
fn a_box_is_looked_at_over_ssh() {
    let (lab, bed) = Bed::over_ssh();
    bed.file("", "", &of_lab(&lab, "clear = \"true\"\n"));
    let (found, _) = findings(&bed, "box dut");
    for name in ["clock source", "load", "free memory", "irqbalance"] {
        assert!(found.iter().any(|(of, _)| of == name), "{name}: {found:?}");
    }
    // The time-out is one of the box's namespace; others are of the kernel, which is that of the tester.
    let timeout = "/proc/sys/net/netfilter/nf_conntrack_udp_timeout";
    let read = || super::said(&bed.device, "cat", &[timeout]).trim().to_owned();
    let said = |args: &[&str]| {
        let text = String::from_utf8(bed.natmeter(args).stdout).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(read(), "30");
    let fixed = said(&["doctor", "--bed", "bed.toml", "--fix"]);
    assert!(fixed.contains(&format!("box dut: {timeout}: set to 300")), "{fixed}");
    assert_eq!(read(), "300");
    let here = said(&["doctor", "--undo"]);
    assert!(here.contains("box ssh:dut by ") && here.contains(" still has changed settings"), "{here}");
    let undone = said(&["doctor", "--undo", "--bed", "bed.toml"]);
    assert!(undone.contains(&format!("box dut: {timeout}: restored from 300 to 30")), "{undone}");
    assert_eq!(read(), "30");
    assert!(said(&["doctor", "--undo"]).starts_with("nothing to undo"));
    lab.link("down");
    let (found, code) = findings(&bed, "box dut");
    assert_eq!((found, code), (vec![("cannot be read".to_owned(), "bad".to_owned())], Some(1)));
}
