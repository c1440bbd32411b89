//! The prefixes under which the IPv4 Internet appears: several during renumbering, or beside the
//! well-known one (RFC 7050, section 3; RFC 8781, section 5). Replies must have the prefix that the
//! customer sent to, so the upper bits of a customer's number (its alias) encode the prefix
//! ([`crate::nat44::config::Config::aliases`]).

use super::Nat64Error;
use crate::event::Event;
use crate::translate::{Pref64, WELL_KNOWN};
use wire::{Prefix4, Prefix6};

const MOST: usize = 16;

/// The first is for sessions opened from outside through static mappings.
pub(super) struct Prefixes {
    first: Pref64,
    others: Vec<Pref64>,
    /// Position and bits of the prefix's index in a number.
    shift: u32,
    aliases: u32,
}

/// Bits of an index below `count`.
pub(super) fn bits(count: usize) -> u8 {
    count.next_power_of_two().trailing_zeros() as u8
}

/// The numbers without the bits of the index.
pub(super) fn of_customers(numbers: Prefix4, count: usize) -> Prefix4 {
    Prefix4 { len: numbers.len + bits(count), ..numbers }
}

/// Bits of the index.
pub(super) fn aliases(numbers: Prefix4, count: usize) -> u32 {
    of_customers(numbers, count).mask() ^ numbers.mask()
}

/// The alias of the well-known prefix, and another one, which may have addresses that are not global.
pub(super) fn global_only(all: &[Prefix6], private: bool, numbers: Prefix4) -> Option<[u32; 2]> {
    let is_well_known = |p: &Prefix6| p.first() == WELL_KNOWN && p.len == 96;
    let known = all.iter().position(is_well_known).filter(|_| !private && all.len() > 1)?;
    let shift = 32 - u32::from(of_customers(numbers, all.len()).len);
    Some([known, usize::from(known == 0)].map(|index| (index as u32) << shift))
}

impl Prefixes {
    /// Refuses none or too many, one that does not conform to RFC 6052, or two that overlap.
    pub(super) fn new(all: &[Prefix6], private: bool, numbers: Prefix4) -> Result<Prefixes, Nat64Error> {
        if all.is_empty() || all.len() > MOST {
            return Err(Nat64Error::Prefixes(all.len(), MOST));
        }
        for (i, a) in all.iter().enumerate() {
            if let Some(b) = all[..i].iter().find(|b| a.contains(b.first()) || b.contains(a.first())) {
                return Err(Nat64Error::Overlap(*b, *a));
            }
        }
        let mut checked = all.iter().map(|p| Pref64::new(*p, private)).collect::<Result<Vec<_>, _>>()?;
        let others = checked.split_off(1);
        let shift = 32 - u32::from(of_customers(numbers, all.len()).len);
        Ok(Prefixes { first: checked[0], others, shift, aliases: aliases(numbers, all.len()) })
    }

    /// The position of the index stays.
    pub(super) fn adopt(&mut self, new: &mut Prefixes) {
        debug_assert_eq!(self.count(), new.count(), "the number of prefixes is fixed");
        std::mem::swap(&mut self.first, &mut new.first);
        std::mem::swap(&mut self.others, &mut new.others);
    }

    pub(super) fn count(&self) -> usize {
        1 + self.others.len()
    }

    #[inline(always)]
    pub(super) fn aliases(&self) -> u32 {
        self.aliases
    }

    #[inline(always)]
    pub(super) fn contains(&self, addr: u128) -> bool {
        self.first.contains(addr) || self.others.iter().any(|p| p.contains(addr))
    }

    /// Prefix as bits of a number, and IPv4 address. Fails when no prefix has the address, or the
    /// well-known one may not be used for it.
    #[inline(always)]
    pub(super) fn find(&self, addr: u128) -> Result<(u32, u32), Event> {
        match self.first.to_ipv4(addr)? {
            Some(a) => Ok((0, a)),
            None => self.find_other(addr),
        }
    }

    fn find_other(&self, addr: u128) -> Result<(u32, u32), Event> {
        for (i, p) in (1..).zip(&self.others) {
            if let Some(a) = p.to_ipv4(addr)? {
                return Ok((i << self.shift, a));
            }
        }
        Err(Event::DestinationUnmapped)
    }

    #[inline(always)]
    pub(super) fn to_ipv6(&self, alias: u32, addr: u32) -> Result<u128, Event> {
        let other = if alias == 0 { None } else { self.others.get((alias >> self.shift) as usize - 1) };
        other.unwrap_or(&self.first).to_ipv6(addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefixes(count: usize, len: u8) -> Prefixes {
        let numbers = Prefix4 { addr: [10, 0, 0, 0].into(), len };
        let one = |i: usize| Prefix6 { addr: ((0x2001_0db8u128 << 96) | (i as u128) << 32).into(), len: 96 };
        Prefixes::new(&(0..count).map(one).collect::<Vec<_>>(), true, numbers).unwrap()
    }

    #[test]
    fn one_prefix_takes_no_bits() {
        assert_eq!((prefixes(1, 8).aliases(), prefixes(2, 8).aliases()), (0, 1 << 23));
        assert_eq!((prefixes(3, 16).aliases(), prefixes(16, 16).aliases()), (3 << 14, 15 << 12));
    }

    proptest! {
        /// The address that a customer sends to is restored in replies, and no bits of the customer's own number are
        /// used for it.
        #[test]
        fn an_address_is_found_by_its_prefix(count in 1usize..=16, which in 0usize..16, addr: u32, len in 0u8..=24) {
            let p = prefixes(count, len);
            let six = ((0x2001_0db8u128 << 96) | ((which % count) as u128) << 32) | u128::from(addr);
            let (alias, four) = p.find(six).unwrap();
            prop_assert_eq!((four, alias & !p.aliases()), (addr, 0));
            prop_assert_eq!(p.to_ipv6(alias, four), Ok(six));
        }
    }
}
