//! The request to a neighbour, and what frames say about its Ethernet address: ARP (RFC 826, RFC
//! 5227) and Neighbor Discovery (RFC 4861).

use crate::icmp6::{Discovery, SOLICITATION, seal6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::checksum::Sum;
use wire::header::{self, Mac, be16, be32, put16};

/// A request from `own` with the address `from`, for the Ethernet address of `to`.
pub fn request(own: Mac, from: IpAddr, to: IpAddr) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => arp(own, from, to),
        (IpAddr::V6(from), IpAddr::V6(to)) => solicitation(own, from, to),
        // Otherwise the source is unspecified, which is legal.
        (_, IpAddr::V4(to)) => arp(own, Ipv4Addr::UNSPECIFIED, to),
        (_, IpAddr::V6(to)) => solicitation(own, Ipv6Addr::UNSPECIFIED, to),
    }
}

/// The same, to one Ethernet address.
pub fn request_of(own: Mac, from: IpAddr, to: IpAddr, at: Mac) -> Vec<u8> {
    let mut b = request(own, from, to);
    if let IpAddr::V6(to) = to {
        // RFC 4861, section 7.3.3: to the neighbour itself.
        b[38..54].copy_from_slice(&to.octets());
        seal6(&mut b);
    }
    b[..6].copy_from_slice(&at.0);
    b
}

fn arp(own: Mac, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut b = vec![0; 60];
    b[..6].fill(0xff);
    b[6..12].copy_from_slice(&own.0);
    put16(&mut b, 12, header::TYPE_ARP);
    b[14..22].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
    b[22..28].copy_from_slice(&own.0);
    b[28..32].copy_from_slice(&from.octets());
    b[38..42].copy_from_slice(&to.octets());
    b
}

fn solicitation(own: Mac, from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let with_option = !from.is_unspecified();
    let len = if with_option { 32 } else { 24 };
    let mut b = vec![0; 54 + len];
    let [.., x, y, z] = to.octets();
    b[..6].copy_from_slice(&[0x33, 0x33, 0xff, x, y, z]);
    b[6..12].copy_from_slice(&own.0);
    put16(&mut b, 12, header::TYPE_IPV6);
    b[14] = 0x60;
    put16(&mut b, 18, len as u16);
    b[20] = header::ICMPV6;
    b[21] = 255;
    b[22..38].copy_from_slice(&from.octets());
    // Solicited-node address (RFC 4291, section 2.7.1).
    b[38..54].copy_from_slice(&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, x, y, z]);
    b[54] = SOLICITATION;
    b[62..78].copy_from_slice(&to.octets());
    if with_option {
        b[78..80].copy_from_slice(&[1, 1]);
        b[80..86].copy_from_slice(&own.0);
    }
    let sum = Sum::default().bytes(&b[22..]).be16(u16::from(header::ICMPV6)).be16(len as u16).checksum();
    b[56..58].copy_from_slice(&sum);
    b
}

pub(super) fn said(frame: &[u8], neighbour: IpAddr) -> Option<Mac> {
    if frame.len() < header::ETH || frame[6] & 1 == 1 {
        return None;
    }
    let said = match (be16(frame, 12), neighbour) {
        (header::TYPE_ARP, IpAddr::V4(a)) => arp_said(frame, a),
        (header::TYPE_IPV6, IpAddr::V6(a)) => discovery_said(frame, a.to_bits()),
        _ => None,
    };
    said.filter(|mac| is_station(*mac))
}

fn is_station(mac: Mac) -> bool {
    mac.0[0] & 1 == 0 && mac != Mac::default()
}

fn mac_at(b: &[u8], at: usize) -> Option<Mac> {
    b.get(at..at + 6)?.try_into().ok().map(Mac)
}

/// RFC 826: requests and replies, gratuitous ones too (RFC 5227, section 3), tell the sender's
/// address; a probe does not (section 2.1.1).
fn arp_said(b: &[u8], neighbour: Ipv4Addr) -> Option<Mac> {
    let of_ethernet_and_ipv4 =
        b.len() >= 42 && (be16(b, 14), be16(b, 16), be16(b, 18)) == (1, header::TYPE_IPV4, 0x0604);
    let about_it = of_ethernet_and_ipv4 && matches!(be16(b, 20), 1 | 2) && be32(b, 28) == neighbour.to_bits();
    mac_at(b, 22).filter(|_| about_it)
}

/// Returns the address that a solicitation from the neighbour (RFC 4861, section 7.2.3) or an advertisement of its
/// address (section 7.2.5) announces.
fn discovery_said(b: &[u8], neighbour: u128) -> Option<Mac> {
    let message = Discovery::of_frame(b)?;
    if !message.is_advertisement {
        return message.link_address.filter(|_| message.source == neighbour);
    }
    // An answer to a unicast solicitation may omit the option (section 4.4). Its Ethernet source is then the address.
    message.link_address.or_else(|| mac_at(b, 6)).filter(|_| message.target == neighbour)
}
