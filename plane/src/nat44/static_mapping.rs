//! Static mappings as a user writes them: port forwarding of a NAT44, static entries of a NAT64's
//! binding information base.

use super::config_error::ConfigError;
use super::session::endpoint;
use std::cmp::Ordering;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use wire::header::{ICMP, PROTO_UDP, TCP};
use wire::{AddrRange, PortRange, PortSet};

const STATIC: &str = "static";

/// Protocol of a static mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP, with an identifier in place of the port.
    Icmp,
}

impl Protocol {
    const ALL: [(Protocol, &'static str, u8); 3] =
        [(Protocol::Tcp, "tcp", TCP), (Protocol::Udp, "udp", PROTO_UDP), (Protocol::Icmp, "icmp", ICMP)];

    /// The protocol number of IPv4.
    pub fn number(self) -> u8 {
        Protocol::ALL[self as usize].2
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Protocol::ALL[*self as usize].1)
    }
}

/// An inside address, in the form before `:port`.
pub trait InsideAddress: Copy + Ord + Send + 'static {
    /// An example for errors, with a port.
    const EXAMPLE: &'static str;
    /// The address as text.
    fn text(&self) -> String;
    /// Reads the address from text.
    fn read(text: &str) -> Option<Self>;
}

impl InsideAddress for Ipv4Addr {
    const EXAMPLE: &'static str = "192.168.1.2:80";
    fn text(&self) -> String {
        self.to_string()
    }
    fn read(text: &str) -> Option<Ipv4Addr> {
        text.parse().ok()
    }
}

impl InsideAddress for Ipv6Addr {
    const EXAMPLE: &'static str = "[2001:db8::2]:80";
    fn text(&self) -> String {
        format!("[{self}]")
    }
    fn read(text: &str) -> Option<Ipv6Addr> {
        text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
    }
}

/// An outside end point that is mapped to an inside one, or ranges of the same number of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticMapping<A = Ipv4Addr> {
    /// Protocol.
    pub protocol: Protocol,
    /// Outside address of the pool.
    pub outside: Ipv4Addr,
    /// Outside ports, or identifiers of ICMP queries.
    pub outside_ports: PortRange,
    /// Inside address.
    pub inside: A,
    /// Inside ports, as many as outside.
    pub inside_ports: PortRange,
}

impl<A: InsideAddress> StaticMapping<A> {
    pub(crate) fn with_inside<B>(&self, inside: B) -> StaticMapping<B> {
        let StaticMapping { protocol, outside, outside_ports, inside_ports, .. } = *self;
        StaticMapping { protocol, outside, outside_ports, inside, inside_ports }
    }

    fn fault(&self, pool: &[AddrRange], port_set: PortSet) -> Option<String> {
        let [outside, inside] = [self.outside_ports, self.inside_ports];
        if outside.first > outside.last || inside.first > inside.last {
            return Some("a range of ports begins with the lower one".to_owned());
        }
        if outside.count() != inside.count() {
            let (a, b) = (outside.count(), inside.count());
            return Some(format!("{a} outside ports and {b} inside ports; write two ranges of the same length"));
        }
        if self.protocol != Protocol::Icmp && (outside.first == 0 || inside.first == 0) {
            return Some("port 0 is not a port; write 1 to 65535".to_owned());
        }
        if !pool.iter().any(|r| r.contains(self.outside)) {
            let pool: Vec<String> = pool.iter().map(AddrRange::to_string).collect();
            let (outside, pool) = (self.outside, pool.join(", "));
            return Some(format!("{outside} is not an address of the pool ({pool}); use one, or add it to `pool`"));
        }
        let foreign = (outside.first..=outside.last).find(|p| !port_set.contains(*p))?;
        Some(format!("the port set of this gateway does not contain port {foreign}, which belongs to another customer"))
    }

    fn by_outside(&self, other: &StaticMapping<A>) -> Ordering {
        let key = |m: &StaticMapping<A>| (m.protocol, m.outside, m.outside_ports.first);
        key(self).cmp(&key(other))
    }

