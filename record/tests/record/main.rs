//! Run folders after kills, on full disks and damaged, with links in the place of their files, and reports.

// Tests prepare what `store::Dir` must refuse.
#![allow(clippy::disallowed_methods)]

mod damaged_folder;
mod links;
mod report;
mod store_full;
mod store_kill;
mod toy_procedure;
