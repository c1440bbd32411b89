//! A machine that the system's OpenSSH client reaches. All commands share one connection, whose
//! control socket lies in a private folder; one lost between two commands is opened again.
//!
//! In a run, it refuses settings, because the journal of a run names no host; hooks change settings
//! there, and `natmeter doctor --fix --bed` keeps a journal of the host.

mod failure;
mod master;
mod way;

use super::runner::{self, Input, Limits, Ran};
use super::{Host, Output};
use crate::DutError;
use crate::lock::RunDir;
use crate::step::{Action, Target, quoted};
use crate::tool;
use master::Master;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub use failure::{SshFailure, SshKind};
pub use way::first_host;

/// A file that ssh reads instead of `~/.ssh/config` (`ssh -F`).
pub const CONFIG_VARIABLE: &str = "NATMETER_SSH_CONFIG";

/// No password is asked for, and a lost connection is noticed within 15 s.
const OPTIONS: &[&str] = &[
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
    "LogLevel=ERROR",
    "ClearAllForwardings=yes",
    "RemoteCommand=none",
];

const FOLDER: &str = "ssh-";

/// Longest path of a control socket: the kernel's 108 less what ssh appends.
const LONGEST: usize = 88;

const SHORT: Duration = Duration::from_secs(10);

/// First line of each command's output: the pid of the remote process, for killing it.
const PID: &str = "natmeter-pid ";

#[derive(Debug)]
pub struct Ssh {
    destination: String,
    config: Option<PathBuf>,
    program: PathBuf,
    run_dir: RunDir,
    folder: PathBuf,
    master: Option<Master>,
    was_open: bool,
    may_set: bool,
}

