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
    ("tester", &[&["workers"]]),
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
    "verify",
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

const GATEWAY_SIDE: &[&str] = &["interface", "mac", "address", "next-hop", "mtu", "vlan"];

// Linux always maps by four-tuple: there is no `mapping` to choose.
const KERNEL_NAT44: &[&str] = &["pool", "pool-ports", "table", "hash-size", "udp-timeout"];

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

    const SCENARIO: &str = include_str!("../../../docs/scenario.md");
    const TECHNOLOGIES: &str = include_str!("../../../docs/technologies/keys.md");
    const GATEWAY: &str = include_str!("../../../docs/gateway.md");

    /// What stands under the heading that names a table, up to the next one.
    fn chapter<'a>(page: &'a str, table: &str) -> &'a str {
        let name = if table.is_empty() { "Top level".to_owned() } else { format!("`[{table}]`") };
        let is_its = |chapter: &&str| chapter.lines().next().is_some_and(|heading| heading.contains(&name));
        page.split("\n## ").find(is_its).unwrap_or_else(|| panic!("no heading with {name}"))
    }

    /// Where a table is explained: a chapter on scenarios, or the page on technologies or on the gateway.
    fn explained(table: &str) -> String {
        match table.split('.').next() {
            Some("technology") => TECHNOLOGIES.to_owned(),
            Some("gateway") => GATEWAY.to_owned(),
            // Its keys are those of another table, and one more.
            Some("full") => chapter(SCENARIO, "full").to_owned() + chapter(SCENARIO, "measure"),
            _ => chapter(SCENARIO, table).to_owned(),
        }
    }

    #[test]
    fn every_table_and_key_is_in_the_documents() {
        for (table, groups) in TABLES {
            assert!(
                table.is_empty() || SCENARIO.contains(&format!("[{table}]")),
                "[{table}] is not in docs/scenario.md"
            );
            let text = explained(table);
            for key in groups.concat() {
                assert!(text.contains(&format!("`{key}`")), "`{key}` of [{table}] is in no document");
            }
        }
    }

    /// A row of a table that begins with a key, in the chapters of docs/scenario.md, is about a key that exists.
    #[test]
    fn the_page_on_scenarios_has_no_key_that_is_gone() {
        for (table, _) in TABLES.iter().filter(|(table, _)| !["technology", "gateway"].contains(&root(table))) {
            let known = if *table == "dut.iptables-nft" { keys("dut.nftables") } else { keys(table) };
            for key in rows(chapter(SCENARIO, table)).filter(|row| row.len() == 4).map(|row| row[0]) {
                assert!(known.contains(&key.trim_matches('`')), "{key} is no key of [{table}]");
            }
        }
    }

    /// The defaults in the tables are those of the form at the end of the page, which a test holds against the code.
    #[test]
    fn defaults_in_the_tables_are_those_of_the_form() {
        let form = SCENARIO.rsplit("```").nth(1).unwrap();
        let mut compared = 0;
        for table in form.split("\n[").skip(1) {
            let (name, values) = table.split_once("]\n").unwrap();
            for (key, value) in values.lines().filter_map(|line| line.split_once(" = ")) {
                let row = rows(chapter(SCENARIO, name)).find(|row| row[0] == format!("`{key}`")).unwrap();
                // Defaults in words depend on other values.
                if row[2].starts_with('`') {
                    assert_eq!(row[2], format!("`{value}`"), "default of {name}.{key}");
                    compared += 1;
                }
            }
        }
        assert!(compared >= 20, "{compared}");
    }

    fn root(table: &str) -> &str {
        table.split('.').next().unwrap_or(table)
    }

    /// Cells of the rows that begin with a key.
    fn rows(chapter: &str) -> impl Iterator<Item = Vec<&str>> {
        let rows = chapter.lines().filter(|line| line.starts_with("| `"));
        rows.map(|row| row.trim_start_matches("| ").trim_end_matches(" |").split(" | ").collect())
    }
}
