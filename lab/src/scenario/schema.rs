//! Which tables and keys a scenario has: one list, from which unknown keys are refused, short names of
//! `--set` are resolved and suggestions are made. What the keys mean stands in `read.rs`.

/// Keys of a technology, and those of its NAT.
macro_rules! keeps_state {
    [$($own:expr),*] => {
        &[
            $($own,)*
            "mapping",
            "filtering",
            "table",
            "udp-timeout",
            "hairpinning",
            "tcp-timeout",
            "tcp-transitory-timeout",
            "icmp-timeout",
            "session-quota",
            "port-quota",
            "port-block",
            "port-blocks",
            "pooling",
            // Limits that every NAT has.
            "fragment-datagrams",
            "fragments-held",
            "fragment-timeout",
            "icmp-errors-per-second",
        ]
    };
}

/// The same of a technology with tunnels.
macro_rules! tunnels {
    [$($own:expr),*] => {
        keeps_state![
            $($own,)*
            "tunnel-hop-limit",
            "tunnel-dscp",
            "tunnel-ecn",
            "tunnel-flow-label",
            "tunnel-oversize",
            "reassembly-datagrams",
            "reassembly-octets",
            "reassembly-timeout"
        ]
    };
}

/// The tables, by their dotted path, and the keys of each. The first is the top level.
pub const TABLES: &[(&str, &[&str])] = &[
    ("", &["name", "about", "allow-addresses"]),
    ("dut.embedded", &["plays", "mapping", "pool", "pool-ports", "table", "udp-timeout"]),
    ("dut.linux-forwarding", &[]),
    ("dut.nftables", KERNEL_NAT44),
    ("dut.iptables-legacy", KERNEL_NAT44),
    ("dut.iptables-nft", KERNEL_NAT44),
    ("dut.simulated", &["capacity", "set-up-rate", "seed"]),
    ("link.in-process", &["depth"]),
    ("link.tap", &[]),
    ("link.veth", &["io"]),
    ("link.impair", &["loss", "duplicate", "reorder", "corrupt", "delay", "seed"]),
    ("link.capture", &["frames"]),
    (
        "traffic",
        &[
            "frame-size",
            "ttl",
            "inside",
            "subscribers",
            "source-ports",
            "remote",
            "destination-ports",
            "direction",
            "responder-order",
            "seed",
        ],
    ),
    ("gateway", &["plays", "workers", "io", "busy", "answer", "socket"]),
    ("gateway.left", GATEWAY_SIDE),
    ("gateway.right", GATEWAY_SIDE),
    ("technology.nat44", keeps_state!["inside", POOL, PORTS]),
    (
        "technology.siit",
        &["eam", "eam-file", "pref64", PRIVATE, "ipv6", "icmp-sources", "hairpinning", ICMP, ZERO, TOS, CLASS, LOWEST],
    ),
    (
        "technology.nat64",
        keeps_state!["pref64", PRIVATE, ZERO, TOS, CLASS, LOWEST, WHOLE[0], WHOLE[1], WHOLE[2], POOL, PORTS],
    ),
    ("technology.nat46", keeps_state!["inside", "eam", "pref64", POOL, PORTS]),
    ("technology.nat66", keeps_state!["inside", OCTETS, POOL, PORTS]),
    (
        "technology.464xlat",
        keeps_state![
            "pref64", PRIVATE, "clat", "inside", ZERO, TOS, CLASS, LOWEST, WHOLE[0], WHOLE[1], WHOLE[2], POOL, PORTS
        ],
    ),
    ("technology.ds-lite", tunnels!["b4", "b4s", "aftr", "inside", POOL, PORTS]),
    (
        "technology.lw4o6",
        tunnels![
            "lwaftr",
            "softwires",
            "ipv4",
            "b4",
            "psid-length",
            "psid-offset",
            "ce",
            "inside",
            SPOOFED,
            UNKNOWN,
            INBOUND,
            OCTETS
        ],
    ),
    (
        "technology.map-e",
        tunnels![
            "br",
            RULE6,
            RULE4,
            EA,
            OFFSET,
            PSID,
            PSID_LENGTH,
            FORWARDING,
            "rule",
            "ce",
            "inside",
            SPOOFED,
            UNKNOWN,
            INBOUND,
            OCTETS
        ],
    ),
    ("technology.map-e.rule", RULE),
    (
        "technology.map-t",
        keeps_state![
            "dmr",
            PRIVATE,
            RULE6,
            RULE4,
            EA,
            OFFSET,
            PSID,
            PSID_LENGTH,
            FORWARDING,
            "rule",
            "ce",
            "inside",
            ZERO,
            TOS,
            CLASS,
            LOWEST,
            OCTETS
        ],
    ),
    ("technology.map-t.rule", RULE),
    ("sweep", &["connections", "cores", "softwires", "rules", "subscribers", "inside-addresses", "outside-addresses"]),
    ("measure", MEASURE),
    ("full", FULL),
];

