//! IPv6 addresses of the flow space, by subscriber or address.

use crate::gateway::why;
use crate::laboratory::is_for_laboratories;
use plane::translate::{Eam, Pref64};
use plane::view::{BedAddresses, Subscriber6};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Prefix6;

pub(crate) fn hosts(bed: &BedAddresses, inside: &[Prefix6]) -> Result<Vec<Subscriber6>, String> {
    let n = bed.flows.subscribers();
    let own = Prefix6 { addr: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), len: 64 };
    let prefix = inside.first().unwrap_or(&own);
    let last = prefix.first() + 1 + u128::from(n);
    if !prefix.contains(last) {
        return Err(format!("inside = \"{prefix}\" is too short for {n} customers; write a /64"));
    }
    Ok((0..n).map(|i| Subscriber6 { address: prefix.first() + 2 + u128::from(i) }).collect())
}

pub(crate) fn b4s(bed: &BedAddresses, first: Ipv6Addr) -> Vec<Subscriber6> {
    let row = |i| Subscriber6 { address: b4_in_row(first, i).to_bits() };
    (0..u64::from(bed.flows.subscribers())).map(row).collect()
}

pub(crate) fn b4_in_row(first: Ipv6Addr, i: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(first.to_bits().wrapping_add(u128::from(i) << 64))
}

/// Subscribers' addresses, computed from IPv4 addresses.
pub(crate) fn subscribers(
    bed: &BedAddresses,
    address: impl Fn(u32) -> Result<u128, String>,
) -> Result<Vec<Subscriber6>, String> {
    let first = u32::from(bed.flows.inside().first);
    (0..bed.flows.subscribers()).map(|i| Ok(Subscriber6 { address: address(first.wrapping_add(i))? })).collect()
}

pub(crate) fn remotes(bed: &BedAddresses, address: impl Fn(u32) -> Result<u128, String>) -> Result<Vec<u128>, String> {
    let remote = bed.flows.remote();
    (0..remote.count).map(|i| address(u32::from(remote.first).wrapping_add(i))).collect()
}

pub(crate) fn behind(bed: &BedAddresses, prefix: Prefix6) -> Result<Vec<u128>, String> {
    let prefix = Pref64::new(prefix, true).map_err(why)?;
    remotes(bed, |a| prefix.to_ipv6(a).map_err(|e| format!("{e:?}")))
}

pub(crate) fn by_map_or_prefix(maps: Option<&Eam>, pref64: Option<Prefix6>, addr: u32) -> Result<u128, String> {
    let four = Ipv4Addr::from(addr);
    if let Some(mapped) = maps.and_then(|maps| maps.to_ipv6(addr)) {
        let six = Ipv6Addr::from(mapped);
        // The maps of a file are checked only here.
        return if is_for_laboratories(six.into()) {
            Ok(mapped)
        } else {
            Err(format!(
                "{four}: its explicit map to {six} is not for laboratories, frames to it could leave the test bed: use \
                 2001:2::/48 or 2001:db8::/32"
            ))
        };
    }
    let none = || format!("{four}: neither eam nor pref64 has an address for it");
    let prefix = Pref64::new(pref64.ok_or_else(none)?, true).map_err(why)?;
    prefix.to_ipv6(addr).map_err(|e| format!("{e:?}"))
}
