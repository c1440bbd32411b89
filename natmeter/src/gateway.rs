//! The gateway as a program: builds its technology from its file, opens ports, finds next hops,
//! runs workers and answers its control socket.

use crate::rig::files::open as open_file;
use crate::rig::known_truth;
use crate::rig::ports::{boxed, in_vlan, own, tags};
use gateway::control::Control;
use gateway::file::{FileError, Files, PacketCounts, replay as pass};
use gateway::neighbour::NeighbourError;
use gateway::privileges::{LimitError, Limits};
use gateway::{ControlQueue, EmbeddedConfig, EmbeddedError, EmbeddedGateway, Owns};
use plane::lw4o6::Live;
use plane::{AnyFunction, MssLimit, Packet, Side4, Side6, Wrapper};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Select, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::interface::Interfaces;
use port::presence::{Lost, Presence};
use port::{Clock, Netns, Pool, PoolConfig, Port, PortError};
use record::store::StoreError;
use scenario::gateway::{Gateway, Io, NextHop, Side};
use serde_json::json;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tech::{Functions, GatewayBuild, Job, Links};
use wire::Mac;

mod ending;
#[cfg(test)]
mod file_tests;
mod next_hops;
mod reload;
mod running;
mod select;
mod status;
mod table_file;
#[cfg(test)]
mod tests;

pub(crate) use ending::EndRequest;
pub use running::{Removal, Word};

use next_hops::Watches;
use running::RunningGateway;

