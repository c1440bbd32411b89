//! Defaults of keys: what applies if a file lacks a key.

use crate::read::default_value;
use crate::tree::Value;

/// What applies if a file lacks a key: a value, an explanation, or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Default {
    pub(crate) absent: Absent,
    /// Whether the value decides if a run conforms to the RFCs: `--full` takes it from `[full]` or the default, never from
    /// `[measure]`.
    pub conforming: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// This value, as written after `--set KEY=`: words need no quotes.
    Written(&'static str),
    /// No value, or one computed from other values, as this text says.
    Computed(&'static str),
    /// An error; this is an example of a value.
    Needed(&'static str),
}

/// Returns a default value, as written after `--set KEY=`: words need no quotes.
pub const fn or(written: &'static str) -> Default {
    Default { absent: Absent::Written(written), conforming: false }
}

/// Returns a default without a value; `words` say what applies instead.
pub const fn computed(words: &'static str) -> Default {
    Default { absent: Absent::Computed(words), conforming: false }
}

/// Returns the default of a key that must be given, with an example of a value, written as in a file.
pub const fn needed(example: &'static str) -> Default {
    Default { absent: Absent::Needed(example), conforming: false }
}

impl Default {
    /// Marks a key whose value decides whether a run conforms to the RFCs.
    #[must_use]
    pub const fn conforms(self) -> Default {
        Default { conforming: true, ..self }
    }

    /// Returns the default as the reference page shows it.
    pub(crate) fn shown(&self) -> String {
        match self.absent {
            Absent::Written(text) => format!("`{}`", as_toml(text)),
            Absent::Computed(words) => words.to_owned(),
            Absent::Needed(_) => "must be given".to_owned(),
        }
    }
}

/// Returns a value in TOML syntax: bare words get quotes.
pub(crate) fn as_toml(text: &str) -> String {
    match default_value(text).value {
        Value::Text(words) if !text.starts_with('"') => format!("\"{words}\""),
        _ => text.to_owned(),
    }
}
