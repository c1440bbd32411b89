//! `AF_XDP`: frames bypass most of the kernel through rings in shared memory. One port is one queue of an interface.
//!
//! Ports receive only frames that match [`Select`]. Checksums are not completed: on a veth pair the
//! DUT must not leave them to hardware (`ethtool -K DEV tx off` at its end), as an XDP program
//! cannot detect that.
//!
//! In copy mode, `EBUSY` means that one frame met a full queue behind the interface: it counts as
//! sent and refused. `EAGAIN` is the tester's back-pressure: the frames stay in the transmit ring,
//! count as accepted, and the next call sends them first.
//!
//! Closing a port returns all lent frames: in copy mode the kernel uses none after the socket is
//! closed; in zero-copy mode the port waits for the driver.

mod program;
mod ring;
mod select;
mod socket;

pub use program::Programs;
pub use select::{Condition, Select, Width};

use crate::frame::LentSlots;
use crate::interface::{Interface, Interfaces, LinkFacts, Look, Watch};
use crate::{BATCH, Burst, Clock, Counters, Frame, Netns, Pool, PoolConfig, Port, PortError, PortFacts, Sent, Ticks};
use libc::xdp_desc;
use program::AttachedProgram;
use socket::{KERNEL_HEADROOM, Socket};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Place of the XDP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// The program runs in the driver; on a veth pair faster only if the DUT works on another core.
    Native,
    /// The program runs in the general receive path, with every interface.
    Generic,
}

/// Whether the kernel copies frames between the interface and the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMode {
    /// Zero-copy if the driver supports it.
    IfNeeded,
    /// Copy mode.
    Always,
    /// Zero-copy, else opening fails.
    Never,
}

/// Configuration of the ports on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfXdpConfig {
    /// The interface, which must be switched on.
    pub name: String,
    /// Ports, one a queue. Open all queues: frames on others go to the kernel.
    pub queues: u32,
    /// Place of the program.
    pub mode: XdpMode,
    /// Copy mode or zero-copy.
    pub copying: CopyMode,
    /// Entries of each ring, a power of two; also the free frames that the kernel has for reception.
    pub ring: u32,
    /// Frames to receive; if none, no program is attached.
    pub select: Select,
    /// Whether the DUT works on another core than the sender (RPS or threaded NAPI at its end of the cable).
    pub steered: bool,
}

impl AfXdpConfig {
    /// One queue in generic mode for the frames of `select`.
    pub fn named(name: &str, select: Select) -> AfXdpConfig {
        AfXdpConfig {
            name: name.to_owned(),
            queues: 1,
            mode: XdpMode::Generic,
            copying: CopyMode::IfNeeded,
            ring: 2048,
            select,
            steered: false,
        }
    }
}

/// A port on one queue of an interface.
pub struct AfXdpPort {
    /// Closed first in `drop`.
    socket: ManuallyDrop<Socket>,
    _program: Option<Arc<AttachedProgram>>,
    /// Dropped once the kernel no longer uses the frames.
    lent: ManuallyDrop<LentSlots>,
    ns: Netns,
    /// Frames that the fill ring lacks.
    missing: usize,
    /// Frames that were sent and have not returned.
    unfinished: u32,
    /// Calls of `receive`.
    polls: u32,
    /// Since when the frames wait that the kernel does not send, and how far it was then.
    stalled: Option<(Ticks, Progress)>,
    is_gone: bool,
    watch: Watch,
    queue: u32,
    config: AfXdpConfig,
    clock: Clock,
    counters: Counters,
}

/// Index up to which the kernel has taken frames, and frames that have not returned.
type Progress = (u32, u32);

/// A lost wakeup is noticed after so many calls of `receive`: a power of two.
const POLLS: u32 = 1024;
/// Nanoseconds after which a port fails whose frames do not leave although its link is up.
const STALL: u64 = 1_000_000_000;

