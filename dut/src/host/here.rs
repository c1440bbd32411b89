//! The host without namespaces, for machine-wide settings.

use super::runner::{self, Input, Limits};
use super::{Host, Output};
use crate::kernel_file;
use crate::setting::Setting;
use crate::step::{Action, Target};
use crate::tool::{self, ETHTOOL};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

/// The machine as this process sees it, whatever the target of an action.
#[derive(Clone, Debug)]
pub struct LocalHost {
    root: PathBuf,
}

impl LocalHost {
    pub fn new() -> LocalHost {
        LocalHost::below("/")
    }
    pub fn below(root: impl Into<PathBuf>) -> LocalHost {
        LocalHost { root: root.into() }
    }
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
    fn set(&self, setting: &Setting, value: &str) -> io::Result<Output> {
        if let Some(args) = setting.to_set(value) {
            return run_here(ETHTOOL.program, &args.map(str::to_owned), None);
        }
        let file = kernel_file::open(&self.root, setting, OpenOptions::new().write(true).truncate(true))?;
        write_whole(file, value).map(|()| Output::default())
    }
}

impl Default for LocalHost {
    fn default() -> LocalHost {
        LocalHost::new()
    }
}

impl Host for LocalHost {
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
            Target::Dut | Target::Tester | Target::Server => std::fs::read_to_string(self.path(path))?,
        };
        Ok(text.trim_end().to_owned())
    }
}

fn run_here(program: &str, args: &[String], stdin: Option<&str>) -> io::Result<Output> {
    let program = tool::find(program).ok_or_else(|| no_such_program(program))?;
    run_within_limit(Command::new(program).args(args), stdin)
}

pub(super) fn no_such_program(program: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{program} is not installed"))
}

pub(super) fn write_setting(path: impl AsRef<std::path::Path>, value: &str) -> io::Result<()> {
    write_whole(OpenOptions::new().write(true).truncate(true).open(path)?, value)
}

/// Writes in one call, because the kernel takes each write as a complete value.
fn write_whole(mut file: std::fs::File, value: &str) -> io::Result<()> {
    file.write_all(format!("{value}\n").as_bytes())
}

pub(super) fn run_within_limit(command: &mut Command, stdin: Option<&str>) -> io::Result<Output> {
    let input = stdin.map_or(Input::Nothing, Input::Text);
    runner::run(command, input, &Limits::STEP).map(|ran| ran.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str) -> Action {
        Action::Command { program: "sh".into(), args: vec!["-c".into(), line.into()], stdin: None }
    }

    #[test]
    fn a_command_gives_its_status_and_both_outputs() {
        let output = LocalHost::new().perform(Target::Machine, "", &sh("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(output, Output { status: Some(3), stdout: "out".into(), stderr: "err".into() });
        assert!(!output.ok());
    }

    #[test]
    fn a_command_reads_what_it_is_given() {
        let output = LocalHost::new().perform(Target::Machine, "", &Action::reading("cat", "a\nb\n")).unwrap();
        assert_eq!(output.stdout, "a\nb");
    }

    #[test]
    fn a_program_that_is_not_installed_is_named() {
        let error =
            LocalHost::new().perform(Target::Machine, "", &Action::words("natmeter-has-no-such-tool")).unwrap_err();
        assert_eq!(error.to_string(), "natmeter-has-no-such-tool is not installed");
    }

    #[test]
    fn a_missing_setting_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let mut here = LocalHost::below(dir.path());
        let write = Action::set(&Setting::at("/proc/sys/net/core/x").unwrap(), "5");
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
        let mut here = LocalHost::below(dir.path());
        let write = Action::Write { path: "/passwd".into(), value: "x".into() };
        assert!(here.perform(Target::Machine, "", &write).is_err() && here.read(Target::Machine, "/passwd").is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "root");
    }
}
