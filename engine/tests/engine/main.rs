//! Tests of the engine: its parts on times that the test gives, whole phases and trials, and the calibration.

mod calibrate;
mod common;
mod judge;
mod layouts;
mod phase;
mod sender;
mod trial;
