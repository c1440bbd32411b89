//! All rules of a MAP domain, with longest match among nested prefixes (RFC 7597, section 5; RFC 7599, section 8).

use super::lpm::{Lpm, NONE, PrefixEntry};
use super::rule::{CustomerId, Mapping, Rule, RuleError};
use crate::event::Event;
use crate::strategy::Point4;
use wire::Prefix6;

/// Largest number of rules.
pub const MOST_RULES: usize = 1 << 20;

/// What the first-level cache holds.
const NEAR: usize = 128;

/// Error of a domain, whose rules are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainError {
    /// A single rule is invalid.
    #[error("{why}")]
    Rule {
        /// Number of the rule.
        at: usize,
        /// Why.
        why: RuleError,
    },
    /// Two rules have the same customers.
    #[error("the IPv6 prefix {prefix} has a rule already: prefixes may lie in each other, but must differ")]
    SameIpv6 {
        /// Number of the rule.
        at: usize,
        /// Number of the earlier one.
        other: usize,
        /// IPv6 prefix of both rules.
        prefix: Prefix6,
    },
    /// Two rules have the same addresses, without different explicit PSIDs.
    #[error(
        "the IPv4 prefix of `{rule}` has a rule already: only rules with PSIDs of their own, of one offset and length \
         and all different, may share one"
    )]
    SameIpv4 {
        /// Number of the rule.
        at: usize,
        /// Number of the earlier one.
        other: usize,
        /// The later one.
        rule: Rule,
    },
    /// More than can be handled.
    #[error("{0} rules: at most {MOST_RULES}")]
    TooMany(usize),
}

impl DomainError {
    /// Number of the rule, and of an earlier one that it collides with.
    pub fn place(&self) -> Option<(usize, Option<usize>)> {
        match *self {
            DomainError::Rule { at, .. } => Some((at, None)),
            DomainError::SameIpv6 { at, other, .. } | DomainError::SameIpv4 { at, other, .. } => {
                Some((at, Some(other)))
            }
            DomainError::TooMany(_) => None,
        }
    }
}

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Slot {
    mapping: Mapping,
    /// Following rules with the same IPv4 prefix, by PSID.
    siblings: u32,
    /// Slot of the enclosing IPv4 prefix, or [`NONE`].
    around: u32,
    given: u32,
    /// Whether another rule's IPv6 prefix lies inside this one's.
    pierced: bool,
}

/// A set of mapping rules.
#[derive(Clone, Debug)]
pub struct Domain {
    rules: Vec<Rule>,
    slots: Vec<Slot>,
    ipv4: Lpm,
    ipv6: Lpm,
}

impl Domain {
    /// Makes a set, which may be empty.
    ///
    /// # Errors
    /// The first rule that is invalid, or that collides with another one.
    pub fn new(rules: Vec<Rule>) -> Result<Domain, DomainError> {
        if rules.len() > MOST_RULES {
            return Err(DomainError::TooMany(rules.len()));
        }
        let mut slots = Vec::with_capacity(rules.len());
        for (at, rule) in rules.iter().enumerate() {
            let mapping = rule.prepare().map_err(|why| DomainError::Rule { at, why })?;
            slots.push(Slot { mapping, siblings: 0, around: NONE, given: at as u32, pierced: false });
        }
        let psid = |s: &Slot| s.mapping.psid().map_or(0, |p| p.psid);
        let ipv4 = |s: &Slot| (u32::from(rules[s.given as usize].ipv4.addr), rules[s.given as usize].ipv4.len);
        slots.sort_by_key(|s| (ipv4(s), psid(s), s.given));
        let groups = group(&rules, &mut slots)?;
        let ipv6 = by_ipv6(&rules, &mut slots)?;
        Ok(Domain { rules, slots, ipv4: Lpm::new(groups), ipv6: Lpm::new(ipv6) })
    }

    /// The rules, in the order given.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Octets of memory.
    pub fn bytes(&self) -> u64 {
        let rules = self.rules.len() * size_of::<Rule>() + self.slots.len() * size_of::<Slot>();
        (rules + self.ipv4.bytes() + self.ipv6.bytes()) as u64
    }

    /// A rule, by number in the order given.
    ///
    /// # Panics
    /// When there is no such rule.
    pub fn mapping(&self, number: usize) -> Mapping {
        self.rules[number].prepare().expect("was checked when the set was made")
    }

