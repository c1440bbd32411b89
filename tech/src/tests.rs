//! Each key sets its field, and no other; defaults are those of `plane`, also on the reference page.

mod chains;

use crate::fragments::{Errors, FragmentOctets, FragmentStore, Fragments, Reassembly};
use crate::gateway::{Job, Links};
use crate::nat64::SubscriberPrefix;
use crate::state::{State, TEST_TIMEOUT};
use crate::translator::Translator;
use crate::tunnel::{Border, TunnelEnd};
use crate::{Functions, ListEntry, Plays};
use key::{Book, Chapter, Sections, Table};
use plane::fragment::PartLimits;
use plane::nat44::config::{Blocks, Config as NatConfig, Filtering, Mapping, Pooling};
use plane::translate::{ClassRule, Config as TranslateConfig, Hairpinning, HeaderRules, ZeroChecksum};
use plane::tunnel::config::{Config as TunnelConfig, Ecn, FlowLabel, InboundIcmp, Outer, Oversize, TrafficClass};
use plane::{Side, Side4, Side6, aftr, nat64, nat66};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;
use wire::{AddrRange, Mac, PortRange, Prefix4, Prefix6};

const V4: Side4 = Side4 {
    mac: Mac([2, 0, 0, 0, 0, 1]),
    next_hop: Mac([2, 0, 0, 0, 0, 2]),
    address: std::net::Ipv4Addr::new(198, 18, 0, 1),
    mtu: 1500,
};
const V6: Side6 = Side6 {
    mac: V4.mac,
    next_hop: V4.next_hop,
    address: std::net::Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
    mtu: 1500,
};
const LINKS: Links = Links { left4: V4, left6: V6, right4: V4, right6: V6 };

