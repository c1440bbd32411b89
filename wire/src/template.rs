//! How a frame is made: copy a template, fill in the flow's fields, write the tag, and a UDP
//! checksum, which follows the tag's sequence number.

use crate::batch::{BATCH, Batch, Words};
use crate::checksum::{Sum, pseudo_v4};
use crate::fields::{Fields, FrameWords, Values, place};
use crate::header::{self, put16};
use crate::layout::{At, ENDS6, Layout, Octets16, by_head};
use crate::tag::Tag;
use std::sync::Arc;

/// A frame to copy, without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    bytes: Vec<u8>,
    /// First 32 octets of `bytes`.
    start: [u8; 32],
    /// Header inside IPv6.
    inner: [u8; 16],
    /// Octets 4 to 11 of the IPv4 header, without identification and checksum.
    ip_rest: u64,
    /// Length at its place in the UDP header.
    udp: u64,
    /// The negative sum of what is equal in all frames: UDP header, and octets behind the tag.
    udp_minus: u64,
    fields: Fields,
    layout: Layout,
    /// Sum of the IPv4 header without addresses and checksum.
    ip_sum: Sum,
    /// Source addresses that replace the template's, or none.
    sources: Arc<[header::Mac]>,
}

/// Differing octets of a batch.
#[derive(Clone, Debug, Default)]
pub struct BatchFields {
    first: [u64; BATCH],
    second: [u64; BATCH],
    ip_checksums: [u16; BATCH],
    udp_checksums: [u16; BATCH],
    /// Sequence number of the first frame.
    sequence: u64,
}

/// IPv4 identification of a frame, as in memory: 65,536 frames in sequence have different ones. The
/// upper octet is the faster one, so that few frames have values from the whole range.
#[inline(always)]
fn varied(sequence: u64) -> u16 {
    (sequence as u16).to_le()
}

/// At the place of the first two of eight octets.
#[inline(always)]
fn place_first(v: u16) -> u64 {
    let [a, b] = v.to_ne_bytes();
    u64::from_ne_bytes([a, b, 0, 0, 0, 0, 0, 0])
}

/// At the place of the last two of eight octets.
#[inline(always)]
fn place_last(v: u16) -> u64 {
    let [a, b] = v.to_ne_bytes();
    u64::from_ne_bytes([0, 0, 0, 0, 0, 0, a, b])
}

/// A ones' complement zero, larger than every sum: subtracted from it, a sum becomes its negative,
/// and never folds to zero, which would mean no checksum (RFC 768).
const ZERO: u64 = 0xffff << 40;

/// Parameters of a [`Template`].
#[derive(Clone, Copy, Debug)]
pub struct UdpFrame {
    /// Ethernet address of the DUT.
    pub to: header::Mac,
    /// Ethernet address of the tester.
    pub from: header::Mac,
    /// Octets **with** FCS, at least 64, with IPv4 only: other layouts are longer by their overhead.
    pub size: usize,
    /// TTL and hop limit; RFC 2544 has 10.
    pub ttl: u8,
    /// Fields that differ from flow to flow.
    pub fields: Fields,
}

impl Template {
    /// Offset of the tag in an Ethernet/IPv4/UDP frame.
    pub const TAG_AT: usize = Layout::Ipv4.tag_at();

    /// Ethernet/IPv4/UDP (RFC 2544, appendix C): no options, DF clear, incrementing octets after the
    /// tag.
    pub fn udp_v4(f: &UdpFrame) -> Template {
        Template::udp(f, Layout::Ipv4)
    }