    /// Longest match for the upper half of an IPv6 address.
    #[inline]
    pub fn by_ipv6(&self, upper: u64) -> Option<usize> {
        let s = self.ipv6.get(upper);
        (s != NONE).then(|| self.slots[s as usize].given as usize)
    }

    /// A rule with addresses in this prefix.
    pub fn overlaps(&self, prefix: Prefix6) -> Option<usize> {
        self.rules.iter().position(|r| r.ipv6.contains(prefix.first()) || prefix.contains(r.ipv6.first()))
    }

    /// Whether any rule has this address.
    #[inline]
    pub fn serves(&self, addr: u32) -> bool {
        self.ipv4.get((addr as u64) << 32) != NONE
    }

    /// The MAP address of the customer with this IPv4 address and port.
    ///
    /// # Errors
    /// [`Event::DestinationUnmapped`] without a rule, [`Event::OutsidePortSet`] when no customer
    /// has the port or a needed port is missing.
    #[inline(always)]
    pub fn tunnel_end(&self, addr: u32, port: Option<u16>) -> Result<u128, Event> {
        let (slot, id) = self.find(addr, port)?;
        Ok(id.address(self.slots[slot as usize].mapping.padded(addr)))
    }

    /// The IPv6 address that this IPv4 address is translated to. A customer's prefix keeps the
    /// whole address in the interface identifier, so that it can be translated back (RFC 7599,
    /// section 6, figure 2).
    ///
    /// # Errors
    /// As [`Self::tunnel_end`].
    #[inline(always)]
    pub fn translated(&self, addr: u32, port: Option<u16>) -> Result<u128, Event> {
        self.find(addr, port).map(|(_, id)| id.address(addr))
    }

    /// Whether customers share an address, and a port must tell them apart.
    pub fn is_shared(&self, addr: u32) -> bool {
        self.find(addr, None).is_err_and(|why| why == Event::OutsidePortSet)
    }

    /// Checks that a tunnel packet from `src` may hold a packet from this customer (RFC 7597, section 8.1).
    ///
    /// # Errors
    /// [`Event::UnknownSoftwire`] when no rule has the source, [`Event::Spoofed`] when address or
    /// port belong to another customer.
    #[inline(always)]
    pub fn check_tunnel(&self, src: u128, customer: Point4) -> Result<(), Event> {
        match self.tunnel_end(customer.addr, customer.port) {
            Ok(end) if end == src => Ok(()),
            _ => self.check_otherwise(src, customer, false).map_err(|e| match e {
                Event::SourceUnmapped => Event::UnknownSoftwire,
                other => other,
            }),
        }
    }

    /// Checks that a translated packet may come from `src` and this port (RFC 7599, section 8.3).
    ///
    /// # Errors
    /// [`Event::SourceUnmapped`] when no rule has the source, [`Event::Spoofed`] when address or port belong to another
    /// customer.
    #[inline(always)]
    pub fn check_translated(&self, src: u128, customer: Point4) -> Result<(), Event> {
        match self.translated(customer.addr, customer.port) {
            Ok(address) if address == src => Ok(()),
            _ => self.check_otherwise(src, customer, true),
        }
    }

    /// Checks packets without port (later fragments), which the source alone identifies; for
    /// others, says why they are refused.
    #[inline(never)]
    fn check_otherwise(&self, src: u128, customer: Point4, translated: bool) -> Result<(), Event> {
        let upper = (src >> 64) as u64;
        let found = self.ipv6.get(upper);
        if found == NONE {
            return Err(Event::SourceUnmapped);
        }
        let owner = self.slots[found as usize].mapping.customer_at(upper);
        let own = owner.ipv4.contains(customer.addr);
        let shown = if translated { customer.addr } else { u32::from(owner.ipv4.addr) };
        match customer.port {
            None if own && owner.id().address(shown) == src => Ok(()),
            _ => Err(Event::Spoofed),
        }
    }

    /// Prefetches. For a few rules, which stay in the cache, prefetching would cost more than it saves.
    #[inline(always)]
    pub fn prefetch(&self, addr: u32) {
        if self.slots.len() > NEAR {
            // Only the prefetch depends on this read, so reads of a batch overlap.
            if let Some(slot) = self.slots.get(self.ipv4.get((addr as u64) << 32) as usize) {
                arena::prefetch(slot);
            }
        }
    }

    #[inline(always)]
    fn find(&self, addr: u32, port: Option<u16>) -> Result<(u32, CustomerId), Event> {
        let found = self.ipv4.get((addr as u64) << 32);
        if found == NONE {
            return Err(Event::DestinationUnmapped);
        }
        let slot = &self.slots[found as usize];
        if slot.pierced || slot.mapping.is_explicit() {
            return self.find_among(found, addr, port);
        }
        Ok((found, slot.mapping.customer_id(addr, port)?))
    }

