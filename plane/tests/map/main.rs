//! Conformance of MAP-E and MAP-T: rules against the examples of the RFCs, then both roles packet by packet.
//! `etherparse` judges every packet that comes out; nothing of the plane's own checksum code is used here.

mod bed;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of other functions, which need more of it")]
mod common;
mod domain;
mod edge;
mod fragments;
mod mape;
mod mapt;
mod pages;
mod rules;
