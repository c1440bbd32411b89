//! How a frame is made: a template copied, a few fields filled in from the flow, the tag written, and the
//! tag's compensation set so that the template's UDP checksum stays right. Data made before the trial;
//! [`Template::write`] is the only thing the sender does per frame.

use crate::batch::{BATCH, Words};
use crate::checksum::{Sum, pseudo_v4};
use crate::flow::Flow;
use crate::header::{self, be16, put16};
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

/// Which values stand in the four fields of a UDP frame that differ from flow to flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Source address.
    pub src: Source,
    /// Source port.
    pub src_port: Source,
    /// Destination address.
    pub dst: Source,
    /// Destination port.
    pub dst_port: Source,
}

impl Fields {
    /// Whether a value is needed that only phase 1 can teach.
    pub fn needs_outer(&self) -> bool {
        [self.src, self.src_port, self.dst, self.dst_port].iter().any(|s| s.is_outer())
    }
    /// The eight bytes of both IPv4 addresses as they lie in memory.
    #[inline(always)]
    pub(crate) fn addresses(self, values: &Values) -> u64 {
        ((values.get(self.src) as u64) << 32 | values.get(self.dst) as u64).to_be()
    }
    /// The four bytes of both ports as they lie in memory.
    #[inline(always)]
    pub(crate) fn ports(self, values: &Values) -> u32 {
        (values.get(self.src_port) << 16 | values.get(self.dst_port)).to_be()
    }
}

/// The values that fields are filled from: those of the flow, and what was learned about it. Indexed by
/// [`Source`], so that filling a field is a load and not a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values([u32; 6]);

impl Values {
    /// The values of a flow about which nothing has been learned.
    #[inline(always)]
    pub fn of(flow: Flow) -> Values {
        Values([flow.inside_addr, flow.inside_port as u32, flow.remote_addr, flow.remote_port as u32, 0, 0])
    }
    #[inline(always)]
    pub(crate) fn from_array(values: [u32; 6]) -> Values {
        Values(values)
    }
    /// With what phase 1 has shown of it.
    #[inline(always)]
    pub fn learned(mut self, addr: u32, port: u16) -> Values {
        self.0[Source::OuterAddr as usize] = addr;
        self.0[Source::OuterPort as usize] = port as u32;
        self
    }
    /// The value for a source, ports in the low 16 bits.
    #[inline(always)]
    pub fn get(&self, source: Source) -> u32 {
        self.0[source as usize]
    }
}

/// A frame to be copied, and what to fill in. Frames are Ethernet/IPv4/UDP without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    bytes: Vec<u8>,
    /// The first of `bytes`.
    start: [u8; 32],
    /// UDP length and checksum in their places of bytes 34..42.
    udp: u64,
    fields: Fields,
    /// Sum of the IPv4 header without addresses and checksum.
    ip_sum: Sum,
}

/// What differs between the frames of a batch, worked out and ready to be stored.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    first: [u64; BATCH],
    second: [u64; BATCH],
    ip_checksums: [u16; BATCH],
    compensations: [u16; BATCH],
}

