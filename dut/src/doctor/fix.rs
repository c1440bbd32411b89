//! Changes the settings of findings. A journal has each old value before the change, for `natmeter
//! doctor --undo` and `natmeter clean`; that of a box is on this machine, too.

use super::Finding;
use crate::DutError;
use crate::host::Host;
use crate::host::{Output, Ssh};
use crate::journal::{self, Journal, Restored};
use crate::lock::RunDir;
use crate::setting::Setting;
use crate::step::{Action, Target};
use std::fmt;
use std::io;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub setting: Setting,
    pub value: String,
    pub refused: Option<String>,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.refused {
            None => write!(f, "{}: set to {}", self.setting, self.value),
            Some(why) => write!(f, "{}: not set to {}: {why}", self.setting, self.value),
        }
    }
}

/// Changes the settings of these findings, and continues after a failure.
///
/// # Errors
/// A run has the settings, or the journal cannot be written; no further setting is changed then.
pub fn fix(dir: &RunDir, host: &mut dyn Host, findings: &[Finding]) -> Result<Vec<Changed>, DutError> {
    changed(Journal::keep(dir)?, host, findings)
}

/// Changes another host, with the journal on this machine.
pub fn fix_box(dir: &RunDir, mut ssh: Ssh, findings: &[Finding]) -> Result<Vec<Changed>, DutError> {
    let journal = Journal::keep_of(dir, &ssh.identity())?;
    changed(journal, &mut Settings(&mut ssh), findings)
}

/// Undoes what [`fix_box`] changed on a host.
pub fn undo_box(dir: &RunDir, mut ssh: Ssh) -> Result<Vec<Restored>, DutError> {
    let host = ssh.identity();
    journal::undo_kept_of(dir, &host, &mut Settings(&mut ssh))
}

/// Old values are in a journal on this machine.
struct Settings<'a>(&'a mut Ssh);

impl Host for Settings<'_> {
    fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<Output> {
        if matches!(action, Action::Command { .. }) {
            return self.0.perform(target, why, action);
        }
        // As a user would type it: the file and the value are quoted.
        let args = vec!["-c".to_owned(), action.to_string()];
        self.0.perform(target, why, &Action::Command { program: "sh".to_owned(), args, stdin: None })
    }

    fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
        self.0.read(target, path)
    }
}

fn changed(mut journal: Journal, host: &mut dyn Host, findings: &[Finding]) -> Result<Vec<Changed>, DutError> {
    let mut all = Vec::new();
    for finding in findings {
        for (setting, value) in &finding.settings {
            let refused = match journal.write(host, finding.name, setting, value)? {
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            all.push(Changed { setting: setting.clone(), value: value.clone(), refused });
        }
    }
    Ok(all)
}
