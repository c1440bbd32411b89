//! The error type.

use std::io;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A system call failed.
    #[error("{doing}: {source}{}", hint(.advice))]
    System {
        /// What natmeter was doing, and with what.
        doing: String,
        /// The kernel's error.
        source: io::Error,
        /// How to fix it; may be empty.
        advice: &'static str,
    },
    /// The kernel or interface lacks a feature; the text names an alternative.
    #[error("{0}")]
    Unsupported(String),
}

fn hint(advice: &str) -> String {
    if advice.is_empty() { String::new() } else { format!(" ({advice})") }
}

impl PortError {
    /// The error of an interface that existed when its port was opened.
    pub(crate) fn gone(interface: &str) -> PortError {
        PortError::Unsupported(format!(
            "{interface} no longer exists: its card was removed, or its driver unloaded (see `dmesg`), or it was deleted, renamed or \
             moved to another namespace"
        ))
    }

    /// The error of a system call.
    pub fn system(doing: impl Into<String>, source: impl Into<io::Error>, advice: &'static str) -> PortError {
        PortError::System { doing: doing.into(), source: source.into(), advice }
    }
}
