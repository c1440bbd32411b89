//! The same devices in a user namespace, as an ordinary user, without a test harness: only a single-threaded process
//! can enter one. It reports what the machine cannot run.

mod common;

use common::{config, forwards_counts_and_is_emptied};
use dut::bed::BackEnd;
use dut::software::{self, conntrack};
use dut::{Device, DutError, RunDir, step::no_sink, tool};
use port::Clock;
use port::netns::{enter_user_namespace, in_user_namespace};
use rustix::process::{DumpableBehavior, Gid, Uid, geteuid, set_dumpable_behavior};

/// Uid and gid of an unprivileged account (65534 on Debian).
const ORDINARY: u32 = 65534;

fn main() {
    if geteuid().is_root() && !in_user_namespace() {
        become_ordinary();
    }
    let dir_before = RunDir::of_this_user();
    if let Err(error) = enter_user_namespace() {
        println!("test unprivileged ... NOT RUN: {error}");
        return;
    }
    assert_eq!(RunDir::of_this_user(), dir_before, "locks are found from inside and outside");
    let scratch = tempfile::tempdir().expect("a folder of our own");
    let dir = RunDir::at(scratch.path().join("natmeter"));

    for software in software::KNOWN {
        for back_end in [BackEnd::Tap, BackEnd::AfPacket] {
            let config = config(software.name, back_end);
            if let Err(error) = tool::require(software.tools).and(tool::require(config.bed.tools())) {
                println!("test unprivileged {} ... NOT RUN: {error}", software.name);
                continue;
            }
            forwards_counts_and_is_emptied(&config, &dir);
            println!("test unprivileged {} over {back_end:?} ... ok", software.name);
        }
    }
    too_many_connections_are_refused_with_the_way_out(&dir);
    features_that_need_root_are_refused_before_any_step(&dir);
    assert!(!dir.path().exists(), "a lock was left");
    println!("test unprivileged ... ok");
}

fn become_ordinary() {
    rustix::thread::set_thread_groups(&[]).expect("dropping groups");
    rustix::thread::set_thread_gid(Gid::from_raw(ORDINARY)).expect("dropping the group");
    rustix::thread::set_thread_uid(Uid::from_raw(ORDINARY)).expect("dropping root");
    // Dropping privileges gives /proc/self to root; making the process dumpable reverts that.
    set_dumpable_behavior(DumpableBehavior::Dumpable).expect("own /proc files");
}

fn refusal(config: &dut::DeviceConfig, dir: &RunDir) -> String {
    match Device::prepare(config, dir, &no_sink(), Clock::system()) {
        Err(error @ DutError::Refused { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{config:?} is not refused"),
    }
}

fn too_many_connections_are_refused_with_the_way_out(dir: &RunDir) {
    let Some(max) = conntrack::Situation::now().max else { return };
    let mut config = config("nftables", BackEnd::Tap);
    config.config.connections = max;
    let text = refusal(&config, dir);
    assert!(text.contains(&format!("it is {max}")) && text.contains("run as root, or `sudo sysctl -w"), "{text}");
}

fn features_that_need_root_are_refused_before_any_step(dir: &RunDir) {
    let text = refusal(&config("linux-forwarding", BackEnd::AfXdpGeneric), dir);
    assert!(text.contains("AF_XDP needs root"), "{text}");
    let mut cores = config("linux-forwarding", BackEnd::Tap);
    cores.bed.dut_cores = vec![0];
    assert!(refusal(&cores, dir).contains("remove the cores"));
    let mut backlog = config("linux-forwarding", BackEnd::Tap);
    backlog.bed.backlog = Some(5000);
    assert!(refusal(&backlog, dir).contains("needs root"));
}