impl Ssh {
    /// A destination such as `root@p095`; connects with the first command. `run_dir` gets the folder of the control
    /// socket. Fails if the destination has unusual characters or looks like an option, or ssh is not installed.
    pub fn to(destination: &str, run_dir: &RunDir) -> Result<Ssh, DutError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        check(destination)?;
        tool::require(&[tool::SSH])?;
        let program = tool::find(tool::SSH.program).expect("checked above");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = run_dir.path().join(format!("{FOLDER}{}-{number}", std::process::id()));
        if folder.as_os_str().len() > LONGEST - "/s".len() {
            let what = format!("the path {}/s is too long for a control socket of ssh", folder.display());
            return Err(DutError::refused(what, "set XDG_RUNTIME_DIR to a folder with a shorter path"));
        }
        let config = std::env::var_os(CONFIG_VARIABLE).map(PathBuf::from);
        let destination = destination.to_owned();
        Ok(Ssh {
            destination,
            config,
            program,
            run_dir: run_dir.clone(),
            folder,
            master: None,
            was_open: false,
            may_set: false,
        })
    }

    /// ssh reads this file instead of `~/.ssh/config`.
    pub fn with_config(mut self, config: Option<PathBuf>) -> Ssh {
        self.config = config.or(self.config.take());
        self
    }

    /// Allows changes of the host's settings. Their old values are in a journal on this machine.
    pub fn with_settings(mut self) -> Ssh {
        self.may_set = true;
        self
    }

    /// Destination, and the file that says what it means.
    pub fn identity(&self) -> String {
        let file = self.config.as_ref().map(|file| file.canonicalize().unwrap_or_else(|_| file.clone()));
        file.map_or_else(|| self.destination.clone(), |file| format!("{} by {}", self.destination, file.display()))
    }

    /// Configuration file instead of `~/.ssh/config`.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// Opens the connection, unless it is open. The error has the kind [`SshKind::Lost`] if it was open before.
    pub fn connect(&mut self) -> Result<(), DutError> {
        // A master that ends removes its socket first.
        if self.master.as_mut().is_some_and(Master::is_running) && self.folder.join("s").exists() {
            return Ok(());
        }
        self.master = None;
        self.make_folder()?;
        let mut command = self.ssh();
        command.args(["-o", "ControlMaster=yes", "-o", "ControlPersist=no", "--", &self.destination, master::COMMAND]);
        match Master::open(&mut command, &self.destination) {
            Ok(master) => {
                self.master = Some(master);
                self.was_open = true;
                Ok(())
            }
            Err(failure) => {
                self.remove_folder();
                let kind = if self.was_open { SshKind::Lost } else { failure.kind };
                Err(DutError::Ssh(Box::new(SshFailure { kind, ..failure })))
            }
        }
    }

    /// Runs a program on the host, and kills its process group at the time limit. It is no error if the program fails
    /// or exceeds its time.
    pub fn run(&mut self, program: &str, args: &[&str], input: Input, limits: &Limits) -> Result<Ran, DutError> {
        self.connect()?;
        let mut ran = self.client(program, args, input, limits)?;
        let (pid, rest) = without_pid(&ran.output.stdout);
        ran.output.stdout = rest;
        if ran.timed_out {
            self.kill(pid.as_deref())?;
        } else if ran.output.status == Some(255) && (pid.is_none() || !self.answers()) {
            // 255 when the connection fails, else the remote program's status.
            return Err(self.lost(&ran.output.stderr));
        }
        Ok(ran)
    }

    /// Copies a local file to a path on the host, with its executable bit.
    pub fn copy(&mut self, local: &Path, remote: &str, limits: &Limits) -> Result<(), DutError> {
        let unread = |source| DutError::Journal { doing: "reading", path: local.to_owned(), source };
        let file = File::open(local).map_err(unread)?;
        let executable = file.metadata().map_err(unread)?.permissions().mode() & 0o111 != 0;
        let script = r#"mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1""#;
        let mode = if executable { "0700" } else { "0600" };
        let ran = self.run("sh", &["-c", script, "sh", remote, mode], Input::Contents(file), limits)?;
        if ran.output.ok() {
            return Ok(());
        }
        let (local, to, said) = (local.display(), &self.destination, failure::last_line(&ran.output.stderr));
        let what = format!("{local} cannot be copied to {to}:{remote}: {said}");
        Err(DutError::refused(what, "make room on the host, or name another folder in TMPDIR there"))
    }

    /// Closes the connection and removes the control socket.
    pub fn close(&mut self) {
        self.master = None;
        self.remove_folder();
    }

    fn ssh(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        command.arg("-T").arg("-S").arg(self.socket());
        command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        // A jump host's ssh is not in batch mode and would ask for a password at the terminal.
        command.env("SSH_ASKPASS", "/bin/false").env("SSH_ASKPASS_REQUIRE", "force").env("LC_ALL", "C");
        command
    }

    /// ssh expands `%` in the path.
    fn socket(&self) -> String {
        self.folder.join("s").display().to_string().replace('%', "%%")
    }

    fn client(&self, program: &str, args: &[&str], input: Input, limits: &Limits) -> Result<Ran, DutError> {
        let mut command = self.ssh();
        command.args(["-o", "ControlMaster=no", "--", &self.destination, &remote_line(program, args)]);
        runner::run(&mut command, input, limits).map_err(|e| self.failure(&format!("ssh could not be started: {e}")))
    }

    /// Fails if the connection is lost.
    fn kill(&mut self, pid: Option<&str>) -> Result<(), DutError> {
        let Some(pid) = pid else {
            return if self.answers() { Ok(()) } else { Err(self.lost("")) };
        };
        // The remote program leads its process group if the login shell replaces itself by it.
        let script = r#"kill -s KILL -- "-$1" || kill -s KILL "$1""#;
        let ran = self.client("sh", &["-c", script, "sh", pid], Input::Nothing, &Limits::of_hook(SHORT))?;
        let arrived = !ran.timed_out && ran.output.status != Some(255);
        if arrived { Ok(()) } else { Err(self.lost(&ran.output.stderr)) }
    }

    fn answers(&self) -> bool {
        let mut command = self.ssh();
        command.args(["-O", "check", "--", &self.destination]);
        runner::run(&mut command, Input::Nothing, &Limits::of_hook(SHORT)).is_ok_and(|ran| ran.output.ok())
    }

    fn lost(&mut self, stderr: &str) -> DutError {
        let words = self.master.take().map(|mut master| master.last_words()).unwrap_or_default();
        let said = [&*words, stderr].into_iter().map(failure::last_line).find(|line| !line.is_empty());
        self.failure(&said.unwrap_or_default())
    }

    fn failure(&self, said: &str) -> DutError {
        let (destination, said) = (self.destination.clone(), said.to_owned());
        DutError::Ssh(Box::new(SshFailure { destination, kind: SshKind::Lost, said }))
    }

    fn make_folder(&self) -> Result<(), DutError> {
        self.run_dir.make()?;
        // A killed process of this user may have left a folder with the same name.
        let _ = fs::remove_file(self.folder.join("s"));
        let _ = fs::remove_dir(&self.folder);
        let failed = |source| DutError::Journal { doing: "making", path: self.folder.clone(), source };
        DirBuilder::new().mode(0o700).create(&self.folder).map_err(failed)
    }

    fn remove_folder(&self) {
        let _ = fs::remove_file(self.folder.join("s"));
        let _ = fs::remove_dir(&self.folder);
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        self.close();
    }
}

