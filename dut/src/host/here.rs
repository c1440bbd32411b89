//! The host without namespaces: runs a program with a time limit, and writes a setting. Machine-wide settings need only
//! this. Tests use another root folder for the files of settings.

use super::{Host, Output};
use crate::kernel_file;
use crate::setting::Setting;
use crate::step::{Action, Target};
use crate::tool;
use port::host::spawn_in;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time limit of a command. Emptying or freeing a table of 2^28 buckets takes tens of seconds.
const LIMIT: Duration = Duration::from_secs(300);

/// The machine as this process sees it. It ignores the target of an action.
#[derive(Clone, Debug)]
pub struct Here {
    root: PathBuf,
}

impl Here {
    /// The machine's own files.
    pub fn new() -> Here {
        Here::below("/")
    }
    /// A machine whose settings are files below `root`.
    pub fn below(root: impl Into<PathBuf>) -> Here {
        Here { root: root.into() }
    }
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
    fn set(&self, setting: &Setting, value: &str) -> io::Result<Output> {
        if let Some(Action::Command { program, args, stdin }) = setting.command(value) {
            return run_here(&program, &args, stdin.as_deref());
        }
        let file = kernel_file::open(&self.root, setting, OpenOptions::new().write(true).truncate(true))?;
        write_whole(file, value).map(|()| Output::default())
    }
}

impl Default for Here {
    fn default() -> Here {
        Here::new()
    }
}

impl Host for Here {
    fn perform(&mut self, target: Target, _: &str, action: &Action) -> io::Result<Output> {
        match action {
            Action::Set { setting, value } => self.set(setting, value),
            Action::Write { path, .. } if target == Target::Machine => {
                let refusal =
                    format!("{path}: natmeter changes the machine only through known settings, not through paths");
                Err(io::Error::new(io::ErrorKind::PermissionDenied, refusal))
            }
            Action::Write { path, value } => write_setting(self.path(path), value).map(|()| Output::default()),
            Action::Command { program, args, stdin } => run_here(program, args, stdin.as_deref()),
        }
    }

    fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
        let text = match target {
            Target::Machine => {
                let setting = Setting::at(path).map_err(io::Error::other)?;
                io::read_to_string(kernel_file::open(&self.root, &setting, OpenOptions::new().read(true))?)?
            }
            Target::Dut | Target::Tester => std::fs::read_to_string(self.path(path))?,
        };
        Ok(text.trim_end().to_owned())
    }
}

fn run_here(program: &str, args: &[String], stdin: Option<&str>) -> io::Result<Output> {
    let program = tool::find(program).ok_or_else(|| no_such_program(program))?;
    run(Command::new(program).args(args), stdin, LIMIT)
}

/// The error for a program that is not installed.
pub(super) fn no_such_program(program: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{program} is not installed"))
}

/// Writes a setting that exists.
pub(super) fn write_setting(path: impl AsRef<std::path::Path>, value: &str) -> io::Result<()> {
    write_whole(OpenOptions::new().write(true).truncate(true).open(path)?, value)
}

/// Writes in one call, because the kernel takes each write as a complete value.
fn write_whole(mut file: std::fs::File, value: &str) -> io::Result<()> {
    file.write_all(format!("{value}\n").as_bytes())
}

/// Runs a command to its end, or kills it after `limit`.
pub(super) fn run_within_limit(command: &mut Command, stdin: Option<&str>) -> io::Result<Output> {
    run(command, stdin, LIMIT)
}

fn run(command: &mut Command, stdin: Option<&str>, limit: Duration) -> io::Result<Output> {
    command
        .env("PATH", tool::search_path())
        .env("LC_ALL", "C")
        .stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A separate process group, so that Ctrl-C does not reach the commands with which natmeter undoes its changes.
        .process_group(0);
    let mut child = command.spawn()?;
    let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        // Ignore a program that stops reading its input: its exit status counts.
        let write = move || input.map(|mut pipe| pipe.write_all(stdin.unwrap_or_default().as_bytes()));
        let begin = || {
            Ok((spawn_in(scope, write)?, spawn_in(scope, move || slurp(out))?, spawn_in(scope, move || slurp(err))?))
        };
        let (_, out, err) = begin().map_err(|error: port::PortError| {
            // Without a reader, the command could block on a full pipe.
            let _ = child.kill().and_then(|()| child.wait());
            io::Error::other(error)
        })?;
        let in_time = wait_within(&mut child, limit);
        let status = child.wait()?;
        let mut stderr = err.join().unwrap_or_default();
        if !in_time {
            stderr = format!("{stderr}\nkilled after {} s", limit.as_secs_f32());
        }
        let code = status.code().or(status.signal().map(|s| 128 + s));
        Ok(Output { status: code, stdout: out.join().unwrap_or_default(), stderr })
    })
}

fn slurp(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // Show what was read before an error.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

/// Waits for the child's end. After the limit, kills its process group and returns false.
fn wait_within(child: &mut Child, limit: Duration) -> bool {
    let pid = Pid::from_child(child);
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    let ended = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit));
    if ended == Ok(0) {
        let _ = kill_process_group(pid, Signal::KILL);
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str) -> Action {
        Action::Command { program: "sh".into(), args: vec!["-c".into(), line.into()], stdin: None }
    }

    #[test]
    fn a_command_gives_its_status_and_both_outputs() {
        let output = Here::new().perform(Target::Machine, "", &sh("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(output, Output { status: Some(3), stdout: "out".into(), stderr: "err".into() });
        assert!(!output.ok());
    }

    #[test]
    fn a_command_reads_what_it_is_given() {
        let output = Here::new().perform(Target::Machine, "", &Action::reading("cat", "a\nb\n")).unwrap();
        assert_eq!(output.stdout, "a\nb");
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let mut command = Command::new("sh");
        let output = run(command.args(["-c", "sleep 1000 & wait"]), None, Duration::from_millis(20)).unwrap();
        assert_eq!(output.status, Some(137));
        assert!(output.stderr.contains("killed after"));
    }

    #[test]
    fn a_program_that_is_not_installed_is_named() {
        let error = Here::new().perform(Target::Machine, "", &Action::words("natmeter-has-no-such-tool")).unwrap_err();
        assert_eq!(error.to_string(), "natmeter-has-no-such-tool is not installed");
    }

    #[test]
    fn a_missing_setting_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let mut here = Here::below(dir.path());
        let write = Setting::at("/proc/sys/net/core/x").unwrap().set("5");
        assert!(here.perform(Target::Machine, "", &write).is_err());
        std::fs::create_dir_all(dir.path().join("proc/sys/net/core")).unwrap();
        assert!(here.perform(Target::Machine, "", &write).is_err());
        std::fs::write(dir.path().join("proc/sys/net/core/x"), "4\n").unwrap();
        here.perform(Target::Machine, "", &write).unwrap();
        assert_eq!(here.read(Target::Machine, "/proc/sys/net/core/x").unwrap(), "5");
    }

    #[test]
    fn the_machine_is_changed_by_settings_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("passwd");
        std::fs::write(&file, "root").unwrap();
        let mut here = Here::below(dir.path());
        let write = Action::Write { path: "/passwd".into(), value: "x".into() };
        assert!(here.perform(Target::Machine, "", &write).is_err() && here.read(Target::Machine, "/passwd").is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "root");
    }
}
