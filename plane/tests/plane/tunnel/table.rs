//! The binding table: reading it from text, and look-ups against a plain list of softwires.

use plane::event::Event;
use plane::lw4o6::{BindingTable, BindingTableBuilder, Softwire, read};
use plane::{Point4, Softwires};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::PortSet;

const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xaf, 0, 0, 0, 0, 1);

fn load(text: &str) -> Result<BindingTable, String> {
    read("softwires.txt", OWN, text.as_bytes()).map_err(|e| e.to_string())
}

fn fault(text: &str) -> String {
    load(text).err().expect("an error")
}

#[test]
fn a_table_is_read() {
    let t = load(
        "# softwires\n\n2001:db8:b4::1 192.0.2.1 5/6\t2001:db8:af::2\r\n  2001:db8:b4::2\t192.0.2.1  6/6 # comment\n\
         2001:db8:b4::3 192.0.2.2 52/8@6\n2001:db8:b4::4 192.0.2.3",
    )
    .unwrap();
    let seen: Vec<String> = t
        .iter()
        .map(|s| format!("{} {} {}/{}@{} {}", s.b4, s.ipv4, s.ports.psid, s.ports.len, s.ports.offset, s.own.unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            "2001:db8:b4::1 192.0.2.1 5/6@0 2001:db8:af::2",
            "2001:db8:b4::2 192.0.2.1 6/6@0 2001:db8:af::1",
            "2001:db8:b4::3 192.0.2.2 52/8@6 2001:db8:af::1",
            "2001:db8:b4::4 192.0.2.3 0/0@0 2001:db8:af::1",
        ]
    );
    assert_eq!((t.len(), load("").unwrap().len()), (4, 0));
}

#[test]
fn every_mistake_has_its_place_and_reason() {
    let ok = "2001:db8:b4::1 192.0.2.1 5/6\n";
    for (line, want) in [
        ("2001:db8::g 192.0.2.2", "line 2, column 1: `2001:db8::g` as the lwB4's IPv6 address: not an IPv6 address"),
        ("ff02::1 192.0.2.2", "column 1: `ff02::1` as the lwB4's IPv6 address: no lwB4 can have this address"),
        ("fe80::b4 192.0.2.2", "column 1: `fe80::b4` as the lwB4's IPv6 address: no lwB4 can have this address"),
        ("2001:db8::2 192.0.2.2 5/6 fe80::1", "`fe80::1` as the lwAFTR's IPv6 address: no lwAFTR can have"),
        ("2001:db8::2", "line 2: the IPv4 address is missing"),
        ("2001:db8::2 192.0.2", "column 13: `192.0.2` as the IPv4 address: not an IPv4 address"),
        ("2001:db8::2 224.0.0.1", "`224.0.0.1` as the IPv4 address: no host can have this address"),
        ("2001:db8::2 192.0.2.2 64/6", "column 23: `64/6` as the port set: PSID 64 does not fit the 6 bits"),
        ("2001:db8::2 192.0.2.2 70000/16", "PSID 70000 does not fit the 16 bits"),
        ("2001:db8::2 192.0.2.2 1/9@8", "`1/9@8` as the port set: a PSID offset of 8 and a PSID length of 9 need more"),
        ("2001:db8::2 192.0.2.2 1/17", "numbers of bits, 16 together at most"),
        ("2001:db8::2 192.0.2.2 5", "not of the form PSID/length"),
        ("2001:db8::2 192.0.2.2 +5/6", "not of the form PSID/length"),
        ("2001:db8::2 192.0.2.2 5/6 nobody", "`nobody` as the lwAFTR's IPv6 address: not an IPv6 address"),
        ("2001:db8::2 192.0.2.2 5/6 ::1", "`::1` as the lwAFTR's IPv6 address: no lwAFTR can have"),
        ("2001:db8::2 192.0.2.2 5/6 2001:db8::1 x", "column 39: `x` as a fifth word: more words than a softwire has"),
        ("2001:db8::2 192.0.2.1 5/6", "line 2: PSID 5 of 192.0.2.1 is already assigned in line 1"),
        (
            "2001:db8::2 192.0.2.1 5/7",
            "line 2: the port set of 192.0.2.1 has length 7 and offset 0, and that in line 1 has length 6 and offset 0",
        ),
        (
            "2001:db8::2 192.0.2.1",
            "line 2: the port set of 192.0.2.1 has length 0 and offset 0, and that in line 1 has length 6",
        ),
    ] {
        let e = fault(&format!("{ok}{line}\n2001:db8:b4::9 192.0.2.9\n"));
        assert!(e.starts_with("softwires.txt, line 2") && e.contains(want) && e.contains("nothing was loaded"), "{e}");
    }
    let long = format!("{ok}{} 192.0.2.2\n", "2001:db8::2".repeat(200));
    assert!(fault(&long).contains("line 2: longer than 1024 octets"), "{}", fault(&long));
    let e = read("softwires.txt", OWN, &b"2001:db8::1 \xff"[..]).err().unwrap().to_string();
    assert!(e.contains("line 1: octet 0xff in column 13 is no text"), "{e}");
}

