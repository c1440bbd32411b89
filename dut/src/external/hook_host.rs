//! Where hooks run: in the folder of the bed here or in a namespace, or in a folder of copies on a host or guest.

use super::ExternalConfig;
use crate::DutError;
use crate::child;
use crate::guest::SharedGuest;
use crate::host::Ssh;
use crate::host::runner::{self, Input, Limits, Ran};
use crate::lock::RunDir;
use crate::step::{Action, Sink, quoted};
use crate::tool;
use port::netns::{Netns, Sight};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum On {
    Local,
    Namespace(Netns),
    /// ssh destination: `root@p095` or an alias of `~/.ssh/config`.
    Ssh(String),
    Guest(SharedGuest),
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            On::Local => f.write_str("local"),
            On::Namespace(_) => f.write_str("namespace"),
            On::Ssh(host) => write!(f, "ssh:{host}"),
            On::Guest(guest) => guest.fmt(f),
        }
    }
}

const IN_GUEST: &str = "/tmp/bed";

pub(super) struct HookHost {
    pub(super) on: On,
    /// Folder of the bed on this machine.
    folder: PathBuf,
    ssh: Option<Box<Ssh>>,
    /// Folder on the ssh host; `None` until files are copied.
    pub(super) copies: Option<String>,
    pub(super) limits: Limits,
    pub(super) sink: Sink,
}

/// Longest argument of a program (MAX_ARG_STRLEN of Linux).
const LONGEST: usize = 131_071;

/// Script that runs the line `$2` in the folder `$1`, or in the current folder if `$1` is empty.
const IN_FOLDER: &str = r#"cd -- "${1:-.}" && exec sh -c "$2""#;

/// Script that runs a file in the folder `$1`, if there is one, without input.
const FROM_INPUT: &str = r#"cd -- "${1:-.}" && umask 077 && file=$(mktemp "${1:-${TMPDIR:-/tmp}}/line.XXXXXX") &&
  cat >"$file" && { sh "$file" </dev/null; status=$?; rm -f "$file"; exit $status; }"#;

/// Ends a profile in the folder `$1`, and removes the folder.
const REMOVE: &str = r#"for pid in "$1"/profile.*/pid; do
  if [ -e "$pid" ] && [ ! -e "${pid%pid}ended" ]; then kill -TERM "$(cat "$pid")"; fi
done; rm -rf -- "$1""#;

impl HookHost {
    pub(super) fn of(config: &ExternalConfig, dir: &RunDir, sink: &Sink) -> Result<HookHost, DutError> {
        let ssh = match &config.on {
            On::Ssh(host) => Some(Box::new(Ssh::to(host, dir)?.with_config(config.ssh_config.clone()))),
            On::Local | On::Namespace(_) | On::Guest(_) => None,
        };
        let (on, folder, limits) = (config.on.clone(), config.folder.clone(), Limits::of_hook(config.timeout));
        Ok(HookHost { on, folder, ssh, copies: None, limits, sink: Arc::clone(sink) })
    }

    pub(super) fn run(&mut self, line: &str) -> Result<Ran, DutError> {
        self.run_within(line, &self.limits.clone())
    }

    /// Runs a line, through a file if the line is longer than Linux passes to a program.
    pub(super) fn run_within(&mut self, line: &str, limits: &Limits) -> Result<Ran, DutError> {
        let is_long = line.len() > LONGEST;
        if let Some(ssh) = &mut self.ssh {
            let folder = self.copies.as_deref().unwrap_or_default();
            return if is_long {
                ssh.run("sh", &["-c", FROM_INPUT, "sh", folder], Input::Text(line), limits)
            } else {
                ssh.run("sh", &["-c", IN_FOLDER, "sh", folder, line], Input::Nothing, limits)
            };
        }
        let shell = tool::find("sh").unwrap_or_else(|| "/bin/sh".into());
        let mut command = match &self.on {
            On::Guest(guest) => return guest.run(&format!("cd {IN_GUEST} 2>/dev/null\n{line}"), b"", limits),
            On::Namespace(ns) => ns.command(shell, Sight::NetworkAndSysfs),
            On::Local | On::Ssh(_) => Command::new(shell),
        };
        command.current_dir(&self.folder);
        let input = if is_long {
            command.args(["-c", "exec sh /dev/fd/3 3<&0 </dev/null"]);
            child::in_memory(line).map(Input::Contents)
        } else {
            command.args(["-c", line]);
            Ok(Input::Nothing)
        };
        input.and_then(|input| runner::run(&mut command, input, limits)).map_err(|e| {
            let what = format!("hooks cannot run in the folder {}: {e}", self.folder.display());
            DutError::refused(what, "make the folder accessible to this user")
        })
    }

