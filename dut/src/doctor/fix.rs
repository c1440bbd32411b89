//! Changes the settings of findings. A journal has each old value before the change, for `natmeter
//! doctor --undo` and `natmeter clean`; that of a box is on this machine, too.

use super::Finding;
use crate::DutError;
use crate::host::Host;
use crate::journal::Journal;
use crate::lock::RunDir;
use crate::setting::Setting;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    pub setting: Setting,
    pub value: String,
    pub refused: Option<String>,
}

impl fmt::Display for SettingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.refused {
            None => write!(f, "{}: set to {}", self.setting, self.value),
            Some(why) => write!(f, "{}: not set to {}: {why}", self.setting, self.value),
        }
    }
}

/// Changes the settings of these findings; a failure does not stop it. The journal is on this machine; `of` is the ssh
/// destination of another host. Fails, and changes no further setting, if a run has the settings, or the journal cannot
/// be written.
pub fn fix(
    dir: &RunDir,
    of: Option<&str>,
    host: &mut dyn Host,
    findings: &[Finding],
) -> Result<Vec<SettingChange>, DutError> {
    let mut journal = Journal::keep(dir, of)?;
    let mut all = Vec::new();
    for finding in findings {
        for (setting, value) in &finding.settings {
            let refused = journal.write(host, finding.name, setting, value)?.err().map(|error| error.to_string());
            all.push(SettingChange { setting: setting.clone(), value: value.clone(), refused });
        }
    }
    Ok(all)
}
