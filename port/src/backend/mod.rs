//! The back-ends, with one entry each in [`KNOWN`].

pub mod af_packet;
pub mod af_xdp;
pub mod link;
pub mod tap;

/// Names and descriptions.
pub const KNOWN: &[(&str, &str)] = &[
    ("link", "in-process link to the embedded gateway; no privilege, no kernel"),
    ("tap", "TAP device: the cheapest way to a kernel DUT on one machine; root or a user namespace"),
    ("af_packet", "packet sockets: any interface and kernel, no BPF; CAP_NET_RAW"),
    ("af_xdp", "XDP sockets: the fastest on a network card, zero-copy where the driver has it; root"),
];

/// Depth in frames of a processor's backlog in front of the receive path: the DUT's ingress queue
/// of interfaces without a ring. The kernel's default if unreadable.
fn cpu_backlog() -> usize {
    let text = std::fs::read_to_string("/proc/sys/net/core/netdev_max_backlog").unwrap_or_default();
    text.trim().parse().unwrap_or(1000)
}

/// Repeats on EBUSY for a second: the kernel releases devices and queues some time after they were closed.
fn while_busy<T>(mut attempt: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(1);
    loop {
        match attempt() {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && std::time::Instant::now() < deadline => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            result => return result,
        }
    }
}
