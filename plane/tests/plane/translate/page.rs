//! The pages about SIIT and the CLAT, and the code: the same events, and packets as shown, with checksums computed by
//! hand (RFC 1071).

use crate::translate::bed::*;
use crate::translate::packets::{V4, V6};
use plane::Side;
use plane::translate::{Clat, Hosts, Pair, Pref64};
use testbed::page::{names, packet};
use wire::{Prefix4, Prefix6};

const SIIT: &str = include_str!("../../../../docs/technologies/siit.md");
const XLAT464: &str = include_str!("../../../../docs/technologies/464xlat.md");

/// Counters that a translator of its own never touches: they belong to tunnels, port sets, state and fragment stores.
const OTHERS: [&str; 15] = [
    "handed-over",
    "reassembled",
    "fragment-held",
    "spoofed-source",
    "outside-port-set",
    "unknown-softwire",
    "not-a-tunnel-packet",
    "table-full",
    "fragment-store-full",
    "fragment-overlap",
    "fragment-late",
    "ecn-not-capable",
    "hairpin-off",
    "icmp-filtered",
    "icmp-relayed",
];

#[test]
fn the_page_names_every_event() {
    for name in plane::event::NAMES.iter().filter(|n| !OTHERS.contains(n)) {
        assert!(names(SIIT).contains(name), "docs/technologies/siit.md does not mention `{name}`");
    }
}

/// All but `hairpinned`: a CLAT's hosts are its IPv4 side, where nothing is turned round.
#[test]
fn the_page_of_464xlat_names_every_event_of_a_clat() {
    for name in plane::event::NAMES.iter().filter(|n| !OTHERS.contains(n) && **n != "hairpinned") {
        assert!(names(XLAT464).contains(name), "docs/technologies/464xlat.md does not mention `{name}`");
    }
}

#[test]
fn the_packet_of_the_page_about_siit() {
    let [sent, want] = packet(SIIT);
    assert_eq!((sent.len(), want.len()), (14 + 32, 14 + 52));
    assert_eq!(bed(|_| {}).to6(&sent), want);
}

#[test]
fn the_packet_of_the_page_about_464xlat() {
    let v4 = Prefix4 { addr: [198, 18, 0, 0].into(), len: 24 };
    let v6 = Prefix6 { addr: "2001:2:0:2::".parse().unwrap(), len: 120 };
    let plat = Pref64::new(Prefix6 { addr: "2001:2:0:64::".parse().unwrap(), len: 96 }, false).unwrap();
    let mut c = config();
    c.ipv6 = Side::Internet;
    let mut clat = with(c, Clat::new(Hosts::Pair(Pair { v4, v6 }), plat).unwrap());
    let [sent, want] = packet(XLAT464);
    assert_eq!((sent.len(), want.len()), (32, 52));
    let framed = |to: [u8; 6], from: [u8; 6], kind: [u8; 2], packet: &[u8]| [&to, &from, &kind[..], packet].concat();
    let sent = framed(V4.own, V4.hop, [8, 0], &sent);
    assert_eq!(clat.to6(&sent), framed(V6.hop, V6.own, [0x86, 0xdd], &want));
}
