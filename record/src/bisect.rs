//! The search for the first bad revision, as in `git bisect`: it tests both ends first, then the middle of the remaining
//! revisions. It skips a revision without a verdict, and tests a neighbour instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict on a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No value meets a condition.
    Good,
    /// A value meets a condition.
    Bad,
    /// It could not be installed, or no run of it decided.
    Skipped,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Test this revision.
    Test(usize),
    /// This is the first bad revision; the one before it is good.
    Found(usize),
    /// The first bad revision is one of these: all but the last were skipped.
    OneOf(Vec<usize>),
    /// The search cannot begin: the first revision is bad, the last one is good, or one of the two could not be tested.
    Nothing(usize, Verdict),
}

/// The verdicts on revisions, the good end first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    verdicts: Vec<Option<Verdict>>,
}

impl Search {
    /// Returns a search among this number of revisions, at least two.
    pub fn among(revisions: usize) -> Search {
        Search { verdicts: vec![None; revisions.max(2)] }
    }

    /// Notes the verdict on a revision.
    pub fn note(&mut self, revision: usize, verdict: Verdict) {
        if let Some(of) = self.verdicts.get_mut(revision) {
            *of = Some(verdict);
        }
    }

    /// Returns the next step.
    pub fn next(&self) -> Next {
        let last = self.verdicts.len() - 1;
        for (end, needed) in [(0, Verdict::Good), (last, Verdict::Bad)] {
            match self.verdicts[end] {
                None => return Next::Test(end),
                Some(verdict) if verdict != needed => return Next::Nothing(end, verdict),
                Some(_) => {}
            }
        }
        let is = |verdict: Verdict| move |at: &usize| self.verdicts[*at] == Some(verdict);
        let bad = (0..=last).find(is(Verdict::Bad)).unwrap_or(last);
        let good = (0..bad).rev().find(is(Verdict::Good)).unwrap_or(0);
        let middle = good.midpoint(bad);
        let untested = (good + 1..bad).filter(|at| self.verdicts[*at].is_none());
        match untested.min_by_key(|at| at.abs_diff(middle)) {
            Some(revision) => Next::Test(revision),
            None if good + 1 == bad => Next::Found(bad),
            None => Next::OneOf((good + 1..=bad).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches until the end, and returns it with the number of tests.
    fn search(revisions: usize, verdict: impl Fn(usize) -> Verdict) -> (Next, usize) {
        let mut search = Search::among(revisions);
        let mut tests = 0;
        loop {
            match search.next() {
                Next::Test(revision) => search.note(revision, verdict(revision)),
                end => return (end, tests),
            }
            tests += 1;
        }
    }

    fn from(first_bad: usize) -> impl Fn(usize) -> Verdict {
        move |revision| if revision < first_bad { Verdict::Good } else { Verdict::Bad }
    }

    #[test]
    fn every_first_bad_revision_is_found_in_logarithmic_time() {
        for revisions in 2..70 {
            for first_bad in 1..revisions {
                let (end, tests) = search(revisions, from(first_bad));
                assert_eq!(end, Next::Found(first_bad));
                let between = (revisions as f64 - 1.0).log2().ceil() as usize;
                assert!(tests <= between + 2, "{revisions} revisions: {tests} tests");
            }
        }
    }

    #[test]
    fn skipped_revisions_leave_a_range() {
        let skip =
            |skipped: [usize; 2]| move |at: usize| if skipped.contains(&at) { Verdict::Skipped } else { from(5)(at) };
        assert_eq!(search(9, skip([3, 7])).0, Next::Found(5));
        assert_eq!(search(9, skip([4, 5])).0, Next::OneOf(vec![4, 5, 6]));
    }

    #[test]
    fn ends_must_be_good_and_bad() {
        assert_eq!(search(5, |_| Verdict::Bad).0, Next::Nothing(0, Verdict::Bad));
        assert_eq!(search(5, |_| Verdict::Good).0, Next::Nothing(4, Verdict::Good));
        assert_eq!(search(5, |_| Verdict::Skipped).0, Next::Nothing(0, Verdict::Skipped));
    }
}
