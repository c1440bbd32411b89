//! Addresses of a PLAT: customers by the dictionary, all other hosts by the prefix.

use super::prefixes::Prefixes;
use crate::customers::Customers;
use crate::event::Event;
use crate::nat_behind::Owners;
use crate::strategy::{Addressing, End, Point4};
use crate::subscribers::{Subscribers, prefix};
use arena::ArenaError;
use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Prefix4, Prefix6};

/// Addresses of a NAT64.
pub struct Plat {
    customers: Customers<u128>,
    /// Subscribers, and the length of their prefixes.
    subscribers: Option<(Subscribers, u8)>,
    prefixes: Prefixes,
    /// Alias of the current packet, as bits of a customer's number, set by the first look-up (see [`Addressing`]).
    alias: Cell<u32>,
    /// The gateway's address among the customers; `inner` represents it on the inner link.
    gateway: u128,
    inner: u32,
    /// Customers' prefixes; any when empty.
    inside: Vec<Prefix6>,
}

impl Plat {
    /// Packets from `inner`, which the NAT itself sends, get the source `gateway`.
    pub(super) fn new(
        customers: Customers<u128>,
        prefixes: Prefixes,
        gateway: Ipv6Addr,
        inner: Ipv4Addr,
        inside: Vec<Prefix6>,
    ) -> Plat {
        let (gateway, inner) = (gateway.to_bits(), inner.into());
        Plat { customers, subscribers: None, prefixes, alias: Cell::new(0), gateway, inner, inside }
    }

    /// The dictionary.
    #[inline]
    pub fn customers(&self) -> &Customers<u128> {
        &self.customers
    }

    pub(crate) fn customer(&self, inner: IpAddr) -> Option<Ipv6Addr> {
        let IpAddr::V4(number) = inner else { return None };
        self.customers.customer(u32::from(number) & !self.prefixes.aliases()).map(Ipv6Addr::from_bits)
    }

    pub(super) fn prefixes(&self) -> usize {
        self.prefixes.count()
    }

    /// Counts subscribers by prefixes of this length, or no longer.
    pub(super) fn count_by(&mut self, length: Option<u8>, numbers: Prefix4) -> Result<Owners, ArenaError> {
        self.subscribers = match (length, self.subscribers.take()) {
            (Some(len), None) => Some((self.customers.counted(numbers, |addr| prefix(addr, len))?, len)),
            (length, counted) => counted.filter(|_| length.is_some()),
        };
        Ok(self.subscribers.as_ref().map(|(s, _)| s.of()))
    }

    /// Makes the permanent customers of `new` its own; false without room.
    pub(super) fn keep_like(&mut self, new: &Plat) -> bool {
        let added = self.customers.keep(new.customers.permanent().map(|(_, addr)| addr));
        for (number, addr) in added.iter().flatten() {
            if let Some((s, len)) = &mut self.subscribers {
                s.add(*number, prefix(*addr, *len));
            }
        }
        added.is_some()
    }

    fn count_permanent(&mut self) {
        if let Some((s, len)) = &mut self.subscribers {
            self.customers.permanent().for_each(|(number, addr)| s.add(number, prefix(addr, *len)));
        }
    }

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

    #[inline(always)]
    fn may_be_customer(&self, addr: u128) -> Result<(), Event> {
        // These packets would loop (RFC 6146, section 3.5).
        if self.prefixes.contains(addr) || addr == 0 {
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
            End::Customer => {
                let aliases = self.prefixes.aliases();
                self.alias.set(point.addr & aliases);
                self.customers.customer(point.addr & !aliases).ok_or(Event::DestinationUnmapped)
            }
            End::Remote if point.addr == self.inner => Ok(self.gateway),
            End::Remote => self.prefixes.to_ipv6(self.alias.get(), point.addr),
        }
    }

    #[inline(always)]
    fn to_ipv4(&mut self, end: End, addr: u128, _: Option<u16>) -> Result<u32, Event> {
        match end {
            End::Remote => {
                let (alias, four) = self.prefixes.find(addr)?;
                self.alias.set(alias);
                Ok(four)
            }
            End::Customer => {
                self.may_be_customer(addr)?;
                let known = self.customers.count();
                let number = self.customers.number(addr).ok_or(Event::TableFull)?;
                if let Some((s, len)) = &mut self.subscribers
                    && self.customers.count() > known
                {
                    s.add(number, prefix(addr, *len));
                }
                Ok(number | self.alias.get())
            }
        }
    }

    fn known_ipv4(&mut self, end: End, addr: u128, port: Option<u16>) -> Result<u32, Event> {
        if end == End::Remote {
            return self.to_ipv4(end, addr, port);
        }
        self.may_be_customer(addr)?;
        let number = self.customers.known(addr).ok_or(Event::SourceUnmapped)?;
        Ok(number | self.alias.get())
    }

    fn is_gateway(&self, addr: u32) -> bool {
        addr == self.inner
    }

    #[inline(always)]
    fn prefetch_ipv4(&self, end: End, point: Point4) {
        if end == End::Customer {
            self.customers.prefetch_number(point.addr & !self.prefixes.aliases());
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
        self.count_permanent();
    }

    fn adopt(&mut self, new: &mut Plat) {
        let Plat { customers: _, subscribers: _, prefixes, alias: _, gateway, inner: _, inside } = new;
        self.prefixes.adopt(prefixes);
        std::mem::swap(&mut self.gateway, gateway);
        std::mem::swap(&mut self.inside, inside);
    }
}
