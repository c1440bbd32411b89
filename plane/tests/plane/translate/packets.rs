//! Packets built by `etherparse`, and the judge of those that come out, which sees every field of the IP header.

pub(crate) use testbed::ip4::{reseal, with_options};

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, Ipv6FragmentHeader, LaxSlicedPacket, NetSlice, SlicedPacket};
use std::net::Ipv6Addr;
use testbed::{Link, packets};

pub(crate) const V4: Link = Link { own: [2, 0, 0, 0, 4, 1], hop: [2, 0, 0, 0, 4, 2] };
pub(crate) const V6: Link = Link { own: [2, 0, 0, 0, 6, 1], hop: [2, 0, 0, 0, 6, 2] };

/// Own addresses of the translator.
pub(crate) const OWN4: [u8; 4] = [198, 51, 100, 254];
pub(crate) const OWN6: &str = "2001:db8:1::1";
/// The prefix, and the two hosts: one in the IPv6 network, with its IPv4 address behind the prefix, one in the other.
pub(crate) const PREFIX: &str = "2001:db8:64::";
pub(crate) const HERE6: &str = "2001:db8:64::198.51.100.10";
pub(crate) const HERE4: [u8; 4] = [198, 51, 100, 10];
pub(crate) const THERE6: &str = "2001:db8:64::203.0.113.7";
pub(crate) const THERE4: [u8; 4] = [203, 0, 113, 7];
/// A router in the IPv6 network, without IPv4 address.
pub(crate) const ROUTER6: &str = "2001:db8:9::9";

pub(crate) fn six(text: &str) -> [u8; 16] {
    text.parse::<Ipv6Addr>().unwrap().octets()
}

pub(crate) fn raw6(src: &str, dst: &str, hops: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    V6.arriving(&packets::raw(src, dst, hops, protocol, payload))
}

/// An IPv4 packet of any protocol; DF is off.
pub(crate) fn raw4(src: [u8; 4], dst: [u8; 4], ttl: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    V4.arriving(&packets::raw(src, dst, ttl, protocol, payload))
}

pub(crate) fn udp6_of(src: &str, dst: &str, hops: u8, payload: &[u8]) -> Vec<u8> {
    V6.arriving(&packets::udp_with((src, 5000), (dst, 53), hops, payload))
}

pub(crate) fn udp6(payload: &[u8]) -> Vec<u8> {
    udp6_of(HERE6, THERE6, 64, payload)
}

pub(crate) fn udp4_of(src: [u8; 4], dst: [u8; 4], ttl: u8, payload: &[u8]) -> Vec<u8> {
    V4.arriving(&packets::udp_with((src, 53), (dst, 5000), ttl, payload))
}

pub(crate) fn udp4(payload: &[u8]) -> Vec<u8> {
    udp4_of(THERE4, HERE4, 64, payload)
}

pub(crate) fn tcp6_of(src: &str, dst: &str) -> Vec<u8> {
    V6.arriving(&packets::tcp_with((src, 5000), (dst, 80), "S", b""))
}

pub(crate) fn tcp6(payload: &[u8]) -> Vec<u8> {
    V6.arriving(&packets::tcp_with((HERE6, 5000), (THERE6, 80), "S", payload))
}

pub(crate) fn tcp4(payload: &[u8]) -> Vec<u8> {
    V4.arriving(&packets::tcp_with((THERE4, 80), (HERE4, 5000), "SA", payload))
}

pub(crate) fn icmp4_of(src: [u8; 4], dst: [u8; 4], kind: u8, code: u8, rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    V4.arriving(&packets::icmp(src, dst, kind, code, rest, payload))
}

pub(crate) fn icmp4(kind: u8, code: u8, rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    icmp4_of(THERE4, HERE4, kind, code, rest, payload)
}

pub(crate) fn icmp6_of(src: &str, dst: &str, kind: u8, code: u8, rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    V6.arriving(&packets::icmp(src, dst, kind, code, rest, payload))
}

pub(crate) fn icmp6(kind: u8, code: u8, rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    icmp6_of(HERE6, THERE6, kind, code, rest, payload)
}

pub(crate) fn set_df(mut frame: Vec<u8>) -> Vec<u8> {
    frame[20] |= 0x40;
    reseal(&mut frame);
    frame
}

