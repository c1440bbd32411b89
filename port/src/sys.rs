//! System interfaces that rustix lacks.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

pub(crate) fn set_option<T: Copy>(socket: impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes of a value that lives through the call.
    check(unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len) })
        .map(drop)
}

/// Structures of integers that the kernel writes.
///
/// # Safety
/// Every bit pattern must be a valid value.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: an integer.
unsafe impl Plain for libc::c_int {}
// SAFETY: two integers.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: an integer.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl<const N: usize> Plain for [u32; N] {}
// SAFETY: three integers.
unsafe impl Plain for libc::ucred {}
// SAFETY: integers.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: integers.
unsafe impl Plain for libc::xdp_statistics {}

pub(crate) fn get_option<T: Plain>(socket: impl AsFd, level: i32, name: i32) -> io::Result<T> {
    // SAFETY: all zeroes is a valid value of a `Plain` type.
    let mut value: T = unsafe { std::mem::zeroed() };
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into a local value, which may hold any bit pattern.
    check(unsafe { libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut len) })?;
    Ok(value)
}

/// Sets the buffer, in bytes. With a small buffer, a full queue of the DUT becomes the tester's
/// back-pressure, which hides loss. The privileged option ignores the system's limit.
pub(crate) fn set_send_buffer(socket: impl AsFd, bytes: i32) -> io::Result<()> {
    set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
        .or_else(|_| set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
}

/// Memory that is private or shared with the kernel; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is only an address range; each access to it needs its own justification.
unsafe impl Send for Mapping {}
// SAFETY: as above; through a shared reference a mapping gives only its address and length.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A socket's memory at `offset` (a ring).
    pub(crate) fn shared(socket: impl AsFd, len: usize, offset: u64) -> io::Result<Mapping> {
        Mapping::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_fd().as_raw_fd(), offset)
    }

    pub(crate) fn anonymous(len: usize) -> io::Result<Mapping> {
        Mapping::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    fn map(len: usize, flags: i32, fd: i32, offset: u64) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a free range, so the call touches no existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, offset as libc::off_t) };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Mapping { base, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map` and is unmapped only here; no user of its address outlives it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
