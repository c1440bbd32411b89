//! Any text as a binding table, in chunks of any length: a table whose softwires are found in both directions, or a mistake
//! with its line; the chunks never matter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plane::lw4o6::{Softwire, read};
use plane::{Softwires, strategy::Point4};
use std::io::BufReader;
use std::net::Ipv6Addr;

const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1);

fuzz_target!(|input: (u8, &[u8])| {
    let (chunk, text) = input;
    let whole = read("table", OWN, text);
    let pieces = read("table", OWN, BufReader::with_capacity(1 + usize::from(chunk), text));
    let table = match (whole, pieces) {
        (Ok(table), Ok(other)) => {
            assert_eq!(table.len(), other.len());
            table
        }
        (Err(a), Err(b)) => {
            assert_eq!(a.to_string(), b.to_string());
            return;
        }
        (a, b) => panic!("chunks matter: {:?} and {:?}", a.map(|t| t.len()), b.map(|t| t.len())),
    };
    let all: Vec<Softwire> = table.iter().take(200).collect();
    assert_eq!(all.len() as u64, table.len().min(200));
    for s in all {
        let port = s.ports.nth(0);
        let customer = Point4 { addr: s.ipv4.into(), port: Some(port) };
        let remote = Point4 { addr: 0xcb00_7107, port: Some(80) };
        let wrap = (&table).wrap(customer, remote).expect("every softwire is found");
        assert_eq!((wrap.dst, wrap.customer), (s.b4.to_bits(), customer.addr));
        assert_eq!((&table).unwrap(wrap.dst, wrap.src, customer, remote), Ok(customer.addr));
    }
});
