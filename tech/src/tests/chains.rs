//! The same for a NAT44 before a translator or a tunnel, each half with its own rows.

use super::{
    BORDER, ERRORS, FRAGMENT_OCTETS, FRAGMENTS, HELD, INSIDE, PORTS, Proof, REASSEMBLY, Row, STATE, TABLE, TRANSLATOR,
    TUNNEL, V4, V6, build, config_of, inside, key_of, usual_nat,
};
use crate::{Functions, ListEntry, Plays};
use plane::edge::Edge;
use plane::nat44::config::Config as NatConfig;
use plane::nat46;
use plane::translate::Config as TranslateConfig;
use plane::tunnel::config::Config as TunnelConfig;
use plane::{Addressing, End, Point4};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{AddrRange, PortSet, Prefix4, Prefix6};

type Keys = BTreeSet<&'static str>;

const EDGE: Edge = Edge { customer: V4, internet: V6 };

fn assert_complete(entry: &ListEntry, proved: &[Keys], others: &[&str]) {
    let known: BTreeSet<&str> = (entry.chapters)("").remove(0).keys.iter().map(|key| key.name).collect();
    let proved: BTreeSet<&str> = proved.iter().flatten().copied().collect();
    let missing: Vec<_> = known.difference(&proved).copied().collect();
    let mut others = others.to_vec();
    others.sort_unstable();
    assert_eq!(missing, others, "{} without a row", entry.names.name(Plays::Ce));
}

const NAT46: &str = "pref64 = \"2001:2:0:1000::/96\"\npool = \"2001:2:0:200::/120\"\ntable = 4096\n";

/// No IPv4 address represents an outside address, so a NAT46 has no hairpinning.
#[test]
fn keys_of_a_nat46_arrive() {
    let entry = &crate::nat46::ENTRY;
    let pool = Prefix6 { addr: [0x2001, 2, 0, 0x200, 0, 0, 0, 0].into(), len: 120 };
    let mut usual = nat46::Config::new(V4, V6, inside(), plane::Pool6::new(pool).unwrap());
    usual.pref64 = Some(Prefix6 { addr: [0x2001, 2, 0, 0x1000, 0, 0, 0, 0].into(), len: 96 });
    usual.nat = usual_nat(&usual.nat);
    let usual = usual.build(0, 1, 7).unwrap();

    let of = |text: &str| config_of!(Nat46.customer, entry, Pe, text);
    let proof = Proof::new("NAT46, state", NAT46, (entry.chapters)("x"), usual.customer.config().clone(), &of);
    // Numbers represent the outside addresses.
    let own: &[Row<NatConfig>] = &[("pool = \"2001:2:0:200::/121\"", |c| c.pool[0].count = 128)];
    let state = STATE.iter().filter(|(line, _)| key_of(line) != "hairpinning");
    let nat = proof.rows(own).rows(INSIDE).rows(PORTS).rows(state).rows(TABLE).rows(HELD).prove();

    let of = |text: &str| config_of!(Nat46.internet, entry, Pe, text);
    let usual = usual.internet.config().clone();
    let proof = Proof::new("NAT46, translator", NAT46, (entry.chapters)("x"), usual, &of);
    let lowest: &[Row<TranslateConfig>] = &[("lowest-ipv6-mtu = 1400", |c| c.headers.lowest_ipv6_mtu = 1400)];
    let translator = proof.rows(lowest).part(|c| &mut c.icmp_errors_per_second, ERRORS).prove();

    assert_complete(entry, &[nat, translator], &["eam", "pref64", "hairpinning"]);
}

/// IPv6 addresses of two remote hosts, and of the first outside address.
fn addresses_of_a_nat46(lines: &str) -> [Option<Ipv6Addr>; 3] {
    let Functions::Nat46(functions) = build(&crate::nat46::ENTRY, Plays::Pe, lines) else { panic!("another function") };
    let (nat, translator) = (functions[0].customer.config(), functions[0].internet.addressing());
    let of = |end, addr: Ipv4Addr| {
        let point = Point4 { addr: addr.into(), port: Some(80) };
        translator.to_ipv6(end, point).ok().map(Ipv6Addr::from_bits)
    };
    let [mapped, other] = [1, 2].map(|host| of(End::Remote, [192, 0, 2, host].into()));
    [mapped, other, of(End::Customer, nat.pool[0].first)]
}

