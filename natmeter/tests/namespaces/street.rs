//! A customer's host, a gateway's machine and a server, each in a namespace, with cables between them.

use super::{Running, address, bare, config, plug, run};
use port::Netns;

/// An interface of a gateway, the interface's address, and the address of its next hop.
pub(super) type End = (&'static str, &'static str, &'static str);

pub(super) const LAN: End = ("g-lan", "192.168.1.1", "192.168.1.2");
pub(super) const WAN: End = ("g-wan", "198.19.0.1", "198.19.0.2");
pub(super) const LAN6: End = ("g-lan", "2001:2::1", "2001:2::2");
pub(super) const WAN6: End = ("g-wan", "2001:2:0:3000::1:1", "2001:2:0:3000::2");

pub(super) struct Street {
    pub(super) host: Netns,
    pub(super) middle: Netns,
    pub(super) server: Netns,
    pub(super) folder: tempfile::TempDir,
    ends: [End; 2],
}

impl Street {
    pub(super) fn new(queues: u32, left: End, right: End) -> Street {
        let [host, middle, server] = std::array::from_fn(|_| Netns::new().unwrap());
        let queues = format!("numtxqueues {queues} numrxqueues {queues}");
        for (ns, name, end) in [(&host, "lan", left), (&server, "wan", right)] {
            let peer = format!("peer name {} {queues} netns {}", end.0, middle.path().display());
            run(ns, &format!("ip link add {name} {queues} type veth {peer}"));
            plug(ns, name);
            plug(&middle, end.0);
            bare(&middle, end.0);
            address_of_next_hop(ns, name, end);
        }
        Street { host, middle, server, folder: tempfile::tempdir().unwrap(), ends: [left, right] }
    }

    /// Starts a gateway with these further keys, and waits until it answers.
    pub(super) fn gateway(&self, plays: &str, keys: &str, technology: &str) -> Running {
        let file = config(plays, self.ends[0], self.ends[1], technology);
        let file = file.replace("[gateway]", &format!("[gateway]\n{keys}"));
        let mut gateway = Running::start(&self.middle, self.folder.path(), "gateway", &file);
        gateway.wait();
        gateway
    }
}

/// Sets the address of a gateway's next hop on a machine, and its route through the gateway.
pub(super) fn address_of_next_hop(ns: &Netns, name: &str, (_, gateway, own): End) {
    let length = if own.contains(':') {
        64
    } else {
        bare(ns, name);
        24
    };
    address(ns, name, &format!("{own}/{length}"));
    run(ns, &format!("ip route add default via {gateway}"));
}
