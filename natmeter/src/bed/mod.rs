//! Test beds with real ports: the file that `bed init` writes, and the check before a run.

pub(crate) mod causes;
pub(crate) mod check;
pub(crate) mod frames;
pub(crate) mod init;
pub mod siitperf;
