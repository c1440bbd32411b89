//! A device with hooks over a real sshd, through lost connections and a kill. Needs root, to make namespaces.

use crate::held;
use crate::lab::{self, DUT, Lab};
use dut::changes::UndoResult;
use dut::external;
use dut::step::no_sink;
use dut::{DutError, External, ExternalConfig, Hook, Hooks, On, SshKind};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Its folder has a blank in its path; hooks write into the file `log`.
fn config(lab: &Lab, hooks: &[(Hook, &str)]) -> ExternalConfig {
    let log = lab.path("log");
    lab.write("my bed/set it", &format!("#!/bin/sh\necho set $1 in $PWD >>{}\n. ./lib\n", log.display()));
    lab.write("my bed/lib", &format!("echo lib >>{}\n", log.display()));
    lab.write("my bed/restore", &format!("#!/bin/sh\necho restore >>{}\n", log.display()));
    for program in ["my bed/set it", "my bed/restore"] {
        std::fs::set_permissions(lab.path(program), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let hooks = hooks.iter().map(|(hook, line)| (*hook, (*line).to_owned())).collect();
    ExternalConfig {
        ssh_config: Some(lab.config()),
        values: vec![("connections".into(), "1000".into()), ("port".into(), "mgmt".into())],
        ..ExternalConfig::of("box", On::Ssh(DUT.into()), hooks, &lab.path("my bed"))
    }
}

fn prepare(lab: &Lab, config: &ExternalConfig) -> Result<External, DutError> {
    External::prepare(config, &lab.run_dir(), &no_sink())
}

fn log(lab: &Lab) -> String {
    std::fs::read_to_string(lab.path("log")).unwrap_or_default()
}

fn folder(lab: &Lab) -> String {
    let log = log(lab);
    log.split_once(" in ").unwrap().1.lines().next().unwrap().to_owned()
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn hooks_run_on_the_host_with_their_files() {
    let lab = Lab::new();
    let config = config(
        &lab,
        &[
            (Hook::Prepare, "'./set it' {connections}; test -f ./lib"),
            (Hook::Count, "ip -o -4 addr show {port} | wc -l"),
            (Hook::Restore, "./restore"),
            (Hook::Alive, "true"),
        ],
    );
    lab.tester_does(|| {
        let mut external = prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(external.count().unwrap(), Some(1));
        assert_eq!(external.is_alive().unwrap(), Some(true));
        let copies = folder(&lab);
        assert!(copies.contains("/natmeter.") && !lab::is_gone(&copies), "{copies}");
        let mode = std::fs::metadata(&copies).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "no other user of the host can change the copies");
        let undone = external.teardown();
        assert_eq!((undone.done.len(), undone.left), (1, vec![]));
        assert!(lab::is_gone(&copies));
    });
    let log = log(&lab);
    assert!(log.starts_with("set 1000 in /tmp/natmeter.") && log.ends_with("\nlib\nrestore\n"), "{log}");
    assert!(lab.run_dir().is_empty());
}

/// It goes to the host in a file.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_line_longer_than_an_argument_reaches_the_host() {
    let lab = Lab::new();
    let file = lab.path("log").display().to_string();
    let customers = "2001:db8::1 198.51.100.1 1024-2047\n".repeat(10_000);
    let prepare_line = format!("cat; cat >>{file} <<'end'\n{customers}end\necho set in $PWD >>{file}");
    let config = config(&lab, &[(Hook::Prepare, &prepare_line), (Hook::Restore, "./restore")]);
    lab.tester_does(|| {
        let external = prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}"));
        let copies = folder(&lab);
        let left: Vec<_> = std::fs::read_dir(&copies).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["restore"], "its file was removed");
        assert_eq!(external.teardown().left, Vec::<String>::new());
    });
    let log = log(&lab);
    assert!(log.starts_with(&format!("{customers}set in /tmp/natmeter.")), "{}", &log[..200]);
    assert!(log.ends_with("\nrestore\n"), "{}", &log[customers.len()..]);
}

