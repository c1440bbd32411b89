//! TAP: a network interface whose other end is a file descriptor. Open-loop: a write succeeds even
//! when the DUT's backlog drops the frame. Virtio headers and NAPI mode cost more than they save
//! with small frames.

use crate::interface::{self, Interface, Interfaces, Watch};
use crate::{BATCH, Burst, Clock, Counters, Netns, Pool, Port, PortError, PortFacts, Sent};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Configuration of a TAP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapConfig {
    /// The interface at the DUT's end.
    pub name: String,
    /// Ethernet address; else the kernel's choice.
    pub mac: Option<[u8; 6]>,
    /// Queue towards the tester, in frames.
    pub queue: u32,
    /// Whether the DUT works on another core than the sender (RPS).
    pub steered: bool,
    /// Whether the interface exists (`ip tuntap add`), and stays.
    pub existing: bool,
    /// For a TUN device: received packets get this header (destination, source) and their IP
    /// version's type; sent frames lose it; frames that are not IP are lost.
    pub without_ethernet: Option<[u8; 12]>,
}

impl TapConfig {
    /// The queue absorbs a preemption of about 20 ms at 1 Mfps.
    pub fn named(name: &str) -> TapConfig {
        TapConfig {
            name: name.to_owned(),
            mac: None,
            queue: 20_000,
            steered: false,
            existing: false,
            without_ethernet: None,
        }
    }
}

/// A TAP; dropping the port deletes an interface that it made.
pub struct TapPort {
    device: OwnedFd,
    watch: Watch,
    config: TapConfig,
    /// Length of the missing Ethernet header: 0 or 14 octets.
    front: usize,
    clock: Clock,
    counters: Counters,
}

const ETHERNET: usize = 14;

impl TapPort {
    /// Creates the interface in the namespace `ns`, or opens an existing one, and switches it on.
    ///
    /// # Errors
    /// The device cannot be opened, the name is taken, or the privilege is missing.
    pub fn open(ns: &Netns, config: &TapConfig, clock: Clock) -> Result<TapPort, PortError> {
        ns.run_in(|| {
            let device = attach(config)?;
            let mut interfaces = Interfaces::here()?;
            interfaces.switch_on(&config.name, config.queue, config.mac)?;
            let watch = Watch::new(interfaces, &config.name)?;
            let front = if config.without_ethernet.is_some() { ETHERNET } else { 0 };
            Ok(TapPort { device, watch, config: config.clone(), front, clock, counters: Counters::default() })
        })?
    }

    /// State of the DUT's end when the port was opened.
    pub fn interface(&self) -> &Interface {
        self.watch.at_open()
    }

    #[inline]
    fn put_ethernet(&self, frame: &mut [u8]) {
        let (Some(addresses), Some((header, packet))) =
            (&self.config.without_ethernet, frame.split_first_chunk_mut::<ETHERNET>())
        else {
            return;
        };
        header[..12].copy_from_slice(addresses);
        let six = packet.first().is_some_and(|first| first >> 4 == 6);
        header[12..].copy_from_slice(&if six { [0x86, 0xdd] } else { [0x08, 0x00] });
    }

    fn broken(&self, doing: &str, error: Errno) -> PortError {
        PortError::system(format!("{doing} TAP {}", self.config.name), error, "was the interface deleted?")
    }
}

const TUN: &str = "/dev/net/tun";

/// Checks that this process can open the device for TAP interfaces.
///
/// # Errors
/// It is missing, cannot be opened, or is another kind of file.
pub fn see_that_tun_is_there() -> Result<(), PortError> {
    device(TUN).map(drop)
}

fn device(path: &str) -> Result<OwnedFd, PortError> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| {
        let advice = match e {
            Errno::ACCESS | Errno::PERM => {
                "make it accessible to all users, as udev does: chmod 0666 /dev/net/tun; or run as root"
            }
            Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                "the kernel module is missing: modprobe tun; a container needs --device /dev/net/tun and --cap-add NET_ADMIN"
            }
            _ => "",
        };
        PortError::system(format!("opening {path}"), e, advice)
    })?;
    let found = rustix::fs::fstat(&device)
        .map_err(|e| PortError::system(format!("reading the attributes of {path}"), e, ""))?;
    if rustix::fs::FileType::from_raw_mode(found.st_mode).is_char_device() {
        return Ok(device);
    }
    let way_out = "remove it, then: modprobe tun; mknod /dev/net/tun c 10 200";
    Err(PortError::Unsupported(format!(
        "{path} is not the device of the tun module, so natmeter cannot create a TAP ({way_out})"
    )))
}

fn attach(config: &TapConfig) -> Result<OwnedFd, PortError> {
    let exclusive = if config.existing { 0 } else { libc::IFF_TUN_EXCL };
    let kind = if config.without_ethernet.is_some() { libc::IFF_TUN } else { libc::IFF_TAP };
    attach_as(&config.name, kind | libc::IFF_NO_PI | exclusive, config.existing)
}

