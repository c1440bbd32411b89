//! A step: one change to a device or the machine as data, with reason, check and undo action.

use crate::setting::Setting;
use crate::tool::ETHTOOL;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Outside natmeter's namespaces: only a [`Setting`] can change, after its old value is journalled.
    Machine,
    Dut,
    /// The tester's namespace, if there is one.
    Tester,
    /// The namespace of the server behind the DUT.
    Server,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Command {
        /// Program in PATH.
        program: String,
        /// Arguments, with [`NETNS_OF_DUT`] for the DUT's network namespace.
        args: Vec<String>,
        stdin: Option<String>,
    },
    /// Writes a value without a newline to a file below `/proc/sys` or `/sys`, in a namespace.
    Write { path: String, value: String },
    /// Sets a machine-wide setting to a value without a newline.
    Set { setting: Setting, value: String },
}

/// Placeholder that is known only when the action is carried out.
pub const NETNS_OF_DUT: &str = "{namespace of the DUT}";

impl Action {
    /// Words separated by blanks, without quoting.
    pub fn words(line: &str) -> Action {
        let mut words = line.split_ascii_whitespace().map(str::to_owned);
        Action::Command { program: words.next().unwrap_or_default(), args: words.collect(), stdin: None }
    }

    /// An action with `text` as standard input.
    pub fn reading(line: &str, text: impl Into<String>) -> Action {
        let mut action = Action::words(line);
        if let Action::Command { stdin, .. } = &mut action {
            *stdin = Some(text.into());
        }
        action
    }

    /// An action that sets a machine-wide setting.
    pub fn set(setting: &Setting, value: impl Into<String>) -> Action {
        Action::Set { setting: setting.clone(), value: value.into() }
    }

    /// `name` is a path below `/proc/sys`.
    pub fn sysctl(name: &str, value: u64) -> Action {
        Action::Write { path: format!("/proc/sys/{name}"), value: value.to_string() }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Command { program, args, stdin } => {
                write!(f, "{}", quoted(program))?;
                args.iter().try_for_each(|a| write!(f, " {}", quoted(a)))?;
                match stdin {
                    Some(text) => write!(f, " <<'END'\n{}\nEND", text.trim_end()),
                    None => Ok(()),
                }
            }
            Action::Write { path, value } => write!(f, "echo {} > {}", quoted(value), quoted(path)),
            Action::Set { setting, value } => match setting.to_set(value) {
                Some(args) => {
                    write!(f, "{}", ETHTOOL.program)?;
                    args.iter().try_for_each(|a| write!(f, " {}", quoted(a)))
                }
                None => write!(f, "echo {} > {}", quoted(value), quoted(&setting.to_string())),
            },
        }
    }
}

pub(crate) fn words(parts: &[&str]) -> Action {
    Action::words(&parts.join(" "))
}

pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// The setting reads as it was written.
    Reads,
    /// A command succeeds and prints all these texts.
    Shows { action: Action, contains: Vec<String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Reason for `natmeter plan --steps` and errors.
    pub why: String,
    pub target: Target,
    pub action: Action,
    pub check: Option<Check>,
    /// Step that undoes the change; none if it vanishes with its namespace or is restored from the
    /// journal.
    pub undo: Option<Action>,
    /// Skipped if the setting does not exist.
    pub optional: bool,
}

impl Step {
    pub fn dut(why: impl Into<String>, action: Action) -> Step {
        let check = matches!(action, Action::Write { .. } | Action::Set { .. }).then_some(Check::Reads);
        Step { why: why.into(), target: Target::Dut, action, check, undo: None, optional: false }
    }

    pub fn tester(why: impl Into<String>, action: Action) -> Step {
        Step { target: Target::Tester, ..Step::dut(why, action) }
    }

    pub fn machine(why: impl Into<String>, setting: &Setting, value: u64) -> Step {
        Step { target: Target::Machine, ..Step::dut(why, Action::set(setting, value.to_string())) }
    }

    pub fn undone_by(self, undo: Action) -> Step {
        Step { undo: Some(undo), ..self }
    }

    /// Adds a check of a command's output.
    pub fn shown_by(self, action: Action, contains: &[&str]) -> Step {
        let contains = contains.iter().map(|&s| s.to_owned()).collect();
        Step { check: Some(Check::Shows { action, contains }), ..self }
    }

    pub fn where_present(self) -> Step {
        Step { optional: true, ..self }
    }

    pub fn is_machine_wide(&self) -> bool {
        self.target == Target::Machine
    }
}

/// A line of `commands.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    pub why: String,
    #[serde(rename = "place")]
    pub target: Target,
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    pub ok: bool,
    pub micros: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Executed(CommandRecord),
    /// A change is not undone, or kept on purpose.
    Left {
        what: String,
    },
    /// Restored after an earlier, killed run.
    Cleaned {
        what: String,
    },
}

/// Receiver of events, called from one thread at a time.
pub type Sink = std::sync::Arc<dyn Fn(&Event) + Send + Sync>;

pub fn no_sink() -> Sink {
    std::sync::Arc::new(|_| {})
}

#[cfg(test)]
pub(crate) mod tests;
