//! Which tables and keys a scenario has: one list, from which unknown keys are refused, short names of
//! `--set` are resolved and suggestions are made. What the keys mean stands in `read.rs`.

/// The tables, by their dotted path, and the keys of each, in groups that several tables share. The first is the top level.
pub const TABLES: &[(&str, &[&[&str]])] = &[
    ("", &[&["name", "about", "allow-addresses"]]),
    ("dut.embedded", &[&["plays", "mapping", "pool", "pool-ports", "table", "udp-timeout"]]),
    ("dut.linux-forwarding", &[]),
    ("dut.nftables", &[KERNEL_NAT44]),
    ("dut.iptables-legacy", &[KERNEL_NAT44]),
    ("dut.iptables-nft", &[KERNEL_NAT44]),
    ("dut.simulated", &[&["capacity", "set-up-rate", "seed"]]),
    ("link.in-process", &[&["depth"]]),
    ("link.tap", &[]),
    ("link.veth", &[&["io"]]),
    ("link.impair", &[&["loss", "duplicate", "reorder", "corrupt", "delay", "seed"]]),
    ("link.capture", &[&["frames"]]),
    (
        "traffic",
        &[&[
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
        ]],
    ),
    ("gateway", &[&["plays", "workers", "io", "busy", "answer", "socket"]]),
    ("gateway.left", &[GATEWAY_SIDE]),
    ("gateway.right", &[GATEWAY_SIDE]),
    ("technology.nat44", &[&["inside"], POOL, STATE, HELD]),
    (
        "technology.siit",
        &[
            &["eam", "eam-file", "pref64", PRIVATE, "ipv6", "icmp-sources", "hairpinning", "icmp-errors-per-second"],
            TRANSLATOR,
        ],
    ),
    ("technology.nat64", &[&["pref64", PRIVATE, BY_PREFIX], TRANSLATOR, REASSEMBLY, POOL, STATE, HELD]),
    ("technology.nat46", &[&["inside", "eam", "pref64"], POOL, STATE, HELD]),
    ("technology.nat66", &[&["inside", BY_PREFIX, "fragment-octets"], POOL, STATE]),
    (
        "technology.464xlat",
        &[&["pref64", PRIVATE, "clat", "inside", BY_PREFIX], TRANSLATOR, REASSEMBLY, POOL, STATE, HELD],
    ),
    ("technology.ds-lite", &[&["b4", "b4s", "aftr", "inside"], POOL, TUNNEL, REASSEMBLY, STATE, HELD]),
    (
        "technology.lw4o6",
        &[
            &["lwaftr", "softwires", "ipv4", "b4", "psid-length", "psid-offset", "ce", "inside"],
            BORDER,
            TUNNEL,
            REASSEMBLY,
            STATE,
            HELD,
        ],
    ),
    ("technology.map-e", &[&["br"], RULE, DOMAIN, BORDER, TUNNEL, REASSEMBLY, STATE, HELD]),
    ("technology.map-e.rule", &[RULE]),
    ("technology.map-t", &[&["dmr", PRIVATE], RULE, DOMAIN, TRANSLATOR, &["fragment-octets"], STATE, HELD]),
    ("technology.map-t.rule", &[RULE]),
    (
        "sweep",
        &[&["connections", "cores", "softwires", "rules", "subscribers", "inside-addresses", "outside-addresses"]],
    ),
    ("measure", &[MEASURE, &["time-limit"]]),
    ("full", &[&["connections"], MEASURE]),
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

/// Whether addresses that are not global may stand behind the well-known prefix.
const PRIVATE: &str = "private-behind-well-known";

/// Length of the prefix that a subscriber with IPv6 addresses has.
const BY_PREFIX: &str = "subscriber-prefix";

/// Outside addresses of a NAT.
const POOL: &[&str] = &["pool", "pool-ports"];

/// How a NAT keeps state, and the limits that every NAT has.
const STATE: &[&str] = &[
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
    "fragment-datagrams",
    "fragment-timeout",
    "icmp-errors-per-second",
];

/// Fragments that wait for their first one by number; a NAT66 has an amount of octets instead.
const HELD: &[&str] = &["fragments-held"];

/// A translator between IP versions.
const TRANSLATOR: &[&str] = &["zero-udp-checksum", "tos", "traffic-class", "lowest-ipv6-mtu"];

/// An end of a tunnel.
const TUNNEL: &[&str] = &["tunnel-hop-limit", "tunnel-dscp", "tunnel-ecn", "tunnel-flow-label", "tunnel-oversize"];

/// Datagrams that are put together.
const REASSEMBLY: &[&str] = &["reassembly-datagrams", "reassembly-octets", "reassembly-timeout"];

/// A border of a domain without state: what is said to strangers, and fragments that it lets pass.
const BORDER: &[&str] = &["answer-spoofed", "answer-unknown", "inbound-icmp", "fragment-octets"];

/// A mapping rule.
const RULE: &[&str] = &["ipv6-prefix", "ipv4-prefix", "ea-bits", "psid-offset", "psid", "psid-length", "forwarding"];

/// A domain of mapping rules, and the customer's edge in it.
const DOMAIN: &[&str] = &["rule", "ce", "inside"];

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
];

/// Keys of a table; none for an unknown one.
pub fn keys(table: &str) -> Vec<&'static str> {
    TABLES.iter().find(|(name, _)| *name == table).map_or_else(Vec::new, |(_, groups)| groups.concat())
}

/// The tables that have a key, in the order of [`TABLES`].
pub fn tables_with(key: &str) -> impl Iterator<Item = &'static str> {
    let has = move |groups: &[&[&str]]| groups.iter().any(|keys| keys.contains(&key));
    TABLES.iter().filter(move |(_, groups)| has(groups)).map(|&(table, _)| table)
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
        let mut measure: Vec<_> = keys("measure").into_iter().filter(|key| *key != "time-limit").collect();
        measure.insert(0, "connections");
        assert_eq!(measure, keys("full"));
        assert!(CONFORMITY.iter().all(|key| MEASURE.contains(key)));
    }

    #[test]
    fn kinds_are_the_tables_below() {
        assert_eq!(kinds("link").collect::<Vec<_>>(), ["in-process", "tap", "veth"]);
    }
}
