//! A box that natmeter makes: boots a guest on the ends of natmeter's links, and gives a guest or a
//! namespace its network.

use super::RigError;
use dut::changes::Changes;
use dut::guest::network::Side;
use dut::guest::{Cache, Guest, GuestConfig, Hypervisor, Nic, SharedGuest, has_kvm};
use dut::links;
use dut::{DutError, RunDir, Sink, Step};
use port::{Mute, Netns, handover};
use record::folder::FactTable;
use scenario::bed::{Bed, BoxKeys, GuestKind, PortKeys};
use scenario::{Point, Scenario, Technology};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use wire::Prefix6;

/// Packages whose versions are in a report.
const SHOWN: [&str; 3] = ["nftables", "iptables", "iproute2"];

pub(crate) struct GuestWithNetwork {
    pub running: SharedGuest,
    pub facts: FactTable,
    /// Keep this machine's kernel from using the guest's ends of the links.
    _mutes: Vec<Mute>,
}

/// Ends of natmeter's links.
pub(crate) struct Nics<'a> {
    /// Namespace with its interfaces, if it has any on this machine.
    pub namespace: &'a Netns,
    /// Ethernet addresses, left and right.
    pub macs: [[u8; 6]; 2],
    /// Queues of its TAPs, left and right, if it has TAPs.
    pub queues: Option<&'a [Vec<OwnedFd>; 2]>,
    /// Cores for its kernel (`nr_cpus`); `None` for all.
    pub cores: Option<u32>,
    pub lanes: u32,
}

pub(crate) fn kind_of(kind: GuestKind) -> Hypervisor {
    match kind {
        GuestKind::Uml => Hypervisor::Uml,
        GuestKind::Qemu => Hypervisor::Qemu,
    }
}

