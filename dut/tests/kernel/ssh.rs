//! A host by ssh, over a real sshd in a network namespace. Needs root, to make namespaces.

use crate::lab::{self, DUT, Lab};
use dut::DutError;
use dut::host::runner::{Input, Limits, Ran};
use dut::host::{Host, Ssh, SshFailure, SshKind};
use dut::{Action, Target};
use std::time::Duration;

const LONG: Limits = Limits { time: Duration::from_secs(120), octets: 1 << 20 };

fn ssh(lab: &Lab) -> Ssh {
    Ssh::to(DUT, &lab.run_dir()).unwrap().with_config(Some(lab.config()))
}

fn sh(ssh: &mut Ssh, line: &str) -> Ran {
    ssh.run("sh", &["-c", line], Input::Nothing, &LONG).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn failure(result: Result<Ran, DutError>) -> SshFailure {
    match result {
        Err(DutError::Ssh(failure)) => *failure,
        other => panic!("the connection fails: {other:?}"),
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn commands_run_on_the_host_and_share_a_connection() {
    let lab = Lab::new();
    lab.tester_does(|| {
        let mut ssh = ssh(&lab);
        let ran = sh(&mut ssh, "cat; ip -br addr show mgmt; echo err >&2; exit 3");
        assert!(ran.output.stdout.contains("10.99.0.2/24"), "{ran:?}");
        assert_eq!((ran.output.status, &*ran.output.stderr), (Some(3), "err"));
        assert_eq!(sh(&mut ssh, "exit 255").output.status, Some(255), "of the program, not of ssh");
        let client = |ssh: &mut Ssh| sh(ssh, "echo $SSH_CONNECTION").output.stdout;
        assert_eq!(client(&mut ssh), client(&mut ssh), "one connection");
        let output = ssh.perform(Target::Dut, "", &Action::reading("cat", "a\nb\n")).unwrap();
        assert_eq!(output.stdout, "a\nb");
        assert_eq!(ssh.read(Target::Dut, "/proc/sys/kernel/ostype").unwrap(), "Linux");
        assert!(ssh.read(Target::Dut, "/no/such/file").is_err());
        ssh.close();
    });
    assert!(lab.run_dir().is_empty(), "the control socket is gone");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_long_output_is_cut_and_counted() {
    let lab = Lab::new();
    lab.tester_does(|| {
        let ran = sh(&mut ssh(&lab), "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo 42");
        let text = &ran.output.stdout;
        assert!(text.ends_with("xx\n42") && text.len() < (1 << 20) + 100 && ran.output.ok());
        assert!(text.contains("[natmeter does not keep the next 989"), "100 MB less 1 MiB");
    });
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_command_that_hangs_is_killed_on_the_host_too() {
    let lab = Lab::new();
    lab.tester_does(|| {
        let mut ssh = ssh(&lab);
        ssh.connect().unwrap();
        let pid = lab.path("pid");
        let line = format!("sleep 1000 & echo $! >{}; echo begun; wait", pid.display());
        let limits = Limits::of_hook(Duration::from_secs(2));
        let ran = ssh.run("sh", &["-c", &line], Input::Nothing, &limits).unwrap();
        assert!(ran.timed_out && ran.output.stderr.contains("killed after 2 s"), "{ran:?}");
        assert_eq!(ran.output.stdout, "begun");
        let pid = std::fs::read_to_string(pid).unwrap();
        // The kernel ends a killed process a moment later.
        lab::until(|| lab::is_gone(&format!("/proc/{}", pid.trim())) || state(&pid) == "Z");
        assert!(sh(&mut ssh, "true").output.ok(), "the connection is still there");
    });
}

fn state(pid: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().unwrap_or_default().chars().take(1).collect()
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn files_are_copied_with_their_mode() {
    let lab = Lab::new();
    lab.write("a file", &"x\0y\n".repeat(100_000));
    let remote = lab.path("on the dut/it's here");
    lab.tester_does(|| {
        let mut ssh = ssh(&lab);
        ssh.copy(&lab.path("a file"), remote.to_str().unwrap(), &LONG).unwrap();
        let error = ssh.copy(&lab.path("a file"), "/proc/no/such", &LONG).unwrap_err().to_string();
        assert!(error.contains("cannot be copied to dut:/proc/no/such: mkdir"), "{error}");
    });
    assert!(std::fs::read(&remote).unwrap() == std::fs::read(lab.path("a file")).unwrap());
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn hosts_that_cannot_be_reached_have_a_way_out() {
    let mut lab = Lab::new();
    let kind = |lab: &Lab, kind: SshKind, text: &str| {
        let failure = lab.tester_does(|| failure(ssh(lab).run("true", &[], Input::Nothing, &LONG)));
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.to_string().contains(text), "{failure}");
    };
    lab.write("known_hosts", "");
    kind(&lab, SshKind::HostKeyUnknown, "run `ssh dut` once by hand");
    lab.trust();
    lab.new_host_key();
    lab = lab.with_sshd();
    kind(&lab, SshKind::HostKeyChanged, "`ssh-keygen -R dut`");
    lab.trust();
    lab.write("authorized_keys", "");
    kind(&lab, SshKind::NotAuthorised, "Permission denied (publickey");
    lab.stop_sshd();
    kind(&lab, SshKind::Refused, "start sshd there");
    lab.link("down");
    lab.tester_runs("ip link set mgmt0 down");
    kind(&lab, SshKind::NoRoute, "routes of this machine");
    let unknown = lab.tester_does(|| {
        let ssh = Ssh::to("root@no-such-host.invalid", &lab.run_dir()).unwrap();
        failure(ssh.with_config(Some(lab.config())).run("true", &[], Input::Nothing, &LONG))
    });
    assert_eq!(unknown.kind, SshKind::NameUnknown, "{unknown}");
    assert!(lab.run_dir().is_empty(), "no folder is left");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_connection_lost_in_a_command_is_reported_and_opened_again_later() {
    let lab = Lab::new();
    lab.tester_does(|| {
        let mut ssh = ssh(&lab);
        // The command itself takes the link down, and then says nothing more.
        let line = "ip link set mgmt down; sleep 60";
        let lost = ssh.run("sh", &["-c", line], Input::Nothing, &LONG).unwrap_err();
        assert!(lost.is_lost_connection(), "{lost}");
        assert!(lost.to_string().contains("run `natmeter resume`"), "{lost}");
        let again = ssh.run("true", &[], Input::Nothing, &LONG).unwrap_err();
        assert!(again.is_lost_connection(), "{again}");
        lab.link("up");
        assert!(sh(&mut ssh, "true").output.ok());
        // Between two commands a connection may break: the next one opens another.
        let server = sh(&mut ssh, "echo $PPID").output.stdout;
        lab.dut_runs(&format!("kill -KILL {server}"));
        lab::until(|| !lab.has_socket());
        assert_ne!(sh(&mut ssh, "echo $PPID").output.stdout, server);
    });
}