/// Only addresses show its configuration.
#[test]
fn remote_hosts_and_pool_of_a_nat46_arrive() {
    const POOL: &str = "pool = \"2001:2:0:200::/120\"\n";
    const EAM: &str = "eam = [\"192.0.2.1 2001:db8::1\"]\n";
    const PREF64: &str = "pref64 = \"2001:2:0:1000::/96\"\n";
    let (mapped, first) = ("2001:db8::1", "2001:2:0:200::");
    let [behind1, behind2] = ["2001:2:0:1000::c000:201", "2001:2:0:1000::c000:202"];
    for (lines, wanted) in [
        ([POOL, EAM], [Some(mapped), None, Some(first)]),
        ([POOL, PREF64], [Some(behind1), Some(behind2), Some(first)]),
        (["pool = \"2001:2:0:300::/124\"\n", PREF64], [Some(behind1), Some(behind2), Some("2001:2:0:300::")]),
    ] {
        let wanted = wanted.map(|address| address.map(|a| a.parse().unwrap()));
        assert_eq!(addresses_of_a_nat46(&lines.concat()), wanted, "{lines:?}");
    }
    let both = addresses_of_a_nat46(&[POOL, EAM, PREF64].concat());
    assert_eq!(both[..2], [mapped, behind2].map(|a| Some(a.parse().unwrap())), "a map comes before the prefix");
}

struct Ce<'a, B> {
    entry: &'a ListEntry,
    base: &'static str,
    own: (AddrRange, PortSet),
    nat: &'a dyn Fn(&str) -> NatConfig,
    behind: &'a dyn Fn(&str) -> B,
}

fn prove_nat<B>(
    ce: &Ce<'_, B>,
    usual: fn(&Edge, Vec<Prefix4>, AddrRange, PortSet) -> NatConfig,
    own: &'static [Row<NatConfig>],
) -> Keys {
    let usual = usual_nat(&usual(&EDGE, inside(), ce.own.0, ce.own.1));
    let proof = Proof::new(ce.entry.names.name(Plays::Ce), ce.base, (ce.entry.chapters)("x"), usual, ce.nat);
    proof.rows(own).rows(INSIDE).rows(STATE).rows(TABLE).rows(HELD).prove()
}

/// An address of 203.0.113.0/24, and a port set.
fn own(host: u8, offset: u8, len: u8, psid: u16) -> (AddrRange, PortSet) {
    (AddrRange::one([203, 0, 113, host].into()), PortSet { offset, len, psid })
}

fn become_customer(c: &mut NatConfig, (addresses, ports): (AddrRange, PortSet)) {
    (c.internet.address, c.pool, c.port_set) = (addresses.first, vec![addresses], ports);
}

/// Rows about the mapping rule of [`map_rule`].
const RULE: &[Row<NatConfig>] = &[
    ("ce = 21", |c| become_customer(c, own(1, 6, 4, 5))),
    ("ipv4-prefix = \"203.0.113.128/25\"\nea-bits = 11", |c| become_customer(c, own(128, 6, 4, 0))),
    ("ea-bits = 13", |c| become_customer(c, own(0, 6, 5, 0))),
    ("psid-offset = 4", |c| become_customer(c, own(0, 4, 4, 0))),
    ("ea-bits = 8\npsid = 3\npsid-length = 4", |c| become_customer(c, own(0, 6, 4, 3))),
    ("static = \"tcp 203.0.113.0:1024 -> 10.0.0.2:80\"", |c| {
        c.statics = vec!["tcp 203.0.113.0:1024 -> 10.0.0.2:80".parse().unwrap()];
    }),
];

macro_rules! map_rule {
    ($relay:literal) => {
        concat!(
            $relay,
            "\nipv6-prefix = \"2001:db8:1::/50\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 12\ntable = 4096\n"
        )
    };
}

