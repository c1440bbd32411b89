//! A customer of an AFTR: a softwire and an IPv4 address inside it.

use crate::customers::{Customers, SoftwireHost};
use crate::event::Event;
use crate::nat_behind::Owners;
use crate::strategy::{Point4, Softwires, Wrap};
use crate::subscribers::Subscribers;
use arena::ArenaError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Prefix4, Prefix6};

/// 192.0.0.0 and 192.0.0.1: reserved, and the AFTR's own (RFC 6333, section 5.7).
const NOT_CUSTOMERS: u32 = 0xc000_0000;

#[inline(always)]
pub(super) fn is_reserved(addr: u32) -> bool {
    addr & !1 == NOT_CUSTOMERS
}

/// Softwires of an AFTR.
pub struct Customer {
    customers: Customers<SoftwireHost>,
    subscribers: Option<Subscribers>,
    own: u128,
    /// Allowed softwire ends; any when empty.
    ends: Vec<Prefix6>,
    /// Allowed inner addresses; any when empty.
    inner: Vec<Prefix4>,
}

impl Customer {
    /// `own` is the AFTR's end of every tunnel.
    pub fn new(customers: Customers<SoftwireHost>, own: Ipv6Addr, ends: Vec<Prefix6>, inner: Vec<Prefix4>) -> Customer {
        Customer { customers, subscribers: None, own: own.to_bits(), ends, inner }
    }

    /// Counts subscribers, or no longer.
    pub(super) fn count(&mut self, counts: bool, numbers: Prefix4) -> Result<Owners, ArenaError> {
        self.subscribers = match self.subscribers.take() {
            None if counts => Some(self.customers.counted(numbers, |c| c.end())?),
            counted => counted.filter(|_| counts),
        };
        Ok(self.subscribers.as_ref().map(Subscribers::of))
    }

    /// Makes the permanent customers of `new` its own; false without room.
    pub(super) fn keep_like(&mut self, new: &Customer) -> bool {
        let added = self.customers.keep(new.customers.permanent().map(|(_, host)| host));
        for (number, host) in added.iter().flatten() {
            if let Some(s) = &mut self.subscribers {
                s.add(*number, host.end());
            }
        }
        added.is_some()
    }

    fn count_permanent(&mut self) {
        if let Some(s) = &mut self.subscribers {
            self.customers.permanent().for_each(|(number, c)| s.add(number, c.end()));
        }
    }

    /// The dictionary.
    #[inline]
    pub fn customers(&self) -> &Customers<SoftwireHost> {
        &self.customers
    }

    /// The customer with an address on the inner link.
    pub(crate) fn customer(&self, inner: IpAddr) -> Option<(Ipv6Addr, Ipv4Addr)> {
        let IpAddr::V4(number) = inner else { return None };
        self.customers.customer(number.into()).map(|c| (c.end().into(), c.inner().into()))
    }

    /// See [`Customers::tidy`].
    #[inline]
    pub fn tidy(&mut self, epoch: u8, when_idle: bool, idle: impl Fn(u32) -> u8) {
        let subscribers = &mut self.subscribers;
        self.customers.tidy_and_tell(epoch, when_idle, idle, |number| {
            if let Some(s) = subscribers {
                s.end(number);
            }
        });
    }
}

impl Softwires for Customer {
    const RENAMES: bool = true;

    fn quoted(&self, src: u128, customer: u32) -> Result<u32, Event> {
        self.customers.known(SoftwireHost::new(src, customer)).ok_or(Event::IcmpUntranslatable)
    }

    fn unwrap_quoted(&mut self, src: u128, dst: u128, customer: Point4, _: Point4) -> Result<u32, Event> {
        if dst != self.own {
            return Err(Event::UnknownSoftwire);
        }
        self.quoted(src, customer.addr)
    }

    #[inline(always)]
    fn wrap(&self, customer: Point4, _: Point4) -> Result<Wrap, Event> {
        let c = self.customers.customer(customer.addr).ok_or(Event::UnknownSoftwire)?;
        Ok(Wrap { src: self.own, dst: c.end(), customer: c.inner() })
    }

    #[inline(always)]
    fn unwrap(&mut self, src: u128, dst: u128, customer: Point4, _: Point4) -> Result<u32, Event> {
        if dst != self.own || !self.ends.is_empty() && !self.ends.iter().any(|p| p.contains(src)) {
            return Err(Event::UnknownSoftwire);
        }
        let a = customer.addr;
        if is_reserved(a) || !self.inner.is_empty() && !self.inner.iter().any(|p| p.contains(a)) {
            return Err(Event::Spoofed);
        }
        let known = self.customers.count();
        // No customer has the AFTR's own address.
        let number = self.customers.number_if(SoftwireHost::new(src, a), || src != dst);
        let number = number.ok_or(if src == dst { Event::MartianSource } else { Event::TableFull })?;
        if let Some(s) = &mut self.subscribers
            && self.customers.count() > known
        {
            s.add(number, src);
        }
        Ok(number)
    }

    fn is_own(&self, addr: u128) -> bool {
        addr == self.own
    }

    #[inline(always)]
    fn prefetch_wrap(&self, customer: Point4) {
        self.customers.prefetch_number(customer.addr);
    }

    #[inline(always)]
    fn prefetch_unwrap(&self, src: u128, customer: Point4) {
        self.customers.prefetch_key(SoftwireHost::new(src, customer.addr));
    }

    fn clear(&mut self) {
        self.customers.clear();
        if let Some(s) = &mut self.subscribers {
            s.clear();
        }
        self.count_permanent();
    }

    fn adopt(&mut self, new: &mut Customer) {
        let Customer { customers: _, subscribers: _, own, ends, inner } = new;
        std::mem::swap(&mut self.own, own);
        std::mem::swap(&mut self.ends, ends);
        std::mem::swap(&mut self.inner, inner);
    }
}