/// Keys whose value is a list; in an override a comma separates its items.
pub const LISTS: &[&str] = &[
    "connections",
    "cores",
    "softwires",
    "rules",
    "subscribers",
    "inside-addresses",
    "outside-addresses",
    "metrics",
    "allow-addresses",
    "inside",
    "pool",
    "eam",
    "icmp-sources",
];

/// Of the keys of `[measure]`: those that make a run conform, or not. `--full` takes them from `[full]`, or
/// the conforming defaults, and never from `[measure]`.
pub const CONFORMITY: &[&str] = &[
    "repetitions",
    "duration",
    "start-delay",
    "drain",
    "settle",
    "phase1-drain",
    "error",
    "acceptance",
    "phase1-acceptance",
];

// Keys that many technologies share.
const POOL: &str = "pool";
const PRIVATE: &str = "private-behind-well-known";
const PORTS: &str = "pool-ports";
const ZERO: &str = "zero-udp-checksum";
const TOS: &str = "tos";
const CLASS: &str = "traffic-class";
const LOWEST: &str = "lowest-ipv6-mtu";
const RULE6: &str = "ipv6-prefix";
const RULE4: &str = "ipv4-prefix";
const EA: &str = "ea-bits";
const OFFSET: &str = "psid-offset";
const PSID: &str = "psid";
const PSID_LENGTH: &str = "psid-length";
const FORWARDING: &str = "forwarding";
const ICMP: &str = "icmp-errors-per-second";
const OCTETS: &str = "fragment-octets";
const WHOLE: [&str; 3] = ["reassembly-datagrams", "reassembly-octets", "reassembly-timeout"];
const SPOOFED: &str = "answer-spoofed";
const UNKNOWN: &str = "answer-unknown";
const INBOUND: &str = "inbound-icmp";

/// Keys of a mapping rule.
const RULE: &[&str] = &[RULE6, RULE4, EA, OFFSET, PSID, PSID_LENGTH, FORWARDING];

const GATEWAY_SIDE: &[&str] = &["interface", "mac", "address", "next-hop", "mtu"];

// Linux always maps by four-tuple: there is no `mapping` to choose.
const KERNEL_NAT44: &[&str] = &["pool", "pool-ports", "table", "udp-timeout"];

const MEASURE: &[&str] = &[
    "metrics",
    "repetitions",
    "duration",
    "start-delay",
    "drain",
    "settle",
    "phase1-drain",
    "error",
    "acceptance",
    "phase1-acceptance",
    "alpha",
    "validate-at-most",
    "min-rate",
    "max-rate",
    "verify",
    "phase1-share",
    "time-limit",
];

const FULL: &[&str] = &[
    "connections",
    "metrics",
    "repetitions",
    "duration",
    "start-delay",
    "drain",
    "settle",
    "phase1-drain",
    "error",
    "acceptance",
    "phase1-acceptance",
    "alpha",
    "validate-at-most",
    "min-rate",
    "max-rate",
    "verify",
    "phase1-share",
];

/// Keys of a table; none for an unknown one.
pub fn keys(table: &str) -> &'static [&'static str] {
    TABLES.iter().find(|(name, _)| *name == table).map_or(&[], |(_, keys)| keys)
}

/// The tables that have a key, in the order of [`TABLES`].
pub fn tables_with(key: &str) -> impl Iterator<Item = &'static str> {
    TABLES.iter().filter(move |(_, keys)| keys.contains(&key)).map(|&(table, _)| table)
}

/// Tables below `link` that are no kind of link: they stand beside one.
pub const BESIDE_A_LINK: &[&str] = &["impair", "capture"];

/// Kinds that stand as tables below `dut` or `link`.
pub fn kinds(of: &str) -> impl Iterator<Item = &'static str> {
    let below = TABLES.iter().filter_map(move |(table, _)| table.strip_prefix(of)?.strip_prefix('.'));
    let below = below.filter(|kind| !kind.contains('.'));
    below.filter(move |kind| of != "link" || !BESIDE_A_LINK.contains(kind))
}

/// Dotted path of a key.
pub fn path(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_has_the_keys_of_measure_and_connections_and_no_time_limit() {
        let mut measure: Vec<_> = MEASURE.iter().copied().filter(|key| *key != "time-limit").collect();
        measure.insert(0, "connections");
        assert_eq!(measure, FULL);
        assert!(CONFORMITY.iter().all(|key| MEASURE.contains(key)));
    }

    #[test]
    fn kinds_are_the_tables_below() {
        assert_eq!(kinds("link").collect::<Vec<_>>(), ["in-process", "tap", "veth"]);
    }
}
