//! Memory of a device over several fills of a table: separates the memory of the entries from what each fill leaves behind.

use super::student;

/// An estimate and half of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub half: f64,
}

impl Estimate {
    /// Whether the whole interval is above 0.
    pub fn is_positive(self) -> bool {
        self.value > self.half
    }

    pub fn ends(self) -> [f64; 2] {
        [self.value - self.half, self.value + self.half]
    }
}

/// Means over the fills of differences that do not overlap in time: they are independent even of memory that drifts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fills {
    /// What emptying removes: memory with the entries, less that after their removal.
    pub used: Estimate,
    /// What each fill adds to the memory after the removal; its interval has no end with two fills.
    pub growth: Estimate,
}

impl Fills {
    /// From the memory with entries and after their removal, of each fill; `None` for fewer than two fills.
    pub fn of(readings: &[[u64; 2]]) -> Option<Fills> {
        let used = readings.iter().map(|[filled, emptied]| *filled as f64 - *emptied as f64).collect::<Vec<_>>();
        let growth = readings.windows(2).map(|pair| pair[1][1] as f64 - pair[0][1] as f64).collect::<Vec<_>>();
        (readings.len() > 1).then(|| Fills { used: mean(&used), growth: mean(&growth) })
    }
}

fn mean(differences: &[f64]) -> Estimate {
    let n = differences.len() as f64;
    let value = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|difference| (difference - value).powi(2)).sum();
    let half = student::exceeded_with(0.05, differences.len() - 1) * (squares / (n - 1.0) / n).sqrt();
    Estimate { value, half: if n > 1.0 { half } else { f64::INFINITY } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// t with 2 degrees of freedom exceeds 4.30265 with a probability of 5 %, and with 1 degree 12.7062.
    #[test]
    fn the_intervals_are_those_of_means() {
        let fills = Fills::of(&[[105, 11], [117, 19], [123, 33]]).unwrap();
        let all = [fills.used.value, fills.used.half, fills.growth.value, fills.growth.half];
        let known = [94.0, 4.30265 * (16.0_f64 / 3.0).sqrt(), 11.0, 12.7062 * 3.0];
        assert!(all.iter().zip(known).all(|(found, known)| (found - known).abs() < 1e-3), "{all:?}");
        assert!(!Fills::of(&[[105, 11], [117, 19]]).unwrap().growth.is_positive());
    }

    /// Of 4,000 devices that leak nothing, 2.5 % seem to.
    #[test]
    fn memory_that_drifts_is_no_leak() {
        for drifts in [false, true] {
            let mut rng = SplitMix(1);
            let mut is_leak = |_: &u32| {
                let mut memory = 1e9;
                let mut next = |used: f64| {
                    memory = 1e6 * rng.normal() + if drifts { memory } else { 1e9 };
                    (memory + used) as u64
                };
                let readings: Vec<[u64; 2]> = (0..3).map(|_| [next(4e7), next(0.0)]).collect();
                Fills::of(&readings).unwrap().growth.is_positive()
            };
            let leaks = (0..4_000).filter(|n| is_leak(n)).count();
            assert!(leaks < 130, "{leaks} of 4,000 leak, drifts: {drifts}");
        }
    }
}
