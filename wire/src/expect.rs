//! What a frame must look like when it comes back: constant bytes under a mask, fields that follow from
//! the flow, fields that are learned, payload and checksums. Every received frame is held against this,
//! so the right frame takes one straight path and only a wrong one is looked at closely.

use crate::checksum::{Sum, pseudo_v4};
use crate::flow::{AddrRange, PortRange};
use crate::header::{self, be16, be32, word};
use crate::tag;
use crate::template::{Field, Source, Template, Values};

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
    tag_at: usize,
    /// Constant bytes of the headers and the mask that selects them, in words of eight bytes.
    constant: Vec<u64>,
    mask: Vec<u64>,
    fields: Vec<Field>,
    outer: Option<OuterRange>,
    tail: Vec<u8>,
    tail_sum: Sum,
}

impl Expect {
    /// Offset of the hop limit (TTL).
    pub const TTL_AT: usize = 22;

    /// The expectation for frames sent by `sent` that arrive with these four fields. Masked out, because a router or
    /// NAT44 may change them: both MAC addresses, TOS, identification and DF, TTL (judged apart), checksums (recomputed).
    pub fn udp_v4(
        sent: &Template,
        src: Source,
        src_port: Source,
        dst: Source,
        dst_port: Source,
        outer: Option<OuterRange>,
    ) -> Expect {
        let b = sent.bytes();
        let tag_at = sent.tag_at();
        let mut mask = vec![0u8; tag_at.next_multiple_of(8)];
        let mut constant = mask.clone();
        // type; version and length of header; total length; more fragments and offset; protocol; UDP length.
        for (range, bits) in
            [(12..15, 0xff), (16..18, 0xff), (20..21, 0xbf), (21..22, 0xff), (23..24, 0xff), (38..40, 0xff)]
        {
            mask[range].fill(bits);
        }
        for (c, (m, b)) in constant.iter_mut().zip(mask.iter().zip(b)) {
            *c = m & b;
        }
        let words = |v: &[u8]| v.as_chunks::<8>().0.iter().map(|w| u64::from_ne_bytes(*w)).collect();
        let tail = b[tag_at + tag::LEN..].to_vec();
        Expect {
            len: sent.len(),
            tag_at,
            constant: words(&constant),
            mask: words(&mask),
            fields: vec![
                Field { at: 26, source: src },
                Field { at: 30, source: dst },
                Field { at: 34, source: src_port },
                Field { at: 36, source: dst_port },
            ],
            outer,
            tail_sum: Sum::default().bytes(&tail),
            tail,
        }
    }

    /// Offset of the tag.
    pub fn tag_at(&self) -> usize {
        self.tag_at
    }
    /// Length of a right frame, without FCS.
    pub fn frame_len(&self) -> usize {
        self.len
    }
    /// Whether checking needs what phase 1 learned.
    pub fn needs_outer(&self) -> bool {
        self.fields.iter().any(|f| f.source.is_outer())
    }

    /// Hold a frame against the values of its flow.
    ///
    /// # Errors
    /// The first mismatch, in the order of [`Mismatch`].
    #[inline]
    pub fn check(&self, frame: &[u8], values: &Values) -> Result<(), Mismatch> {
        if frame.len() != self.len {
            return Err(Mismatch::Length);
        }
        let mut diff = self.constant_diff(frame);
        for f in &self.fields {
            diff |= field_diff(frame, *f, values);
        }
        let sums = self.checksums_valid(frame);
        if diff == 0 && sums && self.tail_right(frame) { Ok(()) } else { Err(self.explain(frame, values, false)) }
    }

    /// As [`Self::check`] in phase 1, when outside address and port are not yet known: returns them as seen.
    ///
    /// # Errors
    /// As [`Self::check`]; [`Mismatch::Pool`] when the DUT used what it may not.
    #[inline]
    pub fn learn(&self, frame: &[u8], values: &Values) -> Result<(u32, u16), Mismatch> {
        if frame.len() != self.len {
            return Err(Mismatch::Length);
        }
        let mut diff = self.constant_diff(frame);
        let (mut addr, mut port) = (0, 0);
        for f in &self.fields {
            match f.source {
                Source::OuterAddr => addr = be32(frame, f.at),
                Source::OuterPort => port = be16(frame, f.at),
                _ => diff |= field_diff(frame, *f, values),
            }
        }
        let sums = self.checksums_valid(frame);
        if diff == 0 && sums && self.in_pool(addr, port) && self.tail_right(frame) {
            Ok((addr, port))
        } else {
            Err(self.explain(frame, values, true))
        }
    }

