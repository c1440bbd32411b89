//! The error type of this crate. Each text says what natmeter was doing, what happened, and how to fix it.

use std::io;

/// The reason why an operation on a port, a pool, a namespace or the clock failed.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A system call failed.
    #[error("{doing}: {source}{}", hint(.advice))]
    System {
        /// What natmeter was doing, and on which interface or file.
        doing: String,
        /// The error that the kernel returned.
        source: io::Error,
        /// How to fix it; may be empty.
        advice: &'static str,
    },
    /// Kernel, driver or configuration do not support the request; the text says which and what to use instead.
    #[error("{0}")]
    Unsupported(String),
}

fn hint(advice: &str) -> String {
    if advice.is_empty() { String::new() } else { format!(" ({advice})") }
}

impl PortError {
    /// Returns the error of a system call that failed with `source`.
    pub fn system(doing: impl Into<String>, source: impl Into<io::Error>, advice: &'static str) -> PortError {
        PortError::System { doing: doing.into(), source: source.into(), advice }
    }
    /// Returns the error of the calling thread's last system call (`errno`).
    pub fn last(doing: impl Into<String>, advice: &'static str) -> PortError {
        PortError::System { doing: doing.into(), source: io::Error::last_os_error(), advice }
    }
}
