//! One trial of DNS queries: a client that sends queries at a rate from many source ports, and a judge of the answers (RFC
//! 8219, section 9). The authoritative server and the device under test are other programs; `dut` starts them.
//!
//! [`names`] says which domain names exist and what their records are; [`query`] makes queries and [`answer`] judges answers;
//! [`plan`] says which query asks for which name; [`client`] sends and receives; [`tester`] carries out a trial of `method`.

#![forbid(unsafe_code)]

pub mod answer;
pub mod client;
pub mod names;
pub mod plan;
pub mod query;
mod sent;
pub mod tester;
mod worker;

pub use answer::{Expected, Wrong};
pub use client::{Client, Ports};
pub use names::Names;
pub use plan::QueryPlan;
pub use tester::{Device, Tester};
