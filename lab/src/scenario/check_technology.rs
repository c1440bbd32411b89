//! Rules about a technology's own parameters against the tester's flows: what the device would rightly drop, or what the tester
//! cannot play. Without them such a scenario would report a device at 0.

use super::address::overlap;
use super::diagnostic::Diagnostic;
use super::draft::{Draft, DutKind};
use super::nat::Words;
use super::technology::{Plays, Siit, Technology};
use crate::technology::Customers;
use plane::translate::Pref64;
use plane::translate::prefix::{WELL_KNOWN, is_global};
use wire::{AddrRange, Prefix6};

/// Apply them to all devices.
pub fn check(draft: &Draft, log: &mut Vec<Diagnostic>) {
    for dut in &draft.duts {
        if let DutKind::Technology { plays, technology, words } = &dut.kind {
            lengths(technology, words, log);
            well_known(draft, technology, *plays, words, log);
            prefix_of_a_ce(technology, *plays, words, log);
            remote_customers(draft, technology, *plays, words, log);
        }
    }
}

/// IPv4 addresses are embedded in prefixes of few lengths (RFC 6052, section 2.2), and a CLAT's is not its PLAT's.
fn lengths(technology: &Technology, words: &Words, log: &mut Vec<Diagnostic>) {
    let prefixes = match technology {
        Technology::Nat64 { pref64, .. } => vec![("pref64", *pref64)],
        Technology::Xlat464 { pref64, clat, .. } => vec![("pref64", *pref64), ("clat", *clat)],
        Technology::MapT { dmr, .. } => vec![("dmr", *dmr)],
        Technology::Siit(Siit { pref64, .. }) | Technology::Nat46 { pref64, .. } => {
            pref64.iter().map(|&prefix| ("pref64", prefix)).collect()
        }
        _ => return,
    };
    for (key, prefix) in &prefixes {
        let Err(fault) = Pref64::new(*prefix, true) else { continue };
        let diagnostic = Diagnostic::new(format!("no IPv4 address can be embedded in the prefix of `{key}`"));
        log.push(diagnostic.at(words.at(key), fault.to_string()).instead(match *key {
            "clat" => {
                "write one /64 of the customer's, which the CLAT has for itself alone (RFC 6877, section 6.3), or a /96 in it; \
                 a shorter prefix of several /64s must be a /56, /48, /40 or /32"
            }
            _ => "write a /96, for example \"2001:2:0:1000::/96\", or a prefix of 32, 40, 48, 56 or 64 bits",
        }));
    }
    if let [(_, pref64), (_, clat)] = prefixes[..]
        && pref64 == clat
    {
        let diagnostic =
            Diagnostic::new("CLAT and PLAT have the same prefix").at(words.at("clat"), "of the customer's hosts");
        let diagnostic = diagnostic.at(words.at("pref64"), "of the Internet's");
        log.push(diagnostic.instead("give the CLAT a /64 of its own (RFC 6877, section 6.3), or a /96 in it"));
    }
}

