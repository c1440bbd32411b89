//! Takes a figure from many short runs: reports the median and the best run, so that a run that the scheduler
//! interrupted does not decide.

use port::Clock;

/// Runs a figure.
pub(crate) const RUNS: usize = 15;

/// Returns nanoseconds per item: median and best of [`RUNS`] runs of `work`, each with `items` items.
pub(crate) fn per_item(clock: Clock, items: usize, mut work: impl FnMut()) -> Figure {
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
pub(crate) struct Figure {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub best: f64,
}

impl Figure {
    /// Computes both from these values.
    pub(crate) fn of(mut values: Vec<f64>) -> Figure {
        values.sort_by(f64::total_cmp);
        Figure { median: values[values.len() / 2], best: values[0] }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{:.2} ({:.2})", self.median, self.best))
    }
}
