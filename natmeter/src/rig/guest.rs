//! The guest of a bed: boots it on the ends of natmeter's links, and gives it its network.

use super::RigError;
use dut::changes::Changes;
use dut::guest::network::{self, Side};
use dut::guest::{Cache, Guest, GuestConfig, Kind, Nic, SharedGuest, has_kvm};
use dut::host::{Host, Log};
use dut::links::{self, Links};
use dut::{RunDir, Sink};
use port::{Mute, handover};
use record::folder::FactTable;
use scenario::bed::{Bed, BoxKeys, GuestKind, PortKeys};
use scenario::{Point, Scenario};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Packages whose versions a report says.
const SHOWN: [&str; 3] = ["nftables", "iptables", "iproute2"];

/// A running guest with its network.
pub struct Booted {
    /// The guest.
    pub running: SharedGuest,
    /// What a report says about it.
    pub facts: FactTable,
    /// Keep this machine's kernel out of the guest's ends of the links.
    _mutes: Vec<Mute>,
}

/// The kind of a guest that a bed file names.
pub fn kind_of(kind: GuestKind) -> Kind {
    match kind {
        GuestKind::Uml => Kind::Uml,
        GuestKind::Qemu => Kind::Qemu,
    }
}

impl Booted {
    /// Boots the latest built guest. `taps` are the queues of its TAPs, left and right, if it has TAPs.
    ///
    /// # Errors
    /// If none is built, it does not boot, or a step in it fails.
    pub fn boot(
        (kind, keys): (GuestKind, &BoxKeys),
        links: &Links,
        taps: &[Vec<OwnedFd>],
        network: &[Side; 2],
        sink: &Sink,
    ) -> Result<Booted, RigError> {
        let image = Cache::of_this_user()?.latest(kind_of(kind))?;
        let mut mutes = Vec::new();
        let mut nics = Vec::new();
        for (at, (name, mac)) in links::ENDS.into_iter().zip(links::macs()).enumerate() {
            let descriptors = match kind {
                GuestKind::Uml => {
                    mutes.push(Mute::attach(links.device(), name, true)?);
                    vec![handover::packet_socket(links.device(), name)?]
                }
                GuestKind::Qemu => copies(&taps[at])?,
            };
            nics.push(Nic { name, mac, descriptors });
        }
        let config = GuestConfig {
            kind: kind_of(kind),
            memory_mib: keys.guest_memory,
            cpus: keys.guest_cpus,
            ..GuestConfig::default()
        };
        let running = SharedGuest::of(Guest::boot(&config, &image, nics)?);
        let logged: Box<dyn Host> = Box::new(Log::over(running.clone(), Arc::clone(sink)));
        // What the steps change ends with the guest.
        Changes::on(logged, RunDir::of_this_user(), Arc::clone(sink)).carry_out(&network::steps(network))?;
        let mut facts = FactTable::from([
            ("guest".to_owned(), in_words(&config)),
            ("guest image".to_owned(), image.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        ]);
        let version = |package: &&str| Some((format!("{package} of the guest"), image.version(package)?));
        facts.extend(SHOWN.iter().filter_map(version));
        Ok(Booted { running, facts, _mutes: mutes })
    }
}

/// Further descriptors of the same queues.
fn copies(queues: &[OwnedFd]) -> Result<Vec<OwnedFd>, RigError> {
    let copied: std::io::Result<Vec<OwnedFd>> = queues.iter().map(OwnedFd::try_clone).collect();
    copied.map_err(|error| RigError::Bed(format!("the queues of a TAP cannot be given to the guest: {error}")))
}

fn in_words(config: &GuestConfig) -> String {
    let how = match (config.kind, has_kvm()) {
        (Kind::Uml, _) => "User-Mode Linux",
        (Kind::Qemu, true) => "QEMU with KVM",
        (Kind::Qemu, false) => "QEMU without KVM: it translates the guest's instructions",
    };
    format!("{how}; processors: {}; memory: {} MiB", config.cpus, config.memory_mib)
}

/// Addresses and routes of a guest at a point.
pub fn network(scenario: &Scenario, bed: &Bed, point: &Point) -> [Side; 2] {
    let six = scenario.duts[point.dut].technology().and_then(|(_, technology)| technology.networks());
    let flows = &scenario.traffic.flows;
    let side = |at: usize, keys: &PortKeys| {
        let gateway = keys.gateway.expect("a bed with a guest has `gateway` of both ports");
        // A bed file in which no network has both addresses is refused.
        let own = keys.addresses.iter().find(|(own, length)| scenario::bed::shares_network((*own, *length), gateway));
        let (tester, length) = own.copied().unwrap_or((gateway, 32));
        let networks = match (tester, six) {
            (IpAddr::V4(own), _) => flows.ends()[at].prefixes_without(own).iter().map(ToString::to_string).collect(),
            (IpAddr::V6(_), Some(networks)) => vec![networks[at].to_string()],
            (IpAddr::V6(_), None) => Vec::new(),
        };
        Side { guest: (gateway, length), tester, networks }
    };
    [side(0, &bed.left), side(1, &bed.right)]
}