type Row<C> = (&'static str, fn(&mut C));
type Change<C> = Box<dyn Fn(&mut C)>;

const FRAGMENTS: &[Row<PartLimits>] = &[
    ("fragment-datagrams = 7", |l| l.datagrams = 7),
    ("fragment-timeout = \"3 s\"", |l| l.lifetime = Duration::from_secs(3)),
];
const FRAGMENT_OCTETS: &[Row<PartLimits>] = &[("fragment-octets = 200000", |l| l.octets = 200_000)];
const REASSEMBLY: &[Row<PartLimits>] = &[
    ("reassembly-datagrams = 8", |l| l.datagrams = 8),
    ("reassembly-octets = 300000", |l| l.octets = 300_000),
    ("reassembly-timeout = \"4 s\"", |l| l.lifetime = Duration::from_secs(4)),
];
const ERRORS: &[Row<u32>] = &[("icmp-errors-per-second = 0", |errors| *errors = 0)];

const STATE: &[Row<NatConfig>] = &[
    ("mapping = \"address-and-port-dependent\"", |c| {
        (c.mapping, c.filtering) = (Mapping::AddressAndPortDependent, Filtering::AddressAndPortDependent);
    }),
    ("filtering = \"address-dependent\"", |c| c.filtering = Filtering::AddressDependent),
    ("udp-timeout = \"121 s\"", |c| c.timeouts.udp = Duration::from_secs(121)),
    ("tcp-timeout = \"7441 s\"", |c| c.timeouts.tcp_established = Duration::from_secs(7441)),
    ("tcp-transitory-timeout = \"241 s\"", |c| c.timeouts.tcp_transitory = Duration::from_secs(241)),
    ("icmp-timeout = \"61 s\"", |c| c.timeouts.icmp = Duration::from_secs(61)),
    ("hairpinning = false", |c| c.hairpinning = false),
    ("session-quota = 7", |c| c.quota.sessions = Some(7)),
    ("port-quota = 9", |c| c.quota.ports = Some(9)),
    ("port-block = 128", |c| c.blocks = Some(Blocks { size: 128, per_subscriber: 1 })),
    ("port-block = 256\nport-blocks = 2", |c| c.blocks = Some(Blocks { size: 256, per_subscriber: 2 })),
    ("pooling = \"arbitrary\"", |c| c.pooling = Pooling::Arbitrary),
    ("fragment-datagrams = 7", |c| c.fragments.datagrams = 7),
    ("fragment-timeout = \"3 s\"", |c| c.fragments.lifetime = Duration::from_secs(3)),
    ("icmp-errors-per-second = 0", |c| c.icmp_errors_per_second = 0),
];
const TABLE: &[Row<NatConfig>] = &[("table = 8192", |c| c.sessions = 8192)];
const HELD: &[Row<NatConfig>] = &[("fragments-held = 9", |c| c.fragments.held = 9)];
const INSIDE: &[Row<NatConfig>] = &[("inside = \"10.0.0.0/8\"", |c| c.inside.truncate(1))];
const PORTS: &[Row<NatConfig>] = &[("pool-ports = \"2000-2999\"", |c| c.ports = PortRange { first: 2000, last: 2999 })];

const TRANSLATOR: &[Row<HeaderRules>] = &[
    ("zero-udp-checksum = \"drop\"", |c| c.zero_udp_checksum = ZeroChecksum::Drop),
    ("zero-udp-checksum = \"forward\"", |c| c.zero_udp_checksum = ZeroChecksum::Forward),
    ("tos = 8", |c| c.tos = ClassRule::Fixed(8)),
    ("traffic-class = 9", |c| c.traffic_class = ClassRule::Fixed(9)),
    ("lowest-ipv6-mtu = 1400", |c| c.lowest_ipv6_mtu = 1400),
];

const TUNNEL: &[Row<Outer>] = &[
    ("tunnel-hop-limit = 17", |c| c.hop_limit = 17),
    ("tunnel-dscp = 46", |c| c.traffic_class = TrafficClass::Fixed(46)),
    ("tunnel-ecn = \"compatibility\"", |c| c.ecn = Ecn::Compatibility),
    ("tunnel-flow-label = 0x12345", |c| c.flow_label = FlowLabel::Fixed(0x12345)),
    ("tunnel-flow-label = \"hash\"", |c| c.flow_label = FlowLabel::Hash),
    ("tunnel-oversize = \"inner\"", |c| c.oversize = Oversize::Inner),
];
const BORDER: &[Row<TunnelConfig>] = &[
    ("hairpinning = false", |c| c.hairpinning = false),
    ("answer-spoofed = false", |c| c.answer_spoofed = false),
    ("answer-unknown = false", |c| c.answer_unknown = false),
    ("inbound-icmp = \"errors\"", |c| c.inbound_icmp = InboundIcmp::Errors),
];

fn key_of(line: &str) -> &str {
    line.split(' ').next().unwrap()
}

struct Proof<'a, C> {
    name: &'static str,
    base: &'static str,
    of: &'a dyn Fn(&str) -> C,
    usual: C,
    rows: Vec<(&'static str, Change<C>)>,
    book: Book,
}

impl<'a, C: Clone + Debug + PartialEq + 'static> Proof<'a, C> {
    fn new(name: &'static str, base: &'static str, book: Vec<Chapter>, usual: C, of: &'a dyn Fn(&str) -> C) -> Self {
        Proof { name, base, of, usual, rows: Vec::new(), book: Book { chapters: book, ..Book::default() } }
    }

    fn part<P: 'static>(mut self, part: fn(&mut C) -> &mut P, rows: impl IntoIterator<Item = &'static Row<P>>) -> Self {
        for (line, change) in rows {
            self.rows.push((line, Box::new(move |c| change(part(c)))));
        }
        self
    }

    fn rows(self, rows: impl IntoIterator<Item = &'static Row<C>>) -> Self {
        self.part(|c| c, rows)
    }

    /// Lines replace those of the base with the same keys.
    fn with(&self, lines: &str) -> C {
        let given = |key: &str| lines.lines().any(|line| key_of(line) == key);
        let base: Vec<&str> = self.base.lines().filter(|line| !given(key_of(line))).chain([lines]).collect();
        (self.of)(&base.join("\n"))
    }

    fn prove(self) -> BTreeSet<&'static str> {
        let name = self.name;
        assert_eq!(self.with(""), self.usual, "{name} without keys");
        for (lines, change) in &self.rows {
            let mut wanted = self.usual.clone();
            change(&mut wanted);
            assert_ne!(wanted, self.usual, "{name}: {lines} proves nothing");
            assert_eq!(self.with(lines), wanted, "{name}: {lines}");
        }
        let keys: BTreeSet<_> = self.rows.iter().flat_map(|(lines, _)| lines.lines().map(key_of)).collect();
        let stated = stated_defaults(&self.book).into_iter();
        for (key, value) in stated.filter(|(key, _)| keys.contains(key.as_str()) && key != "table") {
            // A number of blocks requires a block size.
            let block = if key == "port-blocks" { "port-block = 128\n" } else { "" };
            assert_eq!(self.with(&format!("{block}{key} = {value}")), self.with(block), "{name}: default of {key}");
        }
        keys
    }
}