    #[inline(always)]
    fn constant_diff(&self, frame: &[u8]) -> u64 {
        let (words, _) = frame.as_chunks::<8>();
        let mut diff = 0;
        for ((w, c), m) in words.iter().zip(&self.constant).zip(&self.mask) {
            diff |= (u64::from_ne_bytes(*w) & m) ^ c;
        }
        diff
    }

    #[inline(always)]
    fn checksums_valid(&self, frame: &[u8]) -> bool {
        let Some(h) = frame.first_chunk::<60>() else { return false };
        let addresses = word(h, 26);
        let ip =
            Sum::default().word(word(h, 14)).half(u32::from_ne_bytes([h[22], h[23], h[24], h[25]])).word(addresses);
        let udp = pseudo_v4(addresses, header::PROTO_UDP, be16(h, 38))
            .word(word(h, 34))
            .word(word(h, 42))
            .word(word(h, 50))
            .half(u16::from_ne_bytes([h[58], h[59]]) as u32)
            .plus(self.tail_sum);
        // A zero field means "no checksum" in UDP over IPv4; every frame is sent with one, so zero is wrong.
        ip.is_valid() && udp.is_valid() && (h[40] | h[41]) != 0
    }

    #[inline(always)]
    fn tail_right(&self, frame: &[u8]) -> bool {
        self.tail.is_empty() || frame[self.tag_at + tag::LEN..] == self.tail[..]
    }

    #[inline(always)]
    fn in_pool(&self, addr: u32, port: u16) -> bool {
        match &self.outer {
            Some(r) => r.addrs.contains(addr.into()) && r.ports.contains(port),
            None => true,
        }
    }

    /// Find out what is wrong with a frame of right length.
    #[cold]
    fn explain(&self, frame: &[u8], values: &Values, learning: bool) -> Mismatch {
        let wrong = |addr: bool| {
            self.fields
                .iter()
                .filter(|f| f.source.is_addr() == addr && !(learning && f.source.is_outer()))
                .any(|f| field_diff(frame, *f, values) != 0)
        };
        let outer = |addr: bool| self.fields.iter().find(|f| f.source.is_outer() && f.source.is_addr() == addr);
        let outside = learning && {
            let addr = outer(true).map_or(0, |f| be32(frame, f.at));
            let port = outer(false).map_or(0, |f| be16(frame, f.at));
            !self.in_pool(addr, port)
        };
        if wrong(true) {
            Mismatch::Address
        } else if wrong(false) {
            Mismatch::Port
        } else if outside {
            Mismatch::Pool
        } else if self.constant_diff(frame) != 0 {
            Mismatch::Header
        } else if !self.tail_right(frame) {
            Mismatch::Payload
        } else {
            Mismatch::Checksum
        }
    }
}

#[inline(always)]
fn field_diff(frame: &[u8], f: Field, values: &Values) -> u64 {
    let seen = if f.source.is_addr() { be32(frame, f.at) } else { be16(frame, f.at) as u32 };
    (seen ^ values.get(f.source)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;
    use crate::template::UdpFrame;
    use crate::{Kind, Tag};

    const FLOW: Flow =
        Flow { inside_addr: 0xc612_0002, inside_port: 40_000, remote_addr: 0xc613_0002, remote_port: 80 };

    fn template(size: usize, src: Source, src_port: Source) -> Template {
        Template::udp_v4(&UdpFrame {
            to: header::Mac::default(),
            from: header::Mac::default(),
            size,
            ttl: 10,
            src,
            src_port,
            dst: Source::RemoteAddr,
            dst_port: Source::RemotePort,
        })
    }

    /// A frame as it comes out of a NAT that translated to this outer address and port.
    fn translated(size: usize, outer: (u32, u16)) -> (Vec<u8>, Expect, Values) {
        let sent = template(size, Source::InsideAddr, Source::InsidePort);
        let out = template(size, Source::OuterAddr, Source::OuterPort);
        let values = Values { flow: FLOW, outer_addr: outer.0, outer_port: outer.1 };
        let mut frame = vec![0; out.len()];
        out.write(
            &mut frame,
            &values,
            &Tag { trial: 7, stream: Tag::stream(Kind::Data, false), sender: 0, sequence: 9, index: 5 },
        );
        let range =
            OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1024, last: 65535 } };
        let expect = Expect::udp_v4(
            &sent,
            Source::OuterAddr,
            Source::OuterPort,
            Source::RemoteAddr,
            Source::RemotePort,
            Some(range),
        );
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
        let (frame, expect, mut values) = translated(64, OUTER);
        values.outer_port += 1;
        assert_eq!(expect.check(&frame, &values), Err(Mismatch::Port));
    }
}
