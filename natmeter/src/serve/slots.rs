//! Slots for connections: a number in all, and a smaller one for each address, so that no single host can take them all.
//! Localhost has only the limit of all, because tunnels and proxies of many users come from there.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open connections in all.
const CONNECTIONS: usize = 64;
/// Open connections of one address.
const OF_AN_ADDRESS: usize = 8;
/// The first 64 bits of an IPv6 address: the network prefix (RFC 4291, section 2.5.1). One host can have all addresses of it.
const NETWORK: u128 = !(u64::MAX as u128);

/// The open connections by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A slot among the open connections, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    host: IpAddr,
}

impl Slots {
    /// Takes a slot for a connection from an address; none if all are taken.
    pub(super) fn take(&self, address: IpAddr) -> Option<Slot> {
        let host = host(address);
        let mut open = self.open();
        let is_full = open.values().sum::<usize>() >= CONNECTIONS;
        let taken = open.get(&host).copied().unwrap_or(0);
        if is_full || (taken >= OF_AN_ADDRESS && !host.is_loopback()) {
            return None;
        }
        open.insert(host, taken + 1);
        Some(Slot { slots: self.clone(), host })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.open();
        if let Some(taken) = open.get_mut(&self.host) {
            *taken -= 1;
            if *taken == 0 {
                open.remove(&self.host);
            }
        }
    }
}

/// What counts as one host: an IPv4 address, or the network of an IPv6 address.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => Ipv6Addr::from_bits(v6.to_bits() & NETWORK).into(),
        canonical => canonical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(slots: &Slots, address: &str, wanted: usize) -> Vec<Slot> {
        (0..wanted).map_while(|_| slots.take(address.parse().unwrap())).collect()
    }

    #[test]
    fn one_host_has_eight_places() {
        let slots = Slots::default();
        let held = taken(&slots, "192.0.2.1", 64);
        assert_eq!(held.len(), 8);
        assert!(slots.take("::ffff:192.0.2.1".parse().unwrap()).is_none());
        assert_eq!(taken(&slots, "192.0.2.2", 64).len(), 8);
        // Hosts have many addresses in their IPv6 network.
        let first = taken(&slots, "2001:db8::1", 64);
        assert!(slots.take("2001:db8::2".parse().unwrap()).is_none());
        assert!(slots.take("2001:db8:0:1::2".parse().unwrap()).is_some());
        drop((held, first));
        assert_eq!(taken(&slots, "192.0.2.1", 64).len(), 8);
        assert!(slots.open().is_empty());
    }

    #[test]
    fn localhost_has_all_places() {
        for address in ["127.0.0.1", "::1"] {
            assert_eq!(taken(&Slots::default(), address, 100).len(), CONNECTIONS);
        }
    }
}
