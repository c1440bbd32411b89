//! Plain IPv6 forwarding (RFC 5180), the baseline of IPv6 technologies.

use crate::fragments::Errors;
use crate::prelude::*;
use key::kind::{Simple, own};
use key::{ValueKind, Value, Wrong};
use plane::router6::{Config, Router6};
use plane::view::{Subscriber6, forwarding6};
use serde_json::json;
use std::net::Ipv6Addr;

key::table! {
    /// Plain IPv6 forwarding: a router. The tester's hosts have the addresses that end in ::2, ::1:2, ::2:2 and so on, one for
    /// each address of `inside` and `remote` in `[traffic]`. With `networks` the fourth group counts, and the host is ::2.
    pub struct Ipv6Forwarding {
        /// Network of the hosts on the left (RFC 5180, section 5): a /64.
        left: Prefix6 = "left", network(), or("\"2001:2::/64\"");
        /// Network of the hosts on the right: a /64.
        right: Prefix6 = "right", network(), or("\"2001:2:0:8000::/64\"");
    } with {
        /// ICMP errors.
        errors: Errors;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::whole("ipv6-forwarding", "IPv6 forwarding").published_as("IPv6 forwarding"),
    about: "plain IPv6 forwarding, the baseline (RFC 8200, 5180)",
    overhead: 20,
    with_state: &[],
    chapters: |path| vec![Chapter::of::<Ipv6Forwarding>(path)],
    read: |section| Some(Box::new(Ipv6Forwarding::read(section)?)),
};

/// Network on the left: half of the block of RFC 5180, section 5.
const LEFT: Prefix6 = Prefix6 { addr: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), len: 64 };
const RIGHT: Prefix6 = Prefix6 { addr: Ipv6Addr::new(0x2001, 2, 0, 0x8000, 0, 0, 0, 0), len: 64 };

const fn network() -> Simple<Prefix6> {
    fn parse(value: &Value) -> Result<Prefix6, Wrong> {
        let prefix = prefix6().parse(value)?;
        if prefix.len == 64 {
            return Ok(prefix);
        }
        Err(Wrong::new(format!("{prefix} has not 64 bits"), "write a network such as \"2001:2::/64\""))
    }
    own(parse, "IPv6 prefix of 64 bits", || json!({ "type": "string" }))
}

/// IPv6 forwarding with the networks of RFC 5180.
pub fn ipv6_forwarding() -> Box<dyn Technology> {
    Box::new(Ipv6Forwarding { left: LEFT, right: RIGHT, errors: Errors { icmp_errors_per_second: None } })
}

/// Bits 96 to 111 count the hosts, so that prefixes of up to 126 bits hold the first and its router.
fn host(network: Prefix6, i: u32) -> u128 {
    network.first() + 2 + (u128::from(i) << 16)
}

/// The lowest bits of the fourth group count the networks.
fn in_network(first: Prefix6, i: u32) -> u128 {
    host(first, 0) + (u128::from(i) << 64)
}

impl Technology for Ipv6Forwarding {
    fn entry(&self) -> &'static ListEntry {
        &ENTRY
    }

    fn versions(&self, _: Plays) -> (u8, u8) {
        (6, 6)
    }
    fn networks(&self) -> Option<[Prefix6; 2]> {
        Some([self.left, self.right])
    }
    fn steering(&self, _: Plays, _: usize, _: Open<'_>) -> [Steering; 2] {
        [Router6::STEER; 2]
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let mut config = Config::new(job.links.left6, job.links.right6);
        config.icmp_errors_per_second = self.errors.icmp_errors_per_second.unwrap_or(config.icmp_errors_per_second);
        Ok(Functions::Ipv6Forwarding(job.each(|_| Ok(Router6::new(config)))?).into())
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(setting.flows.space_of(plays).map_err(|e| e.to_string())?);
        let (hosts, host): (_, fn(Prefix6, u32) -> u128) = if bed.flows.has_networks() {
            (bed.flows.subscribers(), in_network)
        } else {
            (bed.flows.remote().count, host)
        };
        let subscriber = |i| Subscriber6 { address: host(self.left, i) };
        let subscribers: Vec<_> = (0..bed.flows.subscribers()).map(subscriber).collect();
        let remotes: Vec<_> = (0..hosts).map(|i| host(self.right, i)).collect();
        forwarding6(&bed, &TranslatedEnds { subscribers: &subscribers, remotes: &remotes }).map_err(|e| e.to_string())
    }

    fn faults(&self) -> Vec<Fault> {
        if self.left.first() != self.right.first() {
            return Vec::new();
        }
        let fault = Fault::new("both sides of the router have the same network").at(".left", "on the left");
        vec![fault.at(".right", "on the right").instead("write another network for one side")]
    }
}
