//! Settings of namespaces and of the interfaces in them: no unsolicited frames, no offloads, and the cores that forward
//! packets.

use crate::step::{Action, Step, Target, words};
use wire::Mac;

/// Whether the kernel can steer frames to this core, which this process may be unable to use.
pub(crate) fn is_online(core: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{core}");
    let switched_off = std::fs::read_to_string(format!("{path}/online")).is_ok_and(|s| s.trim() == "0");
    std::path::Path::new(&path).is_dir() && !switched_off
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

/// Steps for a namespace with IPv6 that sends no unsolicited frames.
pub(crate) fn quiet6(target: Target) -> Vec<Step> {
    let mut steps = Vec::new();
    for which in ["all", "default"] {
        let mut set = |why: &str, leaf: &str, value| {
            steps.push(setting(target, why, &format!("net/ipv6/conf/{which}/{leaf}"), value));
        };
        set("no duplicate address detection", "accept_dad", 0);
        set("no router solicitation", "accept_ra", 0);
        set("no link-local address, whose groups would be reported", "addr_gen_mode", 1);
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

/// Receive packet steering (RPS): sets the cores that process frames arriving on a queue of an interface.
pub(crate) fn steer(interface: &str, queue: u32, cores: &[usize]) -> Action {
    Action::Write { path: format!("/sys/class/net/{interface}/queues/rx-{queue}/rps_cpus"), value: cpu_mask(cores) }
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

    #[test]
    fn masks_have_groups_of_32_bits() {
        assert_eq!(cpu_mask(&[0]), "1");
        assert_eq!(cpu_mask(&[1, 3]), "a");
        assert_eq!(cpu_mask(&[32, 0]), "1,00000001");
        assert_eq!(cpu_mask(&[70]), "40,00000000,00000000");
    }
}
