//! Shared parts of the tests and examples that use the kernel: namespaces with cables or a forwarding DUT, and frames
//! that such a DUT forwards. The namespaces are unnamed and vanish with the process.
#![allow(dead_code, reason = "each test binary uses its part")]

use port::netns::{Netns, Sight};

/// Ethernet addresses of the interfaces of the DUT: left and right.
pub(crate) const DUT_MAC: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x10], [2, 0, 0, 0, 0, 0x20]];
/// Ethernet addresses of the tester: left and right.
pub(crate) const OWN_MAC: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x11], [2, 0, 0, 0, 0, 0x21]];

pub(crate) fn sh(ns: &Netns, line: &str) {
    let output = ns.command("sh", Sight::NetworkAndSysfs).args(["-ec", line]).output().expect("sh runs");
    assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a namespace whose kernel sends no unsolicited frames: new interfaces have no IPv6.
pub(crate) fn quiet_namespace() -> Netns {
    let ns = Netns::new().expect("a network namespace");
    sh(&ns, "sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1");
    ns
}

/// Makes a namespace with a cable `xa`-`xb` of `queues` queues.
pub(crate) fn cable(queues: usize) -> Netns {
    let ns = quiet_namespace();
    let q = format!("numtxqueues {queues} numrxqueues {queues}");
    sh(&ns, &format!("ip link add xa {q} type veth peer name xb {q}; ip link set xa up; ip link set xb up"));
    ns
}

/// Makes the namespace forward between the existing interfaces `left` and `right`: 198.18.0.0/24 and 198.19.0.0/24. The
/// tester is .2 on both.
pub(crate) fn forward(ns: &Netns, left: &str, right: &str) {
    sh(ns, "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0");
    for (side, name) in [left, right].into_iter().enumerate() {
        let mac = OWN_MAC[side].map(|b| format!("{b:02x}")).join(":");
        sh(ns, &format!("ip addr add 198.{}.0.1/24 dev {name}; ip link set {name} up", 18 + side));
        sh(ns, &format!("ip neigh replace 198.{}.0.2 lladdr {mac} nud permanent dev {name}", 18 + side));
    }
}

/// Returns a UDP frame of `len` bytes from the left side of the tester to the right, with `sequence` and a pattern.
pub(crate) fn udp_frame(sequence: u32, len: usize) -> Vec<u8> {
    let mut f = Vec::with_capacity(len);
    f.extend(DUT_MAC[0]);
    f.extend(OWN_MAC[0]);
    f.extend([8, 0, 0x45, 0]);
    f.extend((len as u16 - 14).to_be_bytes());
    f.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 19, 0, 2]);
    let sum = f[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    f[24..26].copy_from_slice(&sum.to_be_bytes());
    f.extend([0x40, 0, 0, 9]);
    f.extend((len as u16 - 34).to_be_bytes());
    // No UDP checksum: RFC 768 allows it over IPv4, and no translator looks at these frames.
    f.extend([0, 0]);
    f.extend(sequence.to_be_bytes());
    f.extend((f.len()..len).map(|i| (i as u32 ^ sequence) as u8));
    f
}
