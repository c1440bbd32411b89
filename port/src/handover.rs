//! Descriptors that a program inherits, and the sockets or TAPs of a virtual machine's interfaces.

use crate::backend::{af_packet, tap};
use crate::{Netns, PortError};
use rustix::io::{FdFlags, fcntl_setfd};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes a command inherit descriptors under their numbers.
pub fn inherit(command: &mut Command, descriptors: Vec<OwnedFd>) {
    let keep = move || descriptors.iter().try_for_each(|fd| Ok(fcntl_setfd(fd.as_fd(), FdFlags::empty())?));
    // SAFETY: between fork and exec the closure makes only system calls: it neither allocates nor locks.
    unsafe { command.pre_exec(keep) };
}

/// Opens a packet socket that receives every frame but its own; sending bypasses queueing disciplines.
///
/// # Errors
/// No interface has this name, or CAP_NET_RAW is missing in the namespace.
pub fn packet_socket(namespace: &Netns, interface: &str) -> Result<OwnedFd, PortError> {
    namespace.run_in(|| af_packet::both_ways(interface))?
}

/// Opens the queues of an existing TAP.
///
/// # Errors
/// No TAP has this name and so many free queues, or CAP_NET_ADMIN is missing in the namespace.
pub fn tap(namespace: &Netns, interface: &str, queues: u32) -> Result<Vec<OwnedFd>, PortError> {
    namespace.run_in(|| tap::queues(interface, queues))?
}
