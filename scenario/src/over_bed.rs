//! Puts a test bed in the place of a scenario's devices and link: the box between the tester's ports does what the scenario's
//! device does.

use crate::bed::Bed;
use crate::truth::KNOWN_TRUTH;
use key::{Entry, Fault, Node, SourceSpan, Tree, TreeTable, Value, override_value};
use std::net::{IpAddr, Ipv4Addr};

/// Keys of a kernel's NAT44 that `[technology.nat44]` replaces.
const MOVED: [&str; 3] = ["pool", "pool-ports", "udp-timeout"];

/// Replaces `[link]` and `[dut]` of a scenario. Returns notes for the user, one sentence each.
pub(crate) fn replace(tree: &mut Tree, bed: &Bed, faults: &mut Vec<Fault>) -> Vec<String> {
    if let Some(entry) = tree.root.get_mut("link")
        && let Value::Table(link) = &mut entry.node.value
    {
        for kind in ["in-process", "tap", "veth"] {
            link.take(kind);
        }
    }
    let Some(Entry { key, node: Node { value: Value::Table(devices), .. }, .. }) = tree.root.take("dut") else {
        return Vec::new();
    };
    let known = [
        ("simulated", "a bed cannot replace a simulated device", "forwards no frames"),
        (KNOWN_TRUTH, "a bed cannot replace a device of known truth", "forwards frames in this process"),
    ];
    for (name, title, why) in known {
        if let Some(device) = devices.get(name) {
            let fault = Fault::new(title).at(device.key, why);
            faults.push(fault.instead("run it without --bed, or name a scenario with another device"));
            return Vec::new();
        }
    }
    let gateway = ["external", "embedded"].into_iter().find_map(|name| devices.get(name));
    let nat = ["nftables", "iptables-legacy", "iptables-nft"].into_iter().find_map(|name| devices.get(name));
    let plain = ["linux-forwarding", "linux-ipv6-forwarding"].into_iter().find_map(|name| devices.get(name));
    let kept = gateway.or(nat).or(plain);
    let mut external = TreeTable::default();
    if let (None, Some(nat)) = (gateway, nat) {
        external = nat44(tree, nat);
    } else if let Some(Entry { node: Node { value: Value::Table(gateway), .. }, .. }) = gateway {
        external = gateway.clone();
    } else if let Some(plain) = plain.filter(|entry| entry.name == "linux-ipv6-forwarding") {
        let empty = Node { place: plain.key, value: Value::Table(TreeTable::default()) };
        tree.insert("technology.ipv6-forwarding", plain.key, empty);
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
fn nat44(tree: &mut Tree, nat: &Entry) -> TreeTable {
    let mut own = TreeTable::default();
    let mapping = Node { place: nowhere(nat.key), ..override_value("address-and-port-dependent", 0, 0, false) };
    tree.insert("technology.nat44.mapping", nat.key, mapping);
    if let Value::Table(keys) = &nat.node.value {
        for entry in keys.entries() {
            if MOVED.contains(&entry.name.as_str()) {
                tree.insert(&format!("technology.nat44.{}", entry.name), entry.key, entry.node.clone());
            } else {
                own.put(entry.clone());
            }
        }
    }
    own
}

/// Gives test frames the addresses of the bed where the scenario names none: on the right that of
/// the port, on the left that of the next host. A NAT between 198.18.0.2 and 198.19.0.1, the usual
/// addresses of tester and box (RFC 2544, appendix C.2.2), would change no checksum. A NAT44 has
/// the address of the box.
fn use_addresses_of(bed: &Bed, tree: &mut Tree, key: SourceSpan) {
    let of_box =
        |port: &crate::bed::PortKeys| if let Some(IpAddr::V4(gateway)) = port.gateway { Some(gateway) } else { None };
    let ends = [("traffic.inside", bed.left.next_host()), ("traffic.remote", bed.right.ipv4())];
    let pool = tree
        .table("technology.nat44")
        .and_then(|_| of_box(&bed.right))
        .map(|address| ("technology.nat44.pool", Some(address)));
    let given = |tree: &Tree, path: &str| {
        let (table, name) = path.rsplit_once('.').expect("a dotted path");
        tree.table(table).is_some_and(|table| table.get(name).is_some())
    };
    for (path, address) in ends.into_iter().chain(pool) {
        let Some(address): Option<Ipv4Addr> = address.filter(|_| !given(tree, path)) else { continue };
        let node = Node { place: nowhere(key), ..override_value(&format!("\"{address}\""), 0, 0, false) };
        tree.insert(path, key, node);
    }
}

/// A default stands nowhere in the file.
fn nowhere(key: SourceSpan) -> SourceSpan {
    SourceSpan::new(key.source, key.start..key.start)
}
