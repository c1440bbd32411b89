//! Changes the settings of findings. Each old value is on disk before the change, in the journal of changes that stay,
//! so that `natmeter doctor --undo` and `natmeter clean` restore it, also after a kill.

use super::Finding;
use crate::DutError;
use crate::host::Host;
use crate::journal::Journal;
use crate::lock::RunDir;
use crate::setting::Setting;
use std::fmt;

/// What became of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The setting.
    pub setting: Setting,
    /// The value that it was to get.
    pub value: String,
    /// Why it did not get it.
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

/// Changes the settings of these findings, and continues after a setting that cannot be changed.
///
/// # Errors
/// When a run has the settings, or the journal cannot be written; no further setting is changed then.
pub fn fix(dir: &RunDir, host: &mut dyn Host, findings: &[Finding]) -> Result<Vec<Changed>, DutError> {
    let mut journal = Journal::keep(dir)?;
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
