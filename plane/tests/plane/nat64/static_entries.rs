//! Static entries of the binding information base (RFC 6146, sections 3.1 and 3.5); `stateful` has the rest.

use crate::nat64::set_up::*;
use plane::Side::Customer;
use plane::nat64::{Config, Nat64};
use testbed::prelude::*;

fn with(statics: &[&str]) -> Config {
    Config { statics: statics.iter().map(|s| s.parse().unwrap()).collect(), ..config() }
}

const DNS: &str = "udp 192.0.2.1:53 -> [2001:db8:1::a]:5353";

/// RFC 6888, REQ-5: what the host of a static entry opens counts for its subscriber, whether it is cleared or not.
#[test]
fn sessions_below_static_entries_count_for_the_subscriber() {
    let mut c = with(&[DNS]);
    c.nat.quota.sessions = Some(2);
    let mut g = nat64(&c);
    for _ in 0..2 {
        map(&mut g, (A, 5353), (REMOTE, 80));
        map(&mut g, (ip("2001:db8:1::ffff"), 5000), (REMOTE, 80));
        g.refused(Customer, &udp((A, 5353), (x(REMOTE), 81)), "nat44.quota");
        map(&mut g, (B, 5000), (REMOTE, 80));
        g.clear();
    }
}

#[test]
fn mistakes_are_refused_by_name() {
    for (statics, said) in [
        (&["udp 192.0.2.2:53 -> [2001:db8:1::a]:53"][..], "192.0.2.2 is not an address of the pool"),
        (&["udp 192.0.2.1:53 -> [2001:db8:64::a]:53"], "2001:db8:64::a lies in 2001:db8:64::/96"),
        (&["udp 192.0.2.1:53 -> [2001:db8:ffff::1]:53"], "2001:db8:ffff::1 is the gateway's own address"),
        (&["udp 192.0.2.1:53 -> [ff02::1]:53"], "ff02::1 is not an address that a customer can have"),
        (&["udp 192.0.2.1:53 -> [2001:db8:3::1]:53"], "2001:db8:3::1 lies in no prefix of the customers"),
        (&[DNS, "udp 192.0.2.1:53 -> [2001:db8:2::b]:53"], "have an outside port in common"),
        (&[DNS, "udp 192.0.2.1:54 -> [2001:db8:1::a]:5353"], "[2001:db8:1::a]:5353` have an inside port in common"),
    ] {
        let inside = ["2001:db8:1::/48", "2001:db8:2::/48", "2001:db8:64::/48"].map(prefix6).to_vec();
        let e = Nat64::new(Config { inside, ..with(statics) }, 0, 1, 1).err().unwrap().to_string();
        assert!(e.starts_with("NAT64 configuration, static: `") && e.contains(said), "{e}");
    }
}
