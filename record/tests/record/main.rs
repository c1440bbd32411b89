//! Run folders after kills, on full disks and damaged, and reports.

mod damaged_folder;
mod report;
mod store_full;
mod store_kill;
