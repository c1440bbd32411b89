//! Descriptors that a program inherits, and the sockets or TAPs of a virtual machine's interfaces.

use crate::backend::{af_packet, tap};
use crate::{Netns, PortError};
use rustix::io::{FdFlags, fcntl_setfd};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes a command inherit descriptors under their numbers, open here as long as the command lives.
pub fn inherit(command: &mut Command, descriptors: Vec<OwnedFd>) {
    let keep = move || descriptors.iter().try_for_each(|fd| Ok(fcntl_setfd(fd.as_fd(), FdFlags::empty())?));
    // SAFETY: between fork and exec the closure makes only system calls: it neither allocates nor locks.
    unsafe { command.pre_exec(keep) };
}

/// Opens a packet socket on an interface. It receives every frame but its own; sending bypasses queueing disciplines.
///
/// # Errors
/// When no interface has this name, or without CAP_NET_RAW in the namespace.
pub fn packet_socket(namespace: &Netns, interface: &str) -> Result<OwnedFd, PortError> {
    namespace.run_in(|| af_packet::both_ways(interface))?
}

/// Opens the queues of an existing TAP, whose owner is the interface's other end.
///
/// # Errors
/// When no TAP has this name and so many free queues, or without CAP_NET_ADMIN in the namespace.
pub fn tap(namespace: &Netns, interface: &str, queues: u32) -> Result<Vec<OwnedFd>, PortError> {
    namespace.run_in(|| tap::queues(interface, queues))?
}