impl AfXdpPort {
    /// Opens the queues of an interface of the namespace `ns`, one port each. Port `q` takes its
    /// first free frames from pool `q`, or the only pool; any pool of that mapping may follow.
    ///
    /// # Errors
    /// Pools that are too small or cannot be shared, an interface that is missing or down, no
    /// support in kernel or driver, or a missing privilege.
    pub fn open(
        ns: &Netns,
        config: &AfXdpConfig,
        clock: Clock,
        pools: &mut [Pool],
    ) -> Result<Vec<AfXdpPort>, PortError> {
        AfXdpPort::open_with(ns, config, clock, pools, &Programs::default())
    }

    /// Opens the queues like [`AfXdpPort::open`], with the program that earlier ports on this interface left attached.
    ///
    /// # Errors
    /// As [`AfXdpPort::open`].
    pub fn open_with(
        ns: &Netns,
        config: &AfXdpConfig,
        clock: Clock,
        pools: &mut [Pool],
        programs: &Programs,
    ) -> Result<Vec<AfXdpPort>, PortError> {
        if !config.ring.is_power_of_two() || pools.is_empty() || config.queues == 0 {
            let what = "an XDP port needs at least one queue, one pool, and a ring whose size is a power of two";
            return Err(PortError::Unsupported(what.into()));
        }
        ns.run_in(|| AfXdpPort::open_here(ns, config, clock, pools, programs))?
    }

    fn open_here(
        ns: &Netns,
        config: &AfXdpConfig,
        clock: Clock,
        pools: &mut [Pool],
        programs: &Programs,
    ) -> Result<Vec<AfXdpPort>, PortError> {
        let interface = Interfaces::here()?.get(&config.name)?;
        if !interface.running {
            let what = format!("interface {} or its other end is down: switch both on first", config.name);
            return Err(PortError::Unsupported(what));
        }
        let native = config.mode == XdpMode::Native;
        let program = if config.select.any_of.is_empty() {
            None
        } else {
            Some(programs.attached(interface.index, config.queues, &config.select, native)?)
        };
        let one = pools.len() == 1;
        let ports: Result<Vec<AfXdpPort>, PortError> = (0..config.queues)
            .map(|queue| {
                let place = if one { 0 } else { queue as usize };
                let pool = pools.get_mut(place).ok_or_else(|| {
                    PortError::Unsupported(format!("{} queues need one pool in total, or one pool each", config.queues))
                })?;
                AfXdpPort::open_queue(ns, config, clock, &interface, queue, pool, program.as_ref())
            })
            .collect();
        if ports.is_err() {
            programs.forget(interface.index);
        }
        ports
    }

    #[allow(clippy::too_many_arguments, reason = "called once; a structure for it would only rename them")]
    fn open_queue(
        ns: &Netns,
        config: &AfXdpConfig,
        clock: Clock,
        interface: &Interface,
        queue: u32,
        pool: &mut Pool,
        program: Option<&Arc<AttachedProgram>>,
    ) -> Result<AfXdpPort, PortError> {
        let lent = shareable(pool, config)?;
        let doing = || format!("opening an XDP socket on queue {queue} of {}", config.name);
        let socket = Socket::open(lent.region(), interface.index, queue, config).map_err(|e| {
            let advice = advice(&e, config);
            PortError::system(doing(), e, advice)
        })?;
        if let Some(program) = program {
            program.feed(queue, socket.fd.as_fd()).map_err(|e| PortError::system(doing(), e, ""))?;
        }
        let watch = Watch::new(Interfaces::here()?, &config.name)?;
        let watch = if queue == 0 { watch.with_card()? } else { watch };
        let mut port = AfXdpPort {
            socket: ManuallyDrop::new(socket),
            _program: program.cloned(),
            lent: ManuallyDrop::new(lent),
            ns: ns.clone(),
            missing: config.ring as usize,
            unfinished: 0,
            polls: 0,
            stalled: None,
            is_gone: false,
            watch,
            queue,
            config: config.clone(),
            clock,
            counters: Counters::default(),
        };
        port.refill(pool);
        Ok(port)
    }

    /// Whether the socket is in zero-copy mode.
    pub fn zero_copy(&self) -> bool {
        self.socket.zero_copy
    }

