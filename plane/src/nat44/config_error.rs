//! The error of a configuration and of its static mappings.

/// A mistake in a [`Config`](super::config::Config).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct ConfigError {
    /// The setting.
    pub what: &'static str,
    /// What is wrong and what to write instead.
    pub why: String,
}
