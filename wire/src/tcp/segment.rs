//! How a TCP segment is made: the side's UDP frames with a TCP header instead, and constant data.

use super::{HEADER, WINDOW};
use crate::batch::Words;
use crate::checksum::{Sum, pseudo_v4};
use crate::fields::FrameWords;
use crate::header::{self, Mac, put16, put32};
use crate::layout::{ENDS6, Layout};
use crate::template::Template;
use std::sync::Arc;

/// Minimum frame length in octets, without FCS.
const SHORTEST: usize = 60;

/// Addresses and ports of one segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends(pub(crate) FrameWords);

impl Ends {
    /// The ends of frame `j`.
    #[inline(always)]
    pub fn of(words: &Words, j: usize) -> Ends {
        Ends(words.at(j))
    }

    /// Source and destination swapped, for the answer.
    #[inline(always)]
    #[must_use]
    pub fn swapped(self) -> Ends {
        let FrameWords { addresses, ports, ends: [src, dst], end_sum } = self.0;
        // Halves of equal length, in any byte order.
        Ends(FrameWords {
            addresses: addresses.rotate_left(32),
            ports: ports.rotate_left(16),
            ends: [dst, src],
            end_sum,
        })
    }
}

/// Required beside addresses and ports.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedSegment<'a> {
    /// SEG.SEQ.
    pub seq: u32,
    /// Acknowledgement number; 0 without the flag ACK.
    pub ack: u32,
    /// Flags.
    pub flags: u8,
    /// Expected payload, empty without data.
    pub payload: &'a [u8],
    /// Sum of the payload.
    pub payload_sum: Sum,
}

/// All segments of one side.
#[derive(Clone, Debug)]
pub struct SegmentTemplate {
    /// Headers in front of TCP: without and with data.
    heads: [Vec<u8>; 2],
    ip_sums: [Sum; 2],
    /// Sums of the constant parts.
    sums: [Sum; 2],
    payload: Vec<u8>,
    payload_sum: Sum,
    has4: bool,
    has6: bool,
    tcp_at: usize,
    sources: Arc<[Mac]>,
}

impl SegmentTemplate {
    /// Segments for the side that sends these UDP frames.
    pub fn new(udp: &Template) -> SegmentTemplate {
        let layout = udp.layout();
        let tcp_at = udp.tag_at() - header::UDP;
        let payload: Vec<u8> = (0..udp.len() - tcp_at - HEADER).map(|k| k as u8).collect();
        let (has4, has6) = (!matches!(layout, Layout::Ipv6(_)), layout.ends().is_some());
        let head = |data: usize| {
            let mut b = udp.bytes()[..tcp_at].to_vec();
            if has6 {
                let next = if has4 { header::PROTO_IPV4 } else { header::TCP };
                put16(&mut b, 18, (tcp_at + HEADER + data - ENDS6.end) as u16);
                b[20] = next;
            }
            if has4 {
                let ip = &mut b[tcp_at - header::IPV4..];
                put16(ip, 2, (header::IPV4 + HEADER + data) as u16);
                // Path MTU discovery (RFC 1191).
                (ip[6], ip[9]) = (0x40, header::TCP);
            }
            b
        };
        let heads = [head(0), head(payload.len())];
        let ip_sum = |b: &[u8]| {
            if has4 { Sum::default().bytes(&b[tcp_at - header::IPV4..]) } else { Sum::default() }
        };
        let sum = |data: &[u8]| pseudo_v4(0, header::TCP, (HEADER + data.len()) as u16).be16(WINDOW).bytes(data);
        SegmentTemplate {
            ip_sums: heads.each_ref().map(|b| ip_sum(b)),
            sums: [sum(&[]), sum(&payload)],
            heads,
            payload_sum: Sum::default().bytes(&payload),
            payload,
            has4,
            has6,
            tcp_at,
            sources: udp.sources(),
        }
    }

