//! Facts about the link of an interface.

use super::Interfaces;
use super::ethtool::Ethtool;
use crate::{Netns, PortError};
use std::path::Path;

/// An interface and its link; empty or `None` if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LinkFacts {
    /// Interface name.
    pub name: String,
    /// Kind in the kernel's words ("veth", "tun", …); empty for hardware.
    pub kind: String,
    /// Driver name.
    pub driver: String,
    /// Firmware version.
    pub firmware: String,
    /// Address on the bus, such as a PCI address.
    pub bus: String,
    /// Speed in Mbit/s.
    pub speed: Option<u32>,
    /// Whether the link is full duplex.
    pub full_duplex: Option<bool>,
    /// Switched on, with a carrier.
    pub up: bool,
    /// MTU in octets, without Ethernet header.
    pub mtu: u32,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// Receive queues in use.
    pub rx_queues: u32,
    /// Transmit queues in use.
    pub tx_queues: u32,
    /// Queues 0 to n - 1 that the hash of the card selects (`ethtool -x`).
    #[serde(default)]
    pub hash_queues: Option<u32>,
    /// Entries of each receive ring.
    pub rx_ring: Option<u32>,
    /// Entries of each transmit ring.
    pub tx_ring: Option<u32>,
    /// Received pause frames stop the transmission.
    pub rx_pause: Option<bool>,
    /// The card sends pause frames when its receive buffers are full.
    pub tx_pause: Option<bool>,
    /// The kernel merges received frames.
    pub gro: Option<bool>,
    /// The card merges received frames.
    pub lro: Option<bool>,
    /// TCP segmentation offload.
    pub tso: Option<bool>,
    /// The card removes VLAN tags of received frames.
    pub rxvlan: Option<bool>,
    /// NUMA node of the card.
    pub numa_node: Option<u32>,
    /// Cores for each interrupt of the card, such as `2` or `0-3`, in order.
    pub irq_cores: Vec<String>,
}

/// Octets around each frame on the wire: preamble with start delimiter, and the shortest gap.
const AROUND: u64 = 8 + 12;

impl LinkFacts {
    /// Reads the facts about an interface of the namespace `ns`.
    ///
    /// # Errors
    /// No interface has this name, or the namespace cannot be entered.
    pub fn of(ns: &Netns, interface: &str) -> Result<LinkFacts, PortError> {
        ns.run_in(|| Interfaces::here()?.link_facts(interface))?
    }

    /// Receive queues to which the card delivers frames.
    pub fn used_queues(&self) -> u32 {
        self.hash_queues.map_or(self.rx_queues, |queues| queues.min(self.rx_queues))
    }

    /// Line rate for frames of this size (with FCS), rounded down as in RFC 2544, appendix B.
    /// `None` if the speed is unknown.
    pub fn frames_per_second(&self, frame_size_with_fcs: usize) -> Option<u64> {
        let bits = (frame_size_with_fcs as u64 + AROUND) * 8;
        Some(u64::from(self.speed?) * 1_000_000 / bits)
    }
}

impl Interfaces {
    /// Reads the facts about one interface.
    ///
    /// # Errors
    /// No interface has this name.
    pub fn link_facts(&mut self, name: &str) -> Result<LinkFacts, PortError> {
        let interface = self.get(name)?;
        let ethtool = Ethtool { socket: &self.socket, name };
        let driver = ethtool.driver().unwrap_or_default();
        let link = ethtool.link().unwrap_or_default();
        let [rx_queues, tx_queues] = self.queues(&interface);
        let pair = |answer: std::io::Result<[bool; 2]>| answer.map_or([None; 2], |pair| pair.map(Some));
        let [rx_pause, tx_pause] = pair(ethtool.pause());
        let [lro, rxvlan] = pair(ethtool.flags());
        // A driver without rings reports 0.
        let [rx_ring, tx_ring] = ethtool.rings().map_or([None; 2], |rings| rings.map(|n| Some(n).filter(|n| *n > 0)));
        Ok(LinkFacts {
            numa_node: numa_node(&driver.bus),
            irq_cores: irq_cores(Path::new("/"), &driver.bus),
            kind: interface.kind,
            name: interface.name,
            driver: driver.name,
            firmware: driver.firmware,
            bus: driver.bus,
            speed: link.speed,
            full_duplex: link.full_duplex,
            up: interface.running,
            mtu: interface.mtu,
            mac: interface.mac,
            rx_queues,
            tx_queues,
            hash_queues: ethtool.hash_queues().ok().filter(|queues| *queues > 0),
            rx_ring,
            tx_ring,
            rx_pause,
            tx_pause,
            gro: ethtool.gro().ok(),
            lro,
            tso: ethtool.tso().ok(),
            rxvlan,
        })
    }

