//! Test beds with real ports: the file that `bed init` writes, and what `bed check` finds out about a bed before a run.

pub mod check;
pub mod init;
pub mod siitperf;
