//! What a frame must look like when it comes back: constant bytes under a mask, fields that follow from
//! the flow, fields that are learned, payload and checksums. Every received frame is held against this,
//! so the right frame takes one straight path and only a wrong one is looked at closely.

use crate::checksum::{Sum, pseudo_v4};
use crate::flow::{AddrRange, PortRange};
use crate::header::{self, be16, be32, half, word};
use crate::template::{Fields, HEAD, Template, Values, place};

/// Why a frame is not what it must be. The first that applies, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Another length than it was sent with.
    Length,
    /// A wrong address.
    Address,
    /// A wrong port.
    Port,
    /// A learned address or port outside what the DUT may use.
    Pool,
    /// Another field of the headers.
    Header,
    /// IPv4 header or UDP checksum.
    Checksum,
    /// Payload.
    Payload,
}

/// What the DUT may translate to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OuterRange {
    /// Outside addresses.
    pub addrs: AddrRange,
    /// Outside ports.
    pub ports: PortRange,
}

/// An expectation for frames of one direction (Ethernet/IPv4/UDP).
#[derive(Clone, Debug)]
pub struct Expect {
    len: usize,
    /// Bytes 12..20 and 20..24 that must stand there, and the masks that select them.
    constant: (u64, u32),
    mask: (u64, u32),
    /// UDP length in its place of bytes 34..42.
    udp_len: u64,
    /// Sum of the UDP pseudo header without addresses, and of everything behind the tag.
    udp_sum: u64,
    fields: Fields,
    /// Where addresses and ports are learned: all ones.
    outer_bits: (u64, u32),
    outer: Option<OuterRange>,
    tail: Vec<u8>,
}

/// Of bytes 34..42 ports and UDP length, but not the checksum.
const PORTS_AND_LEN: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);

impl Expect {
    /// Offset of the hop limit (TTL).
    pub const TTL_AT: usize = 22;

    /// The expectation for frames sent by `sent` that arrive with these four fields. Masked out, because a router or
    /// NAT44 may change them: both MAC addresses, TOS, identification and DF, TTL (judged apart), checksums (recomputed).
    pub fn udp_v4(sent: &Template, fields: Fields, outer: Option<OuterRange>) -> Expect {
        let b = sent.bytes();
        // Type, version and header length; total length. More fragments and offset; protocol.
        let mask = ([0xff, 0xff, 0xff, 0, 0xff, 0xff, 0, 0], [0xbf, 0xff, 0, 0xff]);
        let mask = (u64::from_ne_bytes(mask.0), u32::from_ne_bytes(mask.1));
        let tail = b[HEAD..].to_vec();
        Expect {
            len: sent.len(),
            constant: (word(b, 12) & mask.0, half(b, 20) & mask.1),
            mask,
            udp_len: place(0, sent.udp_len(), [0; 2]),
            udp_sum: pseudo_v4(0, header::PROTO_UDP, sent.udp_len()).bytes(&tail).fold().into(),
            fields,
            outer_bits: {
                let ones = Values::default().learned(u32::MAX, u16::MAX);
                (fields.addresses(&ones), fields.ports(&ones))
            },
            outer,
            tail,
        }
    }

    /// Offset of the tag.
    pub fn tag_at(&self) -> usize {
        Template::TAG_AT
    }
    /// Length of a right frame, without FCS.
    pub fn frame_len(&self) -> usize {
        self.len
    }
    /// Whether checking needs what phase 1 learned.
    pub fn needs_outer(&self) -> bool {
        self.fields.needs_outer()
    }

    /// The fields that differ from flow to flow.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Hold a frame against the values of its flow.
    ///
    /// # Errors
    /// The first mismatch, in the order of [`Mismatch`].
    #[inline]
    pub fn check(&self, frame: &[u8], values: &Values) -> Result<(), Mismatch> {
        self.check_words(frame, self.fields.addresses(values), self.fields.ports(values)).map(|_| ())
    }

