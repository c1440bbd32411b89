//! A DUT that is a foreground process in a namespace, started from a command line. A watcher in its
//! process group holds the read end of a pipe of natmeter; when natmeter ends, it sends SIGTERM,
//! and SIGKILL 5 s later. A process that leaves the group (`setsid`) escapes this, and keeps its
//! namespace.

use crate::DutError;
use crate::child::{apart, ends_within};
use crate::external::fill;
use crate::last_lines::LastLines;
use crate::step::{CommandRecord, Event, Sink, Target};
use crate::tool;
use port::netns::{Netns, Sight};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time from SIGTERM to SIGKILL, as in the watcher.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time for the rest of the output.
const REST: Duration = Duration::from_secs(1);

/// Starts the watcher and the line `$1`, and exits with the line's status; both shells wait for its programs after SIGTERM.
const GUARD: &str = r#"
trap : TERM
exec 3<&0
(trap '' TERM; read -r _ <&3; kill -s TERM -- -$$; sleep 5; kill -s KILL -- -$$) </dev/null >/dev/null 2>&1 &
sh -c "trap exit TERM
$1" </dev/null 2>&1 3<&- &
program=$!
exec 3<&- 2>/dev/null
while :; do
    wait "$program"
    status=$?
    kill -0 "$program" || exit "$status"
done"#;

/// A process in the record of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: &'static str,
    pub target: Target,
}

const DUT: Role = Role { name: "the DUT", target: Target::Dut };

/// A program that runs until it ends or this value is dropped.
pub struct RunningProgram {
    line: String,
    role: Role,
    child: Child,
    begun: Instant,
    lines: LastLines,
    output_end: Receiver<()>,
    sink: Sink,
    end: Option<String>,
}

impl RunningProgram {
    /// Starts `sh -c LINE` in a namespace and a folder, with `{name}` for one of `values`. Fails if the line has an
    /// unknown placeholder.
    pub fn spawn(
        line: &str,
        values: &[(String, String)],
        ns: &Netns,
        folder: &Path,
        sink: &Sink,
    ) -> Result<RunningProgram, DutError> {
        let refused = |wrong: String| DutError::refused(format!("`start = {line:?}`"), wrong);
        let filled = fill(line, values).map_err(refused)?;
        RunningProgram::spawn_as(DUT, &filled, ns, folder, sink).map_err(refused)
    }

    /// `sh -c LINE`; an error is in words.
    pub(crate) fn spawn_as(
        role: Role,
        line: &str,
        ns: &Netns,
        folder: &Path,
        sink: &Sink,
    ) -> Result<RunningProgram, String> {
        let shell = tool::find("sh").unwrap_or_else(|| "/bin/sh".into());
        let mut command = ns.command(shell, Sight::NetworkAndSysfs);
        command.args(["-c", GUARD, "sh", line]).current_dir(folder);
        let started = RunningProgram::start(command, line, role, sink).map_err(|e| {
            format!("it cannot be started in {}: {e}; check that the folder is accessible", folder.display())
        })?;
        started.tell(&format!("start {}", role.name), None);
        Ok(started)
    }

    fn start(mut command: Command, line: &str, role: Role, sink: &Sink) -> io::Result<RunningProgram> {
        let mut child = apart(&mut command, [Stdio::piped(), Stdio::piped(), Stdio::null()]).spawn()?;
        let output = child.stdout.take().expect("piped above");
        let (line, sink, begun) = (line.to_owned(), Arc::clone(sink), Instant::now());
        let lines = LastLines::default();
        let (at_end, output_end) = channel();
        let kept = lines.clone();
        let read = move || {
            kept.keep(BufReader::new(output));
            drop(at_end);
        };
        // Before the thread, so that an error ends the process.
        let started = RunningProgram { line, role, child, begun, lines, output_end, sink, end: None };
        std::thread::Builder::new().name("output of the DUT".into()).spawn(read)?;
        Ok(started)
    }

    pub fn is_running(&mut self) -> bool {
        if self.end.is_some() {
            return false;
        }
        match self.child.try_wait() {
            Ok(None) => true,
            Ok(Some(_)) => {
                self.finish();
                false
            }
            Err(_) => false,
        }
    }

    /// How the process ended by itself, with the last lines of output.
    pub fn ended(&mut self) -> Option<String> {
        if self.is_running() { None } else { self.end.clone() }
    }

    /// Last lines of both output streams.
    pub fn last_lines(&self) -> Vec<String> {
        self.lines.all()
    }

    /// SIGTERM to the process group, and SIGKILL after 5 s; returns how it ended.
    pub fn stop(mut self) -> String {
        self.down();
        self.end.clone().unwrap_or_default()
    }

