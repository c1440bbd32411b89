//! Descriptors that a program inherits from natmeter, and the packet sockets or TAPs that serve as network interfaces
//! of a virtual machine.

use crate::backend::{af_packet, tap};
use crate::{Netns, PortError};
use rustix::io::{FdFlags, fcntl_setfd};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes a command inherit descriptors under their numbers. They stay open in this process as long as the command
/// lives.
pub fn inherit(command: &mut Command, descriptors: Vec<OwnedFd>) {
    let keep = move || descriptors.iter().try_for_each(|fd| Ok(fcntl_setfd(fd.as_fd(), FdFlags::empty())?));
    // SAFETY: between fork and exec the closure makes only system calls: it neither allocates nor locks.
    unsafe { command.pre_exec(keep) };
}

/// Opens a packet socket on an interface in a namespace. It receives every frame except those that it sent itself.
/// Sending bypasses queueing disciplines.
///
/// # Errors
/// When no interface has this name, or without CAP_NET_RAW in the namespace.
pub fn packet_socket(namespace: &Netns, interface: &str) -> Result<OwnedFd, PortError> {
    namespace.run_in(|| af_packet::both_ways(interface))?
}

/// Opens the queues of an existing TAP in a namespace. The owner of the queues is the other end of the interface.
///
/// # Errors
/// When no TAP has this name and so many queues, when its queues are in use, or without CAP_NET_ADMIN in the namespace.
pub fn tap(namespace: &Netns, interface: &str, queues: u32) -> Result<Vec<OwnedFd>, PortError> {
    namespace.run_in(|| tap::queues(interface, queues))?
}
