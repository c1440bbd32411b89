//! The test bed that the tool builds around a device under test of this machine: its two interfaces, addresses,
//! neighbours and routes, everything that would disturb a measurement off. Its own file because it is the same for
//! every software, and different for every way of moving packets.

use crate::DutError;
use crate::host::Namespace;
use crate::setting::Setting;
use crate::step::{Action, NETNS_OF_DUT, Place, Step};
use crate::tool::{ETHTOOL, IP, Tool};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Condition, Select, Width, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::{Clock, Pool, PoolConfig, Port};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use wire::AddrRange;

/// One side of the device: who is who there (RFC 2544, appendix C.2.2: the DUT is host .1, the tester host .2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Name of the DUT's interface.
    pub name: &'static str,
    /// Name of the tester's end of the cable, where there is one.
    pub tester_name: &'static str,
    /// Address of the DUT; the prefix has 24 bits.
    pub dut: [u8; 4],
    /// Address of the tester.
    pub tester: [u8; 4],
}

/// Where customers are.
pub const LEFT: Side = Side { name: "left", tester_name: "tester-left", dut: [198, 18, 0, 1], tester: [198, 18, 0, 2] };
/// Where the Internet is.
pub const RIGHT: Side =
    Side { name: "right", tester_name: "tester-right", dut: [198, 19, 0, 1], tester: [198, 19, 0, 2] };

impl Side {
    /// Ethernet address of the DUT: locally administered, and its IPv4 address in it.
    pub fn dut_mac(&self) -> [u8; 6] {
        mac(0x02, self.dut)
    }
    /// Ethernet address that the DUT sends to.
    pub fn tester_mac(&self) -> [u8; 6] {
        mac(0x02, self.tester)
    }
    /// Ethernet address of the tester's interface itself. Not the one the DUT sends to, so that the kernel sees
    /// frames for somebody else and drops them before its IP stack has any work with them; ports get all of them.
    /// Measured with packet sockets: 250 to 430 ns of CPU a frame less, of 2,030.
    fn tester_own_mac(&self) -> [u8; 6] {
        mac(0x06, self.tester)
    }
}

fn mac(first: u8, [a, b, c, d]: [u8; 4]) -> [u8; 6] {
    [first, 0, a, b, c, d]
}

fn shown(mac: [u8; 6]) -> String {
    mac.map(|b| format!("{b:02x}")).join(":")
}

/// How packets reach the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackEnd {
    /// Its interfaces are TAPs, and the tester holds their other ends.
    #[default]
    Tap,
    /// Cables to a namespace of the tester, which sends and receives by packet sockets.
    AfPacket,
    /// Cables, and XDP sockets in the kernel's general receive path.
    AfXdpGeneric,
    /// Cables, and XDP sockets in the driver of the cable.
    AfXdpNative,
}

impl BackEnd {
    /// The tester's ends are interfaces too.
    pub fn has_cables(self) -> bool {
        self != BackEnd::Tap
    }
    fn xdp_mode(self) -> Option<XdpMode> {
        match self {
            BackEnd::Tap | BackEnd::AfPacket => None,
            BackEnd::AfXdpGeneric => Some(XdpMode::Generic),
            BackEnd::AfXdpNative => Some(XdpMode::Native),
        }
    }
}

/// The tester's ends of both sides: left, right.
pub type Ports = (Box<dyn Port>, Box<dyn Port>);

/// What the test bed must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BedConfig {
    /// How packets reach the device.
    pub back_end: BackEnd,
    /// Addresses that the left tester sends from, all behind one next hop.
    pub inside: AddrRange,
    /// Addresses that the right tester has.
    pub remote: AddrRange,
    /// Cores that do the DUT's work. With none it is done wherever a frame is sent: by the sender's own thread.
    pub dut_cores: Vec<usize>,
    /// Cores that carry finished frames to the tester, where it has interfaces of its own. Never a core of the DUT's:
    /// its backlog would drop frames that the DUT has done.
    pub tester_cores: Vec<usize>,
    /// Frames that may wait for a core of the DUT, machine-wide. With none it stays as it is, unless the DUT has
    /// cores of its own: then 16,384, because the kernel's default of 1,000 does not survive one preemption.
    pub backlog: Option<u64>,
}

impl Default for BedConfig {
    /// One address on each side, over TAPs, everything on the sender's core.
    fn default() -> BedConfig {
        BedConfig {
            back_end: BackEnd::default(),
            inside: AddrRange::one(LEFT.tester.into()),
            remote: AddrRange::one(RIGHT.tester.into()),
            dut_cores: Vec::new(),
            tester_cores: Vec::new(),
            backlog: None,
        }
    }
}

