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

/// Least squares of memory = base + used × (0 or 1) + growth × number of the fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fills {
    /// What filling adds and emptying removes.
    pub used: Estimate,
    /// What each fill adds to the memory, full or empty.
    pub growth: Estimate,
}

impl Fills {
    /// From the memory with entries and after their removal, of each fill; `None` for fewer than two fills.
    pub fn of(readings: &[[u64; 2]]) -> Option<Fills> {
        let n = readings.len() as f64;
        let freedom = (2 * readings.len()).checked_sub(3).filter(|freedom| *freedom > 0)?;
        let readings: Vec<[f64; 2]> = readings.iter().map(|pair| pair.map(|bytes| bytes as f64)).collect();
        let used = readings.iter().map(|[filled, emptied]| filled - emptied).sum::<f64>() / n;
        let middle = readings.iter().flatten().sum::<f64>() / (2.0 * n);
        let at = |fill: usize| fill as f64 - (n - 1.0) / 2.0;
        let squares: f64 = (0..readings.len()).map(|fill| at(fill).powi(2)).sum();
        let rise = |(fill, [filled, emptied]): (usize, &[f64; 2])| at(fill) * f64::midpoint(*filled, *emptied);
        let growth = readings.iter().enumerate().map(rise).sum::<f64>() / squares;
        let missed = |(fill, [filled, emptied]): (usize, &[f64; 2])| {
            let expected = middle + growth * at(fill);
            (filled - expected - used / 2.0).powi(2) + (emptied - expected + used / 2.0).powi(2)
        };
        let variance = readings.iter().enumerate().map(missed).sum::<f64>() / freedom as f64;
        let half = |variance: f64| student::exceeded_with(0.05, freedom) * variance.sqrt();
        Some(Fills {
            used: Estimate { value: used, half: half(variance * 2.0 / n) },
            growth: Estimate { value: growth, half: half(variance / (2.0 * squares)) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the normal equations in exact fractions (Python), and 3.18245, the quantile of t with 3 degrees of freedom.
    #[test]
    fn the_fit_is_that_of_least_squares() {
        let fills = Fills::of(&[[105, 11], [117, 19], [123, 33]]).unwrap();
        let all = [fills.used.value, fills.used.half, fills.growth.value, fills.growth.half];
        let known = [94.0, 6.0009, 10.0, 3.6748];
        assert!(all.iter().zip(known).all(|(found, known)| (found - known).abs() < 1e-3), "{all:?}");
    }
}
