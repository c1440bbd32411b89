//! Properties and counters of a network interface, over rtnetlink and ethtool: `/sys/class/net` may
//! show another namespace.

mod carrier;
mod ethtool;
mod facts;
mod statistics;

pub use carrier::wait_for_carrier;
pub use facts::LinkFacts;
pub use statistics::Statistics;

use crate::PortError;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

/// A netlink socket for one namespace's interfaces, usable from any thread.
#[derive(Debug)]
pub struct Interfaces {
    socket: OwnedFd,
    sequence: u32,
}

/// State of an interface (RTM_GETLINK, rtnetlink(7)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// ifindex, unique in its namespace.
    pub index: u32,
    /// Name of at most 15 octets.
    pub name: String,
    /// Kind in the kernel's words ("veth", "tun", …); empty for hardware.
    pub kind: String,
    /// Ethernet address; zeros if it has none.
    pub mac: [u8; 6],
    /// MTU in octets, without Ethernet header.
    pub mtu: u32,
    /// Queue length in frames (txqueuelen).
    pub queue_len: u32,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Receive queues.
    pub rx_queues: u32,
    /// Switched on (IFF_UP).
    pub up: bool,
    /// Switched on, with a carrier (IFF_RUNNING).
    pub running: bool,
    /// Carrier losses since the interface was made.
    pub carrier_losses: u32,
    /// Counters since the interface was made.
    pub stats: Stats,
}

/// Counters from the kernel's point of view: a frame read from a TAP was *transmitted*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets transmitted.
    pub tx_packets: u64,
    /// Received frames that were dropped, such as by a full backlog.
    pub rx_dropped: u64,
    /// Frames dropped on transmission, such as by a full queue.
    pub tx_dropped: u64,
    /// Frames with wrong length, FCS or alignment.
    pub rx_errors: u64,
    /// Frames lost by driver or link errors.
    pub tx_errors: u64,
}

impl Stats {
    /// The increase of each counter since `before`.
    #[must_use]
    pub fn since(&self, before: &Stats) -> Stats {
        Stats {
            rx_packets: self.rx_packets.saturating_sub(before.rx_packets),
            tx_packets: self.tx_packets.saturating_sub(before.tx_packets),
            rx_dropped: self.rx_dropped.saturating_sub(before.rx_dropped),
            tx_dropped: self.tx_dropped.saturating_sub(before.tx_dropped),
            rx_errors: self.rx_errors.saturating_sub(before.rx_errors),
            tx_errors: self.tx_errors.saturating_sub(before.tx_errors),
        }
    }
}

impl Interface {
    /// Parses an rtnetlink answer: one message `RTM_NEWLINK`, or an error.
    ///
    /// # Errors
    /// The kernel's error, or too short an answer.
    pub fn from_netlink(message: &[u8]) -> io::Result<Interface> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        no_error(message)?;
        let flags = u32_at(message, NLMSG_HEADER + 8).ok_or_else(short)?;
        let mut interface = Interface {
            index: u32_at(message, NLMSG_HEADER + 4).ok_or_else(short)?,
            up: flags & libc::IFF_UP as u32 != 0,
            running: flags & libc::IFF_LOWER_UP as u32 != 0,
            ..Interface::default()
        };
        let number = |value: &[u8]| u32_at(value, 0).unwrap_or(0);
        for (kind, value) in attributes(message.get(NLMSG_HEADER + IFINFOMSG..).ok_or_else(short)?) {
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
}

impl Interfaces {
    /// Opens a socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel gives no netlink socket.
    pub fn here() -> Result<Interfaces, PortError> {
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)
            .map_err(|e| PortError::system("opening a netlink socket", e, ""))?;
        Ok(Interfaces { socket, sequence: 0 })
    }

    /// Reads the state of one interface.
    ///
    /// # Errors
    /// No interface has this name.
    pub fn get(&mut self, name: &str) -> Result<Interface, PortError> {
        self.ask(name).map_err(|e| {
            let advice = if e.raw_os_error() == Some(libc::ENODEV) { "no interface has this name here" } else { "" };
            PortError::system(format!("reading interface {name}"), e, advice)
        })
    }

    /// Switches an interface on, with a transmit queue of `queue_len` frames. The older ioctl for
    /// the queue length needs more privilege than root of a user namespace has.
    pub(crate) fn switch_on(&mut self, name: &str, queue_len: u32, mac: Option<[u8; 6]>) -> Result<(), PortError> {
        let mut attributes = Vec::new();
        push_attribute(&mut attributes, libc::IFLA_TXQLEN, &queue_len.to_ne_bytes());
        if let Some(mac) = mac {
            push_attribute(&mut attributes, libc::IFLA_ADDRESS, &mac);
        }
        let up = libc::IFF_UP as u32;
        self.exchange(libc::RTM_SETLINK, libc::NLM_F_ACK, name, up, &attributes)
            .and_then(|m| no_error(&m))
            .map_err(|e| PortError::system(format!("switching on {name} (queue {queue_len}, address {mac:x?})"), e, ""))
    }

    fn ask(&mut self, name: &str) -> io::Result<Interface> {
        Interface::from_netlink(&self.exchange(libc::RTM_GETLINK, 0, name, 0, &[])?)
    }

