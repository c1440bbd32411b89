//! Conformance of MAP-E and MAP-T: rules against the examples of the RFCs, then both roles packet by packet.
//! `etherparse` judges every packet that comes out; nothing of the plane's own checksum code is used here.

mod bed;
mod domain;
mod edge;
mod fragments;
mod mape;
mod mapt;
mod pages;
mod rules;
