//! Pools of outside addresses, and the customers' own addresses.

use crate::axis::Fit;
use crate::outside::{Outside, PortPool, Ports};
use crate::parts::Plays;
use key::kind::{List, Maybe, Simple, ValueKind, addresses, ip6, list, maybe, own, ports, prefix4, prefix6, text_of};
use key::{Value, Wrong, computed, needed, or};
use plane::nat44::config::{Config, InsideAddress as Host, StaticMapping};
use plane::view;
use plane::view::natxy::Outside6;
use serde_json::json;
use wire::{AddrRange, OuterRange, PortRange, Prefix4, Prefix6};

key::table! {
    /// Outside addresses of a NAT.
    pub struct Pool {
        /// Outside addresses: a range, or a list of ranges.
        pool: Vec<AddrRange> = "pool", list(addresses()), needed("\"198.19.0.1\"").but_for("ce");
        /// Outside ports of each address.
        pool_ports: PortRange = "pool-ports", ports(), or("1024-65535");
    }
}

key::table! {
    /// Outside addresses of a NAT whose Internet speaks IPv6.
    pub struct Pool6 {
        /// Outside addresses: a prefix of 112 to 128 bits, or one address.
        pool: Prefix6 = "pool", pool6(), needed("\"2001:2:0:200::/120\"");
        /// Outside ports of each address.
        pool_ports: PortRange = "pool-ports", ports(), or("1024-65535");
    }
}

key::table! {
    /// The customers' own addresses.
    pub struct Inside {
        /// Prefixes of the customers' own addresses.
        inside: Vec<Prefix4> = "inside", list(prefix4()),
            or("[\"10.0.0.0/8\", \"172.16.0.0/12\", \"192.168.0.0/16\", \"198.18.0.0/16\"]");
    }
}

key::table! {
    /// Static mappings of a NAT44.
    pub struct Static {
        /// Static mappings: outside end points that stand for inside ones for good, as `"tcp 203.0.113.5:8080 -> 192.168.1.2:80"`, or with ranges of equally many ports: `"udp 203.0.113.5:5000-5010 -> 192.168.1.2:5000-5010"`.
        statics: Option<Vec<StaticMapping>> = "static", statics(), computed("none");
    }
}

pub(crate) const fn statics<A: Host>() -> Maybe<List<Simple<StaticMapping<A>>>> {
    fn parse<A: Host>(value: &Value) -> Result<StaticMapping<A>, Wrong> {
        let example = A::EXAMPLE;
        let instead = format!("write such as \"tcp 203.0.113.5:8080 -> {example}\"");
        text_of(value)?.parse().map_err(|e: plane::nat44::config::ConfigError| Wrong::new(e.to_string(), instead))
    }
    maybe(list(own(
        parse::<A>,
        "static mappings, `PROTOCOL OUTSIDE:PORTS -> INSIDE:PORTS`",
        || json!({ "type": "string" }),
    )))
}

/// 112 bits or more, or one address.
const fn pool6() -> Simple<Prefix6> {
    fn parse(value: &Value) -> Result<Prefix6, Wrong> {
        let is_prefix = text_of(value)?.contains('/');
        let one = || ip6().parse(value).map(|addr| Prefix6 { addr, len: 128 });
        let prefix = if is_prefix { prefix6().parse(value)? } else { one()? };
        match plane::Pool6::new(prefix) {
            Ok(_) => Ok(prefix),
            Err(e) => Err(Wrong::new(e.to_string(), "write such as \"2001:2:0:200::/120\"")),
        }
    }
    own(parse, "IPv6 prefix of 112 to 128 bits, or address", || json!({ "type": "string" }))
}

impl Pool {
    pub(crate) fn set(&self, c: &mut Config) {
        c.ports = self.pool_ports;
    }

    pub(crate) fn outside(&self, beside_inside: bool) -> Outside {
        let range = |(at, &range): (usize, &AddrRange)| (format!(".pool[{at}]"), range);
        Outside {
            key: "pool",
            pool: self.pool.iter().enumerate().map(range).collect(),
            ports: Ports::Range(self.pool_ports, ".pool-ports".to_owned()),
            beside_inside,
        }
    }

    pub(crate) fn port_pool(&self) -> PortPool {
        let addresses = self.pool.iter().map(|range| u64::from(range.count)).sum();
        PortPool { addresses, ports: self.pool_ports.count().into(), is_ipv6: false }
    }

    pub(crate) fn seen(&self) -> view::OutsideRanges {
        let (addrs, also) = match self.pool.as_slice() {
            [first, also @ ..] => (*first, also.to_vec()),
            [] => (AddrRange::one([198, 19, 0, 1].into()), Vec::new()),
        };
        view::OutsideRanges { also, ..OuterRange { addrs, ports: self.pool_ports }.into() }
    }

    pub(crate) fn fit(&self, plays: Plays) -> Fit {
        match self.pool.first().filter(|_| plays != Plays::Ce) {
            Some(range) => Fit::UpTo(range.count.into(), "more than `pool` has", "widen `pool`"),
            None => Fit::Lacks,
        }
    }

    pub(crate) fn keep(&mut self, count: u64) {
        self.pool.truncate(1);
        self.pool.iter_mut().for_each(|range| range.count = count as u32);
    }
}

impl Pool6 {
    pub(crate) fn addresses(&self) -> u64 {
        1 << 128u8.saturating_sub(self.pool.len).min(63)
    }

    pub(crate) fn port_pool(&self) -> PortPool {
        PortPool { addresses: self.addresses(), ports: self.pool_ports.count().into(), is_ipv6: true }
    }

    pub(crate) fn seen(&self) -> Result<Outside6, String> {
        Ok(Outside6 { pool: self.plane()?, ports: self.pool_ports })
    }

    pub(crate) fn plane(&self) -> Result<plane::Pool6, String> {
        plane::Pool6::new(self.pool).map_err(|e| e.to_string())
    }

    pub(crate) fn fit(&self) -> Fit {
        Fit::Powers(self.addresses(), "more than `pool` has", "widen `pool`")
    }

    /// `count` is a power of two.
    pub(crate) fn keep(&mut self, count: u64) {
        self.pool = Prefix6 { addr: self.pool.first().into(), len: 128 - count.max(1).ilog2() as u8 };
    }
}
