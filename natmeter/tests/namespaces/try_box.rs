//! `natmeter try-box` shows the steps on one screen, and leaves nothing but its folder.

use super::beds::until;
use super::program::{NATMETER, stderr, stdout};
use port::Netns;
use port::netns::Sight;
use std::path::Path;
use std::process::Command;

/// What a router could leave behind: links and namespaces of this machine, and settings of its kernel.
fn state() -> Vec<String> {
    let [links, names] = [&["-br", "link"][..], &["netns"]].map(|args| {
        let output = Command::new("ip").args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    let read = |key: &str| std::fs::read_to_string(format!("/proc/sys/net/{key}")).unwrap_or_default();
    [links, names].into_iter().chain(["ipv4/ip_forward", "netfilter/nf_conntrack_max"].map(read)).collect()
}

/// natmeter in a namespace of its own, so that other tests change nothing in it.
fn tried(folder: &Path, before: &str) -> Command {
    let line = format!("exec {before} {NATMETER} try-box --beside");
    let mut command = Netns::new().unwrap().command("sh", Sight::NetworkAndSysfs);
    command.args(["-c", &line]).current_dir(folder);
    command
}

#[test]
#[ignore = "needs root"]
fn a_router_is_made_and_measured_on_one_screen() {
    let folder = tempfile::tempdir().unwrap();
    let before = state();
    let output = tried(folder.path(), "").output().unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    assert!(text.lines().count() < 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for words in ["ok 1000 left to right, 1000 right to left", "max_conn_est_rate ", "throughput ", "report.html"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(state(), before);
    // The commands that it shows work, too.
    let shown = text.lines().filter_map(|line| line.split_once("natmeter ")).map(|(_, args)| args);
    for args in shown.filter(|args| args.contains("try-box/bed.toml")) {
        let beside = if args.starts_with("plan") { "" } else { " --beside --quiet" };
        let line = format!("{NATMETER} {args}{beside}");
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{line}: {}{}", stdout(&output), stderr(&output));
    }
}

/// A second screen shows what a mistake in the bed file does.
#[test]
#[ignore = "needs root"]
fn a_changed_bed_file_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let bed = folder.path().join("try-box/bed.toml");
    std::fs::create_dir(bed.parent().unwrap()).unwrap();
    let text =
        include_str!("../../src/try_box/bed.toml").replace("gateway = \"198.18.0.1\"", "gatway = \"198.18.0.1\"");
    std::fs::write(bed, text).unwrap();
    let output = tried(folder.path(), "").output().unwrap();
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("did you mean `gateway`"), "{said}");
}

#[test]
#[ignore = "needs root"]
fn nothing_is_left_after_a_signal() {
    for (signal, code) in [("INT", Some(5)), ("KILL", None)] {
        let folder = tempfile::tempdir().unwrap();
        let before = state();
        let mut child = tried(folder.path(), "").stdout(std::process::Stdio::null()).spawn().unwrap();
        until(|| {
            let runs = std::fs::read_dir(folder.path().join("try-box/runs"));
            let mut runs = runs.into_iter().flatten().flatten();
            runs.next().is_some_and(|run| run.path().join("commands.jsonl").exists())
        });
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        assert!(Command::new(NATMETER).arg("clean").status().unwrap().success());
        assert_eq!(state(), before, "{signal}");
    }
}

#[test]
#[ignore = "needs root"]
fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    // A user who is not root of a user namespace cannot make another one.
    let output = tried(folder.path(), "unshare -U --map-user=1000").output().unwrap();
    let said = stderr(&output);
    assert!(
        output.status.code() == Some(1) && said.contains("a user namespace") && said.contains("run as root"),
        "{said}"
    );
}
