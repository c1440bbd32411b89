//! The path of a correct frame: compares everything without a branch.

use crate::checksum::Sum;
use crate::fields::{FrameWords, place};
use crate::header::{half, word};
use crate::layout::{At, ENDS6};

/// Eight and four required bytes of a header, with masks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Constant {
    value: (u64, u32),
    mask: (u64, u32),
}

/// Offsets, and which of the four octets are the hop limit, as in [`At`].
pub(super) type Offsets = (usize, usize, u32);

impl Constant {
    pub(super) fn of(b: &[u8], (long, short, _): Offsets, mask: ([u8; 8], [u8; 4])) -> Constant {
        let mask = (u64::from_ne_bytes(mask.0), u32::from_ne_bytes(mask.1));
        Constant { value: (word(b, long) & mask.0, half(b, short) & mask.1), mask }
    }

    #[inline(always)]
    pub(super) fn with_hop(self, hop: u8, (_, _, at): Offsets) -> Constant {
        let hop = u32::from_ne_bytes([hop; 4]) & at;
        Constant { value: (self.value.0, self.value.1 | hop), mask: (self.mask.0, self.mask.1 | at) }
    }

    #[inline(always)]
    pub(super) fn diff(&self, frame: &[u8], (long, short, _): Offsets) -> u64 {
        let a = (word(frame, long) & self.mask.0) ^ self.value.0;
        let b = (half(frame, short) & self.mask.1) ^ self.value.1;
        a | b as u64
    }
}

/// Masks for IPv4 behind an EtherType: type, version and header length; total length. More
/// fragments and offset; protocol.
pub(super) const IPV4_FIRST: ([u8; 8], [u8; 4]) = ([0xff, 0xff, 0xff, 0, 0xff, 0xff, 0, 0], [0xbf, 0xff, 0, 0xff]);
/// Masks for IPv4 behind an IPv6 header.
pub(super) const IPV4_SECOND: ([u8; 8], [u8; 4]) = ([0xff, 0, 0xff, 0xff, 0, 0, 0xbf, 0xff], [0xbf, 0xff, 0, 0xff]);
/// Masks for IPv6: type, version, payload length; payload length, next header.
pub(super) const IPV6_FIRST: ([u8; 8], [u8; 4]) = ([0xff, 0xff, 0xf0, 0, 0, 0, 0xff, 0xff], [0xff, 0xff, 0xff, 0]);

/// Ports and length, without the checksum.
const PORTS_AND_LEN: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);

/// What correct frames have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameRow<'e, const HEAD: usize> {
    pub(super) len: usize,
    pub(super) first: Constant,
    pub(super) second: Constant,
    pub(super) udp_len: u64,
    pub(super) udp_sum: u64,
    pub(super) tail: &'e [u8],
}

impl<const HEAD: usize> FrameRow<'_, HEAD> {
    /// Compares every unmasked header field, checksums and payload.
    #[inline(always)]
    pub(super) fn right(&self, frame: &[u8], words: &FrameWords) -> bool {
        let Some(head) = self.head(frame) else { return false };
        let diff =
            self.addresses_diff(head, words) | self.ports_and_len_diff(head, words.ports) | self.constant_diff(head);
        diff == 0 && self.checksums_valid(head, words) && self.tail_right(frame)
    }

    #[inline(always)]
    pub(super) fn head<'f>(&self, frame: &'f [u8]) -> Option<&'f [u8; HEAD]> {
        if frame.len() == self.len { frame.first_chunk() } else { None }
    }

    #[inline(always)]
    #[allow(clippy::unused_self, reason = "a method like its neighbours, which need the row")]
    pub(super) fn addresses_diff(&self, head: &[u8; HEAD], words: &FrameWords) -> u64 {
        let v4 = if At::<HEAD>::HAS4 { word(head, At::<HEAD>::ENDS4) ^ words.addresses } else { 0 };
        if !At::<HEAD>::HAS6 {
            return v4;
        }
        let [src, dst] = words.ends;
        let at = ENDS6.start;
        let same = head[at..at + 16] == src.0 && head[at + 16..at + 32] == dst.0;
        v4 | u64::from(!same)
    }

    #[inline(always)]
    pub(super) fn ports_and_len_diff(&self, head: &[u8; HEAD], ports: u32) -> u64 {
        (word(head, At::<HEAD>::UDP) ^ place(ports, 0, [0; 2]) ^ self.udp_len) & PORTS_AND_LEN
    }

    #[inline(always)]
    pub(super) fn constant_diff(&self, head: &[u8; HEAD]) -> u64 {
        let first = self.first.diff(head, At::<HEAD>::FIRST);
        let tunnel = At::<HEAD>::HAS6 && At::<HEAD>::HAS4;
        if tunnel { first | self.second.diff(head, At::<HEAD>::SECOND) } else { first }
    }

    /// Whether checksums are valid; only for correct addresses, whose sums are known.
    #[inline(always)]
    pub(super) fn checksums_valid(&self, head: &[u8; HEAD], words: &FrameWords) -> bool {
        let (ip4, udp) = (At::<HEAD>::IP4, At::<HEAD>::UDP);
        let addresses = if At::<HEAD>::HAS4 { Sum(word(head, At::<HEAD>::ENDS4)) } else { Sum(words.end_sum) };
        let ip = addresses.word_around(word(head, ip4)).word_around(half(head, ip4 + 8).into());
        let ip_valid = !At::<HEAD>::HAS4 || ip.fold() == 0xffff;
        let compensation = u16::from_ne_bytes([head[HEAD - 2], head[HEAD - 1]]);
        let sum = addresses
            .word_around(word(head, udp))
            .word_around(word(head, udp + 8))
            .word_around(word(head, udp + 16))
            .word_around(self.udp_sum + u64::from(compensation));
        // Zero means "no checksum" over IPv4, and is forbidden over IPv6; frames are sent with one,
        // so zero is wrong. Equal tests of both sums would be combined into vectors, which costs
        // more here.
        ip_valid & sum.is_multiple() & (u16::from_ne_bytes([head[udp + 6], head[udp + 7]]) != 0)
    }

    #[inline(always)]
    pub(super) fn tail_right(&self, frame: &[u8]) -> bool {
        self.tail.is_empty() || frame[HEAD..] == *self.tail
    }
}