/// Change octets of an IPv4 frame and make its header checksum right again.
pub(crate) fn with4(mut frame: Vec<u8>, at: usize, octets: &[u8]) -> Vec<u8> {
    frame[at..at + octets.len()].copy_from_slice(octets);
    reseal(&mut frame);
    frame
}

pub(crate) fn with6(mut frame: Vec<u8>, at: usize, octets: &[u8]) -> Vec<u8> {
    frame[at..at + octets.len()].copy_from_slice(octets);
    frame
}

/// Put octets between the IPv6 header of a frame and what follows, as a header of this number.
pub(crate) fn with_extension(frame: &[u8], number: u8, octets: &[u8]) -> Vec<u8> {
    let mut f = frame[..54].to_vec();
    let mut header = octets.to_vec();
    header[0] = f[20];
    f[20] = number;
    let len = (frame.len() - 54 + octets.len()) as u16;
    f[18..20].copy_from_slice(&len.to_be_bytes());
    f.extend_from_slice(&header);
    f.extend_from_slice(&frame[54..]);
    f
}

/// The same with a fragment header.
pub(crate) fn with_fragment(frame: &[u8], offset: u16, more: bool, id: u32) -> Vec<u8> {
    let header = Ipv6FragmentHeader::new(IpNumber(0), (offset / 8).try_into().unwrap(), more, id);
    with_extension(frame, 44, &header.to_bytes())
}

pub(crate) fn fragments4(frame: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    testbed::fragments::fragments(frame, cuts, 0x1234)
}

pub(crate) fn fragments6(frame: &[u8], cuts: &[usize], id: u32) -> Vec<Vec<u8>> {
    testbed::fragments::fragments(frame, cuts, id)
}

/// What a packet is, for comparisons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IpPacket {
    pub src: String,
    pub dst: String,
    pub protocol: u8,
    pub hops: u8,
    pub class: u8,
    /// The payload of the IP packet, extension headers left out.
    pub payload: Vec<u8>,
    /// Offset, more fragments, identification; of an IPv4 packet always, of an IPv6 packet with a fragment header.
    pub part: Option<(usize, bool, u32)>,
    /// DF of an IPv4 packet.
    pub df: bool,
}

/// Read a frame and check every checksum in it, those of quoted packets too.
pub(crate) fn judge(frame: &[u8]) -> IpPacket {
    testbed::judge::judge(frame);
    let packet = SlicedPacket::from_ethernet(frame).expect("a frame that parses");
    match packet.net.as_ref().expect("an IP packet") {
        NetSlice::Ipv4(ip) => {
            let h = ip.header().to_header();
            assert!(h.options.is_empty(), "options are not translated");
            of4(&h, ip.payload().payload)
        }
        NetSlice::Ipv6(ip) => {
            let h = ip.header();
            assert_eq!(h.flow_label().value(), 0, "flow label");
            of6(&h, ip.extensions(), ip.payload().ip_number.0, ip.payload().payload)
        }
        NetSlice::Arp(_) => panic!("ARP"),
    }
}

fn of4(h: &etherparse::Ipv4Header, payload: &[u8]) -> IpPacket {
    IpPacket {
        src: std::net::Ipv4Addr::from(h.source).to_string(),
        dst: std::net::Ipv4Addr::from(h.destination).to_string(),
        protocol: h.protocol.0,
        hops: h.time_to_live,
        class: h.dscp.value() << 2 | h.ecn.value(),
        payload: payload.to_vec(),
        part: Some((usize::from(h.fragment_offset.value()) * 8, h.more_fragments, h.identification.into())),
        df: h.dont_fragment,
    }
}

/// The same with an IPv6 header.
fn of6(
    h: &etherparse::Ipv6HeaderSlice,
    extensions: &etherparse::Ipv6ExtensionsSlice,
    protocol: u8,
    payload: &[u8],
) -> IpPacket {
    let part = extensions.clone().into_iter().find_map(|e| match e {
        etherparse::Ipv6ExtensionSlice::Fragment(f) => {
            Some((usize::from(f.fragment_offset().value()) * 8, f.more_fragments(), f.identification()))
        }
        _ => None,
    });
    IpPacket {
        src: h.source_addr().to_string(),
        dst: h.destination_addr().to_string(),
        protocol,
        hops: h.hop_limit(),
        class: h.traffic_class(),
        payload: payload.to_vec(),
        part,
        df: false,
    }
}

