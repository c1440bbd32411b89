//! Rules about addresses: only laboratory addresses (RFC 6815), in three disjoint networks.

use super::Check;
use crate::nat::{Nat, technology_path};
use crate::summary::show_range;
use std::net::Ipv4Addr;
use tech::{is_allowed, is_laboratory_prefix, may_be_requested, overlap};
use wire::{AddrRange, Prefix6};

/// Path, name in messages, addresses.
type NamedRange<'a> = (String, &'a str, AddrRange);

impl Check<'_> {
    pub(super) fn addresses(&mut self) {
        self.requested();
        let flows = &self.scenario.traffic.flows;
        let named = |inside, remote| -> [NamedRange<'_>; 2] {
            [("traffic.inside".to_owned(), "inside", inside), ("traffic.remote".to_owned(), "remote", remote)]
        };
        let [inside, remote] = flows.ends();
        let ends = named(inside, remote);
        let nats: Vec<Nat> = self.scenario.duts.iter().filter_map(|dut| dut.nat()).collect();
        let pool = |nat: &Nat| {
            let (key, beside) = (nat.outside.key, nat.outside.beside_inside);
            nat.outside.pool.iter().map(move |(path, range)| ((path.clone(), key, *range), beside)).collect::<Vec<_>>()
        };
        let pools: Vec<(NamedRange<'_>, bool)> = nats.iter().flat_map(pool).collect();
        let all: Vec<NamedRange<'_>> = ends.iter().cloned().chain(pools.iter().map(|(pool, _)| pool.clone())).collect();
        for range in &all {
            self.laboratory(range);
        }
        self.apart(&ends[0], &ends[1]);
        for (pool, beside_inside) in &pools {
            if *beside_inside {
                self.apart(pool, &ends[0]);
            }
            self.apart(pool, &ends[1]);
        }
        // No host has these; broadcast addresses are only of the kernel's links, which are a /24 each.
        let in_kernel = self.scenario.duts.iter().any(|dut| !dut.is_in_process());
        let hosts: &[u8] = if in_kernel { &[0, 1, 255] } else { &[0, 1] };
        // Behind the ports of a bed, the box has the addresses that the bed says.
        let of_first_network = named(flows.inside, flows.remote);
        for end in of_first_network.iter().filter(|_| self.scenario.bed.is_none()) {
            self.own(end, hosts);
        }
        self.ipv6();
    }

    /// `allow-addresses` names no public block.
    fn requested(&mut self) {
        for (at, range) in self.scenario.allow_addresses.iter().enumerate() {
            if !may_be_requested(*range) {
                self.refuse("these addresses are never used for tests")
                    .at(format!("allow-addresses[{at}]"), "public, loopback, multicast or broadcast addresses")
                    .instead("name private or reserved blocks, for example \"240.0.0.0/8\" or \"169.254.0.0/16\"");
            }
        }
    }

    /// Ranges are for laboratories, and the embedded gateway forwards their packets.
    fn laboratory(&mut self, (path, name, range): &NamedRange<'_>) {
        let besides: Vec<AddrRange> =
            self.scenario.allow_addresses.iter().copied().filter(|range| may_be_requested(*range)).collect();
        if self.scenario.bed.as_ref().is_some_and(|bed| bed.allows(*range)) {
            return;
        }
        if !is_allowed(*range, &besides) {
            self.refuse("these addresses are not for laboratories: frames to them could leave the test bed")
                .at(path.clone(), "outside the blocks for tests, private use and documentation")
                .instead(
                    "use addresses of 198.18.0.0/15 (RFC 2544), 10.0.0.0/8 or another private block; \
                         reserved blocks that are not public can be named in allow-addresses",
                );
            return;
        }
        // The embedded gateway would lose all these packets (as of the RFCs), whatever `allow-addresses` says.
        let blocks = [([169, 254, 0, 0], 1 << 16), ([240, 0, 0, 0], 1 << 28)];
        let mut blocks = blocks.into_iter().map(|(first, count)| AddrRange { first: first.into(), count });
        let embedded = self.scenario.duts.iter().any(|dut| dut.has_workers());
        if embedded && blocks.any(|block| overlap(block, *range)) {
            self.refuse(format!("the embedded gateway does not forward packets with these addresses of `{name}`"))
                .at(path.clone(), "link-local (RFC 3927, section 7) or reserved (RFC 1122, section 3.2.1.3)")
                .instead(
                    "use addresses of 198.18.0.0/15 (RFC 2544) or a private block; some kernel devices accept others",
                );
        }
    }

    /// A device has host 1 of 198.18.0.0/24 and 198.19.0.0/24 (RFC 2544, appendix C.2.2.1): frames
    /// to it, or to network and broadcast addresses of its links, would not be forwarded. The
    /// embedded gateway would, but is measured as others are.
    fn own(&mut self, (path, name, range): &NamedRange<'_>, hosts: &[u8]) {
        let taken =
            [18, 19].into_iter().flat_map(|net| hosts.iter().map(move |&host| Ipv4Addr::new(198, net, 0, host)));
        if let Some(address) = taken.into_iter().find(|&address| range.contains(address)) {
            let net = address.octets()[1];
            self.refuse(format!("`{name}` has the address {address}, which the device's links need"))
                .at(path.clone(), "own, network or broadcast address of the device's links")
                .instead(format!("begin at .2, for example \"198.{net}.0.2 - 198.{net}.0.254\""));
        }
    }

    fn apart(&mut self, one: &NamedRange<'_>, other: &NamedRange<'_>) {
        // A default cannot be corrected.
        let (one, other) = if self.spans.has(&one.0) { (one, other) } else { (other, one) };
        if overlap(one.2, other.2) {
            let default = self.default_words(&other.0);
            self.refuse(format!("`{}` and `{}` have addresses in common", one.1, other.1))
                .at(one.0.clone(), format!("overlaps `{}`, {}{default}", other.1, show_range(other.2)))
                .at(other.0.clone(), format!("`{}`", other.1))
                .instead("use different addresses for each side and for the pool");
        }
    }

    /// IPv6 addresses of technologies are for laboratories. Rows outside their block are a technology's own rule.
    fn ipv6(&mut self) {
        for dut in &self.scenario.duts {
            let Some((_, technology)) = dut.technology() else { continue };
            for (text, place) in self.spans.texts(&technology_path(technology)) {
                if text.split_whitespace().filter_map(prefix).any(|prefix| !is_laboratory_prefix(prefix)) {
                    self.refuse("these addresses are not for laboratories: frames to them could leave the test bed")
                            .at(place, "outside the blocks for tests, documentation and local use")
                            .instead(
                                "use prefixes of 2001:2::/48 (RFC 5180), of 2001:db8::/32 where that is too small, or fd00::/8",
                            );
                }
            }
        }
    }
}

fn prefix(word: &str) -> Option<Prefix6> {
    let (addr, len) = word.split_once('/').unwrap_or((word, "128"));
    Some(Prefix6 { addr: addr.parse().ok()?, len: len.parse().ok().filter(|len| *len <= 128)? })
}
