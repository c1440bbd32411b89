//! `AF_PACKET`: raw frames through the kernel's packet sockets, with every interface and kernel.
//! Sends with `sendmmsg`, bypassing the queueing discipline, and receives from a `TPACKET_V2` ring.
//!
//! A frame that the interface refuses counts as sent and lost: the kernel reports `ENOBUFS` after
//! it has freed the frame. On a veth pair the DUT's ingress queue was full; elsewhere the tester's
//! transmit ring, so the frame is also the tester's own drop.
//!
//! The port restores VLAN tags that the kernel removed, and completes checksums left to hardware.
//! Super-frames (segmentation offload) count as the tester's own drops: switch the DUT's offloads
//! off.

mod fanout;
mod ring;

use crate::clock::Calendar;
use crate::interface::{Interfaces, Watch};
use crate::sys::{check, get_option, set_option, set_send_buffer};
use crate::{BATCH, Burst, Clock, Counters, Netns, Pool, Port, PortError, PortFacts, Sent};
use fanout::{Group, Spread};
use ring::{Ring, Shape};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Configuration of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfPacketConfig {
    /// The interface, which must be switched on.
    pub name: String,
    /// Receive ring, in frames.
    pub queue: usize,
    /// Longest frame to receive, in octets, without FCS, with VLAN tag.
    pub largest: usize,
    /// Whether the DUT works on another core than the sender (RPS or threaded NAPI at its end of the cable).
    pub steered: bool,
}

impl AfPacketConfig {
    /// A port for frames of up to 1518 octets, and a queue of 8192.
    pub fn named(name: &str) -> AfPacketConfig {
        AfPacketConfig { name: name.to_owned(), queue: 8192, largest: 1518, steered: false }
    }
}

/// A port, or one of several lanes, on an interface.
pub struct AfPacketPort {
    /// Number of the lane, if there are several.
    lane: Option<(usize, Spread)>,
    send: OwnedFd,
    receive: OwnedFd,
    ring: Ring,
    slots: usize,
    watch: Watch,
    config: AfPacketConfig,
    clock: Clock,
    calendar: Calendar,
    calendar_life: u64,
    last_stamp: u64,
    send_buffer: i32,
    counters: Counters,
}

impl AfPacketPort {
    /// Opens an interface of the namespace `ns`.
    ///
    /// # Errors
    /// No interface has this name, it is down, or the privilege is missing.
    pub fn open(ns: &Netns, config: &AfPacketConfig, clock: Clock) -> Result<AfPacketPort, PortError> {
        Ok(AfPacketPort::open_many(ns, config, 1, clock)?.remove(0))
    }

    /// Opens an interface for `lanes` threads: one port each, with its own sending socket and ring.
    ///
    /// # Errors
    /// As [`AfPacketPort::open`], and without lanes.
    pub fn open_many(
        ns: &Netns,
        config: &AfPacketConfig,
        lanes: usize,
        clock: Clock,
    ) -> Result<Vec<AfPacketPort>, PortError> {
        if lanes == 0 || lanes > MOST_LANES {
            let name = &config.name;
            let what = format!("an interface has 1 to {MOST_LANES} lanes, but {name} should have {lanes}");
            return Err(PortError::Unsupported(what));
        }
        ns.run_in(|| AfPacketPort::open_here(config, lanes, clock))?
    }

