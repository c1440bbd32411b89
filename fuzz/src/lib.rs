//! Shared by the targets: benches, packets, and independent checksums, so that the code under test does not check
//! itself.

#![forbid(unsafe_code)]

pub mod bench;
pub mod build;
pub mod checksum;
pub mod nat;
pub mod six;

/// What targets use that send frames into a function of the plane.
pub mod prelude {
    pub use crate::bench::{self, BenchStep, Setup};
    pub use crate::build::{CUSTOMER, INTERNET, edge, side4, side6};
    pub use crate::ip6;
    pub use crate::nat::{MOST, Settings};
    pub use arbitrary::Arbitrary;
    pub use libfuzzer_sys::fuzz_target;
    pub use plane::{Function, Pool6, Side};
    pub use wire::{AddrRange, Prefix4, Prefix6};
}

/// A folder for the files of one process: in memory, where that is possible.
///
/// # Panics
/// When there is no room for it.
pub fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::tempdir_in(place).expect("room for a folder")
}

/// An IPv6 address of a target's own set-up.
///
/// # Panics
/// When it is none.
pub fn ip6(text: &str) -> std::net::Ipv6Addr {
    text.parse().expect("an address")
}
