//! Run folders after kills and on full disks, and reports.

mod report;
mod store_full;
mod store_kill;
