//! The outcome of undoing each change, as `natmeter clean` prints it.

use crate::setting::Setting;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restoration {
    /// The setting has its old value again.
    Back {
        setting: Setting,
        /// Value that natmeter wrote.
        from: String,
        to: String,
    },
    /// The setting had its old value already.
    Already {
        setting: Setting,
        /// The old and present value.
        value: String,
    },
    /// Another program changed the setting afterwards.
    LeftAlone { setting: Setting, now: String, wrote: String, old: String },
    /// Unreadable or not writable; the journal keeps it.
    Failed { setting: Setting, old: String, error: String },
}

impl fmt::Display for Restoration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Restoration::Back { setting, from, to } => write!(f, "{setting}: restored from {from} to {to}"),
            Restoration::Already { setting, value } => write!(f, "{setting}: is {value} already"),
            Restoration::LeftAlone { setting, now, wrote, old } => write!(
                f,
                "{setting}: left at {now}, because another program changed it after natmeter had set it to {wrote} (it was {old} \
                 before that)"
            ),
            Restoration::Failed { setting, old, error } => write!(f, "{setting}: not restored to {old}: {error}"),
        }
    }
}

pub fn failures(restored: &[Restoration]) -> Vec<String> {
    restored.iter().filter(|r| matches!(r, Restoration::Failed { .. })).map(ToString::to_string).collect()
}
