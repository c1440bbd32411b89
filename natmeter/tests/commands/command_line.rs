//! The binary as users and scripts call it: exit codes, stdout, stderr, colours.

use crate::program::{self, NATMETER, stderr, stdout, top};
use crate::the_machine;
use std::io::BufRead;
use std::path::Path;
use std::process::{Command, Output};

fn command(arguments: &[&str]) -> Command {
    let mut command = program::command(&top(), arguments);
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("COLUMNS", "100");
    command
}

fn natmeter(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary starts")
}

fn refused(arguments: &[&str]) -> String {
    let output = natmeter(arguments);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}: {}", stderr(&output));
    stderr(&output)
}

#[test]
fn check_of_a_good_file() {
    let output = natmeter(&["check", "scenarios/quickstart.toml"]);
    // A machine with one core gets a note.
    assert_eq!((output.status.code(), stderr(&output).contains("error")), (Some(0), false));
    insta::assert_snapshot!(stdout(&output));
}

/// For every command that prints, `--help` and `--version` included.
#[test]
fn output_that_is_lost_to_a_full_disk_is_an_error() {
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/record/version1/map-t");
    let commands: [&[&str]; 14] = [
        &["check"],
        &["check", "--json"],
        &["check", "--json", "--set", "ttl=x"],
        &["plan"],
        &["plan", "--json"],
        &["plan", "scenarios/kernel-nat44.toml", "--steps"],
        &["list"],
        &["list", "--json"],
        &["completions", "bash"],
        &["report", run],
        &["report", run, "--format", "csv"],
        &["report", run, "--format", "html"],
        &["--help"],
        &["--version"],
    ];
    for arguments in commands {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(arguments).stdout(full).output().unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {:?}", output.status);
        let lost = "error: stdout cannot be written: No space left on device (os error 28); the output is incomplete: free disk space";
        assert_eq!(stderr(&output).matches(lost).count(), 1, "{arguments:?}: {}", stderr(&output));
    }
}

/// As in `natmeter list | head -0`: the reader wants no more output.
#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in [&["list"][..], &["check", "--json"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).contains("error")), (Some(0), false), "{arguments:?}");
    }
}

/// CSI as one character, right-to-left override, ESC: none reaches the terminal, and JSON keeps them escaped.
#[test]
fn control_characters_and_bidirectional_marks_are_not_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hostile.toml");
    let about = "a\u{9b}31mb\u{202e}c\u{1b}]0;title\u{7}";
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/quickstart.toml")).unwrap();
    let old = text.lines().find(|line| line.starts_with("about = ")).unwrap();
    let new = "about = \"a\\u009b31mb\\u202ec\\u001b]0;title\\u0007\"";
    std::fs::write(&path, text.replace(old, new)).unwrap();
    let path = path.to_str().unwrap();
    for arguments in [&["check", path][..], &["plan", path], &["plan", "\u{9b}2J\u{1b}[2J\u{202e}.toml"]] {
        let output = natmeter(arguments);
        let said = stdout(&output) + &stderr(&output);
        assert!(!said.is_empty() && !said.contains(record::printable::is_hidden), "{arguments:?}: {said}");
    }
    let json = stdout(&natmeter(&["check", "--json", path]));
    assert!(!json.contains(record::printable::is_hidden), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["scenario"]["about"], about);
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
fn the_published_record_is_shown_and_recomputed() {
    let show = natmeter(&["published", "show", "002-tab04"]);
    insta::assert_snapshot!("published_table", stdout(&show));
    let list = stdout(&natmeter(&["published", "list"]));
    assert!(list.contains("004-tab6  Table VI") && list.lines().all(|line| line.chars().count() <= 100), "{list}");
    let check = stdout(&natmeter(&["published", "check"]));
    assert!(check.contains("! 001-slide-cpu throughput at 16: printed 0.063, computed 0.152"), "{check}");
    assert!(refused(&["published", "show", "002-tab99"]).contains("`natmeter published list` shows all"));
}

#[test]
fn results_of_other_testers_are_printed_or_refused_with_line_and_field() {
    const CSV: &str = "No, Size, n, m, Initial R Rate, N, M, T, D, Error, Date, Iterations needed, rate\n\
        1, 84, 2, 2, 500000, 4000000, 4000000, 500, 0, 1000, 2022-03-01 10:00:00, 10, 223500\n";
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (good, bad) = (file("rate.csv", CSV), file("bad.csv", &CSV.replace("223500", "fast")));
    let shown = stdout(&natmeter(&["published", "import", &good]));
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("4,000,000 connections; 64 octets; 1 repetition;"), "{shown}");
    assert!(words.ends_with("the rate that passed.") && words.contains("4,000,000 223500 223500 223500"), "{shown}");
    let why = format!("error: {bad}: line 2: field `rate`: `fast` is not a whole number\n");
    assert_eq!(refused(&["published", "import", &good, &bad]), why);
    let missing = refused(&["published", "import", dir.path().to_str().unwrap()]);
    assert!(missing.contains("is not a regular file"), "{missing}");
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

