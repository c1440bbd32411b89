//! The strategy of a PLAT: customers by the dictionary, everybody else by the prefix. Apart from the NAT64 around it,
//! because this is all that it adds to translation.

use crate::customers::Customers;
use crate::ends::{Addressing, End, Point4};
use crate::event::Event;
use crate::subscribers::{Subscribers, prefix};
use crate::translate::Pref64;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Prefix6;

/// Addresses of a NAT64.
pub struct Plat {
    customers: Customers<u128>,
    /// Where subscribers are counted, with the length of their prefixes.
    subscribers: Option<(Subscribers, u8)>,
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
        Plat { customers, subscribers: None, pref64, gateway: gateway.to_bits(), inner: inner.into(), inside }
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

    /// Say from here on who is a subscriber: whoever has a prefix of this length.
    pub(super) fn count(&mut self, subscribers: Subscribers, prefix: u8) {
        self.subscribers = Some((subscribers, prefix));
    }

    /// The length of subscribers' prefixes, where they are counted.
    pub(super) fn counts_by(&self) -> Option<u8> {
        self.subscribers.as_ref().map(|s| s.1)
    }

    /// See [`Customers::tidy`].
    #[inline]
    pub fn tidy(&mut self, epoch: u8, when_idle: bool, idle: impl Fn(u32) -> u8) {
        let subscribers = &mut self.subscribers;
        self.customers.tidy_and_tell(epoch, when_idle, idle, |number| {
            if let Some((s, _)) = subscribers {
                s.end(number);
            }
        });
    }

    /// Whether an address may be a customer's.
    #[inline(always)]
    fn may_be_customer(&self, addr: u128) -> Result<(), Event> {
        // Packets from the prefix would go round for ever (RFC 6146, section 3.5).
        if self.pref64.contains(addr) || addr == 0 {
            return Err(Event::MartianSource);
        }
        let inside = self.inside.is_empty() || self.inside.iter().any(|p| p.contains(addr));
        if inside { Ok(()) } else { Err(Event::Spoofed) }
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
            End::Customer => {
                self.may_be_customer(addr)?;
                let known = self.customers.len();
                let number = self.customers.number(addr).ok_or(Event::TableFull)?;
                if let Some((s, len)) = &mut self.subscribers
                    && self.customers.len() > known
                {
                    s.add(number, prefix(addr, *len));
                }
                Ok(number)
            }
        }
    }

    fn known_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        if end == End::Remote {
            return self.to_ipv4(end, addr, port);
        }
        self.may_be_customer(addr)?;
        self.customers.known(addr).ok_or(Event::SourceUnmapped)
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
        if let Some((s, _)) = &mut self.subscribers {
            s.clear();
        }
    }

    fn adopt(&mut self, new: &mut Plat) {
        let Plat { customers: _, subscribers: _, pref64, gateway, inner: _, inside } = new;
        std::mem::swap(&mut self.pref64, pref64);
        std::mem::swap(&mut self.gateway, gateway);
        std::mem::swap(&mut self.inside, inside);
    }
}