fn stated_defaults(book: &Book) -> Vec<(String, String)> {
    let page = book.page(2, |_| true);
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let stated = rows.filter_map(|row| {
        let mut cells = row.split(" | ");
        let (key, words) = (cells.next()?.trim_end_matches('`'), cells.nth(1)?);
        Some((key.to_owned(), value_of(words)?))
    });
    stated.collect()
}

/// The value at the start of a default's words: `"15 s"` in code marks, 1,024, or 4 MiB.
fn value_of(words: &str) -> Option<String> {
    if let Some(code) = words.strip_prefix('`') {
        return Some(code.split('`').next()?.to_owned());
    }
    let end = words.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(words.len());
    let number: u64 = words[..end].replace(',', "").parse().ok()?;
    let unit = if words[end..].starts_with(" MiB") { 1 << 20 } else { 1 };
    Some((number * unit).to_string())
}

fn read<T: Table>(text: &str) -> T {
    let tree = key::read("test.toml", text).unwrap_or_else(|_| panic!("{text}"));
    let known = |name: &str| T::keys().iter().any(|key| key.name == name);
    assert!(tree.root.entries().iter().all(|entry| known(&entry.name)), "{text}");
    let mut sections = Sections::of(&tree);
    let table = sections.table("");
    assert!(sections.faults.is_empty(), "{text}");
    table.unwrap()
}

fn build(entry: &ListEntry, plays: Plays, text: &str) -> Functions {
    let tree = key::read("test.toml", text).unwrap_or_else(|_| panic!("{text}"));
    let known = (entry.chapters)("").remove(0).keys;
    assert!(tree.root.entries().iter().all(|entry| known.iter().any(|key| key.name == entry.name)), "{text}");
    let mut sections = Sections::of(&tree);
    let technology = (entry.read)(&mut sections.section("")).unwrap_or_else(|| panic!("{text}"));
    assert!(sections.faults.is_empty(), "{text}");
    let open = |_: &std::path::Path| unreachable!("no file");
    let job = Job { plays, links: LINKS, workers: 1, seed: 7, open: &open, live: None };
    technology.build(&job).unwrap_or_else(|why| panic!("{text}: {why}")).functions
}

/// The configuration of the one function of this variant, or of a half of it.
macro_rules! config_of {
    ($Variant:ident $(. $half:ident)?, $entry:expr, $plays:ident, $text:expr) => {{
        let Functions::$Variant(functions) = build(&$entry, Plays::$plays, $text) else { panic!("another function") };
        functions[0]$(.$half)?.config().clone()
    }};
}
use config_of;

fn pool() -> Vec<AddrRange> {
    vec![AddrRange { first: [198, 19, 0, 1].into(), count: 4 }]
}

