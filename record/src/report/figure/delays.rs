//! Distributions of delays: the share of frames with a longer delay, on logarithmic axes, so that the rare delays are visible.

use super::{WIDE, plotted};
use crate::report::number;
use document::Figure;
use document::scale::Axis;
use document::svg::{Plot, Point, Series};
use method::{Count, Delays};
use std::collections::BTreeMap;

/// The delays of one direction at a point, over all repetitions.
pub(in crate::report) struct Distribution {
    /// Metric and point in words.
    pub name: String,
    /// Point and direction, for a legend.
    pub label: String,
    /// The delays of each repetition.
    pub delays: Vec<Delays>,
    /// Lowest and highest rate per direction, frames per second.
    pub rates: (u64, u64),
}

impl Distribution {
    /// Adds up a count over the repetitions.
    pub(in crate::report) fn sum(&self, of: fn(&Delays) -> Count) -> Count {
        self.delays.iter().map(of).sum()
    }

    /// Share of the received frames that have a longer delay than each: microseconds, percent. The longest delay, which no
    /// frame exceeds, is the last one.
    fn longer(&self) -> Vec<(f64, f64)> {
        let mut counts: BTreeMap<u64, Count> = BTreeMap::new();
        for &(end, count) in self.delays.iter().flat_map(|delays| &delays.histogram) {
            *counts.entry(end).or_default() += count;
        }
        let all: Count = counts.values().sum();
        let mut left = all;
        let share = |(end, count): (u64, Count)| {
            left -= count;
            (end.max(1) as f64 / 1e3, left as f64 * 100.0 / all.max(1) as f64)
        };
        counts.into_iter().map(share).collect()
    }
}

/// Largest number of curves in one figure: there are as many patterns of lines.
const CURVES: usize = 6;

/// The curves of all distributions on equal axes, a few in each figure; none without a delay.
pub(in crate::report) fn figures(all: &[Distribution]) -> Vec<Figure> {
    let shares: Vec<Vec<(f64, f64)>> = all.iter().map(Distribution::longer).collect();
    let ends = || shares.iter().flatten();
    let Some(least) = ends().map(|(delay, _)| *delay).reduce(f64::min) else { return Vec::new() };
    let most = ends().map(|(delay, _)| *delay).fold(0.0, f64::max);
    let smallest = ends().map(|(_, share)| *share).filter(|&share| share > 0.0).fold(10.0, f64::min);
    let x = Axis::log(("delay", "µs"), least, most);
    let y = Axis::share(("frames delayed longer", "%"), smallest);
    let few = all.chunks(CURVES).zip(shares.chunks(CURVES)).enumerate();
    few.map(|(n, (all, shares))| figure(n, all, shares, (x.clone(), y.clone()))).collect()
}

fn figure(n: usize, all: &[Distribution], shares: &[Vec<(f64, f64)>], (x, y): (Axis, Axis)) -> Figure {
    let series = all
        .iter()
        .zip(shares)
        .enumerate()
        .map(|(at, (d, shares))| Series::line(d.label.clone(), format!("s{at}"), curve(shares, y.range.0)));
    let in_words = all.iter().zip(shares).map(|(d, shares)| {
        let [half, rare] = [50.0, 1.0].map(|share| number::significant(delay_of(shares, share), 3));
        format!("{}: half of the frames within {half} µs, 99 % within {rare} µs", d.name)
    });
    let plot = Plot {
        id: format!("delays-{n}"),
        title: "Delays".to_owned(),
        description: in_words.collect::<Vec<_>>().join("; "),
        x,
        series: series.collect(),
        y,
        size: (WIDE, 340.0),
        ..Plot::default()
    };
    let caption =
        "Share of the received frames with a longer delay than each (complementary distribution). A curve ends at the \
                   longest delay."
            .to_owned();
    plotted(caption, plot)
}

/// The points of a curve: from all frames down to the lower end of the axis at the longest delay.
fn curve(shares: &[(f64, f64)], floor: f64) -> Vec<Point> {
    let first = shares.first().map(|(delay, _)| Point::at(*delay, 100.0));
    first.into_iter().chain(shares.iter().map(|&(delay, share)| Point::at(delay, share.max(floor)))).collect()
}

/// The smallest delay that at most this share of the frames exceeds.
fn delay_of(shares: &[(f64, f64)], most: f64) -> f64 {
    shares.iter().find(|(_, share)| *share <= most).map_or(0.0, |(delay, _)| *delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delay_has_the_share_of_longer_ones() {
        let delays = |histogram: &[(u64, Count)]| Delays { histogram: histogram.to_vec(), ..Delays::default() };
        let all = Distribution {
            name: "x".to_owned(),
            label: "x".to_owned(),
            delays: vec![delays(&[(1_000, 5), (2_000, 4)]), delays(&[(2_000, 0), (50_000, 1)])],
            rates: (1, 1),
        };
        assert_eq!(all.longer(), [(1.0, 50.0), (2.0, 10.0), (50.0, 0.0)]);
        assert_eq!((delay_of(&all.longer(), 50.0), delay_of(&all.longer(), 1.0)), (1.0, 50.0));
    }
}
