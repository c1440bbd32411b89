//! RFC 6791: ICMPv6 errors of routers that have no IPv4 address.

use crate::translate::bed::*;
use crate::translate::packets::*;
use plane::translate::{Eam, Siit, eam};
use wire::AddrRange;

fn errors(b: &mut Bed<Siit>, routers: std::ops::Range<u16>) -> Vec<String> {
    let out = b.to6(&udp4(b"x"));
    routers
        .map(|r| {
            let error = icmp6_of(&format!("2001:db8:9::{r:x}"), THERE6, 3, 0, [0; 4], &out[14..]);
            judge(&b.to4(&error)).src
        })
        .collect()
}

#[test]
fn rfc6791_the_pool_stands_for_routers() {
    let pool = [AddrRange { first: [192, 0, 2, 8].into(), count: 3 }, AddrRange::one([192, 0, 2, 99].into())];
    let mut b = bed(|c| c.icmp_sources = pool.to_vec());
    let first = errors(&mut b, 1..100);
    let mut used = first.clone();
    used.sort();
    used.dedup();
    assert_eq!(used, ["192.0.2.10", "192.0.2.8", "192.0.2.9", "192.0.2.99"], "all of the pool, and nothing else");
    assert_eq!(errors(&mut b, 1..100), first, "a router keeps its address");
}

#[test]
fn without_a_pool_the_translator_stands_for_routers() {
    let mut b = bed(|_| {});
    assert_eq!(errors(&mut b, 1..3), ["198.51.100.254", "198.51.100.254"]);
}

#[test]
fn a_router_with_an_address_keeps_it() {
    let mut b = bed(|c| c.icmp_sources = vec![AddrRange::one([192, 0, 2, 8].into())]);
    let out = b.to6(&udp4(b"x"));
    let error = icmp6_of("2001:db8:64::198.51.100.77", THERE6, 3, 0, [0; 4], &out[14..]);
    assert_eq!(judge(&b.to4(&error)).src, "198.51.100.77");
}

#[test]
fn other_packets_of_routers_are_refused() {
    let mut b = bed(|c| c.icmp_sources = vec![AddrRange::one([192, 0, 2, 8].into())]);
    b.refused(true, &icmp6_of(ROUTER6, THERE6, 128, 0, [0; 4], b"ping"), "source-unmapped");
}

#[test]
fn over_ipv6_the_translator_stands_for_routers_without_map() {
    let maps = "198.51.100.10 2001:db8:a::10\n203.0.113.7 2001:db8:b::7";
    let maps = Eam::new(&eam::parse(maps.lines()).unwrap(), false).unwrap();
    let mut b = with(config(), Siit::new(Some(maps), None));
    let out = b.to4(&udp6_of("2001:db8:a::10", "2001:db8:b::7", 64, b"x"));
    let back = b.to6(&icmp4_of([192, 0, 2, 1], HERE4, 11, 0, [0; 4], &out[14..]));
    assert_eq!((judge(&back).src.as_str(), judge(&back).dst.as_str()), ("2001:db8:1::1", "2001:db8:a::10"));
}
