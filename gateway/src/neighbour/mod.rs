//! The Ethernet address of each side's next hop (ARP, RFC 826; Neighbor Discovery, RFC 4861).

pub mod learn;
mod message;
mod resolve;

pub use learn::{NextHop, NextHops};
pub use message::request;
pub use resolve::{NeighbourError, resolve};
