//! The hosts on which a device under test can run. [`dry_run`] and [`log`] wrap hosts.

pub mod dry_run;
pub mod here;
pub mod log;
pub mod namespace;
pub mod runner;
pub mod ssh;

use crate::setting::Setting;
use crate::step::{Action, Target};
use crate::tool::ETHTOOL;
use std::io;

pub use dry_run::DryRun;
pub use here::LocalHost;
pub use log::Log;
pub use namespace::Namespace;
pub use ssh::{Ssh, SshFailure, SshKind};

pub const KNOWN: &[(&str, &str)] = &[
    ("namespace", "network namespaces of this machine's kernel, created for the run; needs root or a user namespace"),
    ("guest", "a virtual machine that `natmeter guest build` made, booted for the run; as the box of a test bed"),
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Status of a command, 128 + its number for a signal; none for a written setting.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    pub fn ok(&self) -> bool {
        self.status.unwrap_or(0) == 0
    }
}

pub trait Host: Send {
    /// Carries out one action to its end; `why` is for the record. It is no error if a program fails.
    fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<Output>;

    fn read(&mut self, target: Target, path: &str) -> io::Result<String>;

    fn read_setting(&mut self, setting: &Setting) -> io::Result<String> {
        let Some([option, interface]) = setting.to_show() else {
            return self.read(Target::Machine, &setting.path().expect("all others are files"));
        };
        let show = Action::words(&format!("{} {option} {interface}", ETHTOOL.program));
        let output = self.perform(Target::Machine, "read the old value", &show)?;
        setting
            .shown(&output.stdout)
            .map(str::to_owned)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{show} shows no {setting}")))
    }

    /// Whether it is a dry run: nothing to check or to journal.
    fn is_rehearsal(&self) -> bool {
        false
    }
}
