//! The one error type of this crate: what was being done, what happened, what to do next.

use crate::step::{Action, Place};
use crate::tool::Tool;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a device under test could not be brought into the state asked for.
#[derive(Debug, thiserror::Error)]
pub enum DutError {
    /// Programs are not installed. Nothing was touched.
    #[error("{}", missing(.0))]
    MissingTools(Vec<Tool>),
    /// Something asked for cannot be had. Nothing was touched.
    #[error("{what}: {way_out}")]
    Refused {
        /// What was asked for, and why not.
        what: String,
        /// What to do instead.
        way_out: String,
    },
    /// A step failed, and what had been done before it was undone.
    #[error("{0}")]
    Step(Box<FailedStep>),
    /// Another run is alive.
    #[error("{what} is in use by {holder}: wait for it, or stop it")]
    Busy {
        /// What both want.
        what: String,
        /// Who has it.
        holder: Holder,
    },
    /// Natmeter could not find out whether another process measures.
    #[error(
        "asking whether another natmeter measures on this machine: {source}; use `--beside` to measure without asking"
    )]
    MachineLock {
        /// What the system said.
        source: io::Error,
    },
    /// The journal or a lock could not be read or written.
    #[error("{doing} {path}: {source}")]
    Journal {
        /// What was being done.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Settings could not be restored; the journal is kept.
    #[error(
        "settings of the machine are not restored: {}. The journal {journal} keeps the old values: remove the cause, then run \
         `natmeter clean` as root",
        .failures.join("; ")
    )]
    NotRestored {
        /// What, and what the kernel said.
        failures: Vec<String>,
        /// Where the old values are.
        journal: PathBuf,
    },
    /// The connection tracking table does not become empty.
    #[error(
        "after `{how}` the table still holds {count} connections ({waited_ms} ms later): is other traffic passing the DUT?"
    )]
    NotEmpty {
        /// How it was cleared.
        how: String,
        /// What is left.
        count: u64,
        /// How long was waited.
        waited_ms: u64,
    },
    /// The device does not answer.
    #[error("the DUT does not answer: {0}")]
    Dead(String),
    /// Ports or namespaces.
    #[error(transparent)]
    Port(#[from] port::PortError),
}

/// Another process that has what we want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// One that can be seen from here, or was when it wrote down who it is.
    Process {
        /// Its number.
        pid: String,
        /// Its command line.
        command: String,
    },
    /// One that our pid namespace does not show: it has no number here.
    Elsewhere,
    /// Nobody says who it is.
    Unknown,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Process { pid, command } => write!(f, "process {pid} ({command})"),
            Holder::Elsewhere => f.write_str(
                "a process that cannot be seen from here, because it runs outside this container (in another pid namespace)",
            ),
            Holder::Unknown => f.write_str("a process that begins or ends just now"),
        }
    }
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// What the step was good for.
    pub why: String,
    /// Where.
    pub place: Place,
    /// The action.
    pub action: Action,
    /// What it did instead, with its output.
    pub outcome: String,
    /// What was undone afterwards.
    pub undone: Vec<String>,
    /// What could not be undone.
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

fn missing(tools: &[Tool]) -> String {
    let mut packages: Vec<&str> = tools.iter().map(|t| t.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let programs: Vec<&str> = tools.iter().map(|t| t.program).collect();
    let verb = if programs.len() == 1 { "is" } else { "are" };
    format!("{} {verb} not installed: apt-get install {}", programs.join(", "), packages.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_name_each_package_once() {
        let tool = |program, package| Tool { program, package, version: &[] };
        let error = DutError::MissingTools(vec![
            tool("nft", "nftables"),
            tool("iptables-nft", "iptables"),
            tool("iptables-legacy", "iptables"),
        ]);
        assert_eq!(
            error.to_string(),
            "nft, iptables-nft, iptables-legacy are not installed: apt-get install iptables nftables"
        );
    }
}