fn attach_as(name: &str, flags: libc::c_int, existing: bool) -> Result<OwnedFd, PortError> {
    let device = device(TUN)?;
    let doing = || format!("creating TAP {name}");
    let mut request = interface::ifreq(name).map_err(|e| PortError::system(doing(), e, "a name has 1 to 15 bytes"))?;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // A closed device stays in use while a starting child process has a copy of its descriptor.
    let made = super::while_busy(|| {
        // SAFETY: TUNSETIFF takes one `ifreq`, which lives through the call.
        let result = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    });
    if let Err(error) = made {
        let advice = match error.raw_os_error() {
            Some(libc::EBUSY) if existing => "another port uses it",
            Some(libc::EBUSY) => "an interface of this name exists: choose another name, or delete it",
            Some(libc::EPERM) => "needs CAP_NET_ADMIN in the namespace: run as root, or in a user namespace",
            Some(libc::EINVAL) => "this is not a valid name of an interface",
            _ => "",
        };
        return Err(PortError::system(doing(), error, advice));
    }
    Ok(device)
}

pub(crate) fn queues(name: &str, queues: u32) -> Result<Vec<OwnedFd>, PortError> {
    let several = if queues > 1 { libc::IFF_MULTI_QUEUE } else { 0 };
    (0..queues).map(|_| attach_as(name, libc::IFF_TAP | libc::IFF_NO_PI | several, true)).collect()
}

impl AsFd for TapPort {
    /// Reads take one frame from the kernel, writes give it one.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Port for TapPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let mut got = 0;
        while got < BATCH {
            // Without a free frame, the rest stays in the queue, whose overflow the kernel counts.
            let Some(mut frame) = pool.alloc(pool.config().room()) else { break };
            match rustix::io::read(&self.device, &mut frame.bytes_mut()[self.front..]) {
                // A full slot may hold a truncated packet.
                Ok(n) if n + self.front == frame.len() => {
                    self.counters.own_drops += 1;
                    pool.free(frame);
                }
                Ok(n) => {
                    frame.set_len(n + self.front);
                    self.put_ethernet(frame.bytes_mut());
                    frame.stamp = self.clock.now();
                    into.push(frame);
                    got += 1;
                }
                Err(error) => {
                    pool.free(frame);
                    match error {
                        Errno::AGAIN => break,
                        Errno::INTR => {}
                        error => return Err(self.broken("reading from", error)),
                    }
                }
            }
        }
        self.counters.received += got as u64;
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let mut sent = Sent::default();
        let mut stopped = None;
        for frame in burst.iter() {
            let packet = &frame.bytes()[self.front.min(frame.len())..];
            match rustix::io::retry_on_intr(|| rustix::io::write(&self.device, packet)) {
                Ok(_) => sent.accepted += 1,
                // The kernel rejects other frames than IP on a link without Ethernet headers.
                Err(Errno::INVAL) if self.front > 0 => sent.accepted += 1,
                Err(error) => {
                    stopped = Some(error);
                    break;
                }
            }
        }
        for frame in burst.drain(..sent.accepted) {
            pool.free(frame);
        }
        self.counters.accepted += sent.accepted as u64;
        match stopped {
            None | Some(Errno::AGAIN) => Ok(sent),
            // The interface is off, which the counters report.
            Some(Errno::IO) => {
                self.counters.link_lost = true;
                Ok(sent)
            }
            Some(error) => Err(self.broken("writing to", error)),
        }
    }

    fn counters(&mut self) -> Counters {
        let seen = self.watch.look();
        let link_lost = std::mem::take(&mut self.counters.link_lost) | seen.link_lost;
        // The kernel counts the DUT's frames that the full queue refused as dropped on transmission.
        Counters { own_drops: self.counters.own_drops + seen.stats.tx_dropped, link_lost, ..self.counters }
    }

    fn facts(&self) -> PortFacts {
        PortFacts {
            backend: "tap".into(),
            name: self.config.name.clone(),
            mode: if self.config.steered { "receive packet steering".into() } else { "inline".into() },
            dut_queue: super::cpu_backlog(),
            own_queue: self.watch.at_open().queue_len as usize,
            own_queues: 1,
            inline: !self.config.steered,
            stamped_by_kernel: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "opens a device")]
    fn a_machine_without_the_device_is_told_what_to_do() {
        let missing = device("/nowhere/tun").unwrap_err().to_string();
        assert!(
            missing.contains("opening /nowhere/tun")
                && missing.ends_with("a container needs --device /dev/net/tun and --cap-add NET_ADMIN)")
        );
        let file = std::env::temp_dir().join(format!("natmeter-no-tun-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let plain = device(file.to_str().unwrap()).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(plain.contains("is not the device of the tun module") && plain.contains("modprobe tun"), "{plain}");
    }
}
