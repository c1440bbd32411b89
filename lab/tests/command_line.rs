//! The binary as a person or a script calls it: exit codes, what goes to stdout and what to stderr, colours.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

fn natmeter(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_natmeter"));
    command.args(arguments).current_dir(root).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("COLUMNS", "100");
    command.output().expect("the binary starts")
}

/// Who measures, even with `--beside`, takes the machine's turn if nobody has it: such tests go one after the other.
static TURN: Mutex<()> = Mutex::new(());

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn check_of_a_good_file() {
    let output = natmeter(&["check", "scenarios/quickstart.toml"]);
    // A machine with one core is told what that means.
    assert_eq!((output.status.code(), stderr(&output).contains("error")), (Some(0), false));
    insta::assert_snapshot!(stdout(&output));
}

/// Which edge is measured, for how many subscribers, and how many flows that gives.
#[test]
fn check_of_technologies() {
    let first = |file: &str| {
        let said = stdout(&natmeter(&["check", file]));
        said.lines().take_while(|line| !line.starts_with("  metrics")).collect::<Vec<_>>().join("\n")
    };
    let all = ["464xlat", "lw4o6", "aftr-subscribers", "lwaftr", "lwaftr-softwires", "map-t-br-several-rules", "nat66"];
    insta::assert_snapshot!(all.map(|name| first(&format!("scenarios/{name}.toml"))).join("\n\n"));
}

