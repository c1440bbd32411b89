//! Comparison of a TCP segment with a side's expectation: addresses, ports and pool as for UDP,
//! with or without padding.

use super::Expect;
use super::Mismatch;
use crate::checksum::{Sum, pseudo_v4};
use crate::fields::FrameWords;
use crate::header::{self, be16, be32, half, word};
use crate::layout::{At, ENDS6, by_head};
use crate::tcp::{Ends, ExpectedSegment, HEADER, WINDOW};

impl Expect {
    /// SEG.SEQ, SEG.ACK and flags of a TCP segment in this layout.
    #[inline(always)]
    pub fn segment(&self, frame: &[u8]) -> Option<(u32, u32, u8)> {
        by_head!(self.layout.head(), self.segment_in(frame))
    }

    #[inline(always)]
    #[allow(clippy::unused_self, reason = "called by the macro that knows the layout")]
    fn segment_in<const HEAD: usize>(&self, frame: &[u8]) -> Option<(u32, u32, u8)> {
        let at = At::<HEAD>::UDP;
        if frame.len() < at + HEADER {
            return None;
        }
        let outer = if At::<HEAD>::HAS6 { header::TYPE_IPV6 } else { header::TYPE_IPV4 };
        let next = if At::<HEAD>::HAS4 { frame[At::<HEAD>::IP4 + 9] } else { frame[20] };
        let inside = !(At::<HEAD>::HAS4 && At::<HEAD>::HAS6) || frame[20] == header::PROTO_IPV4;
        let is_tcp = be16(frame, 12) == outer && next == header::TCP && inside;
        is_tcp.then(|| (be32(frame, at + 4), be32(frame, at + 8), frame[at + 13]))
    }

    /// Compares a segment, ignoring padding. With `learn`, outside addresses and ports are zeros,
    /// which the segment's replace. Returns outside address and port.
    ///
    /// # Errors
    /// The first mismatch, in the order of [`Mismatch`].
    #[inline(always)]
    pub fn check_segment(
        &self,
        frame: &[u8],
        ends: &mut Ends,
        wanted: &ExpectedSegment<'_>,
        learn: bool,
    ) -> Result<(u32, u16), Mismatch> {
        by_head!(self.layout.head(), self.check_segment_in(frame, &mut ends.0, wanted, learn))
    }

    #[inline(always)]
    fn check_segment_in<const HEAD: usize>(
        &self,
        frame: &[u8],
        words: &mut FrameWords,
        wanted: &ExpectedSegment<'_>,
        learn: bool,
    ) -> Result<(u32, u16), Mismatch> {
        let tcp_at = At::<HEAD>::UDP;
        let end = tcp_at + HEADER + wanted.payload.len();
        if frame.len() < end {
            return Err(Mismatch::Length);
        }
        // A NIC pads frames; a kernel removes padding.
        let mut padded = [0; HEAD];
        let head = frame.first_chunk().unwrap_or_else(|| {
            padded[..frame.len()].copy_from_slice(frame);
            &padded
        });
        let outer = self.outer_seen(head);
        if learn {
            self.fill_outer(head, words);
        }
        if addresses_differ(head, words) {
            return Err(Mismatch::Address);
        }
        if half(head, tcp_at) != words.ports {
            return Err(Mismatch::Port);
        }
        if learn && !self.in_pool::<HEAD>(outer.0, outer.1) {
            return Err(Mismatch::Pool);
        }
        if !headers_right::<HEAD>(head, wanted) {
            return Err(Mismatch::Header);
        }
        self.marks_right::<HEAD>(head)?;
        // A call of memcmp(3) for no octets took longer than everything else here.
        if !wanted.payload.is_empty() && frame[tcp_at + HEADER..end] != *wanted.payload {
            return Err(Mismatch::Payload);
        }
        if checksums_valid::<HEAD>(head, words, wanted) { Ok(outer) } else { Err(Mismatch::Checksum) }
    }
}

impl Expect {
    /// Compares Ethernet destination, TOS, traffic class and flow label as in UDP frames, and DF, which
    /// is set in segments.
    #[inline(always)]
    fn marks_right<const HEAD: usize>(&self, head: &[u8; HEAD]) -> Result<(), Mismatch> {
        let row = self.row::<HEAD>(self.hops_in::<HEAD>(head));
        if row.destination_diff(head) != 0 {
            Err(Mismatch::Mac)
        } else if row.differs(head, false, |bits| bits.class.or(bits.label)) {
            Err(Mismatch::TrafficClass)
        // As sent, it is clear in what a UDP frame must have.
        } else if row.compares(|bits| bits.df) && !row.differs(head, false, |bits| bits.df) {
            Err(Mismatch::Identification)
        } else {
            Ok(())
        }
    }
}

#[inline(always)]
fn addresses_differ<const HEAD: usize>(head: &[u8; HEAD], words: &FrameWords) -> bool {
    let v4 = At::<HEAD>::HAS4 && word(head, At::<HEAD>::ENDS4) != words.addresses;
    let [src, dst] = &words.ends;
    let at = ENDS6.start;
    v4 || At::<HEAD>::HAS6 && (head[at..at + 16] != src.0 || head[at + 16..at + 32] != dst.0)
}

/// Compares headers under the masks of UDP frames.
#[inline(always)]
fn headers_right<const HEAD: usize>(head: &[u8; HEAD], wanted: &ExpectedSegment<'_>) -> bool {
    let (ip, tcp_at) = (At::<HEAD>::IP4, At::<HEAD>::UDP);
    let after = HEADER + wanted.payload.len();
    let v6 = || {
        let inside = if At::<HEAD>::HAS4 { header::IPV4 } else { 0 };
        head[14] >> 4 == 6 && usize::from(be16(head, 18)) == inside + after
    };
    let v4 = || {
        let unfragmented = be16(head, ip + 6) & !0x4000 == 0;
        head[ip] == 0x45 && usize::from(be16(head, ip + 2)) == header::IPV4 + after && unfragmented
    };
    let tcp = &head[tcp_at..];
    let fields = be32(tcp, 4) == wanted.seq && be32(tcp, 8) == wanted.ack && tcp[13] == wanted.flags;
    let constant = tcp[12] == (HEADER as u8 / 4) << 4 && be16(tcp, 14) == WINDOW && be16(tcp, 18) == 0;
    (!At::<HEAD>::HAS6 || v6()) && (!At::<HEAD>::HAS4 || v4()) && fields && constant
}

/// Whether checksums are valid; only for correct data, whose sum is known.
#[inline(always)]
fn checksums_valid<const HEAD: usize>(head: &[u8; HEAD], words: &FrameWords, wanted: &ExpectedSegment<'_>) -> bool {
    let (ip, tcp_at) = (At::<HEAD>::IP4, At::<HEAD>::UDP);
    // Both headers have 20 octets.
    let twenty = |sum: Sum, at: usize| sum.word(word(head, at)).word(word(head, at + 8)).half(half(head, at + 16));
    let ip_valid = !At::<HEAD>::HAS4 || twenty(Sum::default(), ip).is_valid();
    let length = (HEADER + wanted.payload.len()) as u16;
    let pseudo = if At::<HEAD>::HAS4 {
        pseudo_v4(words.addresses, header::TCP, length)
    } else {
        Sum(pseudo_v4(0, header::TCP, length).0 + words.end_sum)
    };
    ip_valid && twenty(Sum(pseudo.0 + wanted.payload_sum.0), tcp_at).is_valid()
}