/// As `natmeter clean` does after a kill, the end of a device ends its profile.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn perf_ends_with_the_folder_of_its_samples() {
    if dut::tool::find(dut::tool::PERF.program).is_none() {
        println!("NOT RUN: perf is missing (package linux-perf)");
        return;
    }
    let lab = Lab::new();
    let line = format!("echo ' in '$PWD >>{}", lab.path("log").display());
    let config = config(&lab, &[(Hook::Prepare, &line), (Hook::Restore, "true")]);
    lab.tester_does(|| {
        let mut external = prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}"));
        external.see_that_perf_works().unwrap_or_else(|e| panic!("{e}"));
        let profile = external.start_profile(99).unwrap_or_else(|e| panic!("{e}"));
        assert!(!profile.cores.is_empty());
        let samples = folder(&lab);
        let mut pid = std::fs::read_dir(&samples).unwrap().map(|file| file.unwrap().path().join("pid"));
        let pid = pid.find_map(|pid| std::fs::read_to_string(pid).ok()).unwrap();
        let process = format!("/proc/{}", pid.trim());
        assert!(!lab::is_gone(&process));
        assert_eq!(external.teardown().left, Vec::<String>::new());
        lab::until(|| lab::is_gone(&process));
    });
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn the_last_line_of_a_long_output_is_the_count() {
    let lab = Lab::new();
    let config = config(&lab, &[(Hook::Count, "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo 42")]);
    lab.tester_does(|| {
        let mut external = prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(external.count().unwrap(), Some(42), "100 MB before it");
        assert_eq!(external.teardown().left, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_device_with_a_hook_that_hangs_is_restored() {
    let lab = Lab::new();
    let config = config(&lab, &[(Hook::Clear, "sleep 1000"), (Hook::Restore, "./restore")]);
    let config = ExternalConfig { timeout: Duration::from_secs(10), ..config };
    lab.tester_does(|| {
        let mut external = prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}"));
        let text = external.clear().unwrap_err().to_string();
        assert!(text.contains("hook `clear` (ssh:dut): `sleep 1000` ran longer than its time limit, 10 s"), "{text}");
        assert!(text.ends_with("afterwards: restored by `./restore`"), "{text}");
        assert_eq!(external.teardown(), UndoResult::default(), "restored once");
    });
    assert_eq!(log(&lab), "restore\n");
    assert!(lab.run_dir().is_empty());
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn what_a_lost_connection_left_is_restored_later() {
    let lab = Lab::new();
    let hooks = [
        (Hook::Prepare, "test -f ./lib && './set it' {connections}"),
        (Hook::Clear, "ip link set {port} down; sleep 60"),
        (Hook::Restore, "./restore"),
    ];
    let config = config(&lab, &hooks);
    lab.tester_does(|| {
        let mut external = prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}"));
        let lost = external.clear().unwrap_err();
        assert!(lost.is_lost_connection(), "{lost}");
        drop(external);
        assert!(external::is_left(&lab.run_dir()));
        let copies = folder(&lab);
        // The link is still down.
        let undone = external::clean(&lab.run_dir(), &no_sink()).unwrap();
        assert!(undone.done.is_empty() && undone.left[0].contains("run `natmeter clean`"), "{undone:?}");
        lab.link("up");
        // The host restarted meanwhile and emptied /tmp: the hooks are copied again.
        std::fs::remove_dir_all(&copies).unwrap();
        let undone = external::clean(&lab.run_dir(), &no_sink()).unwrap();
        let done = ["box (ssh:dut): restored by `./restore`", "box (ssh:dut): the copies of its hooks are removed"];
        assert_eq!((undone.done, undone.left), (done.map(str::to_owned).into(), vec![]));
    });
    assert!(log(&lab).ends_with("lib\nrestore\n"), "{}", log(&lab));
    assert!(lab.run_dir().is_empty());
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_resumed_run_restores_first() {
    let lab = Lab::new();
    let hooks = [(Hook::Prepare, "test -f ./lib && './set it' {connections}"), (Hook::Restore, "./restore")];
    let config = config(&lab, &hooks);
    lab.tester_does(|| {
        let external = prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}"));
        let copies = folder(&lab);
        lab.link("down");
        let undone = external.teardown();
        assert!(
            undone.left[0].contains("it is not restored") && undone.left[0].contains("`natmeter clean` tries again")
        );
        let error = prepare(&lab, &config).err().unwrap();
        assert!(matches!(&error, DutError::StillChanged { .. }), "{error}");
        lab.link("up");
        drop(prepare(&lab, &config).unwrap_or_else(|e| panic!("{e}")));
        assert!(lab::is_gone(&copies));
    });
    let log = log(&lab);
    let words: Vec<&str> = log.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(words, ["set", "lib", "restore", "set", "lib", "restore"]);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_host_that_refuses_leaves_nothing() {
    let mut lab = Lab::new();
    lab.stop_sshd();
    let config = config(&lab, &[(Hook::Restore, "./restore")]);
    let error = lab.tester_does(|| prepare(&lab, &config).err().unwrap());
    assert!(matches!(&error, DutError::Ssh(failure) if failure.kind == SshKind::Refused), "{error}");
    assert_eq!(log(&lab), "");
    assert!(lab.run_dir().is_empty());
}

/// The next test kills it.
#[test]
#[ignore = "started by a_killed_run_is_restored_by_clean"]
fn hold_a_device() {
    let Some(dir) = held::given() else { return };
    let dir = std::path::PathBuf::from(dir);
    let hooks = Hooks::from([(Hook::Restore, "./restore".to_owned())]);
    let config = ExternalConfig {
        ssh_config: Some(dir.join("ssh_config")),
        ..ExternalConfig::of("box", On::Ssh(DUT.into()), hooks, &dir.join("my bed"))
    };
    let run_dir = dut::RunDir::at(dir.join("run"));
    let held = External::prepare(&config, &run_dir, &no_sink());
    let _held = held.unwrap_or_else(|e| panic!("{e}"));
    held::wait();
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_killed_run_is_restored_by_clean() {
    let lab = Lab::new();
    config(&lab, &[]);
    lab.tester_does(|| {
        let mut child = held::start("external::hold_a_device", lab.path("."));
        let busy = external::clean(&lab.run_dir(), &no_sink()).unwrap_err();
        assert!(matches!(&busy, DutError::Busy { .. }), "{busy}");
        child.kill().unwrap();
        child.wait().unwrap();
        // The socket vanishes a moment after the connection.
        lab::until(|| !lab.has_socket());
        assert_eq!(log(&lab), "");
        let undone = external::clean(&lab.run_dir(), &no_sink()).unwrap();
        assert_eq!((undone.done.len(), undone.left), (2, vec![]));
    });
    assert_eq!(log(&lab), "restore\n");
    assert!(lab.run_dir().is_empty());
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn hooks_run_in_a_namespace() {
    let dir = tempfile::tempdir().unwrap();
    let ns = port::netns::Netns::new().unwrap();
    let hook = |hook, line: &str| (hook, line.to_owned());
    let hooks = Hooks::from([
        hook(Hook::Prepare, "ip link add probe type veth peer name far && test -d /sys/class/net/probe"),
        hook(Hook::Count, "ls /sys/class/net | wc -l"),
        hook(Hook::Restore, "ip link del probe"),
    ]);
    let config = ExternalConfig::of("box", On::Namespace(ns), hooks, dir.path());
    let run_dir = dut::RunDir::at(dir.path().join("run"));
    let mut external = External::prepare(&config, &run_dir, &no_sink()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(external.count().unwrap(), Some(3), "lo, probe and far");
    assert!(!external::is_left(&run_dir), "the namespace vanishes with natmeter");
    assert_eq!(external.teardown().left, Vec::<String>::new());
}