/// The place of a mistake is right wherever buffers end; nothing longer than a line is kept.
#[test]
fn lines_cross_buffers() {
    let line = |i: u32| format!("2001:db8::{:x} {} {}/4", i + 1, Ipv4Addr::from_bits(0x0a00_0000 + (i >> 4)), i & 15);
    let text = (0..2000).map(line).collect::<Vec<_>>().join("\n") + "\n";
    for size in [7, 64, 1000] {
        let t = read("t", OWN, BufReader::with_capacity(size, text.as_bytes())).unwrap();
        assert_eq!(t.len(), 2000);
        let bad = text.clone() + "nonsense here\n";
        let e = read("t", OWN, BufReader::with_capacity(size, bad.as_bytes())).err().unwrap().to_string();
        assert!(e.starts_with("t, line 2001, column 1: `nonsense`"), "{e}");
    }
    let endless = BufReader::new(std::io::repeat(b'x').take(1 << 20));
    assert!(read("t", OWN, endless).err().unwrap().to_string().contains("line 1: longer than"));
}

#[test]
fn line_numbers_are_right_far_down() {
    let above = std::io::repeat(b'\n').take(6_999_999);
    let e = read("t", OWN, BufReader::new(above.chain(&b"2001:db8::1 192.0.2.256\n"[..]))).err().unwrap().to_string();
    assert!(e.starts_with("t, line 7000000, column 13: `192.0.2.256` as the IPv4 address"), "{e}");
}

#[test]
fn a_reader_that_fails_is_named() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }
    let e = read("t", OWN, BufReader::new(Broken)).err().unwrap().to_string();
    assert!(e.contains("reading t after line 0: disk on fire"), "{e}");
}

/// Sixteen octets a softwire where addresses are full, and never more than a few times that.
#[test]
fn memory_follows_the_number_of_softwires() {
    let of = |n: u32, bits: u8, every: u32| {
        let mut b = BindingTableBuilder::new("t", OWN);
        for i in 0..n {
            let (ipv4, psid) =
                (Ipv4Addr::from_bits(0x0a00_0000 + ((i * every) >> bits)), ((i * every) & ((1 << bits) - 1)) as u16);
            let ports = PortSet { offset: 0, len: bits, psid };
            b.add(&Softwire { b4: Ipv6Addr::from_bits(0x2001 << 112 | u128::from(i + 1)), ipv4, ports, own: None })
                .unwrap();
        }
        b.build().unwrap().bytes() as f64 / f64::from(n)
    };
    // Two megabytes are the least that an array takes.
    assert!(of(1_000_000, 6, 1) < 17.5, "{}", of(1_000_000, 6, 1));
    assert!(of(400_000, 6, 3) < 60.0);
    assert!(of(200_000, 12, 1000) < 50.0, "{}", of(200_000, 12, 1000));
}

fn plainly(list: &[Softwire], addr: u32, port: Option<u16>) -> Option<Ipv6Addr> {
    let has = |s: &&Softwire| s.ipv4.to_bits() == addr && port.map_or(s.ports == PortSet::ALL, |p| s.ports.contains(p));
    list.iter().find(has).map(|s| s.b4)
}