/// The sum of pseudo header and data must be zero.
pub(crate) fn check(seen: &IpPacket, data: &[u8], what: &str) {
    let mut sum = Sum16BitWords::new();
    if let (Ok(a), Ok(b)) = (seen.src.parse::<Ipv6Addr>(), seen.dst.parse::<Ipv6Addr>()) {
        sum = sum.add_16bytes(a.octets()).add_16bytes(b.octets());
    } else {
        let four = |a: &str| a.parse::<std::net::Ipv4Addr>().unwrap().octets();
        sum = sum.add_4bytes(four(&seen.src)).add_4bytes(four(&seen.dst));
    }
    sum = sum.add_4bytes((data.len() as u32).to_be_bytes()).add_2bytes([0, seen.protocol]);
    assert_eq!(sum.add_slice(data).ones_complement(), 0, "{what}");
}

/// The quote of an ICMP error without extensions behind it.
fn frame_quote(message: &[u8], over6: bool) -> &[u8] {
    let stated = if over6 {
        if matches!(message[0], 1 | 3) { usize::from(message[4]) * 8 } else { 0 }
    } else {
        usize::from(message[5]) * 4
    };
    if stated > 0 { &message[8..8 + stated] } else { &message[8..] }
}

/// Read the packet that an ICMP error quotes, and check its checksum if it is all there.
pub(crate) fn quoted(quote: &[u8], over6: bool) -> IpPacket {
    let lax = LaxSlicedPacket::from_ip(quote).expect("a quoted packet");
    let net = lax.net.as_ref().expect("a quoted IP packet");
    let seen = match net {
        etherparse::LaxNetSlice::Ipv4(ip) => {
            assert!(!over6);
            let h = ip.header().to_header();
            assert_eq!(h.header_checksum, h.calc_header_checksum(), "quoted IPv4 header checksum");
            of4(&h, ip.payload().payload)
        }
        etherparse::LaxNetSlice::Ipv6(ip) => {
            assert!(over6);
            let h = ip.header();
            of6(&h, ip.extensions(), ip.payload().ip_number.0, ip.payload().payload)
        }
        etherparse::LaxNetSlice::Arp(_) => panic!("ARP"),
    };
    testbed::judge::packet(quote, false);
    seen
}

/// Type, code, the four octets behind the checksum, and the quote of an ICMP error frame, over either version.
pub(crate) fn error_of(frame: &[u8]) -> (u8, u8, [u8; 4], IpPacket) {
    let seen = judge(frame);
    let over6 = seen.protocol == 58;
    let m = &seen.payload;
    let quote = quoted(frame_quote(m, over6), over6);
    (m[0], m[1], [m[4], m[5], m[6], m[7]], quote)
}

/// A datagram of a protocol with a checksum at its seventh octet, made right for these IPv4 addresses.
pub(crate) fn sealed4(src: [u8; 4], dst: [u8; 4], protocol: u8, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    data[6..8].fill(0);
    let mut sum = Sum16BitWords::new().add_4bytes(src).add_4bytes(dst).add_2bytes([0, protocol]);
    sum = sum.add_4bytes((data.len() as u32).to_be_bytes());
    let field = sum.add_slice(&data).ones_complement();
    data[6..8].copy_from_slice(&field.to_ne_bytes());
    data
}

/// Put the fragments of one packet together, and check its transport checksum.
pub(crate) fn whole_of(parts: &[IpPacket]) -> IpPacket {
    let mut payload = Vec::new();
    for (i, p) in parts.iter().enumerate() {
        let (offset, more, _) = p.part.expect("a fragment");
        assert_eq!((offset, more), (payload.len(), i + 1 < parts.len()), "fragments in order");
        payload.extend_from_slice(&p.payload);
    }
    let whole = IpPacket { payload, part: None, ..parts[0].clone() };
    check(&whole, &whole.payload, "checksum of the whole");
    whole
}
