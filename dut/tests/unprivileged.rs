//! The same devices in a user namespace, as an ordinary user, without a test harness: only a single-threaded process
//! can enter one. It reports what the machine cannot run.

mod common;

use common::{Case, Io, Standing, case, forwards_counts_and_is_emptied};
use dut::software::{self, conntrack};
use dut::{DutError, RunDir, step::no_sink, tool};
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
        for io in [Io::Tap, Io::AfPacket] {
            if let Err(error) = tool::require(software.tools).and(tool::require(&[tool::IP, tool::ETHTOOL])) {
                println!("test unprivileged {} ... NOT RUN: {error}", software.name);
                continue;
            }
            forwards_counts_and_is_emptied(&case(software.name, io), &dir);
            println!("test unprivileged {} over {io:?} ... ok", software.name);
        }
    }
    too_many_connections_are_refused_with_the_way_out(&dir);
    cores_need_root_and_are_refused_before_any_step(&dir);
    assert!(dir.is_empty(), "a lock was left");
    println!("test unprivileged ... ok");
}

fn become_ordinary() {
    rustix::thread::set_thread_groups(&[]).expect("dropping groups");
    rustix::thread::set_thread_gid(Gid::from_raw(ORDINARY)).expect("dropping the group");
    rustix::thread::set_thread_uid(Uid::from_raw(ORDINARY)).expect("dropping root");
    // Dropping privileges gives /proc/self to root; making the process dumpable reverts that.
    set_dumpable_behavior(DumpableBehavior::Dumpable).expect("own /proc files");
}

fn refusal(case: &Case, dir: &RunDir) -> String {
    match Standing::prepare(case, dir, &no_sink()) {
        Err(error @ DutError::Refused { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{:?} is not refused", case.configuration),
    }
}

fn too_many_connections_are_refused_with_the_way_out(dir: &RunDir) {
    let Some(max) = conntrack::Situation::now().max else { return };
    let mut case = case("nftables", Io::Tap);
    case.configuration.config.connections = max;
    let text = refusal(&case, dir);
    assert!(text.contains(&format!("it is {max}")) && text.contains("run as root, or `sudo sysctl -w"), "{text}");
}

fn cores_need_root_and_are_refused_before_any_step(dir: &RunDir) {
    let mut cores = case("linux-forwarding", Io::Tap);
    cores.configuration.cores = vec![0];
    assert!(refusal(&cores, dir).contains("remove the cores"));
}