impl BedConfig {
    /// The programs that its steps run.
    pub fn tools(&self) -> &'static [Tool] {
        &[IP, ETHTOOL]
    }

    /// Frames that may wait for a core of the DUT, if that is to be changed.
    pub fn backlog(&self) -> Option<u64> {
        self.backlog.or((!self.dut_cores.is_empty()).then_some(16_384))
    }

    /// Something of it changes the whole machine.
    pub fn is_machine_wide(&self) -> bool {
        self.backlog().is_some()
    }

    /// See that it makes sense, before anything is touched.
    ///
    /// # Errors
    /// When it does not, with the way out.
    pub fn check(&self) -> Result<(), DutError> {
        for (range, word) in [(&self.inside, "inside"), (&self.remote, "remote")] {
            if range.count == 0 {
                return refuse(format!("there are no {word} addresses"), "give at least one");
            }
            for own in [LEFT.dut, RIGHT.dut].map(Ipv4Addr::from) {
                if range.contains(own) {
                    return refuse(
                        format!("the {word} addresses {range} contain {own}, which is the DUT's"),
                        "leave it out",
                    );
                }
            }
        }
        if let Some(refused) = self.what_takes_root().filter(|_| port::netns::in_user_namespace()) {
            return Err(refused);
        }
        match self.dut_cores.iter().chain(&self.tester_cores).find(|c| !is_online(**c)) {
            Some(core) => {
                refuse(format!("this machine has no core {core}"), &format!("choose among {:?}", port::host::cores()))
            }
            None => Ok(()),
        }
    }

    /// See that this machine has what its ports are made through.
    ///
    /// # Errors
    /// When it has not, with the way out.
    pub fn see_that_ports_can_be_made(&self) -> Result<(), DutError> {
        if self.back_end == BackEnd::Tap {
            port::backend::tap::see_that_tun_is_there()?;
        }
        Ok(())
    }

    /// What of it a user namespace is not enough for.
    pub fn what_takes_root(&self) -> Option<DutError> {
        let takes = [
            (
                !self.dut_cores.is_empty() || !self.tester_cores.is_empty(),
                "choosing cores of the DUT",
                "run as root, or leave the cores out",
            ),
            (self.backlog.is_some(), "changing the backlog of this machine", "run as root, or leave the backlog out"),
            (self.back_end.xdp_mode().is_some(), "AF_XDP", "run as root, or use tap or af-packet"),
        ];
        let (_, what, way_out) = takes.into_iter().find(|(asked, ..)| *asked)?;
        let what = format!("{what} takes root, a user namespace is not enough");
        Some(DutError::Refused { what, way_out: way_out.to_owned() })
    }

    /// Shape of the frame pools for ports of this bed: `frames` in flight a worker, of at most `frame` bytes without FCS.
    pub fn pools(&self, workers: usize, frames: usize, frame: usize) -> PoolConfig {
        match self.back_end {
            BackEnd::Tap | BackEnd::AfPacket => PoolConfig::compact(workers, frames, frame + 1),
            // What waits in the rings of both ports is not there to be sent.
            BackEnd::AfXdpGeneric | BackEnd::AfXdpNative => PoolConfig::umem(workers, frames + 4 * XDP_RING as usize),
        }
    }

    /// All steps that make it, in order. They vanish with the namespaces, but for the backlog.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = quiet(Place::Dut);
        steps.push(Step::dut("loopback, which the kernel sends to itself over", Action::words("ip link set lo up")));
        if self.back_end.has_cables() {
            steps.extend(quiet(Place::Tester));
        }
        steps.extend(self.interfaces(&LEFT));
        steps.extend(self.interfaces(&RIGHT));
        steps.extend(addresses(&LEFT, self.inside));
        steps.extend(addresses(&RIGHT, self.remote));
        steps.extend(self.placement());
        steps
    }

    /// All steps that make a cable from one of the tester's ends to the other instead, which is the same in all else.
    pub(crate) fn cable_steps(&self) -> Vec<Step> {
        let mut steps = quiet(Place::Tester);
        let [left, right] = [LEFT, RIGHT].map(|side| side.tester_name);
        let queues = "numtxqueues 1 numrxqueues 1";
        let line = format!("ip link add {left} {queues} type veth peer name {right} {queues}");
        steps.push(Step::tester("a cable from one port of the tester to the other", Action::words(&line)));
        for side in [LEFT, RIGHT] {
            steps.extend(prepared(Place::Tester, side.tester_name, side.tester_own_mac()));
        }
        steps.extend(self.placement().into_iter().filter(|step| step.place != Place::Dut));
        steps
    }

    /// The interfaces of one side, switched on.
    fn interfaces(&self, side: &Side) -> Vec<Step> {
        let Side { name, tester_name, .. } = side;
        let make = if self.back_end.has_cables() {
            let line = format!("ip link add {tester_name} numtxqueues 1 numrxqueues 1 type veth peer name {name}");
            let mut action = Action::words(&format!("{line} numtxqueues 1 numrxqueues 1 netns"));
            if let Action::Command { args, .. } = &mut action {
                args.push(NETNS_OF_DUT.to_owned());
            }
            Step::tester(format!("a cable from the tester to the {name} of the DUT"), action)
        } else {
            Step::dut(format!("the {name} interface of the DUT"), words(&["ip tuntap add dev", name, "mode tap"]))
        };
        let mut steps = vec![make];
        steps.extend(prepared(Place::Dut, name, side.dut_mac()));
        if self.back_end.has_cables() {
            steps.extend(prepared(Place::Tester, tester_name, side.tester_own_mac()));
        }
        steps
    }

    /// Which cores do the DUT's work, and which carry its frames to the tester.
    fn placement(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(backlog) = self.backlog() {
            let why = "frames that may wait for a core of the DUT: its buffer";
            let setting = Setting::at("/proc/sys/net/core/netdev_max_backlog").expect("a sysctl of the network");
            steps.push(Step::machine(why, &setting, backlog));
        }
        for side in [LEFT, RIGHT] {
            if !self.dut_cores.is_empty() {
                let why = format!("cores that do the DUT's work for frames from the {}", side.name);
                steps.push(Step::dut(why, steer(side.name, &self.dut_cores)));
            }
            if self.back_end.has_cables() && !self.tester_cores.is_empty() {
                let why = format!("cores that carry frames to the tester on the {}", side.name);
                steps.push(Step::tester(why, steer(side.tester_name, &self.tester_cores)));
            }
        }
        steps
    }

    /// Take the tester's end of one side. It can be taken again when the port has been dropped. XDP sockets take their
    /// free frames from `pool`, and work with any pool of the same mapping.
    ///
    /// # Errors
    /// When it is taken, or something is missing.
    pub fn open(
        &self,
        host: &Namespace,
        side: &Side,
        clock: Clock,
        pool: &mut Pool,
    ) -> Result<Box<dyn Port>, DutError> {
        let steered = !self.dut_cores.is_empty();
        let [dut, tester] = [Place::Dut, Place::Tester].map(|place| host.at(place).expect("both are namespaces"));
        if let Some(mode) = self.back_end.xdp_mode() {
            let name = AfXdpConfig::named(side.tester_name, everything_of_ours());
            let config = AfXdpConfig { mode, steered, ring: XDP_RING, ..name };
            let port = AfXdpPort::open(tester, &config, clock, std::slice::from_mut(pool))?.remove(0);
            return Ok(Box::new(port));
        }
        Ok(if self.back_end == BackEnd::Tap {
            let config = TapConfig { steered, existing: true, ..TapConfig::named(side.name) };
            Box::new(TapPort::open(dut, &config, clock)?)
        } else {
            let config = AfPacketConfig { steered, ..AfPacketConfig::named(side.tester_name) };
            Box::new(AfPacketPort::open(tester, &config, clock)?)
        })
    }
}