#[derive(Debug, thiserror::Error)]
pub(crate) enum GatewayError {
    /// The request is not possible.
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    File(#[from] FileError),
    /// A capture file cannot be created.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("[technology.{name}]: {why}")]
    Technology { name: &'static str, why: String },
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Neighbour(#[from] NeighbourError),
    #[error(transparent)]
    Worker(#[from] EmbeddedError),
    /// An interface was deleted or switched off.
    #[error("{0}; the gateway has stopped")]
    Lost(#[from] Lost),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("signals cannot be handled: {0}")]
    Signals(std::io::Error),
    #[error("control socket {path} cannot be opened: {cause}; choose another `socket` in [gateway]")]
    Socket { path: String, cause: std::io::Error },
}

impl GatewayError {
    /// Whether the command line or the file is wrong; natmeter then changed nothing.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, GatewayError::Usage(_) | GatewayError::Technology { .. })
    }
}

/// The gateway's own, and the next hop's, of both sides.
type Macs = [(Mac, Mac); 2];

/// Functions of a running lwAFTR use the binding table in `live`.
fn build(
    gateway: &Gateway,
    macs: Macs,
    workers: usize,
    seed: u64,
    live: Option<&Arc<Live>>,
) -> Result<GatewayBuild, GatewayError> {
    let [(left_own, left_next), (right_own, right_next)] = macs;
    let links = Links {
        left4: side4(&gateway.left, left_own, left_next),
        left6: side6(&gateway.left, left_own, left_next),
        right4: side4(&gateway.right, right_own, right_next),
        right6: side6(&gateway.right, right_own, right_next),
    };
    let job = Job { plays: gateway.plays, links, workers, seed, open: &open_file, live };
    let technology = gateway.technology.as_ref();
    technology.build(&job).map_err(|why| GatewayError::Technology { name: technology.name(), why })
}

/// One function a worker, with the limit for the MSS of TCP.
fn limited<P: Packet>(gateway: &Gateway, functions: Functions) -> Vec<AnyFunction<P>> {
    let limit = gateway.largest_mss;
    functions.boxed().into_iter().map(|function| MssLimit::new(limit).around(function)).collect()
}

fn with_fault<P: Packet>(
    gateway: &Gateway,
    functions: Vec<AnyFunction<P>>,
) -> Result<Vec<AnyFunction<P>>, GatewayError> {
    known_truth::faulty(&gateway.injected, functions).map_err(GatewayError::Usage)
}

fn side4(side: &Side, mac: Mac, next_hop: Mac) -> Side4 {
    // No function of the technology reads an address of the other version.
    let address = if let IpAddr::V4(address) = side.address { address } else { Ipv4Addr::UNSPECIFIED };
    Side4 { mac, next_hop, address, mtu: side.mtu }
}

fn side6(side: &Side, mac: Mac, next_hop: Mac) -> Side6 {
    let address = if let IpAddr::V6(address) = side.address { address } else { Ipv6Addr::UNSPECIFIED };
    Side6 { mac, next_hop, address, mtu: side.mtu }
}

fn owns(gateway: &Gateway, macs: Macs) -> Owns {
    let of_side = |side: &Side, (mac, _)| own(mac, [side.address]);
    let mut owns = Owns { customer: of_side(&gateway.left, macs[0]), internet: of_side(&gateway.right, macs[1]) };
    let [left, right] = gateway.technology.answers(gateway.plays);
    for (own, more) in [(&mut owns.customer, left), (&mut owns.internet, right)] {
        own.ipv4.extend(more.ipv4);
        own.ipv6.extend(more.ipv6);
    }
    owns
}

/// Passes the packets of capture files through the gateway, and returns the counters as text or JSON.
pub(crate) fn replay(
    gateway: &Gateway,
    files: &mut Files,
    seed: u64,
    linger: u64,
    as_json: bool,
) -> Result<String, GatewayError> {
    let given = |side: &Side, own: u8, name: &str| match side.next_hop {
        NextHop::Mac(next) => Ok((side.mac.unwrap_or(crate::rig::mac(own, 1)), next)),
        NextHop::Ip(_) => Err(GatewayError::Usage(format!(
            "next-hop of [gateway.{name}] is an IP address, which cannot be resolved between capture files: write an Ethernet \
             address"
        ))),
    };
    let macs = [given(&gateway.left, 1, "left")?, given(&gateway.right, 2, "right")?];
    let owns = gateway.answer.then(|| owns(gateway, macs));
    let vlans = [&gateway.left, &gateway.right].map(|side| side.vlan.and_then(tags));
    let functions = limited(gateway, build(gateway, macs, 1, seed, None)?.functions);
    let mut function = with_fault(gateway, functions)?.remove(0);
    let passed = pass(&mut *function, owns.as_ref(), vlans, files, linger)?;
    let events = function.counters().into_iter().filter(|(_, n)| *n > 0).collect();
    Ok(counted(&passed, events, function.entries(), as_json))
}

/// Counters of file mode, as text or JSON.
fn counted(passed: &PacketCounts, events: Vec<(&str, u64)>, entries: Option<(u64, u64)>, as_json: bool) -> String {
    let PacketCounts { received, sent, dropped, held, answered, local, unwritten, other_vlan } = *passed;
    if as_json {
        let events: serde_json::Map<_, _> = events.iter().map(|&(k, v)| (k.to_owned(), v.into())).collect();
        return format!(
            "{}\n",
            json!({ "received": received, "sent": sent, "dropped": dropped, "held": held, "answered": answered, "local": local,
                "unwritten": unwritten, "other-vlan": other_vlan, "events": events, "sessions": entries.map(|e| e.0), "mappings": entries.map(|e| e.1) })
        );
    }
    let mut text = format!(
        "{received} packets in, {sent} out; {dropped} dropped, {held} held, {answered} answered, {local} left to the machine\n"
    );
    if unwritten > 0 {
        let _ = writeln!(text, "{unwritten} not written, because their side has no file: add it to --pcap-out");
    }
    if other_vlan > 0 {
        let _ = writeln!(text, "{other_vlan} ignored, because they belong to another VLAN");
    }
    for (name, n) in events {
        let _ = writeln!(text, "  {name:<24} {n}");
    }
    text
}

/// Runs the gateway until it is told to stop. Fails if it cannot start, a worker ends by itself, or an interface is lost.
pub(crate) fn run(
    gateway: &Gateway,
    file: &Path,
    seed: u64,
    ending: EndRequest,
    say: &dyn Fn(&str),
) -> Result<(), GatewayError> {
    let clock = Clock::calibrated();
    let stop = ending.stop();
    let GatewayPorts { mut ports, mut pools, macs, other_vlan } = open(gateway, clock)?;
    let interfaces = [&gateway.left, &gateway.right].into_iter().filter_map(|side| side.interface.as_deref());
    let mut presence = Presence::watch(interfaces)?;
    let macs = next_hops::find(gateway, macs, &mut ports, &mut pools, &stop)?;
    let owns = gateway.answer.then(|| owns(gateway, macs));
    let mut control = Control::listen(&gateway.socket)
        .map_err(|cause| GatewayError::Socket { path: gateway.socket.display().to_string(), cause })?;
    let GatewayBuild { functions, live, .. } = build(gateway, macs, gateway.workers, seed, None)?;
    let config = EmbeddedConfig { cores: cores(gateway.workers), preempt: false, owns, ports, pools };
    let functions = with_fault(gateway, limited(gateway, functions))?;
    let (embedded, workers) = EmbeddedGateway::start(clock, config, functions);
    if gateway.busy {
        embedded.wake(Duration::MAX);
    } else {
        embedded.rest();
    }
    let next_hops = Arc::new(next_hops::learnt(gateway, &macs));
    let learns = workers.learn(&next_hops);
    learns.map_err(|worker| EmbeddedError::Silent(worker, gateway::control_queue::ANSWER_WITHIN))?;
    limit(gateway, file, ending, &workers, say)?;
    say(&format!(
        "gateway {} is running, {} worker{}; to query it: natmeter gateway status --socket {}\n",
        file.display(),
        gateway.workers,
        if gateway.workers == 1 { "" } else { "s" },
        gateway.socket.display()
    ));
    let running = RunningGateway {
        gateway: gateway.clone(),
        file,
        macs,
        next_hops,
        watches: Watches::new(),
        other_vlan,
        live,
        clock,
        embedded: &embedded,
        workers,
        stop: &stop,
    };
    let lost = serve(running, &mut presence, &mut control, say)?;
    // A worker may have failed because its interface was lost.
    let ended = embedded.stop();
    if let Some(lost) = lost.or(if ended.is_err() { presence.lost()? } else { None }) {
        return Err(lost.into());
    }
    ended?;
    say("gateway stopped\n");
    Ok(())
}

/// Interval of checks for workers of an idle gateway that have ended.
const LOOK: Duration = Duration::from_millis(20);

/// Serves the control socket until the gateway is stopped, or a worker ends. Returns the interface that was lost.
fn serve(
    mut running: RunningGateway,
    presence: &mut Presence,
    control: &mut Control,
    say: &dyn Fn(&str),
) -> Result<Option<Lost>, GatewayError> {
    loop {
        let lost = if presence.has_changed() { presence.lost()? } else { None };
        if lost.is_some() || running.is_going_on().is_err() || running.embedded.has_ended() {
            return Ok(lost);
        }
        control.serve(LOOK, &[presence.as_fd()], |words| running.answer(words));
        running.tidy().iter().for_each(|event| say(event));
    }
}

/// Returns the core of each worker. Workers are pinned only if one core is left to the rest of the machine.
fn cores(workers: usize) -> Vec<Option<usize>> {
    let cores = port::host::cores();
    (1..=workers).map(|i| cores.get(i).copied().filter(|_| cores.len() > workers)).collect()
}

/// Left, right.
type BothPorts = (Box<dyn Port>, Box<dyn Port>);

struct GatewayPorts {
    ports: Vec<BothPorts>,
    pools: Vec<Pool>,
    macs: [Mac; 2],
    other_vlan: OtherVlan,
}

/// Ignored by each side.
type OtherVlan = [Arc<AtomicU64>; 2];

/// Frames of each of a worker's two AF_XDP ports.
const FRAMES: usize = 16_384;

fn open(gateway: &Gateway, clock: Clock) -> Result<GatewayPorts, GatewayError> {
    let workers = gateway.workers;
    if workers > 1 && !matches!(gateway.io, Io::AfXdpGeneric | Io::AfXdpNative) {
        return Err(GatewayError::Usage(
            "several workers need a receive queue each: use io = \"af-xdp-generic\" or io = \"af-xdp-native\"".into(),
        ));
    }
    let mut pools = Pool::for_workers(PoolConfig::umem(workers, FRAMES))?;
    let other_vlan = OtherVlan::default();
    let (left, left_mac) = side_ports(gateway, 0, clock, &mut pools, &other_vlan)?;
    let (right, right_mac) = side_ports(gateway, 1, clock, &mut pools, &other_vlan)?;
    Ok(GatewayPorts { ports: left.into_iter().zip(right).collect(), pools, macs: [left_mac, right_mac], other_vlan })
}

/// One port a worker, and the side's Ethernet address.
fn side_ports(
    gateway: &Gateway,
    at: usize,
    clock: Clock,
    pools: &mut [Pool],
    other_vlan: &OtherVlan,
) -> Result<(Vec<Box<dyn Port>>, Mac), GatewayError> {
    let (side, name) = [(&gateway.left, "left"), (&gateway.right, "right")][at];
    let number = at as u8 + 1;
    let interface = side.interface.as_deref().ok_or_else(|| {
        GatewayError::Usage(format!("[gateway.{name}] has no interface: name one, or give capture files (--pcap-in)"))
    })?;
    let here = Netns::current()?;
    let made = matches!(gateway.io, Io::Tap | Io::Tun);
    // The kernel has the other end of a TAP or TUN device, so the gateway's end has an address of its own.
    let mac = match side.mac {
        Some(mac) => mac,
        None if made => crate::rig::mac(number, 1),
        None => here.run_in(|| Interfaces::here()?.get(interface).map(|i| Mac(i.mac)))??,
    };
    if gateway.io == Io::Tun && side.vlan.is_some() {
        let what = format!("[gateway.{name}] has a vlan, but a TUN device has no Ethernet header: use io = \"tap\"");
        return Err(GatewayError::Usage(what));
    }
    let select = match side.vlan {
        _ if gateway.answer => Select::everything(),
        None => select::without_the_link(),
        Some(vlan) => select::in_vlan(vlan, select::without_the_link()),
    };
    let xdp = |mode| AfXdpConfig { queues: gateway.workers as u32, mode, ..AfXdpConfig::named(interface, select) };
    let ports = match gateway.io {
        Io::AfPacket => boxed(vec![AfPacketPort::open(&here, &AfPacketConfig::named(interface), clock)?]),
        Io::AfXdpGeneric => boxed(AfXdpPort::open(&here, &xdp(XdpMode::Generic), clock, pools)?),
        Io::AfXdpNative => boxed(AfXdpPort::open(&here, &xdp(XdpMode::Native), clock, pools)?),
        Io::Tap => boxed(vec![TapPort::open(&here, &TapConfig::named(interface), clock)?]),
        Io::Tun => {
            let mut header = [0; 12];
            header[..6].copy_from_slice(&mac.0);
            header[6..].copy_from_slice(&next_hops::tun_neighbour(number).0);
            let config = TapConfig { without_ethernet: Some(header), ..TapConfig::named(interface) };
            boxed(vec![TapPort::open(&here, &config, clock)?])
        }
    };
    Ok((in_vlan(ports, side.vlan, &other_vlan[at]), mac))
}

/// Limits all threads; warns about privileges that remain.
fn limit(
    gateway: &Gateway,
    file: &Path,
    ending: EndRequest,
    workers: &ControlQueue,
    say: &dyn Fn(&str),
) -> Result<(), GatewayError> {
    let table = gateway.technology.file().map(|(_, path)| path);
    let limits = Limits::new([file].into_iter().chain(table), &gateway.socket)?;
    let of_workers = workers.limit(&limits);
    let signals = ending.insist(gateway.socket.clone(), limits.clone()).map_err(GatewayError::Signals)?;
    let all = of_workers.into_iter().flatten().chain(signals).chain(limits.apply()).map(|failed| failed.to_string());
    for failed in all.collect::<std::collections::BTreeSet<_>>() {
        say(&format!("warning: the gateway keeps privileges that it does not need: {failed}\n"));
    }
    Ok(())
}
