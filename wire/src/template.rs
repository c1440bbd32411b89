//! How a frame is made: a template copied, a few fields filled in from the flow, the tag written, and the
//! tag's compensation set so that the template's UDP checksum stays right. Data made before the trial;
//! [`Template::write`] is the only thing the sender does per frame.

use crate::checksum::{Sum, pseudo_v4};
use crate::flow::Flow;
use crate::header::{self, be16, put16, put32};
use crate::tag::{self, Tag};

/// Where a field's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Address of the Initiator.
    InsideAddr,
    /// Port of the Initiator.
    InsidePort,
    /// Address of the Responder.
    RemoteAddr,
    /// Port of the Responder.
    RemotePort,
    /// Address that the Responder saw in phase 1 (the DUT's outside address).
    OuterAddr,
    /// Port that the Responder saw in phase 1.
    OuterPort,
}

impl Source {
    /// Bytes that it fills.
    pub fn width(self) -> usize {
        if self.is_addr() { 4 } else { 2 }
    }
    /// Whether it is an address.
    pub fn is_addr(self) -> bool {
        matches!(self, Source::InsideAddr | Source::RemoteAddr | Source::OuterAddr)
    }
    /// Whether the value is learned in phase 1 and not known from the flow.
    pub fn is_outer(self) -> bool {
        matches!(self, Source::OuterAddr | Source::OuterPort)
    }
}

/// A field of a frame that differs from flow to flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset in the frame.
    pub at: usize,
    /// What stands there.
    pub source: Source,
}

/// The values that fields are filled from: those of the flow, and what was learned about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Values known from the flow number.
    pub flow: Flow,
    /// Learned outside address.
    pub outer_addr: u32,
    /// Learned outside port.
    pub outer_port: u16,
}

impl Values {
    /// The value for a source, ports in the low 16 bits.
    #[inline(always)]
    pub fn get(&self, source: Source) -> u32 {
        match source {
            Source::InsideAddr => self.flow.inside_addr,
            Source::InsidePort => self.flow.inside_port as u32,
            Source::RemoteAddr => self.flow.remote_addr,
            Source::RemotePort => self.flow.remote_port as u32,
            Source::OuterAddr => self.outer_addr,
            Source::OuterPort => self.outer_port as u32,
        }
    }
}

/// A frame to be copied, and what to fill in. Frames are Ethernet/IPv4/UDP without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    tag_at: usize,
    /// Offset of the IPv4 header's checksum if a field changes an address, and the sum of the rest of that header.
    ip_sum: Option<(usize, Sum)>,
}

/// What a [`Template`] is made from.
#[derive(Clone, Copy, Debug)]
pub struct UdpFrame {
    /// Destination of the Ethernet header: the DUT.
    pub to: header::Mac,
    /// Source of the Ethernet header: the tester.
    pub from: header::Mac,
    /// Frame size in octets **with** FCS, at least 64.
    pub size: usize,
    /// Time to live; RFC 2544 has 10.
    pub ttl: u8,
    /// Source address.
    pub src: Source,
    /// Source port.
    pub src_port: Source,
    /// Destination address.
    pub dst: Source,
    /// Destination port.
    pub dst_port: Source,
}

impl Template {
    /// Offset of the tag in an Ethernet/IPv4/UDP frame.
    pub const TAG_AT: usize = header::ETH + header::IPV4 + header::UDP;

    /// An Ethernet/IPv4/UDP frame as RFC 2544, appendix C, has it: no options, DF clear, identification 0;
    /// after the tag the payload is filled with incrementing octets.
    ///
    /// # Panics
    /// When `size` cannot hold the headers and the tag: sizes are checked when a scenario is read.
    pub fn udp_v4(f: &UdpFrame) -> Template {
        let len = f.size - header::FCS;
        assert!(len >= Template::TAG_AT + tag::LEN, "a frame of {} octets holds no tag", f.size);
        let mut b = vec![0; len];
        b[..6].copy_from_slice(&f.to.0);
        b[6..12].copy_from_slice(&f.from.0);
        put16(&mut b, 12, header::TYPE_IPV4);
        b[14] = 0x45;
        put16(&mut b, 16, (len - header::ETH) as u16);
        b[22] = f.ttl;
        b[23] = header::PROTO_UDP;
        let udp_len = (len - header::ETH - header::IPV4) as u16;
        put16(&mut b, 38, udp_len);
        for (k, octet) in b[Template::TAG_AT + tag::LEN..].iter_mut().enumerate() {
            *octet = k as u8;
        }
        // With every variable field, tag and compensation zero: the compensation makes them sum to nothing later.
        let sum = pseudo_v4(0, header::PROTO_UDP, udp_len).bytes(&b[34..]);
        b[40..42].copy_from_slice(&sum.checksum());
        let ip_sum = Sum::default().bytes(&b[14..34]);
        let fields = vec![
            Field { at: 26, source: f.src },
            Field { at: 30, source: f.dst },
            Field { at: 34, source: f.src_port },
            Field { at: 36, source: f.dst_port },
        ];
        Template { bytes: b, fields, tag_at: Template::TAG_AT, ip_sum: Some((24, ip_sum)) }
    }