fn softwires() -> impl Strategy<Value = Vec<Softwire>> {
    let shape =
        prop_oneof![Just((0u8, 0u8)), (0u8..3, 1u8..5), (0u8..7, 4u8..10), Just((0, 16)), Just((16, 0)), Just((6, 8))];
    let address = prop_oneof![8 => 0u32..6, 2 => 0xfffe..0x1_0002u32, 1 => 0x0100_0000..0x0100_0003u32];
    let one = (address, any::<u16>(), prop::bool::weighted(0.2));
    (prop::collection::vec(one, 0..200), prop::collection::vec(shape, 8)).prop_map(|(many, shapes)| {
        let mut by_key = BTreeMap::new();
        for (i, (a, psid, second)) in many.into_iter().enumerate() {
            let (offset, len) = shapes[a as usize % 8];
            let psid = (u32::from(psid) & ((1 << len) - 1)) as u16;
            let own = second.then(|| Ipv6Addr::from_bits(OWN.to_bits() + 1));
            let b4 = Ipv6Addr::from_bits(0x2001_0db8 << 96 | (i as u128 + 1));
            let ipv4 = Ipv4Addr::from_bits(0x0a00_0000 + a);
            by_key.insert((a, psid), Softwire { b4, ipv4, ports: PortSet { offset, len, psid }, own });
        }
        by_key.into_values().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn look_ups_agree_with_a_plain_list(
        list in softwires(),
        strange in prop::collection::vec((0u32..0x1_0010, prop::option::of(any::<u16>())), 50),
        order in any::<u64>(),
    ) {
        let mut shuffled: Vec<_> = list.iter().collect();
        let mut state = order;
        shuffled.sort_by_cached_key(|_| plane::hash::splitmix(&mut state));
        let mut b = BindingTableBuilder::new("t", OWN);
        for s in shuffled {
            b.add(s).unwrap();
        }
        let t = b.build().unwrap();
        let mut t = &t;
        prop_assert_eq!(t.len(), list.len() as u64);
        let remote = Point4 { addr: 1, port: Some(1) };
        // Each softwire, by its first and last port, both ways.
        for s in &list {
            let own = s.own.unwrap_or(OWN).to_bits();
            for j in [0, s.ports.count() - 1] {
                let p = Point4 { addr: s.ipv4.to_bits(), port: Some(s.ports.nth(j)) };
                let w = t.wrap(p, remote).unwrap();
                prop_assert_eq!((w.src, w.dst, w.customer), (own, s.b4.to_bits(), p.addr));
                prop_assert_eq!(t.unwrap(s.b4.to_bits(), own, p, remote), Ok(p.addr));
                prop_assert_eq!(t.unwrap(s.b4.to_bits() ^ 1 << 64, own, p, remote), Err(Event::Spoofed));
            }
            prop_assert!(t.serves(s.ipv4.to_bits()));
        }
        // Anything else, as the list says.
        for (a, port) in strange {
            let p = Point4 { addr: 0x0a00_0000 + a, port };
            let want = plainly(&list, p.addr, port).map(Ipv6Addr::to_bits);
            prop_assert_eq!(t.wrap(p, remote).ok().map(|w| w.dst), want, "{:?}", p);
            prop_assert_eq!(t.serves(p.addr), list.iter().any(|s| s.ipv4.to_bits() == p.addr));
        }
        // A table of a table is the same.
        let again = BindingTableBuilder::from_table("again", t).build().unwrap();
        prop_assert!(again.iter().eq(t.iter()));
        prop_assert_eq!(t.iter().count(), list.len());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-f:./@# \t\n\r]{0,200}") {
        let _ = read("t", OWN, text.as_bytes());
    }
}

/// RFC 7596, section 6.2: no softwire may have one of the lwAFTR's own addresses, or the gateway's IPv4 address,
/// because packets to it never enter a tunnel. This also holds for changes of a table.
#[test]
fn no_softwire_has_an_address_of_the_gateway() {
    let own4 = Ipv4Addr::new(192, 0, 2, 254);
    let at = |text: &str| {
        let gateway = [own4.into(), "2001:db8:af::99".parse().unwrap()];
        plane::lw4o6::read_into(
            BindingTableBuilder::new("softwires.txt", OWN).with_gateway_addresses(&gateway),
            text.as_bytes(),
        )
    };
    let other = "2001:db8:b4::1 192.0.2.1 5/6 2001:db8:af::2";
    for (line, want) in [
        (
            "2001:db8:af::1 192.0.2.2",
            "line 1: 2001:db8:af::1 as the lwB4's IPv6 address: this is an address of the lwAFTR",
        ),
        (
            "2001:db8:af::2 192.0.2.2",
            "line 1: 2001:db8:af::2 as the lwB4's IPv6 address: this is an address of the lwAFTR",
        ),
        ("2001:db8:af::99 192.0.2.2", "line 1: 2001:db8:af::99 as the lwB4's"),
        ("2001:db8:b4::2 192.0.2.254", "line 1: 192.0.2.254 as the IPv4 address: this is the gateway's own"),
    ] {
        let e = at(&format!("{line}\n{other}\n")).err().expect("an error").to_string();
        assert!(e.contains(want) && e.contains("nothing was loaded"), "{e}");
    }
    let table = at(other).unwrap();
    let own = |t: &BindingTable| {
        ["2001:db8:af::1", "2001:db8:af::2", "2001:db8:af::99"]
            .map(|a| (&*t).is_own(a.parse::<Ipv6Addr>().unwrap().to_bits()))
    };
    assert_eq!(own(&table), [true; 3]);
    for (b4, ipv4) in [(OWN, Ipv4Addr::new(192, 0, 2, 2)), ("2001:db8:b4::2".parse().unwrap(), own4)] {
        let mut changed = BindingTableBuilder::from_table("changed", &table);
        changed.add(&Softwire { b4, ipv4, ports: PortSet::ALL, own: None }).unwrap();
        let e = changed.build().err().expect("an error").to_string();
        assert!(e.starts_with("changed, line 2: ") && e.contains("own") | e.contains("itself"), "{e}");
    }
    assert_eq!(own(&BindingTableBuilder::from_table("again", &table).build().unwrap()), [true; 3]);
}
