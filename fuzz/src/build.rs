//! Builds frames from a few choices: most are valid, so that they reach deep into a NAT, and some are damaged.

use crate::checksum;
use crate::ip6;
use arbitrary::Arbitrary;
use plane::{Side, Side4, Side6};
use std::net::Ipv4Addr;
use wire::Mac;

/// Customers' side: what the gateway has, and whom it sends to.
pub const CUSTOMER: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
/// The same for the Internet's side.
pub const INTERNET: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 1, 1], [2, 0, 0, 0, 1, 2]);

/// An IPv4 link with one of four MTUs.
pub fn side4((mac, hop): ([u8; 6], [u8; 6]), address: impl Into<Ipv4Addr>, mtu: u8) -> Side4 {
    let mtu = [1500, 576, 68, 9000][usize::from(mtu & 3)];
    Side4 { mac: Mac(mac), next_hop: Mac(hop), address: address.into(), mtu }
}

/// An IPv6 link with one of four MTUs.
pub fn side6((mac, hop): ([u8; 6], [u8; 6]), address: &str, mtu: u8) -> Side6 {
    let mtu = [1500, 1280, 9000, 1400][usize::from(mtu & 3)];
    Side6 { mac: Mac(mac), next_hop: Mac(hop), address: ip6(address), mtu }
}

/// The links of a customers' or a providers' edge: the side of IPv6, and both links with one of four MTUs each.
pub fn edge(ce: bool, address4: [u8; 4], address6: &str, mtu: [u8; 2]) -> (Side, Side4, Side6) {
    let (ipv6, six, four) =
        if ce { (Side::Internet, INTERNET, CUSTOMER) } else { (Side::Customer, CUSTOMER, INTERNET) };
    (ipv6, side4(four, address4, mtu[0]), side6(six, address6, mtu[1]))
}

/// An address that means something to the gateway under test.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Host {
    /// 10.0.0.0 and neighbours.
    Inside(u8),
    /// 203.0.113.0 and neighbours.
    Remote(u8),
    /// 192.0.2.0 and neighbours.
    Pool(u8),
    /// 198.51.100.0 and neighbours: not translated, where that is configured.
    Exempt(u8),
    /// Any address, also one that no packet may have.
    Any([u8; 4]),
}

impl Host {
    fn address(self) -> [u8; 4] {
        match self {
            Host::Inside(n) => [10, 0, 0, n & 3],
            Host::Remote(n) => [203, 0, 113, n & 3],
            Host::Pool(n) => [192, 0, 2, n & 3],
            Host::Exempt(n) => [198, 51, 100, n & 3],
            Host::Any(a) => a,
        }
    }
}

/// What is above IPv4.
#[derive(Arbitrary, Clone, Debug)]
pub enum Transport {
    /// UDP; without checksum when true.
    Udp(bool),
    /// TCP with these flags (RFC 9293, section 3.1, octet 13).
    Tcp(u8),
    /// ICMP of this type and code.
    Icmp(u8, u8),
    /// A type that the NAT follows: echo request, reply.
    Echo(bool),
    /// The protocol of this number, without a header.
    Other(u8),
}

/// The choices from which an Ethernet frame with an IPv4 packet is built.
#[derive(Arbitrary, Clone, Debug)]
pub struct Draft {
    from: Host,
    to: Host,
    ports: [u16; 2],
    transport: Transport,
    ttl: u8,
    id: u8,
    df: bool,
    payload: u16,
    options: Vec<u8>,
    /// Offset in eight octets and "more fragments"; the payload is then all of the packet.
    part: Option<(u16, bool)>,
}

/// Damage: octets changed, length cut or padded, header checksum made right again.
#[derive(Arbitrary, Clone, Debug, Default)]
pub struct Damage {
    octets: Vec<(u16, u8)>,
    length: Option<u16>,
    reseal: bool,
}

fn mac(to_customer_side: bool) -> [u8; 12] {
    let (own, hop) = if to_customer_side { CUSTOMER } else { INTERNET };
    let mut m = [0; 12];
    m[..6].copy_from_slice(&own);
    m[6..].copy_from_slice(&hop);
    m
}

/// An IPv4 frame that arrives at the customers' side (or at the Internet's).
pub fn frame(customer: bool, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut f = mac(customer).to_vec();
    f.extend([8, 0]);
    f.extend(header);
    f.extend(payload);
    let total = (header.len() + payload.len()) as u16;
    f[16..18].copy_from_slice(&total.to_be_bytes());
    reseal(&mut f);
    f
}

/// Write the IPv4 header checksum anew, as far as there is a header.
pub fn reseal(f: &mut [u8]) {
    let ihl = f.get(14).map_or(0, |b| usize::from(b & 15) * 4);
    if ihl >= 20 && f.len() >= 14 + ihl {
        f[24..26].fill(0);
        let sum = checksum::of(&[&f[14..14 + ihl]]);
        f[24..26].copy_from_slice(&sum);
    }
}

impl Draft {
    /// The frame as it arrives at a side.
    pub fn build(&self, customer: bool) -> Vec<u8> {
        let options = &self.options[..(self.options.len() & !3).min(40)];
        let mut header = vec![0; 20];
        header.extend(options);
        header[0] = 0x40 | (header.len() / 4) as u8;
        header[5] = self.id & 3;
        let (offset, more) = self.part.unwrap_or_default();
        let fragment = (offset & 0x1fff) | u16::from(more) << 13 | u16::from(self.df) << 14;
        header[6..8].copy_from_slice(&fragment.to_be_bytes());
        header[8] = self.ttl;
        header[12..16].copy_from_slice(&self.from.address());
        header[16..20].copy_from_slice(&self.to.address());
        let mut payload = self.transport(&mut header);
        if self.part.is_some() && more {
            payload.truncate(payload.len() & !7);
        }
        frame(customer, &header, &payload)
    }

