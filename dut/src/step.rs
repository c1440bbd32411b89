//! A step: one change to a device under test or to the machine, as data with its reason, its check and its way
//! back. Its own file because everything else here only makes, carries out, shows or reverses steps.

use crate::setting::Setting;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a step is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The whole machine, outside any namespace of ours. Only a [`Setting`] is changed there, and each is journalled
    /// with its old value before it is changed.
    Machine,
    /// The device under test.
    Dut,
    /// Where the tester's end of a cable lives, if it is a place of its own.
    Tester,
}

/// What is done: a command that is run, or a setting that is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Run a program.
    Command {
        /// Its name, found as a shell finds it.
        program: String,
        /// Its arguments. [`NETNS_OF_DUT`] stands for a path to the DUT's network namespace.
        args: Vec<String>,
        /// What it reads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stdin: Option<String>,
    },
    /// Write a setting of a namespace: a file under `/proc/sys` or `/sys`.
    Write {
        /// The file.
        path: String,
        /// What to write, without a newline.
        value: String,
    },
    /// Give a setting of the whole machine a value.
    Set {
        /// The setting.
        setting: Setting,
        /// Its value, without a newline.
        value: String,
    },
}

/// Argument that the host replaces by a path to the network namespace of the DUT: only when it is carried out does
/// that namespace have one.
pub const NETNS_OF_DUT: &str = "{namespace of the DUT}";

impl Action {
    /// A command of words separated by blanks; no quoting.
    pub fn words(line: &str) -> Action {
        let mut words = line.split_ascii_whitespace().map(str::to_owned);
        Action::Command { program: words.next().unwrap_or_default(), args: words.collect(), stdin: None }
    }

    /// A command that reads `text`.
    pub fn reading(line: &str, text: impl Into<String>) -> Action {
        let mut action = Action::words(line);
        if let Action::Command { stdin, .. } = &mut action {
            *stdin = Some(text.into());
        }
        action
    }

    /// Write the kernel setting `name` (its path below `/proc/sys`).
    pub fn sysctl(name: &str, value: u64) -> Action {
        Action::Write { path: format!("/proc/sys/{name}"), value: value.to_string() }
    }
}

impl fmt::Display for Action {
    /// As one would type it into a shell.
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
            Action::Set { setting, value } => match setting.command(value) {
                Some(command) => command.fmt(f),
                None => write!(f, "echo {} > {}", quoted(value), quoted(&setting.to_string())),
            },
        }
    }
}

/// A word as a shell needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How to see that a step did what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// The setting just written reads as written.
    Reads,
    /// A command succeeds and its output contains every one of these.
    Shows {
        /// The command.
        action: Action,
        /// The texts.
        contains: Vec<String>,
    },
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it is good for, in words that finish "in order to …".
    pub why: String,
    /// Where.
    pub place: Place,
    /// Do.
    #[serde(rename = "do")]
    pub action: Action,
    /// See that it is done; without one, success of the command is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Take it back. Without one, the change vanishes with the namespace it was made in; what is changed at
    /// [`Place::Machine`] is restored from the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Action>,
    /// Skipped where the kernel has no such setting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl Step {
    /// A step in the DUT that vanishes with its namespace.
    pub fn dut(why: impl Into<String>, action: Action) -> Step {
        let check = matches!(action, Action::Write { .. } | Action::Set { .. }).then_some(Check::Reads);
        Step { why: why.into(), place: Place::Dut, action, check, undo: None, optional: false }
    }

    /// The same at the tester's end.
    pub fn tester(why: impl Into<String>, action: Action) -> Step {
        Step { place: Place::Tester, ..Step::dut(why, action) }
    }

    /// Give a setting of the whole machine a value.
    pub fn machine(why: impl Into<String>, setting: &Setting, value: u64) -> Step {
        Step { place: Place::Machine, ..Step::dut(why, setting.set(value.to_string())) }
    }

    /// With a way back.
    pub fn undone_by(self, undo: Action) -> Step {
        Step { undo: Some(undo), ..self }
    }

    /// With a look at the result.
    pub fn shown_by(self, action: Action, contains: &[&str]) -> Step {
        let contains = contains.iter().map(|&s| s.to_owned()).collect();
        Step { check: Some(Check::Shows { action, contains }), ..self }
    }

    /// Skipped where the kernel has no such setting.
    pub fn where_present(self) -> Step {
        Step { optional: true, ..self }
    }

    /// Whether it changes the whole machine.
    pub fn is_machine_wide(&self) -> bool {
        self.place == Place::Machine
    }
}

impl fmt::Display for Step {
    /// What `natmeter plan --steps` prints: reason, place, command, and the way back if it needs a command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Machine => "machine",
            Place::Dut => "dut",
            Place::Tester => "tester",
        };
        writeln!(f, "# {}", self.why)?;
        write!(f, "[{place}] {}", self.action)?;
        match &self.undo {
            Some(undo) => write!(f, "\n    undo: {undo}"),
            None if self.is_machine_wide() => write!(f, "\n    undo: the value before, from the journal"),
            None => Ok(()),
        }
    }
}

/// Steps as a person reads them, in order.
pub fn listing(steps: &[Step]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What became of one action: a line of the run's list of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// What it was good for.
    pub why: String,
    /// Where.
    pub place: Place,
    /// As one would type it.
    pub command: String,
    /// Exit status; none for a written setting or a program that could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// What it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What it complained about; for a setting, the kernel's refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// It did what it should.
    pub ok: bool,
    /// How long it took.
    pub micros: u64,
}

/// What happens, as told to whoever keeps the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// An action was carried out.
    Executed(Executed),
    /// Something could not be undone, or was left alone on purpose.
    Left {
        /// What, and why.
        what: String,
    },
    /// A setting that an earlier run left behind was restored.
    Cleaned {
        /// Which, and to what.
        what: String,
    },
}

/// Where events go. Called from one thread at a time.
pub type Sink = std::sync::Arc<dyn Fn(&Event) + Send + Sync>;

/// A sink for those who do not care.
pub fn no_sink() -> Sink {
    std::sync::Arc::new(|_| {})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_shown_as_typed_into_a_shell() {
        assert_eq!(Action::words("ip link set lo up").to_string(), "ip link set lo up");
        assert_eq!(Action::sysctl("net/ipv4/ip_forward", 1).to_string(), "echo 1 > /proc/sys/net/ipv4/ip_forward");
        assert_eq!(
            Action::reading("nft -f -", "table ip x {\n}\n").to_string(),
            "nft -f - <<'END'\ntable ip x {\n}\nEND"
        );
        let odd = Action::Command { program: "echo".into(), args: vec!["it's".into(), String::new()], stdin: None };
        assert_eq!(odd.to_string(), r"echo 'it'\''s' ''");
    }

    #[test]
    fn a_step_survives_being_written_and_read() {
        let step = Step::machine("room", &crate::software::conntrack::max(), 1 << 20);
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), step);
    }
}