/// Entries of the rings of an XDP socket.
const XDP_RING: u32 = 2048;

/// What an XDP program takes off a cable of ours: IPv4, be it test frames or complaints of the DUT's, and ARP. Nobody
/// at the tester's end of it has a use for them: it has no address.
fn everything_of_ours() -> Select {
    let ether_type = |value| vec![Condition { offset: 12, width: Width::Two, mask: 0xffff, value }];
    Select { any_of: vec![ether_type(0x0800), ether_type(0x0806)] }
}

/// A core that the kernel may steer frames to; it need not be one that this process may use.
fn is_online(core: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{core}");
    let switched_off = std::fs::read_to_string(format!("{path}/online")).is_ok_and(|s| s.trim() == "0");
    std::path::Path::new(&path).is_dir() && !switched_off
}

fn refuse<T>(what: String, way_out: &str) -> Result<T, DutError> {
    Err(DutError::Refused { what, way_out: way_out.to_owned() })
}

/// A namespace in which nothing speaks unasked, and nothing that arrives is refused for where it comes from.
fn quiet(place: Place) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut set = |why: &str, name: &str, value| {
        steps.push(Step { place, ..Step::dut(why, Action::sysctl(name, value)) }.where_present());
    };
    for which in ["all", "default"] {
        let why = "no IPv6: no router solicitation, duplicate address detection or multicast report";
        set(why, &format!("net/ipv6/conf/{which}/disable_ipv6"), 1);
    }
    for which in ["all", "default"] {
        let name = |leaf: &str| format!("net/ipv4/conf/{which}/{leaf}");
        set("no reverse path filter", &name("rp_filter"), 0);
        set("no ICMP redirects", &name("send_redirects"), 0);
        set("answer ARP for own addresses alone, as a router does by default", &name("arp_ignore"), 0);
        set("no address filter on ARP", &name("arp_filter"), 0);
    }
    steps
}

