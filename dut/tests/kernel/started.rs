//! A DUT as a process in a namespace ends with natmeter, even after SIGKILL. Needs root.

use crate::held;
use dut::RunningProgram;
use dut::step::no_sink;
use port::netns::Netns;
use std::path::Path;
use std::time::{Duration, Instant};

/// The next test kills it.
#[test]
#[ignore = "started by a_process_ends_with_natmeter_after_a_kill"]
fn hold_a_process() {
    let Some(line) = held::given() else { return };
    let ns = Netns::new().unwrap();
    let started = RunningProgram::spawn(line.to_str().unwrap(), &[], &ns, Path::new("/"), &no_sink());
    let _started = started.unwrap_or_else(|e| panic!("{e}"));
    held::wait();
}

fn ends_after(trap: &str) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pids");
    let path = file.display();
    let line = format!("trap {trap} TERM; sleep 1000 & echo $$ $! >{path}.new; mv {path}.new {path}; wait; sleep 1000");
    let mut child = held::start("started::hold_a_process", line);
    until(|| file.exists());
    let pids = std::fs::read_to_string(&file).unwrap();
    let pids: Vec<&str> = pids.split_whitespace().collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| lives(pid)), "both run");
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    until(|| !pids.iter().any(|pid| lives(pid)));
    begun.elapsed()
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_process_ends_with_natmeter_after_a_kill() {
    ends_after("-");
    let patience = ends_after("''");
    assert!(patience >= Duration::from_secs(4), "a process that ignores SIGTERM has 5 s: {patience:?}");
}
