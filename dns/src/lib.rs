//! One trial of DNS queries (RFC 8219, section 9): a client that sends queries at a rate from many
//! source ports, and a judge of the answers. Server and device are other programs, which `dut`
//! starts.

#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc, reason = "names and error messages document the items")]

pub mod answer;
pub mod client;
pub mod load;
pub mod names;
pub mod plan;
pub mod query;
mod sent;
pub mod tester;
mod worker;

pub use answer::{AnswerFault, ExpectedAnswer};
pub use client::{Client, ClientSockets};
pub use names::Names;
pub use plan::QueryPlan;
pub use tester::{Device, Tester};