    fn exchange(&mut self, kind: u16, ask: i32, name: &str, set: u32, attributes: &[u8]) -> io::Result<Vec<u8>> {
        self.sequence += 1;
        let request = link_message(kind, ask, self.sequence, name, set, attributes)?;
        rustix::net::send(&self.socket, &request, SendFlags::empty())?;
        let mut buffer = vec![0u8; 16 << 10];
        loop {
            let (n, _) = rustix::net::recv(&self.socket, &mut buffer, RecvFlags::empty())?;
            // Answer to an interrupted request.
            if u32_at(&buffer[..n], 8) == Some(self.sequence) {
                buffer.truncate(n);
                return Ok(buffer);
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Watch {
    interfaces: Interfaces,
    at_open: Interface,
    losses: u32,
    /// Counters at the start, if this port counts the card's losses.
    card: Option<Statistics>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub stats: Stats,
    /// Lost by the card on the tester's side.
    pub own_losses: u64,
    /// Whether the link was down since the last reading.
    pub link_lost: bool,
    /// Whether the interface was removed.
    pub gone: bool,
}

impl Watch {
    pub(crate) fn new(mut interfaces: Interfaces, name: &str) -> Result<Watch, PortError> {
        let at_open = interfaces.get(name)?;
        let losses = at_open.carrier_losses;
        Ok(Watch { interfaces, at_open, losses, card: None })
    }

    /// Adds the losses of the card, for one of several ports on an interface.
    pub(crate) fn with_card(mut self) -> Result<Watch, PortError> {
        if self.has_card() {
            self.card = Some(self.interfaces.statistics(&self.at_open.name)?);
        }
        Ok(self)
    }

    pub(crate) fn at_open(&self) -> &Interface {
        &self.at_open
    }

    pub(crate) fn has_card(&self) -> bool {
        statistics::has_card(&self.at_open.kind)
    }

    pub(crate) fn look(&mut self) -> Look {
        let name = &self.at_open.name;
        let now = self.interfaces.get(name).ok().filter(|now| now.index == self.at_open.index);
        let Some(now) = now else { return Look { link_lost: true, gone: true, ..Look::default() } };
        let link_lost = !now.running || now.carrier_losses != self.losses;
        self.losses = now.carrier_losses;
        // If the interface was deleted between both requests, the next reading reports it.
        let own_losses = self
            .card
            .as_ref()
            .map_or(0, |before| self.interfaces.statistics(name).map_or(0, |after| after.own_losses(before)));
        Look { stats: now.stats.since(&self.at_open.stats), own_losses, link_lost, gone: false }
    }
}

pub(crate) fn ifreq(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: the structure is plain data, for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

const NLMSG_HEADER: usize = 16;
const IFINFOMSG: usize = 16;

fn link_message(kind: u16, ask: i32, sequence: u32, name: &str, set: u32, attributes: &[u8]) -> io::Result<Vec<u8>> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let mut m = Vec::with_capacity(128);
    m.extend([0; 4]);
    m.extend(kind.to_ne_bytes());
    m.extend(((libc::NLM_F_REQUEST | ask) as u16).to_ne_bytes());
    m.extend(sequence.to_ne_bytes());
    // Behind the port: family, type and index of `struct ifinfomsg`, all 0, as the name identifies the interface.
    m.extend([0; 4 + 8]);
    m.extend(set.to_ne_bytes());
    m.extend(set.to_ne_bytes());
    push_attribute(&mut m, libc::IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
    m.extend(attributes);
    let total = m.len() as u32;
    m[..4].copy_from_slice(&total.to_ne_bytes());
    Ok(m)
}

fn push_attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend((4 + value.len() as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

fn no_error(message: &[u8]) -> io::Result<()> {
    let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
    if u16_at(message, 4).ok_or_else(short)? != libc::NLMSG_ERROR as u16 {
        return Ok(());
    }
    match u32_at(message, NLMSG_HEADER).ok_or_else(short)? as i32 {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

/// Reads counters in the order of `struct rtnl_link_stats64`.
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

/// Up to the first that does not fit.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (len, kind) = (u16_at(rest, 0)? as usize, u16_at(rest, 2)?);
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        // The two upper bits ("nested", "network order") are not part of the kind.
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
    fn an_answer_that_is_cut_short_is_an_error() {
        for n in 0..NLMSG_HEADER + IFINFOMSG {
            assert!(Interface::from_netlink(&vec![0; n]).is_err(), "{n} octets");
        }
        let mut refused = vec![0; NLMSG_HEADER + 4];
        refused[4] = libc::NLMSG_ERROR as u8;
        refused[NLMSG_HEADER + 3] = 0x80;
        assert!(Interface::from_netlink(&refused).is_err(), "a code that has no positive counterpart");
    }

    #[test]
    fn attributes_end_at_the_first_that_does_not_fit() {
        let mut bytes = vec![6, 0, 1, 0, 7, 8, 0, 0];
        bytes.extend([9, 0, 2, 0, 1]);
        assert_eq!(attributes(&bytes).collect::<Vec<_>>(), [(1, &[7u8, 8][..])]);
        assert_eq!(attributes(&[0, 0, 0, 0]).count(), 0, "a length below the header's does not loop");
    }
}
