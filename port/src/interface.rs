//! What the kernel knows of a network interface, read over rtnetlink from inside its namespace. Its own file
//! because `/sys/class/net` shows the namespace in which it was mounted, not the one that is asked about, while
//! a netlink socket keeps the namespace it was opened in.

use crate::{Netns, PortError};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A way to ask about the interfaces of one namespace, from any thread.
#[derive(Debug)]
pub struct Interfaces {
    socket: OwnedFd,
    sequence: u32,
}

/// One interface at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Index in its namespace.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Kind as the kernel calls it ("veth", "tun", …); empty for hardware.
    pub kind: String,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// Largest packet without the Ethernet header.
    pub mtu: u32,
    /// Frames that may wait to be sent.
    pub queue_len: u32,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Receive queues.
    pub rx_queues: u32,
    /// Switched on.
    pub up: bool,
    /// Switched on, and the other side is there.
    pub running: bool,
    /// How often the other side went away.
    pub carrier_losses: u32,
    /// Packets and drops.
    pub stats: Stats,
}

/// Counters of an interface, as its own kernel side sees it: what a tester reads from a TAP was *transmitted*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets transmitted.
    pub tx_packets: u64,
    /// Received and dropped, for instance because the processor's backlog was full.
    pub rx_dropped: u64,
    /// Dropped on transmission.
    pub tx_dropped: u64,
    /// Receive errors.
    pub rx_errors: u64,
    /// Transmit errors.
    pub tx_errors: u64,
}

impl Interfaces {
    /// Of the namespace `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn of(ns: &Netns) -> Result<Interfaces, PortError> {
        ns.run_in(Interfaces::here)?
    }

    /// Of the namespace of the calling thread.
    ///
    /// # Errors
    /// When the kernel gives no netlink socket.
    pub fn here() -> Result<Interfaces, PortError> {
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)
            .map_err(|e| PortError::system("opening a netlink socket", e, ""))?;
        Ok(Interfaces { socket, sequence: 0 })
    }

    /// Read one interface.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn get(&mut self, name: &str) -> Result<Interface, PortError> {
        self.ask(name).map_err(|e| {
            let advice = if e.raw_os_error() == Some(libc::ENODEV) { "no interface has this name here" } else { "" };
            PortError::system(format!("reading interface {name}"), e, advice)
        })
    }

    fn ask(&mut self, name: &str) -> io::Result<Interface> {
        self.sequence += 1;
        let request = get_link(name, self.sequence)?;
        rustix::net::send(&self.socket, &request, SendFlags::empty())?;
        let mut buffer = vec![0u8; 16 << 10];
        loop {
            let (n, _) = rustix::net::recv(&self.socket, &mut buffer, RecvFlags::empty())?;
            let message = &buffer[..n];
            // An answer to an earlier question that was interrupted is not ours.
            if u32_at(message, 8) == Some(self.sequence) {
                return parse_link(message);
            }
        }
    }
}

/// Switch an interface on.
///
/// # Errors
/// When there is none of this name, or without the privilege.
pub(crate) fn switch_on(name: &str) -> Result<(), PortError> {
    request(name, libc::SIOCGIFFLAGS, |_| {})
        .and_then(|got| {
            // SAFETY: after SIOCGIFFLAGS the union holds the flags.
            let flags = unsafe { got.ifr_ifru.ifru_flags };
            request(name, libc::SIOCSIFFLAGS, |r| r.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short)
        })
        .map(drop)
        .map_err(|e| PortError::system(format!("switching on {name}"), e, ""))
}

/// Set how many frames may wait to be sent.
pub(crate) fn set_queue_len(name: &str, len: u32) -> Result<(), PortError> {
    request(name, libc::SIOCSIFTXQLEN, |r| r.ifr_ifru.ifru_metric = len as libc::c_int)
        .map(drop)
        .map_err(|e| PortError::system(format!("setting the queue length of {name} to {len}"), e, ""))
}

/// Set the Ethernet address.
pub(crate) fn set_mac(name: &str, mac: [u8; 6]) -> Result<(), PortError> {
    let mut address = libc::sockaddr { sa_family: libc::ARPHRD_ETHER, sa_data: [0; 14] };
    for (to, from) in address.sa_data.iter_mut().zip(mac) {
        *to = from as libc::c_char;
    }
    request(name, libc::SIOCSIFHWADDR, |r| r.ifr_ifru.ifru_hwaddr = address)
        .map(drop)
        .map_err(|e| PortError::system(format!("setting the address of {name}"), e, "a unicast address is needed"))
}

/// An interface request without content.
pub(crate) fn ifreq(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: the structure is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn request(name: &str, code: libc::Ioctl, set: impl FnOnce(&mut libc::ifreq)) -> io::Result<libc::ifreq> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    let mut request = ifreq(name)?;
    set(&mut request);
    // SAFETY: every code used here takes one `ifreq`, which lives through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), code, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(request) }
}

