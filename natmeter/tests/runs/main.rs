//! Runs to their end, interrupted and resumed; folders as they come back: of an earlier version, cut, doubled, edited.

mod complete;
mod damaged;
mod folder_copy;
mod left_out;
mod resume;
mod simulated;
mod tester_workers;
mod version1;
mod whole_runs;
mod wires;
