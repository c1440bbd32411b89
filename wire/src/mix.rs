//! Frames of several sizes in one stream (IMIX): a repeating sequence. Any window of its length has
//! exactly the mix (RFC 6985).

use crate::expect::Expect;
use crate::template::Template;

/// One `T` for each size of the sequence.
#[derive(Clone, Debug)]
pub struct Sizes<T> {
    sequence: Vec<u8>,
    kinds: Vec<T>,
}

/// Frames of both sides by size.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Frames that Left sends.
    pub left: Sizes<Template>,
    /// Frames that Right sends.
    pub right: Sizes<Template>,
    /// Frames that Right receives.
    pub expect_right: Sizes<Expect>,
    /// Frames that Left receives.
    pub expect_left: Sizes<Expect>,
}

/// Different sizes of a mix.
pub const MOST_SIZES: usize = 64;

impl<T> Sizes<T> {
    /// The value for a sequence number.
    #[inline]
    pub fn of(&self, sequence: u64) -> &T {
        &self.kinds[usize::from(self.sequence[(sequence % self.sequence.len() as u64) as usize])]
    }

    pub(crate) fn map<U>(&self, f: impl FnMut(&T) -> U) -> Sizes<U> {
        Sizes { sequence: self.sequence.clone(), kinds: self.kinds.iter().map(f).collect() }
    }
}

impl Sizes<usize> {
    pub(crate) fn new(all: &[usize]) -> Sizes<usize> {
        let mut kinds: Vec<usize> = Vec::new();
        let mut sequence = Vec::with_capacity(all.len());
        for &size in all {
            let at = kinds.iter().position(|&kind| kind == size).unwrap_or_else(|| {
                kinds.push(size);
                kinds.len() - 1
            });
            sequence.push(at as u8);
        }
        assert!(kinds.len() <= MOST_SIZES, "{} different frame sizes", kinds.len());
        Sizes { sequence, kinds }
    }
}