    #[inline]
    fn refill(&mut self, pool: &mut Pool) {
        let room = self.socket.fill.room(self.missing as u32) as usize;
        let mut given = 0;
        while given < self.missing.min(room)
            && let Some(frame) = pool.alloc(0)
        {
            match self.lent.lend(frame) {
                Ok(at) => self.socket.fill.push(at),
                Err(frame) => {
                    // Another mapping's frames cannot be lent.
                    pool.free(frame);
                    break;
                }
            }
            given += 1;
        }
        if given > 0 {
            self.missing -= given;
            self.socket.fill.publish();
            self.wake_receiver();
        }
    }

    #[inline]
    fn wake_receiver(&mut self) {
        if self.socket.zero_copy && self.socket.fill.wants_wakeup() {
            self.socket.wake_receiver();
        }
    }

    /// Repeats wakeups that were lost, as while the link was down, and notes which frames were refused. Fails if frames
    /// do not leave.
    fn resume(&mut self) -> Result<(), PortError> {
        self.is_there()?;
        self.wake_receiver();
        if self.socket.transmit.waiting() > 0 {
            let refused = self.flush()? as u64;
            self.counters.accepted -= refused;
            self.counters.refused += refused;
        }
        let waiting = self.socket.transmit.waiting();
        let progress = (self.socket.transmit.taken(), self.unfinished);
        let now = self.clock.now();
        match self.stalled {
            // Frames of a veth wait for the device.
            _ if !self.watch.has_card() || (waiting == 0 && self.unfinished < self.config.ring) => self.stalled = None,
            Some((since, then)) if then == progress => {
                if now.saturating_sub(since) > self.clock.ticks(STALL) {
                    self.stalled = None;
                    return if self.look().link_lost { self.is_there() } else { Err(self.stuck()) };
                }
            }
            _ => self.stalled = Some((now, progress)),
        }
        Ok(())
    }

    fn look(&mut self) -> Look {
        let seen = self.watch.look();
        self.counters.link_lost |= seen.link_lost;
        self.is_gone |= seen.gone;
        seen
    }

    fn is_there(&self) -> Result<(), PortError> {
        if self.is_gone { Err(PortError::gone(&self.config.name)) } else { Ok(()) }
    }

    fn stuck(&self) -> PortError {
        let name = &self.config.name;
        let driver = LinkFacts::of(&self.ns, name).map(|facts| facts.driver).unwrap_or_default();
        PortError::Unsupported(format!(
            "{name} (driver {driver}, {}) has sent no frame for 1 s although its link is up, and {} frames wait: see what the driver \
             says (`dmesg`), ignore pause frames (`ethtool -A {name} rx off`), or use AF_PACKET (io = \"af-packet\")",
            self.facts().mode,
            self.unfinished
        ))
    }

    #[inline]
    fn finish(&mut self, pool: &mut Pool) -> Result<(), PortError> {
        let before = self.unfinished;
        while self.unfinished > 0
            && let Some(at) = self.socket.completion.pop()
        {
            self.unfinished -= 1;
            let frame = self.lent.take(at, 0).ok_or_else(|| self.not_lent(at))?;
            pool.free(frame);
        }
        if self.unfinished != before {
            self.socket.completion.release();
        }
        Ok(())
    }

    /// Returns how many frames were refused.
    fn flush(&mut self) -> Result<usize, PortError> {
        let mut refused = 0;
        if self.socket.zero_copy {
            if self.socket.transmit.wants_wakeup()
                && let Err(e) = self.socket.kick()
            {
                self.excuse(e)?;
            }
            return Ok(0);
        }
        let mut waiting = self.socket.transmit.waiting();
        while waiting > 0 {
            let kicked = self.socket.kick();
            let now_waiting = self.socket.transmit.waiting();
            match kicked {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => refused += 1,
                // One call sends a limited number of frames; EAGAIN if there are more.
                Err(e) if e.raw_os_error() == Some(libc::EAGAIN) && now_waiting != waiting => {}
                Err(e) => {
                    self.excuse(e)?;
                    break;
                }
                Ok(()) if now_waiting == waiting => break,
                Ok(()) => {}
            }
            waiting = now_waiting;
        }
        Ok(refused)
    }