const NLMSG_HEADER: usize = 16;
const IFINFOMSG: usize = 16;

/// The question `RTM_GETLINK` for one name.
fn get_link(name: &str, sequence: u32) -> io::Result<Vec<u8>> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let attribute = 4 + name.len() + 1;
    let total = NLMSG_HEADER + IFINFOMSG + attribute.next_multiple_of(4);
    let mut m = Vec::with_capacity(total);
    m.extend((total as u32).to_ne_bytes());
    m.extend(libc::RTM_GETLINK.to_ne_bytes());
    m.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    m.extend(sequence.to_ne_bytes());
    m.extend([0; 4 + IFINFOMSG]);
    m.extend((attribute as u16).to_ne_bytes());
    m.extend(libc::IFLA_IFNAME.to_ne_bytes());
    m.extend(name.bytes());
    m.resize(total, 0);
    Ok(m)
}

/// The answer `RTM_NEWLINK`, or the error in its place.
fn parse_link(message: &[u8]) -> io::Result<Interface> {
    let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let kind = u16_at(message, 4).ok_or_else(short)?;
    if kind == libc::NLMSG_ERROR as u16 {
        let code = u32_at(message, NLMSG_HEADER).ok_or_else(short)? as i32;
        return Err(io::Error::from_raw_os_error(-code));
    }
    let flags = u32_at(message, NLMSG_HEADER + 8).ok_or_else(short)?;
    let mut interface = Interface {
        index: u32_at(message, NLMSG_HEADER + 4).ok_or_else(short)?,
        up: flags & libc::IFF_UP as u32 != 0,
        running: flags & libc::IFF_LOWER_UP as u32 != 0,
        ..Interface::default()
    };
    let number = |value: &[u8]| u32_at(value, 0).unwrap_or(0);
    for (kind, value) in attributes(&message[NLMSG_HEADER + IFINFOMSG..]) {
        match kind {
            libc::IFLA_ADDRESS => interface.mac = value.try_into().unwrap_or_default(),
            libc::IFLA_IFNAME => interface.name = text(value),
            libc::IFLA_MTU => interface.mtu = number(value),
            libc::IFLA_TXQLEN => interface.queue_len = number(value),
            libc::IFLA_NUM_TX_QUEUES => interface.tx_queues = number(value),
            libc::IFLA_NUM_RX_QUEUES => interface.rx_queues = number(value),
            libc::IFLA_CARRIER_DOWN_COUNT => interface.carrier_losses = number(value),
            libc::IFLA_STATS64 => interface.stats = stats(value),
            libc::IFLA_LINKINFO => {
                let name = attributes(value).find(|(kind, _)| *kind == libc::IFLA_INFO_KIND);
                interface.kind = name.map(|(_, value)| text(value)).unwrap_or_default();
            }
            _ => {}
        }
    }
    Ok(interface)
}

/// The order is that of `struct rtnl_link_stats64`.
fn stats(value: &[u8]) -> Stats {
    let at = |i: usize| value.get(i * 8..i * 8 + 8).map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or_default()));
    Stats {
        rx_packets: at(0),
        tx_packets: at(1),
        rx_errors: at(4),
        tx_errors: at(5),
        rx_dropped: at(6),
        tx_dropped: at(7),
    }
}

/// The attributes of a message or of another attribute; ends at the first that does not fit.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (len, kind) = (u16_at(rest, 0)? as usize, u16_at(rest, 2)?);
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        // The two upper bits say "nested" and "network order"; they are not part of the kind.
        Some((kind & 0x3fff, value))
    })
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel")]
    fn loopback_is_found_with_its_mtu() {
        let lo = Interfaces::here().unwrap().get("lo").unwrap();
        assert_eq!((lo.index, lo.name.as_str(), lo.mac), (1, "lo", [0; 6]));
        assert!(lo.mtu >= 1280);
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel")]
    fn an_unknown_name_is_an_error_that_says_so() {
        let error = Interfaces::here().unwrap().get("no-such-port").unwrap_err().to_string();
        assert!(error.contains("no-such-port") && error.contains("no interface"), "{error}");
        assert!(Interfaces::here().unwrap().get("a-name-that-is-longer-than-allowed").is_err());
    }

    #[test]
    fn attributes_end_at_the_first_that_does_not_fit() {
        let mut bytes = vec![6, 0, 1, 0, 7, 8, 0, 0];
        bytes.extend([9, 0, 2, 0, 1]);
        assert_eq!(attributes(&bytes).collect::<Vec<_>>(), [(1, &[7u8, 8][..])]);
        assert_eq!(attributes(&[0, 0, 0, 0]).count(), 0, "a length below the header's does not loop");
    }
}
