//! The test bed around a device on this machine: interfaces, addresses, neighbours and routes, without the kernel
//! features that disturb measurements.

use crate::DutError;
use crate::bed6;
use crate::host::Namespace;
use crate::setting::Setting;
use crate::side::{LEFT, RIGHT, Side};
use crate::software::linux_ipv6_forwarding;
use crate::step::{Action, NETNS_OF_DUT, Step, Target, words};
use crate::tool::{ETHTOOL, IP, Tool};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Condition, Select, Width, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::{Clock, Pool, PoolConfig, Port};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use wire::{AddrRange, Mac};

/// The back-end: how packets reach the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackEnd {
    /// TAPs, whose file descriptors the tester reads and writes.
    #[default]
    Tap,
    /// veth pairs to the tester's namespace, and packet sockets.
    AfPacket,
    /// veth pairs, and XDP sockets in the kernel's generic receive path.
    AfXdpGeneric,
    /// veth pairs, and XDP sockets in the veth driver.
    AfXdpNative,
}

impl BackEnd {
    /// Whether the tester's ends are network interfaces, too.
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BedConfig {
    pub back_end: BackEnd,
    /// Source addresses of the left tester port, all behind one next hop.
    pub inside: AddrRange,
    /// Addresses of the right tester port.
    pub remote: AddrRange,
    /// Networks on each side, 256 addresses apart, of which each has a route of its own.
    pub networks: u32,
    /// Whether the DUT's links have IPv6 addresses in place of IPv4 addresses.
    pub ipv6: bool,
    /// Whether the links have IPv6 addresses besides, and the DUT forwards native IPv6 (RFC 8219, section 5.3).
    pub native: bool,
    /// Cores that forward the DUT's packets; if empty, the sender's.
    pub dut_cores: Vec<usize>,
    /// Cores that deliver forwarded frames to the tester's interfaces. They must differ from the DUT's cores, whose
    /// backlog would drop frames that the DUT has forwarded.
    pub tester_cores: Vec<usize>,
    /// Queue depth in front of each core of the DUT, in frames; a machine-wide setting. Default: 16,384 with DUT cores,
    /// because the kernel's 1,000 do not absorb one preemption; else unchanged.
    pub backlog: Option<u64>,
}

impl Default for BedConfig {
    fn default() -> BedConfig {
        BedConfig {
            back_end: BackEnd::default(),
            inside: AddrRange::one(LEFT.tester.into()),
            remote: AddrRange::one(RIGHT.tester.into()),
            networks: 1,
            ipv6: false,
            native: false,
            dut_cores: Vec::new(),
            tester_cores: Vec::new(),
            backlog: None,
        }
    }
}

impl BedConfig {
    pub fn tools(&self) -> &'static [Tool] {
        &[IP, ETHTOOL]
    }

    /// New queue depth in front of each core of the DUT, if any.
    pub fn backlog(&self) -> Option<u64> {
        self.backlog.or((!self.dut_cores.is_empty()).then_some(BACKLOG_DEPTH))
    }

    pub fn is_machine_wide(&self) -> bool {
        self.backlog().is_some()
    }