    fn down(&mut self) {
        if !self.is_running() {
            return;
        }
        let pid = Pid::from_child(&self.child);
        let _ = kill_process_group(pid, Signal::TERM);
        if !ends_within(pid, PATIENCE) {
            // The shell ends last, so this is the process itself.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.finish();
    }

    fn finish(&mut self) {
        // The watcher is still in the group, so its id is not reused.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let status = self.child.wait().ok();
        let after = self.begun.elapsed();
        let _ = self.output_end.recv_timeout(REST);
        let how = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("ended with exit code {code}"),
            Some((_, Some(signal))) => format!("ended by signal {signal}"),
            _ => "ended".to_owned(),
        };
        let lines = self.last_lines();
        let output = if lines.is_empty() {
            "it printed nothing".to_owned()
        } else {
            format!("last lines:\n    {}", lines.join("\n    "))
        };
        self.end =
            Some(format!("`{}` {how} (found {:.0} s after its start), {output}", self.line, after.as_secs_f64()));
        self.tell(
            &format!("end of {}", self.role.name),
            status.and_then(|s| s.code().or(s.signal().map(|signal| 128 + signal))),
        );
    }

    fn tell(&self, why: &str, status: Option<i32>) {
        let ended = self.end.is_some();
        (self.sink)(&Event::Executed(CommandRecord {
            why: why.to_owned(),
            target: self.role.target,
            command: self.line.clone(),
            status,
            stdout: self.last_lines().join("\n"),
            stderr: String::new(),
            ok: true,
            micros: if ended { self.begun.elapsed().as_micros() as u64 } else { 0 },
        }));
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::no_sink;
    use std::fs;

    fn spawn(line: &str) -> RunningProgram {
        let ns = Netns::new().unwrap();
        let values = [("left".to_owned(), "eth0".to_owned())];
        RunningProgram::spawn(line, &values, &ns, Path::new("/"), &no_sink()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn wait_for(started: &mut RunningProgram) -> String {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(120) {
            if let Some(how) = started.ended() {
                return how;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it takes too long")
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn the_end_of_a_process_has_its_code_and_last_lines() {
        let mut started = spawn("echo to {left}; echo failed >&2; exit 3");
        let how = wait_for(&mut started);
        assert!(
            how.contains("exit 3` ended with exit code 3 (found ") && how.contains(" s after its start), "),
            "{how}"
        );
        assert!(how.ends_with("last lines:\n    to eth0\n    failed"), "{how}");
        assert!(!started.is_running() && started.stop() == how);
        let how = wait_for(&mut spawn("kill -KILL $$"));
        assert!(how.contains("ended with exit code 137") && how.ends_with("it printed nothing"), "{how}");
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_process_may_end_in_order() {
        let mut started = spawn("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
        while started.last_lines().is_empty() {
            assert!(started.is_running());
            std::thread::sleep(Duration::from_millis(5));
        }
        let how = started.stop();
        assert!(
            how.contains("ended with exit code 0") && how.contains("    ready") && how.ends_with("    saved"),
            "{how}"
        );
    }

    /// A shell that does not replace itself by its last command must not end before it: SIGKILL would follow at once.
    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_program_below_the_shell_ends_in_order() {
        let inner = "trap \"sleep 0.2; echo saved; exit 0\" TERM; echo ready; while :; do sleep 0.01; done";
        let mut started = spawn(&format!("sh -c '{inner}'"));
        while started.last_lines().is_empty() {
            assert!(started.is_running());
            std::thread::sleep(Duration::from_millis(5));
        }
        let how = started.stop();
        assert!(how.ends_with("    saved"), "{how}");
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_process_that_ignores_the_signal_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let pids = dir.path().join("pids");
        let line =
            format!("trap '' TERM; sleep 1000 & echo $$ $! >{0}.new; mv {0}.new {0}; wait; sleep 1000", pids.display());
        let started = spawn(&line);
        while !pids.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let begun = Instant::now();
        drop(started);
        assert!(begun.elapsed() >= PATIENCE);
        for pid in fs::read_to_string(pids).unwrap().split_whitespace() {
            // The kernel ends a killed process a moment later.
            let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            while !(state().is_empty() || state().contains(") Z ")) {
                assert!(begun.elapsed() < Duration::from_secs(120), "{}", state());
            }
        }
    }

    #[test]
    fn a_wrong_line_is_refused() {
        let ns = Netns::current().unwrap();
        let error =
            RunningProgram::spawn("./mynat {right}", &[], &ns, Path::new("/"), &no_sink()).err().unwrap().to_string();
        assert!(error.starts_with("`start = \"./mynat {right}\"`: {right} is not a placeholder"), "{error}");
    }
}