    /// Receive and transmit; the kernel reports the maximum.
    pub(crate) fn queues(&self, interface: &super::Interface) -> [u32; 2] {
        let ethtool = Ethtool { socket: &self.socket, name: &interface.name };
        let queues = ethtool.channels().ok().filter(|queues| queues.iter().all(|n| *n > 0));
        queues.unwrap_or([interface.rx_queues, interface.tx_queues])
    }
}

fn numa_node(bus: &str) -> Option<u32> {
    if bus.is_empty() || bus.contains('/') {
        return None;
    }
    let text = std::fs::read_to_string(format!("/sys/bus/pci/devices/{bus}/numa_node")).ok()?;
    // -1 without NUMA nodes.
    text.trim().parse().ok()
}

/// Cores of each message-signalled interrupt of a PCI device, read below `root`.
fn irq_cores(root: &Path, bus: &str) -> Vec<String> {
    if bus.is_empty() || bus.contains('/') {
        return Vec::new();
    }
    let entries = std::fs::read_dir(root.join("sys/bus/pci/devices").join(bus).join("msi_irqs"));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut irqs: Vec<u32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    irqs.sort_unstable();
    let cores = |irq| std::fs::read_to_string(root.join(format!("proc/irq/{irq}/smp_affinity_list")));
    irqs.into_iter().filter_map(|irq| Some(cores(irq).ok()?.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "makes folders")]
    fn the_cores_of_interrupts_are_in_the_order_of_their_numbers() {
        let root = tempfile::tempdir().unwrap();
        for (irq, cores) in [(9, "0-3"), (124, "2"), (125, "3")] {
            let irqs = root.path().join("sys/bus/pci/devices/0000:05:00.0/msi_irqs");
            std::fs::create_dir_all(&irqs).unwrap();
            std::fs::write(irqs.join(irq.to_string()), "msix\n").unwrap();
            let folder = root.path().join(format!("proc/irq/{irq}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("smp_affinity_list"), format!("{cores}\n")).unwrap();
        }
        assert_eq!(irq_cores(root.path(), "0000:05:00.0"), ["0-3", "2", "3"]);
        assert!(irq_cores(root.path(), "0000:05:00.1").is_empty() && irq_cores(root.path(), "").is_empty());
    }

    /// The tables of RFC 2544 (section 9.1 has the frame sizes, appendix B the rates at 10 Mbit/s), and the usual rates
    /// of faster links.
    #[test]
    fn line_rates_are_those_of_rfc_2544() {
        let at = |speed| LinkFacts { speed: Some(speed), ..LinkFacts::default() };
        let sizes = [64, 128, 256, 512, 768, 1024, 1280, 1518];
        let rates = [14_880, 8_445, 4_528, 2_349, 1_586, 1_197, 961, 812];
        assert_eq!(sizes.map(|size| at(10).frames_per_second(size).unwrap()), rates);
        assert_eq!(at(1_000).frames_per_second(64), Some(1_488_095));
        assert_eq!(at(10_000).frames_per_second(64), Some(14_880_952));
        assert_eq!(at(400_000).frames_per_second(1518), Some(32_509_752));
        assert_eq!(LinkFacts::default().frames_per_second(64), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel")]
    fn what_a_driver_does_not_know_is_unknown() {
        let facts = Interfaces::here().unwrap().link_facts("lo").unwrap();
        assert_eq!((facts.name.as_str(), facts.kind.as_str(), facts.speed, facts.numa_node), ("lo", "", None, None));
        assert_eq!((facts.rx_ring, facts.tx_pause, facts.frames_per_second(64)), (None, None, None));
        assert!(Interfaces::here().unwrap().link_facts("no-such-port").is_err());
    }
}
