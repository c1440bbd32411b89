//! Complete, interrupted and resumed runs; and run folders that are old, truncated or edited.

mod busy_host;
mod cells;
mod compare;
mod complete;
mod damaged;
mod device;
mod direction_ratio;
mod faults;
mod folder_copy;
mod known_truth;
mod left_out;
mod limits;
mod native;
mod procedures;
#[path = "../common/program.rs"]
mod program;
mod repeated;
mod reproduce;
mod resume;
mod schemas;
mod simulated;
mod simulated_truth;
mod size;
mod tcp;
mod tester_workers;
mod traffic;
mod values;
mod version1;
mod whole_runs;
mod wires;