impl GuestWithNetwork {
    /// Boots the latest built guest.
    pub(crate) fn boot(
        (kind, keys): (GuestKind, &BoxKeys),
        ends: &Nics<'_>,
        network: &[Step],
        sink: &Sink,
    ) -> Result<GuestWithNetwork, RigError> {
        let image = Cache::of_this_user()?.latest(kind_of(kind))?;
        let mut mutes = Vec::new();
        let mut nics = Vec::new();
        for (at, (name, mac)) in links::ENDS.into_iter().zip(ends.macs).enumerate() {
            let descriptors = match ends.queues {
                None => {
                    mutes.push(Mute::attach(ends.namespace, name, true)?);
                    vec![handover::packet_socket(ends.namespace, name)?]
                }
                Some(queues) => copies(&queues[at])?,
            };
            nics.push(Nic { name, mac, descriptors });
        }
        let config = GuestConfig {
            kind: kind_of(kind),
            memory_mib: keys.guest_memory,
            cpus: keys.guest_cpus,
            cores: ends.cores,
            ..GuestConfig::default()
        };
        let running = SharedGuest::of(beside_tester_threads(ends.lanes, || Guest::boot(&config, &image, nics))?);
        // The changes of these steps end with the guest.
        Changes::logged(running.clone(), &RunDir::of_this_user(), sink).carry_out(network)?;
        let mut facts = FactTable::from([
            ("guest".to_owned(), in_words(&config)),
            ("guest image".to_owned(), image.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        ]);
        let version = |package: &&str| Some((format!("{package} of the guest"), image.version(package)?));
        facts.extend(SHOWN.iter().filter_map(version));
        Ok(GuestWithNetwork { running, facts, _mutes: mutes })
    }
}

/// Only on the cores that the tester's threads leave free, with the highest priority of ordinary
/// threads. On cores of the tester, or with less priority than other programs, the guest's threads
/// would starve, and their loss would be attributed to the device.
fn beside_tester_threads<T: Send>(
    lanes: u32,
    boot: impl FnOnce() -> Result<T, DutError> + Send,
) -> Result<T, RigError> {
    let cores = port::host::cores();
    let free = cores.get(lanes as usize..).unwrap_or_default();
    if free.is_empty() {
        return Ok(boot()?);
    }
    // A process inherits cores and priority from the thread that starts it.
    std::thread::scope(|scope| {
        let starts = port::host::spawn_in(scope, || {
            port::host::pin_to(free)?;
            port::host::set_best_nice();
            Ok(boot()?)
        })?;
        starts.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn copies(queues: &[OwnedFd]) -> Result<Vec<OwnedFd>, RigError> {
    let copied: std::io::Result<Vec<OwnedFd>> = queues.iter().map(OwnedFd::try_clone).collect();
    copied.map_err(|error| RigError::Bed(format!("the queues of a TAP cannot be given to the guest: {error}")))
}

fn in_words(config: &GuestConfig) -> String {
    let how = match (config.kind, has_kvm()) {
        (Hypervisor::Uml, _) => "User-Mode Linux",
        (Hypervisor::Qemu, true) => "QEMU with KVM",
        (Hypervisor::Qemu, false) => "QEMU without KVM: it translates the guest's instructions",
    };
    let booted = if config.cores.is_some() { " (the kernel boots with the cores of the point: nr_cpus)" } else { "" };
    format!("{how}; processors: {}{booted}; memory: {} MiB", config.cpus, config.memory_mib)
}

/// Returns the steps that set addresses and routes of box `at` (from the left, from 0) at a point, and whether it has
/// IPv6.
pub(super) fn network(scenario: &Scenario, bed: &Bed, point: &Point, at: usize) -> (Vec<Step>, bool) {
    let dut = &scenario.duts[point.dut];
    let forwarded = dut.forwarded_ipv6();
    let six = dut.technology().map(|(_, technology)| technology).or(forwarded.as_deref());
    let six = six.and_then(Technology::networks);
    let neighbours = neighbours(bed, at);
    let macs = links::neighbours(at, bed.boxes.len());
    let flows = &scenario.traffic.flows;
    let further = 1..flows.networks;
    let side = |side: usize, (own, next): Ends, six: Option<[Prefix6; 2]>| {
        let of = neighbours[side].map_or("the tester", |neighbour| bed.boxes[neighbour].0);
        let first = [flows.inside, flows.remote][side];
        let (networks, further) = match (next, six) {
            (IpAddr::V4(next), _) if neighbours[side].is_none() => {
                let network = |i| Ipv4Addr::from((u32::from(first.first) & !0xff) + (i << 8));
                let networks = first.prefixes_without(next).iter().map(ToString::to_string).collect();
                (networks, further.clone().map(|i| format!("{}/24", network(i))).collect())
            }
            (IpAddr::V6(_), Some(networks)) => {
                let of = networks[side];
                let network = |i: u32| Ipv6Addr::from(of.addr.to_bits() + (u128::from(i) << (128 - of.len)));
                (vec![of.to_string()], further.clone().map(|i| format!("{}/{}", network(i), of.len)).collect())
            }
            _ => Default::default(),
        };
        Side { own, next, networks, further, of, next_mac: macs[side] }
    };
    let addresses = addresses(bed, at);
    let sides = [0, 1].map(|at| side(at, addresses[at].expect("a port beside such a box has `gateway`"), six));
    let native = scenario.native_networks().filter(|_| bed.boxes.len() == 1);
    let native = native.and_then(|networks| {
        let of_side = |at: usize| {
            let port = bed.ports()[at].1;
            let end = port.gateway_ipv6.map(|six| beside_tester(port, six.into()))?;
            Some(side(at, end, Some(networks)))
        };
        Some([of_side(0)?, of_side(1)?])
    });
    let has_ipv6 = native.is_some() || sides.iter().any(|side| side.own.0.is_ipv6());
    (dut::guest::network::steps(&sides, native.as_ref()), has_ipv6)
}

/// Numbers of the neighbours; `None` for the tester.
fn neighbours(bed: &Bed, at: usize) -> [Option<usize>; 2] {
    [at.checked_sub(1), Some(at + 1).filter(|&right| right < bed.boxes.len())]
}

/// Address of a box, with the length of its prefix, and that of its next hop.
pub(crate) type Ends = ((IpAddr, u8), IpAddr);

/// Addresses of box number `at` on the left and on the right; `None` where only the user knows them.
pub(crate) fn addresses(bed: &Bed, at: usize) -> [Option<Ends>; 2] {
    let neighbours = neighbours(bed, at);
    [0, 1].map(|side| match neighbours[side] {
        None => bed.ports()[side].1.gateway.map(|gateway| beside_tester(bed.ports()[side].1, gateway)),
        Some(neighbour) => bed.boxes[at].1.has_network().then(|| {
            let ends = between(bed.boxes[at.min(neighbour)].0, bed.boxes[at.max(neighbour)].0);
            (ends[1 - side], ends[side].0)
        }),
    })
}

/// An address of the box and the tester's address beside it.
fn beside_tester(keys: &PortKeys, gateway: IpAddr) -> Ends {
    // `scenario` refuses a bed file in which the two addresses share no network.
    let own = keys.addresses.iter().find(|(own, length)| scenario::bed::shares_network((*own, *length), gateway));
    let (tester, length) = own.copied().unwrap_or((gateway, 32));
    ((gateway, length), tester)
}

/// IPv6 as between the edges of the embedded gateway (RFC 5180, section 8), or IPv4 (RFC 7335)
/// between the NAT44 and the NAT46 of a customer edge.
fn between(left: &str, right: &str) -> [(IpAddr, u8); 2] {
    if (left, right) == ("ce-nat44", "ce-nat46") {
        return [2, 1].map(|host| (Ipv4Addr::new(192, 0, 0, host).into(), 29));
    }
    [1, 2].map(|host| (Ipv6Addr::new(0x2001, 2, 0, 0x100, 0, 0, 0, host).into(), 64))
}
