//! Shared by the targets: benches, packets, and independent checksums, so that the code under test does not check
//! itself.

#![forbid(unsafe_code)]

pub mod bench;
pub mod build;
pub mod checksum;
pub mod nat;
pub mod six;

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
