//! IPv6 packets: from a few choices, as [`crate::build`] makes IPv4 packets, and judged by sums of their own. Apart from
//! IPv4, because functions of IPv4 alone have no use for it.

use crate::build::{self, CUSTOMER, Draft, INTERNET};
use crate::checksum::{self, Ipv4};
use arbitrary::Arbitrary;

/// An address from a list of addresses that the gateway under test knows, possibly with another last octet; or any
/// address.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Host6 {
    /// The address at this place of the list, modulo its length; bit 0 of the second value inverts the lowest bit.
    Known(u8, u8),
    /// Any address, also one that no packet may have.
    Any([u8; 16]),
}

impl Host6 {
    fn address(self, known: &[u128]) -> [u8; 16] {
        match self {
            Host6::Known(i, low) => (known[usize::from(i) % known.len()] ^ u128::from(low & 1)).to_be_bytes(),
            Host6::Any(a) => a,
        }
    }
}

/// What is above IPv6.
#[derive(Arbitrary, Clone, Debug)]
pub enum Transport6 {
    /// UDP with a right checksum.
    Udp,
    /// TCP with these flags (RFC 9293, section 3.1, octet 13).
    Tcp(u8),
    /// ICMPv6 of this type and code.
    Icmp(u8, u8),
    /// Echo request, or else reply.
    Echo(bool),
    /// An IPv4 packet.
    Tunnel(Draft),
    /// The protocol of this number, without a header.
    Other(u8),
}

/// The choices from which an Ethernet frame with an IPv6 packet is built.
#[derive(Arbitrary, Clone, Debug)]
pub struct Draft6 {
    from: Host6,
    to: Host6,
    ports: [u16; 2],
    transport: Transport6,
    hop: u8,
    class: u8,
    payload: u16,
    /// An extension header in front: hop by hop, routing or destination options.
    extension: Option<(u8, u8)>,
    /// Offset in eight octets, "more fragments" and identification; the payload is cut to eight octets.
    part: Option<(u8, bool, u8)>,
}

fn pseudo(header: &[u8], protocol: u8, length: usize) -> [u8; 40] {
    let mut p = [0; 40];
    p[..32].copy_from_slice(&header[8..40]);
    p[34..36].copy_from_slice(&(length as u16).to_be_bytes());
    p[39] = protocol;
    p
}

/// An IPv6 frame that arrives at a side.
pub fn frame(customer: bool, header: &[u8; 40], payload: &[u8]) -> Vec<u8> {
    let (own, hop) = if customer { CUSTOMER } else { INTERNET };
    let mut f = [&own[..], &hop, &[0x86, 0xdd], header, payload].concat();
    f[18..20].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    f
}

impl Draft6 {
    /// The frame as it arrives at a side; `known` are the addresses that mean something.
    pub fn build(&self, customer: bool, known: &[u128]) -> Vec<u8> {
        let mut header = [0; 40];
        header[0] = 0x60 | self.class >> 4;
        header[1] = self.class << 4;
        header[7] = self.hop;
        header[8..24].copy_from_slice(&self.from.address(known));
        header[24..40].copy_from_slice(&self.to.address(known));
        let (mut protocol, mut payload) = self.transport(&header);
        if let Some((offset, more, id)) = self.part {
            if more {
                payload.truncate(payload.len() & !7);
            }
            let place = (u16::from(offset) << 3 | u16::from(more)).to_be_bytes();
            payload.splice(..0, [protocol, 0, place[0], place[1], 0, 0, 0, id & 3]);
            protocol = 44;
        }
        if let Some((kind, content)) = self.extension {
            let kind = [0, 43, 60][usize::from(kind % 3)];
            // Options: one that pads. Routing: an unknown type with these segments left.
            let rest = if kind == 43 { [253, content & 1, 0, 0, 0, 0] } else { [1, 4, 0, 0, 0, content & 1] };
            payload.splice(..0, [&[protocol, 0][..], &rest].concat());
            protocol = kind;
        }
        header[6] = protocol;
        frame(customer, &header, &payload)
    }

    fn transport(&self, header: &[u8; 40]) -> (u8, Vec<u8>) {
        let more = usize::from(self.payload) % 2048;
        let (protocol, mut p, sum_at) = match &self.transport {
            Transport6::Udp => (17, vec![0; 8], 6),
            Transport6::Tcp(_) => (6, vec![0; 20], 16),
            Transport6::Icmp(..) | Transport6::Echo(_) => (58, vec![0; 8], 2),
            Transport6::Tunnel(draft) => return (4, draft.build(true)[14..].to_vec()),
            Transport6::Other(n) => return (*n, vec![7; more]),
        };
        let [source, destination] = self.ports.map(u16::to_be_bytes);
        p.extend((0..more).map(|i| i as u8));
        match self.transport {
            Transport6::Icmp(kind, code) => {
                (p[0], p[1]) = (kind, code);
                p[4..6].copy_from_slice(&source);
            }
            Transport6::Echo(request) => {
                p[0] = if request { 128 } else { 129 };
                p[4..6].copy_from_slice(&source);
            }
            _ => {
                p[..2].copy_from_slice(&source);
                p[2..4].copy_from_slice(&destination);
            }
        }
        if let Transport6::Tcp(flags) = self.transport {
            (p[12], p[13]) = (0x50, flags);
        }
        if protocol == 17 {
            let len = p.len() as u16;
            p[4..6].copy_from_slice(&len.to_be_bytes());
        }
        seal(&pseudo(header, protocol, p.len()), protocol, &mut p, sum_at);
        (protocol, p)
    }
}

