//! The path of a correct frame: compares all fixed bits without a branch, and notes differences in
//! the bits that an RFC leaves to the device.

use crate::checksum::Sum;
use crate::fields::{FrameWords, place};
use crate::header::{half, word};
use crate::layout::{At, ENDS6};

/// Eight and four bytes of a header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bits(u64, u32);

impl Bits {
    pub(super) const fn new(long: [u8; 8], short: [u8; 4]) -> Bits {
        Bits(u64::from_ne_bytes(long), u32::from_ne_bytes(short))
    }

    #[inline(always)]
    fn of(b: &[u8], (long, short, _): Offsets) -> Bits {
        Bits(word(b, long), half(b, short))
    }

    #[inline(always)]
    fn and(self, mask: Bits) -> Bits {
        Bits(self.0 & mask.0, self.1 & mask.1)
    }

    #[inline(always)]
    fn differ(self, other: Bits) -> Bits {
        Bits(self.0 ^ other.0, self.1 ^ other.1)
    }

    pub(super) fn or(self, more: Bits) -> Bits {
        Bits(self.0 | more.0, self.1 | more.1)
    }

    fn without(self, some: Bits) -> Bits {
        Bits(self.0 & !some.0, self.1 & !some.1)
    }

    #[inline(always)]
    pub(super) fn any(self) -> u64 {
        self.0 | u64::from(self.1)
    }
}

/// Which bits of a header an expectation compares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compared {
    /// TOS, or traffic class.
    pub(super) class: Bits,
    /// Flow label of IPv6.
    pub(super) label: Bits,
    /// DF of IPv4.
    pub(super) df: Bits,
    /// All other constant bits.
    pub(super) others: Bits,
}

/// Required bits of a header, and those in which a difference is noted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Constant {
    value: Bits,
    mask: Bits,
    open: Bits,
}

/// Offsets, and which of the four octets are the hop limit, as in [`At`].
pub(super) type Offsets = (usize, usize, u32);

impl Constant {
    /// Requires the bits of `b` under `all`, without those that are open.
    pub(super) fn of(b: &[u8], at: Offsets, all: Bits, open: Bits) -> Constant {
        Constant { value: Bits::of(b, at).and(all), mask: all.without(open), open }
    }

    /// The same with these bits set instead of clear.
    pub(super) fn with(self, bits: Bits) -> Constant {
        Constant { value: self.value.or(bits), ..self }
    }

    /// The same, noting differences in these bits instead of requiring them.
    pub(super) fn opened(self, bits: Bits) -> Constant {
        Constant { mask: self.mask.without(bits), open: self.open.or(bits), ..self }
    }

    #[inline(always)]
    pub(super) fn with_hop(self, hop: u8, (_, _, at): Offsets) -> Constant {
        let hop = Bits(0, u32::from_ne_bytes([hop; 4]) & at);
        let mask = Bits(self.mask.0, self.mask.1 | at);
        Constant { value: Bits(self.value.0, self.value.1 | hop.1), mask, ..self }
    }

    #[inline(always)]
    fn differ(&self, frame: &[u8], at: Offsets) -> Bits {
        Bits::of(frame, at).differ(self.value)
    }

    #[inline(always)]
    pub(super) fn diff(&self, frame: &[u8], at: Offsets) -> Bits {
        self.differ(frame, at).and(self.mask)
    }

    #[inline(always)]
    pub(super) fn open_diff(&self, frame: &[u8], at: Offsets) -> Bits {
        self.differ(frame, at).and(self.open)
    }
}