    fn open_here(config: &AfPacketConfig, lanes: usize, clock: Clock) -> Result<Vec<AfPacketPort>, PortError> {
        let mut interfaces = Interfaces::here()?;
        let interface = interfaces.get(&config.name)?;
        if !interface.running {
            let what = format!("interface {} or its other end is down: switch both on first", config.name);
            return Err(PortError::Unsupported(what));
        }
        let index = interface.index;
        let shape = Shape::new(config.queue, config.largest);
        let doing = |what: &'static str| {
            let name = config.name.clone();
            move |e: io::Error| PortError::system(format!("{what} on {name}"), e, advice(what))
        };
        let [queues, _] = interfaces.queues(&interface);
        let spread = (lanes > 1).then(|| Spread::over(lanes, queues as usize));
        let receivers = receivers(index, shape, lanes, spread).map_err(doing(RECEIVING))?;
        let ports = receivers.into_iter().enumerate().map(|(lane, (receive, ring))| {
            let send = sender(index).map_err(doing(SENDING))?;
            let send_buffer = get_option(&send, libc::SOL_SOCKET, libc::SO_SNDBUF).map_err(doing(SENDING))?;
            let watch = Watch::new(Interfaces::here()?, &config.name)?;
            Ok(AfPacketPort {
                lane: spread.map(|spread| (lane, spread)),
                send,
                receive,
                ring,
                slots: shape.slots(),
                watch: if lane == 0 { watch.with_card()? } else { watch },
                config: config.clone(),
                clock,
                calendar: Calendar::now(clock),
                calendar_life: clock.ticks(1_000_000),
                last_stamp: 0,
                send_buffer,
                counters: Counters::default(),
            })
        });
        ports.collect()
    }

    /// Converts the kernel's timestamp to monotonic ticks, never in the future.
    #[inline]
    fn stamp(&mut self, nanos: u64, now: u64) -> u64 {
        self.last_stamp = self.calendar.ticks_at(nanos).min(now).max(self.last_stamp);
        self.last_stamp
    }

    fn send_buffer_is_full(&self) -> bool {
        let mut held: libc::c_int = 0;
        // SAFETY: the request, also named SIOCOUTQ, writes one int, which lives through the call.
        let asked = unsafe { libc::ioctl(self.send.as_raw_fd(), libc::TIOCOUTQ, &raw mut held) };
        asked == 0 && held >= self.send_buffer - 2 * FRAME_COST
    }

    fn broken(&self, doing: &str, error: io::Error) -> PortError {
        let advice = match error.raw_os_error() {
            Some(libc::ENXIO | libc::ENODEV) => return PortError::gone(&self.config.name),
            Some(libc::EMSGSIZE) => "the frame is longer than the interface's MTU: raise the MTU with ip link set mtu",
            _ => "was the interface deleted?",
        };
        PortError::system(format!("{doing} {}", self.config.name), error, advice)
    }
}

const MOST_LANES: usize = 256;
/// Most octets that the kernel charges for a frame of usual size.
const FRAME_COST: i32 = 4096;

const SENDING: &str = "opening a packet socket to send";
const RECEIVING: &str = "opening a packet socket with a receive ring";

fn advice(what: &str) -> &'static str {
    if what == RECEIVING {
        "needs CAP_NET_RAW, and memory for the ring: run as root, or make the queue smaller"
    } else {
        "needs CAP_NET_RAW: run as root"
    }
}

fn sender(index: u32) -> io::Result<OwnedFd> {
    let socket = packet_socket()?;
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)?;
    // More than any DUT's queue holds, so that a full queue causes loss, not back-pressure.
    set_send_buffer(&socket, 64 << 20)?;
    bind(&socket, index, 0)?;
    Ok(socket)
}

/// Size of each buffer, in octets: some thousand frames.
const BOTH_WAYS_BUFFER: i32 = 4 << 20;

/// A socket without a ring.
pub(crate) fn both_ways(interface: &str) -> Result<OwnedFd, PortError> {
    let index = Interfaces::here()?.get(interface)?.index;
    let open = || -> io::Result<OwnedFd> {
        let socket = packet_socket()?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        for (forced, usual) in [(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF), (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)] {
            set_option(&socket, libc::SOL_SOCKET, forced, &BOTH_WAYS_BUFFER)
                .or_else(|_| set_option(&socket, libc::SOL_SOCKET, usual, &BOTH_WAYS_BUFFER))?;
        }
        bind(&socket, index, libc::ETH_P_ALL as u16)?;
        Ok(socket)
    };
    open().map_err(|error| PortError::system(format!("opening a packet socket on {interface}"), error, advice(SENDING)))
}

fn receivers(index: u32, shape: Shape, lanes: usize, spread: Option<Spread>) -> io::Result<Vec<(OwnedFd, Ring)>> {
    let mut group = spread.map(Group::new);
    let mut all = Vec::with_capacity(lanes);
    for _ in 0..lanes {
        let socket = packet_socket()?;
        if group.is_some() {
            fanout::close(&socket)?;
        }
        let ring = receiver(&socket, index, shape)?;
        if let Some(group) = &mut group {
            group.join(&socket)?;
        }
        all.push((socket, ring));
    }
    if group.is_some() {
        all.iter().try_for_each(|(socket, _)| fanout::open(socket))?;
    }
    Ok(all)
}

fn receiver(socket: &OwnedFd, index: u32, shape: Shape) -> io::Result<Ring> {
    let set = |name: i32, value: i32| set_option(socket, libc::SOL_PACKET, name, &value);
    set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
    set(libc::PACKET_IGNORE_OUTGOING, 1)?;
    set(libc::PACKET_VNET_HDR, 1)?;
    set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &shape.request())?;
    let ring = Ring::new(crate::sys::Mapping::shared(socket, shape.bytes(), 0)?, shape);
    // These sockets receive before the ingress hooks, which may then keep test frames from the tester's own stack.
    bind(socket, index, libc::ETH_P_ALL as u16)?;
    Ok(ring)
}

