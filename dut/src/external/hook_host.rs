//! Where hooks run: in the folder of the bed here or in a namespace, or in a folder of copies on a host or guest.

use crate::DutError;
use crate::guest::SharedGuest;
use crate::host::Ssh;
use crate::host::runner::{self, Input, Limits, Ran};
use crate::lock::RunDir;
use crate::step::{Action, quoted};
use crate::tool;
use port::netns::{Netns, Sight};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

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

pub(super) enum HookHost {
    Local(PathBuf),
    Namespace(Netns, PathBuf),
    /// A host and, once files were copied, their folder.
    Ssh(Box<Ssh>, Option<String>),
    Guest(SharedGuest),
}

/// Longest argument of a program (MAX_ARG_STRLEN of Linux).
const LONGEST: usize = 131_071;

/// Script that runs a file in the folder `$1`, if there is one, without input.
const FROM_INPUT: &str = r#"cd -- "${1:-.}" && umask 077 && file=$(mktemp "${1:-${TMPDIR:-/tmp}}/line.XXXXXX") &&
  cat >"$file" && { sh "$file" </dev/null; status=$?; rm -f "$file"; exit $status; }"#;

/// Ends a profile in the folder `$1`, and removes the folder.
const REMOVE: &str = r#"for pid in "$1"/profile.*/pid; do
  if [ -e "$pid" ] && [ ! -e "${pid%pid}ended" ]; then kill -TERM "$(cat "$pid")"; fi
done; rm -rf -- "$1""#;

impl HookHost {
    pub(super) fn of(on: &On, folder: &Path, dir: &RunDir, ssh_config: Option<PathBuf>) -> Result<HookHost, DutError> {
        Ok(match on {
            On::Local => HookHost::Local(folder.to_owned()),
            On::Namespace(ns) => HookHost::Namespace(ns.clone(), folder.to_owned()),
            On::Ssh(host) => HookHost::Ssh(Box::new(Ssh::to(host, dir)?.with_config(ssh_config)), None),
            On::Guest(guest) => HookHost::Guest(guest.clone()),
        })
    }

    /// Runs a line, through a file if the line is longer than Linux passes to a program.
    pub(super) fn run(&mut self, line: &str, limits: &Limits) -> Result<Ran, DutError> {
        let shell = tool::find("sh").unwrap_or_else(|| "/bin/sh".into());
        let is_long = line.len() > LONGEST;
        let (mut command, folder) = match self {
            HookHost::Local(folder) => (Command::new(shell), folder),
            HookHost::Namespace(ns, folder) => (ns.command(shell, Sight::NetworkAndSysfs), folder),
            HookHost::Guest(guest) => return guest.run(&format!("cd {IN_GUEST} 2>/dev/null\n{line}"), b"", limits),
            HookHost::Ssh(ssh, folder) if is_long => {
                let folder = folder.as_deref().unwrap_or_default();
                return ssh.run("sh", &["-c", FROM_INPUT, "sh", folder], Input::Text(line), limits);
            }
            HookHost::Ssh(ssh, None) => return ssh.run("sh", &["-c", line], Input::Nothing, limits),
            HookHost::Ssh(ssh, Some(folder)) => {
                let script = r#"cd -- "$1" && exec sh -c "$2""#;
                return ssh.run("sh", &["-c", script, "sh", folder, line], Input::Nothing, limits);
            }
        };
        command.current_dir(&folder);
        let input = if is_long {
            command.args(["-c", "exec sh /dev/fd/3 3<&0 </dev/null"]);
            in_memory(line).map(Input::Contents)
        } else {
            command.args(["-c", line]);
            Ok(Input::Nothing)
        };
        input.and_then(|input| runner::run(&mut command, input, limits)).map_err(|e| DutError::Refused {
            what: format!("hooks cannot run in the folder {}: {e}", folder.display()),
            way_out: "make the folder accessible to this user".into(),
        })
    }

    /// Returns the folder if it must be removed.
    pub(super) fn make_folder(&mut self, limits: &Limits) -> Result<Option<String>, DutError> {
        if let HookHost::Guest(guest) = self {
            guest.run(&format!("mkdir -p {IN_GUEST}"), b"", limits)?;
        }
        let HookHost::Ssh(ssh, folder) = self else { return Ok(None) };
        *folder = None;
        let make = r#"umask 077 && mktemp -d "${TMPDIR:-/tmp}/natmeter.XXXXXX""#;
        let ran = ssh.run("sh", &["-c", make], Input::Nothing, limits)?;
        let made = ran.output.stdout.trim();
        if !ran.output.ok() || !is_folder_of_copies(made) {
            return Err(DutError::Refused {
                what: format!("{}: `mktemp -d` failed: {} {made}", ssh.destination(), ran.output.stderr),
                way_out: "make /tmp writable there, or set TMPDIR to a folder for the copies of hooks".into(),
            });
        }
        *folder = Some(made.to_owned());
        Ok(folder.clone())
    }

    pub(super) fn copy(&mut self, from: &Path, files: &[String], limits: &Limits) -> Result<(), DutError> {
        files.iter().try_for_each(|file| match self {
            HookHost::Ssh(ssh, Some(folder)) => ssh.copy(&from.join(file), &format!("{folder}/{file}"), limits),
            HookHost::Guest(guest) => copy_into(guest, &from.join(file), &format!("{IN_GUEST}/{file}"), limits),
            _ => Ok(()),
        })
    }

    /// Uses a folder of copies; false if it does not exist.
    pub(super) fn use_folder(&mut self, made: &str, limits: &Limits) -> Result<bool, DutError> {
        let HookHost::Ssh(ssh, folder) = self else { return Ok(true) };
        let exists = ssh.run("test", &["-d", made], Input::Nothing, limits)?.output.ok();
        *folder = exists.then(|| made.to_owned());
        Ok(exists)
    }

    /// Removes the folder of copies, after ending a profile of a killed run.
    pub(super) fn remove_folder(&mut self, limits: &Limits) -> Result<(), DutError> {
        let HookHost::Ssh(ssh, folder) = self else { return Ok(()) };
        let Some(made) = folder.as_ref().filter(|made| is_folder_of_copies(made)) else { return Ok(()) };
        let ran = ssh.run("sh", &["-c", REMOVE, "sh", made], Input::Nothing, limits)?;
        if !ran.output.ok() {
            let what = format!("{}:{made} is not removed: {}", ssh.destination(), ran.output.stderr);
            return Err(DutError::Refused { what, way_out: "remove it by hand".into() });
        }
        *folder = None;
        Ok(())
    }

    pub(super) fn close(&mut self) {
        if let HookHost::Ssh(ssh, _) = self {
            ssh.close();
        }
    }
}

fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("natmeter-line", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn copy_into(guest: &SharedGuest, local: &Path, to: &str, limits: &Limits) -> Result<(), DutError> {
    let unread = |source| DutError::Journal { doing: "reading", path: local.to_owned(), source };
    let contents = fs::read(local).map_err(unread)?;
    let to = quoted(to);
    let script = format!("mkdir -p \"$(dirname {to})\" && cat >{to} && chmod 0700 {to}");
    let ran = guest.run(&script, &contents, limits)?;
    if ran.output.ok() {
        return Ok(());
    }
    let what = format!("{} cannot be copied into the guest: {}", local.display(), ran.output.stderr);
    Err(DutError::Refused { what, way_out: "raise `guest-memory`: the guest keeps its files in memory".into() })
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
