//! What a program inherits from natmeter: descriptors, and the packet sockets or TAPs that are the network interfaces of a
//! virtual machine.

use crate::backend::{af_packet, tap};
use crate::{Netns, PortError};
use rustix::io::{FdFlags, fcntl_setfd};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes a command inherit descriptors under their numbers. They are open here as long as the command lives.
pub fn inherit(command: &mut Command, descriptors: Vec<OwnedFd>) {
    let keep = move || descriptors.iter().try_for_each(|fd| Ok(fcntl_setfd(fd.as_fd(), FdFlags::empty())?));
    // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor locks.
    unsafe { command.pre_exec(keep) };
}

/// Opens a packet socket that sends and receives every frame of an interface in a namespace, but not the frames that it
/// sent itself. Sending skips queueing disciplines.
///
/// # Errors
/// When there is no such interface, or without CAP_NET_RAW in the namespace.
pub fn packet_socket(namespace: &Netns, interface: &str) -> Result<OwnedFd, PortError> {
    namespace.run_in(|| af_packet::both_ways(interface))?
}

/// Opens the queues of an existing TAP in a namespace: its frames pass between the interface and the holder of the queues.
///
/// # Errors
/// When there is no such TAP with so many queues, or its queues are open, or without CAP_NET_ADMIN in the namespace.
pub fn tap(namespace: &Netns, interface: &str, queues: u32) -> Result<Vec<OwnedFd>, PortError> {
    namespace.run_in(|| tap::queues(interface, queues))?
}