fn packet_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?)
}

fn bind(socket: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes of an address that lives through the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), len) }).map(drop)
}

/// Sends frames; returns how many the kernel accepted before the first refusal.
fn send_many(socket: &OwnedFd, frames: &[crate::Frame]) -> io::Result<usize> {
    let count = frames.len().min(BATCH);
    let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    // SAFETY: the structure is plain data, for which all zeroes is a valid value.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for ((piece, message), frame) in pieces.iter_mut().zip(&mut messages).zip(frames) {
        *piece = libc::iovec { iov_base: frame.bytes().as_ptr().cast_mut().cast(), iov_len: frame.len() };
        message.msg_hdr.msg_iov = piece;
        message.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the first `count` messages point to pieces, and these to frames; all live through the
    // call. The kernel writes only the messages.
    check(unsafe {
        libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count as libc::c_uint, libc::MSG_DONTWAIT as _)
    })
    .map(|n| n as usize)
}

impl Port for AfPacketPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let room = pool.config().room();
        let (mut got, mut now) = (0, 0);
        while got < BATCH {
            let waiting = match self.ring.peek() {
                Ok(Some(waiting)) => waiting,
                Ok(None) => break,
                Err(e) => return Err(self.broken("receiving from", e)),
            };
            // Without a free frame, the rest stays in the ring, whose overflow the kernel counts.
            let Some(mut frame) = pool.alloc(room) else { break };
            let (nanos, written) = (waiting.nanos, waiting.write_to(frame.bytes_mut()));
            self.ring.release();
            let Some(len) = written else {
                self.counters.own_drops += 1;
                pool.free(frame);
                continue;
            };
            if now == 0 {
                now = self.clock.now();
                if now.saturating_sub(self.calendar.ticks()) > self.calendar_life {
                    self.calendar = Calendar::now(self.clock);
                    now = self.clock.now();
                }
            }
            frame.set_len(len);
            frame.stamp = self.stamp(nanos, now);
            into.push(frame);
            got += 1;
        }
        self.counters.received += got as u64;
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let mut sent = Sent::default();
        let mut broken = None;
        let mut done = 0;
        while done < burst.len() {
            let offered = (burst.len() - done).min(BATCH);
            match send_many(&self.send, &burst[done..]) {
                Ok(n) => {
                    sent.accepted += n;
                    done += n;
                    // The kernel tried to send the next frame: unless the send buffer was full, the
                    // interface refused it and it is lost.
                    if n < offered {
                        if self.send_buffer_is_full() {
                            break;
                        }
                        sent.refused += 1;
                        done += 1;
                    }
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::ENOBUFS) => {
                        sent.refused += 1;
                        done += 1;
                    }
                    Some(libc::EAGAIN) => break,
                    Some(libc::EINTR) => {}
                    Some(libc::ENETDOWN) => {
                        self.counters.link_lost = true;
                        break;
                    }
                    _ => {
                        broken = Some(e);
                        break;
                    }
                },
            }
        }
        for frame in burst.drain(..done) {
            pool.free(frame);
        }
        self.counters.accepted += sent.accepted as u64;
        self.counters.refused += sent.refused as u64;
        if self.watch.at_open().kind != "veth" {
            self.counters.own_drops += sent.refused as u64;
        }
        broken.map_or(Ok(sent), |e| Err(self.broken("sending to", e)))
    }

    fn counters(&mut self) -> Counters {
        // Each read resets the kernel's counter.
        if let Ok(seen) = get_option::<libc::tpacket_stats>(&self.receive, libc::SOL_PACKET, libc::PACKET_STATISTICS) {
            self.counters.own_drops += seen.tp_drops as u64;
        }
        let seen = self.watch.look();
        let link_lost = std::mem::take(&mut self.counters.link_lost) | seen.link_lost;
        Counters { own_drops: self.counters.own_drops + seen.own_losses, link_lost, ..self.counters }
    }

    fn facts(&self) -> PortFacts {
        let here = self.watch.at_open().kind == "veth";
        let place = match (here, self.config.steered) {
            (false, _) => "network card",
            (true, true) => "veth, receive work on another core",
            (true, false) => "veth, inline",
        };
        let (name, mode) = match self.lane {
            None => (self.config.name.clone(), place.to_owned()),
            Some((lane, spread)) => (format!("{}.{lane}", self.config.name), format!("{place}, {}", spread.in_words())),
        };
        PortFacts {
            backend: "af_packet".into(),
            name,
            mode,
            dut_queue: if here { super::cpu_backlog() } else { 0 },
            own_queue: self.slots,
            own_queues: 1,
            inline: here && !self.config.steered,
            stamped_by_kernel: true,
        }
    }
}
