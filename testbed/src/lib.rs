//! Test beds of plane functions: a frame in memory, a place where functions get and leave further frames, packets built and judged
//! by `etherparse`, and workers with the steering in front of them. Tests, benchmarks and fuzz targets share it; nothing of the
//! plane's own header or checksum code is used here.

#![forbid(unsafe_code)]

mod bed;
mod by_version;
pub mod fragments;
mod frame;
mod function;
pub mod hex;
pub mod ip4;
pub mod judge;
pub mod link;
pub mod packets;
pub mod page;

pub use bed::{Bed, SECOND, Tunnels};
pub use by_version::ByVersion;
pub use frame::{Frame, Outbox};
pub use hex::hex;
pub use link::{Link, arriving};

/// What most tests use: frames, their builders and their judge.
pub mod prelude {
    pub use crate::fragments::{fragments, reassemble};
    pub use crate::ip4::{clear_df, reseal, set_df, with_options};
    pub use crate::judge::{Header, icmp_type, judge, quote_of};
    pub use crate::link::{CUSTOMER, CUSTOMER_HOP, CUSTOMER_MAC, INTERNET, INTERNET_HOP, INTERNET_MAC};
    pub use crate::packets::*;
    pub use crate::{Bed, Frame, Outbox, SECOND, hex};
}
