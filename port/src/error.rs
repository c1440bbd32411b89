//! The one error type of this crate: what was being done, what happened, what to do next.

use std::io;

/// Why a port, a pool, a namespace or the clock cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A system call failed.
    #[error("{doing}: {source}{}", hint(.advice))]
    System {
        /// What was being done.
        doing: String,
        /// What the kernel said.
        source: io::Error,
        /// What to do next; may be empty.
        advice: &'static str,
    },
    /// The request itself cannot be met.
    #[error("{0}")]
    Unsupported(String),
}

fn hint(advice: &str) -> String {
    if advice.is_empty() { String::new() } else { format!(" ({advice})") }
}

impl PortError {
    /// An error of a system call.
    pub fn system(doing: impl Into<String>, source: impl Into<io::Error>, advice: &'static str) -> PortError {
        PortError::System { doing: doing.into(), source: source.into(), advice }
    }
    /// The last error of the calling thread (`errno`).
    pub fn last(doing: impl Into<String>, advice: &'static str) -> PortError {
        PortError::System { doing: doing.into(), source: io::Error::last_os_error(), advice }
    }
}
