//! Division of many numbers by the same one.

/// Exact division with one multiplication and no branch, as vector code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    pub(crate) by: u32,
    /// floor(2^64 / by) + 1 in two halves: exact for all 32-bit numerators.
    magic: (u32, u32),
    /// All ones for 1, whose magic number is too large.
    whole: u32,
}

impl Divisor {
    pub(crate) fn new(by: u32) -> Divisor {
        let (magic, whole) = if by == 1 { (0, u32::MAX) } else { (u64::MAX / by as u64 + 1, 0) };
        Divisor { by, magic: ((magic >> 32) as u32, magic as u32), whole }
    }
    #[inline(always)]
    pub(crate) fn div_rem(self, n: u32) -> (u32, u32) {
        // No carry is lost: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
        let low = (self.magic.1 as u64 * n as u64) >> 32;
        let q = ((self.magic.0 as u64 * n as u64 + low) >> 32) as u32 | n & self.whole;
        (q, n.wrapping_sub(q.wrapping_mul(self.by)))
    }
}