/// Behind 64:ff9b::/96 there are global IPv4 addresses only (RFC 6052, section 3.1), and a laboratory has none.
fn well_known(draft: &Draft, technology: &Technology, plays: Plays, words: &Words, log: &mut Vec<Diagnostic>) {
    let t = &draft.traffic;
    let (inside, remote) = (("inside", &t.inside), ("remote", &t.remote));
    let (key, prefix, private, embedded) = match technology {
        Technology::Nat64 { pref64, private, .. } | Technology::Xlat464 { pref64, private, .. } => {
            ("pref64", *pref64, *private, vec![remote])
        }
        Technology::MapT { dmr, private, .. } => ("dmr", *dmr, *private, vec![remote]),
        Technology::Siit(siit) => {
            // What a file maps is not known yet.
            let Some(pref64) = siit.pref64.filter(|_| siit.eam_file.is_none()) else { return };
            let mapped = |a: AddrRange| {
                let within = |p: &wire::Prefix4| [a.first, a.last()].iter().all(|&a| p.contains(a.into()));
                siit.eam.iter().any(|(four, _)| within(four))
            };
            let others = [inside, remote].into_iter().filter(|(_, range)| !mapped(range.value));
            ("pref64", pref64, siit.private, others.collect())
        }
        _ => return,
    };
    let is_well_known = prefix == Prefix6 { addr: WELL_KNOWN.into(), len: 96 };
    let local = |a: AddrRange| [a.first, a.last()].iter().any(|&a| !is_global(a.into()));
    let Some((name, range)) = embedded.into_iter().find(|(_, range)| range.sound && local(range.value)) else { return };
    if !is_well_known || private {
        return;
    }
    let title = format!("`{}` drops packets with these addresses", technology.name_of(plays));
    let default = range.place.map_or(" (its default)", |_| "");
    let label = format!("the well-known prefix, behind which `{name}`{default} may not stand (RFC 6052, section 3.1)");
    log.push(
        Diagnostic::new(title).at(words.at(key), label).at(range.place, "not global: private, or for tests").instead(
            format!(
                "use a prefix of your own, for example {key} = \"2001:2:0:1000::/96\", or allow them: \
                 private-behind-well-known = true"
            ),
        ),
    );
}

/// A CE's NAT44 has up to 65,536 outside addresses, and the tester learns which one it has chosen by as many.
fn prefix_of_a_ce(technology: &Technology, plays: Plays, words: &Words, log: &mut Vec<Diagnostic>) {
    let (Technology::MapE { map, .. } | Technology::MapT { map, .. }, Plays::Ce | Plays::Dual) = (technology, plays)
    else {
        return;
    };
    let Some(customer) = Customers::of(map).ok().and_then(|all| all.nth(map.ce)) else { return };
    if customer.ipv4.len < 16 {
        let at = map.written().position(|rule| rule.ipv6.contains(customer.prefix.first())).unwrap_or(0);
        let diagnostic = Diagnostic::new("a CE has 65,536 IPv4 addresses at most")
            .at(words.rule(at, "ea-bits"), format!("gives the CE a prefix of length {}", customer.ipv4.len))
            .at(words.rule(at, "ipv4-prefix"), "of this");
        let more = 16 - customer.ipv4.len;
        log.push(diagnostic.instead(format!("give {more} EA bits more, or a longer `ipv4-prefix`")));
    }
}

/// What is sent to customers of a MAP domain never comes to the tester's remote hosts: a CE in mesh mode sends it to the
/// customer, and so does the BR behind it.
fn remote_customers(draft: &Draft, technology: &Technology, plays: Plays, words: &Words, log: &mut Vec<Diagnostic>) {
    let (Technology::MapE { map, .. } | Technology::MapT { map, .. }, Plays::Ce | Plays::Dual) = (technology, plays)
    else {
        return;
    };
    let remote = &draft.traffic.remote;
    let own = Customers::of(map).ok().and_then(|all| all.nth(map.ce));
    for (at, rule) in map.written().enumerate().filter(|(_, rule)| plays == Plays::Dual || rule.forwarding) {
        let all = AddrRange { first: rule.ipv4.addr, count: rule.ipv4.count().min(u32::MAX.into()) as u32 };
        // Its own addresses are looked at with all pools.
        let told = own.is_some_and(|own| overlap(own.pool(), remote.value));
        if remote.sound && !told && overlap(all, remote.value) {
            let default = remote.place.map_or(" (its default)", |_| "");
            let diagnostic = Diagnostic::new("`remote` has addresses of the customers of a mapping rule")
                .at(words.rule(at, "ipv4-prefix"), format!("sent to these customers, not to `remote`{default}"))
                .at(remote.place, "`remote`");
            log.push(diagnostic.instead("give `remote` addresses outside of all rules"));
        }
    }
}
