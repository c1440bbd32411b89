//! The binary, from a shipped scenario to its report: complete runs, interrupted and resumed runs, and killed runs that are
//! cleaned up and resumed. The tests do not check rates: trials are short, and a run may end with any documented exit code.
//! They also check that the machine's settings are restored.

use crate::program::{NATMETER, only_run, stderr, stdout, top};
use method::ResultKind::Exact;
use method::TrialRecord;
use record::doubt::Doubt;
use record::folder::{Facts, Outcome};
use record::report::Report;
use record::store::{Dir, FACTS, PAGE, RESULTS, SELF_TEST, TRIALS};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Timeout of a run, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Overrides that shorten a scenario from minutes to seconds.
const SHORT: [&str; 6] =
    ["connections=10k", "repetitions=1", "duration=20 ms", "error=20 %", "settle=10 ms", "time-limit=60 s"];

/// natmeter, with the default actions of signals: what started this test may ignore some.
fn natmeter(arguments: &[&str], paths: &[&Path]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", NATMETER]).current_dir(top()).args(arguments).args(paths);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn short_run(scenario: &Path, runs: &Path) -> Command {
    let mut command = natmeter(&["run", "--beside", "--quiet", "--runs"], &[runs, scenario]);
    command.args(SHORT.iter().flat_map(|set| ["--set", set]));
    command
}

/// An undisturbed run has a report; each measurement has a result or a reason, and the exit code agrees.
fn see_that_it_is_complete(output: &Output, run: &Path) {
    let said = stderr(output);
    let header = record::read::header(run, tech::ALL).unwrap();
    let outcomes: Vec<Outcome> = Dir::open(run).unwrap().lines(RESULTS).unwrap().values;
    let facts: Facts = Dir::open(run).unwrap().document(FACTS).unwrap().unwrap();
    let has_result = |key: &str| outcomes.iter().any(|o| o.measurement.key() == key);
    let keys: Vec<String> = header.plan.measurements.iter().map(record::plan::Measurement::key).collect();
    let missing: Vec<&String> = keys.iter().filter(|key| !has_result(key)).collect();
    assert!(missing.iter().all(|key| said.contains(key.as_str())), "not named: {missing:?} in {said}");
    assert!(missing.len() < keys.len(), "nothing was measured: {said}");
    // The current speed of this machine decides whether a value without an exact result has a figure or only a bound.
    let codes: &[i32] = if !missing.is_empty() {
        &[6]
    } else if outcomes.iter().any(|o| o.result.kind != Exact) || facts.without_result() > 0 {
        &[0, 3]
    } else {
        &[0]
    };
    let code = output.status.code().expect("not ended by a signal");
    assert!(codes.contains(&code), "{code}, not one of {codes:?}: {said}");
    let report = std::fs::read_to_string(run.join("report.html")).unwrap();
    for outcome in &outcomes {
        assert!(report.contains(&outcome.measurement.point.dut_name), "{}", outcome.measurement.key());
    }
}

/// A run in the background, ended at the end of the test.
struct Running(Option<Child>);

impl Running {
    fn start(mut command: Command) -> Running {
        Running(Some(command.spawn().expect("the binary starts")))
    }

