//! Addresses of a CLAT (RFC 6877, section 6.3): its hosts by their dedicated prefix, others by the PLAT's prefix.

use super::eam::Pair;
use super::prefix::Pref64;
use crate::event::Event;
use crate::strategy::{Addressing, End, Point4};

/// How a CLAT's hosts appear in the IPv6 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Hosts behind a prefix of RFC 6052.
    Prefix(Pref64),
    /// An IPv4 prefix as an IPv6 prefix, such as 192.168.0.0/24 as a /120.
    Pair(Pair),
}

/// The two prefixes of a CLAT.
#[derive(Clone, Copy, Debug)]
pub struct Clat {
    hosts: Hosts,
    remote: Pref64,
}

impl Clat {
    /// Hosts' prefix and PLAT's.
    ///
    /// # Errors
    /// What is wrong with the pair of prefixes.
    pub fn new(hosts: Hosts, remote: Pref64) -> Result<Clat, String> {
        match hosts {
            Hosts::Pair(pair) => pair.fault().map_or(Ok(Clat { hosts, remote }), |why| Err(format!("{pair}: {why}"))),
            Hosts::Prefix(p) if p == remote => {
                Err(format!("{p} is the prefix of the PLAT; a CLAT needs one of its own for its hosts"))
            }
            Hosts::Prefix(_) => Ok(Clat { hosts, remote }),
        }
    }
}

impl Addressing for Clat {
    #[inline(always)]
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event> {
        match (end, &self.hosts) {
            (End::Remote, _) => self.remote.to_ipv6(point.addr),
            (End::Customer, Hosts::Prefix(p)) => p.to_ipv6(point.addr),
            (End::Customer, Hosts::Pair(pair)) if pair.v4.contains(point.addr) => Ok(pair.to_ipv6(point.addr)),
            (End::Customer, Hosts::Pair(_)) => Err(Event::SourceUnmapped),
        }
    }

    #[inline(always)]
    fn to_ipv4(&mut self, end: End, addr: u128, _: Option<u16>) -> Result<u32, Event> {
        match (end, &self.hosts) {
            (End::Remote, _) => self.remote.to_ipv4(addr)?.ok_or(Event::SourceUnmapped),
            (End::Customer, Hosts::Prefix(p)) => p.to_ipv4(addr)?.ok_or(Event::DestinationUnmapped),
            (End::Customer, Hosts::Pair(pair)) if pair.v6.contains(addr) => Ok(pair.to_ipv4(addr)),
            (End::Customer, Hosts::Pair(_)) => Err(Event::DestinationUnmapped),
        }
    }
}
