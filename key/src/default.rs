//! Defaults of keys.

use crate::read::default_value;
use crate::tree::Value;

/// What applies if a file lacks a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Default {
    pub(crate) absent: Absent,
    /// The part of a technology that does without the key.
    pub(crate) without: Option<&'static str>,
    /// Whether the value decides if a run conforms to the RFCs, so that `--full` ignores `[measure]`.
    pub conforming: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Written(&'static str),
    Computed(&'static str),
    Needed(&'static str),
}

/// Returns a default value, written as after `--set KEY=`.
pub const fn or(written: &'static str) -> Default {
    Default { absent: Absent::Written(written), without: None, conforming: false }
}

pub const fn computed(words: &'static str) -> Default {
    Default { absent: Absent::Computed(words), without: None, conforming: false }
}

/// Returns the default of a required key, with an example as in a file.
pub const fn needed(example: &'static str) -> Default {
    Default { absent: Absent::Needed(example), without: None, conforming: false }
}

impl Default {
    /// Marks a value that decides whether a run conforms to the RFCs.
    #[must_use]
    pub const fn conforms(self) -> Default {
        Default { conforming: true, ..self }
    }

    /// A gateway that plays only this part does without the key.
    #[must_use]
    pub const fn but_for(self, part: &'static str) -> Default {
        Default { without: Some(part), ..self }
    }

    pub(crate) fn shown(&self) -> String {
        match self.absent {
            Absent::Written(text) => format!("`{}`", as_toml(text)),
            Absent::Computed(words) => words.to_owned(),
            Absent::Needed(_) => match self.without {
                Some(part) => format!("must be given, but not to an edge that plays `\"{part}\"`"),
                None => "must be given".to_owned(),
            },
        }
    }
}

/// TOML syntax: bare words get quotes.
pub(crate) fn as_toml(text: &str) -> String {
    match default_value(text).value {
        Value::Text(words) if !text.starts_with('"') => format!("\"{words}\""),
        _ => text.to_owned(),
    }
}
