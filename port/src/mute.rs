//! Keeps the tester's own kernel away from the interface of a measuring port: it would answer ARP
//! and Neighbor Discovery, send ICMP unreachable and TCP resets, or forward test frames.
//!
//! Two programs at the traffic control hooks (TCX) drop what the kernel sends and receives:
//!
//! - **Egress**: the tester's frames do not pass this hook: packet sockets use
//!   `PACKET_QDISC_BYPASS`, and XDP sockets give frames to the driver.
//! - **Ingress**: runs after XDP and packet sockets, before the rest of the kernel.
//!
//! The kernel removes the programs when their descriptors are closed, even if the process is killed.

use crate::bpf::{self, EXIT, ProgramKind, set};
use crate::interface::Interfaces;
use crate::sys::set_option;
use crate::{Netns, PortError};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

/// Keeps the kernel away from an interface until dropped.
#[derive(Debug)]
pub struct Mute {
    /// Links of the programs; closing one removes its program.
    _links: Vec<OwnedFd>,
    /// Makes the card accept frames to any address.
    _promiscuous: OwnedFd,
}

/// `BPF_TCX_INGRESS`
const INGRESS: u32 = 46;
/// `BPF_TCX_EGRESS`
const EGRESS: u32 = 47;
/// `BPF_F_BEFORE`: another program might accept the frame.
const FIRST: u32 = 1 << 3;
/// `TC_ACT_SHOT`
const DROP: i32 = 2;

impl Mute {
    /// Keeps the kernel from sending on an interface, and with `ingress` also from receiving.
    ///
    /// Use `ingress` with AF_PACKET and AF_XDP, as the kernel otherwise forwards test frames. With
    /// AF_XDP it costs nothing: the hook sees only frames that XDP did not redirect.
    ///
    /// # Errors
    /// No interface has this name, the privilege or TCX is missing (before Linux 6.6).
    pub fn attach(ns: &Netns, interface: &str, ingress: bool) -> Result<Mute, PortError> {
        ns.run_in(|| Mute::attach_here(interface, ingress))?
    }

    fn attach_here(interface: &str, ingress: bool) -> Result<Mute, PortError> {
        let index = Interfaces::here()?.get(interface)?.index;
        let program = bpf::load(ProgramKind::Classifier, &[set(0, DROP), EXIT])?;
        let mut links = Vec::with_capacity(2);
        for (hook, place) in [("egress", EGRESS), ("ingress", INGRESS)] {
            if place == EGRESS || ingress {
                let link = bpf::attach(&program, index, place, FIRST).map_err(|e| {
                    let doing =
                        format!("attaching a program at tc {hook} of {interface} (TCX), to keep the kernel out");
                    let advice = advice(&e);
                    PortError::system(doing, e, advice)
                })?;
                links.push(link);
            }
        }
        Ok(Mute { _links: links, _promiscuous: promiscuous(index, interface)? })
    }
}

/// Otherwise the card drops Neighbor Solicitations to multicast groups of addresses that the interface does not have.
fn promiscuous(index: u32, interface: &str) -> Result<OwnedFd, PortError> {
    let doing = |e: io::Error| {
        PortError::system(format!("making {interface} promiscuous"), e, "needs CAP_NET_ADMIN: run as root")
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // Without a protocol the socket receives nothing.
    let socket =
        rustix::net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None).map_err(|e| doing(e.into()))?;
    let membership = libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership).map_err(doing)?;
    Ok(socket)
}

fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::EOPNOTSUPP) => {
            "this kernel has no TCX: use Linux 6.6 or later, built with CONFIG_NET_XGRESS"
        }
        Some(libc::EPERM) => "needs CAP_NET_ADMIN and CAP_BPF outside of a user namespace: run as root",
        Some(libc::ENODEV) => "the interface was deleted or moved to another namespace",
        Some(libc::ERANGE) => "too many programs are attached there: detach some (bpftool net show)",
        _ => "",
    }
}