    fn by_inside(&self, other: &StaticMapping<A>) -> Ordering {
        let key = |m: &StaticMapping<A>| (m.protocol, m.inside, m.inside_ports.first);
        key(self).cmp(&key(other))
    }
}

impl StaticMapping {
    /// First end points, and the number of further ports.
    pub(super) fn points(&self) -> ([u64; 2], u32) {
        let point = |a: Ipv4Addr, p: PortRange| endpoint(a.into(), p.first, self.protocol.number());
        let points = [point(self.outside, self.outside_ports), point(self.inside, self.inside_ports)];
        (points, self.outside_ports.count() - 1)
    }
}

fn text_of_ports(p: PortRange) -> String {
    if p.first == p.last { p.first.to_string() } else { p.to_string() }
}

/// `tcp 203.0.113.5:8080 -> 192.168.1.2:80`.
impl<A: InsideAddress> fmt::Display for StaticMapping<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [outside, inside] = [self.outside_ports, self.inside_ports].map(text_of_ports);
        write!(f, "{} {}:{outside} -> {}:{inside}", self.protocol, self.outside, self.inside.text())
    }
}

impl<A: InsideAddress> FromStr for StaticMapping<A> {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<StaticMapping<A>, ConfigError> {
        read(text).ok_or_else(|| {
            let like = A::EXAMPLE;
            let why = format!(
                "`{text}` is not a static mapping; write tcp, udp or icmp, the outside end point, an arrow and the inside \
                 end point, such as `tcp 203.0.113.5:8080 -> {like}`, or ranges of ports with a hyphen"
            );
            ConfigError { what: STATIC, why }
        })
    }
}

fn read<A: InsideAddress>(text: &str) -> Option<StaticMapping<A>> {
    let (protocol, points) = text.trim().split_once(char::is_whitespace)?;
    let (outside, inside) = points.split_once("->")?;
    let protocol = Protocol::ALL.iter().find(|(_, name, _)| *name == protocol)?.0;
    let (outside, outside_ports) = outside.trim().rsplit_once(':')?;
    let (inside, inside_ports) = inside.trim().rsplit_once(':')?;
    Some(StaticMapping {
        protocol,
        outside: outside.parse().ok()?,
        outside_ports: ports(outside_ports)?,
        inside: A::read(inside)?,
        inside_ports: ports(inside_ports)?,
    })
}

fn ports(text: &str) -> Option<PortRange> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(PortRange { first: first.parse().ok()?, last: last.parse().ok()? })
}

/// `inside` says what is wrong with an inside address.
pub(crate) fn check<A: InsideAddress>(
    all: &[StaticMapping<A>],
    pool: &[AddrRange],
    port_set: PortSet,
    inside: impl Fn(A) -> Option<String>,
) -> Result<(), ConfigError> {
    let bad = |why: String| Err(ConfigError { what: STATIC, why });
    for m in all {
        if let Some(why) = m.fault(pool, port_set).or_else(|| inside(m.inside)) {
            return bad(format!("`{m}`: {why}"));
        }
    }
    let mut sorted: Vec<&StaticMapping<A>> = all.iter().collect();
    sorted.sort_by(|a, b| a.by_outside(b));
    let overlap = |a: &StaticMapping<A>, b: &StaticMapping<A>| {
        (a.protocol, a.outside) == (b.protocol, b.outside) && b.outside_ports.first <= a.outside_ports.last
    };
    if let Some(&[a, b]) = sorted.windows(2).find(|w| overlap(w[0], w[1])) {
        return bad(format!("`{a}` and `{b}` have an outside port in common; give each its own"));
    }
    sorted.sort_by(|a, b| a.by_inside(b));
    let overlap = |a: &StaticMapping<A>, b: &StaticMapping<A>| {
        (a.protocol, a.inside) == (b.protocol, b.inside) && b.inside_ports.first <= a.inside_ports.last
    };
    if let Some(&[a, b]) = sorted.windows(2).find(|w| overlap(w[0], w[1])) {
        return bad(format!(
            "`{a}` and `{b}` have an inside port in common, but an inside port has one outside port; remove one of the two"
        ));
    }
    Ok(())
}
