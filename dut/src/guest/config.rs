//! The configuration of a guest: processors, memory and interfaces.

use super::Hypervisor;
use std::os::fd::OwnedFd;
use std::time::Duration;
use wire::Mac;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestConfig {
    pub kind: Hypervisor,
    pub memory_mib: u32,
    pub cpus: u32,
    /// Cores for its kernel (`nr_cpus`); `None` for all.
    pub cores: Option<u32>,
    pub boot: Duration,
}

impl Default for GuestConfig {
    fn default() -> GuestConfig {
        GuestConfig {
            kind: Hypervisor::default(),
            memory_mib: 256,
            cpus: 1,
            cores: None,
            boot: Duration::from_secs(120),
        }
    }
}

#[derive(Debug)]
pub struct Nic {
    pub name: &'static str,
    pub mac: [u8; 6],
    /// A packet socket for User-Mode Linux, the queues of a TAP for QEMU.
    pub descriptors: Vec<OwnedFd>,
}

impl Nic {
    pub(super) fn mac(&self) -> String {
        Mac(self.mac).to_string()
    }

    /// Returns a kernel argument for `init.sh`. No argument may begin with `con`, which User-Mode Linux interprets.
    pub(super) fn argument(&self) -> String {
        format!("nic_{}={}", self.name, self.mac())
    }
}

#[cfg(test)]
pub(super) mod tests;
