//! How a figure is taken: many short runs, of which the median is reported and the best shown beside it, so
//! that a run that the scheduler interrupted is an outlier and not the result.

use port::Clock;

/// Runs a figure.
pub const RUNS: usize = 15;

/// Nanoseconds an item: median and best of [`RUNS`] runs of `work`, which does `items` items.
pub fn per_item(clock: Clock, items: usize, mut work: impl FnMut()) -> Figure {
    work();
    let runs = (0..RUNS).map(|_| {
        let start = clock.now();
        work();
        clock.nanos(clock.now() - start) as f64 / items as f64
    });
    Figure::of(runs.collect())
}

/// Median and smallest of several runs.
#[derive(Clone, Copy)]
pub struct Figure {
    /// The one in the middle.
    pub median: f64,
    /// The smallest.
    pub best: f64,
}

impl Figure {
    /// Of these values.
    pub fn of(mut values: Vec<f64>) -> Figure {
        values.sort_by(f64::total_cmp);
        Figure { median: values[values.len() / 2], best: values[0] }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{:.2} ({:.2})", self.median, self.best))
    }
}
