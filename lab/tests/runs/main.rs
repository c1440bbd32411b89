//! Runs on devices of known truth: to their end, interrupted, resumed, with measurements left out.

mod complete;
mod left_out;
mod resume;
mod simulated;