/// An interface that has its address, no offloads, and is switched on.
fn prepared(place: Place, name: &str, mac: [u8; 6]) -> Vec<Step> {
    let step = |why: &str, action| Step { place, ..Step::dut(why, action) };
    vec![
        step("a known Ethernet address", words(&["ip link set dev", name, "address", &shown(mac)])),
        step(
            "every frame on its own, with a checksum of its own: no offloads",
            words(&["ethtool -K", name, "rx off tx off sg off tso off gso off gro off"]),
        ),
        step(
            "no multicast, a queue that takes a burst, and on",
            words(&["ip link set dev", name, "multicast off txqueuelen 20000 up"]),
        ),
    ]
}

/// Address, neighbour and routes of one side of the DUT.
fn addresses(side: &Side, range: AddrRange) -> Vec<Step> {
    let name = side.name;
    let [dut, tester] = [side.dut, side.tester].map(|a| Ipv4Addr::from(a).to_string());
    let mac = shown(side.tester_mac());
    let neighbour = ["ip neigh replace", &tester, "lladdr", &mac, "nud permanent dev", name];
    let mut steps = vec![
        Step::dut(
            format!("the {name} address of the DUT"),
            words(&["ip addr add", &format!("{dut}/24"), "brd + dev", name]),
        ),
        Step::dut(format!("the tester on the {name}, never asked for by ARP"), words(&neighbour)),
    ];
    // Many neighbours would overflow the neighbour table: one next hop has all addresses.
    for prefix in range.prefixes_without(side.tester.into()) {
        let route = words(&["ip route replace", &prefix.to_string(), "via", &tester, "dev", name]);
        steps.push(Step::dut(format!("addresses of the tester on the {name}, by one next hop"), route));
    }
    steps
}

/// Receive packet steering: the cores that take frames arriving on an interface.
fn steer(interface: &str, cores: &[usize]) -> Action {
    Action::Write { path: format!("/sys/class/net/{interface}/queues/rx-0/rps_cpus"), value: cpu_mask(cores) }
}

/// Cores as the kernel's masks have them: groups of 32 bits in hexadecimal, the highest first.
fn cpu_mask(cores: &[usize]) -> String {
    let groups = cores.iter().max().map_or(0, |c| c / 32) + 1;
    let mut words = vec![0u32; groups];
    for core in cores {
        words[core / 32] |= 1 << (core % 32);
    }
    let mut words: Vec<String> = words.iter().rev().map(|w| format!("{w:08x}")).collect();
    words[0] = format!("{:x}", u32::from_str_radix(&words[0], 16).unwrap_or(0));
    words.join(",")
}

fn words(parts: &[&str]) -> Action {
    Action::words(&parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::listing;

    fn text(config: &BedConfig) -> String {
        listing(&config.steps())
    }

    #[test]
    fn taps() {
        insta::assert_snapshot!(text(&BedConfig::default()));
    }

    #[test]
    fn cables_with_addresses_behind_the_tester_and_cores() {
        let range = |first: [u8; 4], count| AddrRange { first: first.into(), count };
        insta::assert_snapshot!(text(&BedConfig {
            back_end: BackEnd::AfPacket,
            inside: range([10, 0, 0, 2], 8),
            remote: range([198, 19, 0, 2], 3),
            dut_cores: vec![1],
            tester_cores: vec![0],
            backlog: None,
        }));
    }

    #[test]
    fn addresses_of_the_dut_are_not_the_testers() {
        BedConfig::default().check().unwrap();
        let whole = AddrRange { first: Ipv4Addr::new(198, 18, 0, 0), count: 256 };
        let error = BedConfig { inside: whole, ..BedConfig::default() }.check().unwrap_err().to_string();
        assert!(error.contains("contain 198.18.0.1, which is the DUT's"), "{error}");
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        let error = BedConfig { dut_cores: vec![100_000], ..BedConfig::default() }.check().unwrap_err().to_string();
        assert!(error.contains("no core 100000") || error.contains("takes root"), "{error}");
    }

    #[test]
    fn masks_have_groups_of_32_bits() {
        assert_eq!(cpu_mask(&[0]), "1");
        assert_eq!(cpu_mask(&[1, 3]), "a");
        assert_eq!(cpu_mask(&[32, 0]), "1,00000001");
        assert_eq!(cpu_mask(&[70]), "40,00000000,00000000");
    }

    #[test]
    fn addresses_are_where_the_methodology_puts_them() {
        assert_eq!(shown(LEFT.dut_mac()), "02:00:c6:12:00:01");
        assert_eq!(shown(RIGHT.tester_mac()), "02:00:c6:13:00:02");
        assert_ne!(RIGHT.tester_own_mac(), RIGHT.tester_mac());
    }
}