/// Headers and tag: all of the smallest frame.
pub(crate) const HEAD: usize = Template::TAG_AT + tag::LEN;

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
    /// The fields that differ from flow to flow.
    pub fields: Fields,
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
        let start = *b.first_chunk().expect("the length was checked above");
        let udp = place(0, udp_len, sum.checksum());
        Template { bytes: b, start, udp, fields: f.fields, ip_sum }
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
    /// Offset of the tag.
    pub fn tag_at(&self) -> usize {
        Template::TAG_AT
    }
    /// Whether a frame needs what phase 1 learned.
    pub fn needs_outer(&self) -> bool {
        self.fields.needs_outer()
    }

    /// The fields that differ from flow to flow.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Write the frame of one flow into `out`, which has the template's length.
    ///
    /// # Panics
    /// When `out` has another length.
    #[inline]
    pub fn write(&self, out: &mut [u8], values: &Values, tag: &Tag) {
        let (addresses, ports, tag) = (self.fields.addresses(values), self.fields.ports(values), tag.words());
        let (ip_checksum, compensation) = self.sums(addresses, ports, tag);
        self.put(out, addresses, ports, tag, ip_checksum, compensation);
    }

    /// Work out everything that differs between the frames of a batch with these header words: frame j bears `first`
    /// with the sequence number j higher and with the index `indices[j]`.
    #[inline(never)]
    pub fn prepare(&self, words: &Words, first: &Tag, indices: &[u32; BATCH], out: &mut Prepared) {
        for (j, &index) in indices.iter().enumerate() {
            let tag = Tag { sequence: first.sequence + j as u64, index, ..*first }.words();
            let (ip_checksum, compensation) = self.sums(words.addresses[j], words.ports[j], tag);
            (out.first[j], out.second[j]) = (tag[0], tag[1]);
            (out.ip_checksums[j], out.compensations[j]) = (ip_checksum, compensation);
        }
    }

    /// Write frame `j` of a batch, from its header words and what was prepared of them, into `out`, which has the template's length.
    ///
    /// # Panics
    /// When `out` has another length or `j` is not below [`BATCH`].
    #[inline(always)]
    pub fn write_prepared(&self, out: &mut [u8], words: &Words, p: &Prepared, j: usize) {
        let tag = [p.first[j], p.second[j]];
        self.put(out, words.addresses[j], words.ports[j], tag, p.ip_checksums[j], p.compensations[j]);
    }

    /// Checksum of the IPv4 header and compensation of the tag, as they lie in memory.
    #[inline(always)]
    fn sums(&self, addresses: u64, ports: u32, tag: [u64; 2]) -> (u16, u16) {
        let variable = Sum::default().word(addresses);
        let ip = Sum(self.ip_sum.0 + variable.0);
        let udp = variable.half(ports).word(tag[0]).word(tag[1]);
        (!ip.fold(), !udp.fold())
    }

    /// Store a frame. Everything that differs is put together first, because reading back what was just stored byte
    /// by byte stalls.
    #[inline(always)]
    fn put(&self, out: &mut [u8], addresses: u64, ports: u32, tag: [u64; 2], ip_checksum: u16, compensation: u16) {
        assert!(out.len() == self.bytes.len(), "a frame has its template's length");
        let Some((head, tail)) = out.split_first_chunk_mut::<HEAD>() else { return };
        head[..32].copy_from_slice(&self.start);
        head[24..26].copy_from_slice(&ip_checksum.to_ne_bytes());
        head[26..34].copy_from_slice(&addresses.to_ne_bytes());
        head[34..42].copy_from_slice(&(place(ports, 0, [0; 2]) | self.udp).to_ne_bytes());
        head[42..50].copy_from_slice(&tag[0].to_ne_bytes());
        head[50..58].copy_from_slice(&tag[1].to_ne_bytes());
        head[58..60].copy_from_slice(&compensation.to_ne_bytes());
        if !tail.is_empty() {
            tail.copy_from_slice(&self.bytes[HEAD..]);
        }
    }

    /// UDP length as the template states it.
    pub fn udp_len(&self) -> u16 {
        be16(&self.bytes, 38)
    }
}

/// Ports (as they lie in memory), UDP length and checksum in their places of bytes 34..42.
#[inline(always)]
pub(crate) fn place(ports: u32, udp_len: u16, [c, d]: [u8; 2]) -> u64 {
    let ([p, q, r, s], [l, m]) = (ports.to_ne_bytes(), udp_len.to_be_bytes());
    u64::from_ne_bytes([p, q, r, s, l, m, c, d])
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
            fields: Fields {
                src: Source::InsideAddr,
                src_port: Source::InsidePort,
                dst: Source::RemoteAddr,
                dst_port: Source::RemotePort,
            },
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
            t.write(&mut out, &Values::of(flow), &tag);
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
    fn a_prepared_batch_is_what_single_frames_are() {
        let t = Template::udp_v4(&frame(128));
        let mut words = Words::default();
        let mut prepared = Prepared::default();
        let indices = std::array::from_fn(|j| j as u32 * 0x0765_4321);
        // The sequence number passes from one word of the tag into the other.
        let first =
            Tag { trial: 7, stream: Tag::stream(Kind::Data, true), sender: 3, sequence: (1 << 24) - 5, index: 0 };
        let flows: [_; BATCH] = std::array::from_fn(|j| Flow {
            inside_addr: 0xc612_0002 + j as u32 * 0x0101_0101,
            inside_port: j as u16 * 999,
            remote_addr: 0xc613_0002,
            remote_port: !(j as u16),
        });
        for (j, &f) in flows.iter().enumerate() {
            words.addresses[j] = t.fields.addresses(&Values::of(f));
            words.ports[j] = t.fields.ports(&Values::of(f));
        }
        t.prepare(&words, &first, &indices, &mut prepared);
        let (mut one, mut other) = (vec![1; t.len()], vec![2; t.len()]);
        for j in 0..BATCH {
            let tag = Tag { sequence: first.sequence + j as u64, index: indices[j], ..first };
            t.write(&mut one, &Values::of(flows[j]), &tag);
            t.write_prepared(&mut other, &words, &prepared, j);
            assert_eq!(one, other);
        }
    }

    #[test]
    fn the_smallest_frame_is_60_bytes_and_fixed_ports_have_a_right_checksum() {
        let t = Template::udp_v4(&frame(64));
        assert_eq!((t.len(), t.udp_len()), (60, 26));
        let mut out = vec![0; 60];
        let flow = Flow { inside_addr: 0xc612_0002, inside_port: 0xc020, remote_addr: 0xc613_0002, remote_port: 7 };
        let tag = Tag { trial: 0, stream: 1, sender: 0, sequence: 0, index: 0 };
        t.write(&mut out, &Values::of(flow), &tag);
        assert!(pseudo_v4(header::word(&out, 26), 17, 26).bytes(&out[34..]).is_valid());
    }
}
