//! Guests: virtual machines that natmeter builds from Debian packages and boots as devices under test. User-Mode Linux
//! is a Linux kernel that runs as a process: one processor, no need for hardware support. QEMU runs Debian's stock
//! kernel with several processors.
//!
//! `natmeter guest build` makes an image: a kernel, and a first file system that holds the guest's programs. A guest has
//! no disk, so that each boot starts from the same state. natmeter sends it commands over a serial port of its own
//! ([`agent`]); no tested interface carries them.

pub mod agent;
mod base64;
pub mod build;
pub mod cache;
mod cpio;
mod recipe;
pub mod running;
mod uml;

pub use cache::{Cache, Image};
pub use running::{Guest, GuestConfig};

/// What runs the guest's kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// User-Mode Linux.
    #[default]
    Uml,
}

impl Kind {
    /// All kinds with name and description.
    pub const ALL: &[(Kind, &str, &str)] =
        &[(Kind::Uml, "uml", "User-Mode Linux: a kernel that runs as a process, with one processor")];

    /// Its name.
    pub fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind)
    }
}
