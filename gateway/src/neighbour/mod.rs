//! The Ethernet address of each side's next hop (ARP, RFC 826; Neighbor Discovery, RFC 4861).

pub mod learn;
mod message;
mod resolve;
mod watch;

pub use learn::{NextHop, NextHops};
pub use message::{request, request_of};
pub use resolve::{NeighbourError, resolve};
pub use watch::{Finding, Question, Watch};