/// On stderr, and without colours where there is no terminal.
#[test]
fn a_wrong_scenario_and_a_missing_file_are_shown() {
    for (arguments, wrong) in
        [(&["plan", "--set", "frame-size=12"][..], "frame-size=12"), (&["check", "no/such.toml"], "no/such.toml")]
    {
        let said = refused(arguments);
        assert!(said.contains(wrong) && !said.contains('\u{1b}'), "{said}");
    }
}

/// A forgotten `run`, a scenario without its folder, a device instead of a scenario, and other slips.
#[test]
fn slips_get_a_suggestion() {
    for (arguments, proposed) in [
        (&["scenarios/map-t.toml"][..], "did you mean `natmeter run scenarios/map-t.toml`?"),
        (&["map-t"], "did you mean `natmeter run scenarios/map-t.toml`?"),
        (&["dslite"], "did you mean `natmeter run scenarios/ds-lite.toml`?"),
        (&["lst"], "did you mean `natmeter list`?"),
        (&["metric"], "did you mean `natmeter list metrics`?"),
        (&["nft"], "or `natmeter run scenarios/kernel-cores.toml`?"),
        (&["no/such.toml"], "did you mean `natmeter run no/such.toml`?"),
        (&["frobnicate"], "commands are run, resume, report,"),
        (&["run", "ds_lite"], "did you mean scenarios/ds-lite.toml?"),
        (&["check", "map-t"], "did you mean scenarios/map-t.toml?"),
        (&["plan", "scenarios/mapt.toml"], "did you mean scenarios/map-t.toml?"),
        (&["run", "nft"], "or scenarios/kernel-cores.toml?"),
        (&["run", "kernel"], "did you mean scenarios/kernel-bursts.toml,"),
    ] {
        let said = refused(arguments);
        assert!(said.contains(proposed), "{arguments:?}: {said}");
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
        let options = if command == "run" { &["--runs", runs.to_str().unwrap()][..] } else { &[] };
        let said = refused(&[&[command, path.to_str().unwrap()], options].concat());
        assert!(said.contains("the file of `eam-file` cannot be used"), "{command}: {said}");
    }
    assert!(!runs.exists(), "nothing was changed");
}

