//! Tests of the back-ends: the contract that all of them keep, and what single kernel back-ends do beyond it.

mod card;
#[path = "../common/mod.rs"]
mod common;
mod contract;
mod kernel;
mod lanes;
mod mute;