    /// Makes the folder. Returns the folder of copies if it must be removed.
    pub(super) fn make_folder(&mut self) -> Result<Option<String>, DutError> {
        if let On::Guest(guest) = &self.on {
            guest.run(&format!("mkdir -p {IN_GUEST}"), b"", &self.limits)?;
        }
        let Some(ssh) = &mut self.ssh else { return Ok(None) };
        let make = r#"umask 077 && mktemp -d "${TMPDIR:-/tmp}/natmeter.XXXXXX""#;
        let ran = ssh.run("sh", &["-c", make], Input::Nothing, &self.limits)?;
        let made = ran.output.stdout.trim();
        if !ran.output.ok() || !is_folder_of_copies(made) {
            return Err(DutError::refused(
                format!("{}: `mktemp -d` failed: {} {made}", ssh.destination(), ran.output.stderr),
                "make /tmp writable there, or set TMPDIR to a folder for the copies of hooks",
            ));
        }
        self.copies = Some(made.to_owned());
        Ok(self.copies.clone())
    }

    pub(super) fn copy(&mut self, files: &[String]) -> Result<(), DutError> {
        files.iter().try_for_each(|file| match (&self.on, &mut self.ssh, &self.copies) {
            (_, Some(ssh), Some(to)) => ssh.copy(&self.folder.join(file), &format!("{to}/{file}"), &self.limits),
            (On::Guest(guest), ..) => copy_into(guest, &self.folder.join(file), file, &self.limits),
            _ => Ok(()),
        })
    }

    /// Uses a folder of copies; false if it does not exist.
    pub(super) fn use_folder(&mut self, made: &str) -> Result<bool, DutError> {
        let Some(ssh) = &mut self.ssh else { return Ok(true) };
        let exists = ssh.run("test", &["-d", made], Input::Nothing, &self.limits)?.output.ok();
        self.copies = exists.then(|| made.to_owned());
        Ok(exists)
    }

    pub(super) fn remove_folder(&mut self) -> Result<(), DutError> {
        let (Some(ssh), Some(made)) = (&mut self.ssh, &self.copies) else { return Ok(()) };
        let ran = ssh.run("sh", &["-c", REMOVE, "sh", made], Input::Nothing, &self.limits)?;
        if !ran.output.ok() {
            let what = format!("{}:{made} is not removed: {}", ssh.destination(), ran.output.stderr);
            return Err(DutError::refused(what, "remove it by hand"));
        }
        self.copies = None;
        Ok(())
    }

    pub(super) fn close(&mut self) {
        if let Some(ssh) = &mut self.ssh {
            ssh.close();
        }
    }
}

fn copy_into(guest: &SharedGuest, local: &Path, file: &str, limits: &Limits) -> Result<(), DutError> {
    let unread = |source| DutError::Journal { doing: "reading", path: local.to_owned(), source };
    let contents = fs::read(local).map_err(unread)?;
    let to = quoted(&format!("{IN_GUEST}/{file}"));
    let script = format!("mkdir -p \"$(dirname {to})\" && cat >{to} && chmod 0700 {to}");
    let ran = guest.run(&script, &contents, limits)?;
    if ran.output.ok() {
        return Ok(());
    }
    let what = format!("{} cannot be copied into the guest: {}", local.display(), ran.output.stderr);
    Err(DutError::refused(what, "raise `guest-memory`: the guest keeps its files in memory"))
}

pub(super) fn shown(on: &On, line: &str) -> Action {
    let (program, args) = match on {
        On::Local | On::Namespace(_) | On::Guest(_) => ("sh", vec!["-c".to_owned(), line.to_owned()]),
        On::Ssh(host) => ("ssh", vec![host.clone(), line.to_owned()]),
    };
    Action::Command { program: program.to_owned(), args, stdin: None }
}

/// Whether natmeter made the folder, for it removes no other.
pub(super) fn is_folder_of_copies(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@ ".contains(c);
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with('/')
        && path.chars().all(plain)
        && !path.split('/').any(|part| part == "..")
        && name.strip_prefix("natmeter.").is_some_and(|rest| rest.len() >= 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_of_copies_is_removed() {
        assert!(is_folder_of_copies("/tmp/natmeter.a1B2c3"));
        for path in
            ["", "/", "/tmp", "natmeter.a1B2c3", "/tmp/natmeter.", "/tmp/../natmeter.a1B2c3", "/tmp/natmeter.a1B2c3/"]
        {
            assert!(!is_folder_of_copies(path), "{path}");
        }
    }
}