    /// Returns the error only if it is the port's.
    fn excuse(&mut self, error: io::Error) -> Result<(), PortError> {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => Ok(()),
            Some(libc::ENETDOWN | libc::ENXIO) => {
                self.counters.link_lost = true;
                self.look();
                self.is_there()
            }
            _ => {
                Err(PortError::system(format!("sending to {}", self.config.name), error, "was the interface deleted?"))
            }
        }
    }

    fn not_lent(&self, at: u64) -> PortError {
        let name = &self.config.name;
        PortError::Unsupported(format!("the kernel returned a frame at {at} of {name} that was not lent to it"))
    }

    fn foreign(&self) -> PortError {
        let name = &self.config.name;
        PortError::Unsupported(format!("a frame for {name} is not of the pools that it was opened with"))
    }
}

impl Drop for AfXdpPort {
    fn drop(&mut self) {
        let in_place = self.socket.zero_copy;
        // SAFETY: dropped only here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.socket) };
        // A zero-copy driver may write to frames until the kernel has taken the queue from it. If
        // that takes too long, the frames are never returned.
        if !in_place || queue_is_free(&self.ns, &self.watch.at_open().name, self.queue) {
            // SAFETY: as above; the kernel no longer uses the frames.
            unsafe { ManuallyDrop::drop(&mut self.lent) };
        }
    }
}

/// A new socket on the queue shows it; false after a second.
fn queue_is_free(ns: &Netns, name: &str, queue: u32) -> bool {
    let config = AfXdpConfig { copying: CopyMode::Always, ring: 64, ..AfXdpConfig::named(name, Select::default()) };
    let probe = || -> Result<(), PortError> {
        let pool = Pool::single(PoolConfig::umem(1, 64))?;
        let index = Interfaces::here()?.get(name)?.index;
        let opened = Socket::open(pool.region(), index, queue, &config);
        opened.map(drop).map_err(|e| PortError::system("probing a queue", e, ""))
    };
    matches!(ns.run_in(probe), Ok(Ok(())))
}

/// Returns [`LentSlots`] if the kernel can use the pool's mapping and the pool can fill the ring.
fn shareable(pool: &mut Pool, config: &AfXdpConfig) -> Result<LentSlots, PortError> {
    let PoolConfig { slot, headroom, .. } = *pool.config();
    let lent = LentSlots::none(pool.region()).filter(|_| slot == 2048 || slot == 4096);
    let Some(lent) = lent.filter(|_| headroom.max(KERNEL_HEADROOM) < slot) else {
        let what = format!("slots of {slot} bytes cannot be shared with the kernel: use PoolConfig::umem");
        return Err(PortError::Unsupported(what));
    };
    let needed = config.ring as usize + 2 * BATCH;
    let available = pool.available();
    if available < needed {
        let what = format!(
            "an XDP port on {} needs {needed} frames and its pool has {available}: use more frames, or a smaller ring",
            config.name
        );
        return Err(PortError::Unsupported(what));
    }
    Ok(lent)
}

fn advice(error: &io::Error, config: &AfXdpConfig) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM) => "needs CAP_NET_RAW: run as root",
        Some(libc::ENOBUFS | libc::ENOMEM) => "the memory limit is too low: ulimit -l unlimited, or run as root",
        Some(libc::EOPNOTSUPP) if config.copying == CopyMode::Never => {
            "the driver does not support zero-copy: let the kernel copy"
        }
        Some(libc::EOPNOTSUPP) => "the kernel or the driver does not support XDP sockets: use AF_PACKET",
        Some(libc::EBUSY) => "another program has a socket on this queue",
        Some(libc::EINVAL) if config.mode == XdpMode::Native && config.copying != CopyMode::Always => {
            "the interface has fewer queues (ethtool -l DEV), or its driver refuses zero-copy, as virtio_net does without DMA \
             translation (iommu_platform=on in QEMU): write zero-copy = \"never\""
        }
        Some(libc::EINVAL) => "check that the interface has this many queues (ethtool -l DEV)",
        Some(libc::EAFNOSUPPORT) => "this kernel does not support XDP sockets: use AF_PACKET",
        _ => "",
    }
}

