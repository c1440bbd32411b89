//! The outcome of undoing each change, as `natmeter clean` prints it.

use crate::setting::Setting;
use std::fmt;

/// The outcome of undoing one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// The old value was restored.
    Back {
        /// The setting.
        setting: Setting,
        /// The value that natmeter wrote.
        from: String,
        /// The restored value.
        to: String,
    },
    /// The setting already had the old value.
    Already {
        /// The setting.
        setting: Setting,
        /// Its value.
        value: String,
    },
    /// Another program changed the setting afterwards.
    LeftAlone {
        /// The setting.
        setting: Setting,
        /// Its present value.
        now: String,
        /// The value that natmeter wrote.
        wrote: String,
        /// The value before that.
        old: String,
    },
    /// The setting could not be read or written; the journal keeps it.
    Failed {
        /// The setting.
        setting: Setting,
        /// The value to restore.
        old: String,
        /// The kernel's error.
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
                "{setting}: left at {now}, because another program changed it after natmeter had set it to {wrote} (it was {old} \
                 before that)"
            ),
            Restored::Failed { setting, old, error } => write!(f, "{setting}: not restored to {old}: {error}"),
        }
    }
}

/// Texts of the changes that could not be undone.
pub fn failures(restored: &[Restored]) -> Vec<String> {
    restored.iter().filter(|r| matches!(r, Restored::Failed { .. })).map(ToString::to_string).collect()
}
