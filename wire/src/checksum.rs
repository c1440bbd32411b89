//! The Internet checksum (RFC 1071) and its update (RFC 1624). Sums are over words as in memory:
//! store them with `to_ne_bytes`, and never compare them with a number.

/// An unfolded ones' complement sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(pub u64);

impl Sum {
    /// Adds bytes, an odd last one followed by zero.
    #[inline]
    pub fn bytes(mut self, data: &[u8]) -> Sum {
        let (words, rest) = data.as_chunks::<8>();
        for w in words {
            self = self.word(u64::from_ne_bytes(*w));
        }
        let mut last = [0u8; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_ne_bytes(last))
    }
    /// Adds eight bytes.
    #[inline(always)]
    pub fn word(self, w: u64) -> Sum {
        // 2^32 additions of halves cannot overflow.
        Sum(self.0 + (w & 0xffff_ffff) + (w >> 32))
    }
    /// Adds four bytes.
    #[inline(always)]
    pub fn half(self, w: u32) -> Sum {
        Sum(self.0 + w as u64)
    }
    /// Adds a big-endian number.
    #[inline(always)]
    pub fn be16(self, v: u16) -> Sum {
        Sum(self.0 + v.to_be() as u64)
    }
    /// Adds a big-endian number.
    #[inline(always)]
    pub fn be32(self, v: u32) -> Sum {
        Sum(self.0 + v.to_be() as u64)
    }
    /// Adds a sum.
    #[inline(always)]
    pub fn plus(self, other: Sum) -> Sum {
        Sum(self.0 + u64::from(other.fold()))
    }
    /// 16-bit ones' complement sum.
    #[inline(always)]
    pub fn fold(self) -> u16 {
        // Added to itself with halves swapped, the upper half is the sum of both with carry.
        let s = (self.0.wrapping_add(self.0.rotate_left(32)) >> 32) as u32;
        (s.wrapping_add(s.rotate_left(16)) >> 16) as u16
    }
    /// Returns the octets of a checksum field.
    #[inline(always)]
    pub fn checksum(self) -> [u8; 2] {
        (!self.fold()).to_ne_bytes()
    }
    /// Whether data with its checksum field is valid.
    #[inline(always)]
    pub fn is_valid(self) -> bool {
        self.is_multiple() & (self.0 != 0)
    }
    /// The sum folds to all ones or is zero: only then is its product with the inverse modulo 2^64 small.
    #[inline(always)]
    pub(crate) fn is_multiple(self) -> bool {
        const INVERSE: u64 = 0xfffe_fffe_fffe_ffff;
        self.0.wrapping_mul(INVERSE) <= u64::MAX / 0xffff
    }
    /// Adds with an end-around carry: half the work of [`Self::word`], but only this method,
    /// [`Self::fold`], [`Self::checksum`] and [`Self::is_valid`] may follow.
    #[inline(always)]
    pub(crate) fn word_around(self, w: u64) -> Sum {
        let (s, carry) = self.0.overflowing_add(w);
        Sum(s + carry as u64)
    }
}

/// Sum of the pseudo header, from the eight address bytes.
#[inline(always)]
pub fn pseudo_v4(addresses: u64, protocol: u8, length: u16) -> Sum {
    Sum::default().word(addresses).be16(protocol as u16).be16(length)
}

/// Bytes as on the wire (RFC 1624, equation 3).
#[inline]
pub fn update16(field: [u8; 2], old: u16, new: u16) -> [u8; 2] {
    update(field, Sum::default().be16(old), Sum::default().be16(new))
}

/// The checksum field after the words of `old` became those of `new`.
#[inline]
pub fn update(field: [u8; 2], old: Sum, new: Sum) -> [u8; 2] {
    let s = Sum(u64::from(!u16::from_ne_bytes(field)) + u64::from(!old.fold())).plus(new);
    s.checksum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sum as RFC 1071 writes it, byte pair by byte pair.
    fn plain(data: &[u8]) -> [u8; 2] {
        let mut s = 0u32;
        for c in data.chunks(2) {
            s += u32::from(c[0]) << 8 | u32::from(*c.get(1).unwrap_or(&0));
            s = (s & 0xffff) + (s >> 16);
        }
        (!(s as u16)).to_be_bytes()
    }

    #[test]
    fn example_of_rfc_1071_section_3() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().bytes(&data).checksum(), (!0xddf2u16).to_be_bytes());
    }

    #[test]
    fn all_ones_are_valid_and_nothing_is_not() {
        assert_eq!(0xfffe_fffe_fffe_ffffu64.wrapping_mul(0xffff), 1, "the inverse");
        assert!(Sum(0xffff).is_valid() && Sum(u64::MAX).is_valid() && !Sum(0).is_valid() && !Sum(0x1_0000).is_valid());
        assert_eq!((Sum(0).fold(), Sum(u64::MAX).fold(), Sum(0xffff_0000).fold()), (0, 0xffff, 0xffff));
    }

    proptest! {
        #[test]
        fn carries_around_change_no_sum(words: [u64; 8]) {
            let plain = words.iter().fold(Sum::default(), |s, w| s.word(*w));
            let around = words.iter().fold(Sum::default(), |s, w| s.word_around(*w));
            prop_assert_eq!((plain.fold(), plain.is_valid()), (around.fold(), around.is_valid()));
            let right = around.word_around(!u64::from(around.fold()) & 0xffff);
            prop_assert!(right.is_valid());
        }

        #[test]
        fn agrees_with_the_plain_sum(data in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Sum::default().bytes(&data).checksum(), plain(&data));
        }

        #[test]
        fn an_update_equals_a_new_sum(mut data in proptest::collection::vec(any::<u8>(), 64), new in any::<u32>()) {
            data[0] = 1; // never all zero: an all-zero packet has two right checksums
            let field = Sum::default().bytes(&data).checksum();
            let old = u32::from_be_bytes([data[20], data[21], data[22], data[23]]);
            data[20..24].copy_from_slice(&new.to_be_bytes());
            let updated = update(field, Sum::default().be32(old), Sum::default().be32(new));
            prop_assert!(Sum::default().bytes(&data).bytes(&updated).is_valid());
        }
    }
}