fn inside() -> Vec<Prefix4> {
    let all = [([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([198, 18, 0, 0], 16)];
    all.map(|(addr, len)| Prefix4 { addr: addr.into(), len }).to_vec()
}

fn usual_nat(of: &NatConfig) -> NatConfig {
    NatConfig { sessions: 4096, ..of.clone() }
}

#[test]
fn keys_of_a_nat44_arrive() {
    const BASE: &str = "pool = \"198.19.0.1-198.19.0.4\"\ntable = 4096\n";
    let usual = usual_nat(&NatConfig::new(V4, V4, inside(), pool()));
    let of = |text: &str| config_of!(Nat44, crate::nat44::ENTRY, Dual, text);
    let proof = Proof::new("NAT44", BASE, (crate::nat44::ENTRY.chapters)("x"), usual, &of);
    let own: &[Row<NatConfig>] = &[
        ("pool = \"198.19.0.1\"", |c| c.pool[0].count = 1),
        ("static = \"tcp 198.19.0.1:8080 -> 10.0.0.2:80\"", |c| {
            c.statics = vec!["tcp 198.19.0.1:8080 -> 10.0.0.2:80".parse().unwrap()];
        }),
    ];
    proof.rows(own).rows(INSIDE).rows(PORTS).rows(STATE).rows(TABLE).rows(HELD).prove();
}

/// A key without a row can only be one of the addressing.
#[test]
fn keys_of_a_siit_arrive() {
    const BASE: &str = "pref64 = \"2001:2:0:1000::/96\"\n";
    let usual = TranslateConfig { seed: 7, ..TranslateConfig::new(Side::Customer, V4, V6) };
    let of = |text: &str| config_of!(Siit, crate::siit::ENTRY, Pe, text);
    let proof = Proof::new("SIIT", BASE, (crate::siit::ENTRY.chapters)("x"), usual, &of);
    let own: &[Row<TranslateConfig>] = &[
        ("ipv6 = \"right\"", |c| c.ipv6 = Side::Internet),
        ("icmp-sources = \"198.19.0.1-198.19.0.4\"", |c| c.icmp_sources = pool()),
        ("hairpinning = \"simple\"", |c| c.hairpinning = Hairpinning::Simple),
    ];
    proof.rows(own).part(|c| &mut c.headers, TRANSLATOR).part(|c| &mut c.icmp_errors_per_second, ERRORS).prove();
}

#[test]
fn keys_of_a_clat_arrive() {
    const BASE: &str = "pref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"198.19.0.1\"\n";
    let usual = TranslateConfig { seed: 7, ..TranslateConfig::new(Side::Internet, V4, V6) };
    let of = |text: &str| config_of!(Clat, crate::xlat464::ENTRY, Ce, text);
    let proof = Proof::new("CLAT", BASE, (crate::xlat464::ENTRY.chapters)("x"), usual, &of);
    proof.part(|c| &mut c.headers, TRANSLATOR).part(|c| &mut c.icmp_errors_per_second, ERRORS).prove();
}

#[test]
fn keys_of_a_map_t_br_arrive() {
    const BASE: &str = "dmr = \"2001:2:0:1000::/96\"\nipv6-prefix = \"2001:db8:1::/50\"\nipv4-prefix = \"203.0.113.0/24\"\n\
                        ea-bits = 12\npsid-offset = 4\n";
    let usual = TranslateConfig { seed: 7, ..TranslateConfig::new(Side::Customer, V4, V6) };
    let of = |text: &str| config_of!(MapTBr, crate::map_t::ENTRY, Pe, text);
    let proof = Proof::new("MAP-T BR", BASE, (crate::map_t::ENTRY.chapters)("x"), usual, &of);
    let own: &[Row<TranslateConfig>] = &[("hairpinning = false", |c| c.hairpinning = Hairpinning::Off)];
    let proof = proof.rows(own).part(|c| &mut c.headers, TRANSLATOR).part(|c| &mut c.icmp_errors_per_second, ERRORS);
    proof.part(|c| &mut c.fragments, FRAGMENTS).part(|c| &mut c.fragments, FRAGMENT_OCTETS).prove();
}

#[test]
fn keys_of_a_b4_arrive() {
    const BASE: &str = "b4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\n";
    let usual = TunnelConfig { inner_address: [192, 0, 0, 2].into(), ..TunnelConfig::new(Side::Internet, V4, V6) };
    let of = |text: &str| config_of!(B4, crate::ds_lite::ENTRY, Ce, text);
    let proof = Proof::new("B4", BASE, (crate::ds_lite::ENTRY.chapters)("x"), usual, &of);
    let proof = proof.part(|c| &mut c.outer, TUNNEL).part(|c| &mut c.icmp_errors_per_second, ERRORS);
    proof.part(|c| &mut c.fragments, FRAGMENTS).part(|c| &mut c.reassembly, REASSEMBLY).prove();
}

/// A BR and an lwAFTR have the same keys (`softwire`).
#[test]
fn keys_of_a_provider_edge_with_tunnels_arrive() {
    type Of = Box<dyn Fn(&str) -> TunnelConfig>;
    const MAP_E: &str = "br = \"2001:2:0:100::2\"\nipv6-prefix = \"2001:db8:1::/50\"\nipv4-prefix = \"203.0.113.0/24\"\n\
                         ea-bits = 12\npsid-offset = 4\n";
    const LW4O6: &str =
        "lwaftr = \"2001:2:0:100::2\"\nipv4 = \"203.0.113.0/24\"\nb4 = \"2001:db8:1::1\"\npsid-length = 4\n";
    let map_e = |text: &str| config_of!(MapEBr, crate::map_e::ENTRY, Pe, text);
    let lw4o6 = |text: &str| config_of!(LwAftr, crate::lw4o6::ENTRY, Pe, text);
    let ends: [(_, _, _, Of); 2] = [
        ("MAP-E BR", MAP_E, &crate::map_e::ENTRY, Box::new(map_e)),
        ("lwAFTR", LW4O6, &crate::lw4o6::ENTRY, Box::new(lw4o6)),
    ];
    for (name, base, entry, of) in ends {
        let usual = TunnelConfig::new(Side::Customer, V4, V6);
        let proof = Proof::new(name, base, (entry.chapters)("x"), usual, &*of);
        let proof = proof.part(|c| &mut c.outer, TUNNEL).rows(BORDER).part(|c| &mut c.icmp_errors_per_second, ERRORS);
        let proof = proof.part(|c| &mut c.fragments, FRAGMENTS).part(|c| &mut c.fragments, FRAGMENT_OCTETS);
        proof.part(|c| &mut c.reassembly, REASSEMBLY).prove();
    }
}

#[test]
fn keys_of_a_nat66_arrive() {
    const BASE: &str = "pool = \"2001:2:0:200::/120\"\ntable = 4096\n";
    let pool = Prefix6 { addr: [0x2001, 2, 0, 0x200, 0, 0, 0, 0].into(), len: 120 };
    let pool = plane::Pool6::new(pool).unwrap();
    let usual = nat66::Config::new(V6, V6, pool);
    let usual = nat66::Config { customers: 4096, remotes: 4096, nat: usual_nat(&usual.nat), ..usual };
    let of = |text: &str| config_of!(Nat66, crate::nat66::ENTRY, Dual, text);
    let proof = Proof::new("NAT66", BASE, (crate::nat66::ENTRY.chapters)("x"), usual, &of);
    let own: &[Row<nat66::Config>] = &[
        ("inside = \"2001:2::/64\"", |c| {
            c.inside = vec![Prefix6 { addr: [0x2001, 2, 0, 0, 0, 0, 0, 0].into(), len: 64 }];
        }),
        ("subscriber-prefix = 56", |c| c.subscriber_prefix = 56),
        ("fragment-datagrams = 7", |c| (c.fragments.datagrams, c.nat.fragments.datagrams) = (7, 7)),
        ("fragment-timeout = \"3 s\"", |c| {
            c.fragments.lifetime = Duration::from_secs(3);
            c.nat.fragments.lifetime = Duration::from_secs(3);
        }),
        ("table = 8192", |c| (c.customers, c.remotes, c.nat.sessions) = (8192, 8192, 8192)),
    ];
    let proof = proof.rows(own).part(|c| &mut c.fragments, FRAGMENT_OCTETS).part(|c| &mut c.nat, PORTS);
    let (of_the_nat, _) = STATE.split_at(STATE.iter().position(|(line, _)| line.starts_with("fragment-")).unwrap());
    proof.part(|c| &mut c.nat, of_the_nat).part(|c| &mut c.nat.icmp_errors_per_second, ERRORS).prove();
}

/// The NAT64 does not expose its configuration, so each of its tables is tested.
#[test]
fn keys_of_a_nat64_arrive() {
    const BASE: &str = "pool = \"198.19.0.1\"\ntable = 4096\n";
    let pref64 = Prefix6 { addr: [0x2001, 2, 0, 0x1000, 0, 0, 0, 0].into(), len: 96 };
    let new = || nat64::Config::new(V6, V4, pref64, pool());
    let of = |text: &str| {
        let (nat, mut c) = (read::<crate::nat64::Nat>(text), new());
        nat.pool.set(&mut c.nat);
        nat.state.set(&mut c.nat);
        nat.held.set(&mut c.nat);
        nat.translator.set(&mut c.headers);
        nat.reassembly.set(&mut c.reassembly);
        c.subscriber_prefix = nat.subscriber.length();
        c
    };
    let usual = nat64::Config { nat: usual_nat(&new().nat), ..new() };
    let proof = Proof::new("NAT64", BASE, (crate::nat64::ENTRY.chapters)("x"), usual, &of);
    let own: &[Row<nat64::Config>] = &[("subscriber-prefix = 56", |c| c.subscriber_prefix = 56)];
    let proof = proof.rows(own).part(|c| &mut c.headers, TRANSLATOR).part(|c| &mut c.reassembly, REASSEMBLY);
    let proof = proof.part(|c| &mut c.nat, PORTS).part(|c| &mut c.nat, STATE);
    proof.part(|c| &mut c.nat, TABLE).part(|c| &mut c.nat, HELD).prove();
}

#[test]
fn keys_of_an_aftr_arrive() {
    const BASE: &str = "b4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\ntable = 4096\n";
    let new = || aftr::Config::new(V6, V4, pool());
    let of = |text: &str| {
        let (ds_lite, mut c) = (read::<crate::ds_lite::DsLite>(text), new());
        ds_lite.pool.set(&mut c.nat);
        ds_lite.state.set(&mut c.nat);
        ds_lite.held.set(&mut c.nat);
        c.outer = ds_lite.tunnel.outer();
        ds_lite.reassembly.set(&mut c.reassembly);
        c
    };
    let usual = aftr::Config { nat: usual_nat(&new().nat), ..new() };
    let proof = Proof::new("AFTR", BASE, (crate::ds_lite::ENTRY.chapters)("x"), usual, &of);
    let proof = proof.part(|c| &mut c.outer, TUNNEL).part(|c| &mut c.reassembly, REASSEMBLY);
    let proof = proof.part(|c| &mut c.nat, PORTS).part(|c| &mut c.nat, STATE);
    proof.part(|c| &mut c.nat, TABLE).part(|c| &mut c.nat, HELD).prove();
}

#[test]
fn every_shared_key_has_a_row() {
    fn lines<C>(rows: &[Row<C>]) -> impl Iterator<Item = &'static str> {
        rows.iter().flat_map(|(lines, _)| lines.lines())
    }
    let own = ["subscriber-prefix", "hairpinning"];
    let nat = lines(STATE).chain(lines(TABLE)).chain(lines(HELD)).chain(lines(PORTS));
    let parts = lines(FRAGMENTS).chain(lines(FRAGMENT_OCTETS)).chain(lines(REASSEMBLY)).chain(lines(ERRORS).chain(own));
    let ends = lines(TRANSLATOR).chain(lines(TUNNEL)).chain(lines(BORDER));
    let known: Vec<&str> = nat.chain(parts).chain(ends).map(key_of).collect();
    let tables = [
        State::keys(),
        Fragments::keys(),
        FragmentOctets::keys(),
        FragmentStore::keys(),
        Reassembly::keys(),
        Errors::keys(),
        Translator::keys(),
        TunnelEnd::keys(),
        Border::keys(),
        SubscriberPrefix::keys(),
    ];
    for key in tables.concat() {
        assert!(known.contains(&key.name), "no row has `{}`", key.name);
    }
}

/// Compared with those of `plane`; others are words.
#[test]
fn the_defaults_that_are_compared_are_these() {
    let stated = |entry: &ListEntry| stated_defaults(&Book { chapters: (entry.chapters)("x"), ..Book::default() });
    let of_nat64 = stated(&crate::nat64::ENTRY);
    let value = |key: &str| of_nat64.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    for (key, default) in [
        ("fragment-datagrams", "1024"),
        ("fragment-timeout", "\"15 s\""),
        ("fragments-held", "128"),
        ("reassembly-octets", "4194304"),
        ("icmp-errors-per-second", "1000"),
        ("tcp-timeout", "\"7440 s\""),
        ("port-blocks", "1"),
        ("lowest-ipv6-mtu", "1280"),
        ("subscriber-prefix", "64"),
        ("tos", "\"copy\""),
        ("table", "1048576"),
    ] {
        assert_eq!(value(key), Some(default), "{key}");
    }
    assert_eq!(["filtering", "session-quota", "port-quota", "port-block", "static"].map(value), [None; 5]);
    let page = Book { chapters: (crate::nat44::ENTRY.chapters)("x"), ..Book::default() }.page(2, |_| true);
    let in_a_scenario = format!("in a scenario `\"{} s\"`", Duration::from(TEST_TIMEOUT).as_secs());
    assert!(page.contains(&in_a_scenario), "{in_a_scenario}");
}
