//! Draws connections by Zipf's law from an alias table of fixed size (Walker, Electronics Letters 10, 1974; Vose, IEEE
//! Transactions on Software Engineering 17, 1991). The first ranks have an entry each; the others are in blocks so
//! narrow that their ranks may be drawn alike.

use crate::random::random;
use method::Count;
use method::trial::{Exponent, Popularity};
use port::BATCH;
use wire::perm::Permutation;

const SINGLE: Count = 4096;
/// Number of blocks of ranks: of 2^32 ranks the last of a block is at most 0.4 % above its first,
/// so that probabilities are off by at most 0.2 % times the exponent.
const BLOCKS: Count = 4096;

#[derive(Clone, Debug)]
struct Ranks {
    entries: Vec<AliasEntry>,
}

/// Its own ranks up to a limit on 32 random bits, and those of another entry above it.
#[derive(Clone, Copy, Debug)]
struct AliasEntry {
    limit: u32,
    alias: u32,
    first: u32,
    width: u32,
}

/// The order of one sender.
#[derive(Clone, Debug)]
pub struct Popular {
    ranks: Ranks,
    order: Permutation,
    state: u64,
}

impl Popular {
    /// Draws among `n` connections; `None` if all are drawn alike. All senders and trials share
    /// `order`, the seed of the order of popularity; `state` is that of the draws.
    pub fn new(popularity: Popularity, n: Count, order: u64, state: u64) -> Option<Popular> {
        let Popularity::Zipf(exponent) = popularity else { return None };
        let n = n.clamp(1, 1 << 32);
        Some(Popular { ranks: Ranks::new(exponent, n), order: Permutation::new(n, order), state })
    }

    /// Fills the slice. Not inlined: trials without it must not pay for it.
    #[inline(never)]
    pub fn fill(&mut self, out: &mut [u32]) {
        let mut ranks = [0; BATCH];
        for out in out.chunks_mut(BATCH) {
            let ranks = &mut ranks[..out.len()];
            for rank in &mut *ranks {
                *rank = self.ranks.draw(&mut self.state);
            }
            self.order.fill(ranks, out);
        }
    }
}

impl Ranks {
    fn new(exponent: Exponent, n: Count) -> Ranks {
        let blocks = blocks(n);
        let weights: Vec<f64> =
            blocks.iter().map(|&(first, width)| exponent.weight(first + 1..first + width + 1)).collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut entries: Vec<AliasEntry> = (0u32..)
            .zip(&blocks)
            .map(|(own, &(first, width))| AliasEntry {
                limit: u32::MAX,
                alias: own,
                first: first as u32,
                width: width as u32,
            })
            .collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..shares.len()).partition(|&at| shares[at] < 1.0);
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            entries[poor].limit = (shares[poor] * (1u64 << 32) as f64) as u32;
            entries[poor].alias = rich as u32;
            shares[rich] -= 1.0 - shares[poor];
            if shares[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Ranks { entries }
    }

    #[inline(always)]
    fn draw(&self, state: &mut u64) -> u32 {
        let bits = random(state);
        let at = ((bits >> 32) * self.entries.len() as u64) >> 32;
        let entry = self.entries[at as usize];
        let AliasEntry { first, width, .. } =
            if bits as u32 <= entry.limit { entry } else { self.entries[entry.alias as usize] };
        first + (((random(state) >> 32) * u64::from(width)) >> 32) as u32
    }
}

