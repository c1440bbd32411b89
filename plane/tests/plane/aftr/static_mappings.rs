//! Static mappings to hosts behind softwires, whose addresses may overlap (RFC 6333, section 8.3).

use crate::aftr::set_up::*;
use plane::Side::Customer;
use plane::aftr::{Aftr, Config};
use testbed::prelude::*;

/// Port 8000 + i leads to port 80 of the same host in home number i.
fn with(homes: std::ops::Range<u32>) -> Config {
    let of = |i: u32| format!("udp 192.0.2.1:{} -> {} 192.168.1.10:80", 8000 + i, b4(i)).parse().unwrap();
    Config { statics: homes.map(of).collect(), ..config() }
}

#[test]
fn sessions_count_for_the_softwire() {
    let mut c = with(1..2);
    c.nat.quota.sessions = Some(1);
    let mut g = aftr(&c);
    for _ in 0..2 {
        map(&mut g, b4(1), (HOST, 80));
        g.refused(Customer, &wrap(b4(1), &udp((HOST, 81), (REMOTE, 80))), "nat44.quota");
        g.clear();
    }
}

#[test]
fn mistakes_are_refused_by_name() {
    for (text, said) in [
        ("udp 192.0.2.9:80 -> 2001:db8:0:1::1 192.168.1.10:80", "192.0.2.9 is not an address of the pool"),
        ("udp 192.0.2.1:80 -> 2001:db8:ffff::1 192.168.1.10:80", "2001:db8:ffff::1 is the AFTR's own end"),
        ("udp 192.0.2.1:80 -> 2001:db9::1 192.168.1.10:80", "2001:db9::1 lies in no prefix of `softwires`"),
        ("udp 192.0.2.1:80 -> 2001:db8:0:1::1 192.0.0.1:80", "192.0.0.1 is not an address that a host"),
    ] {
        let mut c = Config { statics: vec![text.parse().unwrap()], ..config() };
        c.softwires = vec![prefix6("2001:db8::/32")];
        let e = Aftr::new(c, 0, 1, 1).err().unwrap().to_string();
        assert!(e.starts_with(&format!("AFTR configuration, static: `{text}`: ")) && e.contains(said), "{e}");
    }
    let e = "udp 192.0.2.1:80 -> 192.168.1.10:80".parse::<plane::nat44::config::StaticMapping<plane::aftr::Host>>();
    assert!(e.unwrap_err().to_string().contains("2001:db8::2 192.168.1.2:80"));
}
