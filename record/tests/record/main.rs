//! Folders that survive kills and full disks, and the reports that derive from them.

mod report;
mod store_full;
mod store_kill;