fn prove_tunnel(ce: &Ce<'_, TunnelConfig>) -> Keys {
    let proof = Proof::new(ce.entry.names.name(Plays::Ce), ce.base, (ce.entry.chapters)("x"), EDGE.tunnel(), ce.behind);
    // The NAT44 hairpins packets between customers.
    let border = BORDER.iter().filter(|(line, _)| key_of(line) != "hairpinning");
    let proof = proof.part(|c| &mut c.outer, TUNNEL).rows(border).part(|c| &mut c.icmp_errors_per_second, ERRORS);
    let proof = proof.part(|c| &mut c.fragments, FRAGMENTS).part(|c| &mut c.fragments, FRAGMENT_OCTETS);
    proof.part(|c| &mut c.reassembly, REASSEMBLY).prove()
}

#[test]
fn keys_of_an_lwb4_arrive() {
    let entry = &crate::lw4o6::ENTRY;
    let ce = Ce {
        entry,
        base: "lwaftr = \"2001:2:0:100::2\"\nipv4 = \"203.0.113.0/24\"\nb4 = \"2001:db8:1::1\"\ntable = 4096\n",
        own: own(0, 0, 6, 0),
        nat: &|text| config_of!(LwB4.customer, entry, Ce, text),
        behind: &|text| config_of!(LwB4.internet, entry, Ce, text),
    };
    let rows: &[Row<NatConfig>] = &[
        ("ce = 69", |c| become_customer(c, own(1, 0, 6, 5))),
        ("ipv4 = \"203.0.113.128/25\"", |c| become_customer(c, own(128, 0, 6, 0))),
        ("psid-length = 5", |c| become_customer(c, own(0, 0, 5, 0))),
        ("psid-offset = 4", |c| become_customer(c, own(0, 4, 6, 0))),
        ("static = \"tcp 203.0.113.0:1000 -> 10.0.0.2:80\"", |c| {
            c.statics = vec!["tcp 203.0.113.0:1000 -> 10.0.0.2:80".parse().unwrap()];
        }),
    ];
    let proved = [prove_nat(&ce, Edge::nat_before_tunnel, rows), prove_tunnel(&ce)];
    assert_complete(entry, &proved, &["lwaftr", "softwires", "b4"]);
}

#[test]
fn keys_of_a_map_e_ce_arrive() {
    let entry = &crate::map_e::ENTRY;
    let ce = Ce {
        entry,
        base: map_rule!("br = \"2001:2:0:100::2\""),
        own: own(0, 6, 4, 0),
        nat: &|text| config_of!(MapECe.customer, entry, Ce, text),
        behind: &|text| config_of!(MapECe.internet, entry, Ce, text),
    };
    let proved = [prove_nat(&ce, Edge::nat_before_tunnel, RULE), prove_tunnel(&ce)];
    assert_complete(entry, &proved, &["br", "ipv6-prefix", "forwarding"]);
}

#[test]
fn keys_of_a_map_t_ce_arrive() {
    let entry = &crate::map_t::ENTRY;
    let ce = Ce {
        entry,
        base: map_rule!("dmr = \"2001:2:0:1000::/96\""),
        own: own(0, 6, 4, 0),
        nat: &|text| config_of!(MapTCe.customer, entry, Ce, text),
        behind: &|text| config_of!(MapTCe.internet, entry, Ce, text),
    };
    let nat = prove_nat(&ce, Edge::nat_before_translator, RULE);
    let usual = TranslateConfig { seed: 7, ..EDGE.translator() };
    let proof = Proof::new("MAP-T CE, translator", ce.base, (entry.chapters)("x"), usual, ce.behind);
    let proof = proof.part(|c| &mut c.headers, TRANSLATOR).part(|c| &mut c.icmp_errors_per_second, ERRORS);
    let translator = proof.part(|c| &mut c.fragments, FRAGMENTS).part(|c| &mut c.fragments, FRAGMENT_OCTETS).prove();
    assert_complete(entry, &[nat, translator], &["dmr", "ipv6-prefix", "forwarding", "private-behind-well-known"]);
}