impl Host for Ssh {
    fn perform(&mut self, _: Target, _: &str, action: &Action) -> io::Result<Output> {
        let script = action.to_string();
        let (program, args, stdin) = match action {
            Action::Command { program, args, stdin } => (&**program, args.iter().map(String::as_str).collect(), stdin),
            // As a user would type it: the file and the value are quoted.
            Action::Write { .. } | Action::Set { .. } if self.may_set => ("sh", vec!["-c", &*script], &None),
            Action::Write { .. } | Action::Set { .. } => {
                let refusal = format!(
                    "`{action}` on {}: natmeter changes no settings over ssh, because it could not restore them after a lost \
                 connection: set it in the hook `prepare`, and restore it in the hook `restore`",
                    self.destination
                );
                return Err(io::Error::new(io::ErrorKind::Unsupported, refusal));
            }
        };
        let input = stdin.as_deref().map_or(Input::Nothing, Input::Text);
        self.run(program, &args, input, &Limits::STEP).map(|ran| ran.output).map_err(io::Error::other)
    }

    fn read(&mut self, _: Target, path: &str) -> io::Result<String> {
        let ran = self.run("cat", &["--", path], Input::Nothing, &Limits::STEP).map_err(io::Error::other)?;
        if ran.output.ok() { Ok(ran.output.stdout) } else { Err(io::Error::other(ran.output.stderr)) }
    }
}

pub fn remove_left_folders(dir: &RunDir) {
    for entry in fs::read_dir(dir.path()).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(FOLDER)) {
            // The kernel keeps a folder with a socket, which a live run may need.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn check(destination: &str) -> Result<(), DutError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@[]%/+~".contains(c);
    let host = destination.rsplit_once('@').map_or(destination, |(_, host)| host);
    if !host.is_empty() && !destination.starts_with('-') && !host.starts_with('-') && destination.chars().all(plain) {
        return Ok(());
    }
    Err(DutError::refused(
        format!("{destination:?} is not a destination of ssh"),
        "write `USER@HOST`, or an alias of ~/.ssh/config, without spaces and not beginning with `-`",
    ))
}

/// Prints the pid, completes PATH, and runs the program.
fn remote_line(program: &str, args: &[&str]) -> String {
    let script = format!(
        r#"echo "{PID}$$"; export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"; exec "$@""#
    );
    let words = ["sh", "-c", &script, "sh", program].into_iter().chain(args.iter().copied());
    format!("exec {}", words.map(quoted).collect::<Vec<_>>().join(" "))
}

/// The pid, and the output without what the login shell printed before it.
fn without_pid(stdout: &str) -> (Option<String>, String) {
    let Some((_, rest)) = stdout.split_once(PID) else { return (None, stdout.to_owned()) };
    let (pid, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let is_pid = pid.parse::<u32>().is_ok_and(|pid| pid > 1);
    (is_pid.then(|| pid.to_owned()), rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_cannot_be_an_option() {
        for good in ["p095", "root@p095", "root@192.0.2.1", "root@[2001:db8::1]", "ssh://root@p095:2222", "lab_dut"] {
            check(good).unwrap();
        }
        for bad in
            ["", "-oProxyCommand=reboot", "root@-oProxyCommand=x", "a b", "a\nb", "root@", "$(reboot)", "a;b", "a'b"]
        {
            let error = check(bad).unwrap_err().to_string();
            assert!(error.contains("is not a destination of ssh: write `USER@HOST`"), "{error}");
        }
    }

    #[test]
    fn the_line_for_the_remote_shell_keeps_the_arguments() {
        let odd = ["it's", "$HOME `x` \"y\" \\", "", "a\nb", "-n"];
        let line = remote_line("printf", &[&["%s|"], &odd[..]].concat());
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        let text = format!("profile says hello\n{}", String::from_utf8(output.stdout).unwrap());
        let (pid, rest) = without_pid(&text);
        assert!(pid.is_some());
        assert_eq!(rest, odd.map(|word| format!("{word}|")).concat());
    }

    #[test]
    fn an_output_may_be_empty_or_have_no_pid() {
        assert_eq!(without_pid("natmeter-pid 12"), (Some("12".into()), String::new()));
        assert_eq!(without_pid("natmeter-pid 0\nx"), (None, "x".into()));
        assert_eq!(without_pid("This account is not available."), (None, "This account is not available.".into()));
    }

    #[test]
    fn settings_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let Ok(mut ssh) = Ssh::to("root@p095", &RunDir::at(dir.path().join("run"))) else { return };
        let error = ssh.perform(Target::Dut, "", &Action::sysctl("net/ipv4/ip_forward", 1)).unwrap_err().to_string();
        assert!(error.contains("natmeter changes no settings over ssh") && error.contains("hook `prepare`"), "{error}");
    }
}
