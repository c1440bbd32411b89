//! Slots for connections: a number in all, and a smaller one for each host, so that no single one can take them all. Localhost
//! has only the limit of all, because tunnels and proxies of many users come from there.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Weak};

/// Open connections in all.
const CONNECTIONS: usize = 64;
/// Open connections of one host.
const OF_A_HOST: usize = 8;
/// The network prefix of an IPv6 address (RFC 4291, section 2.5.1). One host can have all addresses of it.
const NETWORK: u128 = !(u64::MAX as u128);

#[derive(Debug, Default)]
pub(super) struct Slots(Vec<Weak<IpAddr>>);

impl Slots {
    /// Takes a slot for a connection from an address, until it is dropped; none if all are taken.
    pub(super) fn take(&mut self, address: IpAddr) -> Option<Arc<IpAddr>> {
        self.0.retain(|slot| slot.strong_count() > 0);
        let slot = Arc::new(host(address));
        let of_host = self.0.iter().filter_map(Weak::upgrade).filter(|other| *other == slot).count();
        if self.0.len() >= CONNECTIONS || (of_host >= OF_A_HOST && !slot.is_loopback()) {
            return None;
        }
        self.0.push(Arc::downgrade(&slot));
        Some(slot)
    }
}

/// An IPv4 address, or the network of an IPv6 address.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => Ipv6Addr::from_bits(v6.to_bits() & NETWORK).into(),
        canonical => canonical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_eight_slots_and_localhost_all() {
        let mut slots = Slots::default();
        // A host can have all addresses of an IPv6 network.
        for [one, other] in [["192.0.2.1", "::ffff:192.0.2.1"], ["2001:db8::1", "2001:db8::2"]] {
            let mut take = |address: &str| slots.take(address.parse().unwrap());
            let all: Vec<_> = [one, other].iter().cycle().map_while(|address| take(address)).collect();
            assert_eq!(all.len(), OF_A_HOST, "{one}");
            assert!(take("2001:db8:0:1::1").is_some());
        }
        let localhost = ["127.0.0.1", "::1"].map(|address| address.parse().unwrap());
        let all: Vec<_> = localhost.into_iter().cycle().map_while(|address| slots.take(address)).collect();
        assert_eq!(all.len(), CONNECTIONS);
    }
}