    /// Finds a rule where a later one may match.
    #[inline(never)]
    fn find_among(&self, first: u32, addr: u32, port: Option<u16>) -> Result<(u32, CustomerId), Event> {
        let mut at = first;
        loop {
            let slot = &self.slots[at as usize];
            let found = if slot.mapping.is_explicit() { self.sibling(at, port) } else { Some(at) };
            if let Some(found) = found {
                let slot = &self.slots[found as usize];
                let id = slot.mapping.customer_id(addr, port)?;
                if slot.pierced && self.ipv6.get(id.upper) != found {
                    // A customer of another rule has these IPv6 addresses.
                    return Err(Event::DestinationUnmapped);
                }
                return Ok((found, id));
            }
            // Address and port match together (RFC 7599, section 8.1): the rule with the next
            // shorter prefix may have the port.
            if slot.around == NONE || port.is_none() {
                return Err(Event::OutsidePortSet);
            }
            at = slot.around;
        }
    }

    fn sibling(&self, first: u32, port: Option<u16>) -> Option<u32> {
        let slot = &self.slots[first as usize];
        let psid = slot.mapping.psid()?.psid_of(port?)?;
        let group = &self.slots[first as usize..=(first + slot.siblings) as usize];
        let i = group.binary_search_by_key(&psid, |s| s.mapping.psid().map_or(0, |p| p.psid)).ok()?;
        Some(first + i as u32)
    }
}

/// Links rules with the same IPv4 prefix, and each rule to the enclosing one; returns the first of each group.
fn group(rules: &[Rule], slots: &mut [Slot]) -> Result<Vec<PrefixEntry>, DomainError> {
    let rule = |s: &Slot| &rules[s.given as usize];
    let mut entries: Vec<PrefixEntry> = Vec::with_capacity(slots.len());
    let mut around: Vec<usize> = Vec::new();
    let mut first = 0;
    for i in 0..slots.len() {
        let (here, before) = (rule(&slots[i]), i.checked_sub(1).map(|b| rule(&slots[b])));
        if let Some(before) = before.filter(|b| b.ipv4 == here.ipv4) {
            let one = |r: &Rule| r.psid.map(|p| (r.offset, p.len));
            if one(here).is_none() || one(here) != one(before) || here.psid == before.psid {
                let (a, b) = (slots[i].given as usize, slots[i - 1].given as usize);
                return Err(DomainError::SameIpv4 { at: a.max(b), other: a.min(b), rule: rules[a.max(b)] });
            }
            slots[first].siblings += 1;
            slots[i].around = slots[first].around;
            continue;
        }
        first = i;
        let ipv4 = here.ipv4;
        while around.last().is_some_and(|&a| !rule(&slots[a]).ipv4.contains(ipv4.addr.into())) {
            around.pop();
        }
        slots[i].around = around.last().map_or(NONE, |&a| a as u32);
        around.push(i);
        entries.push(PrefixEntry { key: u64::from(u32::from(ipv4.addr)) << 32, len: ipv4.len, value: i as u32 });
    }
    Ok(entries)
}

/// Marks rules that contain others.
fn by_ipv6(rules: &[Rule], slots: &mut [Slot]) -> Result<Vec<PrefixEntry>, DomainError> {
    let mut order: Vec<usize> = (0..slots.len()).collect();
    let prefix = |s: &Slot| rules[s.given as usize].ipv6;
    order.sort_by_key(|&i| (prefix(&slots[i]).first(), prefix(&slots[i]).len, slots[i].given));
    let mut around: Vec<usize> = Vec::new();
    let mut entries = Vec::with_capacity(slots.len());
    for i in order {
        let here = prefix(&slots[i]);
        while around.last().is_some_and(|&a| !prefix(&slots[a]).contains(here.first())) {
            around.pop();
        }
        if let Some(&a) = around.last() {
            if prefix(&slots[a]) == here {
                let (at, other) = (slots[i].given as usize, slots[a].given as usize);
                return Err(DomainError::SameIpv6 { at, other, prefix: here });
            }
            for &a in &around {
                slots[a].pierced = true;
            }
        }
        around.push(i);
        entries.push(PrefixEntry { key: (here.first() >> 64) as u64, len: here.len, value: i as u32 });
    }
    Ok(entries)
}