/// IPv4 behind an EtherType: type, version and header length; total length. More fragments and
/// offset; protocol.
pub(super) const IPV4_FIRST: Compared = Compared {
    class: Bits::new([0, 0, 0, 0xff, 0, 0, 0, 0], [0; 4]),
    label: Bits::new([0; 8], [0; 4]),
    df: Bits::new([0; 8], [0x40, 0, 0, 0]),
    others: Bits::new([0xff, 0xff, 0xff, 0, 0xff, 0xff, 0, 0], [0xbf, 0xff, 0, 0xff]),
};
/// IPv4 behind an IPv6 header.
pub(super) const IPV4_SECOND: Compared = Compared {
    class: Bits::new([0, 0xff, 0, 0, 0, 0, 0, 0], [0; 4]),
    label: Bits::new([0; 8], [0; 4]),
    df: Bits::new([0; 8], [0x40, 0, 0, 0]),
    others: Bits::new([0xff, 0, 0xff, 0xff, 0, 0, 0xbf, 0xff], [0xbf, 0xff, 0, 0xff]),
};
/// IPv6: type, version, payload length; payload length, next header.
pub(super) const IPV6_FIRST: Compared = Compared {
    class: Bits::new([0, 0, 0x0f, 0xf0, 0, 0, 0, 0], [0; 4]),
    label: Bits::new([0, 0, 0, 0x0f, 0xff, 0xff, 0, 0], [0; 4]),
    df: Bits::new([0; 8], [0; 4]),
    others: Bits::new([0xff, 0xff, 0xf0, 0, 0, 0, 0xff, 0xff], [0xff, 0xff, 0xff, 0]),
};

impl Compared {
    pub(super) fn all(self) -> Bits {
        self.others.or(self.class).or(self.label).or(self.df)
    }
}

/// The Ethernet destination, in eight octets.
pub(super) const DESTINATION: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);

/// Ports and length, without the checksum.
const PORTS_AND_LEN: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);

/// What correct frames have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameRow<'e, const HEAD: usize> {
    pub(super) len: usize,
    /// Ethernet destination, and its mask, 0 if it is not compared.
    pub(super) to: (u64, u64),
    pub(super) first: Constant,
    pub(super) second: Constant,
    pub(super) udp_len: u64,
    pub(super) udp_sum: u64,
    pub(super) tail: &'e [u8],
}

impl<const HEAD: usize> FrameRow<'_, HEAD> {
    /// Compares every fixed header field, checksums and payload.
    #[inline(always)]
    pub(super) fn right(&self, frame: &[u8], words: &FrameWords) -> bool {
        let Some(head) = self.head(frame) else { return false };
        let diff = self.addresses_diff(head, words)
            | self.ports_and_len_diff(head, words.ports)
            | self.constant_diff(head)
            | self.destination_diff(head);
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
    pub(super) fn destination_diff(&self, head: &[u8; HEAD]) -> u64 {
        (word(head, 0) ^ self.to.0) & self.to.1
    }

    #[inline(always)]
    pub(super) fn constant_diff(&self, head: &[u8; HEAD]) -> u64 {
        let first = self.first.diff(head, At::<HEAD>::FIRST).any();
        let tunnel = At::<HEAD>::HAS6 && At::<HEAD>::HAS4;
        if tunnel { first | self.second.diff(head, At::<HEAD>::SECOND).any() } else { first }
    }

    /// Not zero if bits differ that an RFC leaves to the device.
    #[inline(always)]
    pub(super) fn open_diff(&self, frame: &[u8]) -> u64 {
        let Some(head) = self.head(frame) else { return 0 };
        let first = self.first.open_diff(head, At::<HEAD>::FIRST).any();
        let tunnel = At::<HEAD>::HAS6 && At::<HEAD>::HAS4;
        if tunnel { first | self.second.open_diff(head, At::<HEAD>::SECOND).any() } else { first }
    }

    /// Whether fixed or open bits of the kind that `which` selects differ.
    pub(super) fn differs(&self, head: &[u8; HEAD], is_open: bool, which: fn(Compared) -> Bits) -> bool {
        let of = |constant: &Constant, compared: Compared, at: Offsets| {
            let diff = if is_open { constant.open_diff(head, at) } else { constant.diff(head, at) };
            diff.and(which(compared)).any() != 0
        };
        let first = if At::<HEAD>::HAS6 { IPV6_FIRST } else { IPV4_FIRST };
        let tunnel = At::<HEAD>::HAS6 && At::<HEAD>::HAS4;
        of(&self.first, first, At::<HEAD>::FIRST) || tunnel && of(&self.second, IPV4_SECOND, At::<HEAD>::SECOND)
    }

    /// Whether bits of this kind are fixed.
    pub(super) fn compares(&self, which: fn(Compared) -> Bits) -> bool {
        let first = if At::<HEAD>::HAS6 { IPV6_FIRST } else { IPV4_FIRST };
        self.first.mask.and(which(first)).any() | self.second.mask.and(which(IPV4_SECOND)).any() != 0
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
