//! Frames of several sizes in one stream (IMIX): a repeating sequence, so that the size follows from the sequence
//! number. Any window of its length has exactly the mix (RFC 6985).

use crate::expect::Expect;
use crate::template::Template;

/// One `T` for each size of a repeating sequence.
#[derive(Clone, Debug)]
pub struct Sizes<T> {
    sequence: Vec<u8>,
    kinds: Vec<T>,
}

/// What both sides send and expect.
#[derive(Clone, Debug)]
pub struct Mix {
    /// What Left sends.
    pub left: Sizes<Template>,
    /// What Right sends.
    pub right: Sizes<Template>,
    /// What Right must receive from Left.
    pub expect_right: Sizes<Expect>,
    /// What Left must receive from Right.
    pub expect_left: Sizes<Expect>,
}

/// Maximum number of different sizes of a mix.
pub const MOST_SIZES: usize = 64;

impl<T> Sizes<T> {
    /// The value for the frame with this sequence number.
    #[inline]
    pub fn of(&self, sequence: u64) -> &T {
        &self.kinds[usize::from(self.sequence[(sequence % self.sequence.len() as u64) as usize])]
    }

    /// The same sequence of other values.
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
