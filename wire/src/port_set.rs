//! Port sets of customers that share an IPv4 address (RFC 7597, section 5.1 and appendix B; RFC 7596).

use serde::{Deserialize, Serialize};

/// The ports of one PSID: `offset` bits A, `len` bits PSID, the rest. With an offset A is never 0:
/// the lowest ports belong to no set, and sets are not contiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortSet {
    /// Offset a, in bits.
    pub offset: u8,
    /// PSID length k, in bits.
    pub len: u8,
    /// PSID below 2^k.
    pub psid: u16,
}

/// Why a port set is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortSetError {
    /// Offset and PSID have more bits than a port.
    #[error("a PSID offset of {0} and a PSID length of {1} need more than the 16 bits of a port")]
    Bits(u8, u8),
    /// The PSID is too large for its length.
    #[error("PSID {0} does not fit the {1} bits of its length")]
    Psid(u16, u8),
}

impl PortSet {
    /// The port set of an unshared address.
    pub const ALL: PortSet = PortSet { offset: 0, len: 0, psid: 0 };

    /// Checks that the numbers fit.
    ///
    /// # Errors
    /// When they do not.
    pub fn new(offset: u8, len: u8, psid: u16) -> Result<PortSet, PortSetError> {
        if u32::from(offset) + u32::from(len) > 16 {
            return Err(PortSetError::Bits(offset, len));
        }
        if u32::from(psid) >> len != 0 {
            return Err(PortSetError::Psid(psid, len));
        }
        Ok(PortSet { offset, len, psid })
    }

    #[inline(always)]
    fn low_bits(self) -> u32 {
        16 - u32::from(self.offset) - u32::from(self.len)
    }

    /// Number of ports: 2^(16-k) without offset, else (2^a - 1) · 2^(16-a-k).
    #[inline]
    pub fn count(self) -> u32 {
        let runs = if self.offset == 0 { 1 } else { (1 << self.offset) - 1 };
        runs << self.low_bits()
    }

    /// A port, in ascending order, `j` < count.
    #[inline(always)]
    pub fn nth(self, j: u32) -> u16 {
        let m = self.low_bits();
        let run = (j >> m) + u32::from(self.offset > 0);
        (run << m << self.len | u32::from(self.psid) << m | j & ((1 << m) - 1)) as u16
    }

    /// First and last port of each contiguous block, ascending.
    pub fn blocks(self) -> impl Iterator<Item = (u16, u16)> {
        let size = 1 << self.low_bits();
        (0..self.count() / size).map(move |i| (self.nth(i * size), self.nth(i * size + size - 1)))
    }

    /// The PSID of a port; `None` for a port in no set.
    #[inline(always)]
    pub fn psid_of(self, port: u16) -> Option<u16> {
        let reserved = self.offset > 0 && u32::from(port) >> (16 - self.offset) == 0;
        let psid = u32::from(port) >> self.low_bits() & ((1 << self.len) - 1);
        (!reserved).then_some(psid as u16)
    }

    /// Whether a port is in the set.
    #[inline(always)]
    pub fn contains(self, port: u16) -> bool {
        self.psid_of(port) == Some(self.psid)
    }

    /// Index of a port; inverts [`Self::nth`].
    #[inline]
    pub fn index_of(self, port: u16) -> Option<u32> {
        if !self.contains(port) {
            return None;
        }
        let m = self.low_bits();
        let run = u32::from(port) >> m >> self.len;
        Some((run - u32::from(self.offset > 0)) << m | u32::from(port) & ((1 << m) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 7597, appendix A, example 1 has PSID 0x34 of 8 bits with offset 6: ports 1232-1235, 2256-2259, … 63696-63699, 64720-64723.
    #[test]
    fn example_of_rfc_7597_appendix_a() {
        let s = PortSet::new(6, 8, 0x34).unwrap();
        assert_eq!(s.count(), 63 * 4);
        let ports: Vec<u16> = (0..8).map(|j| s.nth(j)).collect();
        assert_eq!(ports, [1232, 1233, 1234, 1235, 2256, 2257, 2258, 2259]);
        assert_eq!(s.nth(s.count() - 1), 64723);
        let blocks: Vec<(u16, u16)> = s.blocks().collect();
        assert_eq!((blocks.len(), blocks[0], blocks[62]), (63, (1232, 1235), (64720, 64723)));
        assert_eq!(PortSet::ALL.blocks().collect::<Vec<_>>(), [(0, 65535)]);
    }

    /// RFC 7597, section 5.1: three bits without offset give 8,192 ports; PSID 3 has 24,576 to 32,767.
    #[test]
    fn without_offset_a_set_is_contiguous() {
        let s = PortSet::new(0, 3, 3).unwrap();
        assert_eq!((s.count(), s.nth(0), s.nth(8191)), (8192, 24_576, 32_767));
        assert_eq!((PortSet::ALL.count(), PortSet::ALL.nth(65_535)), (65_536, 65_535));
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(PortSet::new(9, 8, 0), Err(PortSetError::Bits(9, 8)));
        assert_eq!(PortSet::new(0, 3, 8), Err(PortSetError::Psid(8, 3)));
        assert!(PortSet::new(0, 16, 65_535).is_ok() && PortSet::new(16, 0, 0).is_ok());
    }

    proptest! {
        /// Every port belongs to exactly one PSID or to none, and the maps between place and port are inverse to each
        /// other.
        #[test]
        fn places_and_ports_are_a_bijection(offset in 0u8..=16, bits in 0u8..=16, port: u16) {
            let len = bits.min(16 - offset);
            let any = PortSet { offset, len, psid: 0 };
            let Some(psid) = any.psid_of(port) else {
                prop_assert!(offset > 0 && u32::from(port) < 1 << (16 - offset));
                return Ok(());
            };
            let s = PortSet::new(offset, len, psid).unwrap();
            let j = s.index_of(port).unwrap();
            prop_assert!(j < s.count());
            prop_assert_eq!(s.nth(j), port);
        }
    }
}