    /// Checks the configuration.
    pub fn check(&self) -> Result<(), DutError> {
        for (range, word) in [(&self.inside, "inside"), (&self.remote, "remote")] {
            if range.count == 0 {
                return refuse(format!("there are no {word} addresses"), "give at least one");
            }
            for own in [LEFT.dut, RIGHT.dut].map(Ipv4Addr::from) {
                if range.contains(own) {
                    return refuse(
                        format!("the {word} addresses {range} contain {own}, the address of the DUT"),
                        "choose a range without it",
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

    /// Checks that this machine has the kernel interfaces that the ports need.
    pub fn see_that_ports_can_be_made(&self) -> Result<(), DutError> {
        if self.back_end == BackEnd::Tap {
            port::backend::tap::see_that_tun_is_there()?;
        }
        Ok(())
    }

    /// The error for the first part that needs root; none if a user namespace is enough.
    pub fn what_takes_root(&self) -> Option<DutError> {
        let takes = [
            (
                !self.dut_cores.is_empty() || !self.tester_cores.is_empty(),
                "pinning the DUT to cores",
                "run as root, or remove the cores",
            ),
            (self.backlog.is_some(), "changing the backlog of this machine", "run as root, or remove the backlog"),
            (self.back_end.xdp_mode().is_some(), "AF_XDP", "run as root, or use tap or af-packet"),
        ];
        let (_, what, way_out) = takes.into_iter().find(|(asked, ..)| *asked)?;
        let what = format!("{what} needs root; a user namespace is not enough");
        Some(DutError::Refused { what, way_out: way_out.to_owned() })
    }

    /// Size of the frame pools for ports of this test bed: `frames` in flight per worker, of at most `frame` bytes
    /// without FCS.
    pub fn pools(&self, workers: usize, frames: usize, frame: usize) -> PoolConfig {
        match self.back_end {
            BackEnd::Tap | BackEnd::AfPacket => PoolConfig::compact(workers, frames, frame + 1),
            // Frames in the rings of both ports cannot be sent, so the pool needs as many more.
            BackEnd::AfXdpGeneric | BackEnd::AfXdpNative => PoolConfig::umem(workers, frames + 4 * XDP_RING as usize),
        }
    }

    /// All steps that build the test bed, in order.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = match (self.ipv6, self.native) {
            (false, false) => quiet(Target::Dut),
            (false, true) => [bed6::quiet(), quiet4(Target::Dut)].concat(),
            (true, _) => bed6::quiet(),
        };
        steps.push(Step::dut(
            "switch the loopback interface on; the kernel sends its own packets over it",
            Action::words("ip link set lo up"),
        ));
        if self.back_end.has_cables() {
            steps.extend(quiet(Target::Tester));
        }
        steps.extend(self.interfaces(&LEFT));
        steps.extend(self.interfaces(&RIGHT));
        for (side, range) in [(&LEFT, self.inside), (&RIGHT, self.remote)] {
            if !self.ipv6 {
                steps.extend(addresses(side, range));
            }
            if self.ipv6 || self.native {
                steps.extend(bed6::addresses(side));
            }
            steps.extend(self.routes(side));
        }
        if self.native && !self.ipv6 {
            steps.push(linux_ipv6_forwarding::forward());
        }
        steps.extend(self.placement());
        steps
    }

    /// Steps of a cable between both ports of the tester, with the settings of this test bed.
    pub(crate) fn cable_steps(&self) -> Vec<Step> {
        let mut steps = quiet(Target::Tester);
        let [left, right] = [LEFT, RIGHT].map(|side| side.tester_name);
        let queues = "numtxqueues 1 numrxqueues 1";
        let line = format!("ip link add {left} {queues} type veth peer name {right} {queues}");
        steps.push(Step::tester("a cable from one port of the tester to the other", Action::words(&line)));
        for side in [LEFT, RIGHT] {
            steps.extend(prepared(Target::Tester, side.tester_name, side.tester_own_mac()));
        }
        steps.extend(self.placement().into_iter().filter(|step| step.target != Target::Dut));
        steps
    }

    /// Routes the further networks of a side through the next hop of the first one (RFC 2544, section 12).
    fn routes(&self, side: &Side) -> Option<Step> {
        let network = |i: u32| {
            if self.ipv6 {
                return bed6::network(side, i);
            }
            let [a, b, c, _] = (u32::from_be_bytes(side.tester) + (i << 8)).to_be_bytes();
            format!("{}/24 via {}", Ipv4Addr::new(a, b, c, 0), Ipv4Addr::from(side.tester))
        };
        let lines: Vec<String> =
            (1..self.networks).map(|i| format!("route replace {} dev {}", network(i), side.name)).collect();
        let why = format!("a route to each of {} further networks on the {}", lines.len(), side.name);
        (!lines.is_empty()).then(|| Step::dut(why, Action::reading("ip -batch -", lines.join("\n") + "\n")))
    }

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
        steps.extend(prepared(Target::Dut, name, side.dut_mac()));
        if self.back_end.has_cables() {
            steps.extend(prepared(Target::Tester, tester_name, side.tester_own_mac()));
        }
        steps
    }

    pub(crate) fn placement(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        steps.extend(self.backlog().map(backlog));
        for side in [LEFT, RIGHT] {
            if !self.dut_cores.is_empty() {
                let why = format!("cores that forward frames from the {}", side.name);
                steps.push(Step::dut(why, steer(side.name, &self.dut_cores)));
            }
            if self.back_end.has_cables() && !self.tester_cores.is_empty() {
                let why = format!("cores that deliver frames to the tester on the {}", side.name);
                steps.push(Step::tester(why, steer(side.tester_name, &self.tester_cores)));
            }
        }
        steps
    }

    /// Opens the tester's end of one side, again if the port has been dropped. XDP sockets take their free frames from
    /// `pool`, and work with any pool of the same mapping.
    ///
    /// # Errors
    /// When the end is open already, or the kernel refuses.
    pub fn open(
        &self,
        host: &Namespace,
        side: &Side,
        clock: Clock,
        pool: &mut Pool,
    ) -> Result<Box<dyn Port>, DutError> {
        let steered = !self.dut_cores.is_empty();
        let [dut, tester] = [Target::Dut, Target::Tester].map(|target| host.at(target).expect("both are namespaces"));
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

const XDP_RING: u32 = 2048;

/// Frames that the XDP program redirects to the tester's socket: ARP, IPv4 and IPv6.
fn everything_of_ours() -> Select {
    let ether_type = |value| vec![Condition { offset: 12, width: Width::Two, mask: 0xffff, value }];
    Select { any_of: vec![ether_type(0x0800), ether_type(0x0806), ether_type(0x86dd)] }
}

/// Whether the kernel can steer frames to this core, which this process may be unable to use.
fn is_online(core: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{core}");
    let switched_off = std::fs::read_to_string(format!("{path}/online")).is_ok_and(|s| s.trim() == "0");
    std::path::Path::new(&path).is_dir() && !switched_off
}

fn refuse<T>(what: String, way_out: &str) -> Result<T, DutError> {
    Err(DutError::Refused { what, way_out: way_out.to_owned() })
}

/// Steps for a namespace without IPv6 or unsolicited frames that accepts any source address.
pub(crate) fn quiet(target: Target) -> Vec<Step> {
    let why = "no IPv6: no router solicitation, duplicate address detection or multicast report";
    let off = |which| setting(target, why, &format!("net/ipv6/conf/{which}/disable_ipv6"), 1);
    ["all", "default"].map(off).into_iter().chain(quiet4(target)).collect()
}

fn setting(target: Target, why: &str, name: &str, value: u64) -> Step {
    Step { target, ..Step::dut(why, Action::sysctl(name, value)) }.where_present()
}

fn quiet4(target: Target) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut set = |why: &str, name: &str, value| steps.push(setting(target, why, name, value));
    for which in ["all", "default"] {
        let name = |leaf: &str| format!("net/ipv4/conf/{which}/{leaf}");
        set("no reverse path filter", &name("rp_filter"), 0);
        set("no ICMP redirects", &name("send_redirects"), 0);
        set("answer ARP for local addresses only, as a router does by default", &name("arp_ignore"), 0);
        set("no address filter for ARP", &name("arp_filter"), 0);
    }
    steps
}

/// Gives an interface its Ethernet address, switches offloads off and the interface on.
pub(crate) fn prepared(target: Target, name: &str, mac: [u8; 6]) -> Vec<Step> {
    let step = |why: &str, action| Step { target, ..Step::dut(why, action) };
    vec![
        step("a known Ethernet address", words(&["ip link set dev", name, "address", &Mac(mac).to_string()])),
        step(
            "no offloads: every frame is sent alone and with its checksum",
            words(&["ethtool -K", name, "rx off tx off sg off tso off gso off gro off"]),
        ),
        step(
            "no multicast, a transmit queue that absorbs a burst, and the interface on",
            words(&["ip link set dev", name, "multicast off txqueuelen 20000 up"]),
        ),
    ]
}

/// The depth of the queue in front of each core, in frames.
pub const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
/// The depth if packets are steered to cores.
pub const BACKLOG_DEPTH: u64 = 16_384;

pub fn backlog(depth: u64) -> Step {
    let setting = Setting::at(BACKLOG).expect("a sysctl of the network");
    Step::machine("queue depth in front of each core of the DUT, in frames", &setting, depth)
}

fn addresses(side: &Side, range: AddrRange) -> Vec<Step> {
    let name = side.name;
    let [dut, tester] = [side.dut, side.tester].map(|a| Ipv4Addr::from(a).to_string());
    let mac = Mac(side.tester_mac()).to_string();
    let neighbour = ["ip neigh replace", &tester, "lladdr", &mac, "nud permanent dev", name];
    let mut steps = vec![
        Step::dut(
            format!("the {name} address of the DUT"),
            words(&["ip addr add", &format!("{dut}/24"), "brd + dev", name]),
        ),
        Step::dut(
            format!("a permanent neighbour entry for the tester on the {name}, so that the DUT sends no ARP request"),
            words(&neighbour),
        ),
    ];
    // One neighbour per address could overflow the neighbour table, so one next hop serves all addresses.
    for prefix in range.prefixes_without(side.tester.into()) {
        let route = words(&["ip route replace", &prefix.to_string(), "via", &tester, "dev", name]);
        steps.push(Step::dut(
            format!("routes to the addresses of the tester on the {name}, through one next hop"),
            route,
        ));
    }
    steps
}

/// Receive packet steering (RPS): sets the cores that process frames arriving on an interface.
fn steer(interface: &str, cores: &[usize]) -> Action {
    Action::Write { path: format!("/sys/class/net/{interface}/queues/rx-0/rps_cpus"), value: cpu_mask(cores) }
}

/// Formats cores as a kernel CPU mask: groups of 32 bits in hexadecimal, the highest first.
pub fn cpu_mask(cores: &[usize]) -> String {
    let groups = cores.iter().max().map_or(0, |c| c / 32) + 1;
    let mut words = vec![0u32; groups];
    for core in cores {
        words[core / 32] |= 1 << (core % 32);
    }
    let mut words: Vec<String> = words.iter().rev().map(|w| format!("{w:08x}")).collect();
    words[0] = format!("{:x}", u32::from_str_radix(&words[0], 16).unwrap_or(0));
    words.join(",")
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
            networks: 1,
            ipv6: false,
            native: false,
            dut_cores: vec![1],
            tester_cores: vec![0],
            backlog: None,
        }));
    }

    #[test]
    fn three_networks() {
        for ipv6 in [false, true] {
            let bed = BedConfig { networks: 3, ipv6, ..BedConfig::default() };
            insta::assert_snapshot!(format!("three_networks_{ipv6}"), text(&bed));
        }
    }

    #[test]
    fn taps_with_native_frames() {
        insta::assert_snapshot!(text(&BedConfig { native: true, ..BedConfig::default() }));
    }

    #[test]
    fn ipv6_taps() {
        insta::assert_snapshot!(text(&BedConfig { ipv6: true, ..BedConfig::default() }));
    }

    #[test]
    fn tester_addresses_must_not_contain_the_duts() {
        BedConfig::default().check().unwrap();
        let whole = AddrRange { first: Ipv4Addr::new(198, 18, 0, 0), count: 256 };
        let error = BedConfig { inside: whole, ..BedConfig::default() }.check().unwrap_err().to_string();
        assert!(error.contains("contain 198.18.0.1, the address of the DUT"), "{error}");
    }

    #[test]
    fn an_unknown_core_is_named() {
        let error = BedConfig { dut_cores: vec![100_000], ..BedConfig::default() }.check().unwrap_err().to_string();
        assert!(error.contains("no core 100000") || error.contains("needs root"), "{error}");
    }

    #[test]
    fn masks_have_groups_of_32_bits() {
        assert_eq!(cpu_mask(&[0]), "1");
        assert_eq!(cpu_mask(&[1, 3]), "a");
        assert_eq!(cpu_mask(&[32, 0]), "1,00000001");
        assert_eq!(cpu_mask(&[70]), "40,00000000,00000000");
    }
}
