//! The pages about technologies and the code agree: names of counters, and packets as shown, whose checksums a separate program
//! (RFC 1071 in Python) or a hand has computed.

use crate::translate::bed as translator;
use crate::translate::packets::{V4, V6};
use crate::{aftr, nat44, nat64, natxy};
use plane::event::NAMES as EVENTS;
use plane::translate::{Clat, Hosts, Pair, Pref64};
use plane::{Function, Pool6, Side};
use testbed::page::{names, packet};
use testbed::prelude::*;
use wire::{AddrRange, Prefix4, Prefix6};

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("../../../docs/technologies/", $name, ".md"))
    };
}

/// Events that a translator of its own never counts: they belong to tunnels, port sets, state and fragment stores.
#[rustfmt::skip]
const NOT_OF_TRANSLATORS: &[&str] = &[
    "handed-over", "reassembled", "fragment-held", "spoofed-source", "outside-port-set", "unknown-softwire", "not-a-tunnel-packet",
    "table-full", "fragment-store-full", "fragment-overlap", "fragment-late", "ecn-not-capable", "hairpin-off", "icmp-filtered",
    "icmp-relayed",
];
#[rustfmt::skip]
const NOT_OF_MAP_T: &[&str] = &[
    "reassembled", "unknown-softwire", "not-a-tunnel-packet", "table-full", "ecn-not-capable", "hairpin-off", "icmp-filtered",
    "icmp-relayed",
];
const NOT_OF_MAP_E: &[&str] = &["udp-checksum-zero", "source-unmapped", "well-known-prefix-private", "table-full"];
/// Events of translation and of dictionaries, which no tunnel end has.
const NOT_OF_LW4O6: &[&str] = &["udp-checksum-zero", "well-known-prefix-private", "table-full"];

/// The counters of a chain that are not those of its NAT44, which has a page of its own.
fn beside_nat44<F: Function>(g: &Bed<F>) -> Vec<&'static str> {
    let names = g.workers[0].counters().into_iter().map(|(name, _)| name.split_once('.').unwrap_or(("", name)));
    names.filter(|(half, _)| *half != "nat44").map(|(_, bare)| bare).collect()
}

