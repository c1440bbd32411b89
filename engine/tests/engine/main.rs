//! The engine: parts with simulated times, phases, trials, and the calibration.

mod calibrate;
mod common;
mod device;
mod direction_ratio;
mod early;
mod imix;
mod incomplete;
mod judge;
mod layouts;
mod native;
mod observe;
mod phase;
mod popularity;
mod ports;
mod sender;
mod service;
mod tcp;
mod tcp_exchange;
mod trial;
mod warm_up;
