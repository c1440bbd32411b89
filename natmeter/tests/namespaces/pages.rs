//! The commands of README and docs/test-bed.md for a box of one's own, taken out of the pages and run word by word: the scenario is made
//! shorter, and names that the pages leave to the user are those of the test.

use super::beds::{Bed, of_lab, quick, scenarios};
use super::program::{NATMETER, stderr, stdout};
use super::run;
use port::Netns;
use port::netns::Sight;

const README: &str = include_str!("../../../README.md");
const PAGE: &str = include_str!("../../../docs/test-bed.md");

/// The fenced blocks below a heading.
fn blocks(page: &'static str, heading: &str) -> Vec<&'static str> {
    let (_, below) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let below = below.split("\n## ").next().unwrap();
    below.split("\n```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap().1).collect()
}

/// Runs a line of a page as a shell on the tester does, with the box as a namespace of this name and ssh by the keys of the test.
fn typed(bed: &Bed, line: &str) -> String {
    let short = quick("", &["--set", "sweep.connections=2000"]);
    let options = match line {
        // Without words that the line has.
        _ if line.contains(" run ") => format!(" '{}'", short[4..].join("' '")),
        _ if line.contains(" bed check ") => " --beside --set sweep.connections=2000".to_owned(),
        _ => String::new(),
    };
    let place = "mkdir -p /run/netns; mount -t tmpfs none /run/netns; touch /run/netns/box";
    let line = format!(
        "{place}; mount --bind {} /run/netns/box; export PATH=$PWD/bin:$PATH; {line}{options}",
        bed.device.path().display()
    );
    let mut command = bed.tester.command("sh", Sight::NetworkAndSysfs);
    let output = command.args(["-c", &line]).current_dir(bed.folder.path()).output().unwrap();
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{line}: {said}");
    said
}

/// `natmeter` and `scenarios` are where the pages expect them, and a short silence.
fn prepared(bed: &Bed) {
    bed.script("bin/natmeter", &format!("#!/bin/sh\nexec {NATMETER} \"$@\"\n"));
    std::os::unix::fs::symlink(scenarios().canonicalize().unwrap(), bed.folder.path().join("scenarios")).unwrap();
}

fn configured(device: &Netns, block: &str) {
    let lines = block.replace("LEFT", "d-left").replace("RIGHT", "d-right");
    for line in lines.lines().filter(|line| !line.starts_with("ip addr add")) {
        let output = device.command("sh", Sight::NetworkAndSysfs).args(["-c", line]).output().unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
}

/// The box is in a namespace with a name.
#[test]
#[ignore = "needs root"]
fn the_commands_of_the_readme_measure_a_box() {
    let bed = Bed::nat44();
    prepared(&bed);
    let lines = blocks(README, "Measure a box of your own")[0].lines();
    let said: Vec<String> = lines.map(|line| typed(&bed, line)).collect();
    assert!(said[0].contains("left is t-left, right is t-right") && !said[0].contains("note:"), "{}", said[0]);
    let written = std::fs::read_to_string(bed.folder.path().join("bed.toml")).unwrap();
    assert!(written.contains("\nclear = \"ip netns exec box conntrack -F\"\n"), "{written}");
    assert!(said[1].contains("hooks of dut       clear, count; "), "{}", said[1]);
    assert!(bed.folder.path().join("runs").exists(), "{}", said[2]);
}

/// The first screen: a router that the user configures, and what natmeter finds on it.
#[test]
#[ignore = "needs root"]
fn a_router_by_ssh_is_measured_by_the_commands_of_the_page() {
    let (lab, bed) = Bed::over_ssh();
    prepared(&bed);
    bed.script("bin/ssh", &format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", lab.config().display()));
    let all = blocks(PAGE, "A router by ssh");
    configured(&bed.device, all[0]);
    let lines = all[1].lines().map(|line| line.replace("root@ROUTER", "dut"));
    let said: Vec<String> = lines.map(|line| typed(&bed, &line)).collect();
    let written = std::fs::read_to_string(bed.folder.path().join("bed.toml")).unwrap();
    assert!(written.contains("on = \"ssh:dut\"\nclear = \"conntrack -F\"\ncount = "), "{written}");
    assert!(bed.folder.path().join("runs").exists(), "{}", said[2]);
}

/// The second screen; of VPP, the third, only the plan, because VPP is not installed.
#[test]
#[ignore = "needs root"]
fn a_linux_box_is_configured_by_the_file_of_the_page() {
    let (lab, bed) = Bed::over_ssh();
    prepared(&bed);
    let on = of_lab(&lab, "");
    let file = |heading: &str| {
        let text = blocks(PAGE, heading)[0].replace("on = \"ssh:root@ROUTER\"\n", &on);
        let text = text.replace("LEFT", "d-left").replace("RIGHT", "d-right");
        std::fs::write(bed.folder.path().join("bed.toml"), format!("[bed]\nsilence = \"1 s\"\n{text}")).unwrap();
    };
    file("VPP");
    let said = typed(&bed, blocks(PAGE, "VPP")[1].lines().next().unwrap());
    assert!(said.contains("GigabitEthernet0/6/0"), "{said}");
    file("A Linux box that natmeter configures");
    run(&bed.device, "sysctl -qw net.ipv4.ip_forward=0");
    for line in blocks(PAGE, "A router by ssh")[1].lines().skip(1) {
        typed(&bed, line);
    }
}
