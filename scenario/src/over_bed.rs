//! Puts a test bed in the place of a scenario's devices and link: the box between the tester's ports does what the scenario's
//! device does.

use crate::bed::Bed;
use crate::truth::KNOWN_TRUTH;
use key::{Fault, Node, Refusal, SourceSpan, Tree, TreeEntry, TreeTable, Value};
use std::net::IpAddr;

/// Keys of a kernel's NAT44 that `[technology.nat44]` replaces.
const MOVED: [&str; 3] = ["pool", "pool-ports", "udp-timeout"];

/// Devices that a box can replace. natmeter measures the first of them that the scenario has.
const KEPT: [&str; 7] = [
    "external",
    "embedded",
    "nftables",
    "iptables-legacy",
    "iptables-nft",
    "linux-forwarding",
    "linux-ipv6-forwarding",
];

/// Replaces `[link]` and `[dut]` of a scenario. Returns notes for the user, one sentence each.
pub(crate) fn replace(tree: &mut Tree, bed: &Bed, faults: &mut Vec<Fault>) -> Vec<String> {
    if let Some(link) = tree.root.table_mut("link") {
        for kind in ["in-process", "tap", "veth"] {
            link.take(kind);
        }
    }
    let Some(TreeEntry { key, node: Node { value: Value::Table(devices), .. }, .. }) = tree.root.take("dut") else {
        // A scenario without a device is about the box of the bed.
        let nowhere = SourceSpan::new(0, 0..0);
        tree.insert("dut.external", nowhere, Node { place: nowhere, value: Value::Table(TreeTable::default()) });
        use_addresses_of(bed, tree, nowhere);
        return Vec::new();
    };
    let known = [
        ("simulated", "a bed cannot replace a simulated device", "forwards no frames"),
        (KNOWN_TRUTH, "a bed cannot replace a device of known truth", "forwards frames in this process"),
    ];
    for (name, title, why) in known {
        if let Some(device) = devices.get(name) {
            let refusal = Refusal::among(faults, title).at(device.key, why);
            refusal.instead("run it without --bed, or name a scenario with another device");
            return Vec::new();
        }
    }
    let kept = KEPT.iter().find_map(|name| devices.get(name));
    let mut external = TreeTable::default();
    if let Some(TreeEntry { name, key, node }) = kept {
        match (name.as_str(), &node.value) {
            ("external" | "embedded", Value::Table(gateway)) => external = gateway.clone(),
            ("nftables" | "iptables-legacy" | "iptables-nft", _) => external = nat44(tree, *key, node),
            ("linux-ipv6-forwarding", _) => {
                let empty = Node { place: *key, value: Value::Table(TreeTable::default()) };
                tree.insert("technology.ipv6-forwarding", *key, empty);
            }
            _ => {}
        }
    }
    tree.insert("dut.external", key, Node { place: key, value: Value::Table(external) });
    use_addresses_of(bed, tree, key);
    let kept = kept.map(|entry| entry.name.as_str()).unwrap_or_default();
    let left: Vec<&str> =
        devices.entries().iter().map(|entry| entry.name.as_str()).filter(|name| *name != kept).collect();
    if left.is_empty() {
        return Vec::new();
    }
    vec![format!("the bed has one box: natmeter measures it as `{kept}`; not measured: {}", left.join(", "))]
}

/// Moves the keys of a kernel's NAT44 to the technology; those that only a kernel has stay with the device.
fn nat44(tree: &mut Tree, key: SourceSpan, nat: &Node) -> TreeTable {
    let mut own = TreeTable::default();
    tree.insert_default("technology.nat44.mapping", key, "address-and-port-dependent");
    for entry in nat.value.as_table().into_iter().flat_map(TreeTable::entries) {
        if MOVED.contains(&entry.name.as_str()) {
            tree.insert(&format!("technology.nat44.{}", entry.name), entry.key, entry.node.clone());
        } else {
            own.put(entry.clone());
        }
    }
    own
}

/// Gives test frames the addresses of the bed where the scenario names none: on the right that of
/// the port, on the left that of the next host. A NAT between 198.18.0.2 and 198.19.0.1, the usual
/// addresses of tester and box (RFC 2544, appendix C.2.2), would change no checksum. A NAT44 has
/// the address of the box.
fn use_addresses_of(bed: &Bed, tree: &mut Tree, key: SourceSpan) {
    let is_nat44 = tree.get("technology.nat44").is_some();
    let of_box = if let Some(IpAddr::V4(address)) = bed.right.gateway { Some(address) } else { None };
    let all = [
        ("traffic.inside", bed.left.next_host()),
        ("traffic.remote", bed.right.ipv4()),
        ("technology.nat44.pool", of_box.filter(|_| is_nat44)),
    ];
    for (path, address) in all {
        if let Some(address) = address {
            tree.insert_default(path, key, &address.to_string());
        }
    }
}
