//! The strategy of a PLAT: customers by the dictionary, everybody else by the prefix. Apart from the NAT64 around it,
//! because this is all that it adds to translation.

use crate::customers::Customers;
use crate::ends::{Addressing, End, Point4};
use crate::event::Event;
use crate::ip6::Prefix6;
use crate::translate::Pref64;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of a NAT64.
pub struct Plat {
    customers: Customers<u128>,
    pref64: Pref64,
    /// The gateway's address among the customers, and the IPv4 address that stands for it on the inner link.
    gateway: u128,
    inner: u32,
    /// Where customers may be; anywhere when empty.
    inside: Vec<Prefix6>,
}

impl Plat {
    /// With this dictionary and prefix. What the NAT itself sends to customers, from `inner`, comes from `gateway`.
    pub fn new(
        customers: Customers<u128>,
        pref64: Pref64,
        gateway: Ipv6Addr,
        inner: Ipv4Addr,
        inside: Vec<Prefix6>,
    ) -> Plat {
        Plat { customers, pref64, gateway: gateway.to_bits(), inner: inner.into(), inside }
    }

    /// The dictionary.
    #[inline]
    pub fn customers(&self) -> &Customers<u128> {
        &self.customers
    }

    /// The customer that an address on the inner link stands for.
    pub(crate) fn customer(&self, inner: IpAddr) -> Option<Ipv6Addr> {
        let IpAddr::V4(number) = inner else { return None };
        self.customers.customer(number.into()).map(Ipv6Addr::from_bits)
    }

    /// The dictionary, to be tidied up.
    #[inline]
    pub fn customers_mut(&mut self) -> &mut Customers<u128> {
        &mut self.customers
    }
}

impl Addressing for Plat {
    #[inline(always)]
    fn to_ipv6(&self, end: End, point: Point4) -> Result<u128, Event> {
        match end {
            End::Customer => self.customers.customer(point.addr).ok_or(Event::DestinationUnmapped),
            End::Remote if point.addr == self.inner => Ok(self.gateway),
            End::Remote => self.pref64.to_ipv6(point.addr),
        }
    }

    #[inline(always)]
    fn to_ipv4(&mut self, end: End, addr: u128, _: Option<u16>) -> Result<u32, Event> {
        match end {
            End::Remote => self.pref64.to_ipv4(addr)?.ok_or(Event::DestinationUnmapped),
            // Packets from the prefix would go round for ever (RFC 6146, section 3.5).
            End::Customer if self.pref64.contains(addr) || addr == 0 => Err(Event::MartianSource),
            End::Customer if !self.inside.is_empty() && !self.inside.iter().any(|p| p.contains(addr)) => {
                Err(Event::Spoofed)
            }
            End::Customer => self.customers.number(addr).ok_or(Event::TableFull),
        }
    }

    fn is_gateway(&self, addr: u32) -> bool {
        addr == self.inner
    }

    #[inline(always)]
    fn prefetch_ipv4(&self, end: End, point: Point4) {
        if end == End::Customer {
            self.customers.prefetch_number(point.addr);
        }
    }

    #[inline(always)]
    fn prefetch_ipv6(&self, end: End, addr: u128) {
        if end == End::Customer {
            self.customers.prefetch_key(addr);
        }
    }

    fn clear(&mut self) {
        self.customers.clear();
    }

    fn adopt(&mut self, new: Plat) {
        let Plat { customers: _, pref64, gateway, inner: _, inside } = new;
        (self.pref64, self.gateway, self.inside) = (pref64, gateway, inside);
    }
}