impl Port for AfXdpPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        self.finish(pool)?;
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS) {
            self.resume()?;
        }
        let mut got = 0;
        while got < BATCH
            && let Some(entry) = self.socket.receive.pop()
        {
            let frame = self.lent.take(entry.addr, entry.len as usize).ok_or_else(|| self.not_lent(entry.addr))?;
            into.push(frame);
            got += 1;
        }
        if got > 0 {
            self.socket.receive.release();
            let now = self.clock.now();
            let first = into.len() - got;
            for frame in &mut into[first..] {
                frame.stamp = now;
            }
            self.counters.received += got as u64;
            self.missing += got;
        }
        if self.missing > 0 {
            self.refill(pool);
        }
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        self.finish(pool)?;
        if !self.socket.zero_copy && self.socket.transmit.waiting() > 0 {
            // Frames that an earlier call accepted go first.
            self.resume()?;
            if self.socket.transmit.waiting() > 0 {
                return Ok(Sent::default());
            }
        }
        // No more frames than fit into the completion ring.
        let free = self.config.ring - self.unfinished;
        let count = burst.len().min(BATCH).min(free as usize);
        let count = count.min(self.socket.transmit.room(count as u32) as usize);
        let mut offered = 0;
        let mut alien: Option<Frame> = None;
        for frame in burst.drain(..count) {
            let len = frame.len() as u32;
            match self.lent.lend(frame) {
                Ok(addr) => {
                    self.socket.transmit.push(xdp_desc { addr, len, options: 0 });
                    offered += 1;
                }
                Err(frame) => alien = Some(frame),
            }
        }
        let mut sent = Sent::default();
        if offered > 0 {
            self.socket.transmit.publish();
            self.unfinished += offered as u32;
            sent.refused = self.flush()?;
            sent.accepted = offered - sent.refused;
        } else {
            self.resume()?;
        }
        self.counters.accepted += sent.accepted as u64;
        self.counters.refused += sent.refused as u64;
        if self.watch.at_open().kind != "veth" {
            self.counters.own_drops += sent.refused as u64;
        }
        alien.map_or(Ok(sent), |_| Err(self.foreign()))
    }

    fn counters(&mut self) -> Counters {
        // Time between trials does not count.
        self.stalled = None;
        let seen = self.look();
        let link_lost = std::mem::take(&mut self.counters.link_lost);
        let own_drops = self.counters.own_drops + self.socket.dropped() + seen.own_losses;
        Counters { own_drops, link_lost, ..self.counters }
    }

    fn facts(&self) -> PortFacts {
        let here = self.watch.at_open().kind == "veth";
        let mode = match self.config.mode {
            XdpMode::Native => "native XDP",
            XdpMode::Generic => "generic XDP",
        };
        let copying = if self.socket.zero_copy { "zero-copy" } else { "copy" };
        let place = match (here, self.config.steered) {
            (false, _) => "network card",
            (true, true) => "veth, receive work on another core",
            (true, false) => "veth, inline",
        };
        PortFacts {
            backend: "af_xdp".into(),
            name: format!("{}.{}", self.config.name, self.queue),
            mode: format!("{mode}, {copying}, {place}"),
            dut_queue: if here { super::cpu_backlog() } else { 0 },
            own_queue: self.config.ring as usize,
            own_queues: 1,
            inline: here && !self.config.steered,
            stamped_by_kernel: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_queue_is_free_when_its_port_is_closed_and_not_before() {
        let ns = Netns::new().unwrap();
        let line = "ip link add xa type veth peer name xb && ip link set xa up && ip link set xb up";
        assert!(ns.command("sh", crate::netns::Sight::Network).args(["-c", line]).status().unwrap().success());
        let mut pool = Pool::single(PoolConfig::umem(1, 256)).unwrap();
        let config = AfXdpConfig { ring: 64, ..AfXdpConfig::named("xa", Select::everything()) };
        let ports = AfXdpPort::open(&ns, &config, Clock::system(), std::slice::from_mut(&mut pool)).unwrap();
        assert!(!queue_is_free(&ns, "xa", 0));
        drop(ports);
        assert!(queue_is_free(&ns, "xa", 0));
    }
}
