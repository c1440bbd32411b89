//! Quotas of subscribers that are prefixes (RFC 6888, REQ-4 and REQ-5): what NAT64 and NAT66 are held to alike.

use plane::nat44::config::Quota;
use std::net::{IpAddr, Ipv6Addr};

/// Nine ports, or nine sessions.
pub fn of_nine(ports: bool) -> Quota {
    if ports { Quota { ports: Some(9), sessions: None } } else { Quota { sessions: Some(9), ports: None } }
}

/// A customer's address in one of the /64 of 2001:db8:1::/48.
pub fn host(net: u128, i: u128) -> IpAddr {
    Ipv6Addr::from_bits(0x2001_0db8_0001 << 80 | net << 64 | i).into()
}

/// What is configured.
pub struct Case {
    /// Workers.
    pub workers: usize,
    /// Length of a subscriber's prefix.
    pub prefix: u8,
    /// The quota of each.
    pub quota: Quota,
    /// Links steer packets to any worker.
    pub misled: bool,
}

/// One worker has all of a subscriber, whatever its addresses, and allows the whole quota. `opened` sends from an address and
/// port and wants a session, `refused` wants none.
pub fn one_however_many_workers<G>(
    gateway: impl Fn(&Case) -> G,
    opened: impl Fn(&mut G, IpAddr, u16),
    refused: impl Fn(&mut G, IpAddr, u16),
) {
    for (workers, prefix, hosts) in [(2, 64, 1), (3, 64, 9), (2, 60, 9), (3, 128, 1), (2, 7, 9)] {
        for (ports, misled) in [(true, false), (false, false), (true, true)] {
            let mut g = gateway(&Case { workers, prefix, quota: of_nine(ports), misled });
            let own = |p: u16| host(0, u128::from(1 + p % hosts));
            (0..9).for_each(|p| opened(&mut g, own(p), 5000 + p));
            (0..9).for_each(|p| refused(&mut g, own(p), 6000 + p));
            if prefix > 7 {
                opened(&mut g, "2001:db8:2::b".parse().unwrap(), 5000);
            }
        }
    }
}
