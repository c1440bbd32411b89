//! The error type of this crate.

use crate::host::ssh::{SshFailure, SshKind};
use crate::step::{Action, Target};
use crate::tool::MissingTools;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a device under test could not be brought into the requested state.
#[derive(Debug, thiserror::Error)]
pub enum DutError {
    /// Tools are missing; nothing was changed.
    #[error(transparent)]
    MissingTools(#[from] MissingTools),
    /// Unsupported on this machine. Nothing was changed.
    #[error("{what}: {way_out}")]
    Refused { what: String, way_out: String },
    /// The steps before it were undone.
    #[error("{0}")]
    Step(Box<FailedStep>),
    #[error("{what} is in use by {holder}: wait until it ends, or stop it")]
    Busy {
        /// What the other run has locked.
        what: String,
        holder: Holder,
    },
    /// The machine lock could not be examined.
    #[error(
        "cannot find out whether another natmeter measures on this machine: {source}; use `--beside` to skip this check"
    )]
    MachineLock { source: io::Error },
    /// Reading or writing a journal or a lock failed.
    #[error("{doing} {path}: {source}")]
    Journal { doing: &'static str, path: PathBuf, source: io::Error },
    /// Machine-wide settings are not restored; the journal is kept.
    #[error(
        "machine-wide settings are not restored: {}. The journal {journal} keeps the old values: fix the cause, then run \
         `natmeter clean` as root",
        .failures.join("; ")
    )]
    NotRestored { failures: Vec<String>, journal: PathBuf },
    /// The table is not empty after it was cleared.
    #[error(
        "after `{how}` the table still holds {count} connections ({waited_ms} ms later): make sure that no other traffic passes the DUT"
    )]
    NotEmpty {
        how: String,
        count: u64,
        /// Time from the command to the last count, in milliseconds.
        waited_ms: u64,
    },
    #[error("the DUT does not answer: {0}")]
    Dead(String),
    #[error("{0}")]
    Ssh(Box<SshFailure>),
    #[error("{0}")]
    Guest(Box<GuestFailure>),
    #[error("{0}")]
    Hook(Box<FailedHook>),
    /// The settings of an earlier run are not restored.
    #[error(
        "{what} is still as an earlier run left it: {cause}\n{note} keeps its hook `restore`: fix the cause, then run \
         `natmeter clean`; or restore the device by hand, then remove that file"
    )]
    StillChanged {
        /// The device.
        what: String,
        cause: Box<DutError>,
        note: PathBuf,
    },
    #[error(transparent)]
    Port(#[from] port::PortError),
}

impl DutError {
    pub(crate) fn refused(what: impl Into<String>, way_out: impl Into<String>) -> DutError {
        DutError::Refused { what: what.into(), way_out: way_out.into() }
    }

    /// Whether the connection to the DUT's host or the guest is lost, so that the run can be resumed.
    pub fn is_lost_connection(&self) -> bool {
        match self {
            DutError::Ssh(failure) => failure.kind == SshKind::Lost,
            DutError::Guest(_) => true,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Visible in this pid namespace, or its pid is in the lock file.
    Process { pid: String, command: String },
    /// A process outside this pid namespace.
    Elsewhere,
    /// A process without its pid yet, or ending.
    Unknown,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Process { pid, command } => write!(f, "process {pid} ({command})"),
            Holder::Elsewhere => f.write_str("a process outside this container (in another pid namespace)"),
            Holder::Unknown => f.write_str("a process that is just starting or ending"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    pub why: String,
    pub target: Target,
    pub action: Action,
    pub outcome: String,
    pub undone: Vec<String>,
    pub left: Vec<String>,
}

impl fmt::Display for FailedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", self.why, self.action, self.outcome)?;
        if !self.undone.is_empty() {
            write!(f, "\nundone afterwards ({}): {}", self.undone.len(), self.undone.join("; "))?;
        }
        if !self.left.is_empty() {
            write!(f, "\nNOT undone: {}", self.left.join("; "))?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedHook {
    pub hook: &'static str,
    pub on: String,
    pub command: String,
    pub outcome: String,
    pub lines: Vec<String>,
    pub undone: Vec<String>,
    pub left: Vec<String>,
}

impl FailedHook {
    const LINES: usize = 20;

    pub(crate) fn last_lines(outputs: &[&str]) -> Vec<String> {
        let lines: Vec<&str> = outputs.iter().flat_map(|output| output.lines()).collect();
        let shown = |line: &&str| line.chars().take(400).collect::<String>().replace(char::is_control, " ");
        lines[lines.len().saturating_sub(FailedHook::LINES)..].iter().map(shown).collect()
    }
}

impl fmt::Display for FailedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedHook { hook, on, command, outcome, .. } = self;
        write!(f, "hook `{hook}` ({on}): `{command}` {outcome}")?;
        if self.lines.is_empty() {
            write!(f, "\nit printed nothing")?;
        } else {
            write!(f, "\nlast lines of its output:")?;
        }
        self.lines.iter().try_for_each(|line| write!(f, "\n    {line}"))?;
        self.undone.iter().try_for_each(|what| write!(f, "\nafterwards: {what}"))?;
        self.left.iter().try_for_each(|what| write!(f, "\nNOT restored: {what}"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFailure {
    pub kind: &'static str,
    pub what: String,
    pub console: Vec<String>,
}

impl fmt::Display for GuestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the guest ({}) {}", self.kind, self.what)?;
        if self.console.is_empty() {
            return write!(f, "; its console is empty");
        }
        write!(f, "; last lines of its console:")?;
        self.console.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}
