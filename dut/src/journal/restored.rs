//! What became of each change when it was to be taken back, in words: what `natmeter clean` prints.

use crate::setting::Setting;
use std::fmt;

/// What became of one change when it was to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It has its old value again.
    Back {
        /// The setting.
        setting: Setting,
        /// What natmeter had set it to.
        from: String,
        /// What it is again.
        to: String,
    },
    /// It had the old value already.
    Already {
        /// The setting.
        setting: Setting,
        /// Its value.
        value: String,
    },
    /// Another program changed it afterwards: left alone.
    LeftAlone {
        /// The setting.
        setting: Setting,
        /// What it is now.
        now: String,
        /// What natmeter had written.
        wrote: String,
        /// What it was before that.
        old: String,
    },
    /// It could not be read or written; the journal keeps it.
    Failed {
        /// The setting.
        setting: Setting,
        /// What it should be.
        old: String,
        /// What the kernel said.
        error: String,
    },
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Restored::Back { setting, from, to } => write!(f, "{setting}: restored from {from} to {to}"),
            Restored::Already { setting, value } => write!(f, "{setting}: is {value} already"),
            Restored::LeftAlone { setting, now, wrote, old } => write!(
                f,
                "{setting}: left at {now}, because another program changed it after natmeter had written {wrote} (it was {old} \
                 before that)"
            ),
            Restored::Failed { setting, old, error } => write!(f, "{setting}: not restored to {old}: {error}"),
        }
    }
}

/// Everything that could not be restored, in words.
pub fn failures(restored: &[Restored]) -> Vec<String> {
    restored.iter().filter(|r| matches!(r, Restored::Failed { .. })).map(ToString::to_string).collect()
}
