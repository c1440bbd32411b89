//! Test beds with real ports: the file that `bed init` writes, and the check before a run.

pub mod check;
pub mod init;
pub mod siitperf;