    /// Length in bytes, without FCS.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// Never: a template holds at least headers and tag.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// The template's own bytes, variable fields zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The fields that differ from flow to flow.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
    /// Offset of the tag.
    pub fn tag_at(&self) -> usize {
        self.tag_at
    }
    /// Whether a frame needs what phase 1 learned.
    pub fn needs_outer(&self) -> bool {
        self.fields.iter().any(|f| f.source.is_outer())
    }

    /// Write the frame of one flow into `out`, which has the template's length.
    #[inline]
    pub fn write(&self, out: &mut [u8], values: &Values, tag: &Tag) {
        out.copy_from_slice(&self.bytes);
        let mut addresses = 0u64;
        let mut ports = 0u64;
        for f in &self.fields {
            let v = values.get(f.source);
            if f.source.is_addr() {
                put32(out, f.at, v);
                addresses += v.to_be() as u64;
            } else {
                put16(out, f.at, v as u16);
                ports += (v as u16).to_be() as u64;
            }
        }
        if let Some((at, base)) = self.ip_sum {
            out[at..at + 2].copy_from_slice(&Sum(base.0 + addresses).checksum());
        }
        tag.write(out, self.tag_at);
        let sum = Sum(addresses + ports).word(header::word(out, self.tag_at)).word(header::word(out, self.tag_at + 8));
        out[self.tag_at + 16..self.tag_at + 18].copy_from_slice(&sum.checksum());
    }

    /// UDP length as the template states it.
    pub fn udp_len(&self) -> u16 {
        be16(&self.bytes, 38)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use proptest::prelude::*;

    fn frame(size: usize) -> UdpFrame {
        UdpFrame {
            to: header::Mac([2, 0, 0, 0, 0, 1]),
            from: header::Mac([2, 0, 0, 0, 0, 2]),
            size,
            ttl: 10,
            src: Source::InsideAddr,
            src_port: Source::InsidePort,
            dst: Source::RemoteAddr,
            dst_port: Source::RemotePort,
        }
    }

    proptest! {
        /// `etherparse` is the independent judge: addresses, ports, lengths and both checksums.
        #[test]
        fn frames_are_right_for_an_independent_parser(
            size in prop_oneof![Just(64usize), Just(65), Just(128), Just(1518), 64usize..9216],
            a: u32, p: u16, b: u32, q: u16, trial: u16, sequence in 0..=tag::MAX_SEQUENCE, index: u32, sender: u8,
        ) {
            let t = Template::udp_v4(&frame(size));
            let flow = Flow { inside_addr: a, inside_port: p, remote_addr: b, remote_port: q };
            let tag = Tag { trial, stream: Tag::stream(Kind::Data, true), sender, sequence, index };
            let mut out = vec![0xee; t.len()];
            t.write(&mut out, &Values { flow, ..Values::default() }, &tag);
            let sliced = etherparse::SlicedPacket::from_ethernet(&out).unwrap();
            let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net else { panic!("no IPv4") };
            let Some(etherparse::TransportSlice::Udp(udp)) = sliced.transport else { panic!("no UDP") };
            let h = ip.header().to_header();
            prop_assert_eq!(h.header_checksum, h.calc_header_checksum());
            prop_assert_eq!((h.source, h.destination, h.time_to_live), (a.to_be_bytes(), b.to_be_bytes(), 10));
            prop_assert_eq!(h.total_len as usize, size - 18);
            let u = udp.to_header();
            prop_assert_eq!((u.source_port, u.destination_port), (p, q));
            prop_assert_eq!(u.checksum, u.calc_checksum_ipv4(&h, udp.payload()).unwrap());
            prop_assert_ne!(u.checksum, 0);
            prop_assert_eq!(Tag::read(&out, t.tag_at()), Some(tag));
        }
    }

    #[test]
    fn the_smallest_frame_is_60_bytes_and_fixed_ports_have_a_right_checksum() {
        let t = Template::udp_v4(&frame(64));
        assert_eq!((t.len(), t.udp_len()), (60, 26));
        let mut out = vec![0; 60];
        let flow = Flow { inside_addr: 0xc612_0002, inside_port: 0xc020, remote_addr: 0xc613_0002, remote_port: 7 };
        let tag = Tag { trial: 0, stream: 1, sender: 0, sequence: 0, index: 0 };
        t.write(&mut out, &Values { flow, ..Values::default() }, &tag);
        assert!(pseudo_v4(header::word(&out, 26), 17, 26).bytes(&out[34..]).is_valid());
    }
}