    /// Data of a segment.
    #[inline(always)]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The other side's segment with these numbers and flags, with this side's data or none.
    #[inline(always)]
    pub fn wanted(&self, (seq, ack): (u32, u32), (flags, data): (u8, bool)) -> ExpectedSegment<'_> {
        if data {
            ExpectedSegment { seq, ack, flags, payload: &self.payload, payload_sum: self.payload_sum }
        } else {
            ExpectedSegment { seq, ack, flags, payload: &[], payload_sum: Sum::default() }
        }
    }

    /// Frame length with padding, without FCS.
    #[inline(always)]
    pub fn len(&self, data: bool) -> usize {
        (self.tcp_at + HEADER + if data { self.payload.len() } else { 0 }).max(SHORTEST)
    }

    /// Writes into `out` of length [`SegmentTemplate::len`].
    #[inline]
    pub fn write(&self, out: &mut [u8], ends: &Ends, index: u32, (seq, ack): (u32, u32), (flags, data): (u8, bool)) {
        let (kind, words) = (usize::from(data), &ends.0);
        let (head, tcp) = out.split_at_mut(self.tcp_at);
        head.copy_from_slice(&self.heads[kind]);
        if self.has6 {
            head[ENDS6.start..][..16].copy_from_slice(&words.ends[0].0);
            head[ENDS6.start + 16..][..16].copy_from_slice(&words.ends[1].0);
        }
        if self.has4 {
            let ip = &mut head[self.tcp_at - header::IPV4..];
            ip[12..20].copy_from_slice(&words.addresses.to_ne_bytes());
            ip[10..12].copy_from_slice(&self.ip_sums[kind].word(words.addresses).checksum());
        }
        if !self.sources.is_empty() {
            head[6..12].copy_from_slice(&self.sources[index as usize % self.sources.len()].0);
        }
        let pseudo =
            if self.has4 { self.sums[kind].word(words.addresses) } else { Sum(self.sums[kind].0 + words.end_sum) };
        let offset_and_flags = (HEADER as u16 / 4) << 12 | u16::from(flags);
        let sum = pseudo.half(words.ports).be32(seq).be32(ack).be16(offset_and_flags);
        let (tcp, data) = tcp.split_at_mut(HEADER);
        tcp[..4].copy_from_slice(&words.ports.to_ne_bytes());
        put32(tcp, 4, seq);
        put32(tcp, 8, ack);
        put16(tcp, 12, offset_and_flags);
        put16(tcp, 14, WINDOW);
        tcp[16..18].copy_from_slice(&sum.checksum());
        put16(tcp, 18, 0);
        let filled = if kind == 1 { self.payload.len() } else { 0 };
        data[..filled].copy_from_slice(&self.payload[..filled]);
        data[filled..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{Fields, Source};
    use crate::layout::{Address6, Ends6};
    use crate::tcp::{Close, Numbers, Script, flag};
    use crate::template::UdpFrame;
    use crate::{AddrRange, Batch, Expect, FlowSpace, Mismatch, PortRange};
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    const FIELDS: Fields = Fields {
        src: Source::InsideAddr,
        src_port: Source::InsidePort,
        dst: Source::RemoteAddr,
        dst_port: Source::RemotePort,
    };

    fn template(layout: Layout, size: usize) -> Template {
        let (to, from) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        Template::udp(&UdpFrame { to, from, size, ttl: 10, fields: FIELDS }, layout)
    }

    fn layouts() -> [Layout; 3] {
        let ends = Ends6 { src: Address6::constant(1 << 96 | 7), dst: Address6::constant(2 << 96 | 9) };
        [Layout::Ipv4, Layout::Ipv6(ends.clone()), Layout::Tunnel(ends)]
    }

    /// The words of connections 0 to 31.
    fn words(template: &Template) -> Words {
        let one = |first: [u8; 4]| AddrRange::one(first.into());
        let ports = PortRange { first: 1024, last: 2023 };
        let flows =
            FlowSpace::new(one([198, 18, 0, 2]), ports, one([198, 19, 0, 2]), PortRange { first: 80, last: 80 });
        let (mut batch, mut words) = (Batch::default(), Words::default());
        batch.set(&flows.unwrap(), &std::array::from_fn(|j| j as u32));
        template.words(&batch, &mut words);
        words
    }

    fn written(layout: Layout, size: usize, n: u16) -> (Vec<u8>, Expect, Words, SegmentTemplate) {
        let udp = template(layout.clone(), size);
        let (segments, words) = (SegmentTemplate::new(&udp), words(&udp));
        let script = Script::new(2, segments.payload().len() as u16, Close::Fin).unwrap();
        let s = script.segment(n);
        let mut out = vec![0xaa; segments.len(s.data)];
        segments.write(&mut out, &Ends::of(&words, 3), 3, Numbers::new(1).of(3, &s), (s.flags, s.data));
        (out, Expect::udp(&udp, FIELDS, layout, None), words, segments)
    }

    /// `etherparse`, the independent judge, accepts every length and checksum.
    #[test]
    fn segments_are_right_in_every_layout() {
        for layout in layouts() {
            for (size, n) in [(64, 0), (64, 3), (594, 3), (1518, 7)] {
                let (out, ..) = written(layout.clone(), size, n);
                let mut rest = SlicedPacket::from_ethernet(&out).unwrap();
                if let (Layout::Tunnel(_), Some(NetSlice::Ipv6(outer))) = (&layout, &rest.net) {
                    rest = SlicedPacket::from_ip(outer.payload().payload).unwrap();
                }
                let Some(TransportSlice::Tcp(tcp)) = &rest.transport else { panic!("{rest:?}") };
                let right = match rest.net.as_ref().unwrap() {
                    NetSlice::Ipv4(ip) => {
                        let ip = ip.header().to_header();
                        assert_eq!((ip.header_checksum, ip.dont_fragment), (ip.calc_header_checksum(), true));
                        tcp.calc_checksum_ipv4(ip.source, ip.destination).unwrap()
                    }
                    NetSlice::Ipv6(ip) => {
                        let ip = ip.header();
                        tcp.calc_checksum_ipv6(ip.source(), ip.destination()).unwrap()
                    }
                    NetSlice::Arp(arp) => panic!("{arp:?}"),
                };
                assert_eq!((tcp.checksum(), tcp.source_port(), tcp.destination_port()), (right, 1027, 80));
                assert_eq!((tcp.syn(), tcp.psh(), tcp.window_size()), (n == 0, n == 3, WINDOW));
            }
        }
    }

    #[test]
    fn a_right_segment_is_accepted_padded_or_not_and_a_wrong_one_is_not() {
        for layout in layouts() {
            let (mut out, expect, words, segments) = written(layout, 64, 3);
            let (seq, ack, flags) = expect.segment(&out).unwrap();
            assert_eq!(flags, flag::PSH | flag::ACK);
            let wanted = segments.wanted((seq, ack), (flags, true));
            let check =
                |frame: &[u8]| expect.check_segment(frame, &mut Ends::of(&words, 3), &wanted, false).map(|_| ());
            assert_eq!(check(&out), Ok(()));
            assert_eq!(check(&[&out[..], &[0; 4]].concat()), Ok(()));
            assert_eq!(check(&out[..out.len() - 1]), Err(Mismatch::Length));
            let last = out.len() - 1;
            out[last] ^= 1;
            assert_eq!(check(&out), Err(Mismatch::Payload));
            out[last] ^= 1;
            out[last - 9] ^= 1;
            assert_eq!(check(&out), Err(Mismatch::Checksum));
            out[last - 9] ^= 1;
            assert_eq!(
                expect.check_segment(&out, &mut Ends::of(&words, 4), &wanted, false).err(),
                Some(Mismatch::Port)
            );
        }
    }

    #[test]
    fn an_answer_goes_back() {
        let udp = template(layouts()[2].clone(), 64);
        let ends = Ends::of(&words(&udp), 5).swapped();
        let segments = SegmentTemplate::new(&udp);
        let mut out = vec![0; segments.len(false)];
        segments.write(&mut out, &ends, 5, (1, 2), (flag::ACK, false));
        assert_eq!((out[22..38].last(), out[38..54].last()), (Some(&9), Some(&7)));
        assert_eq!((&out[66..70], &out[70..74]), (&[198, 19, 0, 2][..], &[198, 18, 0, 2][..]));
        assert_eq!((header::be16(&out, 74), header::be16(&out, 76)), (80, 1029));
    }
}
