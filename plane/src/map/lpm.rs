//! Longest prefix match over 64-bit keys: an array of segments, and a table over the bits behind
//! the common prefix that leads to them. IPv4 addresses stand in the upper half of a key.

/// No prefix matches.
pub const NONE: u32 = u32::MAX;

/// Bits of the table.
const MOST_BITS: u32 = 16;

/// A prefix of up to 64 bits with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixEntry {
    /// The prefix, with zeros behind its length.
    pub key: u64,
    /// Length in bits.
    pub len: u8,
    /// The result of a match.
    pub value: u32,
}

impl PrefixEntry {
    fn last(&self) -> u64 {
        self.key | u64::MAX.checked_shr(self.len.into()).unwrap_or(0)
    }
}

/// The segment of its first key, and how many more begin in it.
#[derive(Clone, Copy, Debug)]
struct Cell {
    segment: u32,
    more: u32,
}

/// Segments are runs of keys with the same result.
#[derive(Clone, Debug)]
pub struct Lpm {
    /// Common bits of all prefixes.
    common: u64,
    mask: u64,
    /// Left shift that removes the common bits; right shift that gives the cell.
    up: u32,
    down: u32,
    cells: Vec<Cell>,
    starts: Vec<u64>,
    values: Vec<u32>,
}

impl Lpm {
    /// A set of different prefixes.
    pub fn new(mut entries: Vec<PrefixEntry>) -> Lpm {
        entries.sort_unstable_by_key(|e| (e.key, e.len));
        let first = entries.first().map_or(0, |e| e.key);
        let last = entries.iter().map(PrefixEntry::last).max().unwrap_or(0);
        let up = (first ^ last).leading_zeros().min(63);
        let mask = u64::MAX.checked_shl(64 - up).unwrap_or(0);
        let (starts, values) = segments(first & mask, &entries);
        let bits = (starts.len() * 2).next_power_of_two().trailing_zeros().min(MOST_BITS).min(64 - up);
        let mut lpm = Lpm { common: first & mask, mask, up, down: 64 - bits, cells: Vec::new(), starts, values };
        lpm.cells = (0..1u64 << bits).map(|i| lpm.cell(i, bits)).collect();
        lpm
    }

    fn cell(&self, i: u64, bits: u32) -> Cell {
        let width = 64 - self.up - bits;
        let first = self.common | i << width;
        let last = first | ((1 << width) - 1);
        let upto = |key: u64| self.starts.partition_point(|&s| s <= key) as u32 - 1;
        Cell { segment: upto(first), more: upto(last) - upto(first) }
    }

    /// The value of the longest prefix that matches, or [`NONE`].
    #[inline(always)]
    pub fn get(&self, key: u64) -> u32 {
        if (key ^ self.common) & self.mask != 0 {
            return NONE;
        }
        let Cell { segment, more } = self.cells[(key << self.up >> self.down) as usize];
        let (mut at, mut more) = (segment as usize, more as usize);
        while more > 0 {
            let half = more.div_ceil(2);
            if self.starts[at + half] <= key {
                at += half;
                more -= half;
            } else {
                more = half - 1;
            }
        }
        self.values[at]
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.cells.len() * size_of::<Cell>() + self.starts.len() * 12
    }
}

/// Starts and results. `entries` are sorted, outer prefixes first.
fn segments(first: u64, entries: &[PrefixEntry]) -> (Vec<u64>, Vec<u32>) {
    let (mut starts, mut values) = (vec![first], vec![NONE]);
    let mut begin = |key: u64, value: u32| {
        if starts.last() == Some(&key) {
            values.pop();
        } else {
            starts.push(key);
        }
        values.push(value);
    };
    // Around the present key, innermost last.
    let mut around: Vec<&PrefixEntry> = Vec::new();
    let close = |around: &mut Vec<&PrefixEntry>, upto: Option<u64>, begin: &mut dyn FnMut(u64, u32)| {
        while let Some(e) = around.last().copied().filter(|e| upto.is_none_or(|k| e.last() < k)) {
            around.pop();
            if let Some(next) = e.last().checked_add(1) {
                begin(next, around.last().map_or(NONE, |e| e.value));
            }
        }
    };
    for e in entries {
        close(&mut around, Some(e.key), &mut begin);
        begin(e.key, e.value);
        around.push(e);
    }
    close(&mut around, None, &mut begin);
    (starts, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slow(entries: &[PrefixEntry], key: u64) -> u32 {
        let around = entries.iter().filter(|e| e.key <= key && key <= e.last());
        around.max_by_key(|e| e.len).map_or(NONE, |e| e.value)
    }

    #[test]
    fn an_empty_set_matches_nothing() {
        let l = Lpm::new(Vec::new());
        assert_eq!((l.get(0), l.get(u64::MAX)), (NONE, NONE));
    }

    #[test]
    fn one_prefix_of_any_length() {
        for len in 0..=64u8 {
            let key = u64::MAX.checked_shl(64 - u32::from(len)).unwrap_or(0);
            let e = PrefixEntry { key, len, value: 7 };
            let l = Lpm::new(vec![e]);
            assert_eq!((l.get(key), l.get(u64::MAX)), (7, 7));
            if len > 0 {
                assert_eq!((l.get(key - 1), l.get(0)), (NONE, NONE), "{len}");
            }
        }
    }

    proptest! {
        /// The same result as a comparison with every prefix, also where prefixes are nested, and at their borders.
        #[test]
        fn as_by_looking_at_each(seeds in proptest::collection::vec((any::<u64>(), 0u8..=64, 0u8..60), 0..60),
                                 keys in proptest::collection::vec(any::<u64>(), 20)) {
            let mut entries: Vec<PrefixEntry> = seeds
                .iter()
                .map(|&(k, len, crowd)| {
                    // Close together, so that many are nested.
                    let key = k >> crowd & u64::MAX.checked_shl(64 - u32::from(len)).unwrap_or(0);
                    PrefixEntry { key, len, value: 0 }
                })
                .collect();
            entries.sort_unstable_by_key(|e| (e.key, e.len));
            entries.dedup();
            for (i, e) in entries.iter_mut().enumerate() {
                e.value = i as u32;
            }
            let l = Lpm::new(entries.clone());
            let borders = entries.iter().flat_map(|e| [e.key, e.last(), e.key.wrapping_sub(1), e.last().wrapping_add(1)]);
            for k in borders.chain(keys) {
                prop_assert_eq!(l.get(k), slow(&entries, k));
            }
        }
    }
}
