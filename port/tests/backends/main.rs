//! Tests of the back-ends: the contract of all back-ends, and the further properties of single kernel back-ends.

mod card;
#[path = "../common/mod.rs"]
mod common;
mod contract;
mod kernel;
mod lanes;
mod mute;