    /// As [`Self::check`], with the words of a [`Batch`](crate::Batch); returns the hop limit of a right frame.
    ///
    /// # Errors
    /// As [`Self::check`].
    #[inline(always)]
    pub fn check_words(&self, frame: &[u8], addresses: u64, ports: u32) -> Result<u8, Mismatch> {
        match frame.get(Expect::TTL_AT) {
            Some(&hop) if self.row(hop).right(frame, addresses, ports) => Ok(hop),
            _ => Err(self.explain(frame, addresses, ports, false)),
        }
    }

    /// What all right frames have in common that arrive with this hop limit.
    #[inline(always)]
    pub fn row(&self, hop: u8) -> Row<'_> {
        Row {
            len: self.len,
            constant: (self.constant.0, self.constant.1 | u32::from_ne_bytes([0, 0, hop, 0])),
            mask: (self.mask.0, self.mask.1 | u32::from_ne_bytes([0, 0, 0xff, 0])),
            udp_len: self.udp_len,
            udp_sum: self.udp_sum,
            tail: &self.tail,
        }
    }

    /// As [`Self::check`] in phase 1, when outside address and port are not yet known: returns them as seen.
    ///
    /// # Errors
    /// As [`Self::check`]; [`Mismatch::Pool`] when the DUT used what it may not.
    #[inline]
    pub fn learn(&self, frame: &[u8], values: &Values) -> Result<(u32, u16), Mismatch> {
        let values = values.learned(0, 0);
        self.learn_words(frame, self.fields.addresses(&values), self.fields.ports(&values))
            .map(|(addr, port, _)| (addr, port))
    }

    /// As [`Self::learn`], with the words of a [`Batch`](crate::Batch) about which nothing was learned; returns the hop
    /// limit, too.
    ///
    /// # Errors
    /// As [`Self::learn`].
    #[inline]
    pub fn learn_words(&self, frame: &[u8], addresses: u64, ports: u32) -> Result<(u32, u16, u8), Mismatch> {
        let Some(head) = self.head(frame) else { return Err(Mismatch::Length) };
        let hop = head[Expect::TTL_AT];
        if let Some((addr, port)) = self.right_and_new(&self.row(hop), frame, addresses, ports) {
            return Ok((addr, port, hop));
        }
        let (addresses, ports) = self.with_outer(head, addresses, ports);
        Err(self.explain(frame, addresses, ports, true))
    }

    /// Outside address and port of a frame that is right and one of this row: [`Self::learn_words`] without saying what
    /// is wrong.
    #[inline(always)]
    pub fn right_and_new(&self, row: &Row<'_>, frame: &[u8], addresses: u64, ports: u32) -> Option<(u32, u16)> {
        let head = row.head(frame)?;
        let (addr, port) = self.outer_seen(head);
        let (addresses, ports) = self.with_outer(head, addresses, ports);
        (row.right(frame, addresses, ports) && self.in_pool(addr, port)).then_some((addr, port))
    }

    /// What is learned stands where the expected frame has its outer fields, as a NAT's translation does.
    #[inline(always)]
    fn with_outer(&self, head: &[u8; HEAD], addresses: u64, ports: u32) -> (u64, u32) {
        (addresses | word(head, 26) & self.outer_bits.0, ports | half(head, 34) & self.outer_bits.1)
    }

    #[inline(always)]
    fn head<'f>(&self, frame: &'f [u8]) -> Option<&'f [u8; HEAD]> {
        if frame.len() == self.len { frame.first_chunk() } else { None }
    }

    /// Outside address and port as they stand in a frame; whatever stands there where the frame has none.
    #[inline(always)]
    fn outer_seen(&self, head: &[u8; HEAD]) -> (u32, u16) {
        let f = &self.fields;
        let addr = if f.src.is_outer() { be32(head, 26) } else { be32(head, 30) };
        let port = if f.src_port.is_outer() { be16(head, 34) } else { be16(head, 36) };
        (addr, port)
    }

    #[inline(always)]
    fn in_pool(&self, addr: u32, port: u16) -> bool {
        match &self.outer {
            Some(r) => r.addrs.contains(addr.into()) && r.ports.contains(port),
            None => true,
        }
    }

    /// Find out what is wrong with a frame.
    #[cold]
    fn explain(&self, frame: &[u8], addresses: u64, ports: u32, learning: bool) -> Mismatch {
        let Some(head) = self.head(frame) else { return Mismatch::Length };
        let row = self.row(head[Expect::TTL_AT]);
        let (addr, port) = self.outer_seen(head);
        if word(head, 26) != addresses {
            Mismatch::Address
        } else if half(head, 34) != ports {
            Mismatch::Port
        } else if learning && !self.in_pool(addr, port) {
            Mismatch::Pool
        } else if row.constant_diff(head) | row.ports_and_len_diff(head, ports) != 0 {
            Mismatch::Header
        } else if !row.tail_right(frame) {
            Mismatch::Payload
        } else {
            Mismatch::Checksum
        }
    }
}