fn blocks(n: Count) -> Vec<(Count, Count)> {
    let single = n.min(SINGLE);
    let mut blocks: Vec<(Count, Count)> = (0..single).map(|rank| (rank, 1)).collect();
    let ratio = (n as f64 / SINGLE as f64).powf(1.0 / BLOCKS as f64);
    let mut first = single;
    for block in 1..=BLOCKS {
        let end = if block == BLOCKS { n } else { (SINGLE as f64 * ratio.powi(block as i32)) as Count };
        let end = end.min(n);
        if end > first {
            blocks.push((first, end - first));
            first = end;
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn zipf(text: &str) -> (Popularity, Exponent) {
        let popularity: Popularity = text.parse().unwrap();
        let Popularity::Zipf(exponent) = popularity else { panic!("{text}") };
        (popularity, exponent)
    }

    #[test]
    fn blocks_are_narrow_and_cover_all_ranks() {
        for n in [1, 2, 4096, 4097, 10_000, 4_000_000, 1 << 32] {
            let blocks = blocks(n);
            assert!(blocks.len() as u64 <= SINGLE + BLOCKS);
            let mut next = 0;
            for (first, width) in blocks {
                assert_eq!(first, next);
                assert!(width == 1 || (first + width) as f64 / first as f64 <= 1.004, "{first} {width}");
                next = first + width;
            }
            assert_eq!(next, n);
        }
    }

    #[test]
    fn the_table_has_the_weights_of_zipfs_law() {
        for (text, n) in [("zipf 1.0", 1000), ("zipf 0.8", 4_000_000), ("zipf 1.3", 1 << 32), ("zipf 10.0", 10_000)] {
            let exponent = zipf(text).1;
            let Ranks { entries } = Ranks::new(exponent, n);
            let mut found = vec![0.0; entries.len()];
            for (at, entry) in entries.iter().enumerate() {
                let own = (f64::from(entry.limit) + 1.0) / (1u64 << 32) as f64;
                found[at] += own / entries.len() as f64;
                found[entry.alias as usize] += (1.0 - own) / entries.len() as f64;
            }
            let all = exponent.weight(1..n + 1);
            for (entry, found) in entries.iter().zip(found) {
                let first = u64::from(entry.first) + 1;
                let wanted = exponent.weight(first..first + u64::from(entry.width)) / all;
                assert!((found - wanted).abs() < 1e-9, "{text} of {n}, rank {first}: {found} {wanted}");
            }
        }
    }

    /// Chi-square of a million draws in 64 about equal cells: with 63 degrees of freedom it exceeds 120 once in 40,000
    /// times.
    #[test]
    fn draws_follow_zipfs_law() {
        let (popularity, exponent) = zipf("zipf 0.9");
        let n = 100_000;
        let ranks = Ranks::new(exponent, n);
        let mut cells = vec![(0u64, 0u64)];
        let all = exponent.weight(1..n + 1);
        for rank in 0..n {
            let (from, _) = cells[cells.len() - 1];
            if exponent.weight(from + 1..rank + 1) / all > 1.0 / 64.0 {
                cells.push((rank, 0));
            }
        }
        let (draws, mut state) = (1_000_000, 7);
        for _ in 0..draws {
            let rank = u64::from(ranks.draw(&mut state));
            let at = cells.partition_point(|&(from, _)| from <= rank) - 1;
            cells[at].1 += 1;
        }
        let ends = cells.iter().skip(1).map(|&(from, _)| from).chain([n]);
        let chi: f64 = cells
            .iter()
            .zip(ends)
            .map(|(&(from, found), end)| {
                let wanted = draws as f64 * (popularity.part_of(end, n) - popularity.part_of(from, n));
                (found as f64 - wanted).powi(2) / wanted
            })
            .sum();
        assert!(chi < 120.0, "{chi} in {} cells", cells.len());
    }

    #[test]
    fn all_senders_prefer_the_same_connections() {
        let popularity = zipf("zipf 1.0").0;
        let most = |state| {
            let mut counts: HashMap<u32, u64> = HashMap::new();
            let mut drawn = vec![0; 20_000];
            Popular::new(popularity, 1_000_000, 5, state).unwrap().fill(&mut drawn);
            for index in drawn {
                *counts.entry(index).or_default() += 1;
            }
            let mut counts: Vec<_> = counts.into_iter().map(|(index, count)| (count, index)).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            counts[0].1
        };
        assert_eq!(most(1), most(2));
        assert_ne!(most(1), 0, "popular connections are not the first ones");
        assert!(Popular::new(Popularity::Uniform, 10, 0, 0).is_none());
    }
}