#[test]
fn versions_name_commit_processor_and_flags() {
    let short = stdout(&natmeter(&["-V"]));
    assert!(short.starts_with(&format!("natmeter {} (commit ", env!("CARGO_PKG_VERSION"))), "{short}");
    let long = stdout(&natmeter(&["--version"]));
    for fact in ["commit", "target", "target CPU", "flags", "profile", "compiler"] {
        let value = long.lines().find_map(|line| line.strip_prefix(fact)?.strip_prefix(':'));
        assert!(value.is_some_and(|value| !value.trim().is_empty()), "{fact} in {long}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    let output = natmeter(&["man-pages", dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for command in ["natmeter", "natmeter-run", "natmeter-gateway", "natmeter-man-pages"] {
        let page = std::fs::read_to_string(dir.path().join(format!("{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{command}");
    }
}

#[test]
fn the_quickstart_runs_by_name() {
    let list = stdout(&natmeter(&["list", "scenarios"]));
    assert!(list.contains("quickstart"), "{list}");
    let output = natmeter(&["check", "quickstart"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn quiet_check_says_nothing() {
    let output = natmeter(&["check", "-q", "scenarios/kernel-nat44.toml"]);
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
}

#[test]
fn a_wrong_scenario_is_shown_on_stderr_and_ends_with_usage() {
    let output = natmeter(&["plan", "--set", "frame-size=12"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("frame-size=12"), "{}", stderr(&output));
    assert!(!stderr(&output).contains('\u{1b}'), "no colours without a terminal");
}

#[test]
fn a_missing_file_is_named() {
    let output = natmeter(&["check", "no/such.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no/such.toml"));
}

/// A forgotten `run`, a scenario without its folder, a device instead of a scenario, and other slips.
#[test]
fn what_was_probably_meant_is_proposed() {
    for (arguments, proposed) in [
        (&["scenarios/map-t.toml"][..], "did you mean `natmeter run scenarios/map-t.toml`?"),
        (&["map-t"], "did you mean `natmeter run scenarios/map-t.toml`?"),
        (&["dslite"], "did you mean `natmeter run scenarios/ds-lite.toml`?"),
        (&["lst"], "did you mean `natmeter list`?"),
        (&["metric"], "did you mean `natmeter list metrics`?"),
        (&["nft"], "or `natmeter run scenarios/kernel-nat44.toml`?"),
        (&["no/such.toml"], "did you mean `natmeter run no/such.toml`?"),
        (&["frobnicate"], "commands are run, resume, report,"),
        (&["run", "ds_lite"], "did you mean scenarios/ds-lite.toml?"),
        (&["check", "map-t"], "did you mean scenarios/map-t.toml?"),
        (&["plan", "scenarios/mapt.toml"], "did you mean scenarios/map-t.toml?"),
        (&["run", "nft"], "or scenarios/kernel-nat44.toml?"),
        (&["run", "kernel"], "did you mean scenarios/kernel-cores.toml,"),
    ] {
        let output = natmeter(arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr(&output).contains(proposed), "{arguments:?}: {}", stderr(&output));
    }
    let document = stdout(&natmeter(&["check", "--json", "ds_lite"]));
    assert!(document.contains("did you mean scenarios/ds-lite.toml?"), "{document}");
}

#[test]
fn a_file_that_a_scenario_names_is_opened_by_all_who_would_use_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("maps.toml");
    let text = "name = \"maps\"\n[dut.embedded]\n[technology.siit]\neam-file = \"no/such/maps.txt\"\n[measure]\n\
                metrics = \"throughput\"\n";
    std::fs::write(&path, text).unwrap();
    let runs = dir.path().join("runs");
    for command in ["run", "calibrate", "check", "plan"] {
        let output = natmeter(&[command, path.to_str().unwrap(), "--runs", runs.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("the file of `eam-file` cannot be used"), "{command}: {}", stderr(&output));
    }
    assert!(!runs.exists(), "nothing was touched");
}

/// `--json` is the JSON report, unless a format is given.
#[test]
fn a_report_follows_json_and_format() {
    let _one_at_a_time = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let path = carried_out(dir.path(), &Simulated { self_test: None, ..SIMULATED });
    let path = path.to_str().unwrap();
    let report = |options: &[&str]| stdout(&natmeter(&[&["report", path], options].concat()));
    let json = report(&["--json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    assert_eq!(json, report(&["--format", "json"]));
    assert_eq!(report(&["--json", "--format", "csv"]), report(&["--format", "csv"]));
    assert_eq!(report(&[]), report(&["--format", "text"]));
}

/// Each command shows an example of its own.
#[test]
fn every_command_has_an_example() {
    for command in
        ["run", "resume", "report", "calibrate", "selftest", "clean", "gateway", "check", "plan", "list", "completions"]
    {
        let help = stdout(&natmeter(&[command, "--help"]));
        let examples = help.split_once("Example").map_or("", |(_, examples)| examples);
        assert!(examples.contains(&format!("natmeter {command}")), "{help}");
    }
}

#[test]
fn json_is_one_document_a_line() {
    for arguments in
        [&["check", "--json"][..], &["plan", "--json"], &["list", "--json"], &["check", "--json", "--set", "x=1"]]
    {
        for line in stdout(&natmeter(arguments)).lines() {
            let document: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(document["event"].is_string(), "{line}");
        }
    }
}

#[test]
fn a_refused_scenario_as_json_has_places() {
    let output = natmeter(&["check", "--json", "--set", "ttl=900"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(2), ""));
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["event"], "refused");
    assert_eq!(document["errors"][0]["marks"][0]["column"], 5);
}

#[test]
fn usage_errors_end_with_usage() {
    for arguments in [
        &["frobnicate"][..],
        &["list", "nothing"],
        &["list", "--full"],
        &["completions", "bash", "--set", "ttl=9"],
        &["completions", "nosh"],
    ] {
        assert_eq!(natmeter(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn every_command_that_reads_a_scenario_takes_overrides() {
    for command in ["run", "calibrate", "check", "plan"] {
        let output = natmeter(&[command, "--full", "--set", "ttl=900"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("wrong value of `traffic.ttl`"), "{command}: {}", stderr(&output));
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = natmeter(&["completions", shell]);
        assert!(output.status.success() && stdout(&output).contains("natmeter"), "{shell}");
    }
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let help = stdout(&natmeter(&["--help"]));
    for words in ["Examples:", "natmeter check scenarios/quickstart.toml", "Exit codes:", "5 interrupted"] {
        assert!(help.contains(words), "{words}\n{help}");
    }
}

#[test]
fn a_run_whose_self_test_failed_does_not_end_well() {
    let _one_at_a_time = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    for (passed, code) in [(true, 0), (false, 1)] {
        let path = carried_out(dir.path(), &Simulated { self_test: Some(passed), ..SIMULATED });
        let output = natmeter(&["resume", "--beside", "-q", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        for words in ["self-test failed", "  delay: truth ; measured 404 us"] {
            assert_eq!(stderr(&output).contains(words), !passed, "{}", stderr(&output));
        }
        std::fs::remove_dir_all(path).unwrap();
    }
}

/// A run of a simulated device.
struct Simulated {
    /// More lines of [dut.simulated] and [measure].
    device: &'static str,
    measure: &'static str,
    has_time: bool,
    /// Whether its self-test passed; none without one.
    self_test: Option<bool>,
}

const SIMULATED: Simulated = Simulated { device: "", measure: "", has_time: true, self_test: Some(true) };

/// The folder of such a run, carried out here as far as it goes, so that who resumes it finds nothing to be done but to end.
fn carried_out(parent: &Path, run: &Simulated) -> std::path::PathBuf {
    use lab::folder::{Facts, Header, SelfTest, SelfTestCheck};
    let Simulated { device, measure, has_time, self_test } = run;
    let text = format!(
        "name = \"x\"\n[dut.simulated]\n{device}\n[sweep]\nconnections = \"100k\"\n[measure]\n\
         metrics = [\"max_conn_est_rate\"]\nrepetitions = 1\n{measure}\n"
    );
    let mut scenario = lab::scenario::parse("x.toml", &text, &lab::scenario::Options::default())
        .unwrap_or_else(|c| panic!("{}", c.render(false)))
        .scenario;
    if !has_time {
        // Shorter than a file may say: over before the first trial.
        scenario.measure.time_limit = Some(method::Nanos(1));
    }
    let plan = lab::plan::Plan::new(&scenario);
    let header = Header { version: String::new(), started: "2026-01-01T00:00:00Z".into(), scenario, plan };
    let folder = lab::store::RunFolder::create(parent, "x", std::time::SystemTime::UNIX_EPOCH, &text, &header)
        .expect("a folder");
    let path = folder.path().to_path_buf();
    let mut nobody = ();
    let run = lab::run::Run::begin(&header, folder, lab::rig::Process::new(), &mut nobody);
    // Without facts, so that it is this machine's.
    let delay = SelfTestCheck { name: "delay".to_owned(), measured: "404 us".to_owned(), ..SelfTestCheck::default() };
    let tested = self_test.map(|passed| SelfTest { passed, checks: vec![SelfTestCheck { passed, ..delay }] });
    run.complete(Facts::default(), tested).unwrap();
    path
}

#[test]
fn a_run_ends_with_the_code_of_what_became_of_it() {
    let _one_at_a_time = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    for (device, measure, code, says) in [
        ("", "", 0, ""),
        // It does all that was asked for: that is an answer.
        ("", "max-rate = \"100k\"", 0, ""),
        // It does all that is ever tried, because nobody said where to end: that is a bound.
        ("set-up-rate = \"2G\"", "", 3, ""),
        ("set-up-rate = \"2G\"", "max-rate = \"2G\"", 0, ""),
        ("", "", 6, "error: not measured: "),
    ] {
        let path = carried_out(dir.path(), &Simulated { device, measure, has_time: code != 6, ..SIMULATED });
        let output = natmeter(&["resume", "--beside", "-q", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code), "{device} {measure}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{device} {measure}: {}", stderr(&output));
        std::fs::remove_dir_all(path).unwrap();
    }
}

/// As every process on this machine sees it: whoever measures has the name.
#[test]
fn who_measures_is_not_disturbed() {
    let _one_at_a_time = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().to_str().unwrap();
    let _turn = dut::Turn::take().expect("nobody measures while tests run");
    for arguments in [&["run", "--runs", runs][..], &["resume", runs], &["selftest"], &["calibrate"], &["clean"]] {
        let output = natmeter(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let words = format!("this machine, for measuring, is in use by process {} (", std::process::id());
        assert!(stderr(&output).contains(&words), "{}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was begun");
}

/// `timeout` and others send a signal to the process and to its group: that is one wish, and everything is undone.
#[test]
fn a_signal_that_comes_twice_is_one_wish_to_end() {
    use rustix::process::{Pid, Signal, kill_process};
    let _one_at_a_time = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_natmeter"))
        .args(["run", "--beside", "-q", "--runs", dir.path().to_str().unwrap()])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    // From its header on, a run undoes what it did.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !std::fs::read_dir(dir.path()).unwrap().any(|run| run.unwrap().path().join(lab::store::HEADER).exists()) {
        assert!(std::time::Instant::now() < end, "no run was begun");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    kill_process(pid, Signal::TERM).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("error: interrupted; continue with"), "{}", stderr(&output));
}