fn without(names: &[&'static str], others: &[&str]) -> Vec<&'static str> {
    names.iter().copied().filter(|name| !others.contains(name)).collect()
}

#[test]
fn each_page_names_every_counter_of_its_function() {
    for (page, text, counted) in [
        ("nat44", page!("nat44"), plane::nat44::counters::NAMES.to_vec()),
        ("nat64", page!("nat64"), beside_nat44(&nat64::set_up::nat64(&nat64::set_up::config()))),
        ("ds-lite", page!("ds-lite"), beside_nat44(&aftr::set_up::aftr(&aftr::set_up::config()))),
        ("natxy", page!("natxy"), beside_nat44(&natxy::bench::nat66(&natxy::bench::config()))),
        ("lw4o6", page!("lw4o6"), without(EVENTS, NOT_OF_LW4O6)),
        ("map-t", page!("map-t"), without(EVENTS, NOT_OF_MAP_T)),
        ("map-e", page!("map-e"), without(EVENTS, NOT_OF_MAP_E)),
        ("siit", page!("siit"), without(EVENTS, NOT_OF_TRANSLATORS)),
        // A CLAT's hosts are its IPv4 side, where nothing is turned round.
        ("464xlat", page!("464xlat"), without(EVENTS, &[NOT_OF_TRANSLATORS, &["hairpinned"]].concat())),
        ("ipv6-forwarding", page!("ipv6-forwarding"), plane::router6::NAMES.to_vec()),
    ] {
        let missing = without(&counted, &names(text).into_iter().collect::<Vec<_>>());
        assert!(missing.is_empty(), "docs/technologies/{page}.md does not mention {missing:?}");
    }
}

#[test]
fn no_page_of_map_names_what_is_not_counted() {
    for (page, text, others) in [("map-t", page!("map-t"), NOT_OF_MAP_T), ("map-e", page!("map-e"), NOT_OF_MAP_E)] {
        let named: Vec<_> = others.iter().filter(|name| names(text).contains(*name)).collect();
        assert!(named.is_empty(), "docs/technologies/{page}.md mentions {named:?}");
    }
}

/// What the page of 464XLAT says of its PLAT are counters of a NAT64, and of its CLAT, those of the same translator.
#[test]
fn the_page_of_464xlat_names_nothing_that_is_not_counted() {
    let g = nat64::set_up::nat64(&nat64::set_up::config());
    let counted: Vec<_> = g.workers[0].counters().iter().map(|(n, _)| n.rsplit('.').next().unwrap()).collect();
    for name in names(page!("464xlat")).iter().filter(|n| n.contains('-')) {
        assert!(counted.contains(name), "docs/technologies/464xlat.md: nothing counts `{name}`");
    }
}

/// A frame with the Ethernet header of this link, if the page shows the packet alone.
fn framed(sent: &[u8], to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
    let kind: &[u8] = match sent[0] >> 4 {
        4 => &[8, 0],
        6 => &[0x86, 0xdd],
        _ => return sent.to_vec(),
    };
    [&to, &from, kind, sent].concat()
}

/// The packet number `n` of a page goes through a gateway as it shows, but for octets that cannot be predicted.
fn goes_through<F: Function>(mut g: Bed<F>, page: &str, n: usize, unpredictable: &[usize]) {
    let [sent, want] = packet(page, n);
    let mut out = g.out(&framed(&sent, CUSTOMER_MAC, CUSTOMER_HOP));
    let want = framed(&want, INTERNET_HOP, INTERNET_MAC);
    for &at in unpredictable {
        out[at] = want[at];
    }
    assert_eq!(out[..want.len()], want);
}

fn pool(first: [u8; 4]) -> Vec<AddrRange> {
    vec![AddrRange::one(first.into())]
}

fn pool6() -> Pool6 {
    Pool6::new(Prefix6 { addr: "2001:2:0:200::1".parse().unwrap(), len: 128 }).unwrap()
}

#[test]
fn the_packet_of_nat44() {
    goes_through(nat44::gateway::gateway(nat44::gateway::config()), page!("nat44"), 0, &[]);
}

/// Identification and header checksum are other ones each time.
#[test]
fn the_packet_of_nat64() {
    let mut c = nat64::set_up::config();
    c.pref64 = vec![Prefix6 { addr: "2001:2:0:64::".parse().unwrap(), len: 96 }];
    c.nat.internet.address = [198, 19, 255, 254].into();
    c.nat.pool = pool([198, 19, 0, 1]);
    goes_through(nat64::set_up::nat64(&c), page!("nat64"), 0, &[18, 19, 24, 25]);
}

#[test]
fn the_packet_of_ds_lite() {
    let mut c = aftr::set_up::config();
    c.customer.address = "2001:2::1".parse().unwrap();
    c.nat.internet.address = [198, 19, 255, 254].into();
    c.nat.pool = pool([198, 19, 0, 1]);
    goes_through(aftr::set_up::aftr(&c), page!("ds-lite"), 0, &[]);
}

#[test]
fn the_packet_of_nat66() {
    let mut c = natxy::bench::config();
    c.pool = pool6();
    goes_through(natxy::bench::nat66(&c), page!("natxy"), 0, &[]);
}

#[test]
fn the_packet_of_nat46() {
    let mut c = natxy::nat46::config();
    c.pool = pool6();
    c.maps[0].v6 = Prefix6 { addr: "2001:2:0:3000::".parse().unwrap(), len: 120 };
    goes_through(natxy::nat46::nat46(&c, 1), page!("natxy"), 1, &[]);
}

#[test]
fn the_packet_of_siit() {
    let [sent, want] = packet(page!("siit"), 0);
    assert_eq!((sent.len(), want.len()), (14 + 32, 14 + 52));
    assert_eq!(translator::bed(|_| {}).to6(&sent), want);
}

#[test]
fn the_packet_of_464xlat() {
    let v4 = Prefix4 { addr: [198, 18, 0, 0].into(), len: 24 };
    let v6 = Prefix6 { addr: "2001:2:0:2::".parse().unwrap(), len: 120 };
    let plat = Pref64::new(Prefix6 { addr: "2001:2:0:64::".parse().unwrap(), len: 96 }, false).unwrap();
    let mut c = translator::config();
    c.ipv6 = Side::Internet;
    let mut clat = translator::with(c, Clat::new(Hosts::Pair(Pair { v4, v6 }), plat).unwrap());
    let [sent, want] = packet(page!("464xlat"), 0);
    assert_eq!((sent.len(), want.len()), (32, 52));
    assert_eq!(clat.to6(&framed(&sent, V4.own, V4.hop)), framed(&want, V6.hop, V6.own));
}