    /// A frame in any layout. IPv6 headers have zero traffic class and flow label, and no extensions.
    ///
    /// # Panics
    /// When `size` cannot hold headers and tag.
    pub fn udp(f: &UdpFrame, layout: Layout) -> Template {
        let head = layout.head();
        assert!(f.size >= Layout::Ipv4.smallest(), "a frame of {} octets holds no tag", f.size);
        let len = f.size - header::FCS + layout.overhead();
        let mut b = vec![0; len];
        b[..6].copy_from_slice(&f.to.0);
        b[6..12].copy_from_slice(&f.from.0);
        for (k, octet) in b[head..].iter_mut().enumerate() {
            *octet = k as u8;
        }
        let udp_at = layout.tag_at() - header::UDP;
        let udp_len = (len - udp_at) as u16;
        put16(&mut b, udp_at + 4, udp_len);
        // Every variable field, checksum and tag are zero.
        let udp_minus = ZERO - u64::from(pseudo_v4(0, header::PROTO_UDP, udp_len).bytes(&b[udp_at..]).fold());
        let mut ip_sum = Sum::default();
        if !matches!(layout, Layout::Ipv6(_)) {
            let ip = &mut b[udp_at - header::IPV4..];
            put16(ip, 2, ip.len() as u16);
            (ip[0], ip[8], ip[9]) = (0x45, f.ttl, header::PROTO_UDP);
            ip_sum = Sum::default().bytes(&ip[..header::IPV4]);
        }
        put16(&mut b, 12, if layout.ends().is_some() { header::TYPE_IPV6 } else { header::TYPE_IPV4 });
        if layout.ends().is_some() {
            let next = if udp_at == ENDS6.end { header::PROTO_UDP } else { header::PROTO_IPV4 };
            put16(&mut b, 18, (len - ENDS6.end) as u16);
            (b[14], b[20], b[21]) = (0x60, next, f.ttl);
        }
        let start = *b.first_chunk().expect("the length was checked above");
        let ip_rest = header::word(&b, udp_at - header::IPV4 + 4);
        let inner = *b[udp_at - header::IPV4..].first_chunk().expect("as above");
        Template {
            bytes: b,
            start,
            inner,
            ip_rest,
            udp: place(0, udp_len, [0; 2]),
            udp_minus,
            fields: f.fields,
            layout,
            ip_sum,
            sources: Arc::default(),
        }
    }

    /// The template with these Ethernet sources, one for each connection.
    pub fn from_sources(self, sources: Arc<[header::Mac]>) -> Template {
        Template { sources, ..self }
    }

    /// The template with another size.
    #[must_use]
    pub fn resized(&self, size: usize) -> Template {
        let mac = |at: usize| header::Mac(std::array::from_fn(|k| self.bytes[at + k]));
        let ttl = self.bytes[if self.layout.ends().is_some() { 21 } else { 22 }];
        let frame = UdpFrame { to: mac(0), from: mac(6), size, ttl, fields: self.fields };
        Template::udp(&frame, self.layout.clone()).from_sources(Arc::clone(&self.sources))
    }