fn seal(pseudo: &[u8], protocol: u8, p: &mut [u8], at: usize) {
    p[at..at + 2].fill(0);
    let sum = checksum::of(&[pseudo, p]);
    p[at..at + 2].copy_from_slice(if protocol == 17 && sum == [0, 0] { &[0xff, 0xff] } else { &sum });
}

/// The answer to a frame that came out: addresses and ports the other way round, also inside a tunnel.
pub fn answer(sent: &[u8], customer: bool) -> Option<Vec<u8>> {
    let mut header: [u8; 40] = sent.get(14..54)?.try_into().ok()?;
    header[8..40].rotate_left(16);
    header[7] = 64;
    let mut payload = sent[54..].to_vec();
    match header[6] {
        4 => payload = build::answer(&sent[40..], customer, 0x10)?.get(14..)?.to_vec(),
        6 | 17 if payload.len() >= 8 => payload[..4].rotate_left(2),
        58 if payload.len() >= 8 && payload[0] == 128 => {
            payload[0] = 129;
            let pseudo = pseudo(&header, 58, payload.len());
            seal(&pseudo, 58, &mut payload, 2);
        }
        _ => {}
    }
    Some(frame(customer, &header, &payload))
}

/// An ICMPv6 error about a frame that came out, from `by` or its destination.
pub fn error(
    about: &[u8],
    customer: bool,
    by: Option<Host6>,
    known: &[u128],
    (kind, code): (u8, u8),
    quoted: u16,
) -> Option<Vec<u8>> {
    let packet = about.get(14..).filter(|p| p.len() >= 40)?;
    let mut header = [0; 40];
    (header[0], header[6], header[7]) = (0x60, 58, 60);
    let from = by.map_or_else(|| packet[24..40].to_vec(), |h| h.address(known).to_vec());
    header[8..24].copy_from_slice(&from);
    header[24..40].copy_from_slice(&packet[8..24]);
    let mut payload = vec![1 + (kind & 3), code & 7, 0, 0, 0, 0, 5, 0xdc];
    payload.extend(&packet[..packet.len().min(48 + usize::from(quoted) % 1200)]);
    let pseudo = pseudo(&header, 58, payload.len());
    seal(&pseudo, 58, &mut payload, 2);
    Some(frame(customer, &header, &payload))
}

/// An IPv6 packet cut out of a frame.
pub struct Ipv6<'a> {
    /// The fixed header, 40 octets.
    pub header: &'a [u8],
    /// What is above it and its extension headers.
    pub payload: &'a [u8],
    /// Protocol number of the payload, behind all extension headers.
    pub protocol: u8,
    /// Whether it is a fragment: the payload is not a whole packet's.
    pub part: bool,
}

impl<'a> Ipv6<'a> {
    /// `None` if it is no IPv6 packet, not all there, or has extension headers that do not end.
    pub fn read(b: &'a [u8]) -> Option<Ipv6<'a>> {
        let header = b.get(..40).filter(|h| h[0] >> 4 == 6)?;
        let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut payload = b.get(40..40 + len)?;
        let (mut protocol, mut part) = (header[6], false);
        while let 0 | 43 | 44 | 60 = protocol {
            let long = if protocol == 44 { 8 } else { 8 + 8 * usize::from(*payload.get(1)?) };
            if protocol == 44 {
                part |= payload.get(2..4)? != [0, 0];
            }
            protocol = *payload.first()?;
            payload = payload.get(long..)?;
        }
        Some(Ipv6 { header, payload, protocol, part })
    }

    /// Whether the checksum above it is right; inside a tunnel that of the inner packet. `None` for fragments and protocols
    /// without one.
    pub fn transport_is_right(&self) -> Option<bool> {
        let p = self.payload;
        if self.part {
            return None;
        }
        let sums = |p: &[u8]| checksum::of(&[&pseudo(self.header, self.protocol, p.len()), p]) == [0, 0];
        match self.protocol {
            4 => Ipv4::read(p)?.transport_is_right(),
            6 if p.len() >= 20 => Some(sums(p)),
            58 if p.len() >= 8 => Some(sums(p)),
            17 if p.len() >= 8 => {
                let len = usize::from(u16::from_be_bytes([p[4], p[5]]));
                let datagram = p.get(..len).filter(|d| d.len() >= 8)?;
                Some(datagram[6..8] != [0, 0] && sums(datagram))
            }
            _ => None,
        }
    }
}