    /// Waits until trials of this device are recorded, so that the run is in the middle.
    fn wait_for_trials_of(&mut self, device: &str, runs: &Path) -> PathBuf {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(run) = only_run(runs) {
                let trials: Vec<TrialRecord> = Dir::open(&run).unwrap().lines(TRIALS).unwrap().values;
                if trials.iter().any(|trial| trial.measurement.starts_with(device)) {
                    return run;
                }
            }
            let child = self.0.as_mut().unwrap();
            assert!(child.try_wait().unwrap().is_none(), "it ended without trials of {device}");
            assert!(Instant::now() < end, "no trials of {device}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end_with(mut self, signal: Signal) -> Output {
        let child = self.0.take().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The visible settings and objects of the machine that a run could leave behind.
fn machine() -> String {
    let sh = "ip -br link; ip netns list; nft list ruleset; iptables-legacy -S; cat /proc/self/autogroup; \
              ls /run/natmeter 2>/dev/null; \
              sysctl net.netfilter.nf_conntrack_max net.netfilter.nf_conntrack_buckets \
              net.netfilter.nf_conntrack_udp_timeout net.core.netdev_max_backlog net.ipv4.ip_forward";
    let output = Command::new("sh").args(["-c", sh]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Limit of connections in the machine's table.
const TABLE: &str = "/proc/sys/net/netfilter/nf_conntrack_max";

/// Limits the machine's table to fewer connections than a run has, so that the run must change the limit. A process restores it
/// when the test ends, even if the test is killed.
struct SmallTable {
    limit: &'static str,
    restores: Child,
}

impl SmallTable {
    fn new() -> SmallTable {
        let before = std::fs::read_to_string(TABLE).expect("nf_conntrack is loaded");
        let restore = format!("trap '' HUP INT TERM; cat >/dev/null; echo {} >{TABLE}", before.trim());
        let restores = Command::new("sh").args(["-c", &restore]).stdin(Stdio::piped()).spawn().unwrap();
        let limit = "5000";
        std::fs::write(TABLE, limit).unwrap();
        SmallTable { limit, restores }
    }

    fn is_changed(&self) -> bool {
        std::fs::read_to_string(TABLE).unwrap().trim() != self.limit
    }
}

impl Drop for SmallTable {
    fn drop(&mut self) {
        // `wait` closes the input of the process, which then restores the limit.
        let _ = self.restores.wait();
    }
}

/// Plain forwarding and nftables of the shipped scenario.
fn short_run_of_two_devices(dir: &Path, runs: &Path) -> Command {
    let shipped = include_str!("../../../scenarios/kernel-nat44.toml");
    let text = shipped.replacen("[dut.iptables-legacy]", "", 1).replacen("[dut.iptables-nft]", "", 1);
    let path = dir.join("kernel-nat44.toml");
    std::fs::write(&path, text).unwrap();
    let mut command = short_run(&path, runs);
    command.arg("--skip-self-test");
    command
}

fn see_that_it_resumes(run: &Path) {
    let output = natmeter(&["resume", "--beside", "--quiet"], &[run]).output().unwrap();
    see_that_it_is_complete(&output, run);
}

/// With `--skip-self-test` a run has no `selftest.json`, and its reports have a doubt, also after a resumption with a self-test.
#[test]
fn the_first_scenario_comes_to_its_report() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = short_run(Path::new("scenarios/quickstart.toml"), dir.path());
    // A rate that every machine reaches, so that the searches end soon.
    let output = command.args(["--skip-self-test", "--set", "max-rate=100k"]).output().unwrap();
    let run = only_run(dir.path()).expect("a run folder");
    see_that_it_is_complete(&output, &run);
    let has_doubt = || Report::from_folder(&run, tech::ALL).unwrap().facts.doubts.contains(&Doubt::SelfTestSkipped);
    assert!(has_doubt() && !run.join(SELF_TEST).exists());
    // As a run that was killed before its first result.
    std::fs::write(run.join(RESULTS), "").unwrap();
    see_that_it_resumes(&run);
    assert!(has_doubt() && run.join(SELF_TEST).exists());
}

#[test]
fn a_device_that_does_not_answer_is_reported_and_has_no_figure() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = short_run(Path::new("scenarios/quickstart.toml"), dir.path());
    run.args(["--skip-self-test", "--set", "link.impair.loss=100 %"]).stdout(Stdio::piped());
    let output = run.output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let cause = "the device under test does not answer: Left to Right";
    assert!(stderr(&output).contains(cause), "{}", stderr(&output));
    let run = only_run(dir.path()).expect("a run folder");
    let doubts = Report::from_folder(&run, tech::ALL).unwrap().doubts;
    assert!(doubts[0].starts_with("The run ended early: ") && doubts[0].contains(cause), "{doubts:?}");
    assert!(run.join(PAGE).exists() && stdout(&output).contains("The run ended early"), "{}", stdout(&output));
    let outcomes: Vec<Outcome> = Dir::open(&run).unwrap().lines(RESULTS).unwrap().values;
    assert_eq!(outcomes.len(), 0);
}

#[test]
#[ignore = "needs root: the size of the connection tracking table belongs to the whole machine"]
fn a_run_on_the_kernel_leaves_its_report_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    clean();
    let before = machine();
    let output = short_run(Path::new("scenarios/kernel-nat44.toml"), dir.path()).output().unwrap();
    assert_eq!(machine(), before);
    let run = only_run(dir.path()).expect("a run folder");
    see_that_it_is_complete(&output, &run);
    let outcomes: Vec<Outcome> = Dir::open(&run).unwrap().lines(RESULTS).unwrap().values;
    for device in ["linux-forwarding", "nftables", "iptables-legacy", "iptables-nft"] {
        let key = format!("{device}/");
        let known = outcomes.iter().any(|o| o.measurement.point.dut_name == device) || stderr(&output).contains(&key);
        assert!(known, "nothing is said of {device}");
    }
}

/// Removes what killed runs, of this test or of others before it, left behind.
fn clean() {
    let cleaned = natmeter(&["clean"], &[]).output().unwrap();
    assert_eq!(cleaned.status.code(), Some(0), "{}", stderr(&cleaned));
}

/// Ends a run by this signal while it measures nftables, after it has changed the machine. Checks that `restore` and the end of
/// the run restore the machine, and that the run can be resumed.
fn ended_in_the_middle(signal: Signal, restore: impl Fn(Output)) {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    std::fs::create_dir(&runs).unwrap();
    clean();
    let table = SmallTable::new();
    let before = machine();
    let mut running = Running::start(short_run_of_two_devices(dir.path(), &runs));
    let run = running.wait_for_trials_of("nftables/", &runs);
    assert!(table.is_changed(), "it is in the middle");
    let output = running.end_with(signal);
    if signal == Signal::KILL {
        assert!(table.is_changed(), "what `clean` is for");
    }
    restore(output);
    assert_eq!(machine(), before);
    see_that_it_resumes(&run);
    assert_eq!(machine(), before);
}

#[test]
#[ignore = "needs root: the size of the connection tracking table belongs to the whole machine"]
fn a_run_on_the_kernel_that_is_interrupted_restores_everything_and_is_resumed() {
    ended_in_the_middle(Signal::INT, |output| assert_eq!(output.status.code(), Some(5), "{}", stderr(&output)));
}

#[test]
#[ignore = "needs root: the size of the connection tracking table belongs to the whole machine"]
fn a_run_on_the_kernel_that_is_killed_is_cleaned_up_and_resumed() {
    ended_in_the_middle(Signal::KILL, |output| {
        assert_eq!(output.status.code(), None);
        clean();
    });
}
