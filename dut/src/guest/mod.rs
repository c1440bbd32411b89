//! Guests: virtual machines that natmeter builds from Debian packages and boots as devices under
//! test. User-Mode Linux runs as a process with one processor; QEMU runs Debian's kernel with
//! several, and needs hardware support to be fast.
//!
//! An image is a kernel and a first file system; without a disk, each boot starts from the same
//! state. Commands go over a serial port ([`agent`]), not a tested interface.

pub mod agent;
pub mod build;
pub mod cache;
mod config;
mod cpio;
mod host;
pub mod network;
mod qemu;
mod recipe;
pub mod running;
pub mod sshd;
mod uml;

pub use cache::{Cache, Image};
pub use config::{GuestConfig, Nic};
pub use host::SharedGuest;
pub use qemu::has_kvm;
pub use running::Guest;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hypervisor {
    /// User-Mode Linux.
    #[default]
    Uml,
    Qemu,
}

impl Hypervisor {
    pub const ALL: &[(Hypervisor, &str, &str)] = &[
        (Hypervisor::Uml, "uml", "User-Mode Linux: a kernel that runs as a process, with one processor"),
        (Hypervisor::Qemu, "qemu", "QEMU: Debian's kernel for virtual machines, with several processors"),
    ];

    pub fn name(self) -> &'static str {
        Hypervisor::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    pub fn named(name: &str) -> Option<Hypervisor> {
        Hypervisor::ALL.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind)
    }
}
