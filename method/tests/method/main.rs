//! Tests of the method: verdicts rule by rule, and procedures against simulated devices.

mod bias;
mod direction_ratio;
mod properties;
mod replay;
mod search;
mod validity;