    fn transport(&self, header: &mut [u8]) -> Vec<u8> {
        let (protocol, len, sum_at) = match self.transport {
            Transport::Udp(_) => (17, 8, 6),
            Transport::Tcp(_) => (6, 20, 16),
            Transport::Icmp(..) | Transport::Echo(_) => (1, 8, 2),
            Transport::Other(n) => (n, 0, 0),
        };
        header[9] = protocol;
        let more = usize::from(self.payload) % 2048;
        let mut p = vec![0; len];
        p.extend((0..more).map(|i| i as u8));
        let [source, destination] = self.ports.map(|p| p.to_be_bytes());
        match self.transport {
            Transport::Udp(_) => {
                p[..2].copy_from_slice(&source);
                p[2..4].copy_from_slice(&destination);
                p[4..6].copy_from_slice(&((len + more) as u16).to_be_bytes());
            }
            Transport::Tcp(flags) => {
                p[..2].copy_from_slice(&source);
                p[2..4].copy_from_slice(&destination);
                p[12] = 0x50;
                p[13] = flags;
            }
            Transport::Icmp(kind, code) => {
                (p[0], p[1]) = (kind, code);
                p[4..6].copy_from_slice(&source);
            }
            Transport::Echo(request) => {
                p[0] = if request { 8 } else { 0 };
                p[4..6].copy_from_slice(&source);
            }
            Transport::Other(_) => return p,
        }
        // Later fragments are data; summing them up as if they had a header does no harm.
        if self.part.is_none_or(|(offset, _)| offset == 0) && !matches!(self.transport, Transport::Udp(true)) {
            let pseudo = checksum::pseudo(header, p.len());
            let sum = if protocol == 1 { checksum::of(&[&p]) } else { checksum::of(&[&pseudo, &p]) };
            let none = protocol == 17 && sum == [0, 0];
            p[sum_at..sum_at + 2].copy_from_slice(if none { &[0xff, 0xff] } else { &sum });
        }
        p
    }
}

impl Damage {
    /// Damages a frame: sets its length, changes octets, then repairs the header checksum if `reseal` is set.
    pub fn apply(&self, f: &mut Vec<u8>) {
        if let Some(n) = self.length {
            f.resize(usize::from(n) % 2048, 0xaa);
        }
        let n = f.len();
        for (at, value) in &self.octets {
            if n > 0 {
                f[usize::from(*at) % n] = *value;
            }
        }
        if self.reseal {
            reseal(f);
        }
    }
}

/// The answer to a frame that came out on a side: addresses and ports (or identifier's type) the other way round. It
/// arrives where the frame went to.
pub fn answer(sent: &[u8], customer: bool, tcp_flags: u8) -> Option<Vec<u8>> {
    let packet = checksum::Ipv4::read(sent.get(14..)?)?;
    let (mut header, mut payload) = (packet.header.to_vec(), packet.payload.to_vec());
    header[12..20].rotate_left(4);
    header[8] = 64;
    match header[9] {
        6 | 17 if payload.len() >= 20 || (header[9] == 17 && payload.len() >= 8) => {
            payload[..4].rotate_left(2);
            if header[9] == 6 {
                let (old, new) = (payload[13], tcp_flags);
                payload[13] = new;
                // The sum changes by as much as the octet does: let the complement of another one take it up.
                let field = u16::from_be_bytes([payload[16], payload[17]]);
                let s = u32::from(!field) + u32::from(!u16::from(old)) + u32::from(new);
                let s = (s & 0xffff) + (s >> 16);
                let s = (s & 0xffff) + (s >> 16);
                payload[16..18].copy_from_slice(&(!(s as u16)).to_be_bytes());
            }
        }
        1 if payload.len() >= 8 && payload[0] == 8 => {
            payload[0] = 0;
            payload[2..4].fill(0);
            let sum = checksum::of(&[&payload]);
            payload[2..4].copy_from_slice(&sum);
        }
        _ => {}
    }
    Some(frame(customer, &header, &payload))
}

/// An ICMP error about a frame that came out on a side, sent by `by` (the destination if `None`); it arrives where the
/// frame went to.
pub fn error(about: &[u8], customer: bool, by: Option<Host>, kind: u8, code: u8, quoted: u16) -> Option<Vec<u8>> {
    let packet = about.get(14..)?;
    let to = packet.get(12..16)?;
    let from = by.map_or_else(|| packet.get(16..20).map(<[u8]>::to_vec), |h| Some(h.address().to_vec()))?;
    let mut header = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 60, 1, 0, 0];
    header.extend(from);
    header.extend(to);
    let mut payload = vec![[3, 4, 11, 12][usize::from(kind & 3)], code & 15, 0, 0, 0, 0, 0, 0];
    payload.extend(&packet[..packet.len().min(28 + usize::from(quoted) % 1600)]);
    let sum = checksum::of(&[&payload]);
    payload[2..4].copy_from_slice(&sum);
    Some(frame(customer, &header, &payload))
}
