//! Command line, runs, test beds, self-test and the gateway program.

#![forbid(unsafe_code)]

pub mod advice;
pub mod bed;
pub mod build_info;
pub mod cells;
pub mod cli;
pub mod command;
pub mod console;
pub mod did_you_mean;
pub mod event;
pub mod exit;
pub mod facts;
pub mod forecast;
pub mod gateway;
pub mod installed;
pub mod listing;
pub mod priority;
pub mod rig;
pub mod run;
pub mod selftest;
pub mod serve;
pub mod signals;
pub mod steps;
pub mod term;
pub mod until;