    /// Writes the Ethernet sources of these connections, if there are several.
    #[inline(always)]
    pub fn write_sources<'f>(&self, frames: impl Iterator<Item = &'f mut [u8]>, indices: &[u32; BATCH]) {
        if !self.sources.is_empty() {
            self.put_sources(frames, indices);
        }
    }

    #[inline(never)]
    fn put_sources<'f>(&self, frames: impl Iterator<Item = &'f mut [u8]>, indices: &[u32; BATCH]) {
        for (&index, frame) in indices.iter().zip(frames) {
            frame[6..12].copy_from_slice(&self.sources[index as usize % self.sources.len()].0);
        }
    }

    pub(crate) fn sources(&self) -> Arc<[header::Mac]> {
        Arc::clone(&self.sources)
    }

    /// Length without FCS.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// Never.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// Octets of the frame, in which variable fields are zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// UDP length in the template.
    pub fn udp_len(&self) -> u16 {
        header::be16(&self.bytes, self.tag_at() - header::UDP + 4)
    }
    /// Headers between Ethernet and UDP.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// Offset of the tag.
    pub fn tag_at(&self) -> usize {
        self.layout.tag_at()
    }
    /// Whether phase 1 teaches a field.
    pub fn needs_outer(&self) -> bool {
        self.fields.needs_outer()
    }

    /// Fields that differ by flow.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Writes a flow's frame into `out` of the template's length.
    #[inline]
    pub fn write(&self, out: &mut [u8], values: &Values, tag: &Tag) {
        by_head!(self.layout.head(), self.write_in(out, values, tag));
        if !self.sources.is_empty() {
            self.put_sources(std::iter::once(out), &[tag.index; BATCH]);
        }
    }

    #[inline(always)]
    fn write_in<const HEAD: usize>(&self, out: &mut [u8], values: &Values, tag: &Tag) {
        let (words, varied, tag) = (values.words(self.fields, &self.layout), varied(tag.sequence), tag.words());
        let sums = self.sums::<HEAD>(words.addresses, words.ports, words.end_sum, tag, varied);
        self.put::<HEAD>(out, &words, tag, sums, varied);
    }

    /// Header words of a batch of flows.
    #[inline(always)]
    pub fn words(&self, flows: &Batch, words: &mut Words) {
        flows.words(&self.fields, words);
        if let Some(ends) = self.layout.ends() {
            flows.end_words(ends, words);
        }
    }

    /// Differing octets of a batch: frame j has the tag `first` with a sequence number higher by j
    /// and the index `indices[j]`.
    pub fn prepare(&self, words: &Words, first: &Tag, indices: &[u32; BATCH], out: &mut BatchFields) {
        by_head!(self.layout.head(), self.prepare_in(words, first, indices, out));
    }

    #[inline(never)]
    fn prepare_in<const HEAD: usize>(&self, words: &Words, first: &Tag, indices: &[u32; BATCH], out: &mut BatchFields) {
        out.sequence = first.sequence;
        for (j, &index) in indices.iter().enumerate() {
            let tag = Tag { sequence: first.sequence + j as u64, index, ..*first }.words();
            let varied = varied(first.sequence + j as u64);
            (out.first[j], out.second[j]) = (tag[0], tag[1]);
            (out.ip_checksums[j], out.udp_checksums[j]) =
                self.sums::<HEAD>(words.addresses[j], words.ports[j], words.end_sums[j], tag, varied);
        }
    }

    /// IPv4 header checksum, if any, and UDP checksum.
    #[inline(always)]
    fn sums<const HEAD: usize>(
        &self,
        addresses: u64,
        ports: u32,
        end_sum: u64,
        tag: [u64; 2],
        varied: u16,
    ) -> (u16, u16) {
        let addresses = Sum::default().word(addresses);
        // Of the header before UDP (RFC 8200, section 8.1).
        let pseudo = if At::<HEAD>::HAS4 { addresses } else { Sum(end_sum) };
        let udp = pseudo.half(ports).word(tag[0]).word(tag[1]);
        let ip = if At::<HEAD>::HAS4 { !Sum(self.ip_sum.0 + addresses.0 + u64::from(varied)).fold() } else { 0 };
        (ip, Sum(self.udp_minus - udp.0).fold())
    }

    /// Addresses of the header that UDP follows. An IPv4 address is in the last four octets.
    pub(crate) fn pseudo_ends(&self, values: &Values) -> [Octets16; 2] {
        match &self.layout {
            Layout::Ipv6(_) => values.words(self.fields, &self.layout).ends,
            Layout::Ipv4 | Layout::Tunnel(_) => {
                [self.fields.src, self.fields.dst].map(|end| u128::from(values.get(end)).into())
            }
        }
    }

    /// Writes the first frames of a batch into `frames` of the template's length.
    #[inline(always)]
    pub fn write_all<'f>(&self, frames: impl Iterator<Item = &'f mut [u8]>, words: &Words, p: &BatchFields) {
        by_head!(self.layout.head(), self.write_all_in(frames, words, p));
    }

    #[inline(never)]
    fn write_all_in<'f, const HEAD: usize>(
        &self,
        frames: impl Iterator<Item = &'f mut [u8]>,
        words: &Words,
        p: &BatchFields,
    ) {
        for (j, frame) in (0..BATCH).zip(frames) {
            let (tag, sums) = ([p.first[j], p.second[j]], (p.ip_checksums[j], p.udp_checksums[j]));
            self.put::<HEAD>(frame, &words.at(j), tag, sums, varied(p.sequence + j as u64));
        }
    }

    /// Computes first: reading back what was stored byte by byte stalls.
    #[inline(always)]
    fn put<const HEAD: usize>(
        &self,
        out: &mut [u8],
        words: &FrameWords,
        tag: [u64; 2],
        (ip_checksum, udp_checksum): (u16, u16),
        varied: u16,
    ) {
        assert!(out.len() == self.bytes.len(), "a frame has its template's length");
        let Some((head, tail)) = out.split_first_chunk_mut::<HEAD>() else { return };
        head[..32].copy_from_slice(&self.start);
        if At::<HEAD>::HAS6 {
            let [src, dst] = &words.ends;
            head[ENDS6.start..][..16].copy_from_slice(&src.0);
            head[ENDS6.start + 16..][..16].copy_from_slice(&dst.0);
        }
        if At::<HEAD>::HAS4 {
            if At::<HEAD>::HAS6 {
                head[At::<HEAD>::IP4..][..16].copy_from_slice(&self.inner);
            }
            let rest = self.ip_rest | place_first(varied) | place_last(ip_checksum);
            head[At::<HEAD>::IP4 + 4..][..8].copy_from_slice(&rest.to_ne_bytes());
            head[At::<HEAD>::ENDS4..][..8].copy_from_slice(&words.addresses.to_ne_bytes());
        }
        let udp = place(words.ports, 0, udp_checksum.to_ne_bytes()) | self.udp;
        head[At::<HEAD>::UDP..][..8].copy_from_slice(&udp.to_ne_bytes());
        head[At::<HEAD>::TAG..][..8].copy_from_slice(&tag[0].to_ne_bytes());
        head[At::<HEAD>::TAG + 8..][..8].copy_from_slice(&tag[1].to_ne_bytes());
        // The compensation: only edges need it.
        head[HEAD - 2..].fill(0);
        if !tail.is_empty() {
            tail.copy_from_slice(&self.bytes[HEAD..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Source;
    use crate::flow::Flow;
    use crate::layout::{Address6, Ends6, Octets16, Rows};
    use crate::{AddrRange, FlowSpace, FramePurpose, PortRange, tag};
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

    const SUBSCRIBERS: u128 = 0x2001_0002_0000_0002_0000_0000_0000_0001;
    const REMOTES: u128 = 0x2001_0002_0000_0064_0000_0000_c613_0002;

    fn rows(first: u128, count: u128) -> Rows {
        (first..first + count).map(Octets16::from).collect()
    }

    /// Every layout, from subscribers to remote addresses or to a constant tunnel end point.
    fn layouts() -> [Layout; 4] {
        let by_subscriber = Address6::BySubscriber(rows(SUBSCRIBERS, 100));
        let by_remote = Address6::ByRemote(0xc613_0002, rows(REMOTES, 10));
        let translated = Layout::Ipv6(Ends6 { src: by_subscriber.clone(), dst: by_remote });
        let tunnel = Layout::Tunnel(Ends6 { src: by_subscriber, dst: Address6::constant(REMOTES) });
        [Layout::Ipv4, translated.reversed(), tunnel.clone(), translated]
    }

    /// How `etherparse`, the independent judge, parses a frame: IPv6 addresses, IPv4 addresses, ports. It has verified
    /// every length and checksum.
    fn parsed(bytes: &[u8]) -> (Option<[u128; 2]>, Option<[u32; 2]>, [u16; 2]) {
        use etherparse::{Ethernet2HeaderSlice, Ipv4HeaderSlice, Ipv6HeaderSlice, UdpHeaderSlice};
        let ether = Ethernet2HeaderSlice::from_slice(bytes).unwrap();
        let mut rest = &bytes[ether.slice().len()..];
        let (mut v6, mut v4, mut next) = (None, None, etherparse::IpNumber::IPV4);
        if ether.ether_type() == etherparse::EtherType::IPV6 {
            let h = Ipv6HeaderSlice::from_slice(rest).unwrap();
            rest = &rest[h.slice().len()..];
            assert_eq!((h.payload_length() as usize, h.hop_limit(), h.traffic_class()), (rest.len(), 10, 0));
            v6 = Some(h.to_header());
            next = h.next_header();
        }
        if next == etherparse::IpNumber::IPV4 {
            let h = Ipv4HeaderSlice::from_slice(rest).unwrap().to_header();
            assert_eq!((h.total_len as usize, h.time_to_live, h.dont_fragment), (rest.len(), 10, false));
            assert_eq!(h.header_checksum, h.calc_header_checksum());
            rest = &rest[h.header_len()..];
            next = h.protocol;
            v4 = Some(h);
        }
        assert_eq!(next, etherparse::IpNumber::UDP);
        let udp = UdpHeaderSlice::from_slice(rest).unwrap().to_header();
        assert_eq!(udp.length as usize, rest.len());
        let sum = match (&v4, &v6) {
            (Some(h), _) => udp.calc_checksum_ipv4(h, &rest[8..]).unwrap(),
            (None, h) => udp.calc_checksum_ipv6(h.as_ref().unwrap(), &rest[8..]).unwrap(),
        };
        assert_eq!(udp.checksum, sum);
        assert_ne!(udp.checksum, 0);
        let v6 = v6.map(|h| [h.source, h.destination].map(u128::from_be_bytes));
        let v4 = v4.map(|h| [h.source, h.destination].map(u32::from_be_bytes));
        (v6, v4, [udp.source_port, udp.destination_port])
    }

    proptest! {
        #[test]
        fn frames_are_right_for_an_independent_parser(
            size in prop_oneof![Just(64usize), Just(65), Just(128), Just(1518), 64usize..9216],
            inside_addr: u32, inside_port: u16, remote in 0u32..10, remote_port: u16, subscriber in 0u32..100,
            trial: u16, sequence in 0..=tag::MAX_SEQUENCE, index: u32, sender: u8,
        ) {
            let remote_addr = 0xc613_0002 + remote;
            let flow = Flow { inside_addr, inside_port, remote_addr, remote_port, subscriber };
            let tag = Tag { trial, stream: Tag::stream(FramePurpose::Data, true), sender, sequence, index };
            let (customer, pe, remote) = (SUBSCRIBERS + subscriber as u128, REMOTES, REMOTES + remote as u128);
            let v6 = [None, Some([remote, customer]), Some([customer, pe]), Some([customer, remote])];
            for (layout, v6) in layouts().into_iter().zip(v6) {
                let v4 = (!matches!(layout, Layout::Ipv6(_))).then_some([inside_addr, remote_addr]);
                let t = Template::udp(&frame(size), layout.clone());
                prop_assert_eq!(t.len(), size - 4 + layout.overhead());
                let mut out = vec![0xee; t.len()];
                t.write(&mut out, &Values::of(flow), &tag);
                prop_assert_eq!(parsed(&out), (v6, v4, [inside_port, remote_port]));
                prop_assert_eq!(Tag::read(&out, t.tag_at()), Some(tag));
            }
        }
    }

    #[test]
    fn checksums_and_identifications_take_all_values() {
        let flow = Flow {
            inside_addr: 0xc612_0003,
            inside_port: 1024,
            remote_addr: 0xc613_0002,
            remote_port: 1,
            subscriber: 0,
        };
        for layout in layouts() {
            let t = Template::udp(&frame(64), layout);
            let (mut out, at) = (vec![0; t.len()], t.tag_at());
            // Whatever the flow is.
            let (mut checksums, mut identifications) = (vec![false; 65_536], vec![false; 65_536]);
            for sequence in 7..7 + 65_536 {
                let tag = Tag { trial: 1, stream: 1, sender: 0, sequence, index: 0 };
                t.write(&mut out, &Values::of(flow), &tag);
                checksums[usize::from(header::be16(&out, at - 2))] = true;
                identifications[usize::from(header::be16(&out, at - 24))] = true;
            }
            assert_eq!(checksums.iter().position(|known| !known), Some(0), "0 means no checksum");
            assert_eq!(checksums.iter().filter(|known| **known).count(), 65_535);
            assert!(matches!(t.layout(), Layout::Ipv6(_)) || identifications.iter().all(|known| *known));
        }
    }

    #[test]
    fn a_prepared_batch_is_what_single_frames_are() {
        let mut words = Words::default();
        let mut prepared = BatchFields::default();
        let indices = std::array::from_fn(|j| j as u32 * 0x0765_4321);
        // The sequence number carries from one word of the tag into the other.
        let first = Tag {
            trial: 7,
            stream: Tag::stream(FramePurpose::Data, true),
            sender: 3,
            sequence: (1 << 24) - 5,
            index: 0,
        };
        let space = FlowSpace::new(
            AddrRange { first: [198, 18, 0, 2].into(), count: 100 },
            PortRange { first: 1, last: 1000 },
            AddrRange { first: [198, 19, 0, 2].into(), count: 10 },
            PortRange { first: 1, last: 100 },
        )
        .unwrap();
        let flows = std::array::from_fn(|j| j as u32 * 3_097_919);
        let mut batch = Batch::default();
        batch.set(&space, &flows);
        for layout in layouts() {
            let t = Template::udp(&frame(128), layout);
            t.words(&batch, &mut words);
            t.prepare(&words, &first, &indices, &mut prepared);
            for built in [1, 7, BATCH] {
                let (mut one, mut all) = (vec![1; t.len()], vec![vec![2; t.len()]; built]);
                t.write_all(all.iter_mut().map(Vec::as_mut_slice), &words, &prepared);
                for (j, other) in all.iter().enumerate() {
                    let tag = Tag { sequence: first.sequence + j as u64, index: indices[j], ..first };
                    t.write(&mut one, &Values::of(space.flow(flows[j])), &tag);
                    assert_eq!(&one, other);
                }
            }
        }
    }

    #[test]
    fn the_smallest_frames_are_those_of_the_methodology() {
        let sizes: Vec<_> = layouts().map(|l| Template::udp(&frame(64), l).len() + header::FCS).into();
        assert_eq!(sizes, [64, 84, 104, 84]);
    }

    #[test]
    fn fixed_ports_have_a_right_checksum() {
        let t = Template::udp_v4(&frame(64));
        let mut out = vec![0; 60];
        let flow = Flow {
            inside_addr: 0xc612_0002,
            inside_port: 0xc020,
            remote_addr: 0xc613_0002,
            remote_port: 7,
            subscriber: 0,
        };
        let tag = Tag { trial: 0, stream: 1, sender: 0, sequence: 0, index: 0 };
        t.write(&mut out, &Values::of(flow), &tag);
        assert!(pseudo_v4(header::word(&out, 26), 17, 26).bytes(&out[34..]).is_valid());
    }
}
