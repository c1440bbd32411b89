//! Conformance of MAP-E and MAP-T: rules against the RFCs' examples, then both roles. `etherparse` judges the packets,
//! without the plane's own checksum code.

mod bed;
mod domain;
mod edge;
mod fragments;
mod mape;
mod mapt;
mod rules;
