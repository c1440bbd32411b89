//! The error type of this crate. Each text says what natmeter was doing, what happened, and how to fix it.

use std::io;

/// The reason why an operation on a port, a pool, a namespace or the clock failed.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A system call failed.
    #[error("{doing}: {source}{}", hint(.advice))]
    System {
        /// The operation.
        doing: String,
        /// The kernel's error.
        source: io::Error,
        /// How to fix it; may be empty.
        advice: &'static str,
    },
    /// The request is unsupported.
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
