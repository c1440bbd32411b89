//! The cores of a box that natmeter sets: of a guest by CPU hot-unplug, of a namespace by receive packet steering. The box itself says
//! which it has, between the trials of each point.

use super::beds::{has_rates, quick, reported};
use super::guests::{LEFT, RIGHT, SLOW, SOME, bed_of, natmeter};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;

/// What a box prints before the number of its connections, in the order of the points with one and with two cores.
fn said_by(of_box: &str, prints: &str, more: &[&str]) -> Vec<String> {
    let count = format!("count = \"{prints}; cat /proc/sys/net/netfilter/nf_conntrack_count\"");
    let folder = bed_of([LEFT, RIGHT], &format!("[dut]\n{of_box}\nsoftware = \"nftables\"\n{count}\n"));
    let text = "name = \"cores\"\n[dut.external]\n[technology.nat44]\npool = \"198.19.0.1\"\n\
        mapping = \"address-and-port-dependent\"\nudp-timeout = \"10000 s\"\n[sweep]\nconnections = 500\ncores = [1, 2]\n\
        [measure]\nmetrics = [\"throughput\"]\nphase1-rate = \"1k\"\n";
    fs::write(folder.path().join("box.toml"), text).unwrap();
    let commands = RefCell::new(String::new());
    let report = reported(folder.path(), &quick("box.toml", more), |args| {
        let output = natmeter(folder.path(), args);
        let run = fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap().path();
        *commands.borrow_mut() = fs::read_to_string(run.join("commands.jsonl")).unwrap();
        output
    });
    has_rates(&report, 2);
    let mut said: Vec<String> = Vec::new();
    for line in commands.take().lines().filter(|line| line.contains("hook `count`")) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let first = line["output"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        if said.last() != Some(&first) {
            said.push(first);
        }
    }
    said
}

#[test]
#[ignore = "needs root and a guest"]
fn a_qemu_guest_has_one_core_and_then_two() {
    let said = said_by("on = \"guest:qemu\"\nguest-cpus = 2", "cat /sys/devices/system/cpu/online", &SLOW);
    assert_eq!(said, ["0", "0-1"]);
}

/// With `nr_cpus`, `possible` lists only the cores of the point. After hot-unplug it would be 0-1 at both points.
#[test]
#[ignore = "needs root and a guest"]
fn the_kernel_of_a_qemu_guest_boots_with_one_core_and_then_two() {
    let bed = "on = \"guest:qemu\"\nguest-cpus = 2\nguest-cores = \"boot\"";
    assert_eq!(said_by(bed, "cat /sys/devices/system/cpu/possible", &SLOW), ["0", "0-1"]);
}

#[test]
#[ignore = "needs root"]
fn packets_of_a_namespace_are_steered_to_one_core_and_then_two() {
    let masks = "cat /sys/class/net/*/queues/rx-0/rps_cpus | tr '\\\\n' ' '; echo";
    let backlog = || fs::read_to_string("/proc/sys/net/core/netdev_max_backlog").ok();
    let before = backlog();
    let said = said_by("on = \"namespace\"", masks, &SOME);
    assert_eq!(backlog(), before);
    let cores =
        |said: &str| said.split_whitespace().map(|mask| u64::from_str_radix(mask, 16).unwrap().count_ones()).collect();
    let each: Vec<BTreeSet<u32>> = said.iter().map(|said| cores(said)).collect();
    // The loopback interface has no cores of its own.
    assert_eq!(each, [BTreeSet::from([0, 1]), BTreeSet::from([0, 2])], "{said:?}");
}