/// What all right frames of a row have in common, made once for many frames so that it stays in registers.
#[derive(Clone, Copy, Debug)]
pub struct Row<'e> {
    len: usize,
    constant: (u64, u32),
    mask: (u64, u32),
    udp_len: u64,
    udp_sum: u64,
    tail: &'e [u8],
}

impl Row<'_> {
    /// Whether a frame is right, with the words of a [`Batch`](crate::Batch): addresses, ports, every other header
    /// field that is not masked, both checksums and the payload.
    #[inline(always)]
    pub fn right(&self, frame: &[u8], addresses: u64, ports: u32) -> bool {
        let Some(head) = self.head(frame) else { return false };
        let diff = (word(head, 26) ^ addresses) | self.ports_and_len_diff(head, ports) | self.constant_diff(head);
        diff == 0 && self.checksums_valid(head) && self.tail_right(frame)
    }

    #[inline(always)]
    fn head<'f>(&self, frame: &'f [u8]) -> Option<&'f [u8; HEAD]> {
        if frame.len() == self.len { frame.first_chunk() } else { None }
    }

    #[inline(always)]
    fn ports_and_len_diff(&self, head: &[u8; HEAD], ports: u32) -> u64 {
        (word(head, 34) ^ place(ports, 0, [0; 2]) ^ self.udp_len) & PORTS_AND_LEN
    }

    #[inline(always)]
    fn constant_diff(&self, head: &[u8; HEAD]) -> u64 {
        let a = (word(head, 12) & self.mask.0) ^ self.constant.0;
        let b = (half(head, 20) & self.mask.1) ^ self.constant.1;
        a | b as u64
    }

    #[inline(always)]
    fn checksums_valid(&self, head: &[u8; HEAD]) -> bool {
        let addresses = Sum(word(head, 26));
        let ip = addresses.word_around(word(head, 14)).word_around(half(head, 22).into());
        let compensation = u16::from_ne_bytes([head[58], head[59]]);
        let udp = addresses
            .word_around(word(head, 34))
            .word_around(word(head, 42))
            .word_around(word(head, 50))
            .word_around(self.udp_sum + u64::from(compensation));
        // A zero field means "no checksum" in UDP over IPv4; every frame is sent with one, so zero is wrong.
        // Two different ways to the same answer, because compilers pair equal ones in vectors, which here costs more.
        // The UDP sum is not zero, because its checksum field is not.
        (ip.fold() == 0xffff) & udp.is_multiple() & (u16::from_ne_bytes([head[40], head[41]]) != 0)
    }

    #[inline(always)]
    fn tail_right(&self, frame: &[u8]) -> bool {
        self.tail.is_empty() || frame[HEAD..] == *self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;
    use crate::template::UdpFrame;
    use crate::{Kind, Source, Tag};

    const FLOW: Flow =
        Flow { inside_addr: 0xc612_0002, inside_port: 40_000, remote_addr: 0xc613_0002, remote_port: 80 };

    fn template(size: usize, src: Source, src_port: Source) -> Template {
        Template::udp_v4(&UdpFrame {
            to: header::Mac::default(),
            from: header::Mac::default(),
            size,
            ttl: 10,
            fields: fields(src, src_port),
        })
    }

    fn fields(src: Source, src_port: Source) -> Fields {
        Fields { src, src_port, dst: Source::RemoteAddr, dst_port: Source::RemotePort }
    }

    /// A frame as it comes out of a NAT that translated to this outer address and port.
    fn translated(size: usize, outer: (u32, u16)) -> (Vec<u8>, Expect, Values) {
        let sent = template(size, Source::InsideAddr, Source::InsidePort);
        let out = template(size, Source::OuterAddr, Source::OuterPort);
        let values = Values::of(FLOW).learned(outer.0, outer.1);
        let mut frame = vec![0; out.len()];
        out.write(
            &mut frame,
            &values,
            &Tag { trial: 7, stream: Tag::stream(Kind::Data, false), sender: 0, sequence: 9, index: 5 },
        );
        let range =
            OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1024, last: 65535 } };
        let expect = Expect::udp_v4(&sent, fields(Source::OuterAddr, Source::OuterPort), Some(range));
        (frame, expect, values)
    }

    const OUTER: (u32, u16) = (0xc613_0001, 5000);

    #[test]
    fn a_right_frame_is_right_and_teaches() {
        for size in [64, 65, 128, 1518] {
            let (frame, expect, values) = translated(size, OUTER);
            assert_eq!(expect.check(&frame, &values), Ok(()));
            assert_eq!(expect.learn(&frame, &values), Ok(OUTER));
        }
    }

    #[test]
    fn each_wrong_thing_is_named() {
        let (frame, expect, values) = translated(128, OUTER);
        let with = |at: usize, xor: u8| {
            let mut f = frame.clone();
            f[at] ^= xor;
            expect.check(&f, &values)
        };
        assert_eq!(expect.check(&frame[..123], &values), Err(Mismatch::Length));
        assert_eq!(with(29, 1), Err(Mismatch::Address));
        assert_eq!(with(33, 1), Err(Mismatch::Address));
        assert_eq!(with(35, 1), Err(Mismatch::Port));
        assert_eq!(with(37, 1), Err(Mismatch::Port));
        assert_eq!(with(23, 1), Err(Mismatch::Header));
        assert_eq!(with(20, 0x20), Err(Mismatch::Header), "more fragments");
        assert_eq!(with(39, 1), Err(Mismatch::Header), "UDP length");
        assert_eq!(with(41, 1), Err(Mismatch::Checksum));
        assert_eq!(with(25, 1), Err(Mismatch::Checksum));
        assert_eq!(with(100, 1), Err(Mismatch::Payload));
        assert_eq!(with(15, 1), Err(Mismatch::Checksum), "TOS itself may change, its checksum must follow");
    }

    #[test]
    fn a_zero_udp_checksum_is_wrong() {
        let (mut frame, expect, values) = translated(64, OUTER);
        frame[40..42].fill(0);
        assert_eq!(expect.check(&frame, &values), Err(Mismatch::Checksum));
    }

    #[test]
    fn learning_refuses_what_lies_outside_the_pool() {
        for outer in [(0xc613_0003, 5000), (0xc613_0001, 80)] {
            let (frame, expect, values) = translated(64, outer);
            assert_eq!(expect.learn(&frame, &values), Err(Mismatch::Pool));
        }
    }

    #[test]
    fn a_mapping_that_moved_is_a_wrong_port() {
        let (frame, expect, values) = translated(64, OUTER);
        let moved = values.learned(OUTER.0, OUTER.1 + 1);
        assert_eq!(expect.check(&frame, &moved), Err(Mismatch::Port));
    }
}
