//! The name of each query: one of its own, so that no answer is cached, or for a given share one
//! resolved before the trial (RFC 8219, section 9.2.3).

use method::Count;
use std::ops::Range;

/// Resolved before a trial.
pub const WARM: u32 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPlan {
    fresh: Range<u32>,
    warm: Range<u32>,
    cached_ppm: u32,
}

impl QueryPlan {
    /// A plan over these names. For cached queries, the last [`WARM`] names are warm, but at most half.
    pub fn new(names: u32, cached_ppm: u32) -> QueryPlan {
        let warm = if cached_ppm == 0 { 0 } else { WARM.min(names / 2) };
        QueryPlan { fresh: 0..names - warm, warm: names - warm..names, cached_ppm }
    }

    /// A plan that queries these names in turn.
    pub fn only(names: Range<u32>) -> QueryPlan {
        QueryPlan { fresh: names, warm: 0..0, cached_ppm: 0 }
    }

    pub fn warm(&self) -> Range<u32> {
        self.warm.clone()
    }

    /// Number of names that are not resolved before the trial.
    pub fn fresh(&self) -> u32 {
        self.fresh.end - self.fresh.start
    }

    fn cached_before(&self, q: Count) -> Count {
        (u128::from(q) * u128::from(self.cached_ppm) / 1_000_000) as Count
    }

    pub fn needed(&self, queries: Count) -> Count {
        queries - self.cached_before(queries)
    }

    /// Name of query `q`, starting over after the last one.
    pub fn name(&self, q: Count) -> u32 {
        let cached = self.cached_before(q);
        let (names, at) =
            if self.cached_before(q + 1) > cached { (&self.warm, cached) } else { (&self.fresh, q - cached) };
        names.start + (at % u64::from(names.end - names.start).max(1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn without_cached_queries_every_name_is_fresh() {
        let plan = QueryPlan::new(1_000, 0);
        let asked: BTreeSet<u32> = (0..1_000).map(|q| plan.name(q)).collect();
        assert_eq!((asked.len(), plan.needed(1_000), plan.warm().len()), (1_000, 1_000, 0));
        assert_eq!(plan.name(1_000), 0);
    }

    #[test]
    fn the_share_of_cached_queries_is_exact_and_the_others_are_fresh() {
        let plan = QueryPlan::new(10_000, 400_000);
        let (warm, fresh): (Vec<u32>, Vec<u32>) =
            (0..1_000).map(|q| plan.name(q)).partition(|i| plan.warm().contains(i));
        assert_eq!((warm.len(), fresh.len(), plan.needed(1_000)), (400, 600, 600));
        assert_eq!(fresh.iter().collect::<BTreeSet<_>>().len(), 600);
        assert!((0..100).all(|q| QueryPlan::new(10_000, 1_000_000).name(q) >= 9_000));
    }
}
