//! The page about NATxy and the code must agree: names of counters, and packets, whose checksums a separate program has
//! computed (RFC 1071 in Python).

use crate::natxy::bench::*;
use plane::{Function, Pool6};
use testbed::prelude::*;
use wire::Prefix6;

const PAGE: &str = include_str!("../../../../docs/technologies/natxy.md");

#[test]
fn the_page_names_every_counter() {
    for (name, _) in nat66(&config()).workers[0].counters() {
        assert!(testbed::page::names(PAGE).contains(name), "`{name}` is not mentioned");
    }
}

fn with_pool() -> Pool6 {
    Pool6::new(Prefix6 { addr: "2001:2:0:200::1".parse().unwrap(), len: 128 }).unwrap()
}

#[test]
fn the_packet_of_nat66() {
    let mut c = config();
    c.pool = with_pool();
    let headers = [CUSTOMER_MAC, CUSTOMER_HOP].concat();
    let packet = "6a512345 000c 11 40 20010002000000000000000000000002 200100020000100000000000c6130002
                  1388 0050 000c d1da 01020304"
        .replace('\n', "");
    let frame = [headers, hex("86dd"), hex(&packet)].concat();
    let out = nat66(&c).out(&frame);
    let want = "6a512345 000c 11 3f 20010002000002000000000000000001 200100020000100000000000c6130002
                1388 0050 000c cfdb 01020304"
        .replace('\n', "");
    assert_eq!(out[14..], hex(&want));
}

#[test]
fn the_packet_of_nat46() {
    let mut c = crate::natxy::nat46::config();
    c.pool = with_pool();
    c.maps[0].v6 = Prefix6 { addr: "2001:2:0:3000::".parse().unwrap(), len: 120 };
    let headers = [CUSTOMER_MAC, CUSTOMER_HOP].concat();
    let packet = "45 00 0020 1234 4000 40 11 9c6f c6120002 c6130002 1388 0050 000c 5bce 01020304";
    let frame = [headers, hex("0800"), hex(packet)].concat();
    let out = crate::natxy::nat46::nat46(&c, 1).out(&frame);
    let want = "60000000 000c 11 3f 20010002000002000000000000000001 20010002000030000000000000000002
                1388 0050 000c 75ef 01020304"
        .replace('\n', "");
    assert_eq!(out[14..], hex(&want));
}
