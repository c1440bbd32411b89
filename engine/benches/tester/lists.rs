//! Median and best of many short runs, so that interrupted runs do not decide.

use port::Clock;

pub(crate) const RUNS: usize = 15;

/// Nanoseconds per item: median and best of [`RUNS`] runs of `work`.
pub(crate) fn per_item(clock: Clock, items: usize, mut work: impl FnMut()) -> Figure {
    work();
    let runs = (0..RUNS).map(|_| {
        let start = clock.now();
        work();
        clock.nanos(clock.now() - start) as f64 / items as f64
    });
    Figure::of(runs.collect())
}

#[derive(Clone, Copy)]
pub(crate) struct Figure {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub best: f64,
}

impl Figure {
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
