//! The distribution of the delays of each direction: a table, and the share of frames with a longer
//! delay, on logarithmic axes, so that rare delays are visible.

use crate::results::{MetricResult, Results, section_of};
use document::scale::Axis;
use document::svg::{Plot, Point, Series};
use document::{Cell, Drawing, Figure, Quantity, Section, Table, number, row};
use method::{Count, Delays};
use std::collections::BTreeMap;

/// Parts with delays: one for each metric and direction, with its words in a legend.
const SHOWN: [(&str, &str, &str); 6] = [
    ("latency_typical_forward", "forward", "latency, left to right"),
    ("latency_typical_reverse", "reverse", "latency, right to left"),
    ("pdv_forward", "forward", "PDV, left to right"),
    ("pdv_reverse", "reverse", "PDV, right to left"),
    ("ipdv_median_forward", "forward", "IPDV, left to right"),
    ("ipdv_median_reverse", "reverse", "IPDV, right to left"),
];

pub(super) fn section(results: &Results<'_>) -> Option<Section> {
    let all: Vec<Distribution> = results.all.iter().filter_map(distribution).collect();
    section_of(
        &all,
        "Delays",
        "From the call that transmits a frame to its receive stamp (RFC 8219, sections 7.2 and 7.3), over all repetitions. Latency \
                is that of store and forward devices (RFC 1242, section 3.8). Nothing is subtracted: the tester's own floor without \
                a device is printed beside.",
        |named| Section { tables: vec![table(results.floor.as_deref(), &all)], figures: figures(&all), ..named },
    )
}

fn distribution(result: &MetricResult<'_>) -> Option<Distribution> {
    let (_, direction, words) = SHOWN.iter().find(|(part, ..)| *part == result.metric)?;
    let delays = result.observed(|observed| {
        let delays = &observed.delays;
        if *direction == "forward" { delays.forward.clone() } else { delays.reverse.clone() }
    });
    let delays: Vec<Delays> = delays.collect();
    let rates: Vec<u64> = result.steps().map(|step| step.rate.0).collect();
    let rates = (*rates.iter().min()?, *rates.iter().max()?);
    let label = format!("{}, {words}", result.place);
    (!delays.is_empty()).then(|| Distribution { name: result.name.clone(), label, delays, rates })
}

fn table(floor: Option<&str>, all: &[Distribution]) -> Table {
    let line = |label: &str, of: fn(&Distribution) -> Cell| row(label, all.iter().map(of));
    let rows = [
        line("rate per direction", |d| {
            let [low, high] = [d.rates.0, d.rates.1].map(|rate| number::si_unit(rate as f64, 3, "fps"));
            if low == high { low.into() } else { format!("{low} to {high}").into() }
        }),
        line("frames with time stamps", |d| Quantity::count(d.sum(|delays| delays.frames)).into()),
        line("of these lost", |d| Quantity::count(d.sum(|delays| delays.lost)).into()),
        line("smallest delay", |d| number::duration(d.delays.iter().map(|x| x.min.0).min().unwrap_or(0)).into()),
        line("largest delay received", |d| {
            number::duration(d.delays.iter().map(|x| x.max.0).max().unwrap_or(0)).into()
        }),
        line("received frames are stamped by", |d| d.delays.first().map_or("", |x| x.source.as_str()).into()),
    ];
    let floor = floor.map(|floor| row("the tester's own floor", all.iter().map(|_| floor)));
    Table::new("Time stamps", "delays", all.iter().map(|d| d.name.as_str()))
        .with_parameters(rows.into_iter().chain(floor))
}

/// One direction at a point, over all repetitions.
struct Distribution {
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
    /// A sum over the repetitions.
    fn sum(&self, of: fn(&Delays) -> Count) -> Count {
        self.delays.iter().map(of).sum()
    }

    /// Microseconds, and the percentage of received frames that have a longer delay. No frame exceeds the last one.
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

/// There are as many patterns of lines.
const CURVES: usize = 6;

/// Curves on equal axes, a few in each figure; none without a delay.
fn figures(all: &[Distribution]) -> Vec<Figure> {
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
        size: (1000.0, 340.0),
        ..Plot::default()
    };
    let caption =
        "Share of the received frames with a longer delay than each (complementary distribution). A curve ends at the \
                   longest delay."
            .to_owned();
    Figure { caption, drawing: Drawing::Plot(plot), wide: true }
}

/// Points from all frames down to the lower end of the axis at the longest delay.
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