/// `--json` is the JSON report, unless a format is given.
#[test]
fn a_report_follows_json_and_format() {
    let _one_at_a_time = the_machine();
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

#[test]
fn every_command_has_an_example() {
    for command in [
        "run",
        "resume",
        "report",
        "calibrate",
        "selftest",
        "clean",
        "doctor",
        "gateway",
        "check",
        "plan",
        "list",
        "completions",
    ] {
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
        refused(arguments);
    }
}

#[test]
fn every_command_that_reads_a_scenario_takes_overrides() {
    for command in ["run", "calibrate", "check", "plan"] {
        let said = refused(&[command, "--full", "--set", "ttl=900"]);
        assert!(said.contains("wrong value of `traffic.ttl`"), "{command}: {said}");
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
fn a_removal_is_accepted_with_reload_only() {
    let said = "error: --allow-removal has no meaning for status: use it with reload, or remove it\n";
    assert_eq!(refused(&["gateway", "status", "--allow-removal"]), said);
    refused(&["gateway", "--allow-removal"]);
    let output = natmeter(&["gateway", "reload", "--allow-removal", "--socket", "/nowhere/g.sock"]);
    assert!(stderr(&output).starts_with("error: no gateway answers at /nowhere/g.sock"), "{}", stderr(&output));
}

/// Regression: natmeter read a named pipe for ever, and suggested it in place of itself.
#[test]
fn a_named_pipe_is_neither_read_nor_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for name in ["pipe.toml", "missing.toml"] {
        let output = natmeter(&["check", folder.path().join(name).to_str().unwrap()]);
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{}", stderr(&output));
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
    let _one_at_a_time = the_machine();
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

/// A run on a simulated device.
struct Simulated {
    /// More lines of [dut.simulated] and [measure].
    device: &'static str,
    measure: &'static str,
    metrics: &'static str,
    /// Whether its self-test passed; `None` without one.
    self_test: Option<bool>,
}

const RATE: &str = "[\"max_conn_est_rate\"]";
const BOTH: &str = "[\"max_conn_est_rate\", \"throughput\"]";
const SIMULATED: Simulated = Simulated { device: "", measure: "", metrics: RATE, self_test: Some(true) };

/// Runs it as far as possible and returns its folder, so that a resumed run only has to end.
fn carried_out(parent: &Path, run: &Simulated) -> std::path::PathBuf {
    use record::folder::{Facts, Header, SelfTest, SelfTestCheck};
    use scenario::{Options, parse};
    let Simulated { device, measure, metrics, self_test } = run;
    let text = format!(
        "name = \"x\"\n[dut.simulated]\n{device}\n[sweep]\nconnections = \"100k\"\n[measure]\n\
         metrics = {metrics}\nrepetitions = 1\n{measure}\n"
    );
    let options = Options::default();
    let scenario =
        parse("x.toml", &text, &options, tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false))).scenario;
    let plan = record::plan::Plan::new(&scenario);
    let header = Header::new("2026-01-01T00:00:00Z".into(), scenario, options, plan);
    let folder = record::store::RunFolder::create(parent, "x", std::time::SystemTime::UNIX_EPOCH, &text, &header)
        .expect("a folder");
    let path = folder.path().to_path_buf();
    let mut listener = ();
    let run = natmeter::run::Run::open(&header, folder, natmeter::rig::RunContext::new(), &mut listener).unwrap();
    // Without facts, so that the self-test counts as one of this machine.
    let delay = SelfTestCheck { name: "delay".to_owned(), measured: "404 us".to_owned(), ..SelfTestCheck::default() };
    let tested = self_test.map(|passed| SelfTest { passed, checks: vec![SelfTestCheck { passed, ..delay }] }.into());
    run.complete(Facts::default(), tested).unwrap();
    path
}

#[test]
fn a_run_exits_with_the_code_of_its_results() {
    let _one_at_a_time = the_machine();
    let dir = tempfile::tempdir().unwrap();
    for (device, measure, metrics, code, says) in [
        ("", "", RATE, 0, ""),
        // The device reaches the scenario's `max-rate`: that is an answer.
        ("", "max-rate = \"100k\"", RATE, 0, ""),
        // The device is slower than every rate: that is an answer, too.
        ("set-up-rate = \"500k\"", "min-rate = \"1M\"", RATE, 0, ""),
        // Without `max-rate`, the device reaches the highest rate tried: that is a lower bound.
        ("set-up-rate = \"2G\"", "", RATE, 3, ""),
        ("set-up-rate = \"2G\"", "max-rate = \"2G\"", RATE, 0, ""),
        // No establishment rate passes, so phase 1 of the throughput has no rate.
        ("set-up-rate = \"500k\"", "min-rate = \"1M\"", BOTH, 6, "error: no result for "),
    ] {
        let path = carried_out(dir.path(), &Simulated { device, measure, metrics, ..SIMULATED });
        let output = natmeter(&["resume", "--beside", "-q", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code), "{device} {measure}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{device} {measure}: {}", stderr(&output));
        std::fs::remove_dir_all(path).unwrap();
    }
}

/// The lock holds for every process on this machine.
#[test]
fn a_measurement_is_not_disturbed() {
    let _one_at_a_time = the_machine();
    let dir = tempfile::tempdir().unwrap();
    let (runs, others) = (dir.path().join("runs"), tempfile::tempdir().unwrap());
    let (runs, run) = (runs.to_str().unwrap(), carried_out(others.path(), &SIMULATED));
    let lock = dut::MachineLock::take().expect("no other process measures while tests run");
    for arguments in [&["run", "--runs", runs][..], &["resume", run.to_str().unwrap()], &["selftest"], &["calibrate"]] {
        let output = natmeter(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let words = format!("this machine is in use by process {} (", std::process::id());
        assert!(stderr(&output).contains(&words), "{}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was begun");
    let output = natmeter(&["clean"]);
    assert_eq!(output.status.code(), Some(0), "it disturbs no run: {}", stderr(&output));

    let scenario = dir.path().join("simulated.toml");
    std::fs::write(&scenario, "name = \"simulated\"\n[dut.simulated]\n[sweep]\nconnections = [\"10k\"]\n").unwrap();
    let mut waiting = Command::new(NATMETER)
        .args(["calibrate", "--wait", scenario.to_str().unwrap()])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(waiting.stderr.take().unwrap()).lines();
    let words = format!("waiting for process {} (", std::process::id());
    assert!(said.next().unwrap().unwrap().starts_with(&words));
    drop(lock);
    let said: Vec<String> = said.map(Result::unwrap).collect();
    assert_eq!(waiting.wait().unwrap().code(), Some(0), "{said:?}");
    assert!(!said.iter().any(|line| line.starts_with("waiting")), "it says so once: {said:?}");
}

#[test]
fn ctrl_c_ends_a_wait() {
    use rustix::process::{Pid, Signal, kill_process};
    let _one_at_a_time = the_machine();
    let dir = tempfile::tempdir().unwrap();
    let run = carried_out(dir.path(), &SIMULATED);
    let runs = dir.path().join("runs");
    let _lock = dut::MachineLock::take().expect("no other process measures while tests run");
    for arguments in [&["run", "--runs", runs.to_str().unwrap()][..], &["resume", run.to_str().unwrap()], &["selftest"]]
    {
        // Whatever started this test may ignore the signal.
        let mut waiting = Command::new("env")
            .args(["--default-signal=INT", NATMETER])
            .args(arguments)
            .arg("--wait")
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = std::io::BufReader::new(waiting.stderr.take().unwrap()).lines();
        assert!(said.next().unwrap().unwrap().starts_with("waiting for process"), "{arguments:?}");
        kill_process(Pid::from_child(&waiting), Signal::INT).unwrap();
        let said: Vec<String> = said.map(Result::unwrap).collect();
        assert_eq!(waiting.wait().unwrap().code(), Some(5), "{arguments:?}: {said:?}");
        assert_eq!(said, ["error: interrupted while waiting: nothing was measured"], "{arguments:?}");
    }
    assert!(!runs.exists(), "nothing was begun");
}

/// A missing run folder is named before anything else, such as another run that measures.
#[test]
fn a_run_folder_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let run = carried_out(dir.path(), &SIMULATED);
    let name = run.file_name().unwrap().to_str().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for command in ["resume", "report"] {
        for (asked, says) in [
            (path("nope"), "nope does not exist; name the folder that `natmeter run` printed".to_owned()),
            (path(&name[..6]), format!("{} does not exist; did you mean {}?", &name[..6], path(name))),
            (path(&format!("{name}0")), format!("{name}0 does not exist; did you mean {}?", path(name))),
            (path(""), format!("is not a run folder: it has no run.json; its last run is {}", path(name))),
        ] {
            let said = refused(&[command, &asked]);
            assert!(said.contains(&says), "{command} {asked}: {said}");
        }
    }
}

#[test]
fn predicted_time_respects_the_time_limit() {
    for command in ["check", "plan"] {
        let said = stdout(&natmeter(&[command, "--set", "time-limit=20s", "--set", "repetitions=10"]));
        let total = said.lines().find(|line| line.contains("measurements, about")).unwrap();
        assert!(total.contains("the time limit of 20 s skips about"), "{total}");
        let document = stdout(&natmeter(&[command, "--json", "--set", "time-limit=20s", "--set", "repetitions=10"]));
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert!(document["skipped"].as_u64().unwrap() > 0, "{document}");
        assert!(document["predicted_ns"].as_u64().unwrap() <= 40_000_000_000, "{document}");
    }
}

/// The description of a scenario cannot know what the command line changes.
#[test]
fn a_plan_names_what_was_changed() {
    let said = stdout(&natmeter(&["plan", "--set", "connections=50k", "--set", "repetitions=2"]));
    assert!(said.starts_with("changed by --set: connections=50k; repetitions=2\n"), "{said}");
}

/// `timeout` and others send a signal to the process and to its group; both count as one, and everything is restored.
#[test]
fn two_signals_at_once_count_as_one() {
    use rustix::process::{Pid, Signal, kill_process};
    let _one_at_a_time = the_machine();
    let dir = tempfile::tempdir().unwrap();
    let child = Command::new(NATMETER)
        .args(["run", "--beside", "-q", "--runs", dir.path().to_str().unwrap()])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    // Once its header exists, a run restores its changes.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !std::fs::read_dir(dir.path()).unwrap().any(|run| run.unwrap().path().join(record::store::HEADER).exists()) {
        assert!(std::time::Instant::now() < end, "no run was begun");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    kill_process(pid, Signal::TERM).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("error: interrupted; continue with"), "{}", stderr(&output));
}

#[test]
fn each_schema_is_printed() {
    for (kind, title) in [("scenario", "natmeter: scenarios and gateways"), ("report", "natmeter: report")] {
        let schema: serde_json::Value = serde_json::from_str(&stdout(&natmeter(&["schema", kind]))).unwrap();
        assert_eq!(schema["title"], title);
    }
    let event: serde_json::Value = serde_json::from_str(&stdout(&natmeter(&["schema", "event"]))).unwrap();
    assert!(event["$schema"].as_str().unwrap().contains("2020-12"), "{event}");
    assert_eq!(stdout(&natmeter(&["schema"])), stdout(&natmeter(&["schema", "scenario"])));
}
