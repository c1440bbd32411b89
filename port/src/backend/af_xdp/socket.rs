//! Opens one XDP socket on one queue, in the order of calls that the kernel requires.
//!
//! Each socket registers its pool's whole mapping itself instead of sharing a registration
//! (`XDP_SHARED_UMEM`), so ports may be opened and closed in any order.

use super::ring::{Consumer, Producer};
use super::{AfXdpConfig, CopyMode, XdpMode};
use crate::frame::Region;
use crate::sys::{Mapping, check, get_option, set_option, set_send_buffer};
use libc::{xdp_desc, xdp_mmap_offsets, xdp_ring_offset};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// Bytes that the kernel reserves in front of every frame.
pub(super) const KERNEL_HEADROOM: usize = 256;

pub(super) struct Socket {
    pub fd: OwnedFd,
    pub fill: Producer<u64>,
    pub completion: Consumer<u64>,
    pub receive: Consumer<xdp_desc>,
    pub transmit: Producer<xdp_desc>,
    pub zero_copy: bool,
}

impl Socket {
    pub(super) fn open(region: &Region, index: u32, queue: u32, config: &AfXdpConfig) -> io::Result<Socket> {
        let fd = rustix::net::socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let set = |name: i32, value: u32| set_option(&fd, libc::SOL_XDP, name, &value);
        register(&fd, region)?;
        let size = config.ring;
        set(libc::XDP_UMEM_FILL_RING, size)?;
        set(libc::XDP_UMEM_COMPLETION_RING, size)?;
        set(libc::XDP_RX_RING, size)?;
        set(libc::XDP_TX_RING, size)?;
        let at: xdp_mmap_offsets = get_option(&fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let fill = map::<u64>(&fd, at.fr, size, libc::XDP_UMEM_PGOFF_FILL_RING)?;
        let completion = map::<u64>(&fd, at.cr, size, libc::XDP_UMEM_PGOFF_COMPLETION_RING)?;
        let receive = map::<xdp_desc>(&fd, at.rx, size, libc::XDP_PGOFF_RX_RING as u64)?;
        let transmit = map::<xdp_desc>(&fd, at.tx, size, libc::XDP_PGOFF_TX_RING as u64)?;
        // More than any DUT's queue holds, so that a full queue causes loss (EBUSY) and not
        // back-pressure, which hides it.
        set_send_buffer(&fd, 64 << 20)?;
        let flags = libc::XDP_USE_NEED_WAKEUP
            | match (config.mode, config.copying) {
                // Without the flag the kernel binds zero-copy to a driver that has it, whose rings the program in the
                // general receive path never fills.
                (XdpMode::Generic, _) | (_, CopyMode::Always) => libc::XDP_COPY,
                (XdpMode::Native, CopyMode::IfNeeded) => 0,
                (XdpMode::Native, CopyMode::Never) => libc::XDP_ZEROCOPY,
            };
        // The kernel releases a queue 20 to 40 ms after its last socket was closed.
        super::super::while_busy(|| bind(&fd, index, queue, flags))?;
        let options: u32 = get_option(&fd, libc::SOL_XDP, libc::XDP_OPTIONS)?;
        Ok(Socket {
            fill: Producer::new(fill, at.fr, size),
            completion: Consumer::new(completion, at.cr, size),
            receive: Consumer::new(receive, at.rx, size),
            transmit: Producer::new(transmit, at.tx, size),
            zero_copy: options & libc::XDP_OPTIONS_ZEROCOPY != 0,
            fd,
        })
    }

    /// Tells the kernel of frames to send, without blocking.
    pub(super) fn kick(&self) -> io::Result<()> {
        // SAFETY: the call passes no buffer and no address.
        let result =
            unsafe { libc::sendto(self.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(super) fn wake_receiver(&self) {
        let (nothing, flags) = (std::ptr::null_mut(), libc::MSG_DONTWAIT);
        // SAFETY: the call passes no buffer and no address. Its result is ignored: it says only whether the driver
        // slept.
        unsafe { libc::recvfrom(self.fd.as_raw_fd(), nothing, 0, flags, std::ptr::null_mut(), std::ptr::null_mut()) };
    }

    /// Frames dropped without a free frame, or without room in the receive ring.
    pub(super) fn dropped(&self) -> u64 {
        let seen = get_option::<libc::xdp_statistics>(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS);
        // A zero-copy driver counts a missing free frame only in `rx_fill_ring_empty_descs`; in copy mode `rx_dropped`
        // does too.
        seen.map_or(0, |s| s.rx_dropped + s.rx_ring_full + if self.zero_copy { s.rx_fill_ring_empty_descs } else { 0 })
    }
}

fn register(socket: &OwnedFd, region: &Region) -> io::Result<()> {
    let (base, len) = region.memory();
    let config = region.config();
    let registration = libc::xdp_umem_reg {
        addr: base.as_ptr() as u64,
        len: len as u64,
        chunk_size: config.slot as u32,
        headroom: config.headroom.saturating_sub(KERNEL_HEADROOM) as u32,
        flags: 0,
        tx_metadata_len: 0,
    };
    set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
}

fn map<T>(socket: &OwnedFd, at: xdp_ring_offset, size: u32, offset: u64) -> io::Result<Arc<Mapping>> {
    let len = at.desc as usize + size as usize * size_of::<T>();
    Mapping::shared(socket, len, offset).map(Arc::new)
}

fn bind(socket: &OwnedFd, index: u32, queue: u32, flags: u16) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes of an address that lives through the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), len) }).map(drop)
}
